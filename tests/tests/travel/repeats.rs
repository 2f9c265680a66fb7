//! Places between two repetitions of an instruction.

use super::{recorded, return_to_present, shown, step_back};
use serde_json::json;
use stillpoint_tests::{DapClient, Fixture};

fn step_instruction(client: &mut DapClient, request: &str) {
    let thread = client.thread();
    let step = json!({"threadId": thread, "granularity": "instruction"});
    client.request_ok(request, step);
    client.expect_stopped("step");
}

fn left(client: &mut DapClient) -> u64 {
    client.evaluate("$rcx").parse().expect("a number")
}

fn pc(client: &mut DapClient) -> String {
    client.top_frame()["instructionPointerReference"].to_string()
}

/// Steps by instructions until one repeats itself, and so many of it are left.
fn step_into_repeated(client: &mut DapClient, wanted: u64) {
    let mut before = String::new();
    for _ in 0..100 {
        let at = pc(client);
        if at == before && left(client) == wanted {
            return;
        }
        before = at;
        step_instruction(client, "stepIn");
    }
    panic!("no instruction repeats itself {wanted} times more");
}

#[test]
fn steps_back_from_between_repetitions_find_their_place() {
    let fixture = Fixture::of("c/travel_repeat.c");
    for (marker, before, behind, wanted) in [
        ("filled", "begun", "behind", 36),
        ("compared", "compared", "known", 30),
    ] {
        let mut client = recorded(&fixture, marker);
        client.continue_();
        client.expect_stopped("breakpoint");
        client.set_breakpoints(&fixture, &[]);
        step_into_repeated(&mut client, wanted);
        let place = pc(&mut client);
        // The line began before the repetitions.
        step_back(&mut client);
        client.expect_line(&fixture, marker);
        assert_ne!(pc(&mut client), place);
        return_to_present(&mut client);
        assert_eq!(
            (pc(&mut client), left(&mut client)),
            (place.clone(), wanted)
        );
        // By one repetition.
        for nth in 1..3 {
            step_instruction(&mut client, "stepBack");
            assert_eq!(
                (pc(&mut client), left(&mut client)),
                (place.clone(), wanted + nth)
            );
        }
        // From a place in the past.
        step_back(&mut client);
        client.expect_line(&fixture, marker);
        if before != marker {
            step_back(&mut client);
            client.expect_line(&fixture, before);
            client.next();
        }
        client.next();
        client.expect_line(&fixture, behind);
        client.disconnect();
    }
}

#[test]
fn last_write_by_a_repetition_is_a_place_to_go_back_from() {
    let fixture = Fixture::of("c/travel_repeat.c");
    let mut client = recorded(&fixture, "done");
    let asked = json!({"name": "bytes[3]", "frameId": client.top_frame()["id"]});
    client.request_ok("stillpoint/lastWrite", asked);
    let event = client.expect_stopped("data breakpoint");
    assert!(
        event["text"]
            .as_str()
            .is_some_and(|it| it.contains("98 'b' -> 99 'c'")),
        "{event}"
    );
    client.expect_line(&fixture, "filled");
    step_back(&mut client);
    client.expect_line(&fixture, "filled");
    step_back(&mut client);
    client.expect_line(&fixture, "begun");
    assert_eq!(client.evaluate("bytes[3]"), "98 'b'");
    assert_eq!(shown(&mut client, "rounds"), "2");
    client.disconnect();
}
