//! Requests behind the end of a session: they are answered with an error and reach nothing.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture, core_of};

/// The number of the first request that a test writes itself.
const FIRST: i64 = 1000;

/// Requests that would change the debuggee, begin with another one, or look at it. The line that
/// they name is executed all the time.
fn requests(fixture: &Fixture, address: &str) -> Vec<(&'static str, Value)> {
    let breakpoints = json!([{"line": fixture.line("beat")}]);
    let source = json!({"path": fixture.source});
    let at_address = json!([{"instructionReference": address}]);
    let named = json!([{"name": "beat"}, {"name": "/^b/"}]);
    let mut requests = vec![
        ("terminate", Value::Null),
        ("restart", Value::Null),
        ("attach", json!({"pid": std::process::id()})),
        ("launch", json!({"program": fixture.program})),
        ("configurationDone", Value::Null),
    ];
    // Twice: after those above there might be another program.
    for _ in 0..2 {
        requests.extend([
            (
                "setBreakpoints",
                json!({"source": source, "breakpoints": breakpoints}),
            ),
            ("setFunctionBreakpoints", json!({"breakpoints": named})),
            (
                "setInstructionBreakpoints",
                json!({"breakpoints": at_address}),
            ),
            ("setExceptionBreakpoints", json!({"filters": ["cpp_throw"]})),
            ("setDataBreakpoints", json!({"breakpoints": []})),
            (
                "writeMemory",
                json!({"memoryReference": address, "data": "zMzM"}),
            ),
            ("evaluate", json!({"expression": "1", "context": "repl"})),
            ("pause", json!({"threadId": 0})),
            ("threads", Value::Null),
        ]);
        requests.rotate_left(9);
    }
    requests
}

/// Writes several requests at once; returns their numbers.
fn send_together(client: &mut DapClient, requests: &[(&str, Value)], first: i64) -> Vec<i64> {
    let mut bytes = Vec::new();
    let mut numbers = Vec::new();
    for (number, (command, arguments)) in (first..).zip(requests) {
        let mut message = json!({"seq": number, "type": "request", "command": command});
        if !arguments.is_null() {
            message["arguments"] = arguments.clone();
        }
        let text = message.to_string();
        bytes.extend(format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes());
        client.await_answer_to(number, command);
        numbers.push(number);
    }
    client.write_raw(&bytes);
    numbers
}

/// The answers to a request.
fn answers(client: &DapClient, number: i64) -> Vec<&Value> {
    let history = client.history().iter();
    history
        .filter(|message| message["type"] == "response" && message["request_seq"] == number)
        .collect()
}

/// None of these requests has had an effect; `all`: each has its answer.
fn assert_refused(client: &DapClient, numbers: &[i64], all: bool) {
    for number in numbers {
        let answers = answers(client, *number);
        let expected = if all { 1 } else { answers.len().min(1) };
        let refused = answers.iter().all(|answer| answer["success"] == false);
        if !refused || answers.len() != expected {
            client.fail(&format!("answers to {number}: {answers:?}"));
        }
    }
}

/// An attached session of a program that runs, and where its `main` is.
fn attached(fixture: &Fixture) -> (DapClient, Debuggee, Vec<u8>, String) {
    let debuggee = Debuggee::start(fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.configure();
    let set = client.set_function_breakpoints(&["main"]);
    let address = set[0]["instructionReference"].as_str().expect("bound");
    client.set_function_breakpoints(&[]);
    (client, debuggee, before, address.to_owned())
}

fn assert_unharmed(debuggee: &Debuggee, fixture: &Fixture, before: &[u8]) {
    debuggee.expect_running();
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
}

#[test]
fn request_after_disconnect_in_the_same_write() {
    let fixture = Fixture::of("c/spin.c");
    for set_before in [false, true] {
        let (mut client, debuggee, before, address) = attached(&fixture);
        if set_before {
            let never = json!({"condition": "count < 0"});
            client.set_breakpoints_with(&fixture, vec![("spin", never)]);
        }
        let mut written = vec![("disconnect", json!({"terminateDebuggee": false}))];
        written.extend(requests(&fixture, &address));
        let numbers = send_together(&mut client, &written, FIRST);
        assert_eq!(client.wait_exit().code(), Some(0));
        assert_eq!(answers(&client, FIRST)[0]["success"], true);
        assert_refused(&client, &numbers[1..], true);
        assert_unharmed(&debuggee, &fixture, &before);
    }
}

#[test]
fn request_after_the_disconnect_response() {
    let fixture = Fixture::of("c/spin.c");
    for _ in 0..3 {
        let (mut client, debuggee, before, address) = attached(&fixture);
        client.request_ok("disconnect", json!({"terminateDebuggee": false}));
        // The adapter may have ended by now.
        let numbers = send_together(&mut client, &requests(&fixture, &address), FIRST);
        assert_eq!(client.wait_exit().code(), Some(0));
        assert_refused(&client, &numbers, false);
        assert_unharmed(&debuggee, &fixture, &before);
    }
}

#[test]
fn request_after_a_disconnect_during_a_call() {
    let fixture = Fixture::of("c/spin.c");
    let (mut client, debuggee, before, address) = attached(&fixture);
    client.set_breakpoints(&fixture, &["beat"]);
    client.expect_stopped("breakpoint");
    let frame = client.stack()[0]["id"].clone();
    let call = json!({"expression": "(int)usleep(20000000)", "frameId": frame, "context": "repl"});
    let mut written = vec![
        ("evaluate", call),
        // They wait for the end of the call.
        ("scopes", json!({"frameId": frame})),
        ("stepIn", json!({"threadId": client.thread()})),
        ("disconnect", json!({"terminateDebuggee": false})),
    ];
    let first_behind = written.len();
    written.extend(requests(&fixture, &address));
    let numbers = send_together(&mut client, &written, FIRST);
    assert_eq!(client.wait_exit().code(), Some(0));
    assert_refused(&client, &numbers[..first_behind - 1], true);
    assert_eq!(
        answers(&client, numbers[first_behind - 1])[0]["success"],
        true
    );
    assert_refused(&client, &numbers[first_behind..], true);
    assert_unharmed(&debuggee, &fixture, &before);
}

#[test]
fn request_after_a_disconnect_that_kills() {
    let fixture = Fixture::of("c/spin.c");
    for configured in [false, true] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        if configured {
            client.configure();
        }
        let mut written = vec![("disconnect", json!({"terminateDebuggee": true}))];
        written.extend(requests(&fixture, "0x1000"));
        let numbers = send_together(&mut client, &written, FIRST);
        assert_eq!(client.wait_exit().code(), Some(0));
        assert_refused(&client, &numbers[1..], true);
        assert_eq!(client.count_events("process"), usize::from(configured));
    }
}

#[test]
fn program_left_alive_is_unchanged() {
    let fixture = Fixture::of("c/spin.c");
    for configured in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("program");
        std::fs::copy(&fixture.program, &program).expect("a copy");
        let program = program.canonicalize().expect("it is there");
        let mut client = DapClient::spawn();
        let nowhere = json!({"stdio": [null, "/dev/null", "/dev/null"]});
        client.launch_program(&program, nowhere);
        if configured {
            client.configure();
        }
        let mut written = vec![("disconnect", json!({"terminateDebuggee": false}))];
        written.extend(requests(&fixture, "0x1000"));
        let numbers = send_together(&mut client, &written, FIRST);
        assert_eq!(client.wait_exit().code(), Some(0));
        assert_refused(&client, &numbers[1..], true);
        let running = process::running(&program);
        assert_eq!(running.len(), 1);
        let text = process::text_bytes(running[0], &program);
        process::send_signal(running[0], Signal::SIGKILL);
        let file = std::fs::read(&program).expect("the program's file");
        assert!(file.windows(text.len()).any(|bytes| bytes == text));
        assert!(process::ends(running[0]));
    }
}

#[test]
fn request_after_sigterm() {
    let fixture = Fixture::of("c/spin.c");
    for _ in 0..3 {
        let (mut client, debuggee, before, address) = attached(&fixture);
        process::send_signal(client.adapter_pid(), Signal::SIGTERM);
        client.wait_event("terminated");
        let numbers = send_together(&mut client, &requests(&fixture, &address), FIRST);
        client.wait_exit();
        assert_refused(&client, &numbers, false);
        assert_unharmed(&debuggee, &fixture, &before);
    }
}

#[test]
fn request_before_end_of_input() {
    let fixture = Fixture::of("c/spin.c");
    let (mut client, debuggee, before, address) = attached(&fixture);
    let set: Vec<_> = requests(&fixture, &address)
        .into_iter()
        .filter(|(command, _)| command.starts_with("set"))
        .collect();
    send_together(&mut client, &set, FIRST);
    client.close();
    assert_eq!(client.wait_exit().code(), Some(0));
    assert_unharmed(&debuggee, &fixture, &before);
}

#[test]
fn request_after_other_signals() {
    let fixture = Fixture::of("c/spin.c");
    for signal in [Signal::SIGINT, Signal::SIGHUP] {
        let (mut client, debuggee, before, address) = attached(&fixture);
        process::send_signal(client.adapter_pid(), signal);
        // Requests may be carried out before the signal arrives: only those whose effect the end
        // takes back.
        let mut requests = harmless(&fixture, &address);
        requests.retain(|(command, _)| !["terminate", "writeMemory"].contains(command));
        let numbers = send_together(&mut client, &requests, FIRST);
        client.wait_exit();
        for number in numbers {
            assert!(answers(&client, number).len() <= 1, "{signal}");
        }
        assert_unharmed(&debuggee, &fixture, &before);
    }
}

/// Each request has one response, of any kind.
fn assert_answered(client: &DapClient, numbers: &[i64]) {
    for number in numbers {
        let answers = answers(client, *number);
        if answers.len() != 1 {
            client.fail(&format!("answers to {number}: {answers:?}"));
        }
    }
}

/// Requests that begin no other program.
fn harmless(fixture: &Fixture, address: &str) -> Vec<(&'static str, Value)> {
    let mut requests = requests(fixture, address);
    requests.retain(|(command, _)| *command != "restart");
    requests
}

#[test]
fn request_after_terminate() {
    let fixture = Fixture::of("c/spin.c");
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    std::fs::copy(&fixture.program, &program).expect("a copy");
    let program = program.canonicalize().expect("it is there");
    for _ in 0..3 {
        let mut client = DapClient::spawn();
        client.launch_program(&program, json!({}));
        client.configure();
        let mut written = vec![("terminate", Value::Null)];
        written.extend(harmless(&fixture, "0x1000"));
        written.push(("disconnect", Value::Null));
        let numbers = send_together(&mut client, &written, FIRST);
        assert_eq!(client.wait_exit().code(), Some(0));
        assert_answered(&client, &numbers);
        assert_eq!(client.count_events("process"), 1);
        process::wait_for_none_of(&program);
    }
}

#[test]
fn request_after_death_of_the_program() {
    let fixture = Fixture::of("c/spin.c");
    for _ in 0..3 {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.configure();
        let pid = client.debuggee_pid();
        process::send_signal(pid, Signal::SIGKILL);
        let mut written = harmless(&fixture, "0x1000");
        written.push(("disconnect", Value::Null));
        let numbers = send_together(&mut client, &written, FIRST);
        assert_eq!(client.wait_exit().code(), Some(0));
        assert_answered(&client, &numbers);
        assert_eq!(client.count_events("process"), 1);
    }
}

#[test]
fn request_after_disconnect_of_a_core() {
    let fixture = Fixture::of("c/crash.c");
    let folder = tempfile::tempdir().expect("a folder");
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.open_core(&core, json!({}));
    client.configure();
    let mut written = vec![("disconnect", Value::Null)];
    written.extend(requests(&fixture, "0x1000"));
    let numbers = send_together(&mut client, &written, FIRST);
    assert_eq!(client.wait_exit().code(), Some(0));
    assert_refused(&client, &numbers[1..], true);
}

#[test]
fn request_after_exit_of_the_program() {
    let fixture = Fixture::of("c/exit_code.c");
    let (mut client, _) = DapClient::run_to_end(&fixture, json!({}));
    let set = client.set_breakpoints(&fixture, &["exit"]);
    assert_eq!(set[0]["verified"], false);
    client.request_error("pause", json!({"threadId": 0}));
    client.disconnect();
}
