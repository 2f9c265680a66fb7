//! What a step can enter, what steps pass through, and moving to another line.

use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// The targets of the innermost frame's line.
fn targets(client: &mut DapClient) -> Vec<(String, i64)> {
    let frame = client.top_frame()["id"].clone();
    let body = client.request_ok("stepInTargets", json!({"frameId": frame}));
    let targets = body["targets"].as_array().expect("targets");
    let target = |target: &Value| {
        let label = target["label"].as_str().expect("a label").to_owned();
        (label, target["id"].as_i64().expect("a number"))
    };
    targets.iter().map(target).collect()
}

fn labels(targets: &[(String, i64)]) -> Vec<&str> {
    targets.iter().map(|(label, _)| label.as_str()).collect()
}

fn step_into(client: &mut DapClient, targets: &[(String, i64)], label: &str) {
    let found = targets.iter().find(|(name, _)| name == label);
    let (_, id) = found.unwrap_or_else(|| panic!("no {label} in {targets:?}"));
    let thread = client.thread();
    client.request_ok("stepIn", json!({"threadId": thread, "targetId": id}));
    client.expect_stopped("step");
}

#[test]
fn calls_of_a_line_are_step_targets() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("stepping/targets.cpp", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "nested");
        let found = targets(&mut client);
        let mut names = labels(&found);
        assert_eq!(names.pop(), Some("both"), "called last: {found:?}");
        // The order of the arguments is the compiler's.
        names.sort_unstable();
        assert_eq!(names, ["first", "second"]);
        step_into(&mut client, &found, "both");
        client.expect_line(&fixture, "both");
        client.step_out();
        client.expect_line(&fixture, "nested");
        assert!(targets(&mut client).is_empty(), "all calls are made");
        client.next();
        client.expect_line(&fixture, "kinds");
        let found = targets(&mut client);
        // Nothing is known of printf.
        assert_eq!(labels(&found), ["Square::area", "inlined"], "{compiler:?}");
        step_into(&mut client, &found, "inlined");
        client.expect_line(&fixture, "inlined");
        assert_eq!(client.function_names()[..2], ["inlined", "main"]);
        client.disconnect();
    }
}

/// Stops at a line, and returns the names of its targets.
fn names_at(client: &mut DapClient, fixture: &Fixture, line: &str) -> Vec<String> {
    client.continue_to(fixture, line);
    let found = targets(client);
    found.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn calls_behind_arguments_on_other_lines_are_targets() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        let Some(fixture) = Fixture::build("stepping/arguments.cpp", flags) else {
            continue;
        };
        for call in ["call", "branch"] {
            if (call, compiler) == ("branch", Compiler::Gcc) {
                // Its table cannot tell the call from the argument that it evaluates first.
                continue;
            }
            let mut client = DapClient::stopped_at(&fixture, call);
            let found = targets(&mut client);
            let mut names = labels(&found);
            names.sort_unstable();
            let expected: &[&str] = match call {
                "call" => &["first", "first", "second", "second", "sum"],
                _ => &["first", "second", "sum"],
            };
            assert_eq!(names, expected, "{compiler:?}, {call}");
            step_into(&mut client, &found, "sum");
            client.expect_line(&fixture, "sum");
            client.disconnect();
        }
    }
}

#[test]
fn other_statements_are_no_targets() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        let Some(fixture) = Fixture::build("stepping/arguments.cpp", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "call");
        client.set_breakpoints(&fixture, &["loop", "body", "guard"]);
        let of_loop = names_at(&mut client, &fixture, "loop");
        assert!(
            !of_loop.contains(&"sum".to_owned()),
            "{compiler:?}, {of_loop:?}"
        );
        assert!(
            !of_loop.contains(&"second".to_owned()),
            "{compiler:?}, {of_loop:?}"
        );
        assert_eq!(names_at(&mut client, &fixture, "body"), ["second"]);
        let of_guard = names_at(&mut client, &fixture, "guard");
        assert_eq!(of_guard, ["Guard::Guard"], "{compiler:?}");
        client.disconnect();
    }
}

#[test]
fn calls_of_rust_behind_arguments_are_targets() {
    let fixture = Fixture::of("stepping/arguments.rs");
    let mut client = DapClient::stopped_at(&fixture, "call");
    let found = targets(&mut client);
    let names: Vec<&str> = labels(&found)
        .iter()
        .filter_map(|it| it.rsplit("::").next())
        .collect();
    assert_eq!(names, ["first", "second", "second", "first", "sum"]);
    step_into(&mut client, &found, labels(&found)[4]);
    client.expect_line(&fixture, "sum");
    client.disconnect();
}

#[test]
fn virtual_call_can_be_a_step_target() {
    let fixture = Fixture::of("stepping/targets.cpp");
    let mut client = DapClient::stopped_at(&fixture, "kinds");
    let found = targets(&mut client);
    step_into(&mut client, &found, "Square::area");
    client.expect_line(&fixture, "area");
    let frames = client.stack();
    let outer = frames[1]["id"].clone();
    let body = client.request_ok("stepInTargets", json!({"frameId": outer}));
    assert_eq!(body["targets"], json!([]), "it is in the middle of a call");
    let thread = client.thread();
    let stale = found[0].1;
    client.request_error("stepIn", json!({"threadId": thread, "targetId": stale}));
    client.disconnect();
}

#[test]
fn call_at_the_pc_can_be_a_step_target() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        for level in ["0", "2"] {
            let flags = Flags::new(compiler).optimized(level);
            let Some(fixture) = Fixture::build("stepping/at_call.c", flags) else {
                continue;
            };
            let mut client = DapClient::stopped_at(&fixture, "call");
            for line in ["call", "call_pointer"] {
                client.expect_line(&fixture, line);
                let found = targets(&mut client);
                step_into(&mut client, &found, "plain");
                client.expect_line(&fixture, "plain");
                client.step_out();
                if client.top_line() == fixture.line(line) {
                    client.next();
                }
            }
            client.expect_line(&fixture, "after");
            client.disconnect();
        }
    }
}

#[test]
fn step_filters_can_be_disabled_and_extended() {
    let fixture = Fixture::of("stepping/iterators.rs");
    let mut client = DapClient::stopped_with(&fixture, "sum", json!({"stepFilters": false}));
    client.step_in();
    let path = client.top_frame()["source"]["path"].clone();
    let path = path.as_str().expect("a path");
    assert!(path.contains("/library/core/"), "{path}");
    client.disconnect();

    let fixture = Fixture::of("stepping/targets.cpp");
    let own = json!({"stepFilters": ["*/stepping/*"]});
    let mut client = DapClient::stopped_with(&fixture, "nested", own);
    // A step that starts in filtered code is not filtered.
    client.step_in();
    assert_ne!(client.function_names()[0], "main");
    client.disconnect();
}

#[test]
fn a_thread_can_be_moved_within_its_function() {
    let fixture = Fixture::of("stepping/targets.cpp");
    let mut client = DapClient::stopped_at(&fixture, "after");
    let source = json!({"path": fixture.source});
    let thread = client.thread();
    let goto = |client: &mut DapClient, line: u64| {
        let body = client.request_ok("gotoTargets", json!({"source": source, "line": line}));
        body["targets"].as_array().expect("targets").clone()
    };
    let targets = goto(&mut client, fixture.line("end"));
    assert_eq!(targets.len(), 1, "{targets:?}");
    assert_eq!(targets[0]["line"], fixture.line("end"));
    let id = targets[0]["id"].clone();
    client.request_ok("goto", json!({"threadId": thread, "targetId": id}));
    client.expect_stopped("goto");
    client.expect_line(&fixture, "end");
    assert_ne!(client.evaluate("sink"), "6", "nothing has run");
    // Back to the line of the breakpoint, which is not a hit.
    let targets = goto(&mut client, fixture.line("after"));
    let id = targets[0]["id"].clone();
    client.request_ok("goto", json!({"threadId": thread, "targetId": id}));
    client.expect_stopped("goto");
    client.next();
    client.expect_line(&fixture, "skipped");
    assert_eq!(client.evaluate("sink"), "5");
    assert!(goto(&mut client, fixture.line("first")).is_empty());
    client.disconnect();
}

/// Steps into code of the crates that `std` is built with: nobody has their sources.
#[test]
fn steps_into_maps_go_to_the_next_line() {
    let fixture = Fixture::of("rust/hashed.rs");
    let mut client = DapClient::stopped_at(&fixture, "insert");
    for line in ["get", "contains", "remove", "entry", "end"] {
        client.step_in();
        client.expect_line(&fixture, line);
    }
    client.disconnect();
}

/// The compiler adds calls for overflows and indices that are out of bounds.
#[test]
fn failed_checks_of_rust_are_no_targets() {
    let fixture = Fixture::of("rust/fn_items.rs");
    let mut client = DapClient::stopped_at(&fixture, "index");
    let found = targets(&mut client);
    assert!(found.is_empty(), "{found:?}");
    client.disconnect();
}
