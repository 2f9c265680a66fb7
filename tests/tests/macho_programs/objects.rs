//! Programs in Objective-C.

use super::built::{Built, breakpoint, build_objects, expect_line, line};
use serde_json::json;
use std::io::Write;
use stillpoint_tests::DapClient;
use stillpoint_tests::process::Debuggee;

const SOURCE: &str = "objects.m";

/// Starts the program and stops it at a line.
fn stopped_at(built: &Built, mark: &str) -> (DapClient, Debuggee) {
    let (debuggee, mut input) = built.start();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    let at = json!([{"line": line(SOURCE, mark)}]);
    assert!(breakpoint(&mut client, SOURCE, at), "bound");
    client.configure();
    input.write_all(b"x").expect("it waits");
    client.expect_stopped("breakpoint");
    expect_line(&mut client, SOURCE, mark);
    (client, debuggee)
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn steps_go_into_methods() {
    let built = build_objects(&["-O0"]);
    let (mut client, debuggee) = stopped_at(&built, "made");
    // `initialize` runs first, and `objc_alloc_init` sends `init` itself.
    for (mark, name) in [("init", "-[Point init]"), ("bare_init", "-[NSObject init]")] {
        client.step_in();
        expect_line(&mut client, SOURCE, mark);
        assert_eq!(client.function_names()[0], name);
    }
    client.step_out();
    expect_line(&mut client, SOURCE, "init");
    client.step_out();
    expect_line(&mut client, SOURCE, "made");
    for mark in ["first", "second"] {
        client.next();
        expect_line(&mut client, SOURCE, mark);
        // First by the slow path, then from the cache.
        client.step_in();
        expect_line(&mut client, SOURCE, "sum");
        let stack = client.function_names();
        assert_eq!(stack[..2], ["-[Point sum:with:]", "program"]);
        client.step_out();
        expect_line(&mut client, SOURCE, mark);
    }
    client.next();
    expect_line(&mut client, SOURCE, "extended");
    client.step_in();
    assert_eq!(client.function_names()[0], "-[Point(Other) third]");
    client.step_out();
    client.next();
    client.step_in();
    expect_line(&mut client, SOURCE, "count");
    assert_eq!(client.function_names()[0], "+[Point count]");
    client.step_out();
    client.next();
    client.next();
    expect_line(&mut client, SOURCE, "block");
    client.step_in();
    assert_eq!(client.function_names()[0], "__program_block_invoke");
    client.next();
    expect_line(&mut client, SOURCE, "in_block");
    client.disconnect();
    assert_eq!(debuggee.read_line(), "result 110");
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn breakpoints_on_methods_by_name() {
    let built = build_objects(&["-O0"]);
    for (name, mark) in [
        ("-[Point sum:with:]", "sum"),
        ("[Point sum:with:]", "sum"),
        ("sum:with:", "sum"),
        ("+[Point count]", "count"),
        ("-[Point(Other) third]", "third"),
        ("-[Point third]", "third"),
        ("third", "third"),
    ] {
        let (debuggee, mut input) = built.start();
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        let set = json!({"breakpoints": [{"name": name}]});
        let set = client.request_ok("setFunctionBreakpoints", set);
        client.configure();
        if set["breakpoints"][0]["verified"] == false {
            // A selector alone is found in the debug info, which is searched meanwhile.
            let changed = client.wait_event("breakpoint");
            assert_eq!(changed["breakpoint"]["verified"], true, "{name}: {changed}");
        }
        input.write_all(b"x").expect("it waits");
        client.expect_stopped("function breakpoint");
        expect_line(&mut client, SOURCE, mark);
        client.disconnect();
        assert_eq!(debuggee.read_line(), "result 110");
    }
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn values_are_those_of_the_own_class() {
    let with_cpp = &["-O0", "-x", "objective-c++"];
    for flags in [&["-O0"][..], &["-O0", "-gdwarf-5"], with_cpp] {
        let built = build_objects(flags);
        let (mut client, debuggee) = stopped_at(&built, "end");
        let locals = client.locals();
        assert!(
            locals["named"].ends_with("x = 3, y = 4}, name = @\"seven\"}"),
            "{locals:?}"
        );
        assert!(locals["anything"].ends_with(" (Named)"), "{locals:?}");
        assert_eq!(client.evaluate("named->name"), "@\"seven\"");
        assert_eq!(client.evaluate("named->x * 10 + point->y"), "34");
        client.disconnect();
        assert_eq!(debuggee.read_line(), "result 110");
    }
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn methods_see_their_object() {
    for flags in [&["-O0"][..], &["-O0", "-x", "objective-c++"]] {
        methods_see_their_object_with(flags);
    }
}

fn methods_see_their_object_with(flags: &[&str]) {
    let built = build_objects(flags);
    let (mut client, debuggee) = stopped_at(&built, "sum");
    let locals = client.locals();
    assert_eq!(locals["more"], "5");
    assert!(locals["self"].starts_with("0x"), "{locals:?}");
    assert!(locals["_cmd"].ends_with(" \"sum:with:\""), "{locals:?}");
    assert_eq!(client.evaluate("self->x + y"), "7");
    // A condition with an instance variable by its bare name.
    let at = json!([{"line": line(SOURCE, "sum"), "condition": "x + more == 10"}]);
    assert!(breakpoint(&mut client, SOURCE, at), "bound");
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("more"), "7");
    client.disconnect();
    assert_eq!(debuggee.read_line(), "result 110");
}
