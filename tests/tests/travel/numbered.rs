//! Hits of breakpoints and system calls, which are gone to by their numbers.

use super::{go, recorded, return_to_present, reverse, shown};
use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// Goes to a hit of the only breakpoint, or of the one that the program is stopped at.
fn go_to_hit(client: &mut DapClient, number: u64) -> Value {
    client.request_ok("stillpoint/visitHit", json!({"number": number}));
    client.expect_stopped("breakpoint")
}

/// Returns the notes to the client and the output of the console.
fn told(client: &DapClient) -> String {
    client.output("important") + &client.output("console")
}

#[test]
fn hits_are_gone_to_back_and_forward() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    client.set_breakpoints(&fixture, &["added"]);
    // The calls of rounds of 4, 8, 12 and 16; each round counts from 0.
    for (number, value) in [(7, "2"), (20, "7"), (1, "0"), (40, "15"), (39, "14")] {
        let event = go_to_hit(&mut client, number);
        assert_eq!(event["description"], "In the past: breakpoint", "{event}");
        client.expect_line(&fixture, "added");
        assert_eq!(client.evaluate("value"), value, "hit {number}");
    }
    // There is no such hit: the place stays, and a note says how many there are.
    for times in 1..=2 {
        client.request_ok("stillpoint/visitHit", json!({"number": 41}));
        let event = client.expect_stopped("breakpoint");
        assert_eq!(event["description"], "In the past: breakpoint", "{event}");
        client.expect_line(&fixture, "added");
        assert_eq!(client.evaluate("value"), "14");
        let told = told(&client);
        assert_eq!(told.matches("was hit 40 times").count(), times, "{told}");
    }
    // Back and forward from there, as before.
    assert_eq!(reverse(&mut client)["threadId"], client.thread());
    assert_eq!(client.evaluate("value"), "13");
    for value in ["14", "15"] {
        go(&mut client, "continue", &["breakpoint"]);
        assert_eq!(client.evaluate("value"), value);
    }
    return_to_present(&mut client);
    client.request_ok("stillpoint/visitHit", json!({"number": 41}));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "done");
    let none = json!({"number": 1, "breakpointId": 4_000_000});
    let why = client.request_error("stillpoint/visitHit", none);
    assert!(why.contains("no such breakpoint"), "{why}");
    for number in [0, -1] {
        let why = client.request_error("stillpoint/visitHit", json!({"number": number}));
        assert!(why.contains("begin with 1"), "{why}");
    }
    client.disconnect();
}

#[test]
fn hits_are_numbered_by_condition_and_go_on_from_there() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let odd = json!({"condition": "value % 2 == 1", "hitCondition": "% 3"});
    client.set_breakpoints_with(&fixture, vec![("added", odd)]);
    // 1 3 | 1 3 5 7 | 1 3 5 7 9 11 | ...
    go_to_hit(&mut client, 4);
    assert_eq!(client.evaluate("value"), "3");
    assert_eq!(client.evaluate("total"), "9", "0 to 3, and 0 to 2");
    // The hit condition counts from there as it would have: the sixth is the next one that it stops at.
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.evaluate("value"), "7");
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.evaluate("value"), "5", "the ninth");
    client.disconnect();
}

#[test]
fn hit_that_the_present_stop_is_stays_there() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "added");
    for _ in 0..3 {
        client.continue_to(&fixture, "added");
    }
    let total = client.evaluate("total");
    go_to_hit(&mut client, 2);
    assert_eq!(client.evaluate("value"), "1");
    let event = go_to_hit(&mut client, 4);
    assert_eq!(event["description"].as_str(), None, "the present: {event}");
    assert_eq!(client.evaluate("total"), total);
    // The program runs on from there.
    client.continue_to(&fixture, "added");
    assert_eq!(client.evaluate("value"), "0");
    client.disconnect();
}

#[test]
fn console_goes_to_hits_of_a_place() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let several = |client: &mut DapClient, command: &str| {
        let evaluate = json!({"expression": command, "context": "repl"});
        client.request_error("evaluate", evaluate)
    };
    client.set_breakpoints(&fixture, &["added", "filled"]);
    let why = several(&mut client, ":hit 1");
    assert!(
        why.contains("several breakpoints") && why.contains("travel.c:"),
        "{why}"
    );
    let why = several(&mut client, ":hit 1 nowhere.c:7");
    assert!(why.contains("no breakpoint is at `nowhere.c:7`"), "{why}");
    let why = several(&mut client, ":hit x");
    assert!(why.contains("not the number of a hit"), "{why}");
    let place = stillpoint_tests::line_of(&fixture, "filled");
    let place = place.rsplit('/').next().expect("a name").to_owned();
    assert_eq!(shown(&mut client, &format!(":hit 3 of {place}")), "");
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "filled");
    assert_eq!(client.evaluate("count"), "12");
    // The one that it is stopped at.
    assert_eq!(shown(&mut client, ":hit 1"), "");
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "filled");
    assert_eq!(client.evaluate("count"), "4");
    return_to_present(&mut client);
    client.disconnect();
}

#[test]
fn system_calls_are_returned_in_parts_and_gone_to() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let body = client.request_ok("stillpoint/systemCalls", json!({}));
    let last = body["before"].as_u64().expect("a number");
    let calls = body["calls"].as_array().expect("calls").clone();
    assert_eq!(calls.len(), 20, "{body}");
    assert_eq!(calls[19]["number"], last, "{body}");
    let part = json!({"from": 2, "count": 3});
    let part = client.request_ok("stillpoint/systemCalls", part);
    let numbers: Vec<u64> = part["calls"]
        .as_array()
        .expect("calls")
        .iter()
        .filter_map(|it| it["number"].as_u64())
        .collect();
    assert_eq!(numbers, [2, 3, 4], "{part}");
    let all = json!({"from": 1, "count": i64::MAX});
    let all = client.request_ok("stillpoint/systemCalls", all);
    assert!(all["calls"].as_array().expect("calls").len() <= 200);
    let beyond = client.request_ok("stillpoint/systemCalls", json!({"from": i64::MAX}));
    assert_eq!(beyond["calls"], json!([]), "{beyond}");
    for wrong in [0, -1, i64::MIN] {
        client.request_error("stillpoint/systemCalls", json!({"from": wrong}));
        client.request_error("stillpoint/visitCall", json!({"number": wrong}));
    }
    let write = calls.iter().find(|it| it["name"] == "write");
    let write = write.expect("a line is written");
    assert_eq!(write["result"], "round 0: 206 1\n".len());
    let text = write["text"].as_str().expect("a text");
    assert!(text.starts_with("write(fd = 1, "), "{text}");
    let before = client.count_events("continued");
    let visit = json!({"number": write["number"]});
    client.request_ok("stillpoint/visitCall", visit);
    client.expect_stopped("goto");
    assert_eq!(client.count_events("continued"), before + 1);
    let names = client.function_names();
    assert!(names.contains(&"main".to_owned()), "{names:?}");
    let here = client.request_ok("stillpoint/systemCalls", json!({}));
    assert_eq!(here["before"], write["number"]);
    let why = client.request_error("stillpoint/visitCall", json!({"number": i64::MAX}));
    assert!(why.contains("has no system call"), "{why}");
    client.disconnect();
}

#[test]
fn programs_without_a_recording_are_refused() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = DapClient::stopped_at(&fixture, "added");
    for (request, arguments) in [
        ("stillpoint/visitHit", json!({"number": 1})),
        ("stillpoint/visitCall", json!({"number": 1})),
        ("stillpoint/systemCalls", json!({})),
    ] {
        let why = client.request_error(request, arguments);
        assert!(why.contains("record"), "{request}: {why}");
    }
    client.expect_line(&fixture, "added");
    client.disconnect();
}
