//! `stillpoint mcp`: what pointers lead to, arguments in stacks, and which thread waits for which.

use serde_json::json;
use stillpoint_tests::patience::Patience;
use stillpoint_tests::process::Debuggee;
use stillpoint_tests::{Agent, Fixture, MACHINE, assert_contains, line_of};

#[test]
fn pointers_show_targets_and_cycles() {
    let fixture = Fixture::of("c/deadlock.c");
    let (mut agent, stop) = Agent::at(&fixture, "write");
    assert_contains(
        &stop,
        &[
            "argument list = → #1 {value = 1, next = → #2}  (struct node *)\n",
            "argument same = → #1  (struct node *)\n",
            "  #0 visit(list=→ #1, same=→ #1) at deadlock.c:",
            "  #1 main() at deadlock.c:",
        ],
    );
    // A change in the common target of two pointers is reported once.
    let written = agent.call("debug_continue", json!({"action": "step-over"}));
    assert_contains(
        &written,
        &[
            "  list: → #1 {value = 1, next = → #2} -> → #1 {value = 11, next = → #2}\n",
            "argument list = → #1 {value = 11, next = → #2}",
        ],
    );
    assert!(!written.contains("  same: "), "{written}");
    let moved = agent.call("debug_continue", json!({"action": "step-over"}));
    assert_contains(
        &moved,
        &[
            "argument list = → #2 {value = 2, next = → #1}",
            "argument same = → #1 {value = 11, next = → #2}",
            "  list: → #1 {value = 11, next = → #2} -> → #2 {value = 2, next = → #1}\n",
        ],
    );
    assert!(!moved.contains("  same: "), "{moved}");

    assert_eq!(
        agent.call("debug_evaluate", json!({"expression": "same"})),
        "same = → #1 {value = 11, next = → #2}  (struct node *)\n"
    );
    assert_contains(
        &agent.call("debug_variables", json!({"expression": "list"})),
        &[
            "  value = 2  (int)\n",
            "  next = → #1 {value = 11, next = → #2}",
        ],
    );
    // Variables are objects that are shown already; wild pointers are known by their addresses.
    let main = agent.call("debug_variables", json!({"frame": 1}));
    assert_contains(
        &main,
        &[
            "end = {value = 2, next = → begin}",
            "begin = {value = 11, next = → end}",
        ],
    );
    let wild = agent.call(
        "debug_evaluate",
        json!({"expression": "(struct node *)0x10"}),
    );
    assert_contains(&wild, &["= 0x10 <"]);
    let exact = agent.call(
        "debug_evaluate",
        json!({"expression": "same", "addresses": true}),
    );
    let stack = MACHINE.stack_prefix;
    let same = format!("same = {stack}");
    let next = format!(" → #1 {{value = 11, next = {stack}");
    assert_contains(&exact, &[&same, &next]);
    agent.leave();
}

#[test]
fn deadlock_names_its_threads() {
    let fixture = Fixture::of("c/deadlock.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let mut patience = Patience::new();
    let stop = loop {
        agent.call("debug_continue", json!({"timeout": 0.05}));
        let stop = agent.call("debug_continue", json!({"action": "pause"}));
        if stop.contains("deadlock: ") {
            break stop;
        }
        assert!(patience.is_left(), "{stop}");
    };
    let (mine, theirs) = (fixture.line("lock_second"), fixture.line("lock_first"));
    assert_contains(
        &stop,
        &[
            &format!("at main() at {}:{mine} (frame ", fixture.source.display()),
            "thread 1 \"deadlock\" (tid ",
            ") waits for a mutex that thread 2 holds\n",
            ") waits for a mutex that thread 1 holds: lock(unused=0x0) at ",
            "deadlock: thread 1 waits for thread 2, thread 2 waits for thread 1\n",
        ],
    );

    // All tools report the same frames.
    let threads = agent.call("debug_stack", json!({"threads": true}));
    let lines: Vec<&str> = threads.lines().collect();
    assert_eq!(lines.len(), 3, "{threads}");
    assert!(
        lines[0].starts_with("> thread 1 \"deadlock\" (tid "),
        "{threads}"
    );
    assert!(
        lines[0].ends_with(&format!("deadlock.c:{mine}")),
        "{threads}"
    );
    assert!(
        lines[1].ends_with(&format!("deadlock.c:{theirs}")),
        "{threads}"
    );
    assert!(lines[2].starts_with("deadlock: "), "{threads}");
    assert_eq!(
        agent.call(
            "debug_evaluate",
            json!({"expression": "unused", "thread": 2})
        ),
        "unused = 0x0  (void *)\n"
    );
    let all = agent.call("debug_stack", json!({"all": true}));
    assert_contains(
        &all,
        &[
            " main() at ",
            " lock(unused=0x0) at ",
            "frames of libraries (",
            "deadlock: thread 1",
        ],
    );
    agent.leave();
}

#[test]
fn attach_shows_user_code() {
    let fixture = Fixture::of("c/spin.c");
    let spinning = Debuggee::start(&fixture, &[]);
    let mut agent = Agent::start();
    let stop = agent.call("debug_attach", json!({"pid": spinning.pid()}));
    let source = format!(" at {}:", fixture.source.display());
    let location = stop.lines().nth(1).expect("a frame").to_owned();
    assert!(
        location.starts_with("at main() at ") || location.starts_with("at beat("),
        "{stop}"
    );
    assert!(location.contains(&source), "{stop}");
    let threads = agent.call("debug_stack", json!({"threads": true}));
    let place = location.trim_start_matches("at ").split(" (frame").next();
    assert!(
        threads.contains(place.expect("a place")),
        "{location}\n{threads}"
    );
    agent.leave();
}

#[test]
fn launch_breakpoints_survive_a_restart() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    let body = line_of(&fixture, "body_return");
    let launch = json!({
        "program": fixture.program,
        "breakpoints": [
            {"location": body, "condition": "i == 3"},
            {"location": line_of(&fixture, "after_call"), "message": "total={total}"},
        ],
    });
    let stop = agent.call("debug_launch", launch.clone());
    let set = format!("breakpoint 1: {body} if i == 3\n");
    assert_contains(
        &stop,
        &[
            &set,
            "logpoint 2: ",
            "stop 1: breakpoint 1 (",
            "argument i = 3",
            "  total=0\n  total=11\n  total=32\n",
        ],
    );
    let ended = |agent: &mut Agent| agent.call("debug_continue", json!({}));
    assert_contains(&ended(&mut agent), &["ended: exit code 0"]);

    // After its end, and in the middle.
    for _ in 0..2 {
        let again = agent.call("debug_continue", json!({"action": "restart"}));
        assert_contains(
            &again,
            &[
                &set,
                "logpoint 2: ",
                "stop 1: breakpoint 1 (",
                "argument i = 3",
            ],
        );
    }
    agent.call("debug_breakpoint", json!({"watch": "product"}));
    let without = agent.call("debug_continue", json!({"action": "restart"}));
    assert_contains(
        &without,
        &[
            &set,
            "breakpoint 3: watch write of product; removed: its process has ended",
        ],
    );
    agent.call("debug_stop", json!({}));

    let wrong = json!({"program": fixture.program, "breakpoints": [{"place": body}]});
    let text = agent.fail("debug_launch", wrong, "BAD_ARGUMENTS");
    assert_contains(&text, &["`location`", "`condition`"]);
    agent.leave();
}

#[test]
fn logpoints_are_checked_and_not_moved() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    for name in ["nowhere", "elsewhere"] {
        let message = json!({
            "location": line_of(&fixture, "body"), "message": format!("{{{name}}}"),
        });
        let set = agent.call("debug_logpoint", message);
        assert_contains(
            &set,
            &[&format!(
                "(log message `{name}`: no variable `{name}` at this location"
            )],
        );
    }
    agent.leave();

    let fixture = Fixture::of("c/deadlock.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let line = fixture.line("add") - 2;
    let valid = format!("{}, {}", line + 1, line + 2);
    for (tool, arguments) in [
        (
            "debug_breakpoint",
            json!({"location": format!("deadlock.c:{line}")}),
        ),
        (
            "debug_logpoint",
            json!({"location": format!("deadlock.c:{line}"), "message": "x"}),
        ),
        (
            "debug_continue",
            json!({"action": "run-to", "to": format!("deadlock.c:{line}")}),
        ),
    ] {
        let text = agent.fail(tool, arguments, "NO_CODE_AT_LINE");
        assert_contains(&text, &["no code at ", "; valid lines: ", &valid]);
    }
    assert_eq!(
        agent.call("debug_breakpoint", json!({"action": "list"})),
        "no breakpoints"
    );
    agent.leave();
}
