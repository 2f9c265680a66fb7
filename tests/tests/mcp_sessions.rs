//! `stillpoint mcp`: sessions from their begin to their end, and wrong calls.

use serde_json::json;
use stillpoint_tests::patience::Patience;
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{Agent, Fixture, assert_contains, line_of, process};

#[test]
fn running_program_can_be_awaited_paused_and_read() {
    let fixture = Fixture::of("c/spin.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let running = agent.call("debug_continue", json!({"timeout": 0.1}));
    assert_contains(
        &running,
        &[
            "running (no stop within 0.1 seconds)",
            "\"action\": \"wait\"",
            "\"action\": \"pause\"",
        ],
    );
    agent.fail("debug_continue", json!({}), "NOT_STOPPED");
    agent.fail("debug_stack", json!({}), "NOT_STOPPED");
    assert_contains(
        &agent.call("debug_continue", json!({"action": "wait", "timeout": 0})),
        &["running"],
    );

    // Output is read on from a cursor while it runs.
    let cursor = |text: &str| {
        let last = text.lines().last().expect("a line");
        let digits: String = last.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("a cursor")
    };
    let mut patience = Patience::new();
    let first = loop {
        let first = agent.call("debug_output", json!({"since": 0, "budget": 200}));
        if first.contains("1\n2\n3\n") {
            break first;
        }
        assert!(patience.is_left(), "{first}");
    };
    let second = agent.call("debug_output", json!({"since": cursor(&first)}));
    assert!(cursor(&second) >= cursor(&first), "{first}{second}");

    // One call waits, another one pauses; both report the stop.
    let waiting = agent.begin("debug_continue", json!({"action": "wait"}));
    let paused = agent.call("debug_continue", json!({"action": "pause"}));
    assert_contains(&paused, &["stop 1: pause", "variables:\n"]);
    let (failed, text) = agent.finish(waiting);
    assert!(!failed);
    assert_contains(&text, &["stop 1: pause"]);

    // A breakpoint set while the program runs is reported to the waiting call.
    agent.call("debug_continue", json!({"timeout": 0}));
    agent.call(
        "debug_breakpoint",
        json!({"location": line_of(&fixture, "beat")}),
    );
    assert_contains(
        &agent.call("debug_continue", json!({"action": "wait"})),
        &["stop 2: breakpoint 1", "argument count = "],
    );
    agent.call("debug_breakpoint", json!({"action": "remove", "id": 0}));

    // Cancelling a waiting call leaves the program as it is, and the session usable.
    let id = agent.begin("debug_continue", json!({"timeout": 600}));
    let look = json!({"action": "wait", "timeout": 0});
    while !agent
        .call("debug_continue", look.clone())
        .starts_with("running")
    {}
    agent.notify(
        "notifications/cancelled",
        json!({"requestId": id, "reason": "enough"}),
    );
    assert_contains(
        &agent.call("debug_continue", json!({"action": "pause"})),
        &["stop 3: pause"],
    );

    let debuggee = agent.debuggee();
    agent.leave();
    assert!(process::ends(debuggee));
}

#[test]
fn session_ends_where_another_program_is_started() {
    let fixture = Fixture::of("c/exit_code.c");
    let mut agent = Agent::start();
    agent.fail("debug_continue", json!({}), "NO_SESSION");
    agent.fail("debug_stop", json!({}), "NO_SESSION");
    for code in ["3", "4"] {
        let launch = json!({"program": fixture.program, "args": [code]});
        agent.call("debug_launch", launch.clone());
        let former = agent.debuggee();
        agent.call("debug_launch", launch);
        assert!(process::ends(former));
        assert_eq!(
            agent.call("debug_continue", json!({})),
            format!("ended: exit code {code}\n")
        );
    }
    // An earlier version needed it.
    let launch = json!({"program": fixture.program, "replace": true});
    agent.call("debug_launch", launch);
    let missing = agent.fail(
        "debug_launch",
        json!({"program": "/no/such/program"}),
        "START_FAILED",
    );
    assert_contains(&missing, &["/no/such/program"]);
    agent.fail(
        "debug_launch",
        json!({"program": fixture.program, "breakpoints": ["exit_code.c:9999"]}),
        "NO_CODE_AT_LINE",
    );
    agent.fail("debug_stop", json!({}), "NO_SESSION");
    agent.fail("debug_attach", json!({}), "BAD_ARGUMENTS");
    agent.fail("debug_attach", json!({"pid": 0x3fff_ffff}), "START_FAILED");

    agent.call(
        "debug_launch",
        json!({"program": fixture.program, "breakpoints": ["main"]}),
    );
    let debuggee = agent.debuggee();
    agent.call("debug_stop", json!({}));
    assert!(process::ends(debuggee));
    agent.leave();
}

#[test]
fn attached_process_runs_after_detach() {
    let fixture = Fixture::of("c/spin.c");
    let spinning = Debuggee::start(&fixture, &[]);
    let pid = spinning.pid();
    let mut agent = Agent::start();
    let stop = agent.call("debug_attach", json!({"pid": pid}));
    assert_contains(&stop, &["stop 1: entry", "variables:\n"]);
    assert_contains(
        &agent.call("debug_evaluate", json!({"expression": "1 + 1"})),
        &["= 2"],
    );
    agent.call("debug_stop", json!({}));
    spinning.expect_running();
    let again = agent.call("debug_attach", json!({"pid": pid}));
    assert_contains(&again, &["stop 1: entry"]);
    agent.leave();
    spinning.expect_running();
}

#[test]
fn kill_of_the_server_kills_the_program() {
    let fixture = Fixture::of("c/spin.c");
    let (agent, _) = Agent::at(&fixture, "beat");
    let debuggee = agent.debuggee();
    agent.kill();
    assert!(process::ends(debuggee));
}

#[test]
fn invalid_calls_get_errors() {
    let mut agent = Agent::start();
    let wrong = agent.fail(
        "debug_continue",
        json!({"timeout": "soon"}),
        "BAD_ARGUMENTS",
    );
    assert_contains(&wrong, &["`timeout`", "expected f64"]);
    let unknown = agent.fail(
        "debug_launch",
        json!({"program": "/bin/true", "arguments": []}),
        "BAD_ARGUMENTS",
    );
    assert_contains(&unknown, &["unknown field `arguments`", "`args`"]);
    agent.fail("debug_launch", json!({}), "BAD_ARGUMENTS");
    agent.fail(
        "debug_launch",
        json!({"program": "/bin/true", "settings": {"nonStop": true}}),
        "BAD_ARGUMENTS",
    );
    let id = agent.begin("debug_breakpoints", json!({}));
    let answer = agent.answer(id);
    assert_contains(
        answer["error"]["message"].as_str().expect("an error"),
        &["did you mean `debug_breakpoint`"],
    );
    agent.write("this is no JSON");
    agent.fail("debug_stop", json!({}), "NO_SESSION");
    agent.leave();
}

#[test]
fn all_tools_start_programs_in_the_same_way() {
    let fixture = Fixture::of("c/started.c");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("in"), "a line\n").expect("written");
    let mut agent = Agent::start();
    let starts = [
        ("debug_launch", json!({"breakpoints": []})),
        ("debug_explain", json!({})),
        ("debug_trace_call", json!({"function": "main", "hit": 2})),
        ("debug_calls", json!({"functions": "main"})),
    ];
    for (tool, mut arguments) in starts {
        let out = path(tool);
        arguments["program"] = json!(fixture.program);
        arguments["args"] = json!(["world"]);
        arguments["cwd"] = json!(folder.path());
        arguments["env"] = json!({"GREETING": "hello"});
        arguments["stdin"] = json!(path("in"));
        arguments["stdout"] = json!(out);
        agent.call(tool, arguments);
        let written = std::fs::read_to_string(&out).unwrap_or_default();
        let folder = folder.path().canonicalize().expect("a path");
        let expected = format!("{}\nhello world\nread a line\n", folder.display());
        assert_eq!(written, expected, "{tool}");
    }
    for (tool, arguments) in [
        ("debug_explain", json!({"cwd": "/"})),
        ("debug_trace_call", json!({"function": "f", "record": true})),
        ("debug_calls", json!({"stdin": "/dev/null"})),
    ] {
        let text = agent.fail(tool, arguments, "BAD_ARGUMENTS");
        assert_contains(&text, &["belongs to `program`, which is missing"]);
    }
}
