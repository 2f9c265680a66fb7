//! Ending a program in good order, and starting it again.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::time::Instant;
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture};

/// Launches it, and waits for its first line: it has arranged its signals.
fn running(fixture: &Fixture, how: &str, settings: Value) -> DapClient {
    let mut client = DapClient::spawn();
    let mut all = json!({"args": [how]});
    for (key, value) in settings.as_object().expect("an object") {
        all[key] = value.clone();
    }
    client.launch(fixture, all);
    client.configure();
    client.wait_event_where("output", |body| body["category"] == "stdout");
    client
}

#[test]
fn sigterm_handler_runs_to_its_end() {
    let fixture = Fixture::of("c/stubborn.c");
    let mut client = running(&fixture, "handle", json!({}));
    client.request_ok("terminate", Value::Null);
    assert_eq!(client.expect_exit(), 3);
    client.disconnect();
}

#[test]
fn terminate_kills_after_the_timeout() {
    let fixture = Fixture::of("c/stubborn.c");
    for how in ["ignore", "block"] {
        let mut client = running(&fixture, how, json!({"terminateTimeout": 0.1}));
        let began = Instant::now();
        client.request_ok("terminate", Value::Null);
        assert_eq!(client.expect_exit(), 128 + 9, "{how}");
        assert!(began.elapsed().as_millis() >= 100, "{how}");
        assert!(client.output("important").contains("terminateTimeout"));
        client.disconnect();
    }
}

#[test]
fn stop_in_the_sigterm_handler_suspends_the_timeout() {
    let fixture = Fixture::of("c/stubborn.c");
    let mut client = running(&fixture, "handle", json!({"terminateTimeout": 0.1}));
    client.set_breakpoints(&fixture, &["handler"]);
    client.request_ok("terminate", Value::Null);
    client.expect_stopped("breakpoint");
    // Longer than its limit: other programs end meanwhile.
    let other = Fixture::of("c/spin.c");
    let waited = Debuggee::start(&other, &[]);
    for _ in 0..100 {
        waited.read_line();
    }
    client.expect_line(&fixture, "handler");
    client.continue_();
    assert_eq!(client.expect_exit(), 3);
    client.disconnect();
}

#[test]
fn second_terminate_kills_at_once() {
    let fixture = Fixture::of("c/stubborn.c");
    let mut client = running(&fixture, "ignore", json!({"terminateTimeout": 3600}));
    client.request_ok("terminate", Value::Null);
    client.request_ok("terminate", Value::Null);
    assert_eq!(client.expect_exit(), 128 + 9);
    client.disconnect();
}

#[test]
fn stopped_program_receives_sigterm() {
    let fixture = Fixture::of("c/stubborn.c");
    let mut client = running(&fixture, "handle", json!({"terminateTimeout": 3600}));
    process::send_signal(client.debuggee_pid(), Signal::SIGSTOP);
    client.wait_event_where("output", |body| {
        body["output"]
            .as_str()
            .is_some_and(|it| it.contains("SIGCONT"))
    });
    client.request_ok("terminate", Value::Null);
    assert_eq!(client.expect_exit(), 3);
    client.disconnect();
}

#[test]
fn again_with_its_breakpoints() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    assert_eq!(client.initialize()["supportsRestartRequest"], true);
    drop(client);
    let mut client = DapClient::stopped_at(&fixture, "body");
    let first = client.debuggee_pid();
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.locals()["i"], "1");
    client.request_ok("restart", json!({}));
    assert!(process::ends(first));
    // Else editors keep the reason of the stop.
    let continued = client.wait_event("continued");
    assert_eq!(continued["allThreadsContinued"], true);
    client.wait_event_where("thread", |body| {
        body["reason"] == "exited" && body["threadId"] == first
    });
    let second = client.wait_event_where("process", |body| body["systemProcessId"] != first);
    client.wait_event_where("thread", |body| {
        body["reason"] == "started" && body["threadId"] == second["systemProcessId"]
    });
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    assert_eq!(client.locals()["i"], "0");
    assert_eq!(client.count_events("terminated"), 0);
    assert_eq!(client.count_events("initialized"), 1);
    client.disconnect();
}

#[test]
fn again_with_other_arguments_while_it_runs() {
    let fixture = Fixture::of("c/stubborn.c");
    let mut client = running(&fixture, "ignore", json!({}));
    for how in ["block", "handle"] {
        let settings = json!({"program": fixture.program, "args": [how], "terminateTimeout": 60});
        client.request_ok("restart", json!({"arguments": settings}));
        client.wait_event_where("output", |body| {
            body["output"]
                .as_str()
                .is_some_and(|it| it.starts_with(how))
        });
    }
    client.request_ok("terminate", Value::Null);
    assert_eq!(client.expect_exit(), 3);
    client.disconnect();
}

#[test]
fn restart_resets_hit_counts() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints_with(&fixture, vec![("body", json!({"hitCondition": "3"}))]);
    client.configure();
    for _ in 0..2 {
        client.expect_stopped("breakpoint");
        assert_eq!(client.locals()["i"], "2");
        client.request_ok("restart", json!({}));
    }
    client.expect_stopped("breakpoint");
    client.disconnect();
}

#[test]
fn again_after_its_end() {
    let fixture = Fixture::of("c/exit_code.c");
    let (mut client, _) = DapClient::run_to_end(&fixture, json!({"args": ["4"]}));
    client.request_ok("restart", json!({}));
    assert_eq!(client.expect_exit(), 4);
    client.disconnect();
}

#[test]
fn invalid_new_settings_keep_the_program() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "body");
    let message = client.request_error("restart", json!({"arguments": {"args": 5}}));
    assert!(message.contains("args"), "{message}");
    client.expect_line(&fixture, "body");
    for (key, value) in [
        ("stepFilters", json!(["x".repeat(1 << 20)])),
        ("signals", json!({"SIGNONE": {"stop": true}})),
        ("followFork", json!("sideways")),
    ] {
        let mut settings = json!({"program": fixture.program});
        settings[key] = value;
        let message = client.request_error("restart", json!({"arguments": settings}));
        assert!(message.contains(key), "{key}: {message}");
        client.expect_line(&fixture, "body");
    }
    let settings = json!({"program": fixture.program.with_file_name("missing")});
    let message = client.request_error("restart", json!({"arguments": settings}));
    assert!(message.contains("missing"), "{message}");
    client.wait_event("terminated");
    client.disconnect();
}

#[test]
fn attached_again() {
    let fixture = Fixture::of("c/spin.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["beat"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.request_ok("restart", json!({}));
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "beat");
    client.disconnect();
    debuggee.expect_running();
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
}

#[test]
fn again_in_a_terminal() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::spawn();
    client.request_ok(
        "initialize",
        json!({"adapterID": "x", "supportsRunInTerminalRequest": true}),
    );
    let settings = json!({"program": fixture.program, "console": "integratedTerminal"});
    let launch = client.send("launch", settings);
    let first = client.open_terminal();
    client.wait_event("initialized");
    client.set_breakpoints(&fixture, &["body"]);
    client.request_ok("configurationDone", Value::Null);
    client.response(launch).expect("launch succeeds");
    client.expect_stopped("breakpoint");
    let restart = client.send("restart", json!({}));
    let second = client.open_terminal();
    client.response(restart).expect("restart succeeds");
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "body");
    client.disconnect();
    drop((first, second));
}
