//! Stepping, as tables: breakpoints, then each command with the line that it has to reach.

use serde_json::json;
use stillpoint_tests::Step::{Continue, Next, StepIn, StepOut};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, matrix, run, run_with};

#[test]
fn over_calls() {
    for flags in matrix("c/loop.c") {
        let mut steps = vec![(Continue, "main"), (Next, "loop")];
        steps.extend([(Next, "call"), (Next, "after_call")]);
        // There clang's jump back has the line of the brace.
        if cfg!(target_arch = "aarch64") && flags.compiler == Compiler::Clang {
            steps.push((Next, "loop_end"));
        }
        steps.extend([(Next, "loop"), (Next, "call"), (Next, "after_call")]);
        run_with("c/loop.c", flags, &["main"], &steps);
    }
}

#[test]
fn into_and_out_of_calls() {
    run(
        "c/loop.c",
        &["call"],
        &[
            (Continue, "call"),
            (StepIn, "body"),
            (Next, "body_return"),
            (StepOut, "call"),
            (Next, "after_call"),
            (Continue, "call"),
            (StepIn, "body"),
            (StepOut, "call"),
            (StepIn, "after_call"),
        ],
    );
}

#[test]
fn step_over_the_end_of_a_function() {
    for flags in matrix("c/loop.c") {
        // Clang gives the closing brace no line of its own.
        let mut steps = vec![(Continue, "body"), (Next, "body_return")];
        if flags.compiler == Compiler::Gcc {
            steps.push((Next, "body_end"));
        }
        steps.extend([(Next, "call"), (Next, "after_call")]);
        run_with("c/loop.c", flags, &["body"], &steps);
    }
}

#[test]
fn step_over_the_end_of_the_program() {
    run(
        "c/loop.c",
        &["print"],
        &[(Continue, "print"), (Next, "end"), (Continue, "exit")],
    );
}

#[test]
fn into_a_function_without_lines_is_over() {
    run(
        "c/bare_main.c",
        &["call"],
        &[
            (Continue, "call"),
            (StepIn, "call_through"),
            (Next, "print"),
        ],
    );
}

#[test]
fn a_breakpoint_in_a_call_stepped_over() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("c/loop.c", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "call");
        client.set_breakpoints(&fixture, &["body_return"]);
        let thread = client.thread();
        client.request_ok("next", json!({"threadId": thread}));
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, "body_return");
        // The step is over with that, as in gdb: going on stops at breakpoints only.
        client.continue_to(&fixture, "body_return");
        client.disconnect();
    }
}

#[test]
fn recursion() {
    run(
        "c/recursion.c",
        &["call"],
        &[
            (Continue, "call"),
            (StepIn, "test"),
            (Next, "recurse"),
            // Over five calls of itself, to its own next line.
            (Next, "multiply"),
            (StepOut, "call"),
            (Next, "print"),
        ],
    );
}

#[test]
fn recursion_keeps_the_frame() {
    let fixture = Fixture::of("c/recursion.c");
    let mut client = DapClient::stopped_at(&fixture, "recurse");
    client.set_breakpoints(&fixture, &[]);
    client.step_in();
    client.next();
    assert_eq!(client.locals()["n"], "4");
    client.next();
    client.expect_line(&fixture, "multiply");
    assert_eq!(client.locals()["n"], "4");
    assert_eq!(client.locals()["smaller"], "6");
    client.step_out();
    assert_eq!(client.locals()["n"], "5");
    client.expect_line(&fixture, "recurse");
    client.disconnect();
}

#[test]
fn out_of_recursion_with_breakpoints_on_the_way() {
    run(
        "c/recursion.c",
        &["bottom", "multiply"],
        &[
            (Continue, "bottom"),
            (StepOut, "recurse"),
            (Continue, "multiply"),
            (Continue, "multiply"),
            (StepOut, "recurse"),
            (Continue, "multiply"),
        ],
    );
}

#[test]
fn out_of_the_outermost_frame() {
    let fixture = Fixture::of("c/spin.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"stopOnEntry": true}));
    client.configure();
    client.expect_stopped("entry");
    let thread = client.thread();
    client.request_error("stepOut", json!({"threadId": thread}));
    assert!(!client.stack().is_empty());
    client.disconnect();
}

#[test]
fn the_first_step_moves() {
    let fixture = Fixture::of("c/spin.c");
    for command in ["next", "stepIn"] {
        for granularity in ["line", "instruction"] {
            let mut client = DapClient::spawn();
            client.launch(&fixture, json!({"stopOnEntry": true}));
            client.configure();
            client.expect_stopped("entry");
            let entry = client.top_frame()["instructionPointerReference"].clone();
            let thread = client.thread();
            let step = json!({"threadId": thread, "granularity": granularity});
            client.request_ok(command, step);
            client.expect_stopped("step");
            let place = client.top_frame()["instructionPointerReference"].clone();
            assert_ne!(place, entry, "{command} by {granularity}");
            client.disconnect();
        }
    }
}

#[test]
fn arguments_over_many_lines() {
    // `next` does not stay on a line that has several ranges; the lines of the arguments may be
    // visited, each in the order of the source or of evaluation.
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("c/many_arguments.c", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "split");
        client.set_breakpoints(&fixture, &[]);
        let mut before = client.top_line();
        while before != fixture.line("after") {
            client.next();
            let line = client.top_line();
            assert_ne!(line, before, "`next` leaves the line");
            assert_eq!(client.function_names()[0], "main");
            before = line;
        }
        client.disconnect();
    }
}

#[test]
fn two_statements_on_a_line() {
    run(
        "c/many_arguments.c",
        &["two_statements"],
        &[(Continue, "two_statements"), (Next, "print")],
    );
}

#[test]
fn into_each_argument() {
    run(
        "c/many_arguments.c",
        &["two_statements"],
        &[
            (Continue, "two_statements"),
            (StepIn, "one"),
            (StepOut, "two_statements"),
            (StepIn, "one"),
            (StepOut, "two_statements"),
            (StepIn, "one"),
            (StepOut, "two_statements"),
            (Next, "print"),
        ],
    );
}

#[test]
fn rust_loops_and_macros() {
    run(
        "rust/println.rs",
        &["println"],
        &[
            (Continue, "println"),
            (Next, "after"),
            (Next, "loop"),
            (Next, "call"),
            (Next, "println"),
            (Next, "after"),
        ],
    );
}

#[test]
fn rust_calls() {
    run(
        "rust/println.rs",
        &["call"],
        &[
            (Continue, "call"),
            (StepIn, "square"),
            (StepOut, "call"),
            (Next, "println"),
        ],
    );
}

#[test]
fn rust_match() {
    run(
        "rust/enums.rs",
        &["match"],
        &[
            (Continue, "match"),
            (Next, "arm_empty"),
            (Continue, "match"),
            (Next, "arm_circle"),
            (Continue, "match"),
            (Next, "arm_rectangle"),
        ],
    );
}

#[test]
fn over_exceptions() {
    run(
        "cpp/exceptions.cpp",
        &["try"],
        &[
            (Continue, "try"),
            (Continue, "try"),
            (Continue, "try"),
            (Next, "catch"),
        ],
    );
}

#[test]
fn into_virtual_functions() {
    run(
        "cpp/classes.cpp",
        &["call_template"],
        &[
            (Continue, "call_template"),
            (StepIn, "template"),
            (Next, "template_return"),
            (StepOut, "call_template"),
            (Next, "call_template_double"),
            (Next, "call_overloaded"),
            (StepIn, "overloaded_int"),
            (StepOut, "call_overloaded"),
            (StepIn, "overloaded_double"),
            (StepOut, "call_overloaded"),
            (StepIn, "overloaded_text"),
            (StepOut, "call_overloaded"),
            (Next, "call_reference"),
            (StepIn, "by_reference"),
            (StepIn, "area"),
            (StepOut, "by_reference"),
        ],
    );
}

#[test]
fn optimized_steps_leave_the_line() {
    for (source, marker) in [("c/inline.c", "first"), ("rust/println.rs", "main")] {
        let flags = Flags::of(source).optimized("2");
        let Some(fixture) = Fixture::build(source, flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_breakpoints(&fixture, &[marker]);
        client.configure();
        client.expect_stopped("breakpoint");
        let mut before = (client.top_line(), client.stack().len());
        for _ in 0..6 {
            let thread = client.thread();
            client.request_ok("next", json!({"threadId": thread}));
            let event = client.wait_event_of(&["stopped", "exited"]);
            if event["event"] == "exited" {
                break;
            }
            let place = (client.top_line(), client.stack().len());
            assert_ne!(place, before, "{source}: `next` leaves the line");
            before = place;
        }
        client.disconnect();
    }
}

#[test]
fn out_of_inlined_calls() {
    run_with(
        "c/inline.c",
        Flags::of("c/inline.c"),
        &["innermost"],
        &[
            (Continue, "innermost"),
            (Next, "innermost_return"),
            (StepOut, "middle"),
            (Next, "middle_end"),
            (StepOut, "outer"),
            (Next, "outer_end"),
        ],
    );
}

#[test]
fn with_other_threads_under_way() {
    let fixture = Fixture::of("c/barrier.c");
    let mut client = DapClient::stopped_at(&fixture, "all_there");
    let thread = client.thread();
    for marker in ["second", "third", "release"] {
        client.next();
        client.expect_line(&fixture, marker);
        assert_eq!(client.thread(), thread);
    }
    // The barrier is passed only where the others may run meanwhile.
    client.next();
    client.set_breakpoints(&fixture, &["joined"]);
    client.continue_to(&fixture, "joined");
    client.disconnect();
}

#[test]
fn lines_that_are_one_inlined_call_are_lines() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if cfg!(target_arch = "aarch64") && compiler == Compiler::Clang {
            // There it sets the argument of the first call before it stores in both inlined ones.
            continue;
        }
        let flags = Flags::new(compiler).optimized("1");
        let Some(fixture) = Fixture::build("cpp/inlines.cpp", flags) else {
            continue;
        };
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({}));
        client.set_function_breakpoints(&["main"]);
        client.configure();
        client.expect_stopped("function breakpoint");
        if client.stack()[0]["line"] != fixture.line("first") {
            client.next();
        }
        for place in ["first", "second", "int", "double", "long", "third"] {
            client.expect_line(&fixture, place);
            assert_eq!(client.stack()[0]["name"], "main", "{compiler:?} {place}");
            client.next();
        }
        client.disconnect();
    }
}

#[test]
fn step_into_inlined_call_keeps_the_pc() {
    let flags = Flags::new(Compiler::Gcc).optimized("1");
    let fixture = Fixture::build("cpp/inlines.cpp", flags).expect("gcc is there");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["first"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.next();
    client.expect_line(&fixture, "second");
    client.step_in();
    assert_eq!(client.stack()[0]["name"], "touch");
    client.expect_line(&fixture, "inlined");
    client.step_out();
    assert_eq!(client.stack()[0]["name"], "main");
    client.disconnect();
}

#[test]
fn the_systems_functions_are_not_entered() {
    let fixture = Fixture::of("c/loop.c");
    let mut client = DapClient::stopped_at(&fixture, "print");
    client.step_in();
    client.expect_line(&fixture, "end");
    // After the closing brace, there is no more code to show.
    client.next();
    assert_eq!(client.stack()[0]["name"], "main");
    let thread = client.thread();
    client.request_ok("next", json!({"threadId": thread}));
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

/// Where `next` by `statement` stops, from a line on: lines and columns.
fn by_statements(settings: serde_json::Value, compiler: Compiler, steps: usize) -> Vec<(u64, u64)> {
    let Some(fixture) = Fixture::build("stepping/statements.c", Flags::new(compiler)) else {
        return Vec::new();
    };
    let mut client = DapClient::stopped_with(&fixture, "three", settings);
    let mut seen = Vec::new();
    for _ in 0..steps {
        let thread = client.thread();
        let step = json!({"threadId": thread, "granularity": "statement"});
        client.request_ok("next", step);
        client.expect_stopped("step");
        let frame = client.top_frame();
        let at = |name: &str| frame[name].as_u64().expect("a number");
        seen.push((at("line") - fixture.line("three"), at("column")));
    }
    client.disconnect();
    seen
}

#[test]
fn statement_steps_need_the_setting() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let lines = by_statements(json!({}), compiler, 2);
        let lines: Vec<u64> = lines.into_iter().map(|(line, _)| line).collect();
        assert!(
            lines.is_empty() || lines == [1, 2],
            "{compiler:?}: {lines:?}"
        );
        let finer = by_statements(json!({"statementSteps": true}), compiler, 7);
        if finer.is_empty() {
            continue;
        }
        assert_eq!(finer[..2], [(0, 10), (0, 15)], "{compiler:?}: b() and c()");
        assert!(
            finer[2..].iter().all(|(line, _)| *line == 1),
            "{compiler:?}: {finer:?}"
        );
        assert!(
            finer.contains(&(1, 33)),
            "{compiler:?}: the loop's body {finer:?}"
        );
    }
}

#[test]
fn into_a_message_enters_its_method() {
    for flags in matrix("c/sends.c") {
        // A runtime sends messages of its own on the way: `initialize`.
        let steps = [
            (Continue, "slow"),
            (StepIn, "add"),
            (StepOut, "slow"),
            (Next, "fast"),
            (StepIn, "add"),
            (StepOut, "fast"),
            (Next, "nil"),
            (StepIn, "hidden"),
            (StepIn, "caller"),
            // The method has no source, and what it calls is not what the line sends.
            (StepIn, "nested"),
            (StepIn, "twice"),
            (StepIn, "add"),
            (StepOut, "twice"),
            (StepOut, "nested"),
            (Next, "made"),
            (StepIn, "init"),
            (StepOut, "made"),
            (Next, "last"),
            (Next, "print"),
        ];
        run_with("c/sends.c", flags, &["slow"], &steps);
    }
}

#[test]
fn into_a_message_of_a_tail_call_enters_its_method() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("2");
        let steps = [(Continue, "tail"), (StepIn, "add")];
        run_with("c/sends.c", flags, &["tail"], &steps);
    }
}

#[test]
fn over_a_message_stays_in_its_function() {
    for flags in matrix("c/sends.c") {
        let steps = [
            (Continue, "slow"),
            (Next, "fast"),
            (Next, "nil"),
            (Next, "hidden"),
            (Next, "caller"),
            (Next, "nested"),
            (Next, "made"),
            (Next, "last"),
            (Next, "print"),
            (Next, "end"),
        ];
        run_with("c/sends.c", flags, &["slow"], &steps);
    }
}
