//! `stillpoint mcp`: what its tools are, and how agents hunt bugs with them.

use serde_json::json;
use stillpoint_tests::{Agent, Compiler, Fixture, Flags, assert_contains, core_of, line_of};

/// Returns the names of the listed tools, after a look at their descriptions.
fn listed(agent: &mut Agent) -> Vec<String> {
    let id = agent.send("tools/list", json!({}));
    let answer = agent.answer(id);
    let tools = answer["result"]["tools"].as_array().expect("tools");
    for tool in tools {
        assert!(
            tool["description"]
                .as_str()
                .is_some_and(|text| text.len() > 20),
            "{tool}"
        );
        let schema = &tool["inputSchema"];
        assert_eq!(json_schema::faults(schema), [""; 0], "{tool}");
        for (name, parameter) in schema["properties"].as_object().expect("parameters") {
            let text = parameter["description"].as_str();
            assert!(text.is_some(), "{}: {name} says nothing", tool["name"]);
        }
    }
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

#[test]
fn tools_describe_themselves() {
    let mut agent = Agent::start_with(&["--tools", "all"]);
    let all = [
        "debug_launch",
        "debug_attach",
        "debug_test",
        "debug_breakpoint",
        "debug_logpoint",
        "debug_trace",
        "debug_continue",
        "debug_trace_call",
        "debug_calls",
        "debug_explain",
        "debug_past",
        "debug_stack",
        "debug_variables",
        "debug_read",
        "debug_write",
        "debug_evaluate",
        "debug_search",
        "debug_output",
        "debug_stop",
    ];
    assert_eq!(listed(&mut agent), all);
    agent.leave();
}

#[test]
fn few_tools_are_listed_and_all_can_be_called() {
    let mut agent = Agent::start();
    let few = listed(&mut agent);
    assert_eq!(few.len(), 10, "{few:?}");
    assert!(!few.iter().any(|name| name == "debug_search"), "{few:?}");
    let search = json!({"wanted": "1"});
    agent.fail("debug_search", search, "NO_SESSION");
    agent.leave();
}

/// The list is read in each conversation.
const MOST_CHARACTERS: usize = 20_000;

#[test]
fn list_of_tools_is_short() {
    let mut agent = Agent::start();
    let id = agent.send("tools/list", json!({}));
    let tools = agent.answer(id)["result"]["tools"].to_string();
    let count = tools.chars().count();
    assert!(count <= MOST_CHARACTERS, "{count} characters: {tools}");
    agent.leave();
}

#[test]
fn agent_finds_a_bug_in_c() {
    let fixture = Fixture::of("c/loop.c");
    let mut agent = Agent::start();
    let program = fixture.program.to_str().expect("UTF-8");
    let held = agent.call("debug_launch", json!({"program": program}));
    assert_contains(&held, &["held before its first instruction"]);
    agent.fail("debug_stack", json!({}), "NOT_STARTED");
    let set = agent.call(
        "debug_breakpoint",
        json!({"location": line_of(&fixture, "body_return"), "condition": "i == 2"}),
    );
    assert_eq!(
        set,
        format!(
            "breakpoint 1: {} if i == 2",
            line_of(&fixture, "body_return")
        )
    );

    let stop = agent.call("debug_continue", json!({}));
    let line = fixture.line("body_return");
    assert_contains(
        &stop,
        &[
            &format!(
                "stop 1: breakpoint 1 ({})\n",
                line_of(&fixture, "body_return")
            ),
            &format!(
                "at body(i=2, scale=10) at {}:{line}\n",
                fixture.source.display()
            ),
            "thread 1 \"loop\" (tid ",
            &format!(">{line:>5} |     return product;"),
            "  argument i = 2  (int)\n",
            "  argument scale = 10  (int)\n",
            "  product = 20  (int)\n",
            "  #0 body(i=2, scale=10) at loop.c:",
            "  #1 main() at loop.c:",
            "frames of libraries (",
        ],
    );

    let out = agent.call("debug_continue", json!({"action": "step-out"}));
    assert_contains(
        &out,
        &[
            "stop 2: step\n",
            "at main() at ",
            "  returned by body() = 20  (int)\n",
            "  i = 2  (int)\n",
        ],
    );
    let after = agent.call("debug_continue", json!({"action": "step-over"}));
    assert_contains(&after, &["changed since stop 2:\n  total: 12 -> 32\n"]);
    let to = agent.call(
        "debug_continue",
        json!({"action": "run-to", "to": line_of(&fixture, "print")}),
    );
    assert_contains(
        &to,
        &[
            "stop 4: breakpoint at the run-to location (loop.c:",
            "total: 32 -> 105\n",
        ],
    );
    // It was for once.
    assert_eq!(
        agent.call("debug_breakpoint", json!({"action": "list"})),
        set
    );

    let end = agent.call("debug_continue", json!({}));
    assert_eq!(end, "ended: exit code 0\noutput:\n  105\n");
    agent.fail("debug_continue", json!({}), "PROGRAM_ENDED");
    agent.fail("debug_variables", json!({}), "PROGRAM_ENDED");
    assert_eq!(agent.call("debug_output", json!({})), "105\n[cursor 4]\n");
    assert_contains(&agent.call("debug_stop", json!({})), &["session of"]);
    agent.fail("debug_output", json!({}), "NO_SESSION");
    agent.leave();
}

#[test]
fn steps_enter_calls_and_frames_can_be_selected() {
    let fixture = Fixture::of("c/recursion.c");
    let (mut agent, _) = Agent::at(&fixture, "call");
    let into = agent.call("debug_continue", json!({"action": "step-into"}));
    assert_contains(
        &into,
        &["stop 2: step", "at factorial(n=5) at", "argument n = 5"],
    );
    let bottom = agent.call(
        "debug_continue",
        json!({"action": "run-to", "to": line_of(&fixture, "bottom")}),
    );
    assert_contains(
        &bottom,
        &["argument n = 1", "changed since stop 2:\n  n: 5 -> 1\n"],
    );
    let stack = agent.call("debug_stack", json!({"levels": 3}));
    let lines: Vec<&str> = stack.lines().collect();
    assert_eq!(lines.len(), 4, "{stack}");
    assert!(lines[1].starts_with("#1 factorial(n=2) at /"), "{stack}");
    let more =
        "… more frames: debug_stack {\"start\": 3}; a negative start counts from the outermost";
    assert_eq!(lines[3], more);
    let more = agent.call("debug_stack", json!({"start": 3, "levels": 3}));
    assert_contains(&more, &["#3 factorial(n=4)", "#5 main()"]);
    agent.fail("debug_stack", json!({"start": 5000}), "NO_SUCH_FRAME");
    assert_eq!(
        agent.call("debug_evaluate", json!({"expression": "n", "frame": 2})),
        "n = 3  (int)\n"
    );
    assert_contains(
        &agent.call("debug_variables", json!({"frame": 4})),
        &["Locals:\n", "  n = 5  (int)\n"],
    );
    agent.fail(
        "debug_evaluate",
        json!({"expression": "n", "frame": 99}),
        "NO_SUCH_FRAME",
    );
    agent.fail(
        "debug_evaluate",
        json!({"expression": "n", "thread": 7}),
        "NO_SUCH_THREAD",
    );
    let threads = agent.call("debug_stack", json!({"threads": true}));
    assert_contains(
        &threads,
        &["> thread 1 \"recursion\" (tid ", "): #0 factorial(n=1) at "],
    );
    agent.leave();
}

#[test]
fn crashes_are_explained_in_c_and_in_core_files() {
    let fixture = Fixture::of("c/call_null.c");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let crash = agent.call("debug_continue", json!({}));
    assert_contains(&crash, &["stop 1: exception: ", "SIGSEGV", "call_null.c:"]);
    agent.leave();

    let fixture = Fixture::of("c/crash.c");
    let folder = tempfile::tempdir().expect("a folder");
    let Some(core) = core_of(&fixture, folder.path()) else {
        return;
    };
    let mut agent = Agent::start();
    let text = agent.call(
        "debug_attach",
        json!({"core": core, "program": fixture.program}),
    );
    assert_contains(
        &text,
        &[
            "stop 1: exception: signal SIGSEGV: the program was killed by ",
            "stack:\n",
        ],
    );
    agent.fail("debug_continue", json!({}), "CANNOT_CONTINUE");
    agent.leave();
}

#[test]
fn containers_and_exceptions_of_cpp() {
    let fixture = Fixture::of("cpp/classes.cpp");
    let mut agent = Agent::start();
    let stop = agent.call(
        "debug_launch",
        json!({"program": fixture.program, "breakpoints": ["main"]}),
    );
    assert_contains(
        &stop,
        &[
            "breakpoint 1: main, at ",
            "stop 1: function breakpoint 1 (main)",
        ],
    );
    agent.call("debug_stop", json!({}));

    let fixture = Fixture::of("cpp/crash.cpp");
    agent.call("debug_launch", json!({"program": fixture.program}));
    let set = agent.call(
        "debug_breakpoint",
        json!({"exception": "cpp_throw", "condition": "std::exception"}),
    );
    assert_contains(&set, &["exception cpp_throw if std::exception"]);
    let stop = agent.call("debug_continue", json!({}));
    assert_contains(&stop, &["stop 1: exception", "crash.cpp:"]);
    agent.leave();
}

#[test]
fn panics_and_values_of_rust() {
    let fixture = Fixture::of("rust/panic.rs");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    let stop = agent.call("debug_continue", json!({}));
    assert_contains(
        &stop,
        &[
            "stop 1: exception",
            "index out of bounds: the len is 3 but the index is 3",
            &format!("panic.rs:{}", fixture.line("index")),
            "values = (3) [1, 2, 3]",
            "index = 3",
            "frames of libraries (",
        ],
    );
    // Expressions are evaluated in the reported frame, not in the library frame on top of it.
    assert_eq!(
        agent.call("debug_evaluate", json!({"expression": "values[0] + 41"})),
        "values[0] + 41 = 42  (i32)\n"
    );
    agent.leave();

    let fixture = Fixture::of("rust/output.rs");
    let mut agent = Agent::start();
    agent.call("debug_launch", json!({"program": fixture.program}));
    assert!(
        agent
            .call("debug_continue", json!({}))
            .starts_with("ended: exit code 4\n")
    );
    let stderr = agent.call("debug_output", json!({"stream": "stderr"}));
    assert!(
        stderr.starts_with("err 0\nerr 1\nerr 2\n[cursor "),
        "{stderr}"
    );
    agent.leave();
}

#[test]
fn optimized_out_value_is_an_error_with_remedy() {
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    let fixture = Fixture::build("c/optimized.c", flags).expect("gcc is installed");
    let (mut agent, stop) = Agent::at(&fixture, "half");
    assert_contains(&stop, &["pair = ", "<optimized out>"]);
    let text = agent.fail(
        "debug_evaluate",
        json!({"expression": "pair.lost"}),
        "OPTIMIZED_OUT",
    );
    assert_contains(&text, &["-Og"]);
    agent.leave();
}
