//! Attaching, detaching, signals, ends of every kind, other images.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use stillpoint_tests::patience;
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture};

#[test]
fn attach_look_and_detach() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["beat"]);
    client.configure();
    let event = client.wait_event("process");
    assert_eq!(event["startMethod"], "attach");
    assert_eq!(event["systemProcessId"], debuggee.pid());
    client.expect_stopped("breakpoint");
    assert_eq!(client.function_names()[..2], ["beat", "main"]);
    client.step_out();
    let patched = process::text_bytes(debuggee.pid(), &fixture.program);
    assert_ne!(patched, before, "a breakpoint is in its code");
    client.disconnect();
    debuggee.expect_running();
    let after = process::text_bytes(debuggee.pid(), &fixture.program);
    assert!(after == before, "the code is as it was");
    assert_eq!(
        process::status(debuggee.pid(), "TracerPid").as_deref(),
        Some("0")
    );
}

#[test]
fn detach_while_running() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints_with(&fixture, vec![("beat", json!({"condition": "count < 0"}))]);
    client.configure();
    debuggee.expect_running();
    client.disconnect_with(json!({"terminateDebuggee": false}));
    debuggee.expect_running();
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
}

#[test]
fn attach_and_terminate() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.configure();
    client.disconnect_with(json!({"terminateDebuggee": true}));
    assert!(process::ends(debuggee.pid()));
}

#[test]
fn attach_and_stop_at_once() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({"stopOnEntry": true}));
    client.configure();
    client.expect_stopped("entry");
    assert!(!client.stack().is_empty());
    client.disconnect();
    debuggee.expect_running();
}

#[test]
fn attach_without_stop_keeps_running() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.configure();
    debuggee.expect_running();
    client.pause();
    assert_eq!(client.count_events("stopped"), 1);
    client.disconnect();
    debuggee.expect_running();
}

#[test]
fn attach_to_many_threads() {
    let fixture = Fixture::of("c/barrier.c");
    // Stopped by us in front of the barrier, the four threads are all there.
    let mut client = DapClient::stopped_at(&fixture, "all_there");
    let pid = client.debuggee_pid();
    client.disconnect_with(json!({"terminateDebuggee": false}));
    assert!(process::ends(pid), "it runs to its end alone");
}

#[test]
fn kill_of_the_adapter_kills_a_launched_program() {
    let fixture = Fixture::of("c/spin.c");
    for stopped in [false, true] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"stopOnEntry": stopped}));
        client.configure();
        if stopped {
            client.expect_stopped("entry");
        }
        let pid = client.debuggee_pid();
        assert!(process::is_alive(pid));
        process::send_signal(client.adapter_pid(), Signal::SIGKILL);
        assert!(process::ends(pid), "{pid} is left");
    }
}

#[test]
fn kill_of_the_adapter_spares_an_attached_program() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.configure();
    // All output arrives.
    client.request_ok("threads", json!({}));
    process::send_signal(client.adapter_pid(), Signal::SIGKILL);
    client.wait_exit();
    debuggee.expect_running();
}

#[test]
fn kill_of_the_adapter_removes_breakpoints() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["beat"]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) != before);
    process::send_signal(client.adapter_pid(), Signal::SIGKILL);
    client.wait_exit();
    debuggee.expect_running();
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
}

#[test]
fn the_end_of_input_detaches() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["beat"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.close();
    client.wait_exit();
    debuggee.expect_running();
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
}

#[test]
fn launched_program_can_be_left_alive() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"stdio": [null, "/dev/null", "/dev/null"]}));
    client.configure();
    let pid = client.debuggee_pid();
    client.disconnect_with(json!({"terminateDebuggee": false}));
    assert!(process::is_alive(pid));
    process::send_signal(pid, Signal::SIGKILL);
    assert!(process::ends(pid));
}

#[test]
fn program_left_alive_can_write() {
    let fixture = Fixture::of("c/talker.c");
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("note");
    let settings = json!({"args": [note]});
    let mut client = DapClient::stopped_with(&fixture, "begin", settings);
    let pid = client.debuggee_pid();
    client.request_ok("disconnect", json!({"terminateDebuggee": false}));
    assert_eq!(client.wait_exit().code(), Some(0));
    assert!(
        client
            .output("console")
            .contains("Detached. Further output")
    );
    assert!(process::ends(pid));
    assert_eq!(fs::read_to_string(&note).expect("a note"), "said all");
}

#[test]
fn orphaned_child_can_write() {
    let fixture = Fixture::of("c/talker.c");
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("note");
    let (client, _) = DapClient::run_to_end(&fixture, json!({"args": [note, "daemon"]}));
    client.disconnect();
    let text = patience::poll(|| {
        fs::read_to_string(&note)
            .ok()
            .filter(|text| !text.is_empty())
    });
    assert_eq!(text.as_deref(), Some("said all"));
}

#[test]
fn signals_reach_their_handlers() {
    let fixture = Fixture::of("c/signals.c");
    for (argument, number) in [("usr1", 10), ("realtime", 37)] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": [argument]}));
        client.set_breakpoints(&fixture, &["handler"]);
        client.configure();
        // The default for such a signal may be to stop or not; it is delivered.
        loop {
            let event = client.wait_event_of(&["stopped", "exited"]);
            client.select_thread(event["body"]["threadId"].as_i64().unwrap_or(0));
            match event["body"]["reason"].as_str() {
                Some("breakpoint") => break,
                Some("exception") => client.continue_(),
                _ => client.fail("the handler was not reached"),
            }
        }
        client.expect_line(&fixture, "handler");
        assert_eq!(client.evaluate("signal"), number.to_string());
        let names = client.function_names();
        assert!(names.contains(&"main".to_owned()), "{names:?}");
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        let output = client.output("stdout");
        assert_eq!(output.trim_end(), format!("handled {number}"));
        client.disconnect();
    }
}

#[test]
fn fatal_signals_stop_first() {
    let fixture = Fixture::of("c/signals.c");
    for (argument, name, number) in [("abort", "SIGABRT", 6), ("segv", "SIGSEGV", 11)] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": [argument]}));
        client.configure();
        let stop = client.expect_stopped("exception");
        let description = stop["description"].as_str().unwrap_or_default();
        assert!(description.contains(name), "{stop}");
        let names = client.function_names();
        assert!(names.contains(&"main".to_owned()), "{names:?}");
        if argument == "segv" {
            client.expect_line(&fixture, "segv");
        }
        client.continue_();
        assert_eq!(client.expect_exit(), 128 + number);
        client.disconnect();
    }
}

#[test]
fn death_by_sigkill() {
    let fixture = Fixture::of("c/signals.c");
    let (client, code) = DapClient::run_to_end(&fixture, json!({"args": ["kill"]}));
    assert_eq!(code, 128 + 9);
    client.disconnect();
}

#[test]
fn call_through_null_has_a_caller() {
    let fixture = Fixture::of("c/call_null.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    client.expect_stopped("exception");
    let names = client.function_names();
    assert_eq!(names[1..3], ["through", "main"], "{names:?}");
    client.disconnect();
}

#[test]
fn uncaught_exceptions_and_panics() {
    let fixture = Fixture::of("cpp/exceptions.cpp");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["throw"]}));
    client.configure();
    client.expect_stopped("exception");
    let names = client.function_names();
    assert!(
        names.iter().any(|name| name.starts_with("main")),
        "{names:?}"
    );
    client.continue_();
    assert_eq!(client.expect_exit(), 128 + 6);
    client.disconnect();

    let fixture = Fixture::of("rust/panic.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.configure();
    client.expect_stopped("exception");
    client.continue_();
    assert_eq!(client.expect_exit(), 101);
    assert!(client.output("stderr").contains("index out of bounds"));
    client.disconnect();
}

#[test]
fn child_runs_untraced() {
    let fixture = Fixture::of("c/fork.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    // The child inherits the patched code, and would die of it.
    client.set_breakpoints(&fixture, &["shared"]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("who"), "1");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout").trim_end(), "child 7 own 2");
    client.disconnect();
}

#[test]
fn another_image_takes_over() {
    let fixture = Fixture::of("c/exec.c");
    let mut client = DapClient::stopped_at(&fixture, "first");
    client.set_breakpoints(&fixture, &["second"]);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "second");
    client.continue_();
    assert_eq!(client.expect_exit(), 3);
    client.disconnect();
}

#[test]
fn pause_and_continue() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_function_breakpoints(&["main"]);
    client.configure();
    client.expect_stopped("function breakpoint");
    client.continue_();
    for _ in 0..10 {
        client.pause();
        let names = client.function_names();
        assert!(names.contains(&"main".to_owned()), "{names:?}");
        client.continue_();
    }
    client.disconnect();
}

#[test]
fn terminal_is_requested_if_supported() {
    let fixture = Fixture::of("c/exit_code.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "x", "supportsRunInTerminalRequest": true}),
    );
    let launch = client.send(
        "launch",
        json!({"program": fixture.program, "args": ["5"], "console": "integratedTerminal"}),
    );
    let terminal = client.open_terminal();
    client.wait_event("initialized");
    client.set_breakpoints(&fixture, &["exit"]);
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launch succeeds");
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "exit");
    client.continue_();
    assert_eq!(client.expect_exit(), 5);
    client.disconnect();
    drop(terminal);
}

#[test]
fn a_terminal_that_fails_fails_the_launch() {
    let fixture = Fixture::of("c/exit_code.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "x", "supportsRunInTerminalRequest": true}),
    );
    let launch = client.send(
        "launch",
        json!({"program": fixture.program, "console": "externalTerminal"}),
    );
    client.refuse_terminal("no terminal here");
    client.send("configurationDone", Value::Null);
    let response = client.response(launch).expect_err("it fails");
    assert!(
        response.to_string().contains("no terminal here"),
        "{response}"
    );
    client.disconnect();
}
