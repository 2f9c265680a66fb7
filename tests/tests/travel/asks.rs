//! Questions to the past: the last write of a value, what log messages and tracepoints would have told,
//! and what happens to calls and assignments there.

use super::{
    recorded, recorded_as, return_to_present, reverse, reverse_to_begin, shown, step_back,
};
use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// Goes to the last write of an expression. Returns what it has changed.
fn last_write(client: &mut DapClient, expression: &str) -> String {
    let frame = client.top_frame()["id"].clone();
    let arguments = json!({"name": expression, "frameId": frame});
    client.request_ok("stillpoint/lastWrite", arguments);
    let event = client.expect_stopped("data breakpoint");
    event["text"].as_str().expect("a text").to_owned()
}

/// Runs the recording once more, and waits for its end.
fn replay(client: &mut DapClient) -> Value {
    client.request_ok("stillpoint/replay", json!({}));
    client.expect_stopped("breakpoint")
}

#[test]
fn the_write_directly_before_the_stop_is_the_last() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "thread", "alone");
    client.set_breakpoints(&fixture, &["beat"]);
    client.next();
    let shown = client.top_frame()["instructionPointerReference"].clone();
    assert_eq!(last_write(&mut client, "total"), "total: 0 -> 5");
    let found = client.top_frame()["instructionPointerReference"].clone();
    assert_eq!(found, shown);
    // Asked again, it is one before: there is none, however often it is asked for.
    for times in 1..=2 {
        assert_eq!(last_write(&mut client, "total"), "total: 0 -> 5");
        let console = client.output("console");
        assert_eq!(console.matches("not changed").count(), times, "{console}");
        let found = client.top_frame()["instructionPointerReference"].clone();
        assert_eq!(found, shown);
    }
    client.disconnect();
}

/// The stop is behind the write, where the code may be of another line.
#[test]
fn the_line_that_has_written_is_shown() {
    let fixture = Fixture::of("c/written_lines.c");
    for (variable, change) in [("total", "total: 6 -> 10"), ("own", "own: 6 -> 10")] {
        let mut client = recorded(&fixture, "end");
        assert_eq!(last_write(&mut client, variable), change);
        client.expect_line(&fixture, variable);
        step_back(&mut client);
        client.expect_line(&fixture, variable);
        client.disconnect();
    }
}

#[test]
fn write_of_a_parameter_is_that_of_its_own_call() {
    let fixture = Fixture::of("c/same_arguments.c");
    let mut client = recorded(&fixture, "read");
    for _ in 1..3 {
        client.continue_();
        client.expect_stopped("breakpoint");
    }
    let found = last_write(&mut client, "n");
    assert_eq!(found, "n was written without a change: 7");
    client.expect_line(&fixture, "twice");
    assert_eq!(client.evaluate("calls"), "3");
    client.disconnect();
}

#[test]
fn writes_of_a_value_are_found_one_after_the_other() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    // 0 + 1 + ... in rounds of 4, 8, 12 and 16.
    assert_eq!(last_write(&mut client, "total"), "total: 205 -> 220");
    client.expect_line(&fixture, "added");
    assert_eq!(last_write(&mut client, "total"), "total: 191 -> 205");
    assert_eq!(client.evaluate("value"), "14");
    assert_eq!(last_write(&mut client, "total"), "total: 178 -> 191");
    // The program goes on from there to the present.
    return_to_present(&mut client);
    assert_eq!(client.evaluate("total"), "220");
    client.expect_line(&fixture, "done");
    client.disconnect();
}

#[test]
fn value_that_was_not_written_says_so_and_nothing_moves() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let frame = client.top_frame()["id"].clone();
    let arguments = json!({"name": "history[2]", "frameId": frame});
    client.request_ok("stillpoint/lastWrite", arguments);
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "done");
    let told = client.output("important");
    let told = told + &client.output("console");
    assert!(
        told.contains("was not changed since the recording began"),
        "{told}"
    );
    client.disconnect();
}

#[test]
fn value_without_an_earlier_write_stays_in_the_past() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    client.set_breakpoints(&fixture, &["returned"]);
    client.request_ok("stillpoint/visitHit", json!({"number": 2}));
    client.expect_stopped("breakpoint");
    for refused in 0..3 {
        assert_eq!(last_write(&mut client, "total"), "total: 0 -> 1");
        client.expect_line(&fixture, "added");
        let told = client.output("important") + &client.output("console");
        assert_eq!(told.matches("not changed").count(), refused, "{told}");
    }
    client.disconnect();
}

#[test]
fn writes_of_the_kernel_end_at_the_call() {
    let fixture = Fixture::of("c/origin.c");
    // With a stop: the first time that the instruction makes a call.
    let mut client = recorded(&fixture, "read");
    for _ in 0..2 {
        let text = last_write(&mut client, "number");
        assert_eq!(text, "number: 0 -> 42, by the system call read");
        let names = client.function_names();
        assert!(names.contains(&"read_input".to_owned()), "{names:?}");
        assert_eq!(client.evaluate("read_number"), "0");
        return_to_present(&mut client);
        client.expect_line(&fixture, "read");
    }
    client.disconnect();
    // Without a stop.
    let mut client = recorded(&fixture, "done");
    let at = json!({"condition": "i == 30"});
    client.set_breakpoints_with(&fixture, vec![("often", at)]);
    reverse(&mut client);
    for text in [
        "number: 0 -> 30, by the system call read",
        "number: 29 -> 0",
        "number: 0 -> 29, by the system call read",
        "number: 28 -> 0",
    ] {
        assert_eq!(last_write(&mut client, "number"), text);
        assert_eq!(client.top_frame()["name"], "read_often", "{text}");
    }
    client.disconnect();
}

#[test]
fn value_that_changes_often_is_found_soon() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "spin", "after");
    // 400 million times: each one by a trap would take hours.
    let sum = |n: u64| n * (n - 1) / 2;
    let (last, before) = (400_000_000, 399_999_999);
    let expected = format!("spins: {} -> {}", sum(before), sum(last));
    assert_eq!(last_write(&mut client, "spins"), expected);
    assert_eq!(client.top_frame()["name"], "spin");
    client.disconnect();
}

#[test]
fn log_messages_tell_the_past() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let message = json!({"logMessage": "filled {sum}", "condition": "sum > 200"});
    let tenth = json!({"logMessage": "{value} is added", "hitCondition": "% 10"});
    let wanted = vec![("done", json!({})), ("filled", message), ("added", tenth)];
    client.set_breakpoints_with(&fixture, wanted);
    replay(&mut client);
    client.expect_line(&fixture, "done");
    let told = client.output("console");
    for line in ["5 is added", "filled 206", "7 is added", "filled 428"] {
        assert!(told.contains(line), "{told}");
    }
    assert_eq!(told.matches("filled").count(), 4, "{told}");
    assert_eq!(told.matches("is added").count(), 4, "{told}");
    // Again, from a place in the past: only what was before it.
    client.request_ok("reverseContinue", json!({"threadId": client.thread()}));
    client.expect_stopped("entry");
    let before = client.output("console").matches("filled").count();
    assert_eq!(before, 4, "nothing is told on the way");
    client.disconnect();
}

#[test]
fn hit_counts_are_the_same_after_a_replay() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "round");
    let third = json!({"hitCondition": "% 3"});
    let message = json!({"logMessage": "filled {sum}"});
    client.set_breakpoints_with(&fixture, vec![("call", third), ("filled", message)]);
    client.continue_to(&fixture, "call");
    assert_eq!(client.evaluate("i"), "2");
    replay(&mut client);
    client.continue_to(&fixture, "call");
    assert_eq!(
        client.evaluate("i"),
        "1",
        "the sixth call, in the second round"
    );
    client.disconnect();
}

#[test]
fn tracepoints_tell_the_past() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let trace = json!({"logMessage": "{:trace count(), max(value) by value % 2}"});
    client.set_breakpoints_with(&fixture, vec![("done", json!({})), ("added", trace)]);
    for _ in 0..2 {
        replay(&mut client);
        let table = shown(&mut client, ":trace");
        assert!(table.contains("40 hits"), "{table}");
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(rows.contains(&vec!["0", "20", "14"]), "{table}");
        assert!(rows.contains(&vec!["1", "20", "15"]), "{table}");
    }
    client.disconnect();
}

#[test]
fn threads_that_have_ended_are_told_once() {
    let fixture = Fixture::of("c/travel_ended.c");
    let mut client = recorded(&fixture, "done");
    let trace = json!({"logMessage": "{:trace count(), sum(left)}"});
    let message = json!({"logMessage": "one has ended"});
    let wanted = vec![("done", json!({})), ("deep", trace), ("end", message)];
    client.set_breakpoints_with(&fixture, wanted);
    for times in 1..=2 {
        replay(&mut client);
        client.expect_line(&fixture, "done");
        let table = shown(&mut client, ":trace");
        assert!(table.contains("300 hits"), "{table}");
        let row = table.lines().last().map(str::trim).unwrap_or_default();
        assert_eq!(row.split_whitespace().last(), Some("600"), "{table}");
        let told = client.output("console");
        assert_eq!(told.matches("one has ended").count(), 3 * times, "{told}");
        assert!(!told.contains("a replay did not"), "{told}");
    }
    client.disconnect();
}

#[test]
fn calls_and_assignments_in_the_past_change_nothing() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    // In the present, too: the program would do what no replay does.
    assert_eq!(client.evaluate("add(1000)"), "1000");
    client.set_breakpoints(&fixture, &["added"]);
    reverse(&mut client);
    let total = client.evaluate("total");
    assert_eq!(total, "205");
    assert_eq!(client.evaluate("add(5)"), "5");
    assert_eq!(client.evaluate("total"), "210", "in the copy");
    let frame = client.top_frame()["id"].clone();
    let assign = json!({"expression": "total", "value": "7", "frameId": frame});
    client.request_ok("setExpression", assign);
    assert_eq!(client.evaluate("total"), "7");
    step_back(&mut client);
    assert_eq!(client.evaluate("total"), "205");
    return_to_present(&mut client);
    assert_eq!(client.evaluate("total"), "220");
    client.disconnect();
}

#[test]
fn change_of_the_program_begins_the_recording_anew() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "filled");
    let frame = client.top_frame()["id"].clone();
    let assign = json!({"expression": "total", "value": "1000", "frameId": frame});
    client.request_ok("setExpression", assign);
    client.continue_to(&fixture, "filled");
    assert_eq!(client.evaluate("total"), "1028");
    client.set_breakpoints(&fixture, &["print"]);
    reverse(&mut client);
    assert_eq!(client.evaluate("total"), "1000");
    client.request_ok("reverseContinue", json!({"threadId": client.thread()}));
    client.expect_stopped("entry");
    client.expect_line(&fixture, "filled");
    let told = client.output("console") + &client.output("important");
    assert!(told.contains("recording begins anew"), "{told}");
    client.disconnect();
}

/// An assignment discards the snapshots that were made before it; a step back must not look for one of them.
#[test]
fn ways_back_after_a_change_end_where_it_was_made() {
    let fixture = Fixture::of("c/record/compute.c");
    let mut client = recorded(&fixture, "end");
    let state = shown(&mut client, ":recording");
    assert!(!state.contains(" 1 snapshot"), "{state}");
    let frame = client.top_frame()["id"].clone();
    let assign = json!({"expression": "state", "value": "5", "frameId": frame});
    client.request_ok("setExpression", assign);
    let is_note = |body: &Value| {
        let text = body["output"].as_str().unwrap_or_default();
        text.contains("the recording begins anew here")
    };
    client.wait_event_where("output", is_note);
    client.request_ok("stepBack", json!({"threadId": client.thread()}));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "end");
    let told = client.output("console") + &client.output("important");
    assert!(told.contains("The recording begins here"), "{told}");
    assert!(!told.contains("cannot be shown"), "{told}");
    client.disconnect();
}

#[test]
fn variables_of_a_library_are_not_there_before_it_is_loaded() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "round");
    client.set_breakpoints(&fixture, &[]);
    let optind = "*(int *)&optind";
    assert_eq!(client.evaluate(optind), "1");
    reverse_to_begin(&mut client);
    assert_eq!(client.evaluate("total"), "0", "the program is loaded");
    let frame = client.top_frame()["id"].clone();
    let asked = json!({"expression": optind, "frameId": frame});
    let why = client.request_error("evaluate", asked);
    assert!(why.contains("`libc.so.6` is not loaded yet"), "{why}");
    return_to_present(&mut client);
    assert_eq!(client.evaluate(optind), "1");
    client.disconnect();
}
