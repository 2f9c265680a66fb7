//! Recorded programs: ways back and forward in their past.

mod agents;
mod asks;
mod begun;
mod conditions;
mod console;
mod ends;
mod fronts;
mod hits;
mod joined;
mod numbered;
mod origins;
mod pauses;
mod present;
mod repeats;
mod replaced;
mod signals;
mod steps;
mod threads;
mod tight;
mod turns;
pub(crate) mod walks;

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// Launches a recorded program with these settings, and runs it to a named line.
fn recorded_with(fixture: &Fixture, marker: &str, mut settings: Value) -> DapClient {
    settings["record"] = true.into();
    DapClient::stopped_with(fixture, marker, settings)
}

/// Launches a recorded program, and runs it to a named line.
fn recorded(fixture: &Fixture, marker: &str) -> DapClient {
    recorded_with(fixture, marker, json!({}))
}

/// Launches a recorded program with an argument, and runs it to a named line.
fn recorded_as(fixture: &Fixture, mode: &str, marker: &str) -> DapClient {
    recorded_with(fixture, marker, json!({"args": [mode]}))
}

/// Resumes by a request, and waits for a stop with one of these reasons.
fn go(client: &mut DapClient, request: &str, reasons: &[&str]) -> Value {
    let thread = client.thread();
    client.request_ok(request, json!({"threadId": thread}));
    client.expect_stopped_by(reasons)
}

/// Steps back, and waits for the stop, which is in the past.
fn step_back(client: &mut DapClient) {
    let event = go(client, "stepBack", &["step"]);
    assert_eq!(event["description"], "In the past: step", "{event}");
}

/// Runs back to a breakpoint.
fn reverse(client: &mut DapClient) -> Value {
    let event = go(client, "reverseContinue", &["breakpoint"]);
    assert_eq!(event["description"], "In the past: breakpoint", "{event}");
    event
}

/// Runs back to where the recording begins.
fn reverse_to_begin(client: &mut DapClient) {
    let event = go(client, "reverseContinue", &["entry"]);
    assert_eq!(event["description"], "In the past: entry", "{event}");
}

/// Returns to the present from any place.
fn return_to_present(client: &mut DapClient) {
    client.request_ok("stillpoint/visitStop", json!({}));
    let event = client.expect_stopped("goto");
    assert_eq!(event["description"], "Back in the present", "{event}");
}

/// Lets the program run to its exit, which is a stop of a recorded one, and to its end.
fn run_to_end(client: &mut DapClient) -> i64 {
    go(client, "continue", &["exit"]);
    client.continue_();
    client.expect_exit()
}

/// The announcements of `supportsStepBack` so far.
fn announced(client: &DapClient) -> Vec<bool> {
    let events = client.events_so_far("capabilities").into_iter();
    events
        .filter_map(|body| body["capabilities"]["supportsStepBack"].as_bool())
        .collect()
}

/// The output of a console command.
fn shown(client: &mut DapClient, command: &str) -> String {
    let frame = client.top_frame()["id"].clone();
    let evaluate = json!({"expression": command, "context": "repl", "frameId": frame});
    let body = client.request_ok("evaluate", evaluate);
    body["result"].as_str().expect("a text").to_owned()
}
