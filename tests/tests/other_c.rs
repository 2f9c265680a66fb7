//! C beyond a debugger's usual programs: functions without a prototype, nested functions of GNU C, data without debug
//! info, wide texts, and variables that callers keep in registers.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// The result of an expression in the console, or its error, in a frame.
fn in_frame(client: &mut DapClient, level: usize, expression: &str) -> String {
    let frame = client.stack()[level]["id"].clone();
    let arguments = json!({"expression": expression, "frameId": frame, "context": "repl"});
    match client.request("evaluate", arguments) {
        Ok(body) => body["result"].as_str().unwrap_or_default().to_owned(),
        Err(response) => {
            let text = response["body"]["error"]["format"].as_str();
            format!("error: {}", text.unwrap_or_default())
        }
    }
}

fn expect(client: &mut DapClient, cases: &[(&str, &str)]) {
    for (expression, wanted) in cases {
        let found = in_frame(client, 0, expression);
        assert_eq!(&found, wanted, "{expression}");
    }
}

fn programs() -> impl Iterator<Item = (Compiler, Fixture)> {
    [Compiler::Gcc, Compiler::Clang]
        .into_iter()
        .filter_map(|compiler| {
            let extra = &["-std=gnu11", "-w"];
            let flags = Flags {
                extra,
                ..Flags::new(compiler)
            };
            Some((compiler, Fixture::build("c/other_c.c", flags)?))
        })
}

/// A caller that knows no types of parameters passes a `float` as a `double`.
#[test]
fn functions_without_a_prototype_get_promoted_arguments() {
    for (_, fixture) in programs() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        let cases = [
            ("promoted(3.14f, -2.5f, -5, 'x')", "1"),
            ("promoted(2.5f, -2.5f, -5, 'x')", "0"),
            ("promoted(3.14, -2.5, 65531, 'x')", "1"),
            ("halves(5.0f)", "2.5"),
            ("prototyped(2.5f)", "5"),
            ("((int (*)())twice)(4)", "8"),
            ("((double (*)())half)(5.0)", "2.5"),
            ("((double (*)())half)(5.0f)", "2.5"),
            ("open(4)", "8"),
        ];
        expect(&mut client, &cases);
        client.disconnect();
    }
}
