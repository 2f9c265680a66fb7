//! What ends a recording, and what does not.

use super::{
    announced, go, recorded_as, return_to_present, reverse, reverse_to_begin, run_to_end, step_back,
};
use serde_json::json;
use stillpoint_tests::Fixture;

#[test]
fn a_thread_ends_the_recording_and_debugging_goes_on() {
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
    assert!(why.contains("thread"), "{why}");
    client.continue_to(&fixture, "joined");
    assert_eq!(client.evaluate("total"), "1005");
    client.next();
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
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
