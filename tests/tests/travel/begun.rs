//! Recordings that begin at a stop.

use super::{go, reverse, reverse_to_begin, run_to_end, shown};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, Fixture};

/// Begins to record at the stop.
pub fn record(client: &mut DapClient) {
    let text = shown(client, ":record");
    assert_eq!(text, "The program is recorded from here on.");
    assert_eq!(super::announced(client).last(), Some(&true));
}

#[test]
fn recordings_begin_at_a_stop() {
    let fixture = Fixture::of("c/travel_begun.c");
    let mut client = DapClient::stopped_at(&fixture, "round");
    client.next();
    record(&mut client);
    client.set_breakpoints(&fixture, &["taken", "end"]);
    // One sample at each stop, of which the first round has 8.
    let mut passed = Vec::new();
    for _ in 0..24 {
        go(&mut client, "continue", &["breakpoint"]);
        client.expect_line(&fixture, "taken");
        passed.push(client.evaluate("value"));
    }
    go(&mut client, "continue", &["breakpoint"]);
    client.expect_line(&fixture, "end");
    let all = client.evaluate("samples");
    for expected in passed.iter().rev() {
        reverse(&mut client);
        client.expect_line(&fixture, "taken");
        assert_eq!(&client.evaluate("value"), expected);
    }
    client.set_breakpoints(&fixture, &["end"]);
    reverse_to_begin(&mut client);
    assert_eq!(
        client.evaluate("taken"),
        "8",
        "the first round was not recorded"
    );
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.evaluate("samples"), all, "the same again");
    assert!(shown(&mut client, ":recording").starts_with("recorded "));
    assert_eq!(run_to_end(&mut client), 0);
}

#[test]
fn recordings_begin_in_a_system_call() {
    let fixture = Fixture::of("c/travel_begun.c");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("input");
    mkfifo(&path, Mode::S_IRWXU).expect("a FIFO");
    // For both ends: opening does not wait.
    let mut input = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .expect("the FIFO");
    let mut client = DapClient::spawn();
    client.launch(
        &fixture,
        json!({"args": ["wait"], "stdio": [path, null, null]}),
    );
    client.configure();
    client.wait_event_where("output", |body| body["output"] == "waits\n");
    client.pause();
    record(&mut client);
    client.set_breakpoints(&fixture, &["taken"]);
    input.write_all(b"A").expect("the FIFO");
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.evaluate("value"), "65");
    client.set_breakpoints(&fixture, &[]);
    reverse_to_begin(&mut client);
    client.set_breakpoints(&fixture, &["taken"]);
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.evaluate("value"), "65");
    client.disconnect();
}

#[test]
fn programs_that_cannot_be_recorded_run_on() {
    let refused = |client: &mut DapClient, why: &str| {
        let text = client.request_error(
            "evaluate",
            json!({"expression": ":record", "context": "repl"}),
        );
        assert!(text.contains(why), "{text}");
    };
    let fixture = Fixture::of("c/travel_joined.c");
    let mut client = DapClient::stopped_with(&fixture, "alone", json!({"args": ["leave"]}));
    refused(&mut client, "its first thread has ended");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "alone\n");
    let fixture = Fixture::of("c/travel_begun.c");
    let mut client = DapClient::stopped_with(&fixture, "round", json!({"args": ["share"]}));
    refused(
        &mut client,
        "it shares memory that it writes: /dev/zero (deleted) at ",
    );
    client.continue_();
    client.expect_stopped("breakpoint");
    client.disconnect();
    let debuggee = Debuggee::start(&Fixture::of("c/spin.c"), &[]);
    let mut client = DapClient::spawn();
    client.start("attach", json!({"pid": debuggee.pid()}));
    client.configure();
    client.pause();
    refused(&mut client, "it was attached to");
    client.disconnect();
    debuggee.expect_running();
    let mut client = super::recorded(&fixture, "round");
    refused(&mut client, "the program is recorded already");
    client.disconnect();
}

#[test]
fn threads_are_recorded_from_a_stop_on() {
    let fixture = Fixture::of("c/travel_threads.c");
    let mut client = DapClient::stopped_with(&fixture, "create", json!({}));
    record(&mut client);
    client.set_breakpoints(&fixture, &["done"]);
    go(&mut client, "continue", &["breakpoint"]);
    let main = client.thread();
    assert_eq!(client.evaluate("counted"), "15");
    client.set_breakpoints(&fixture, &["counted"]);
    let event = reverse(&mut client);
    assert_ne!(event["threadId"], main);
    assert_eq!(client.evaluate("counted"), "14");
    super::return_to_present(&mut client);
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(super::run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), "15 60 1\n");
}
