//! Recordings that begin at a stop of a program with several threads.

use super::begun::record;
use super::{go, reverse, reverse_to_begin, run_to_end, shown};
use serde_json::{Value, json};
use std::process::Command;
use stillpoint_tests::{DapClient, Fixture};

const SOURCE: &str = "c/travel_joined.c";

/// What the program writes without a debugger.
fn output_of(fixture: &Fixture, arguments: &[&str]) -> String {
    let output = Command::new(&fixture.program)
        .args(arguments)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A stop: its thread, and the values of these expressions there.
fn seen(client: &mut DapClient, event: &Value, expressions: &[&str]) -> (i64, Vec<String>) {
    let thread = event["threadId"].as_i64().expect("a thread");
    client.select_thread(thread);
    let values = expressions.iter().map(|it| client.evaluate(it)).collect();
    (thread, values)
}

fn threads(client: &mut DapClient) -> Vec<i64> {
    let body = client.request_ok("threads", json!({}));
    let all = body["threads"].as_array().expect("threads").iter();
    all.filter_map(|it| it["id"].as_i64()).collect()
}

/// The recording goes on, and all replays were like it.
fn expect_recorded(client: &mut DapClient) {
    let text = shown(client, ":recording");
    assert!(text.starts_with("recorded "), "{text}");
    assert!(!text.contains("has ended"), "{text}");
    let notes = client.output("console");
    assert!(!notes.contains("differs"), "{notes}");
}

#[test]
fn threads_that_compute_are_recorded_from_a_stop_on() {
    const SHOWN: [&str; 3] = ["counted", "owner", "sums"];
    let fixture = Fixture::of(SOURCE);
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["compute"]}));
    let hit = json!({"hitCondition": "300"});
    client.set_breakpoints_with(&fixture, vec![("counted", hit)]);
    client.configure();
    let event = client.expect_stopped("breakpoint");
    let begun = seen(&mut client, &event, &SHOWN);
    let all = threads(&mut client);
    record(&mut client);
    // Another line than that of the stop, which would be hit in the past, too.
    client.set_breakpoints(&fixture, &["owned"]);
    let mut hits = Vec::new();
    for _ in 0..6 {
        let event = go(&mut client, "continue", &["breakpoint"]);
        hits.push(seen(&mut client, &event, &SHOWN));
    }
    client.set_breakpoints(&fixture, &["computed"]);
    go(&mut client, "continue", &["breakpoint"]);
    let main = client.thread();
    assert_eq!(client.evaluate("counted"), "{4000, 4000}");

    let frame = client.top_frame()["id"].clone();
    let arguments = json!({"name": "owner", "frameId": frame});
    client.request_ok("stillpoint/lastWrite", arguments);
    let event = client.expect_stopped_by(&["data breakpoint"]);
    let (writer, _) = seen(&mut client, &event, &[]);
    assert_ne!(writer, main);
    client.expect_line(&fixture, "owned");

    client.set_breakpoints(&fixture, &[]);
    reverse_to_begin(&mut client);
    assert_eq!(threads(&mut client), all);
    for thread in all.iter().filter(|it| **it != main) {
        client.select_thread(*thread);
        let names = client.function_names();
        let is_created = names
            .iter()
            .any(|it| it == "start_thread" || it == "compute");
        assert!(is_created || names[0].contains("clone"), "{names:?}");
    }
    client.select_thread(begun.0);
    let values: Vec<String> = SHOWN.iter().map(|it| client.evaluate(it)).collect();
    assert_eq!(values, begun.1);
    client.set_breakpoints(&fixture, &["owned"]);
    for expected in &hits {
        let event = go(&mut client, "continue", &["breakpoint"]);
        assert_eq!(&seen(&mut client, &event, &SHOWN), expected);
    }
    for expected in hits.iter().rev().skip(1) {
        let event = reverse(&mut client);
        assert_eq!(&seen(&mut client, &event, &SHOWN), expected);
    }
    super::step_back(&mut client);
    client.expect_line(&fixture, "counted");
    expect_recorded(&mut client);
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), output_of(&fixture, &["compute"]));
}

#[test]
fn calls_that_threads_wait_in_are_made_again() {
    let fixture = Fixture::of(SOURCE);
    let mut client = DapClient::stopped_with(&fixture, "all_wait", json!({"args": ["wait"]}));
    let main = client.thread();
    record(&mut client);
    client.set_breakpoints(&fixture, &["shown"]);
    go(&mut client, "continue", &["breakpoint"]);
    let results = client.evaluate("results");
    client.set_breakpoints(&fixture, &["locked"]);
    let event = reverse(&mut client);
    let (thread, _) = seen(&mut client, &event, &[]);
    assert_eq!(client.function_names()[0], "lock");
    client.set_breakpoints(&fixture, &[]);
    reverse_to_begin(&mut client);
    client.select_thread(main);
    client.expect_line(&fixture, "all_wait");
    assert_eq!(threads(&mut client).len(), 7);
    client.select_thread(thread);
    let names = client.function_names();
    assert!(names.iter().any(|it| it == "lock"), "{names:?}");
    client.set_breakpoints(&fixture, &["shown"]);
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.evaluate("results"), results);
    expect_recorded(&mut client);
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
    let lines = "locked\nread 3 abc\nevent 7 e\nslept 0 1\ntimed out 1 1\npolled 1 1\n";
    assert_eq!(client.output("stdout"), lines);
}

#[test]
fn endless_threads_are_paused_where_a_recording_ends() {
    let fixture = Fixture::of(SOURCE);
    let mut client = DapClient::stopped_with(&fixture, "counted", json!({"args": ["endless"]}));
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    client.pause();
    record(&mut client);
    let begun = client.evaluate("sums");
    client.set_breakpoints_with(&fixture, vec![("owned", json!({"hitCondition": "200"}))]);
    go(&mut client, "continue", &["breakpoint"]);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    client.pause();
    let present = (client.evaluate("sums"), client.evaluate("counted"));
    // Up to the place of the pause, which no event marks.
    client.set_breakpoints(&fixture, &["owned"]);
    reverse(&mut client);
    client.set_breakpoints(&fixture, &[]);
    reverse_to_begin(&mut client);
    assert_eq!(client.evaluate("sums"), begun);
    super::return_to_present(&mut client);
    let again = (client.evaluate("sums"), client.evaluate("counted"));
    assert_eq!(again, present);
    expect_recorded(&mut client);
    client.disconnect();
}

#[test]
fn signals_that_threads_were_stopped_with_are_delivered_once() {
    let fixture = Fixture::of(SOURCE);
    let mut client = DapClient::stopped_with(&fixture, "signalled", json!({"args": ["signal"]}));
    let begun = client.evaluate("handled");
    record(&mut client);
    client.set_breakpoints(&fixture, &["handled"]);
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.evaluate("handled"), "4");
    client.set_breakpoints(&fixture, &[]);
    reverse_to_begin(&mut client);
    assert_eq!(client.evaluate("handled"), begun);
    expect_recorded(&mut client);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), "handled 4\n");
}

/// Records a program from a place on, goes to another one, back to the first and forward again to the end.
fn there_and_back(fixture: &Fixture, from: &str, to: &str) {
    let mut client = DapClient::stopped_with(fixture, from, json!({}));
    // The first thread may be there before others have begun.
    let mut all = threads(&mut client);
    for _ in 0..1000 {
        if all.len() > 2 {
            break;
        }
        go(&mut client, "continue", &["breakpoint"]);
        all = threads(&mut client);
    }
    assert!(all.len() > 2, "{all:?}");
    let thread = client.thread();
    record(&mut client);
    client.set_breakpoints(fixture, &[to]);
    go(&mut client, "continue", &["breakpoint"]);
    client.set_breakpoints(fixture, &[]);
    reverse_to_begin(&mut client);
    client.select_thread(thread);
    client.expect_line(fixture, from);
    assert_eq!(threads(&mut client), all);
    client.set_breakpoints(fixture, &[to]);
    go(&mut client, "continue", &["breakpoint"]);
    expect_recorded(&mut client);
    client.set_breakpoints(fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), output_of(fixture, &[]));
}

#[test]
fn a_pool_of_rust_is_recorded_from_a_task_on() {
    there_and_back(&Fixture::of("rust/record_pool.rs"), "task", "pool_ends");
}

#[test]
fn threads_of_cpp_are_recorded_from_a_stop_on() {
    there_and_back(&Fixture::of("cpp/record_async.cpp"), "visits", "joined");
}

#[test]
fn recordings_begin_after_hot_log_messages() {
    let fixture = Fixture::of(SOURCE);
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["compute"]}));
    let hot = ("owned", json!({"logMessage": "by {own}"}));
    let at = ("counted", json!({"condition": "counted[1] == 1500"}));
    client.set_breakpoints_with(&fixture, vec![hot.clone(), at]);
    client.configure();
    client.expect_stopped("breakpoint");
    record(&mut client);
    client.set_breakpoints_with(&fixture, vec![hot, ("computed", json!({}))]);
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.output("console").matches("by ").count(), 8000);
    client.set_breakpoints(&fixture, &[]);
    reverse_to_begin(&mut client);
    assert!(client.evaluate("counted").ends_with(", 1500}"));
    expect_recorded(&mut client);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), output_of(&fixture, &["compute"]));
}
