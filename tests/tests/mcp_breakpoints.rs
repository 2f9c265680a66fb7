//! `stillpoint mcp`: breakpoints and logpoints of agents.

use serde_json::json;
use std::process::Command;
use stillpoint_tests::{Agent, Compiler, Fixture, Flags, assert_contains, line_of};

#[test]
fn invalid_breakpoints_are_errors() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let refused = agent.fail(
        "debug_breakpoint",
        json!({"location": "loop.c:5000"}),
        "NO_CODE_AT_LINE",
    );
    assert_contains(&refused, &["loop.c:5000"]);
    let last = fixture.line("end");
    let near = agent.fail(
        "debug_breakpoint",
        json!({"location": format!("loop.c:{}", last + 30)}),
        "NO_CODE_AT_LINE",
    );
    assert_contains(
        &near,
        &["; valid lines: ", &format!(", {last}, {}", last + 1)],
    );
    agent.fail(
        "debug_breakpoint",
        json!({"location": "body", "condition": "i =="}),
        "BAD_CONDITION",
    );
    agent.fail(
        "debug_breakpoint",
        json!({"location": "body", "hitCondition": "often"}),
        "BAD_CONDITION",
    );
    agent.fail(
        "debug_breakpoint",
        json!({"exception": "tragedies"}),
        "NO_SUCH_FILTER",
    );
    agent.fail("debug_breakpoint", json!({}), "BAD_ARGUMENTS");
    agent.fail(
        "debug_breakpoint",
        json!({"action": "remove"}),
        "BAD_ARGUMENTS",
    );
    agent.fail(
        "debug_breakpoint",
        json!({"action": "remove", "id": 77}),
        "NO_SUCH_BREAKPOINT",
    );
    agent.fail(
        "debug_logpoint",
        json!({"location": "body", "message": "x"}),
        "BAD_ARGUMENTS",
    );
    agent.fail(
        "debug_logpoint",
        json!({"location": line_of(&fixture, "body"), "message": "{i"}),
        "BAD_MESSAGE",
    );
    agent.fail(
        "debug_continue",
        json!({"action": "run-to", "to": "loop.c:5000"}),
        "NO_CODE_AT_LINE",
    );
    agent.fail(
        "debug_continue",
        json!({"action": "run-to", "to": "no_such_function"}),
        "NO_SUCH_PLACE",
    );
    assert_eq!(
        agent.call("debug_breakpoint", json!({"action": "list"})),
        "no breakpoints"
    );

    // Valid breakpoints are set, hit and removed.
    let place = line_of(&fixture, "body_return");
    let message =
        json!({"location": place, "message": "i={i} product={product}", "hitCount": "<= 3"});
    assert_contains(
        &agent.call("debug_logpoint", message),
        &["logpoint ", "hits <= 3", "says \"i={i} product={product}\""],
    );
    let set = agent.call(
        "debug_breakpoint",
        json!({"location": "body", "hitCondition": "4"}),
    );
    assert_contains(&set, &["body, hits 4, at ", "loop.c:"]);
    let number: u32 = set
        .split([' ', ':'])
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number");
    let stop = agent.call("debug_continue", json!({}));
    assert_contains(
        &stop,
        &[
            &format!("breakpoint {number} (body)"),
            "argument i = 3",
            "i=0 product=0\n  i=1 product=10\n  i=2 product=20\n",
        ],
    );
    let console = agent.call("debug_output", json!({"stream": "console"}));
    assert!(
        console.starts_with("i=0 product=0\ni=1 product=10\ni=2 product=20\n[cursor "),
        "{console}"
    );
    agent.call(
        "debug_breakpoint",
        json!({"action": "remove", "id": number}),
    );
    let watched = agent.call("debug_breakpoint", json!({"watch": "product"}));
    assert_contains(&watched, &["watch write of product"]);
    let written = agent.call("debug_continue", json!({}));
    assert_contains(&written, &["data breakpoint", "product", "-> 30"]);
    assert_contains(
        &agent.call("debug_breakpoint", json!({"action": "remove", "id": 0})),
        &["removed 2"],
    );
    assert_contains(
        &agent.call("debug_continue", json!({})),
        &["ended: exit code 0"],
    );
    agent.leave();
}

#[test]
fn breakpoint_changes_come_with_the_next_stop() {
    let fixture = Fixture::of("c/shared_main.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let pending = agent.call("debug_breakpoint", json!({"location": "plugin_thrice"}));
    assert_contains(&pending, &["breakpoint 1: plugin_thrice; pending"]);
    let to = |agent: &mut Agent, marker: &str| {
        let place = line_of(&fixture, marker);
        agent.call("debug_continue", json!({"action": "run-to", "to": place}))
    };
    let heading = "changed breakpoints:\n";
    let before = to(&mut agent, "open");
    assert!(!before.contains(heading), "{before}");
    let bound = to(&mut agent, "opened");
    assert_contains(
        &bound,
        &[
            heading,
            "  breakpoint 1: plugin_thrice, at ",
            "shared_plugin.c:",
        ],
    );
    // Once.
    let hit = agent.call("debug_continue", json!({}));
    assert_contains(&hit, &["function breakpoint 1 (plugin_thrice)"]);
    assert!(!hit.contains(heading), "{hit}");

    // One on a local variable goes with its frame.
    let watched = agent.call("debug_breakpoint", json!({"watch": "value"}));
    assert_contains(&watched, &["breakpoint 2: watch write of value"]);
    let left = agent.call("debug_continue", json!({}));
    assert_contains(
        &left,
        &[heading, "  breakpoint 2: watch write of value; removed: "],
    );
    let list = agent.call("debug_breakpoint", json!({"action": "list"}));
    assert!(!list.contains("value"), "{list}");
    let end = agent.call("debug_continue", json!({}));
    assert_contains(
        &end,
        &[
            "ended: exit code 0",
            heading,
            "  breakpoint 1: plugin_thrice; pending",
        ],
    );
    agent.leave();
}

#[test]
fn address_breakpoint_without_debug_info() {
    let fixture = Fixture::build("c/loop.c", Flags::new(Compiler::Gcc)).expect("gcc is installed");
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("stripped");
    let strip = Command::new("strip")
        .arg("-o")
        .arg(&program)
        .arg(&fixture.program)
        .status();
    assert!(strip.expect("strip runs").success());
    let mut agent = Agent::start();
    // The reply says why the name is not found.
    let launched = agent.call(
        "debug_launch",
        json!({"program": program, "breakpoints": ["main"]}),
    );
    assert_contains(
        &launched,
        &[
            "breakpoint 1: main; pending",
            "stripped has no debug info; compile it with -g",
            "ended: exit code 0",
        ],
    );
    agent.call("debug_launch", json!({"program": program}));
    // Its library is not there yet.
    agent.call("debug_breakpoint", json!({"location": "printf"}));
    agent.call("debug_continue", json!({}));
    agent.call("debug_continue", json!({"action": "step-out"}));
    let stack = agent.call("debug_stack", json!({"addresses": true}));
    let address = stack.split_whitespace().nth(1).expect("an address");
    agent.call("debug_stop", json!({}));
    agent.call("debug_launch", json!({"program": program}));
    let set = agent.call("debug_breakpoint", json!({"location": address}));
    assert_eq!(set, format!("breakpoint 1: {address}"));
    let stop = agent.call("debug_continue", json!({}));
    assert_contains(&stop, &[&format!("breakpoint 1 ({address})")]);
    // Temporary breakpoints of `run-to` are not listed.
    agent.fail(
        "debug_continue",
        json!({"action": "run-to", "to": "nowhere"}),
        "NO_SUCH_PLACE",
    );
    let end = agent.call(
        "debug_continue",
        json!({"action": "run-to", "to": "printf"}),
    );
    assert_contains(&end, &["ended: exit code 0"]);
    assert_eq!(
        agent.call("debug_breakpoint", json!({"action": "list"})),
        set
    );
    agent.leave();
}

#[test]
fn code_of_an_error_names_what_is_invalid() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let exception = json!({"exception": "signals", "condition": "$exception =="});
    agent.fail("debug_breakpoint", exception, "BAD_CONDITION");
    let location = line_of(&fixture, "body");
    let logpoint = json!({"location": location, "message": "{i}", "condition": "i =="});
    agent.fail("debug_logpoint", logpoint, "BAD_CONDITION");
    // The hit condition is valid, the name is not.
    let pattern = json!({"location": "/(/", "hitCondition": "3"});
    agent.fail("debug_breakpoint", pattern, "CANNOT_SET");
    agent.leave();
}
