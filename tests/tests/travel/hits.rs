//! Runs back: to breakpoints, watched data and exceptions.

use super::{go, recorded, return_to_present, reverse, reverse_to_begin, step_back};
use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// Runs back until the recording begins, and returns the value of an expression at each hit.
fn values_back(client: &mut DapClient, expression: &str) -> Vec<String> {
    let mut values = Vec::new();
    loop {
        let event = go(client, "reverseContinue", &["breakpoint", "entry"]);
        if event["reason"] == "entry" {
            return values;
        }
        values.push(client.evaluate(expression));
    }
}

#[test]
fn hits_of_a_loop_are_met_in_reverse() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "added");
    let mut passed = Vec::new();
    for _ in 0..12 {
        passed.push((client.evaluate("before"), client.evaluate("value")));
        client.continue_to(&fixture, "added");
    }
    for expected in passed.iter().rev() {
        reverse(&mut client);
        client.expect_line(&fixture, "added");
        assert_eq!(
            &(client.evaluate("before"), client.evaluate("value")),
            expected
        );
    }
    reverse_to_begin(&mut client);
    client.disconnect();
}

#[test]
fn conditions_choose_hits_of_the_past() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let condition = json!({"condition": "value == 3"});
    client.set_breakpoints_with(&fixture, vec![("added", condition)]);
    // The calls with 3 in the rounds of 4, 8, 12 and 16.
    assert_eq!(values_back(&mut client, "value"), ["3"; 4]);
    client.disconnect();
}

#[test]
fn hit_conditions_count_as_they_did() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"record": true}));
    let third = json!({"hitCondition": "% 3"});
    client.set_breakpoints_with(&fixture, vec![("call", third), ("done", json!({}))]);
    client.configure();
    let mut passed = Vec::new();
    loop {
        client.expect_stopped("breakpoint");
        if client.top_line() == fixture.line("done") {
            break;
        }
        passed.push((client.evaluate("count"), client.evaluate("i")));
        client.continue_();
    }
    assert_eq!(passed.len(), 13, "40 hits");
    reverse(&mut client);
    let last = (client.evaluate("count"), client.evaluate("i"));
    assert_eq!(passed.last(), Some(&last));
    client.disconnect();
}

#[test]
fn far_hits_have_the_numbers_that_they_had() {
    let fixture = Fixture::of("c/travel_far.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"record": true}));
    let hit = json!({"hitCondition": "% 19"});
    client.set_breakpoints_with(&fixture, vec![("part", hit), ("done", json!({}))]);
    client.configure();
    for number in ["19", "38", "57"] {
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("number"), number);
        client.continue_();
    }
    client.expect_stopped("breakpoint");
    assert_eq!(values_back(&mut client, "number"), ["57", "38", "19"]);
    for number in ["19", "38"] {
        client.continue_();
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("number"), number, "forward");
    }
    return_to_present(&mut client);
    client.disconnect();
}

#[test]
fn far_writes_are_met_one_after_the_other() {
    let fixture = Fixture::of("c/travel_far.c");
    let mut client = recorded(&fixture, "done");
    client.set_breakpoints(&fixture, &[]);
    watch(&mut client, "changed");
    for number in (48..=60).rev() {
        go(&mut client, "reverseContinue", &["data breakpoint"]);
        assert_eq!(client.evaluate("changed"), number.to_string());
    }
    client.disconnect();
}

#[test]
fn the_nearest_of_several_breakpoints_stops() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "print");
    client.set_breakpoints(&fixture, &["filled", "odd", "round"]);
    for (marker, i) in [("filled", None), ("odd", Some("3")), ("odd", Some("1"))] {
        reverse(&mut client);
        client.expect_line(&fixture, marker);
        if let Some(i) = i {
            assert_eq!(client.evaluate("i"), i);
        }
    }
    reverse(&mut client);
    client.expect_line(&fixture, "round");
    reverse_to_begin(&mut client);
    client.disconnect();
}

/// Watches an expression of the innermost frame.
fn watch(client: &mut DapClient, name: &str) {
    let frame = client.top_frame()["id"].clone();
    let info = client.request_ok(
        "dataBreakpointInfo",
        json!({"name": name, "frameId": frame}),
    );
    let breakpoint = json!({"dataId": info["dataId"], "accessType": "write"});
    let set = client.request_ok("setDataBreakpoints", json!({"breakpoints": [breakpoint]}));
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
}

#[test]
fn watched_data_stops_at_its_last_write() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "print");
    client.set_breakpoints(&fixture, &[]);
    watch(&mut client, "total");
    // 0 + 0 + 1 + 2 + 3: the first write stores what was there.
    for (before, value) in [("3", "3"), ("1", "2"), ("0", "1")] {
        let event = go(&mut client, "reverseContinue", &["data breakpoint"]);
        let description = event["description"].as_str().unwrap_or_default();
        assert!(description.starts_with("In the past: "), "{event}");
        assert_eq!(client.function_names()[0], "add");
        assert_eq!(client.evaluate("before"), before);
        assert_eq!(client.evaluate("value"), value);
    }
    client.disconnect();
}

/// A stop at watched data hits the breakpoint at the next instruction, too.
#[test]
fn hits_at_watched_data_count_back_in_the_present() {
    let fixture = Fixture::of("c/travel_watched.c");
    let mut client = recorded(&fixture, "begin");
    watch(&mut client, "early");
    let third = json!({"hitCondition": "% 3"});
    client.set_breakpoints_with(&fixture, vec![("passed", third)]);
    for i in ["0", "1"] {
        go(&mut client, "continue", &["data breakpoint"]);
        client.expect_line(&fixture, "passed");
        assert_eq!(client.evaluate("i"), i);
    }
    step_back(&mut client);
    client.request_ok("setDataBreakpoints", json!({"breakpoints": []}));
    let event = go(&mut client, "continue", &["data breakpoint"]);
    let description = event["description"].as_str().unwrap_or_default();
    assert!(!description.starts_with("In the past"), "{event}");
    // Two hits were before, the second one here.
    for i in ["2", "5", "8"] {
        go(&mut client, "continue", &["breakpoint"]);
        assert_eq!(client.evaluate("i"), i);
    }
    client.disconnect();
}

#[test]
fn hits_at_watched_data_count_once_on_the_way_back() {
    let fixture = Fixture::of("c/travel_watched.c");
    let mut client = recorded(&fixture, "done");
    client.set_breakpoints(&fixture, &["passed"]);
    watch(&mut client, "early");
    for i in (3..10).rev() {
        go(&mut client, "reverseContinue", &["breakpoint"]);
        assert_eq!(client.evaluate("i"), i.to_string());
    }
    for i in (0..3).rev() {
        go(&mut client, "reverseContinue", &["data breakpoint"]);
        assert_eq!(client.evaluate("i"), i.to_string());
    }
    client.disconnect();
}

fn filter(client: &mut DapClient, filters: &[&str]) {
    client.request_ok("setExceptionBreakpoints", json!({"filters": filters}));
}

fn reverse_to_exception(client: &mut DapClient) -> Value {
    let event = go(client, "reverseContinue", &["exception"]);
    let description = event["description"].as_str().unwrap_or_default();
    assert!(description.starts_with("In the past: "), "{event}");
    event
}

#[test]
fn thrown_exceptions_stop_on_the_way_back() {
    let fixture = Fixture::of("cpp/travel.cpp");
    let mut client = recorded(&fixture, "print");
    client.set_breakpoints(&fixture, &[]);
    filter(&mut client, &["cpp_throw"]);
    // The squares of 5 and 4, and the triangle of 5.
    for (failures, area) in [("2", "12"), ("1", "25"), ("0", "16")] {
        let event = reverse_to_exception(&mut client);
        let text = event["text"].as_str().unwrap_or_default();
        assert!(text.contains("too large"), "{event}");
        let stack = client.stack();
        let checked = stack.iter().find(|it| it["name"] == "checked");
        let frame = checked.expect("its frame")["id"].clone();
        for (expression, value) in [("failures", failures), ("area", area)] {
            let evaluate = json!({"expression": expression, "frameId": frame});
            assert_eq!(client.request_ok("evaluate", evaluate)["result"], value);
        }
    }
    reverse_to_begin(&mut client);
    client.disconnect();
}

#[test]
fn panics_stop_on_the_way_back() {
    let fixture = Fixture::of("rust/travel.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"record": true}));
    filter(&mut client, &[]);
    client.set_breakpoints(&fixture, &["print"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &[]);
    filter(&mut client, &["rust_panic"]);
    let event = reverse_to_exception(&mut client);
    let text = event["text"].as_str().unwrap_or_default();
    assert!(text.contains("too heavy: 8"), "{event}");
    reverse_to_begin(&mut client);
    client.disconnect();
}

#[test]
fn searches_write_no_log_messages() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"record": true}));
    let log = json!({"logMessage": "value {value}"});
    client.set_breakpoints_with(&fixture, vec![("added", log), ("print", json!({}))]);
    client.configure();
    client.expect_stopped("breakpoint");
    reverse_to_begin(&mut client);
    let messages = client.output("console").matches("value ").count();
    assert_eq!(messages, 4, "{}", client.output("console"));
    client.disconnect();
}

/// Replays are kept before the last of many hits; they serve the searches for those before, and no other ones.
#[test]
fn many_hits_are_met_one_by_one_in_reverse() {
    let fixture = Fixture::of("c/travel_hot.c");
    for (marker, all) in [("alone", 1000), ("together", 4000)] {
        let mut client = recorded(&fixture, marker);
        client.set_breakpoints(&fixture, &["hot"]);
        for before in 1..=40 {
            let event = reverse(&mut client);
            client.select_thread(event["threadId"].as_i64().expect("a thread"));
            assert_eq!(client.evaluate("passes"), (all - before).to_string());
        }
        // Forward, and back again over the same hits.
        for _ in 0..3 {
            let event = go(&mut client, "continue", &["breakpoint"]);
            client.select_thread(event["threadId"].as_i64().expect("a thread"));
        }
        assert_eq!(client.evaluate("passes"), (all - 37).to_string());
        for before in 38..=41 {
            let event = reverse(&mut client);
            client.select_thread(event["threadId"].as_i64().expect("a thread"));
            assert_eq!(client.evaluate("passes"), (all - before).to_string());
        }
        // Few of them stop: what was kept is behind the one that is searched.
        let condition = json!({"condition": "passes == 700 || passes == 20"});
        client.set_breakpoints_with(&fixture, vec![("hot", condition)]);
        for passes in ["700", "20"] {
            let event = reverse(&mut client);
            client.select_thread(event["threadId"].as_i64().expect("a thread"));
            assert_eq!(client.evaluate("passes"), passes);
        }
        let hit = json!({"hitCondition": "% 300"});
        client.set_breakpoints_with(&fixture, vec![("hot", hit)]);
        return_to_present(&mut client);
        for number in (1..=all / 300).rev().take(4) {
            let event = reverse(&mut client);
            client.select_thread(event["threadId"].as_i64().expect("a thread"));
            assert_eq!(client.evaluate("passes"), (number * 300 - 1).to_string());
        }
        client.disconnect();
    }
}
