//! Threads that wait for each other, which the program changes without a stop: the debugger sees them as if each change
//! had been one.

use super::{go, recorded_with, return_to_present, reverse, shown, step_back};
use serde_json::json;
use std::collections::BTreeSet;
use std::process::Command;
use stillpoint_tests::{DapClient, Fixture, command};

const SOURCE: &str = "c/record/threads/turns.c";
const THREADS: usize = 4;

/// Launches the program, which passes turns for ever, and runs it until all threads do.
fn endless(fixture: &Fixture) -> DapClient {
    let settings = json!({"args": ["4", "1000000000"]});
    let mut client = recorded_with(fixture, "passed", settings);
    while client.evaluate("own") != "3" {
        client.continue_to(fixture, "passed");
    }
    client.set_breakpoints(fixture, &[]);
    client
}

/// Returns the turns of each thread, and their numbers, by their stacks.
fn turns(client: &mut DapClient) -> Vec<(i64, i64)> {
    let body = client.request_ok("threads", json!({}));
    let threads = body["threads"].as_array().expect("threads").clone();
    assert_eq!(threads.len(), THREADS + 1);
    let mut turns = Vec::new();
    for thread in threads {
        client.select_thread(thread["id"].as_i64().expect("an id"));
        let frames = client.stack();
        let named = |name: &str| frames.iter().find(|frame| frame["name"] == name);
        let Some(frame) = named("pass") else {
            assert!(named("main").is_some(), "{frames:?}");
            continue;
        };
        let mut number = |name: &str| {
            let evaluate = json!({"expression": name, "frameId": frame["id"]});
            let body = client.request_ok("evaluate", evaluate);
            let number = body["result"].as_str().expect("a text").parse::<i64>();
            number.expect("a number")
        };
        turns.push((number("own"), number("nth")));
    }
    turns
}

/// All threads are where they can be at the same time.
fn assert_turns(turns: &[(i64, i64)]) {
    let owners: BTreeSet<i64> = turns.iter().map(|it| it.0).collect();
    assert_eq!(owners, (0..THREADS as i64).collect(), "{turns:?}");
    let numbers = turns.iter().map(|it| it.1);
    let (least, most) = (numbers.clone().min(), numbers.max());
    let distance = most.zip(least).map(|(most, least)| most - least);
    assert!(distance.is_some_and(|it| it <= 1), "{turns:?}");
}

/// Lets the program run until its threads have passed many turns since, and pauses it.
fn pause_after_turns(client: &mut DapClient) -> Vec<(i64, i64)> {
    let begun = turns(client)[0].1;
    loop {
        client.continue_();
        client.pause();
        let turns = turns(client);
        assert_turns(&turns);
        if turns[0].1 > begun + 500 {
            return turns;
        }
    }
}

#[test]
fn a_pause_shows_where_all_threads_are() {
    let fixture = Fixture::of(SOURCE);
    let mut client = endless(&fixture);
    for _ in 0..3 {
        pause_after_turns(&mut client);
    }
    let present = turns(&mut client);
    client.set_breakpoints(&fixture, &["passed"]);
    for _ in 0..3 {
        let event = reverse(&mut client);
        client.select_thread(event["threadId"].as_i64().expect("a thread"));
        client.expect_line(&fixture, "passed");
        assert_eq!(client.evaluate("turn"), client.evaluate("own"));
        assert_turns(&turns(&mut client));
        client.select_thread(event["threadId"].as_i64().expect("a thread"));
        step_back(&mut client);
    }
    return_to_present(&mut client);
    assert_eq!(turns(&mut client), present);
    // A breakpoint in the code of threads that wait.
    client.continue_to(&fixture, "passed");
    client.continue_to(&fixture, "passed");
    assert_turns(&turns(&mut client));
    client.set_breakpoints(&fixture, &[]);
    pause_after_turns(&mut client);
    client.disconnect();
}

#[test]
fn a_hit_among_many_turns_can_be_gone_back_to() {
    let fixture = Fixture::of(SOURCE);
    let settings = json!({"args": ["4", "2000"]});
    let mut client = recorded_with(&fixture, "passed", settings);
    client.set_breakpoints(&fixture, &["middle"]);
    client.continue_to(&fixture, "middle");
    client.set_breakpoints(&fixture, &[]);
    go(&mut client, "continue", &["exit"]);
    client.set_breakpoints(&fixture, &["middle"]);
    let event = reverse(&mut client);
    client.select_thread(event["threadId"].as_i64().expect("a thread"));
    assert_eq!(client.evaluate("nth"), "1000");
    assert_eq!(client.evaluate("own"), "1");
    assert_turns(&turns(&mut client));
    client.select_thread(event["threadId"].as_i64().expect("a thread"));
    step_back(&mut client);
    assert_eq!(client.evaluate("turn"), "2");
    return_to_present(&mut client);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
}

#[test]
fn a_pause_among_turns_can_be_saved() {
    let fixture = Fixture::of(SOURCE);
    let mut client = endless(&fixture);
    pause_after_turns(&mut client);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("turns.rec");
    shown(&mut client, &format!(":recording save {}", file.display()));
    let order = client.evaluate("order");
    client.disconnect();
    let mut replay = command();
    replay.arg("replay").arg(&file).args(["--print", "order"]);
    let output = Command::output(&mut replay).expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&order), "{order}: {text}");
}
