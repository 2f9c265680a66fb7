//! The adapter responds in every state.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, command, process};

const PROGRAM: &str = "c/long.c";

/// What should wait for nothing takes no longer, however busy the machine is.
const AT_ONCE: Duration = Duration::from_secs(10);

fn at_once<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = act();
    let took = began.elapsed();
    assert!(took < AT_ONCE, "{what} took {took:?}");
    done
}

#[test]
fn a_deep_stack_can_be_cancelled() {
    let fixture = Fixture::of(PROGRAM);
    let mut client = DapClient::stopped_at(&fixture, "bottom");
    let thread = client.thread();
    let stack = client.send("stackTrace", json!({"threadId": thread}));
    let cancel = client.send("cancel", json!({"requestId": stack}));
    at_once("cancel", || {
        // It may have been done before.
        if let Err(response) = client.response(stack) {
            assert_eq!(response["message"], "cancelled");
        }
        client.response(cancel).expect("cancel succeeds");
    });
    // The frames read before the cancellation cause no error.
    // In parts, since an emulated machine needs minutes for all.
    const PART: usize = 10_000;
    let mut frames = 0;
    loop {
        let part = json!({"threadId": thread, "startFrame": frames, "levels": PART});
        let body = client.request_ok("stackTrace", part);
        let count = body["stackFrames"].as_array().expect("frames").len();
        frames += count;
        if count < PART {
            assert_eq!(body["totalFrames"], frames);
            break;
        }
    }
    assert!(frames > 60_001, "{frames}");
    client.disconnect();
}

#[test]
fn disconnect_does_not_wait_for_a_deep_stack() {
    let fixture = Fixture::of(PROGRAM);
    let mut client = DapClient::stopped_at(&fixture, "bottom");
    let thread = client.thread();
    let requests: Vec<i64> = (0..20)
        .map(|_| {
            client.send("stackTrace", json!({"threadId": thread}));
            client.send("evaluate", json!({"expression": "many"}))
        })
        .collect();
    let disconnect = client.send("disconnect", Value::Null);
    client.response(disconnect).expect("disconnect succeeds");
    // In order: all earlier requests have a response, and most were cancelled. (The time until then
    // would be the time in which the client reads the earlier responses.)
    let given_up = requests
        .iter()
        .filter_map(|sequence| client.response(*sequence).err())
        .filter(|response| response["message"] == "cancelled");
    assert_ne!(given_up.count(), 0);
    assert_eq!(client.wait_exit().code(), Some(0));
}

#[test]
fn a_million_children() {
    let fixture = Fixture::of(PROGRAM);
    let mut client = DapClient::stopped_at(&fixture, "deep");
    let body = client.evaluated("many").expect("a value");
    assert_eq!(body["indexedVariables"], 1 << 20);
    let reference = body["variablesReference"].clone();
    let all = json!({"variablesReference": reference, "start": 0, "count": 1 << 20});
    let children = client.send("variables", all);
    let cancel = client.send("cancel", json!({"requestId": children}));
    at_once("cancel", || {
        let _ = client.response(children);
        client.response(cancel).expect("cancel succeeds");
    });
    let page = json!({"variablesReference": reference, "filter": "indexed",
        "start": 1_000_000, "count": 3});
    let page = at_once("a page", || client.request_ok("variables", page));
    assert_eq!(page["variables"][2]["value"], "1000002");
    client.disconnect();
}

#[test]
fn a_flood_of_output() {
    let fixture = Fixture::of(PROGRAM);
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["flood"]}));
    client.configure();
    client.wait_event("output");
    at_once("threads", || client.request_ok("threads", Value::Null));
    at_once("setBreakpoints", || {
        client.set_breakpoints(&fixture, &["flood"])
    });
    at_once("the breakpoint", || client.expect_stopped("breakpoint"));
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    at_once("pause", || client.pause());
    client.continue_();
    at_once("disconnect", || {
        client.request_ok("disconnect", Value::Null)
    });
    assert_eq!(client.wait_exit().code(), Some(0));
}

#[test]
fn a_flood_of_messages() {
    let fixture = Fixture::of(PROGRAM);
    let mut client = DapClient::stopped_with(&fixture, "pass", json!({"args": ["passes"]}));
    let message = json!({"logMessage": "passed once more"});
    client.set_breakpoints_with(&fixture, vec![("pass", message)]);
    client.continue_();
    client.wait_event("output");
    for _ in 0..10 {
        at_once("threads", || client.request_ok("threads", Value::Null));
    }
    at_once("pause", || client.pause());
    client.disconnect();
}

#[test]
fn a_long_step_can_be_paused() {
    let fixture = Fixture::of(PROGRAM);
    let mut client = DapClient::stopped_with(&fixture, "spin", json!({"args": ["spin"]}));
    let thread = client.thread();
    client.request_ok("next", json!({"threadId": thread}));
    at_once("pause", || client.pause());
    client.expect_line(&fixture, "spin");
    client.disconnect();
}

/// The answers to a client that does not read them have to wait somewhere; so has it, soon.
#[test]
fn a_client_that_does_not_read() {
    const REQUESTS: usize = 3000;
    let mut adapter = command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the adapter starts");
    let mut stdin = adapter.stdin.take().expect("piped");
    let stdout = adapter.stdout.take().expect("piped");
    // The answer to an unknown command names it.
    let command = "x".repeat(32 << 10);
    let (progress, taken) = mpsc::channel();
    let written = thread::spawn(move || {
        for seq in 1..=REQUESTS {
            let body = json!({"seq": seq, "type": "request", "command": command}).to_string();
            let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
            stdin.write_all(frame.as_bytes()).expect("it is read, late");
            let _ = progress.send(());
        }
        // Dropped: the end.
    });
    let end = loop {
        match taken.recv_timeout(Duration::from_secs(1)) {
            Ok(()) => {}
            Err(end) => break end,
        }
    };
    assert_eq!(end, RecvTimeoutError::Timeout, "it has taken everything");
    let tracer = process::tracer_of(adapter.id() as i32);
    let size = process::status(tracer, "VmRSS").expect("it lives");
    let size: u64 = size.trim_end_matches("kB").trim().parse().expect("a size");
    assert!(size < 200 << 10, "{size} KiB");
    let mut stdout = BufReader::new(stdout);
    let (mut answers, mut header) = (0, String::new());
    while stdout.read_line(&mut header).expect("it is read") > 0 {
        let length = header.trim().strip_prefix("Content-Length: ");
        let length: u64 = length.expect("a header").parse().expect("a length");
        let body = &mut (&mut stdout).take(2 + length);
        io::copy(body, &mut io::sink()).expect("a body");
        header.clear();
        answers += 1;
    }
    written.join().expect("everything was written");
    assert_eq!(answers, REQUESTS);
    assert_eq!(process::wait_for(&mut adapter).code(), Some(0));
}

#[test]
fn cancel_of_other_requests_is_ignored() {
    let fixture = Fixture::of(PROGRAM);
    let mut client = DapClient::stopped_at(&fixture, "bottom");
    // No such requests or work: never sent, sent later, or impossible.
    for arguments in [
        json!({}),
        json!({"requestId": 4711}),
        json!({"requestId": -1}),
        json!({"requestId": i64::MAX}),
        json!({"progressId": "work 17"}),
        json!({"progressId": ""}),
    ] {
        client.request_ok("cancel", arguments);
    }
    for arguments in [
        json!({"requestId": u64::MAX}),
        json!({"requestId": "x"}),
        json!({"progressId": {}}),
    ] {
        let error = client.request_error("cancel", arguments);
        assert!(error.contains("Id"), "{error}");
    }
    // One that is answered already, and twice one that is not.
    let answered = client.send("threads", Value::Null);
    client.response(answered).expect("threads");
    client.request_ok("cancel", json!({"requestId": answered}));
    let thread = client.thread();
    let stack = client.send("stackTrace", json!({"threadId": thread}));
    let first = client.send("cancel", json!({"requestId": stack}));
    let second = client.send("cancel", json!({"requestId": stack}));
    if let Err(response) = client.response(stack) {
        assert_eq!(response["message"], "cancelled");
    }
    client.response(first).expect("cancel succeeds");
    client.response(second).expect("and again");
    // A cancel reaches no request that comes after it.
    client.request_ok("threads", Value::Null);
    client.disconnect();
}
