//! Programs that end at inconvenient moments or interfere with debuggers; and killed adapters,
//! which must not damage the debuggee.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture};

fn stopped(fixture: &Fixture, how: &[&str], marker: &str) -> DapClient {
    DapClient::stopped_with(fixture, marker, json!({"args": how}))
}

/// A request of every kind, for a thread and a frame that there may be.
fn requests(fixture: &Fixture, thread: i64, frame: &Value) -> Vec<(&'static str, Value)> {
    let source = json!({"path": fixture.source});
    let line = fixture.line("shared");
    vec![
        ("threads", Value::Null),
        ("stackTrace", json!({"threadId": thread})),
        ("scopes", json!({"frameId": frame})),
        ("variables", json!({"variablesReference": 1})),
        ("evaluate", json!({"expression": "spun", "frameId": frame})),
        (
            "evaluate",
            json!({"expression": "shared_code(1)", "frameId": frame, "context": "repl"}),
        ),
        (
            "setVariable",
            json!({"variablesReference": 1, "name": "argc", "value": "1"}),
        ),
        (
            "setExpression",
            json!({"expression": "spun", "value": "1", "frameId": frame}),
        ),
        (
            "completions",
            json!({"text": "sp", "column": 3, "frameId": frame}),
        ),
        ("modules", Value::Null),
        ("loadedSources", Value::Null),
        ("source", json!({"source": source})),
        (
            "setBreakpoints",
            json!({"source": source, "breakpoints": [{"line": line, "condition": "number < 0"}]}),
        ),
        (
            "setFunctionBreakpoints",
            json!({"breakpoints": [{"name": "bomb"}]}),
        ),
        (
            "breakpointLocations",
            json!({"source": source, "line": line}),
        ),
        ("setExceptionBreakpoints", json!({"filters": []})),
        ("next", json!({"threadId": thread})),
        ("stepIn", json!({"threadId": thread})),
        ("stepOut", json!({"threadId": thread})),
        ("pause", json!({"threadId": thread})),
        ("continue", json!({"threadId": thread})),
    ]
}

#[test]
fn kill_during_any_request_is_reported() {
    let fixture = Fixture::of("c/hostile.c");
    let kinds = requests(&fixture, 0, &json!(0)).len();
    for kind in 0..kinds {
        let mut client = stopped(&fixture, &["crowd"], "begin");
        let (thread, pid) = (client.thread(), client.debuggee_pid());
        let frame = client.top_frame()["id"].clone();
        let (command, arguments) = requests(&fixture, thread, &frame).swap_remove(kind);
        let mut sent = vec![client.send(command, arguments.clone())];
        process::send_signal(pid, Signal::SIGKILL);
        sent.push(client.send(command, arguments));
        for sequence in sent {
            // The request has a response, of any kind.
            let _ = client.response(sequence);
        }
        client.wait_event("exited");
        client.wait_event("terminated");
        client.disconnect();
    }
}

#[test]
fn exit_during_any_request_is_reported() {
    let fixture = Fixture::of("c/hostile.c");
    for (end, code) in [("kill", 128 + 9), ("exit_group", 5), ("exec", 0)] {
        let mut client = stopped(&fixture, &["crowd", end], "begin");
        let thread = client.thread();
        let frame = client.top_frame()["id"].clone();
        client.set_breakpoints(&fixture, &[]);
        client.continue_();
        let mut ended = false;
        while !ended {
            let mut sent = Vec::new();
            for (command, arguments) in requests(&fixture, thread, &frame) {
                sent.push(client.send(command, arguments));
                sent.push(client.send("continue", json!({"threadId": thread})));
            }
            for sequence in sent {
                let _ = client.response(sequence);
            }
            ended = client.count_events("terminated") > 0;
        }
        let exited = client.wait_event("exited");
        assert_eq!(exited["exitCode"], code, "{end}");
        client.disconnect();
    }
}

#[test]
fn many_forks_do_no_harm() {
    let fixture = Fixture::of("c/hostile.c");
    let mut outputs = Vec::new();
    for follow in ["parent", "both"] {
        let mut client = DapClient::spawn();
        let settings = json!({
            "args": ["bomb"], "followFork": follow, "followForkTimeout": 0.1,
            // Of no program: all are watched, and none is ever held.
            "followForkPrograms": ["nothing"],
        });
        client.launch(&fixture, settings);
        client.set_breakpoints(&fixture, &["shared"]);
        client.configure();
        assert_eq!(client.expect_exit(), 0);
        outputs.push(client.output("stdout"));
        client.disconnect();
    }
    // 2^6 leaves give 1 each, and 2^6 - 1 inner processes.
    assert!(outputs[0].ends_with("bomb 127\n"), "{outputs:?}");
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn blocked_or_ignored_signals_hide_no_stop() {
    let fixture = Fixture::of("c/stubborn.c");
    for how in ["ignore", "block"] {
        let mut client = stopped(&fixture, &[how], "beat");
        client.next();
        client.continue_to(&fixture, "beat");
        client.set_breakpoints(&fixture, &[]);
        client.continue_();
        client.pause();
        assert!(client.function_names().contains(&"main".to_owned()));
        client.disconnect();
    }
}

#[test]
fn code_that_is_unmapped_under_a_breakpoint() {
    let fixture = Fixture::of("c/hostile.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["unmap"]}));
    client.set_breakpoints(&fixture, &["gone", "unmapped", "other", "last"]);
    client.configure();
    for marker in ["unmapped", "other", "last"] {
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, marker);
        if marker == "other" {
            // The code there has changed.
            client.set_breakpoints(&fixture, &["last"]);
        }
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("stdout");
    assert!(output.ends_with("other 7\nlast 7\n"), "{output}");
    client.disconnect();
}

#[test]
fn code_that_is_written_over_a_breakpoint() {
    let fixture = Fixture::of("c/hostile.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["overwrite"]}));
    client.set_breakpoints(&fixture, &["gone", "over", "done"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "over");
    // Taken away, the breakpoint leaves the new code alone.
    client.set_breakpoints(&fixture, &["done"]);
    client.continue_to(&fixture, "done");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("stdout");
    assert!(output.ends_with("over 7\nlast 7\n"), "{output}");
    client.disconnect();
}

#[test]
fn change_of_user_during_the_session() {
    if !nix::unistd::Uid::effective().is_root() {
        skips::skip("root");
        return;
    }
    let fixture = Fixture::of("c/hostile.c");
    let mut client = stopped(&fixture, &["uid"], "begin");
    client.set_breakpoints(&fixture, &["shared"]);
    client.continue_to(&fixture, "shared");
    client.set_breakpoints(&fixture, &["after"]);
    client.continue_to(&fixture, "after");
    assert_eq!(client.evaluate("after"), "1");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").contains("uid 65534 after 1"));
    client.disconnect();
}

#[test]
fn ptrace_traceme_of_a_traced_program_fails() {
    let fixture = Fixture::of("c/hostile.c");
    let mut client = stopped(&fixture, &["traceme"], "traceme");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("stdout");
    assert!(
        output.contains("traceme -1 Operation not permitted"),
        "{output}"
    );
    client.disconnect();
}

#[test]
fn kill_of_the_adapter_spares_attached_processes() {
    let fixture = Fixture::of("c/spin.c");
    let states = [
        "held",
        "running",
        "stopped",
        "stepped",
        "running over a breakpoint",
        "stepping",
        "stopped from outside",
    ];
    for state in states {
        let debuggee = Debuggee::start(&fixture, &[]);
        debuggee.read_line();
        let before = process::text_bytes(debuggee.pid(), &fixture.program);
        let mut client = DapClient::spawn();
        client.attach(debuggee.pid(), json!({}));
        let condition = match state {
            "running over a breakpoint" => json!({"condition": "count < 0"}),
            _ => json!({}),
        };
        client.set_breakpoints_with(&fixture, vec![("beat", condition)]);
        if state != "held" {
            client.configure();
        }
        match state {
            "held" => {}
            "running over a breakpoint" => {
                // A trap not yet handled when the adapter is killed would kill the program.
                client.wait_for_jump_patch();
                debuggee.expect_running();
            }
            "running" => {
                client.expect_stopped("breakpoint");
                client.set_breakpoints(&fixture, &[]);
                client.continue_();
            }
            _ => {
                client.expect_stopped("breakpoint");
            }
        }
        let thread = client.thread();
        match state {
            "stepped" => client.next(),
            "stepping" => {
                client.send("stepOut", json!({"threadId": thread}));
            }
            "stopped from outside" => {
                process::send_signal(debuggee.pid(), Signal::SIGSTOP);
                client.set_breakpoints_with(
                    &fixture,
                    vec![("beat", json!({"condition": "count < 0"}))],
                );
                client.continue_();
                client.wait_event_where("output", |body| {
                    body["output"]
                        .as_str()
                        .is_some_and(|it| it.contains("kill -CONT"))
                });
            }
            _ => {}
        }
        eprintln!("killed while {state}");
        process::send_signal(client.adapter_pid(), Signal::SIGKILL);
        client.wait_exit();
        if state == "stopped from outside" {
            process::wait_for_state(debuggee.pid(), 'T');
            process::send_signal(debuggee.pid(), Signal::SIGCONT);
        }
        debuggee.expect_running();
        let after = process::text_bytes(debuggee.pid(), &fixture.program);
        assert!(after == before, "{state}: the code is as it was");
    }
}
