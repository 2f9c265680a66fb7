//! The process that a client starts is not the one that traces: signals sent to it, and its end.

use nix::sys::signal::Signal;
use serde_json::json;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{DapClient, Fixture};

/// An attached session with a condition on a hot line, and the program's code before.
fn hot(client: DapClient) -> (DapClient, Debuggee, Fixture, Vec<u8>) {
    hot_with(client, "first", "i > 100000")
}

fn hot_with(
    mut client: DapClient,
    marker: &str,
    condition: &str,
) -> (DapClient, Debuggee, Fixture, Vec<u8>) {
    let fixture = Fixture::of("c/checked.c");
    let debuggee = Debuggee::start(&fixture, &[]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    client.attach(debuggee.pid(), json!({}));
    client.configure();
    let never = json!({"condition": condition});
    client.set_breakpoints_with(&fixture, vec![(marker, never)]);
    debuggee.expect_running();
    (client, debuggee, fixture, before)
}

#[test]
fn signals_reach_the_session() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let (mut client, debuggee, fixture, before) = hot(DapClient::spawn());
        process::send_signal(client.adapter_pid(), signal);
        client.wait_event("terminated");
        assert_eq!(client.wait_exit().code(), Some(0), "{signal}");
        debuggee.expect_running();
        assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
    }
}

#[test]
fn kill_of_the_process_group_spares_the_tracer() {
    // A tracer that dies costs the program its life most often in a condition with a call, and
    // not each time.
    for round in 0..8 {
        let client = DapClient::spawn_with(|command| {
            command.process_group(0);
        });
        let (mut client, debuggee, fixture, before) = hot_with(client, "beat", "slow(0) > 5");
        process::send_signal(-client.adapter_pid(), Signal::SIGKILL);
        client.wait_exit();
        debuggee.expect_running();
        let after = process::text_bytes(debuggee.pid(), &fixture.program);
        assert!(after == before, "round {round}");
    }
}

#[test]
fn front_exits_like_the_tracer() {
    let mut client = DapClient::spawn();
    client.initialize();
    let tracer = process::tracer_of(client.adapter_pid());
    process::send_signal(tracer, Signal::SIGKILL);
    assert_eq!(client.wait_exit().signal(), Some(Signal::SIGKILL as i32));

    let mut client = DapClient::spawn();
    client.write_raw(b"Content-Length: nonsense\r\n\r\n{}");
    assert_eq!(client.wait_exit().code(), Some(1));

    let mut client = DapClient::spawn();
    client.close();
    assert_eq!(client.wait_exit().code(), Some(0));
}

#[test]
fn front_killed_before_the_first_message() {
    // Whether the tracer has begun by then is for the scheduler to say.
    for _ in 0..20 {
        let mut client = DapClient::spawn();
        process::send_signal(client.adapter_pid(), Signal::SIGKILL);
        client.wait_exit();
    }
}

#[test]
fn debugger_cannot_attach_to_itself() {
    let mut client = DapClient::spawn();
    client.initialize();
    let front = client.adapter_pid();
    for pid in [front, process::tracer_of(front)] {
        let message = client.request_error("attach", json!({"pid": pid}));
        assert!(message.contains("cannot attach to itself"), "{message}");
    }
    client.disconnect();
}
