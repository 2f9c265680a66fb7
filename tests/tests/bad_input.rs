//! Everything that can be wrong with what comes in, and when: it gets a clear answer, and the
//! adapter lives on.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, process};

/// A frame that cannot be read ends the session, and the exit code says that it was no normal
/// end.
fn ends_badly(bytes: &[u8]) {
    let mut client = DapClient::spawn();
    client.write_raw(bytes);
    client.close();
    let status = client.wait_exit();
    assert!(
        status.code().is_some_and(|code| code != 0),
        "{:?}: {status}",
        String::from_utf8_lossy(bytes)
    );
}

#[test]
fn broken_frames() {
    ends_badly(b"what is this?\r\n\r\n{}");
    ends_badly(b"\0\xff\xfe\x80\r\n\r\n");
    ends_badly(b"Content-Length: many\r\n\r\n{}");
    ends_badly(b"Content-Length: -5\r\n\r\n{}");
    ends_badly(b"Content-Length: 99999999999999999999999\r\n\r\n{}");
    ends_badly(b"Content-Length: 5000\r\n\r\n{\"seq\":1}");
    ends_badly(b"Content-Le");
    ends_badly(b"\r\n\r\n");
}

#[test]
fn an_enormous_length_takes_no_memory() {
    ends_badly(b"Content-Length: 9000000000000000000\r\n\r\n{}");
    ends_badly(b"Content-Length: 4000000000\r\n\r\n{}");
}

#[test]
fn end_of_input_before_any_message() {
    let mut client = DapClient::spawn();
    client.close();
    assert_eq!(client.wait_exit().code(), Some(0));
}

#[test]
fn broken_frame_ends_the_launched_program() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let pid = client.debuggee_pid();
    client.write_raw(b"nonsense\r\n\r\n");
    assert_ne!(client.wait_exit().code(), Some(0));
    assert!(!process::is_alive(pid));
}

#[test]
fn torn_and_crowded_frames() {
    let mut client = DapClient::spawn();
    let first = json!({"seq": 1, "type": "request", "command": "initialize",
        "arguments": {"adapterID": "ünï"}})
    .to_string();
    let second = json!({"seq": 2, "type": "request", "command": "threads"}).to_string();
    let mut bytes = Vec::new();
    for text in [&first, &second] {
        // Further fields and any case of letters are allowed, as in HTTP.
        bytes.extend(
            format!(
                "content-length: {}\r\nContent-Type: x\r\n\r\n{text}",
                text.len()
            )
            .bytes(),
        );
    }
    client.await_answer_to(1, "initialize");
    client.await_answer_to(2, "threads");
    for byte in bytes {
        client.write_raw(&[byte]);
    }
    client.response(1).expect("initialize succeeds");
    // Before a launch there is nothing to list; an error is accepted, too.
    let _ = client.response(2);
    client.disconnect();
}

#[test]
fn body_that_is_not_a_message() {
    for body in [
        &b"{\"seq\":"[..],
        b"not json at all",
        b"[1,2,3]",
        b"\"text\"",
        b"{}",
        b"{\"seq\":1,\"type\":\"request\"}",
        b"{\"seq\":\"one\",\"type\":7,\"command\":[]}",
        b"\xff\xfe{\"seq\":1}",
        b"",
    ] {
        let mut client = DapClient::spawn();
        let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        frame.extend(body);
        client.write_raw(&frame);
        client.close();
        // It may continue or exit, but must neither crash nor hang.
        let status = client.wait_exit();
        assert!(status.code().is_some(), "a crash: {status}");
        assert_ne!(status.code(), Some(101), "a panic");
    }
}

#[test]
fn deeply_nested_json() {
    let mut client = DapClient::spawn();
    let deep = "[".repeat(100_000);
    client.write_raw(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    client.close();
    let status = client.wait_exit();
    assert!(status.code().is_some_and(|code| code != 101), "{status}");
}

#[test]
fn unknown_commands() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    for command in ["novelty", "illegal_request", "", "Initialize", "__proto__"] {
        let message = client.request_error(command, json!({"anything": 1}));
        assert!(message.contains(command), "{message}");
    }
    client.expect_line(&fixture, "body");
    client.disconnect();
}

#[test]
fn wrong_launch_settings() {
    let fixture = Fixture::of("c/exit_code.c");
    let cases = [
        (json!({"program": 5}), "program"),
        (json!({}), "program"),
        (
            json!({"program": fixture.program, "args": {"a": 1}}),
            "args",
        ),
        (
            json!({"program": fixture.program, "cwd": "/does/not/exist"}),
            "/does/not/exist",
        ),
        (
            json!({"program": fixture.program, "envFile": "/no/such.env"}),
            "/no/such.env",
        ),
    ];
    for (arguments, place) in cases {
        let mut client = DapClient::spawn();
        client.initialize();
        let message = client.request_error("launch", arguments.clone());
        assert!(message.contains(place), "{arguments}: {message}");
        client.disconnect();
    }
}

#[test]
fn stale_ids() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let frame = client.top_frame()["id"].as_i64().expect("an id");
    let reference = client.locals_reference(frame);
    client.next();
    client.request_error("variables", json!({"variablesReference": reference}));
    client.request_error("scopes", json!({"frameId": frame}));
    client.request_error("evaluate", json!({"expression": "i", "frameId": frame}));
    client.request_error("variables", json!({"variablesReference": 0}));
    client.request_error("variables", json!({"variablesReference": 123_456}));
    client.request_error("stackTrace", json!({"threadId": 123_456_789}));
    client.disconnect();
}

#[test]
fn not_stopped_at_once_while_running() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let threads = client.request_ok("threads", Value::Null);
    let thread = threads["threads"][0]["id"].clone();
    for (command, arguments) in [
        ("stackTrace", json!({"threadId": thread})),
        ("scopes", json!({"frameId": 1})),
        ("variables", json!({"variablesReference": 1})),
        ("evaluate", json!({"expression": "1", "frameId": 1})),
        ("next", json!({"threadId": thread})),
        ("stepIn", json!({"threadId": thread})),
        ("stepOut", json!({"threadId": thread})),
        (
            "setVariable",
            json!({"variablesReference": 1, "name": "x", "value": "1"}),
        ),
    ] {
        match client.request(command, arguments) {
            Err(response) => assert_eq!(response["message"], "notStopped", "{response}"),
            Ok(body) => client.fail(&format!("{command} succeeded: {body}")),
        }
    }
    client.pause();
    client.disconnect();
}

#[test]
fn requests_in_the_wrong_state_are_errors() {
    let mut client = DapClient::spawn();
    client.request_error("stackTrace", json!({"threadId": 1}));
    client.initialize();
    for command in ["next", "continue", "pause", "stackTrace"] {
        client.request_error(command, json!({"threadId": 1}));
    }
    client.disconnect();
}

#[test]
fn a_second_launch() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    client.request_error("launch", json!({"program": fixture.program}));
    client.request_error("attach", json!({"pid": 1}));
    client.expect_line(&fixture, "body");
    client.disconnect();
}

#[test]
fn standard_output_closed_by_the_program() {
    let fixture = Fixture::of("c/close_stdout.c");
    let mut client = DapClient::stopped_at(&fixture, "after");
    client.next();
    assert_eq!(client.locals()["after"], "7");
    client.continue_();
    assert_eq!(client.expect_exit(), 7);
    assert_eq!(client.output("stdout").trim_end(), "before");
    client.disconnect();
}

#[test]
fn pause_and_continue_storms() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    let mut sent = Vec::new();
    for _ in 0..50 {
        sent.push(client.send("pause", json!({"threadId": 0})));
        sent.push(client.send("continue", json!({"threadId": 0})));
    }
    for sequence in sent {
        let _ = client.response(sequence);
    }
    client.disconnect();
}
