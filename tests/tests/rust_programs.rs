//! Typical Rust programs: where breakpoints bind, where steps end, which variables are shown.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, RUST_RELEASES, Step, run};

const TOUR: &str = "rust/tour.rs";

#[test]
fn steps_follow_the_source() {
    use Step::{Continue, Next, StepIn, StepOut};
    run(
        TOUR,
        &["vec", "rank", "good", "better"],
        &[
            (Continue, "vec"),
            (Next, "assert"),
            (Next, "assert_eq"),
            (Next, "chain"),
            (Continue, "rank"),
            (StepIn, "match"),
            (Next, "arm_print"),
            (Next, "arm_value"),
            (StepOut, "rank"),
            (Next, "good"),
            (StepIn, "parse"),
            (Next, "question"),
            (Next, "parsed"),
            (Next, "parse_end"),
            (Next, "good"),
            (Next, "bad"),
            (Next, "macro"),
            (Continue, "better"),
            (Continue, "exit"),
        ],
    );
}

/// Each of these lines has code in several places; a pass through it is one stop.
#[test]
fn one_stop_a_pass() {
    let stops: [(&str, &[&str]); 11] = [
        ("vec", &["tour::main"]),
        ("assert", &["tour::main"]),
        ("assert_eq", &["tour::main"]),
        ("twice", &["tour::Area::twice<tour::Square>"]),
        ("area", &["<tour::Square as tour::Area>::area"]),
        ("largest", &["tour::largest<i32>", "tour::largest<f64>"]),
        ("question", &["tour::parse", "tour::parse"]),
        ("fetch", &["tour::fetch::{async_fn#0}"]),
        // Before it waits, and after it has resumed.
        (
            "await",
            &["tour::fetch::{async_fn#0}", "tour::fetch::{async_fn#0}"],
        ),
        ("fetched", &["tour::fetch::{async_fn#0}"]),
        ("print", &["tour::main"]),
    ];
    let fixture = Fixture::of(TOUR);
    for (marker, functions) in stops {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        let answer = client.set_breakpoints(&fixture, &[marker]);
        assert_eq!(answer[0]["line"], fixture.line(marker), "{marker}");
        client.configure();
        for function in functions {
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, marker);
            assert_eq!(client.top_frame()["name"], *function, "{marker}");
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0, "{marker}");
        client.disconnect();
    }
}

fn expect(client: &mut DapClient, expected: &[(&str, Result<&str, &str>)]) {
    for (expression, value) in expected {
        let got = client.try_evaluate(expression);
        match (value, &got) {
            (Ok(value), Ok(got)) => assert_eq!(got, value, "{expression}"),
            (Err(part), Err(got)) if got.contains(part) => {}
            _ => client.fail(&format!("`{expression}`: {got:?}, not {value:?}")),
        }
    }
}

#[test]
fn values_in_rusts_own_notation() {
    let fixture = Fixture::of(TOUR);
    let mut client = DapClient::stopped_at(&fixture, "print");
    let locals = client.locals();
    assert_eq!(
        locals["keeper"],
        r#"Keeper {shape: Square(2.0), name: Some("keeper"), cells: [4] (strong 1)}"#
    );
    for (name, value) in [
        ("list", "(3) [3, 1, 2]"),
        ("doubled", "(3) [6, 2, 4]"),
        ("sum", "30"),
        ("area", "8.0"),
        ("level", "High"),
        ("ranked", "\"mid\""),
        ("good", "42"),
        ("bad", "true"),
        ("squared", "1849"),
        ("fetched", "13"),
        ("taken", "\"moved\""),
        ("letter", "'x'"),
    ] {
        assert_eq!(locals[name], value, "{name}");
    }
    expect(
        &mut client,
        &[
            ("list[1] + doubled[0]", Ok("7")),
            ("keeper.cells[0]", Ok("4")),
            ("keeper.cells.value.value[0].value.value", Ok("4")),
            ("level == Level::High && !flag", Ok("true")),
            ("level as u8 + 1", Ok("11")),
            ("good << 1_u8", Ok("84")),
            ("*ranked", Ok("\"mid\"")),
            ("(*list)[0]", Ok("3")),
            ("*good", Err("is not a pointer")),
            ("list[7]", Err("length is 3")),
            // A function in the same module resolves, one of another module does not: `len` is not
            // a variable.
            ("len", Err("no variable `len`")),
            ("as_mut", Err("no variable `as_mut`")),
            ("nowhere", Err("no variable `nowhere`")),
        ],
    );
    for function in ["parse", "tour::parse", "rank"] {
        let name = function.trim_start_matches("tour::");
        let value = client.evaluate(function);
        assert!(value.ends_with(&format!("<tour::{name}>")), "{value}");
    }
    client.disconnect();
}

#[test]
fn variables_can_be_set() {
    let fixture = Fixture::of(TOUR);
    let mut client = DapClient::stopped_at(&fixture, "print");
    let frame = client.top_frame()["id"].as_i64().expect("an id");
    let locals = client.locals_reference(frame);
    let mut set = |name: &str, value: &str| {
        let arguments = json!({"variablesReference": locals, "name": name, "value": value});
        client
            .request("setVariable", arguments)
            .map(|body| body["value"].as_str().expect("a text").to_owned())
            .map_err(|response| response["body"]["error"]["format"].to_string())
    };
    for (name, value, shown) in [
        ("good", "-7", "-7"),
        ("good", "0x10", "16"),
        ("good", "sum * 2", "60"),
        ("flag", "true", "true"),
        ("letter", "'ß'", "'ß'"),
        ("letter", r"'\n'", r"'\n'"),
        ("level", "Low", "Low"),
        ("level", "Level::Mid", "Mid"),
        ("area", "2.5", "2.5"),
        ("taken", "\"text\"", "\"text\""),
    ] {
        assert_eq!(set(name, value).as_deref(), Ok(shown), "{name} = {value}");
    }
    for (name, value) in [
        ("good", "99999999999"),
        ("flag", "7"),
        ("letter", "'ab'"),
        ("level", "3"),
        ("level", "Higher"),
        ("taken", "\"longer than its capacity\""),
    ] {
        assert!(set(name, value).is_err(), "{name} = {value}");
    }
    client.continue_();
    client.expect_exit();
    let output = client.output("stdout");
    assert!(output.contains(" text\n"), "{output}");
    let end = "2.5 Mid \n Some(\"keeper\") RefCell { value: [Cell { value: 4 }] }\n";
    assert!(output.ends_with(end), "{output}");
    client.disconnect();
}

/// Variables are hidden before their `let`: they would show old contents of the stack.
#[test]
fn variables_appear_with_their_let() {
    let fixture = Fixture::of(TOUR);
    let mut client = DapClient::stopped_at(&fixture, "level");
    let locals: BTreeMap<String, String> = client.locals();
    let names: Vec<&str> = locals.keys().map(String::as_str).collect();
    assert_eq!(names, ["area", "doubled", "keeper", "list", "sum"]);
    client.disconnect();
}

/// Optimized: the reported line is the requested one, also if an inlined call starts there.
#[test]
fn optimized_breakpoints_stay_on_their_lines() {
    let flags = Flags::new(Compiler::Rustc).optimized("2");
    let Some(fixture) = Fixture::build(TOUR, flags) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let source = fixture.source.to_str().expect("a path");
    let lines = std::fs::read_to_string(source)
        .expect("the source")
        .lines()
        .count();
    let all: Vec<Value> = (1..=lines).map(|line| json!({"line": line})).collect();
    let answer = client.set_source_breakpoints(source, all);
    for (breakpoint, line) in answer.iter().zip(1..) {
        if breakpoint["verified"] == true {
            let bound_line = breakpoint["line"].as_u64().expect("a line");
            assert!(
                bound_line >= line && bound_line <= lines as u64,
                "line {line}: {breakpoint}"
            );
            assert_eq!(breakpoint["source"]["path"], source, "line {line}");
        }
    }
    client.disconnect();
}

/// A panic that aborts stops once, with the panicking line on the stack.
#[test]
fn a_panic_that_aborts() {
    let flags = Flags {
        extra: &["-Cpanic=abort"],
        ..Flags::new(Compiler::Rustc)
    };
    let Some(fixture) = Fixture::build("rust/panic.rs", flags) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let stop = client.expect_stopped("exception");
    assert_eq!(stop["description"], "Rust panic");
    let text = stop["text"].as_str().expect("a text");
    assert!(text.starts_with("index out of bounds"), "{text}");
    let stack = client.stack();
    let lines: Vec<&Value> = stack
        .iter()
        .filter(|frame| frame["source"]["path"] == fixture.source.to_str().expect("a path"))
        .map(|frame| &frame["line"])
        .collect();
    assert_eq!(lines, [fixture.line("index"), fixture.line("call")]);
    client.continue_();
    assert_eq!(client.expect_exit(), 134);
    client.disconnect();
}

/// Without the filter for panics, the signal says that a panic ended the program.
#[test]
fn a_panic_that_aborts_is_explained_by_its_signal() {
    let flags = Flags {
        extra: &["-Cpanic=abort"],
        ..Flags::new(Compiler::Rustc)
    };
    let Some(fixture) = Fixture::build("rust/panic.rs", flags) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    client.configure();
    let stop = client.expect_stopped("exception");
    assert_eq!(stop["description"], "signal SIGABRT");
    let text = stop["text"].as_str().expect("a text");
    let begin = "a Rust panic (built with panic=abort): index out of bounds";
    assert!(text.starts_with(begin), "{text}");
    client.continue_();
    assert_eq!(client.expect_exit(), 134);
    client.disconnect();
}

/// With optimization, too: what the code has lost, the coroutine's state still has. rustc
/// describes where an optimized coroutine's state is since 1.95 at the latest; 1.80 does not.
#[test]
fn coroutine_variables_are_shown() {
    let optimized = ["", "+1.95.0", "+nightly"].map(|release| Flags::rust(release, "2"));
    let plain = RUST_RELEASES.map(|release| Flags::rust(release, "0"));
    let inlined = Flags {
        extra: &["-Ccodegen-units=1", "-Cllvm-args=-inline-threshold=10000"],
        ..Flags::rust("", "2")
    };
    for flags in plain.into_iter().chain(optimized).chain([inlined]) {
        let Some(fixture) = Fixture::build("rust/coroutine.rs", flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&fixture, &["ready"]);
        client.configure();
        let thread = client.expect_stopped("breakpoint")["threadId"].clone();
        let arguments = json!({"threadId": thread});
        let stack = client.request("stackTrace", arguments).expect("a stack");
        let frames = stack["stackFrames"].as_array().expect("frames");
        let awaited =
            "Suspend0 at line 30 {text: \"hi\", local: 7, __awaitee: Later(0), number: 6}";
        for (marker, expected) in [
            ("inner_waits", &[("text", "\"hi\""), ("number", "6")][..]),
            (
                "outer_waits",
                &[("seed", "3"), ("kept", "6"), ("__awaitee", awaited)],
            ),
        ] {
            let of = format!("{marker} with {flags:?}");
            let line = fixture.line(marker);
            let frame = frames.iter().find(|frame| frame["line"] == line);
            let frame = frame.unwrap_or_else(|| panic!("no frame of {of} in {frames:?}"));
            let scope = client.locals_reference(frame["id"].as_i64().expect("an id"));
            let arguments = json!({"variablesReference": scope});
            let locals = client.request("variables", arguments).expect("locals");
            let locals = locals["variables"].as_array().expect("a list").clone();
            for (name, value) in expected {
                let local = locals.iter().find(|local| local["name"] == *name);
                let local = local.unwrap_or_else(|| panic!("no {name} of {of}: {locals:?}"));
                assert_eq!(local["value"], *value, "{name} of {of}");
                let arguments =
                    json!({"expression": name, "frameId": frame["id"], "context": "watch"});
                let shown = client.request("evaluate", arguments);
                let shown = shown.unwrap_or_else(|error| panic!("{name} of {of}: {error}"));
                assert_eq!(shown["result"], *value, "{name} of {of}");
            }
            // What a function was called with is there once.
            let twice = locals.iter().find(|local| {
                let name = local["name"].as_str().expect("a name");
                name.contains(" (line ")
            });
            assert_eq!(twice, None, "{of}");
        }
        client.disconnect();
    }
}

/// rustc describes the type of a function item as that of a pointer to it, but a value has no bytes.
#[test]
fn function_items_have_no_address() {
    let fixture = Fixture::of("rust/fn_items.rs");
    let mut client = DapClient::stopped_at(&fixture, "apply");
    assert_eq!(client.locals()["function"], "<function item>");
    client.continue_();
    client.expect_stopped("breakpoint");
    let pointer = client.locals()["function"].clone();
    assert!(pointer.contains("fn_items::add"), "{pointer}");
    client.disconnect();
    let mut client = DapClient::stopped_at(&fixture, "end");
    let locals = client.locals();
    for (name, expected) in [
        ("item", "<function item>"),
        ("constructor", "<function item>"),
        ("method", "<function item>"),
        ("optional", "Some(<function item>)"),
        ("row", "[<function item>, <function item>]"),
        ("tuple", "(1, <function item>, 2)"),
    ] {
        assert_eq!(locals[name], expected, "{name}");
    }
    for name in ["pointer", "pointers"] {
        assert!(locals[name].contains("fn_items::add"), "{}", locals[name]);
    }
    assert_eq!(client.evaluate("pointer(3)"), "4");
    assert_eq!(client.evaluate("tuple.2"), "2");
    client.disconnect();
}
