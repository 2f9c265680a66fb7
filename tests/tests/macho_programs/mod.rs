//! Programs of macOS, run on Linux by a loader of ours (`fixtures/darwin/loader.c`) and debugged by the
//! backend for macOS over simulated Mach calls: images, debug info in object files, stacks by compact
//! unwind info, steps, values.
//!
//! `tests/darwin.sh simulated` runs this with the debugger that it is for.

mod built;
mod objects;

use built::{breakpoint, build, build_own, build_swift, expect_line, line};
use serde_json::json;
use std::io::Write;
use stillpoint_tests::DapClient;

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn breakpoints_stacks_values_and_calls() {
    let built = build(&["-O0"]);
    let (debuggee, mut input) = built.start();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    let at = [
        json!({"line": line("walk.c", "leaf")}),
        json!({"line": line("walk.c", "back"), "condition": "depth == 3"}),
    ];
    assert!(breakpoint(&mut client, "walk.c", json!(at)), "bound");
    client.configure();
    input.write_all(b"x").expect("it waits");
    client.expect_stopped("breakpoint");
    expect_line(&mut client, "walk.c", "leaf");
    assert_eq!(client.function_names()[..3], ["leaf", "walk", "program"]);
    assert_eq!(client.evaluate("item->weight"), "7");
    assert_eq!(client.evaluate("item->at.y + visits"), "3");
    assert!(client.evaluate("item->name").contains("\"seven\""));
    assert_eq!(client.evaluate("twice(item->weight * 3)"), "42");
    client.step_out();
    expect_line(&mut client, "walk.c", "bottom");
    client.step_out();
    expect_line(&mut client, "walk.c", "round");
    client.continue_();
    client.expect_stopped("breakpoint");
    let stack = client.function_names();
    assert_eq!(stack[..4], ["leaf", "walk", "walk", "program"]);
    breakpoint(&mut client, "walk.c", json!(&at[1..]));
    client.continue_();
    client.expect_stopped("breakpoint");
    expect_line(&mut client, "walk.c", "back");
    assert_eq!(client.evaluate("below"), "16");
    client.disconnect();
    assert_eq!(debuggee.read_line(), "result 68");
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn stacks_at_each_instruction() {
    for flags in [
        ["-O0", "-fno-omit-frame-pointer"],
        ["-O1", "-fomit-frame-pointer"],
        ["-O2", "-fno-optimize-sibling-calls"],
    ] {
        let built = build(&flags);
        let (debuggee, mut input) = built.start();
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        client.set_function_breakpoints(&["walk"]);
        client.configure();
        input.write_all(b"x").expect("it waits");
        client.expect_stopped("function breakpoint");
        client.set_function_breakpoints(&[]);
        let mut seen = 0;
        for step in 0..150 {
            let names = client.function_names();
            let known = ["leaf", "walk", "program"];
            let inside = names
                .iter()
                .take_while(|name| known.contains(&name.as_str()));
            let inside: Vec<&str> = inside.map(String::as_str).collect();
            if !names
                .first()
                .is_some_and(|name| known.contains(&name.as_str()))
            {
                // It has left for the loader.
                break;
            }
            assert_eq!(
                inside.last(),
                Some(&"program"),
                "{flags:?}, step {step}: {names:?}"
            );
            seen += 1;
            let thread = client.thread();
            let one = json!({"threadId": thread, "granularity": "instruction"});
            client.request_ok("stepIn", one);
            client.expect_stopped("step");
        }
        assert!(seen > 60, "{flags:?}: {seen}");
        client.disconnect();
        assert_eq!(debuggee.read_line(), "result 68");
    }
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn a_library_that_comes_later() {
    let built = build(&["-O0"]);
    let (debuggee, mut input) = built.start();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    let at = json!([{"line": line("late.c", "tenth")}]);
    assert!(
        !breakpoint(&mut client, "late.c", at),
        "it is not there yet"
    );
    client.configure();
    input.write_all(b"x").expect("it waits");
    let changed = client.wait_event("breakpoint");
    assert_eq!(changed["breakpoint"]["verified"], true, "{changed}");
    client.expect_stopped("breakpoint");
    expect_line(&mut client, "late.c", "tenth");
    assert_eq!(client.function_names()[..2], ["late", "program"]);
    assert_eq!(client.evaluate("number"), "62");
    assert_eq!(client.evaluate("tenth"), "6");
    let modules = client.request_ok("modules", json!({}));
    let names: Vec<_> = (modules["modules"].as_array().expect("a list").iter())
        .map(|module| module["name"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(names, ["walk", "liblate.dylib"]);
    client.disconnect();
    assert_eq!(debuggee.read_line(), "result 68");
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn a_library_without_a_file() {
    for flags in [["-O0"], ["-O2"]] {
        let built = build(&flags);
        let (debuggee, mut input) = built.start_with(&["gone"]);
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        client.set_function_breakpoints(&["late"]);
        client.configure();
        input.write_all(b"x").expect("it waits");
        client.expect_stopped("function breakpoint");
        // Symbols and unwind info are in memory.
        let names = client.function_names();
        assert_eq!(names[..2], ["late", "program"], "{flags:?}");
        client.step_out();
        assert_eq!(client.function_names()[0], "program", "{flags:?}");
        client.disconnect();
        assert_eq!(debuggee.read_line(), "result 68");
    }
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn thread_local_variables() {
    // With the descriptors of older and of later releases.
    for flags in [&["-gdwarf-4"][..], &["-gdwarf-5", "-DPACKED"]] {
        let built = build_own(flags);
        let (debuggee, mut input) = built.start();
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        let at = json!([{"line": line("own.c", "begin")}, {"line": line("own.c", "end")}]);
        assert!(breakpoint(&mut client, "own.c", at), "bound");
        client.configure();
        input.write_all(b"x").expect("it waits");
        client.expect_stopped("breakpoint");
        let error = client.try_evaluate("own").expect_err("no storage yet");
        assert!(
            error.contains("not allocated in this thread yet"),
            "{error}"
        );
        client.continue_();
        client.expect_stopped("breakpoint");
        expect_line(&mut client, "own.c", "end");
        assert_eq!(client.evaluate("own"), "7", "{flags:?}");
        assert_eq!(client.evaluate("further"), "47", "{flags:?}");
        client.disconnect();
        assert_eq!(debuggee.read_line(), "result 47");
    }
}

#[test]
#[ignore = "run by `tests/darwin.sh simulated`"]
fn names_of_swift() {
    // With debug info in the object file, and without.
    for flags in [&["-g"][..], &[]] {
        let built = build_swift(flags);
        for name in ["Stop.area(of:)", "area", "main.Stop.area"] {
            let (debuggee, mut input) = built.start();
            let mut client = DapClient::spawn();
            client.attach(debuggee.pid(), json!({}));
            client.set_function_breakpoints(&[name]);
            client.configure();
            input.write_all(b"x").expect("it waits");
            client.expect_stopped("function breakpoint");
            let stack = client.function_names();
            let expected = [
                "Stop.area(of:)",
                "Stop.total.getter",
                "closure #1 in run(_:)",
                "run(_:)",
                "program",
            ];
            assert_eq!(stack[..5], expected, "{name}, {flags:?}");
            client.disconnect();
            assert_eq!(debuggee.read_line(), "result 13");
        }
    }
}
