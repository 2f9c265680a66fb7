//! Signals of a recorded program: they stop it in its past where they have stopped it, or would have.

use super::{go, recorded, recorded_with, return_to_present, shown};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

/// Resumes to a signal. Returns the ticks there.
fn go_to_signal(client: &mut DapClient, request: &str, signal: &str) -> u64 {
    let event = go(client, request, &["exception"]);
    let text = event["text"].as_str().unwrap_or_default();
    assert!(text.contains(signal), "{event}");
    client.evaluate("ticks").parse().expect("a number")
}

#[test]
fn signals_stop_in_the_past_as_they_would_have() {
    let fixture = Fixture::of("c/walk_signals.c");
    let rules = json!({"SIGSEGV": {"stop": false}});
    let mut client = recorded_with(&fixture, "counted", json!({"signals": rules}));
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    for _ in 0..2 {
        go(&mut client, "continue", &["breakpoint"]);
    }
    let present: u64 = client.evaluate("ticks").parse().expect("a number");
    client.set_breakpoints(&fixture, &[]);
    // They were no stops when they came.
    shown(&mut client, ":signals SIGUSR1 stop");
    let back: Vec<u64> = (0..3)
        .map(|_| go_to_signal(&mut client, "reverseContinue", "SIGUSR1"))
        .collect();
    assert!(
        back[0] < present && back[1] < back[0] && back[2] < back[1],
        "{back:?}"
    );
    assert_eq!(client.evaluate("users"), "0", "the handler has not begun");
    let event = go(&mut client, "reverseContinue", &["entry"]);
    assert_eq!(event["description"], "In the past: entry");
    let forward: Vec<u64> = (0..3)
        .map(|_| go_to_signal(&mut client, "continue", "SIGUSR1"))
        .collect();
    assert_eq!(forward, back.into_iter().rev().collect::<Vec<_>>());
    client.set_breakpoints(&fixture, &["counted"]);
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.function_names()[0], "on_user");
    return_to_present(&mut client);
    client.disconnect();
}

#[test]
fn faults_stop_in_the_past_with_their_address() {
    let fixture = Fixture::of("c/walk_signals.c");
    let mut client = recorded(&fixture, "counted");
    client.set_breakpoints(&fixture, &[]);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    let first = go(&mut client, "continue", &["exception"]);
    let line = client.top_line();
    go(&mut client, "continue", &["exception", "exit"]);
    let past = go(&mut client, "reverseContinue", &["exception"]);
    assert_eq!((&past["text"], client.top_line()), (&first["text"], line));
    client.disconnect();
}

#[test]
fn a_breakpoint_is_passed_once_when_an_ignored_signal_is_pending() {
    let fixture = Fixture::of("c/travel.c");
    for record in [true, false] {
        let mut client = DapClient::stopped_with(&fixture, "call", json!({"record": record}));
        let pid = Pid::from_raw(client.debuggee_pid());
        for i in 0..4 {
            assert_eq!(client.evaluate("i"), i.to_string());
            // The program does not handle it: it changes nothing.
            kill(pid, Signal::SIGWINCH).expect("sent");
            go(&mut client, "next", &["step"]);
            kill(pid, Signal::SIGWINCH).expect("sent");
            go(&mut client, "continue", &["breakpoint"]);
        }
        client.disconnect();
    }
}

/// The recorder completes the instruction, at the signal that it has raised.
#[test]
fn reads_of_the_counter_are_steps_of_a_software_watch() {
    let fixture = Fixture::of("c/travel_counter.c");
    let mut client = recorded(&fixture, "begun");
    client.set_breakpoints(&fixture, &["end"]);
    go(&mut client, "continue", &["breakpoint"]);
    client.set_breakpoints(&fixture, &["begun"]);
    go(&mut client, "reverseContinue", &["breakpoint"]);
    client.set_breakpoints(&fixture, &[]);
    let frame = client.top_frame()["id"].clone();
    let info = client.request_ok(
        "dataBreakpointInfo",
        json!({"name": "changed", "frameId": frame, "mode": "software"}),
    );
    let watch = json!([{"dataId": info["dataId"], "accessType": "write"}]);
    client.request_ok("setDataBreakpoints", json!({"breakpoints": watch}));
    for changed in ["1", "2", "3"] {
        go(&mut client, "continue", &["data breakpoint"]);
        assert_eq!(client.evaluate("changed"), changed);
    }
    client.disconnect();
}
