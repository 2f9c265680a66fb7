//! Hits of threads that signals interrupt at the breakpoint: each is counted once, whatever the
//! handler does, and while the trap becomes a jump.

use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

/// Passes of the fixture's line in a mode.
fn passes(mode: &str) -> u64 {
    let nested = if mode == "nested" { 2 } else { 0 };
    12 + 200 + nested + 1
}

/// Runs the fixture until its thread was interrupted at the breakpoint a few times.
#[track_caller]
fn each_hit_is_counted_once(mode: &str) {
    const INTERRUPTED: usize = 3;
    let fixture = Fixture::of("c/interrupted_hits.c");
    let mut interrupted = 0;
    for _ in 0..40 {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": [mode]}));
        let last = json!({"hitCondition": passes(mode).to_string()});
        client.set_breakpoints_with(&fixture, vec![("hit", last)]);
        client.configure();
        client.expect_stopped("breakpoint");
        assert_eq!(
            client.evaluate("is_last"),
            "1",
            "{mode}: a hit counted twice"
        );
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        interrupted += usize::from(client.output("stdout") == "interrupted 1\n");
        client.disconnect();
        if interrupted == INTERRUPTED {
            return;
        }
    }
    panic!("{mode}: hardly ever interrupted at the breakpoint");
}

#[test]
fn a_hit_whose_handler_returns_is_counted_once() {
    each_hit_is_counted_once("returns");
}

#[test]
fn a_hit_whose_handler_makes_a_long_jump_is_counted_once() {
    each_hit_is_counted_once("jumps");
}

#[test]
fn a_hit_whose_handler_hits_the_breakpoint_is_counted_once() {
    each_hit_is_counted_once("nested");
}

/// A thread that gets a signal in the copies of what a jump covers leaves them first: that takes
/// nothing from the signal, and no signal from the program.
#[test]
fn queued_signals_keep_their_values_and_their_order() {
    let fixture = Fixture::of("c/interrupted_hits.c");
    // By the trap, and by the jump.
    for options in [
        json!({"condition": "$thread == 0"}),
        json!({"hitCondition": "> 4000000000"}),
    ] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["values"]}));
        client.set_breakpoints_with(&fixture, vec![("hit", options)]);
        client.configure();
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout"), "wrong 0\n");
        client.disconnect();
    }
}
