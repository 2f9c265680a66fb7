//! Breakpoints whose conditions call functions of the program: they stop where they should, and
//! nothing else shows that calls were made.

use serde_json::{Value, json};
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{DapClient, Fixture};

fn when(condition: &str) -> Value {
    json!({"condition": condition})
}

fn launched(arguments: &[&str], settings: &[(&str, Value)]) -> (Fixture, DapClient) {
    let fixture = Fixture::of("c/condition_calls.c");
    let mut client = DapClient::spawn();
    let mut launch = json!({"args": arguments});
    for (name, value) in settings {
        launch[*name] = value.clone();
    }
    client.launch(&fixture, launch);
    (fixture, client)
}

/// The program's output at its end.
fn totals(client: &DapClient) -> String {
    client.output("stdout").trim_end().to_owned()
}

#[test]
fn condition_call_result_decides_the_stop() {
    for (condition, stops) in [
        ("is_it(i) == 1", vec!["7"]),
        ("is_even(i)", vec!["0", "2", "4", "6", "8"]),
        ("i > 5 && !is_it(i) && is_even(i)", vec!["6", "8"]),
        (
            "is_even(i) ? is_it(i + 3) : is_even(i - 1) && i == 5",
            vec!["4", "5"],
        ),
        ("is_it(is_even(i) * 7) && i > 6", vec!["8"]),
        ("is_it(i == 8 ? 7 : 0)", vec!["8"]),
    ] {
        let (fixture, mut client) = launched(&[], &[]);
        client.set_breakpoints_with(&fixture, vec![("few", when(condition))]);
        client.configure();
        for stop in stops {
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, "few");
            assert_eq!(client.evaluate("i"), stop, "{condition}");
            assert_eq!(client.function_names()[0], "main");
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0, "{condition}");
        assert_eq!(totals(&client), "total 5, kept 1", "{condition}");
        client.disconnect();
    }
}

#[test]
fn hits_and_messages_follow_the_condition_call() {
    let (fixture, mut client) = launched(&[], &[]);
    let third = json!({"condition": "is_even(i)", "hitCondition": "3"});
    let logging = json!({"condition": "is_even(number)", "logMessage": "even {number}"});
    client.set_breakpoints_with(&fixture, vec![("few", third), ("hit", logging)]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("i"), "4");
    // A step past it does not evaluate the condition again.
    assert_eq!(client.evaluate("asked"), "0");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("console").matches("even 1").count(), 3);
    client.disconnect();
}

#[test]
fn failed_condition_call_is_reported_at_the_breakpoint() {
    for (condition, why) in [("crash()", "SIGSEGV"), ("forever()", "had not returned")] {
        let (fixture, mut client) = launched(&[], &[("callTimeout", json!(0.2))]);
        let places = vec![("few", when(condition)), ("asking", json!({}))];
        client.set_breakpoints_with(&fixture, places);
        client.configure();
        client.expect_stopped("breakpoint");
        client.wait_event_where("output", |body| {
            let text = body["output"].as_str().unwrap_or_default();
            text.contains(condition) && text.contains(why)
        });
        client.expect_line(&fixture, "few");
        assert_eq!(client.evaluate("i"), "0", "{condition}");
        client.set_breakpoints(&fixture, &[]);
        client.continue_();
        assert_eq!(client.expect_exit(), 0, "{condition}");
        client.disconnect();
    }
}

#[test]
fn racing_threads_lose_no_hit() {
    let (threads, rounds) = (16, 150);
    let arguments = [
        threads.to_string(),
        rounds.to_string(),
        "disturbed".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    for non_stop in [false, true] {
        let (fixture, mut client) = launched(&arguments, &[("nonStop", json!(non_stop))]);
        let stopping = json!({"hitCondition": "% 20"});
        let places = vec![("hit", when("is_it(number)")), ("sixteenth", stopping)];
        client.set_breakpoints_with(&fixture, places);
        client.configure();
        // Each thread has 9 multiples of 16: a thread that stops at one does so while others
        // evaluate their conditions.
        for _ in 0..threads * 9 / 20 {
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, "sixteenth");
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        let all = threads * rounds;
        assert_eq!(totals(&client), format!("total {all}, kept {threads}"));
        client.disconnect();
    }
}

#[test]
fn stop_or_detach_finds_no_thread_in_a_condition_call() {
    let fixture = Fixture::of("c/condition_calls.c");
    let debuggee = Debuggee::start(&fixture, &["4", "1000000000", "beat"]);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints_with(&fixture, vec![("hit", when("is_it(number)"))]);
    client.configure();
    let mut asked = 0;
    let mut pauses = 0;
    // A slow machine gets to few calls between two pauses.
    while asked < 500 && pauses < 100 {
        pauses += 1;
        client.pause();
        let threads = client.request_ok("threads", json!({}))["threads"].clone();
        for thread in threads.as_array().expect("threads") {
            client.select_thread(thread["id"].as_i64().expect("an id"));
            let names = client.function_names();
            assert!(!names.iter().any(|it| it == "is_it"), "{names:?}");
        }
        assert_eq!(client.evaluate("call_mutex.__data.__lock"), "0");
        asked = client.evaluate("asked").parse::<u64>().expect("a number");
        client.continue_();
    }
    assert!(asked > 0, "the condition was never evaluated");
    client.disconnect_with(json!({"terminateDebuggee": false}));
    debuggee.expect_running();
}
