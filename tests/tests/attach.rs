//! Attaching: by process id and by name, to a process started later, to processes in every state.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture};
use tempfile::TempDir;

/// Builds a copy of the program that runs until it is killed, under a unique name.
fn named(name: &str) -> (TempDir, PathBuf, Fixture) {
    let fixture = Fixture::of("c/spin.c");
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join(name);
    fs::copy(&fixture.program, &program).expect("copied with its rights");
    let program = program.canonicalize().expect("it is there");
    (folder, program, fixture)
}

fn attached_pid(client: &mut DapClient) -> Value {
    client.wait_event("process")["systemProcessId"].clone()
}

#[test]
fn by_name_and_by_path() {
    let (_folder, program, fixture) = named("by-name-and-path");
    let debuggee = Debuggee::start_program(&program, &[]);
    debuggee.read_line();
    for settings in [
        json!({"program": "by-name-and-path"}),
        json!({"processName": "by-name-and-path"}),
        json!({"program": program}),
    ] {
        let mut client = DapClient::spawn();
        client.start("attach", settings);
        client.set_breakpoints(&fixture, &["beat"]);
        client.configure();
        assert_eq!(attached_pid(&mut client), debuggee.pid());
        client.expect_stopped("breakpoint");
        client.disconnect();
        debuggee.expect_running();
    }
}

#[test]
fn attach_by_name_needs_exactly_one_process() {
    let (_folder, program, _) = named("one-of-several");
    let mut client = DapClient::spawn();
    client.initialize();
    let message = client.request_error("attach", json!({"program": "one-of-several"}));
    assert!(message.contains("waitFor"), "{message}");
    let debuggees = [(); 2].map(|()| Debuggee::start_program(&program, &[]));
    for debuggee in &debuggees {
        debuggee.read_line();
    }
    let message = client.request_error("attach", json!({"program": "one-of-several"}));
    for debuggee in &debuggees {
        assert!(message.contains(&debuggee.pid().to_string()), "{message}");
    }
    client.disconnect();
}

#[test]
fn attach_waits_for_a_process_to_start() {
    let (_folder, program, fixture) = named("started-later-and-long");
    // What runs already is not waited for.
    let earlier = Debuggee::start_program(&program, &[]);
    earlier.read_line();
    let mut client = DapClient::spawn();
    client.initialize();
    let settings = json!({"program": "started-later-and-long", "waitFor": true});
    let attach = client.send("attach", settings);
    client.wait_event_where("output", |body| {
        body["output"]
            .as_str()
            .is_some_and(|it| it.contains("Waiting"))
    });
    // Everything else is answered meanwhile.
    assert_eq!(
        client.request_ok("threads", Value::Null)["threads"],
        json!([])
    );
    client.set_breakpoints(&fixture, &["beat"]);
    let later = Debuggee::start_program(&program, &[]);
    client.wait_event("initialized");
    client.request_ok("configurationDone", Value::Null);
    client.response(attach).expect("attached");
    assert_eq!(attached_pid(&mut client), later.pid());
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "beat");
    client.disconnect();
    later.expect_running();
    earlier.expect_running();
}

#[test]
fn waiting_for_a_process_can_be_cancelled() {
    let (_folder, program, _) = named("never-started");
    let mut client = DapClient::spawn();
    client.initialize();
    let settings = json!({"program": program, "waitFor": true});
    let attach = client.send("attach", settings.clone());
    client.request_ok("cancel", json!({"requestId": attach}));
    let response = client.response(attach).expect_err("cancelled");
    assert!(response.to_string().contains("cancelled"), "{response}");
    // The session is free for another one.
    let attach = client.send("attach", settings);
    client.send("disconnect", Value::Null);
    client.response(attach).expect_err("given up");
    assert_eq!(client.wait_exit().code(), Some(0));
}

#[test]
fn a_stopped_process_stays_stopped() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    process::send_signal(debuggee.pid(), Signal::SIGSTOP);
    process::wait_for_state(debuggee.pid(), 'T');
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({"stopOnEntry": true}));
    client.set_breakpoints(&fixture, &["beat"]);
    client.configure();
    client.expect_stopped("entry");
    assert!(client.function_names().contains(&"main".to_owned()));
    client.continue_();
    let of = |word: &'static str| {
        move |body: &Value| body["output"].as_str().is_some_and(|it| it.contains(word))
    };
    client.wait_event_where("output", of("kill -CONT"));
    client.pause();
    assert!(client.function_names().contains(&"main".to_owned()));
    client.continue_();
    client.disconnect();
    process::wait_for_state(debuggee.pid(), 'T');
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
    process::send_signal(debuggee.pid(), Signal::SIGCONT);
    debuggee.expect_running();
}

#[test]
fn stopped_and_continued_from_outside() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.configure();
    let of = |word: &'static str| {
        move |body: &Value| body["output"].as_str().is_some_and(|it| it.contains(word))
    };
    process::send_signal(debuggee.pid(), Signal::SIGSTOP);
    client.wait_event_where("output", of("kill -CONT"));
    // A pause by the debugger in between does not resume it.
    client.pause();
    client.continue_();
    process::send_signal(debuggee.pid(), Signal::SIGCONT);
    client.wait_event_where("output", of("was continued by SIGCONT"));
    debuggee.expect_running();
    // The other order: stopped while it is attached.
    client.pause();
    process::send_signal(debuggee.pid(), Signal::SIGSTOP);
    client.continue_();
    client.wait_event_where("output", of("kill -CONT"));
    process::send_signal(debuggee.pid(), Signal::SIGCONT);
    debuggee.expect_running();
    client.disconnect();
    debuggee.expect_running();
}

#[test]
fn a_step_of_a_stopped_process_ends_when_it_is_continued() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["spin"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &[]);
    process::send_signal(debuggee.pid(), Signal::SIGSTOP);
    let thread = client.thread();
    client.request_ok("next", json!({"threadId": thread}));
    client.wait_event_where("output", |body| {
        body["output"]
            .as_str()
            .is_some_and(|it| it.contains("kill -CONT"))
    });
    process::send_signal(debuggee.pid(), Signal::SIGCONT);
    client.expect_stopped("step");
    assert_eq!(client.top_line(), fixture.line("spin") + 1);
    client.disconnect();
    debuggee.expect_running();
}

#[test]
fn attach_to_zombie_names_its_parent() {
    let mut child = Command::new("/bin/true")
        .stdin(Stdio::null())
        .spawn()
        .expect("it starts");
    let pid = child.id() as i32;
    process::wait_for_state(pid, 'Z');
    let mut client = DapClient::spawn();
    client.initialize();
    let message = client.request_error("attach", json!({"pid": pid}));
    let parent = std::process::id().to_string();
    assert!(
        message.contains("zombie") && message.contains(&parent),
        "{message}"
    );
    client.disconnect();
    child.wait().expect("collected");
}

#[test]
fn a_sandbox_that_forbids_tracing_is_named() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let mut client = DapClient::spawn_with(process::forbid_ptrace);
    client.initialize();
    for (command, arguments) in [
        ("launch", json!({"program": fixture.program})),
        ("attach", json!({"pid": debuggee.pid()})),
    ] {
        let message = client.request_error(command, arguments);
        assert!(
            message.contains("seccomp") && message.contains("SYS_PTRACE"),
            "{command}: {message}"
        );
    }
    client.disconnect();
    debuggee.expect_running();
}
