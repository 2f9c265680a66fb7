//! Each thread stops by itself, while the others run.

use serde_json::{Value, json};
use stillpoint_tests::patience;
use stillpoint_tests::{DapClient, Fixture, process};

/// Both workers at their first line: their threads.
fn both_stopped(client: &mut DapClient, fixture: &Fixture, markers: [&str; 2]) -> [i64; 2] {
    let mut found = [0; 2];
    for _ in 0..2 {
        client.expect_stopped("breakpoint");
        let thread = client.thread();
        let line = client.top_line();
        let which = markers.iter().position(|it| fixture.line(it) == line);
        found[which.expect("one of the two lines")] = thread;
    }
    found
}

fn start(fixture: &Fixture) -> (DapClient, [i64; 2]) {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"nonStop": true}));
    client.set_breakpoints(fixture, &["left", "right"]);
    client.configure();
    let threads = both_stopped(&mut client, fixture, ["left", "right"]);
    (client, threads)
}

/// Waits until the clock is seen to run.
fn clock_runs(client: &mut DapClient) {
    let before = client.evaluate("ticks");
    assert!(patience::becomes(|| client.evaluate("ticks") != before));
}

fn frame_of(client: &mut DapClient, thread: i64) -> Value {
    client.select_thread(thread);
    client.top_frame()
}

#[test]
fn threads_stop_step_and_resume_separately() {
    let fixture = Fixture::of("c/non_stop.c");
    let (mut client, [left, right]) = start(&fixture);
    assert_ne!(left, right);
    client.select_thread(right);
    let kept = client.top_frame()["id"].clone();
    clock_runs(&mut client);

    // One thread steps and resumes; the other stays stopped, and its ids stay valid.
    client.select_thread(left);
    let old = client.top_frame()["id"].clone();
    assert_eq!(client.locals()["step"], "1");
    client.next();
    assert_eq!(client.thread(), left);
    client.expect_line(&fixture, "left_next");
    assert_eq!(client.locals()["step"], "11");
    let stale = client.request_error("scopes", json!({"frameId": old}));
    assert!(stale.contains("earlier stop"), "{stale}");
    client.request_ok("scopes", json!({"frameId": kept}));
    let body = client.request_ok("continue", json!({"threadId": left}));
    assert_eq!(body["allThreadsContinued"], false);
    client.wait_event_where("thread", |body| {
        body["reason"] == "exited" && body["threadId"] == left
    });
    client.request_ok("scopes", json!({"frameId": kept}));
    client.select_thread(right);
    client.expect_line(&fixture, "right");
    assert_eq!(client.locals()["step"], "2");
    clock_runs(&mut client);

    // The last stopped thread resumes: all run.
    let body = client.request_ok("continue", json!({"threadId": right}));
    assert_eq!(body["allThreadsContinued"], true);
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout").trim_end(), "111 222");
    client.disconnect();
}

#[test]
fn two_steps_at_once() {
    let fixture = Fixture::of("c/non_stop.c");
    let (mut client, [left, right]) = start(&fixture);
    for thread in [left, right] {
        client.request_ok("next", json!({"threadId": thread}));
    }
    let mut stepped = Vec::new();
    for _ in 0..2 {
        client.expect_stopped("step");
        stepped.push(client.thread());
    }
    stepped.sort_unstable();
    let mut both = vec![left, right];
    both.sort_unstable();
    assert_eq!(stepped, both);
    client.select_thread(left);
    client.expect_line(&fixture, "left_next");
    client.select_thread(right);
    client.expect_line(&fixture, "right_next");
    for thread in [left, right] {
        client.request_ok("continue", json!({"threadId": thread}));
    }
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn running_thread_is_an_error_and_can_be_paused() {
    let fixture = Fixture::of("c/non_stop.c");
    let (mut client, [left, right]) = start(&fixture);
    let leader = i64::from(client.debuggee_pid());
    for (command, arguments) in [
        ("stackTrace", json!({"threadId": leader})),
        ("next", json!({"threadId": leader})),
        ("continue", json!({"threadId": leader})),
    ] {
        let error = client.request_error(command, arguments);
        assert!(error.contains("is running"), "{command}: {error}");
    }
    client.request_ok("pause", json!({"threadId": leader}));
    client.expect_stopped("pause");
    assert_eq!(client.thread(), leader);
    let names = client.function_names();
    assert!(names.iter().any(|name| name == "main"), "{names:?}");
    // A thread that waits for a lock or a thread keeps waiting: no system call fails because of the
    // debugger.
    for thread in [leader, left, right] {
        client.request_ok("continue", json!({"threadId": thread}));
    }
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout").trim_end(), "111 222");
    client.disconnect();
}

#[test]
fn call_stops_no_other_thread() {
    let fixture = Fixture::of("c/non_stop.c");
    let (mut client, [left, right]) = start(&fixture);
    client.select_thread(left);
    assert_eq!(client.evaluate("twice(21)"), "42");
    client.expect_line(&fixture, "left");
    client.select_thread(right);
    client.expect_line(&fixture, "right");
    clock_runs(&mut client);
    client.disconnect();
}

#[test]
fn pause_without_thread_stops_all() {
    let fixture = Fixture::of("c/non_stop.c");
    // The clock and the main thread run.
    let (mut client, [left, right]) = start(&fixture);
    client.request_ok("pause", json!({"threadId": 0}));
    for _ in 0..2 {
        client.expect_stopped("pause");
        assert!(![left, right].contains(&client.thread()));
    }
    client.disconnect();
}

#[test]
fn detach_after_single_thread_stops_keeps_running() {
    let fixture = Fixture::of("c/non_stop.c");
    let (mut client, _) = start(&fixture);
    let pid = client.debuggee_pid();
    client.disconnect_with(json!({"terminateDebuggee": false}));
    assert!(process::ends(pid));
}

#[test]
fn a_frame_is_found_by_its_thread() {
    let fixture = Fixture::of("c/non_stop.c");
    let (mut client, [left, right]) = start(&fixture);
    let (of_left, of_right) = (frame_of(&mut client, left), frame_of(&mut client, right));
    for (frame, value) in [(of_left, "1"), (of_right, "2")] {
        let arguments = json!({"expression": "step", "frameId": frame["id"]});
        assert_eq!(client.request_ok("evaluate", arguments)["result"], value);
    }
    client.disconnect();
}

#[test]
fn a_data_breakpoint_stops_its_thread_alone() {
    let fixture = Fixture::of("c/non_stop.c");
    let (mut client, [left, right]) = start(&fixture);
    let frame = frame_of(&mut client, left)["id"].clone();
    let info = client.request_ok(
        "dataBreakpointInfo",
        json!({"name": "step", "frameId": frame}),
    );
    // The clock is set to it without being seen to stop.
    let set = client.request_ok(
        "setDataBreakpoints",
        json!({"breakpoints": [{"dataId": info["dataId"]}]}),
    );
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    for text in ["step: 1 -> 11", "step: 11 -> 111"] {
        client.request_ok("continue", json!({"threadId": left}));
        let stop = client.wait_event("stopped");
        assert_eq!(stop["text"], text);
        assert_eq!(stop["threadId"], left);
        assert_ne!(stop["allThreadsStopped"], true);
        client.select_thread(left);
        clock_runs(&mut client);
    }
    client.request_ok("setDataBreakpoints", json!({"breakpoints": []}));
    for thread in [left, right] {
        client.request_ok("continue", json!({"threadId": thread}));
    }
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}
