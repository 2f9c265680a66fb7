//! What ends a recording, and what does not.

use super::{
    announced, go, recorded, recorded_as, return_to_present, reverse, reverse_to_begin, run_to_end,
    shown, step_back,
};
use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

#[test]
fn what_is_not_recorded_ends_the_recording_only() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "thread", "alone");
    client.next();
    step_back(&mut client);
    client.expect_line(&fixture, "alone");
    assert_eq!(announced(&client), [true]);
    client.set_breakpoints(&fixture, &["beat", "joined"]);
    client.continue_to(&fixture, "beat");
    assert_eq!(announced(&client), [true, false]);
    let console = client.output("console");
    assert!(console.contains("The recording has ended"), "{console}");
    let why = client.request_error("stepBack", json!({"threadId": client.thread()}));
    assert!(why.contains("priority inheritance"), "{why}");
    client.continue_to(&fixture, "joined");
    assert_eq!(client.evaluate("total"), "1005");
    client.next();
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
}

#[test]
fn past_stops_are_kept_after_the_end_of_a_recording() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "thread", "alone");
    client.set_breakpoints(&fixture, &["beat", "joined"]);
    client.continue_to(&fixture, "beat");
    let listed = shown(&mut client, ":past");
    assert!(listed.contains("breakpoint in beat"), "{listed}");
    client.continue_to(&fixture, "joined");
    assert_eq!(client.evaluate("total"), "1005");
    assert_eq!(announced(&client), [true, false, true]);
    go(&mut client, "reverseContinue", &["goto"]);
    client.expect_line(&fixture, "beat");
    assert_eq!(client.evaluate("total"), "5");
    return_to_present(&mut client);
    // What is changed and called, is the program itself.
    assert_eq!(client.evaluate("total = 7"), "7");
    shown(&mut client, "add(20)");
    client.next();
    assert_eq!(client.evaluate("total"), "28");
    let console = client.output("console");
    assert!(!console.contains("begins anew"), "{console}");
    assert!(!console.contains("copy of the recorded"), "{console}");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
}

#[test]
fn a_program_that_ends_without_a_stop_says_why_its_recording_ended() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "thread", "alone");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let console = client.output("console");
    let note = "The recording had ended before the program: ";
    assert!(console.contains(note), "{console}");
}

#[test]
fn children_run_free_and_are_not_started_twice() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "child", "told");
    assert_eq!(client.evaluate("total"), "10", "`echo` has exited with 0");
    client.set_breakpoints(&fixture, &["parent", "waited"]);
    reverse(&mut client);
    client.expect_line(&fixture, "waited");
    assert_eq!(client.evaluate("total"), "1");
    reverse(&mut client);
    client.expect_line(&fixture, "parent");
    assert_eq!(client.evaluate("total"), "0");
    client.continue_to(&fixture, "waited");
    return_to_present(&mut client);
    client.set_breakpoints(&fixture, &["end"]);
    client.continue_to(&fixture, "end");
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), "child\nexecuted\nparent\n");
    assert_eq!(announced(&client), [true]);
}

#[test]
fn handlers_of_signals_run_in_the_past_as_they_did() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "signals", "calm");
    assert_eq!(client.evaluate("total"), "6");
    client.set_breakpoints(&fixture, &["handled", "raised"]);
    for (marker, signals, total) in [
        ("raised", "3", "3"),
        ("handled", "2", "3"),
        ("raised", "2", "1"),
        ("handled", "1", "1"),
        ("raised", "1", "0"),
        ("handled", "0", "0"),
    ] {
        reverse(&mut client);
        client.expect_line(&fixture, marker);
        assert_eq!(client.evaluate("signals"), signals);
        assert_eq!(client.evaluate("total"), total);
    }
    reverse_to_begin(&mut client);
    go(&mut client, "continue", &["breakpoint"]);
    client.expect_line(&fixture, "handled");
    return_to_present(&mut client);
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
}

/// Like [`recorded`], with no snapshot but that of the start: a replay of a stretch behind the fault would be right. The
/// program takes no time; but on a busy machine a snapshot may be due when it makes its next call.
fn recorded_in_one_stretch(fixture: &Fixture, marker: &str) -> DapClient {
    for _ in 0..20 {
        let mut client = recorded(fixture, marker);
        if shown(&mut client, ":recording").contains(" and 1 snapshot\n") {
            return client;
        }
        client.disconnect();
    }
    panic!("each recording has several snapshots")
}

#[test]
fn replay_that_is_at_fault_says_so() {
    let fixture = Fixture::of("c/travel_differs.c");
    // Where the program is, an event is still to come, or none.
    for (marker, why) in [
        ("done", "was not like the recording"),
        ("done", "signal 11"),
        ("behind", "did not come to the place"),
    ] {
        let mut client = recorded_in_one_stretch(&fixture, marker);
        client.set_breakpoints(&fixture, &["begin"]);
        // The last one before is none: the replay counts up to the program's place.
        client.request_ok("reverseContinue", json!({"threadId": client.thread()}));
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, marker);
        let told = client.output("important") + &client.output("console");
        assert!(told.contains(why), "{told}");
        client.disconnect();
    }
}

#[test]
fn the_program_is_as_before_after_its_first_thread_has_ended() {
    let fixture = Fixture::of("c/travel_leader.c");
    let mut client = recorded(&fixture, "total");
    assert_eq!(client.evaluate("sum"), "45");
    reverse_to_begin(&mut client);
    client.continue_to(&fixture, "total");
    assert_eq!(client.evaluate("sum"), "45");
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
}

/// After the end, calls go by code of the recorder, where nothing shows a thread.
#[test]
fn calls_after_the_end_are_shown_where_the_program_makes_them() {
    let fixture = Fixture::of("c/record/free_calls.c");
    let mut client = recorded_as(&fixture, "waits", "ended");
    assert!(client.output("console").contains("shmat"));
    client.set_breakpoints(&fixture, &["switch"]);
    // From the third time on, the call of `getrusage` does not stop.
    for _ in 0..3 {
        client.continue_();
        client.expect_stopped("breakpoint");
    }
    let mut names = Vec::new();
    while names.len() < 2 || names.last().is_none_or(|it| it != "switches") {
        let step = json!({"threadId": client.thread(), "granularity": "instruction"});
        client.request_ok("stepIn", step);
        client.expect_stopped("step");
        let name = client.function_names().swap_remove(0);
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    let own = names.iter().filter(|it| *it == "switches");
    assert!(own.count() <= 2, "{names:?}");
    assert!(names.iter().any(|it| it.contains("getrusage")), "{names:?}");
    assert!(names.len() <= 4, "{names:?}");
    client.set_breakpoints(&fixture, &["waits"]);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &[]);
    // It may be stopped on its way to the call, which it waits in then.
    loop {
        client.continue_();
        client.pause();
        let names = client.function_names();
        assert!(names.contains(&"waits".to_owned()), "{names:?}");
        if names[0].contains("read") {
            break;
        }
        assert_eq!(names[0], "waits", "{names:?}");
    }
    client.disconnect();
}
