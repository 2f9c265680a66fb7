//! What agents ask of recordings.

use serde_json::{Value, json};
use stillpoint_tests::{Agent, Fixture, assert_contains};

/// Starts a recorded program and runs it to a named line.
fn recorded(fixture: &Fixture, marker: &str) -> Agent {
    let mut agent = Agent::start();
    let place = format!("{}:{}", fixture.source.display(), fixture.line(marker));
    let launch = json!({"program": fixture.program, "record": true, "breakpoints": [place]});
    let stop = agent.call("debug_launch", launch);
    assert_contains(&stop, &["stop 1: breakpoint"]);
    agent
}

fn back(agent: &mut Agent, wanted: Value) -> String {
    let text = agent.call("debug_continue", wanted);
    assert_contains(&text, &["in the past"]);
    text
}

#[test]
fn call_that_a_recording_shows_is_traced() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = recorded(&fixture, "print");
    let wanted = json!({"action": "reverse-continue", "to": "body"});
    back(&mut agent, wanted.clone());
    let shown = back(&mut agent, wanted);
    assert_contains(&shown, &["at body(i=3, scale=10)"]);
    let present = agent.call("debug_trace_call", json!({"function": "body"}));
    assert_contains(&present, &["arguments: i=3, scale=10\n", "returned 30\n"]);
    // The next one, forward in the recording.
    let next = agent.call("debug_trace_call", json!({"function": "body"}));
    assert_contains(&next, &["arguments: i=4, scale=10\n", "returned 40\n"]);
    let none = agent.call("debug_trace_call", json!({"function": "body"}));
    assert_contains(
        &none,
        &["body was not called: ", "stopped in main, loop.c:"],
    );
}

#[test]
fn write_before_the_call_of_its_variable_is_named_so() {
    let fixture = Fixture::of("c/left_over.c");
    let left = "it was not set in its call: it holds what an earlier call has left there";
    for way in [false, true] {
        let mut agent = recorded(&fixture, "read");
        let wanted = json!({"written": "spot", "throughCopies": way});
        let text = back(&mut agent, wanted);
        assert_contains(&text, &[left, "at fill(n=2) at "]);
        // The stop is described once, and so is the way.
        assert_eq!(text.matches(left).count(), 1, "{text}");
        let rows = text.matches(" in fill, left_over.c:").count();
        assert_eq!(rows, usize::from(way), "{text}");
    }
    let mut agent = recorded(&fixture, "read");
    let set = back(&mut agent, json!({"written": "set"}));
    assert!(!set.contains("left there"), "{set}");
    let mut agent = recorded(&fixture, "read");
    let of_caller = back(&mut agent, json!({"written": "a", "frame": 1}));
    assert_contains(&of_caller, &["at main() at "]);
    assert!(!of_caller.contains("left there"), "{of_caller}");
}
