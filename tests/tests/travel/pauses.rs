//! `pause` stops a recorded program, whatever it does, and ends a search in its past.

use super::recorded;
use serde_json::json;
use stillpoint_tests::{DapClient, Fixture, process};

fn pause(client: &mut DapClient) {
    let thread = client.thread();
    client.request_ok("pause", json!({"threadId": thread}));
    client.wait_event("stopped");
}

/// The interrupt comes while the kernel makes the call, which it goes on with later.
#[test]
fn pause_stops_a_program_that_sleeps() {
    let fixture = Fixture::of("c/travel_sleeper.c");
    let mut client = recorded(&fixture, "slept");
    client.set_breakpoints(&fixture, &[]);
    for _ in 0..40 {
        client.continue_();
        pause(&mut client);
    }
    client.set_breakpoints(&fixture, &["slept"]);
    client.continue_to(&fixture, "slept");
    client.disconnect();
}

#[test]
fn pause_ends_a_search_in_a_program_with_threads() {
    let fixture = Fixture::of("c/travel_sleepers.c");
    let mut client = recorded(&fixture, "add");
    for _ in 0..4 {
        client.continue_to(&fixture, "add");
    }
    client.set_breakpoints(&fixture, &[]);
    for round in 0..40 {
        if round % 8 == 0 {
            client.continue_();
            pause(&mut client);
        }
        let thread = client.thread();
        let search = client.send("stepBack", json!({"threadId": thread}));
        let pause = client.send("pause", json!({"threadId": thread}));
        // A place without lines refuses a step.
        let is_searching = client.response(search).is_ok();
        client.response(pause).expect("it is answered");
        if is_searching {
            client.wait_event("stopped");
        }
    }
    client.disconnect();
}

#[test]
fn a_recorded_program_that_is_to_be_left_is_ended() {
    let fixture = Fixture::of("c/travel_sleeper.c");
    let mut client = recorded(&fixture, "slept");
    let debuggee = client.debuggee_pid();
    client.request_ok("disconnect", json!({"terminateDebuggee": false}));
    let told = client.output("important");
    assert!(told.contains("cannot run without the debugger"), "{told}");
    assert!(process::ends(debuggee));
}
