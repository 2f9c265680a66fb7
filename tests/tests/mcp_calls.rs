//! `stillpoint mcp`: the history of calls.

use serde_json::json;
use stillpoint_tests::{Agent, Fixture, assert_contains};

/// Starts the program with recorded calls, and runs it to its end.
fn recorded(fixture: &Fixture) -> Agent {
    let mut agent = Agent::start();
    let launch = json!({"program": fixture.program, "args": ["1"], "env": {"ROUNDS": "40"}});
    agent.call("debug_launch", launch);
    let before = agent.call("debug_calls", json!({"functions": "?"}));
    assert_contains(&before, &["tracepoint ", "no call has returned yet"]);
    assert_contains(&agent.call("debug_continue", json!({})), &["ended: "]);
    agent
}

/// The program's own counts of the calls whose path ends with a function.
fn counted(agent: &mut Agent, name: &str) -> u64 {
    let output = agent.call("debug_output", json!({"since": 0, "budget": 100_000}));
    let lines = output
        .lines()
        .filter(|line| line.trim_end().ends_with(name));
    let counts = lines.filter_map(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

#[test]
fn history_is_queried() {
    let fixture = Fixture::of("c/call_paths.c");
    let mut agent = recorded(&fixture);
    let groups = agent.call("debug_calls", json!({"groupBy": ["function"]}));
    for name in ["a", "b", "c"] {
        let count = counted(&mut agent, name);
        assert!(count > 5);
        let row = format!("{count:>9}  function = {name}\n");
        assert_contains(&groups, &[&row]);
    }
    // `b` returns the sum of its arguments, 36, and what it has called.
    let wanted = json!({"where": "function = b and returned > 36", "limit": 5});
    let calls = agent.call("debug_calls", wanted);
    let lines: Vec<&str> = calls.lines().filter(|line| line.contains('#')).collect();
    assert_eq!(lines.len(), 5, "{calls}");
    for line in lines {
        assert_contains(line, &["b(state = 0x", ", x1 = 1, x2 = 2", ", x8 = 8) → "]);
    }
    // A call's callees are below it.
    let nested = agent.call("debug_calls", json!({"where": "depth < 2"}));
    assert!(
        nested
            .lines()
            .any(|line| line.contains("   a(") || line.contains("   c(")),
        "{nested}"
    );
    let none = agent.call("debug_calls", json!({"since": 1_000_000}));
    assert_contains(&none, &[" calls recorded, 0 match\n"]);
    let small = agent.call("debug_calls", json!({"budget": 400}));
    assert!(small.len() <= 400, "{small}");
    let wrong = agent.fail("debug_calls", json!({"where": "n >"}), "BAD_ARGUMENTS");
    assert_contains(&wrong, &["`n >` is no condition"]);
    for unknown in [
        json!({"where": "bogus > 3"}),
        json!({"groupBy": ["function", "bogus"]}),
    ] {
        let wrong = agent.fail("debug_calls", unknown, "BAD_ARGUMENTS");
        assert_contains(
            &wrong,
            &["a field `bogus`; there are function, ", ", x1, x2, "],
        );
    }
    agent.fail(
        "debug_calls",
        json!({"functions": "nowhere*"}),
        "NO_SUCH_PLACE",
    );
}

#[test]
fn the_same_program_has_the_same_history() {
    let fixture = Fixture::of("c/call_paths.c");
    let texts = [(); 2].map(|()| recorded(&fixture).call("debug_calls", json!({"limit": 30})));
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn without_recorded_calls_the_remedy_is_named() {
    let fixture = Fixture::of("c/call_paths.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let none = agent.fail("debug_calls", json!({}), "NO_CALLS");
    assert_contains(&none, &["set `functions`"]);
}

#[test]
fn program_is_launched_and_its_calls_queried_in_one_call() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    let wanted = json!({"program": fixture.program, "where": "returned = 30"});
    let text = agent.call("debug_calls", wanted);
    assert_contains(
        &text,
        &[
            "ended: exit code 0\n6 calls recorded, 1 match",
            " body(i = 3, scale = 10) → 30\n",
        ],
    );
    let crash = Fixture::of("c/own_abort.c");
    let wanted = json!({"program": crash.program, "functions": "close_door"});
    let text = agent.call("debug_calls", wanted);
    assert_contains(
        &text,
        &["stopped; debug_explain says why\n1 calls recorded"],
    );
    let wrong = json!({"program": fixture.program, "where": "n >"});
    agent.fail("debug_calls", wrong, "BAD_ARGUMENTS");
}
