//! The setting `record` with `file`: the recording is written where the program ends, or the session.

use super::{go, opened, place_for_file};
use serde_json::{Value, json};
use std::path::Path;
use stillpoint_tests::{DapClient, Fixture};

/// Launches a program that is recorded to a file, and runs it to a named line.
fn launched(fixture: &Fixture, marker: &str, file: &Path, arguments: &[&str]) -> DapClient {
    let settings = json!({"record": {"file": file}, "args": arguments});
    DapClient::stopped_with(fixture, marker, settings)
}

fn expect_written(client: &DapClient, file: &Path) {
    expect_written_times(client, file, 1);
}

fn expect_written_times(client: &DapClient, file: &Path, times: usize) {
    let told = client.output("console");
    let wrote = format!("The recording: wrote {} (", file.display());
    assert_eq!(told.matches(&wrote).count(), times, "{told}");
    assert!(!client.output("important").contains("not kept"), "{told}");
}

/// Where a recording ends.
fn end_of(file: &Path, reason: &str) -> (DapClient, Value) {
    opened(file, json!({}), &[reason])
}

#[test]
fn it_is_written_where_the_program_crashes() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    let mut client = launched(&fixture, "write", &file, &["crash"]);
    client.set_breakpoints(&fixture, &[]);
    go(&mut client, "continue", &["exception"]);
    client.continue_();
    client.wait_event("terminated");
    expect_written(&client, &file);
    client.disconnect();
    let (mut client, _) = end_of(&file, "exception");
    client.expect_line(&fixture, "crash");
    assert_eq!(client.locals()["depth"], "3");
    client.disconnect();
}

#[test]
fn it_is_written_where_the_program_exits() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    let mut client = launched(&fixture, "write", &file, &["7"]);
    client.set_breakpoints(&fixture, &[]);
    go(&mut client, "continue", &["exit"]);
    client.continue_();
    assert_eq!(client.expect_exit(), 7);
    expect_written(&client, &file);
    client.disconnect();
    let (mut client, event) = end_of(&file, "exit");
    assert_eq!(event["description"], "Exiting with code 7");
    assert_eq!(client.evaluate("total"), "55");
    client.disconnect();
}

#[test]
fn it_is_written_where_the_session_ends() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    let mut client = launched(&fixture, "write", &file, &["0"]);
    client.continue_to(&fixture, "write");
    go(&mut client, "stepBack", &["step"]);
    client.disconnect();
    // Up to where the program was, not to the place in the past.
    let (mut client, _) = end_of(&file, "end of recording");
    client.expect_line(&fixture, "write");
    assert_eq!(client.evaluate("total"), "1");
    client.disconnect();
}

#[test]
fn it_is_written_of_a_running_program() {
    let fixture = Fixture::of("c/spin.c");
    let (_folder, file) = place_for_file();
    let settings = json!({"record": {"file": file}});
    let mut client = DapClient::stopped_with(&fixture, "spin", settings);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    while client.output("stdout").lines().count() < 10 {
        client.wait_event("output");
    }
    client.disconnect();
    assert!(file.exists());
    let (mut client, _) = end_of(&file, "end of recording");
    assert!(!client.function_names().is_empty());
    client.disconnect();
}

#[test]
fn restart_leaves_the_recording_of_the_last_run() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    let mut client = launched(&fixture, "write", &file, &["3"]);
    client.request_ok("restart", json!({}));
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &[]);
    go(&mut client, "continue", &["exit"]);
    client.continue_();
    assert_eq!(client.expect_exit(), 3);
    expect_written_times(&client, &file, 2);
    client.disconnect();
    let (client, _) = end_of(&file, "exit");
    client.disconnect();
}

#[test]
fn a_file_that_cannot_be_written_is_refused_at_the_start() {
    let fixture = Fixture::of("c/record/stored.c");
    let (folder, _) = place_for_file();
    let file = folder.path().join("missing/a.rec");
    let mut client = DapClient::spawn();
    let settings = json!({"program": fixture.program, "record": {"file": file}});
    let response = client.try_start("launch", settings);
    let response = response.expect_err("a refusal");
    let text = response["body"]["error"]["format"].to_string();
    assert!(text.contains("there is no folder"), "{text}");
    client.disconnect();
}
