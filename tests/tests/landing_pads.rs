//! Breakpoints in functions that begin with a landing pad of indirect calls (`bti c`, `paciasp`), in
//! guarded memory: the pad stays, trap and jump are behind it, and each call is one hit.

use serde_json::{Value, json};
use std::fs;
use stillpoint_tests::{DapClient, Fixture};

/// As of the fixture.
const CALLS: u64 = 400;

/// Launches the program with a hit condition at each of these functions, by name or by line.
fn launched(fixture: &Fixture, functions: &[Value], lines: Vec<(&str, Value)>) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.request_ok("setFunctionBreakpoints", json!({"breakpoints": functions}));
    client.set_breakpoints_with(fixture, lines);
    client.configure();
    client
}

fn note(body: &Value) -> &str {
    body["breakpoint"]["message"].as_str().unwrap_or_default()
}

/// Returns whether the processor guards the code of the program.
fn is_guarded(client: &mut DapClient) -> bool {
    let pid = client.debuggee_pid();
    let maps = fs::read_to_string(format!("/proc/{pid}/smaps")).expect("its memory");
    let mut flags = maps.lines().filter(|line| line.starts_with("VmFlags:"));
    let is_guarded = flags.any(|line| line.split_whitespace().any(|flag| flag == "bt"));
    if !is_guarded {
        skips::skip("a processor with landing pads of indirect calls (BTI)");
    }
    is_guarded
}

/// Each hundredth call stops, with the argument and the callers of that call.
fn expect_each_hundredth(client: &mut DapClient, variable: &str, names: &[&str]) {
    for call in (100..=CALLS).step_by(100) {
        client.expect_stopped_by(&["breakpoint", "function breakpoint"]);
        assert_eq!(client.function_names(), names);
        assert_eq!(client.evaluate(variable), call.to_string());
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0, "its sums");
}

#[test]
fn functions_called_indirectly_count_in_the_program() {
    let fixture = Fixture::of("aarch64/landing_pads.c");
    for by_line in [false, true] {
        for (name, body) in [("signing", "signing_body"), ("called", "called_body")] {
            let hit = json!({"condition": "value > 0", "hitCondition": "% 100"});
            let mut function = hit.clone();
            function["name"] = name.into();
            let mut client = match by_line {
                true => launched(&fixture, &[], vec![(name, hit)]),
                false => launched(&fixture, &[function], Vec::new()),
            };
            client.wait_for_jump_patch();
            if !is_guarded(&mut client) {
                return;
            }
            for call in (100..=CALLS).step_by(100) {
                client.expect_stopped_by(&["breakpoint", "function breakpoint"]);
                assert_eq!(client.function_names(), [name, "run", "_start"]);
                client.expect_line(&fixture, body);
                assert_eq!(client.evaluate("value"), call.to_string());
                client.step_out();
                assert_eq!(client.function_names(), ["run", "_start"]);
                client.continue_();
            }
            assert_eq!(client.expect_exit(), 0, "its sums");
            client.disconnect();
        }
    }
}

#[test]
fn traps_stop_where_jumps_do() {
    let fixture = Fixture::of("aarch64/landing_pads.c");
    // What is compiled and what is interpreted, at the same function.
    let mut stops = Vec::new();
    for condition in ["value > 0", "$thread > 0 && value > 0"] {
        let hit = json!({"name": "signing", "condition": condition, "hitCondition": "== 300"});
        let mut client = launched(&fixture, &[hit], Vec::new());
        client.expect_stopped("function breakpoint");
        let frame = client.top_frame();
        stops.push((
            frame["instructionPointerReference"].clone(),
            frame["line"].clone(),
            client.function_names(),
            client.evaluate("value"),
        ));
        // Another step or breakpoint at the same place makes no second stop.
        client.set_breakpoints(&fixture, &["signing", "signing_body"]);
        client.step_in();
        assert_eq!(client.function_names()[0], "leaf");
        client.disconnect();
    }
    assert_eq!(stops[0], stops[1]);
}

#[test]
fn step_into_a_function_hits_its_breakpoint_once() {
    let fixture = Fixture::of("aarch64/landing_pads.c");
    let mut client = launched(&fixture, &[], vec![("call", json!({}))]);
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &[]);
    let set = client.set_function_breakpoints(&["called", "signing"]);
    assert!(set.iter().all(|it| it["verified"] == true), "{set:?}");
    for expected in ["called", "signing"] {
        let mut reason = Value::Null;
        for _ in 0..20 {
            let thread = client.thread();
            client.request_ok("stepIn", json!({"threadId": thread}));
            let stop = client.expect_stopped_by(&["step", "function breakpoint"]);
            reason = stop["reason"].clone();
            if client.function_names()[0] != "run" {
                break;
            }
        }
        assert_eq!(client.function_names()[..2], [expected, "run"]);
        assert_eq!(reason, "function breakpoint");
        assert_eq!(client.evaluate("value"), "1");
        client.step_out();
    }
    // The next stop is in the next call.
    client.continue_();
    client.expect_stopped("function breakpoint");
    assert_eq!(client.function_names()[0], "called");
    assert_eq!(client.evaluate("value"), "2");
    client.disconnect();
}

#[test]
fn function_that_begins_with_a_loop_is_hit_once_a_call() {
    let fixture = Fixture::of("aarch64/landing_pads.c");
    let hit = json!({"name": "looping", "condition": "count > 0", "hitCondition": "% 100"});
    let mut client = launched(&fixture, &[hit], Vec::new());
    client.wait_event_where("breakpoint", |body| note(body).contains("landing pad"));
    expect_each_hundredth(&mut client, "count", &["looping", "run", "_start"]);
    client.disconnect();
}
