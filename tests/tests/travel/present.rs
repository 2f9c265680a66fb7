//! From the past to the present, and what holds in both.

use super::{
    announced, go, recorded, recorded_as, return_to_present, reverse, reverse_to_begin, run_to_end,
    shown, step_back,
};
use nix::sys::signal::Signal;
use serde_json::json;
use stillpoint_tests::process::send_signal;
use stillpoint_tests::{DapClient, Fixture};

/// All that the program writes.
const OUTPUT: &str =
    "round 0: 206 1\nround 1: 634 1\nround 2: 1300 1\nround 3: 2220 1\ndone 2220\n";

#[test]
fn output_is_written_once_however_often_it_is_passed() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "free");
    client.continue_to(&fixture, "free");
    for _ in 0..2 {
        reverse(&mut client);
        reverse_to_begin(&mut client);
        client.continue_to(&fixture, "free");
        client.continue_to(&fixture, "free");
    }
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), OUTPUT);
    assert_eq!(announced(&client), [true]);
}

#[test]
fn continue_from_the_past_goes_on_live() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "fill");
    client.next();
    client.set_breakpoints(&fixture, &["done"]);
    for _ in 0..3 {
        step_back(&mut client);
    }
    client.expect_line(&fixture, "round");
    // From the past over the present to what was not yet recorded.
    client.continue_to(&fixture, "done");
    assert_eq!(client.evaluate("result"), "2220");
    step_back(&mut client);
    client.disconnect();
}

#[test]
fn a_step_ends_at_the_present() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "fill");
    client.next();
    client.expect_line(&fixture, "print");
    client.set_breakpoints(&fixture, &[]);
    step_back(&mut client);
    client.expect_line(&fixture, "fill");
    client.next();
    client.expect_line(&fixture, "print");
    assert_eq!(client.output("stdout"), "");
    client.next();
    client.wait_event_where("output", |output| output["category"] == "stdout");
    assert_eq!(client.output("stdout"), "round 0: 206 1\n");
    client.disconnect();
}

#[test]
fn steps_back_from_the_exit_find_their_place() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    client.set_breakpoints(&fixture, &[]);
    // What the program writes last, it writes without a stop.
    go(&mut client, "continue", &["exit"]);
    for command in [":reverse-step", ":reverse-next", ":reverse-finish"] {
        shown(&mut client, command);
        let event = client.expect_stopped_by(&["step", "exit"]);
        let console = client.output("console");
        let description = &event["description"];
        assert_eq!(description, "In the past: step", "{command}: {console}");
        return_to_present(&mut client);
    }
    client.disconnect();
}

#[test]
fn a_step_over_a_call_ends_behind_it_if_the_present_is_inside() {
    let fixture = Fixture::of("c/travel.c");
    for by_instruction in [false, true] {
        let mut client = recorded(&fixture, "noted");
        client.set_breakpoints(&fixture, &[]);
        shown(&mut client, ":reverse-finish");
        client.expect_stopped("step");
        client.expect_line(&fixture, "call");
        let thread = client.thread();
        let mut step = json!({"threadId": thread});
        if by_instruction {
            step["granularity"] = "instruction".into();
            while client.function_names()[0] == "fill" {
                client.request_ok("stepIn", step.clone());
                client.expect_stopped("step");
            }
            client.request_ok("stepBack", step.clone());
            client.expect_stopped("step");
        }
        assert_eq!(client.function_names()[..2], ["fill", "main"]);
        client.request_ok("next", step);
        let event = client.expect_stopped("step");
        assert!(event["description"].is_null(), "in the present: {event}");
        assert_eq!(client.function_names()[..2], ["fill", "main"]);
        client.disconnect();
    }
}

#[test]
fn breakpoints_of_the_past_hold_in_the_present() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "print");
    reverse_to_begin(&mut client);
    client.set_breakpoints(&fixture, &["filled", "free"]);
    // One in the past, and one behind the present.
    client.continue_to(&fixture, "filled");
    // Through the present: the breakpoint that the program waits at is not there any more.
    assert_eq!(client.output("stdout"), "");
    client.continue_to(&fixture, "free");
    assert!(client.output("stdout").starts_with("round 0"));
    client.continue_to(&fixture, "filled");
    assert_eq!(client.evaluate("count"), "8");
    reverse(&mut client);
    client.expect_line(&fixture, "free");
    return_to_present(&mut client);
    client.set_breakpoints(&fixture, &["done"]);
    client.continue_to(&fixture, "done");
    client.disconnect();
}

#[test]
fn a_request_returns_to_the_present() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "print");
    client.continue_to(&fixture, "print");
    let at = client.evaluate("result");
    reverse(&mut client);
    assert_ne!(client.evaluate("result"), at);
    let stops = client.request_ok("stillpoint/pastStops", json!({}));
    let [position, events] =
        ["position", "events"].map(|name| stops["recording"][name].as_u64().expect("a number"));
    assert!(0 < position && position < events, "{stops}");
    return_to_present(&mut client);
    assert_eq!(client.evaluate("result"), at);
    client.expect_line(&fixture, "print");
    let stops = client.request_ok("stillpoint/pastStops", json!({}));
    assert!(stops["recording"]["position"].is_null(), "{stops}");
    client.continue_to(&fixture, "print");
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
    assert_eq!(client.output("stdout"), OUTPUT);
}

#[test]
fn the_present_keeps_its_reason_to_stop() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "print");
    step_back(&mut client);
    return_to_present(&mut client);
    step_back(&mut client);
    client.expect_line(&fixture, "fill");
    client.continue_to(&fixture, "print");
    assert_eq!(client.evaluate("round"), "0");
    client.continue_to(&fixture, "print");
    assert_eq!(client.evaluate("round"), "1");
    client.disconnect();
}

#[test]
fn a_pause_ends_a_search_where_it_began() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "spin", "after");
    // A condition at each pass of the loop: the search takes long.
    let never = json!({"condition": "i == 399999999 && total == 7"});
    client.set_breakpoints_with(&fixture, vec![("spin", never)]);
    let thread = client.thread();
    client.request_ok("reverseContinue", json!({"threadId": thread}));
    client.pause();
    client.expect_line(&fixture, "after");
    assert_eq!(client.evaluate("total"), "1");
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
}

#[test]
fn a_session_in_the_past_can_be_ended() {
    let fixture = Fixture::of("c/travel.c");
    let back = || {
        let mut client = recorded(&fixture, "print");
        client.continue_to(&fixture, "print");
        reverse(&mut client);
        client
    };
    back().disconnect();
    let mut client = back();
    client.request_ok("terminate", json!({}));
    client.wait_event("terminated");
    client.disconnect();
    // The debugger is killed: no process is left.
    let mut client = back();
    let pid = client.debuggee_pid();
    send_signal(client.adapter_pid(), Signal::SIGKILL);
    assert!(stillpoint_tests::process::ends(pid));
}

#[test]
fn a_restart_in_the_past_begins_a_new_recording() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "print");
    client.continue_to(&fixture, "print");
    reverse(&mut client);
    client.request_ok("restart", json!({}));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "print");
    assert_eq!(client.evaluate("round"), "0");
    step_back(&mut client);
    client.expect_line(&fixture, "fill");
    return_to_present(&mut client);
    client.set_breakpoints(&fixture, &[]);
    assert_eq!(run_to_end(&mut client), 0);
}

#[test]
fn a_program_about_to_exit_can_be_gone_back_in() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "done");
    let event = go(&mut client, "continue", &["exit"]);
    assert_eq!(event["description"], "Exiting with code 0", "{event}");
    reverse(&mut client);
    client.expect_line(&fixture, "done");
    go(&mut client, "continue", &["exit"]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), OUTPUT);
}

#[test]
fn a_program_that_is_not_recorded_says_how_it_can_be() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = DapClient::stopped_with(&fixture, "print", json!({"pastStops": false}));
    let frame = client.top_frame()["id"].clone();
    for command in [
        ":reverse-finish",
        ":recording",
        ":recording goto 1",
        ":hit 1",
        ":last-write total",
        ":origin total",
        ":replay",
    ] {
        let evaluate = json!({"expression": command, "context": "repl", "frameId": frame});
        let why = client.request_error("evaluate", evaluate);
        assert!(why.contains("set `record` to true"), "{command}: {why}");
        // The stop that is shown stays the same.
        let sum = json!({"expression": "1 + 1", "context": "watch", "frameId": frame});
        assert_eq!(
            client.request_ok("evaluate", sum)["result"],
            "2",
            "{command}"
        );
    }
    assert_eq!(announced(&client), [false; 0]);
    client.disconnect();
}
