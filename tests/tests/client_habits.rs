//! What editors need that no capability of theirs tells.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// Launches a program as the client with this `clientID`, and runs it to a named line.
fn stopped(id: &'static str, fixture: &Fixture, marker: &str) -> DapClient {
    let mut client = DapClient::spawn_as(id);
    client.launch(fixture, json!({}));
    client.set_breakpoints(fixture, &[marker]);
    client.configure();
    client.expect_stopped("breakpoint");
    client
}

#[test]
fn restart_of_vs_code_succeeds_and_the_program_stays() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = stopped("vscode", &fixture, "body");
    client.request_ok("restart", json!({"arguments": {"args": 5}}));
    let why = client.output("important");
    assert!(
        why.contains("The program was not restarted: ") && why.contains("args"),
        "{why}"
    );
    client.expect_line(&fixture, "body");
    client.request_ok(
        "restart",
        json!({"arguments": {"program": fixture.program}}),
    );
    client.expect_stopped("breakpoint");
    client.disconnect();
}

#[test]
fn restart_of_vs_code_without_a_program_ends_the_session() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = stopped("vscode", &fixture, "body");
    let settings = json!({"program": fixture.program.with_file_name("missing")});
    client.request_ok("restart", json!({"arguments": settings}));
    client.wait_event("terminated");
    assert!(client.output("important").contains("missing"));
    client.disconnect();
}

#[test]
fn steps_of_vs_code_say_that_all_threads_run() {
    let fixture = Fixture::of("c/loop.c");
    for (id, count) in [("vscode", 1), ("neovim", 0)] {
        let mut client = stopped(id, &fixture, "body");
        let before = client.count_events("continued");
        let thread = client.thread();
        client.request_ok("next", json!({"threadId": thread}));
        client.expect_stopped("step");
        assert_eq!(client.count_events("continued") - before, count, "{id}");
        client.continue_();
        client.expect_stopped("breakpoint");
        assert_eq!(client.count_events("continued") - before, count, "{id}");
        client.disconnect();
    }
}

#[test]
fn zed_steps_all_threads() {
    for (id, expected) in [("zed", false), ("vscode", true)] {
        let mut client = DapClient::spawn_as(id);
        let capabilities = client.initialize();
        let single = &capabilities["supportsSingleThreadExecutionRequests"];
        assert_eq!(*single == true, expected, "{id}: {capabilities}");
        client.disconnect();
    }
}

#[test]
fn children_of_nvim_dap_have_the_type_of_their_parent() {
    let fixture = Fixture::of("c/children.c");
    for (id, expected) in [("neovim", json!("stillpoint")), ("vscode", Value::Null)] {
        let mut client = DapClient::spawn_as(id);
        let settings = json!({"args": ["fork"], "followFork": "both", "type": "stillpoint", "followForkTimeout": 0.1});
        client.launch(&fixture, settings);
        client.configure();
        let arguments = client.ignore_session();
        let kind = &arguments["configuration"]["type"];
        assert_eq!(*kind, expected, "{id}: {arguments}");
        client.disconnect();
    }
}
