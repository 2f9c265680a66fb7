//! Steps back. The steps forward before them say where they must lead.

use super::{go, recorded, recorded_as, shown, step_back};
use serde_json::json;
use std::collections::BTreeMap;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// What a stop shows.
#[derive(PartialEq, Eq, Debug)]
struct Place {
    functions: Vec<String>,
    line: u64,
    locals: BTreeMap<String, String>,
}

fn place(client: &mut DapClient) -> Place {
    // What a call has returned is known only after it was stepped over.
    let mut locals = client.locals();
    locals.retain(|name, _| !name.starts_with('('));
    Place {
        functions: client.function_names(),
        line: client.top_line(),
        locals,
    }
}

/// Steps forward from a breakpoint, and then back as often: the same places, in reverse.
fn walk(source: &str, flags: Flags, from: &str, steps: usize) {
    let Some(fixture) = Fixture::build(source, flags) else {
        return;
    };
    eprintln!("{source} {flags:?}");
    let mut client = recorded(&fixture, from);
    client.set_breakpoints(&fixture, &[]);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    let mut passed = vec![place(&mut client)];
    for _ in 0..steps {
        client.next();
        passed.push(place(&mut client));
    }
    passed.pop();
    for (back, expected) in passed.iter().rev().enumerate() {
        step_back(&mut client);
        assert_eq!(&place(&mut client), expected, "{} back", back + 1);
    }
    client.disconnect();
}

const GCC: Flags = Flags::new(Compiler::Gcc);
const CLANG: Flags = Flags::new(Compiler::Clang);
const RUSTC: Flags = Flags::new(Compiler::Rustc);

#[test]
fn steps_back_in_c_pass_the_same_lines_and_values() {
    for flags in [GCC, CLANG] {
        walk("c/travel.c", flags, "round", 26);
        walk("c/travel.c", flags, "loop", 12);
    }
}

#[test]
fn steps_back_in_optimized_c_pass_the_same_lines() {
    walk("c/travel.c", GCC.optimized("2"), "round", 24);
    walk("c/travel.c", CLANG.optimized("2"), "round", 24);
}

#[test]
fn steps_back_in_cpp_pass_the_same_lines_and_values() {
    walk("cpp/travel.cpp", GCC, "made", 12);
}

#[test]
fn steps_back_in_rust_pass_the_same_lines_and_values() {
    walk("rust/travel.rs", RUSTC, "loop", 6);
}

#[test]
fn instructions_are_taken_back_one_by_one() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "added");
    let pc = |client: &mut DapClient| client.top_frame()["instructionPointerReference"].clone();
    let by_instruction = |client: &mut DapClient, request: &str| {
        let thread = client.thread();
        let step = json!({"threadId": thread, "granularity": "instruction"});
        client.request_ok(request, step);
        client.expect_stopped("step");
    };
    let mut passed = vec![pc(&mut client)];
    for _ in 0..12 {
        by_instruction(&mut client, "stepIn");
        passed.push(pc(&mut client));
    }
    passed.pop();
    for (back, expected) in passed.iter().rev().enumerate() {
        by_instruction(&mut client, "stepBack");
        assert_eq!(&pc(&mut client), expected, "{} back", back + 1);
    }
    client.disconnect();
}

#[test]
fn steps_from_the_past_lead_where_they_led_before() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded(&fixture, "call");
    // The condition, the increment, and the breakpoint again.
    for _ in 0..3 {
        go(&mut client, "next", &["step", "breakpoint"]);
    }
    assert_eq!(client.evaluate("i"), "1");
    for _ in 0..3 {
        step_back(&mut client);
    }
    client.expect_line(&fixture, "call");
    assert_eq!(client.evaluate("i"), "0");
    client.step_in();
    assert_eq!(client.function_names()[..2], ["add", "fill"]);
    client.step_out();
    assert_eq!(client.function_names()[..2], ["fill", "main"]);
    client.disconnect();
}

#[test]
fn loops_are_stepped_back_through_for_long() {
    /// The lines of two passes.
    const PERIOD: usize = 7;
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "fills", "filled");
    let mut passed = Vec::new();
    for _ in 0..110 {
        step_back(&mut client);
        let i: i64 = client.evaluate("i").parse().unwrap();
        passed.push((client.top_line(), i));
    }
    assert_eq!(passed[0], (fixture.line("loop"), 3999));
    for (later, earlier) in passed.iter().zip(&passed[PERIOD..]) {
        assert_eq!((later.0, later.1), (earlier.0, earlier.1 + 2));
    }
    client.disconnect();
}

#[test]
fn steps_through_a_call_without_a_stop_leave_no_trap_flag() {
    let fixture = Fixture::of("c/walk_world.c");
    let mut client = recorded(&fixture, "counted");
    // The first call becomes a jump: the recorder makes those after it without a stop.
    for _ in 0..3 {
        go(&mut client, "continue", &["breakpoint"]);
    }
    let step_in = |client: &mut DapClient| {
        let thread = client.thread();
        let step = json!({"threadId": thread, "granularity": "instruction"});
        client.request_ok("stepIn", step);
        client.expect_stopped("step");
        assert_eq!(client.evaluate("$rflags.TF"), "false");
        client.function_names().remove(0) == "files"
    };
    while step_in(&mut client) {}
    while !step_in(&mut client) {}
    step_back(&mut client);
    assert_eq!(client.evaluate("$rflags.TF"), "false");
    while step_in(&mut client) {}
    while !step_in(&mut client) {}
    client.disconnect();
}

/// The functions of the frames, and the line.
fn frames(client: &mut DapClient) -> (Vec<String>, u64) {
    (client.function_names(), client.top_line())
}

/// Steps over lines from a function on, and then back as often: the same frames and lines, in reverse.
fn walk_over(source: &str, flags: Flags, function: &str, steps: usize) {
    let Some(fixture) = Fixture::build(source, flags) else {
        return;
    };
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"record": true}));
    client.set_function_breakpoints(&[function]);
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    client.configure();
    client.expect_stopped("function breakpoint");
    client.set_function_breakpoints(&[]);
    let mut passed = vec![frames(&mut client)];
    for _ in 0..steps {
        client.next();
        passed.push(frames(&mut client));
    }
    // In optimized code, a breakpoint on a function may be where no step ends.
    let first = usize::from(flags.optimization != "0");
    for (back, pair) in passed.windows(2).enumerate().skip(first).rev() {
        let [(expected, line), (from, _)] = pair else {
            continue;
        };
        if expected.len() > from.len() {
            // Forward it has returned to the middle of a line, which a step back over goes back to the begin of.
            break;
        }
        step_back(&mut client);
        let came = frames(&mut client);
        let all = passed
            .iter()
            .map(|(frames, line)| format!("{}:{line}", frames[0]));
        let all: Vec<String> = all.collect();
        let wanted = (expected.clone(), *line);
        assert_eq!(
            came, wanted,
            "{source} {flags:?}: back to {back} of {all:?}"
        );
    }
    client.disconnect();
}

#[test]
fn steps_back_over_are_those_over_in_c() {
    for flags in [GCC, GCC.optimized("2"), CLANG, CLANG.optimized("2")] {
        walk_over("c/walk_calls.c", flags, "main", 24);
        walk_over("c/walk_calls.c", flags, "ack", 12);
        walk_over("c/walk_world.c", flags, "files", 24);
        walk_over("c/walk_world.c", flags, "pipes", 24);
    }
}

#[test]
fn steps_back_over_are_those_over_in_cpp() {
    for flags in [GCC, GCC.optimized("2"), CLANG, CLANG.optimized("2")] {
        walk_over("cpp/walk_exceptions.cpp", flags, "main", 7);
        walk_over("cpp/walk_exceptions.cpp", flags, "guarded", 3);
    }
}

#[test]
fn steps_back_over_are_those_over_in_rust() {
    for flags in [RUSTC, RUSTC.optimized("2")] {
        walk_over("rust/walk_values.rs", flags, "walk_values::main", 24);
        walk_over("rust/walk_values.rs", flags, "weigh", 16);
        walk_over("rust/walk_values.rs", flags, "checked", 5);
    }
}

#[test]
fn instruction_before_the_end_of_a_long_call_is_its_return() {
    let fixture = Fixture::of("c/travel.c");
    let mut client = recorded_as(&fixture, "spin", "after");
    let pc = |client: &mut DapClient| client.top_frame()["instructionPointerReference"].clone();
    let behind = pc(&mut client);
    // To step through 400 million rounds would take hours.
    shown(&mut client, ":reverse-step instruction");
    client.expect_stopped("step");
    assert_eq!(client.function_names()[..2], ["spin", "with_spin"]);
    assert_eq!(client.evaluate("spins"), "79999999800000000");
    let thread = client.thread();
    let step = json!({"threadId": thread, "granularity": "instruction"});
    client.request_ok("stepIn", step);
    client.expect_stopped_by(&["step", "breakpoint"]);
    assert_eq!(pc(&mut client), behind);
    shown(&mut client, ":reverse-next instruction");
    client.expect_stopped("step");
    assert_eq!(client.function_names()[0], "with_spin");
    assert_eq!(client.evaluate("spins"), "0");
    client.disconnect();
}
