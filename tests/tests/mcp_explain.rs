//! `stillpoint mcp`: why a program crashed or hangs, where a value is, and tests of frameworks.

use serde_json::json;
use std::fs;
use stillpoint_tests::{Agent, Fixture, assert_contains};

const HANGS: &str = "c/hangs.c";

/// Starts a way to hang, and lets it run until it must hang.
fn hanging(how: &str) -> Agent {
    let fixture = Fixture::of(HANGS);
    let mut agent = Agent::start();
    let program = fixture.program.to_string_lossy().into_owned();
    let started = agent.call(
        "debug_launch",
        json!({"program": program, "args": [how], "breakpoints": [], "timeout": 0.5}),
    );
    assert_contains(&started, &["running (no stop within 0.5 seconds)"]);
    agent
}

#[test]
fn crash_is_explained_with_the_values_that_it_used() {
    let fixture = Fixture::of(HANGS);
    let mut agent = Agent::start();
    let program = fixture.program.to_string_lossy().into_owned();
    let stop = json!({"program": program, "args": ["crash"], "breakpoints": []});
    assert_contains(&agent.call("debug_launch", stop), &["SIGSEGV"]);
    let explained = agent.call("debug_explain", json!({}));
    let (crash, call) = (
        Fixture::of(HANGS).line("crash"),
        Fixture::of(HANGS).line("call"),
    );
    assert_eq!(
        explained,
        format!(
            "read of address 0x0: `node->next->value`, but `node->next` is null\n\
             in thread 1:\n  \
             #0 last, hangs.c:{crash}\n     {crash}  while (node->next->value < limit) {{ //@ crash\n       \
             node = → #1 {{value = 7, next = 0x0}}\n       node->next = 0x0\n       \
             node->next->value = <cannot read 4 bytes of memory at 0x0>\n       limit = 100\n  \
             #1 main, hangs.c:{call}\n     {call}  return last(&begin, 100); //@ call\n       \
             begin = {{value = 5, next = → #1}}\n"
        )
    );
}

#[test]
fn program_is_launched_explained_and_traced_in_a_call() {
    let fixture = Fixture::of(HANGS);
    let mut agent = Agent::start();
    let with = |how: &str| json!({"program": fixture.program, "args": [how], "timeout": 0.5});
    let crash = agent.call("debug_explain", with("crash"));
    let call = format!("main, hangs.c:{}\n", fixture.line("call"));
    assert_contains(&crash, &["`node->next` is null\nin thread 1:\n", &call]);
    // The session before it is replaced.
    let hang = agent.call("debug_explain", with("deadlock"));
    assert_contains(&hang, &["it was running", "deadlock: thread 2 waits for"]);
    let traced = json!({"program": fixture.program, "args": ["crash"], "function": "last"});
    let text = agent.call("debug_trace_call", traced);
    assert_contains(&text, &["call of last, ", "limit=100"]);
    // A function that is not there: nothing is run.
    let unknown = json!({"program": fixture.program, "args": ["crash"], "function": "lasst"});
    let why = agent.fail("debug_trace_call", unknown, "CANNOT_TRACE");
    assert_contains(&why, &["no function `lasst`"]);
    let text = agent.call("debug_trace_call", json!({"function": "last"}));
    assert_contains(&text, &["call of last, ", "limit=100"]);
    let ends = Fixture::of("c/exit_code.c");
    let ends = json!({"program": ends.program, "args": ["3"]});
    assert_eq!(agent.call("debug_explain", ends), "ended: exit code 3\n");
    let alone = agent.fail("debug_explain", json!({"args": ["3"]}), "BAD_ARGUMENTS");
    assert_contains(&alone, &["`program`, which is missing"]);
    let gone = json!({"program": "/no/such/program", "function": "main"});
    agent.fail("debug_trace_call", gone, "START_FAILED");
}

#[test]
fn abort_behind_functions_for_errors_shows_all_callers() {
    let fixture = Fixture::of("c/own_abort.c");
    let mut agent = Agent::start();
    let text = agent.call("debug_explain", json!({"program": fixture.program}));
    let (twice, second) = (fixture.line("twice"), fixture.line("second"));
    let callers = [
        format!("close_door(open=→ #1), own_abort.c:{twice}\n"),
        format!("main(), own_abort.c:{second}\n"),
    ];
    assert_contains(
        &text,
        &[
            "SIGABRT from the program itself\n",
            &format!("die, own_abort.c:{}\n", fixture.line("abort")),
            &callers[0],
            &callers[1],
            "stderr ends with:\n  second\n  third\n  door: cannot close twice\n",
        ],
    );
}

#[test]
fn recursion_shows_its_rounds_and_who_began_it() {
    let fixture = Fixture::of("c/deep_recursion.c");
    let mut agent = Agent::start();
    let launch = json!({"program": fixture.program, "args": ["500"], "breakpoints": []});
    let stop = agent.call("debug_launch", launch);
    let begun = format!(
        "check_tree(n=→ #1, rounds=500) at deep_recursion.c:{}",
        fixture.line("begins")
    );
    assert_contains(
        &stop,
        &["SIGABRT", " odd ← even, ", " times\n", &begun, "main("],
    );
    let short = agent.call("debug_stack", json!({}));
    assert_contains(
        &short,
        &[" odd ← even, ", "check_tree(", " frames in all\n"],
    );
    let count: u64 = {
        let row = short.lines().find(|row| row.ends_with(" frames in all"));
        let number = row.and_then(|row| row.split(' ').next()?.parse().ok());
        number.unwrap_or_else(|| panic!("{short}"))
    };
    assert!(count > 1000, "{short}");
    let last = agent.call("debug_stack", json!({"start": -1}));
    assert_contains(&last, &[&format!("#{} ", count - 1)]);
    let middle = agent.call("debug_stack", json!({"start": 700, "levels": 2}));
    assert_contains(&middle, &["#700 ", "#701 ", "debug_stack {\"start\": 702}"]);
    // A small reply has the outermost frame, too, and its gap says how many frames are left out.
    let small =
        json!({"program": fixture.program, "args": ["500"], "breakpoints": [], "budget": 600});
    let small = agent.call("debug_launch", small);
    assert_contains(&small, &[" more: debug_stack {\"start\":", "main("]);
    let explained = agent.call("debug_explain", json!({}));
    assert_contains(&explained, &[" odd ← even, ", "check_tree(", "main("]);
}

#[test]
fn stack_overflow_names_what_began_the_recursion() {
    let fixture = Fixture::of("c/deep_recursion.c");
    let mut agent = Agent::start();
    let text = agent.call("debug_explain", json!({"program": fixture.program}));
    assert_contains(&text, &["stack overflow", "check_tree(", "main("]);
    // The size of the environment decides which of the two has overflowed the stack.
    let rounds = [" odd ← even, ", " even ← odd, "];
    assert!(rounds.iter().any(|round| text.contains(round)), "{text}");
}

#[test]
fn deadlock_names_its_locks_and_threads() {
    let mut agent = hanging("deadlock");
    let explained = agent.call("debug_explain", json!({}));
    let lock = Fixture::of(HANGS).line("lock");
    let sleep = Fixture::of(HANGS).line("sleep");
    assert_contains(
        &explained,
        &[
            "it was running, and is paused now; all its threads wait\n",
            "waits for the end of a thread: thread 2",
            "deadlock: thread 2 waits for thread 3 waits for thread 2\n",
            "thread 2 \"hangs\" waits for mutex `to->lock`, held by thread 3",
            "thread 3 \"hangs\" waits for mutex `to->lock`, held by thread 2",
            &format!("transfer, hangs.c:{lock}\n"),
            "{owner = 0x… \"bob\", balance = 50, lock = {...}}",
            "threads 4, 5 \"hangs\" wait for time to pass",
            &format!("(idle, hangs.c:{sleep})"),
        ],
    );
    // It stays stopped, and the same text is returned for the same state.
    let again = agent.call("debug_explain", json!({"thread": 2}));
    assert_eq!(again, agent.call("debug_explain", json!({"thread": 2})));
    assert!(
        again.starts_with("thread 2 \"hangs\" waits for mutex"),
        "{again}"
    );
}

#[test]
fn threads_at_a_condition_are_shown_once_with_their_callers() {
    let mut agent = hanging("condition");
    let explained = agent.call("debug_explain", json!({}));
    let fixture = Fixture::of(HANGS);
    assert_contains(
        &explained,
        &[
            "threads 2, 3 \"hangs\" wait for another thread, at a lock or a condition, in ",
            &format!("await_order, hangs.c:{}\n", fixture.line("condition")),
            &format!("cook, hangs.c:{}\n", fixture.line("condition_caller")),
        ],
    );
    assert_eq!(explained.matches("await_order").count(), 2, "{explained}");
}

#[test]
fn endless_loop_is_found_with_what_changes_in_it() {
    let mut agent = hanging("loop");
    let explained = agent.call("debug_explain", json!({}));
    assert_contains(
        &explained,
        &[
            "it was running, and is paused now\n",
            "thread was always in collatz (line ",
            "\n  changed meanwhile: n, steps\n",
            "\n  unchanged: limit = 1000\n",
        ],
    );
    // It can be resumed, and looked at again.
    agent.call("debug_continue", json!({"timeout": 0.05}));
    assert_contains(&agent.call("debug_explain", json!({})), &["collatz"]);
}

#[test]
fn read_of_an_empty_pipe_is_a_wait() {
    let mut agent = hanging("pipe");
    let explained = agent.call("debug_explain", json!({}));
    // On aarch64, a stopped call with a small first argument looks like one that has returned.
    let expected = match cfg!(target_arch = "aarch64") {
        true => "read_pipe, hangs.c:",
        false => "thread 1 \"hangs\" waits for a pipe (descriptor ",
    };
    let read = format!("read_pipe, hangs.c:{}\n", Fixture::of(HANGS).line("read"));
    assert_contains(&explained, &[expected, &read]);
}

#[test]
fn values_are_found_through_pointers_and_containers() {
    let fixture = Fixture::of("cpp/reach.cpp");
    let (mut agent, _) = Agent::at(&fixture, "look");
    let mut search = |wanted: &str| agent.call("debug_search", json!({"wanted": wanted}));
    assert_contains(
        &search("4711"),
        &["wanted->weight = 4711  (int)\n", " (all in reach)\n"],
    );
    let pears = search("Pear");
    assert_contains(&pears, &["wanted->kind = Pear  (Kind)\n", "2 found in "]);
    let text = search("\"williams\"");
    assert_contains(&text, &["name = \"the williams one\"", "1 found in "]);
    assert_contains(&search("2.5"), &["shop.prices[1] = 2.5  (double)\n"]);
    let code = search("\"wx-q\"");
    assert_contains(&code, &["shop.code = \"wx-q\"  (char[8])\n", "1 found in "]);
    assert_contains(&search("braeburnx"), &["0 found in "]);
    // Each expression that is found is one.
    let found = search("230");
    let expression = found.split(" = ").next().expect("an expression").to_owned();
    let value = agent.call("debug_evaluate", json!({"expression": expression}));
    assert_contains(&value, &["= 230  (int)"]);
    // An object is found by its address, as are pointers to it.
    let arguments = json!({"expression": "wanted", "addresses": true});
    let shown = agent.call("debug_evaluate", arguments);
    let address = shown.split("0x").nth(1).expect("an address");
    let address: String = address
        .chars()
        .take_while(char::is_ascii_hexdigit)
        .collect();
    let arguments = json!({"wanted": format!("0x{address}")});
    let places = agent.call("debug_search", arguments);
    assert_contains(&places, &["wanted = →", "other = →"]);
    let nothing = agent.fail("debug_search", json!({"wanted": " "}), "BAD_ARGUMENTS");
    assert_contains(&nothing, &["`wanted` is empty"]);
}

#[test]
fn cargo_test_stops_where_it_fails_or_hangs() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("src")).expect("a folder");
    fs::write(
        root.join("Cargo.toml"),
        "[package]\nname = \"scales\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    )
    .expect("written");
    fs::write(
        root.join("src/lib.rs"),
        "pub fn weigh(grams: &[u32]) -> u32 {\n    let mut sum = 0;\n    for gram in &grams[1..] {\n        \
         sum += gram;\n    }\n    sum\n}\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    \
         fn one_is_weighed() {\n        let sum = weigh(&[5]);\n        assert_eq!(sum, 5);\n    }\n    \
         #[test]\n    fn nothing_is_added() {\n        assert_eq!(weigh(&[0]), 0);\n    }\n    #[test]\n    \
         fn scale_settles() {\n        let mut swing = 8u64;\n        while swing > 0 {\n            \
         swing = swing / 2 + 1;\n        }\n    }\n}\n",
    )
    .expect("written");
    let dir = root.to_string_lossy().into_owned();
    let mut agent = Agent::start();
    let failed = agent.call("debug_test", json!({"name": "one_is_weighed", "dir": dir}));
    assert_contains(
        &failed,
        &[
            "tests::one_is_weighed --exact",
            "assertion `left == right` failed",
            "scales::tests::one_is_weighed() at ",
            "sum = 0",
        ],
    );
    agent.call("debug_stop", json!({}));
    let passed = agent.call("debug_test", json!({"name": "nothing", "dir": dir}));
    assert_contains(&passed, &["the test has passed\n", "1 passed"]);
    let hung = agent.call(
        "debug_test",
        json!({"name": "scale_settles", "dir": dir, "timeout": 1}),
    );
    assert_contains(
        &hung,
        &[
            "the test still runs after 1 seconds\n",
            "scale_settles",
            "swing",
        ],
    );
    agent.call("debug_stop", json!({}));
    let missing = agent.fail(
        "debug_test",
        json!({"name": "gone", "dir": dir}),
        "NO_SUCH_TEST",
    );
    assert_contains(&missing, &["tests::one_is_weighed"]);
    let nowhere = agent.fail("debug_test", json!({"name": "x", "dir": "/"}), "NO_TESTS");
    assert_contains(&nowhere, &["set `dir`"]);
    fs::write(root.join("src/lib.rs"), "fn broken( {").expect("written");
    let broken = agent.fail(
        "debug_test",
        json!({"name": "x", "dir": dir}),
        "BUILD_FAILED",
    );
    assert_contains(&broken, &["src/lib.rs"]);
}
