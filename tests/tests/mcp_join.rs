//! `stillpoint mcp --join`: an agent sees what another client's session is stopped at, and changes
//! nothing.

use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use stillpoint_tests::{Agent, DapClient, Fixture, assert_contains};

/// A session that is stopped at a line, and the path at which others may look on.
fn stopped(fixture: &Fixture, marker: &str) -> (DapClient, String) {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({}));
    client.set_breakpoints(fixture, &[marker]);
    client.configure();
    client.expect_stopped("breakpoint");
    let shown = client.request_ok(
        "evaluate",
        json!({"expression": ":join", "context": "repl"}),
    );
    let shown = shown["result"].as_str().expect("a text").to_owned();
    let path = shown.rsplit(' ').next().expect("a path").to_owned();
    assert_eq!(shown, format!("stillpoint mcp --join {path}"));
    (client, path)
}

#[test]
fn an_agent_sees_what_its_human_sees() {
    let fixture = Fixture::of("c/loop.c");
    let (mut client, path) = stopped(&fixture, "body");
    let mut agent = Agent::start_with(&["--join", &path]);
    let stack = agent.call("debug_stack", json!({}));
    assert_contains(&stack, &["#0 ", "loop.c:"]);
    assert_contains(&agent.call("debug_variables", json!({})), &["i = 0"]);
    assert_contains(
        &agent.call("debug_evaluate", json!({"expression": "i + 5"})),
        &["5"],
    );

    // It changes nothing.
    agent.fail("debug_breakpoint", json!({"action": "list"}), "LOOKS_ON");
    agent.fail("debug_launch", json!({"program": "/bin/true"}), "LOOKS_ON");
    let launch = json!({"program": fixture.program});
    agent.fail("debug_explain", launch, "LOOKS_ON");
    let resumed = agent.fail("debug_continue", json!({}), "CANNOT_CONTINUE");
    assert_contains(&resumed, &["`continue` is not for a client that looks on"]);
    agent.fail(
        "debug_evaluate",
        json!({"expression": "i = 7"}),
        "EVALUATION_FAILED",
    );
    let call = json!({"expression": "body(1, 2)"});
    agent.fail("debug_evaluate", call, "EVALUATION_FAILED");
    assert_contains(&agent.call("debug_variables", json!({})), &["i = 0"]);

    // The next stop.
    client.continue_();
    client.expect_stopped("breakpoint");
    let next = agent.call("debug_continue", json!({"action": "wait"}));
    assert_contains(&next, &["stop 2: ", "i = 1"]);

    // Others may look on, too; each leaves without an effect.
    let mut other = Agent::start_with(&["--join", &path]);
    assert_contains(&other.call("debug_variables", json!({})), &["i = 1"]);
    other.leave();
    assert_contains(
        &agent.call("debug_evaluate", json!({"expression": "i"})),
        &["1"],
    );

    client.disconnect();
    agent.fail("debug_stack", json!({}), "CANNOT_JOIN");
    assert!(!Path::new(&path).exists());
}

#[test]
fn only_looking_tools_are_listed() {
    let fixture = Fixture::of("c/loop.c");
    let (client, path) = stopped(&fixture, "body");
    let mut agent = Agent::start_with(&["--join", &path]);
    let id = agent.send("tools/list", json!({}));
    let listed = agent.answer(id)["result"]["tools"].to_string();
    assert_contains(&listed, &["debug_stack", "debug_evaluate", "debug_calls"]);
    for absent in [
        "debug_launch",
        "debug_breakpoint",
        "debug_write",
        "debug_stop",
    ] {
        assert!(!listed.contains(absent), "{absent}");
    }
    agent.leave();
    client.disconnect();
}

#[test]
fn a_socket_without_a_session_is_an_error() {
    let mut agent = Agent::start_with(&["--join", "/no/such.sock"]);
    let why = agent.fail("debug_stack", json!({}), "CANNOT_JOIN");
    assert_contains(&why, &["/no/such.sock", "`:join` in its console"]);
}

#[test]
fn an_agent_joins_the_session_that_lets_it_in() {
    let fixture = Fixture::of("c/loop.c");
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = folder.path().join("runtime");
    std::fs::create_dir(&runtime).expect("a folder");
    std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o700)).expect("ours");
    let begin = |settings| {
        let mut client = DapClient::spawn_with(|command| {
            command.env("XDG_RUNTIME_DIR", &runtime);
        });
        client.launch(&fixture, settings);
        client.set_breakpoints(&fixture, &["body"]);
        client.configure();
        client.expect_stopped("breakpoint");
        client
    };
    let mut agent = Agent::start_as(&["--join"], |command| {
        command
            .env("XDG_RUNTIME_DIR", &runtime)
            .env("TMPDIR", folder.path());
    });
    let private = begin(json!({}));
    let why = agent.fail("debug_stack", json!({}), "CANNOT_JOIN");
    assert_contains(&why, &["`:join`", "\"join\": true"]);
    let open = begin(json!({"join": true}));
    assert_contains(&agent.call("debug_variables", json!({})), &["i = 0"]);
    private.disconnect();
    assert_contains(&agent.call("debug_variables", json!({})), &["i = 0"]);
    open.disconnect();
    // The next one, as soon as there is one.
    let next = begin(json!({"join": true}));
    assert_contains(&agent.call("debug_variables", json!({})), &["i = 0"]);
    next.disconnect();
    agent.leave();
}
