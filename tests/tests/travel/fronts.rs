//! Recorded programs on the command line, and for agents.

use serde_json::{Value, json};
use stillpoint_tests::{Agent, Fixture, assert_contains, command, line_of};

#[test]
fn run_prints_what_was_recorded() {
    let fixture = Fixture::of("c/travel.c");
    let place = line_of(&fixture, "done");
    let run = |more: &[&str]| {
        let mut run = command();
        run.args(["run", "--record", "--break", &place, "--print", "result"]);
        let done = run.args(more).arg(&fixture.program).output();
        let done = done.expect("it runs");
        assert!(done.status.success(), "{done:?}");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (text(done.stdout), text(done.stderr))
    };
    let (stdout, stderr) = run(&[]);
    assert_contains(&stdout, &["result = 2220", "done 2220\n"]);
    assert!(!stdout.contains("Exiting"), "{stdout}");
    assert!(stderr.starts_with("stillpoint: recorded "), "{stderr}");
    assert!(
        stderr.contains("events (system calls and signals, "),
        "{stderr}"
    );
    let (stdout, _) = run(&["--json"]);
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let recorded = lines.iter().find(|line| line["event"] == "recorded");
    let recording = &recorded.expect("the recording")["recording"];
    assert!(
        recording["events"].as_u64().is_some_and(|it| it > 10),
        "{recording}"
    );
}

/// Starts a recorded program, and returns the reply of its first stop.
fn launch(fixture: &Fixture, agent: &mut Agent, marker: &str) -> String {
    let program = fixture.program.to_str().expect("UTF-8");
    let places = [line_of(fixture, marker)];
    let launch = json!({"program": program, "record": true, "breakpoints": places});
    agent.call("debug_launch", launch)
}

#[test]
fn agents_ask_in_one_call_for_the_last_write() {
    let fixture = Fixture::of("c/travel.c");
    let mut agent = Agent::start();
    launch(&fixture, &mut agent, "print");
    let written = json!({"action": "reverse-continue", "written": "total"});
    let stop = agent.call("debug_continue", written);
    assert_contains(
        &stop,
        &[
            "data breakpoint",
            "in the past: total: 3 -> 6\n",
            "value = 3",
            "#1 fill",
        ],
    );
    // The watch was for this call only.
    let list = agent.call("debug_breakpoint", json!({"action": "list"}));
    assert!(!list.contains("watch"), "{list}");
    agent.leave();
}

#[test]
fn agents_go_back_and_return() {
    let fixture = Fixture::of("c/travel.c");
    let mut agent = Agent::start();
    launch(&fixture, &mut agent, "print");
    let back =
        |agent: &mut Agent, action: &str| agent.call("debug_continue", json!({"action": action}));
    let state = agent.call("debug_past", json!({}));
    assert_contains(
        &state,
        &["recorded ", "in the present\n", "reverse-step-over"],
    );
    let place = line_of(&fixture, "noted");
    let to = json!({"action": "reverse-continue", "to": place});
    let stop = agent.call("debug_continue", to);
    assert_contains(&stop, &["in the past\n", &place, "value = 3"]);
    let stop = back(&mut agent, "reverse-step-out");
    assert_contains(&stop, &["step: in the past\n", &line_of(&fixture, "call")]);
    let state = agent.call("debug_past", json!({}));
    assert_contains(&state, &["in the past, after "]);
    let stop = agent.call("debug_past", json!({"present": true}));
    assert_contains(&stop, &["Back in the present", &line_of(&fixture, "print")]);
    let stop = back(&mut agent, "reverse-step-over");
    assert_contains(&stop, &["step: in the past\n", &line_of(&fixture, "fill")]);
    agent.leave();
}

#[test]
fn agents_learn_that_a_program_exits_and_go_back() {
    let fixture = Fixture::of("c/travel.c");
    let mut agent = Agent::start();
    launch(&fixture, &mut agent, "done");
    let stop = agent.call("debug_continue", json!({}));
    assert_contains(
        &stop,
        &["exit: Exiting with code 0: step back, or continue"],
    );
    let stop = agent.call("debug_continue", json!({"action": "reverse-continue"}));
    assert_contains(&stop, &["in the past\n", &line_of(&fixture, "done")]);
    agent.leave();
}

#[test]
fn agents_go_to_hits_by_their_numbers() {
    let fixture = Fixture::of("c/travel.c");
    let mut agent = Agent::start();
    launch(&fixture, &mut agent, "done");
    let place = line_of(&fixture, "added");
    let hit = |number: u64| json!({"action": "reverse-continue", "to": place, "hit": number});
    let stop = agent.call("debug_continue", hit(7));
    assert_contains(&stop, &["in the past\n", &place, "value = 2"]);
    let stop = agent.call("debug_continue", hit(20));
    assert_contains(&stop, &["in the past\n", &place, "value = 7"]);
    let without = json!({"action": "reverse-continue", "hit": 2});
    agent.fail("debug_continue", without, "BAD_ARGUMENTS");
    agent.fail("debug_continue", hit(0), "CANNOT_CONTINUE");
    let list = agent.call("debug_breakpoint", json!({"action": "list"}));
    assert!(
        !list.contains(&place),
        "it was for these calls only: {list}"
    );
    agent.leave();
}

#[test]
fn agents_list_system_calls_and_go_to_one() {
    let fixture = Fixture::of("c/travel.c");
    let mut agent = Agent::start();
    launch(&fixture, &mut agent, "done");
    let list = agent.call("debug_past", json!({"calls": 0}));
    let writes = list.lines().filter(|line| line.contains("  write(fd = 1"));
    let numbers = writes.filter_map(|line| line[1..].split_whitespace().next()?.parse().ok());
    let numbers: Vec<u64> = numbers.collect();
    assert!(!numbers.is_empty(), "{list}");
    assert_eq!(
        list.lines().filter(|it| it.starts_with('*')).count(),
        1,
        "{list}"
    );
    let stop = agent.call("debug_past", json!({"call": numbers[0]}));
    assert_contains(&stop, &["in the past\n", "#"]);
    let round = agent.call("debug_past", json!({"calls": numbers[0], "count": 1}));
    assert!(
        round.starts_with('*') && round.contains(" write(fd = 1"),
        "{round}"
    );
    agent.fail("debug_past", json!({"call": 1_000_000}), "NO_SUCH_CALL");
    agent.leave();
}

#[test]
fn agents_ask_in_one_call_for_the_origin() {
    let fixture = Fixture::of("c/origin.c");
    let mut agent = Agent::start();
    launch(&fixture, &mut agent, "done");
    let asked =
        |name: &str| json!({"action": "reverse-continue", "written": "last_owed", name: true});
    for name in ["throughCopies", "through_copies"] {
        let reply = agent.call("debug_continue", asked(name));
        assert_contains(
            &reply,
            &[
                "last_owed, from its last write back:\n   1  21  copied from orders[1].owed (0x",
                "returned by price",
                "computed in price, origin.c:",
                "in the past: ",
                &line_of(&fixture, "computed"),
                "units = 3",
            ],
        );
        agent.call("debug_past", json!({"present": true}));
    }
    agent.leave();
}
