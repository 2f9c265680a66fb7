//! Sessions end though a thread of the program that the debugger waits for does not stop.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, process};

/// Returns a session whose debugger makes a thread execute an instruction that never ends, in its place, and waits for
/// that.
fn waiting(fixture: &Fixture) -> Option<DapClient> {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_breakpoints(fixture, &["fault"]);
    client.configure();
    let event = client.wait_event_of(&["stopped", "exited"]);
    let Some(thread) = event["body"]["threadId"].as_i64() else {
        skips::skip("userfaultfd(2)");
        return None;
    };
    loop {
        let top = client.request_ok("stackTrace", json!({"threadId": thread}));
        let here = top["stackFrames"][0]["instructionPointerReference"].clone();
        let asked = json!({"memoryReference": here, "instructionCount": 1});
        let code = client.request_ok("disassemble", asked);
        let text = code["instructions"][0]["instruction"].as_str();
        if text.is_some_and(|text| text.starts_with("movz") || text.starts_with("ldrb")) {
            let set = json!({"breakpoints": [{"instructionReference": here}]});
            client.request_ok("setInstructionBreakpoints", set);
            break;
        }
        client.request_ok(
            "next",
            json!({"threadId": thread, "granularity": "instruction"}),
        );
        client.expect_stopped("step");
    }
    client.send("continue", json!({"threadId": thread}));
    Some(client)
}

#[test]
fn session_ends_while_an_instruction_does_not() {
    let fixture = Fixture::of("c/unanswered_fault.c");
    let ends: [fn(&mut DapClient); 3] = [
        |client| client.close(),
        |client| {
            client.send("disconnect", Value::Null);
        },
        |client| process::send_signal(client.adapter_pid(), Signal::SIGTERM),
    ];
    for end in ends {
        let Some(mut client) = waiting(&fixture) else {
            return;
        };
        let debuggee = client.debuggee_pid();
        end(&mut client);
        assert_eq!(client.wait_exit().code(), Some(0));
        assert!(process::ends(debuggee), "the program ends, too");
    }
}
