//! Names of Swift: in stacks, of breakpoints on functions, of symbols. The programs are of C, with the symbols
//! of Swift's compiler.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// Builds the program without debug info, and with it.
fn programs() -> [Fixture; 2] {
    [0, 5].map(|dwarf| {
        let flags = Flags {
            dwarf,
            ..Flags::new(Compiler::Gcc)
        };
        Fixture::build("c/swift_names.c", flags).expect("gcc")
    })
}

fn start(fixture: &Fixture, names: &[&str]) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"symbolCache": false}));
    client.set_function_breakpoints(names);
    client.configure();
    client
}

fn shown(client: &mut DapClient, command: &str) -> String {
    let arguments = json!({"expression": command, "context": "repl"});
    let result = client.request_ok("evaluate", arguments);
    result["result"].as_str().expect("a text").to_owned()
}

#[test]
fn stacks_show_them() {
    for fixture in programs() {
        let mut client = start(&fixture, &["Stop.area(of:)"]);
        client.expect_stopped("function breakpoint");
        let stack = client.function_names();
        assert_eq!(
            stack[..5],
            [
                "Stop.area(of:)",
                "Stop.total.getter",
                "closure #1 in run(_:)",
                "run(_:)",
                "main"
            ]
        );
        client.continue_();
        client.expect_stopped("function breakpoint");
        let stack = client.function_names();
        let expected = [
            "Stop.area(of:)",
            "StopVisitor.rotateVisitor(by:)",
            "run(_:)",
        ];
        assert_eq!(stack[..3], expected);
        client.disconnect();
    }
}

#[test]
fn functions_are_found_by_their_paths() {
    for fixture in programs() {
        for (typed, stops, shown) in [
            ("area", 2, "Stop.area(of:)"),
            ("area(of:)", 2, "Stop.area(of:)"),
            ("Stop.area", 2, "Stop.area(of:)"),
            ("main.Stop.area(of:)", 2, "Stop.area(of:)"),
            ("_$s4main4StopV4area2ofS2i_tF", 2, "Stop.area(of:)"),
            ("Stop.total.getter", 1, "Stop.total.getter"),
            ("rotateVisitor", 1, "StopVisitor.rotateVisitor(by:)"),
            (
                "StopVisitor.rotateVisitor(by:)",
                1,
                "StopVisitor.rotateVisitor(by:)",
            ),
        ] {
            // The name of C is in the debug info, too.
            let mut client = start(&fixture, &[typed]);
            for _ in 0..stops {
                client.expect_stopped("function breakpoint");
                assert_eq!(client.function_names()[0], shown, "{typed}");
                client.continue_();
            }
            client.expect_exit();
            client.disconnect();
        }
    }
}

#[test]
fn other_names_are_not_bound() {
    let [fixture, _] = programs();
    // Labels, types and descriptions of metadata are no names of the function.
    for typed in [
        "area(to:)",
        "Other.area",
        "rea(of:)",
        "main.Stop",
        "Stop",
        "Int",
    ] {
        let mut client = start(&fixture, &[typed]);
        client.expect_exit();
        client.disconnect();
    }
}

#[test]
fn symbols_show_all_of_them() {
    let [fixture, _] = programs();
    let mut client = start(&fixture, &["area(of:)"]);
    client.expect_stopped("function breakpoint");
    let symbols = shown(&mut client, ":sym Stop.area");
    assert!(
        symbols.contains("main.Stop.area(of: Swift.Int) -> Swift.Int"),
        "{symbols}"
    );
    // A name that is malformed is shown as it is.
    let symbols = shown(&mut client, ":sym _$s4main4StopV4area");
    assert!(symbols.contains("_$s4main4StopV4area in"), "{symbols}");
    client.disconnect();
}
