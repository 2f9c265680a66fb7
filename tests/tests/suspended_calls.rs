//! Functions called from the console that stop before they return: the evaluation is over, the
//! frames stay, and the thread comes back to where it was when the function ends.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::io::Write;
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, MACHINE};

const CALLED: &str = "<function called from the console>";

/// A program that has stopped at a marked line, with breakpoints at other ones.
fn stopped_at(fixture: &Fixture, marker: &str, breakpoints: &[&str]) -> DapClient {
    let mut client = DapClient::stopped_at(fixture, marker);
    client.set_breakpoints(fixture, breakpoints);
    client
}

/// Types an expression on the console, in the innermost frame.
fn typed(client: &mut DapClient, expression: &str) -> Result<String, String> {
    let frame = client.top_frame()["id"].clone();
    typed_in(client, frame, expression)
}

fn typed_in(client: &mut DapClient, frame: Value, expression: &str) -> Result<String, String> {
    let arguments = json!({"expression": expression, "frameId": frame, "context": "repl"});
    match client.request("evaluate", arguments) {
        Ok(body) => Ok(body["result"].as_str().unwrap_or_default().to_owned()),
        Err(error) => Err(error["body"]["error"]["format"]
            .as_str()
            .unwrap_or_default()
            .to_owned()),
    }
}

/// Types a call that comes to a breakpoint at a marked line.
fn call_stops(client: &mut DapClient, fixture: &Fixture, call: &str, marker: &str) -> Value {
    let why = typed(client, call).expect_err("it stops");
    let file = fixture.source.file_name().unwrap().to_string_lossy();
    let place = format!("at a breakpoint at {file}:{}", fixture.line(marker));
    assert!(
        why.contains(&format!(
            "`{call}` stopped {place}, so the expression has no value"
        )),
        "{why}"
    );
    let stop = client.expect_stopped("breakpoint");
    assert_eq!(stop["hitBreakpointIds"].as_array().map(Vec::len), Some(1));
    client.expect_line(fixture, marker);
    stop
}

/// Waits for the stop at the end of a called function; returns its text.
fn expect_back(client: &mut DapClient) -> String {
    let stop = client.expect_stopped("step");
    assert_eq!(
        stop["description"],
        "function called from the console has ended"
    );
    stop["text"].as_str().unwrap_or_default().to_owned()
}

/// Begins a step out of the called function.
fn step_out(client: &mut DapClient) {
    let thread = client.thread();
    client.request_ok("stepOut", json!({"threadId": thread}));
}

/// Returns the state of a frame that must be the same before and after a call.
fn machine(client: &mut DapClient) -> Vec<String> {
    let registers = MACHINE.all.iter();
    registers
        .map(|register| client.evaluate(&format!("${register}")))
        .collect()
}

#[test]
fn call_stops_and_returns_to_its_origin() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        for optimization in ["0", "1"] {
            let flags = Flags::new(compiler).optimized(optimization);
            let Some(fixture) = Fixture::build("c/called_stops.c", flags) else {
                continue;
            };
            let mut client = stopped_at(&fixture, "round", &["outer"]);
            let before = (client.function_names(), machine(&mut client));
            call_stops(&mut client, &fixture, "outer(20)", "outer");
            let frames = client.stack();
            let names: Vec<&str> = frames.iter().filter_map(|it| it["name"].as_str()).collect();
            assert_eq!(names[..3], ["outer", CALLED, "main"], "{names:?}");
            assert_eq!(frames[1]["presentationHint"], "label");
            assert_eq!(frames[1]["source"], Value::Null);
            assert_eq!(frames[2]["line"], fixture.line("round"));
            if optimization == "0" {
                assert_eq!(client.evaluate("first"), "40");
                assert_eq!(client.evaluate("x"), "20");
                let caller = typed_in(&mut client, frames[2]["id"].clone(), "rounds + i");
                assert_eq!(caller.as_deref(), Ok("3"));
            }
            // Its frames are walked through as any others.
            client.next();
            client.continue_();
            assert_eq!(expect_back(&mut client), "`outer` has returned 41");
            assert!(
                client
                    .output("console")
                    .contains("`outer` has returned 41\n")
            );
            assert_eq!((client.function_names(), machine(&mut client)), before);
            client.continue_();
            assert_eq!(client.expect_exit(), 0);
            assert!(client.output("stdout").ends_with("6 4.5625 1\n"));
            client.disconnect();
        }
    }
}

#[test]
fn a_step_out_of_the_called_function_ends_it() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &["inner"]);
    let before = machine(&mut client);
    call_stops(&mut client, &fixture, "inner(5)", "inner");
    step_out(&mut client);
    assert_eq!(expect_back(&mut client), "`inner` has returned 10");
    client.expect_line(&fixture, "round");
    assert_eq!(machine(&mut client), before);
    // Line by line, and one instruction at a time.
    for (command, granularity) in [
        ("next", "line"),
        ("stepIn", "line"),
        ("stepIn", "instruction"),
    ] {
        call_stops(&mut client, &fixture, "inner(6)", "inner");
        let mut ended = false;
        for _ in 0..20 {
            let thread = client.thread();
            client.request_ok(
                command,
                json!({"threadId": thread, "granularity": granularity}),
            );
            let stop = client.expect_stopped("step");
            if stop["text"] == "`inner` has returned 12" {
                ended = true;
                break;
            }
        }
        assert!(ended, "{command} by {granularity}");
        assert_eq!(machine(&mut client), before, "{command} by {granularity}");
    }
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("6 4.5625 0\n"));
    client.disconnect();
}

#[test]
fn a_call_at_the_stop_of_a_call_stops_as_well() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &["outer", "scaled", "wide"]);
    let before = machine(&mut client);
    call_stops(&mut client, &fixture, "outer(20)", "outer");
    let in_outer = machine(&mut client);
    // One that returns, without an effect on the ones that have not.
    assert_eq!(typed(&mut client, "inner(first)").as_deref(), Ok("80"));
    assert_eq!(machine(&mut client), in_outer);
    call_stops(&mut client, &fixture, "scaled(1.5, 4.0)", "scaled");
    call_stops(&mut client, &fixture, "wide_of(both)", "wide");
    assert_eq!(
        client.function_names()[..7],
        ["wide_of", CALLED, "scaled", CALLED, "outer", CALLED, "main"]
    );
    client.continue_();
    let text = expect_back(&mut client);
    assert!(text.starts_with("`wide_of` has returned {"), "{text}");
    assert!(text.contains('6') && text.contains("10"), "{text}");
    client.expect_line(&fixture, "scaled");
    assert_eq!(client.evaluate("both"), "6");
    step_out(&mut client);
    assert_eq!(expect_back(&mut client), "`scaled` has returned 6");
    client.expect_line(&fixture, "outer");
    assert_eq!(machine(&mut client), in_outer);
    client.continue_();
    assert_eq!(expect_back(&mut client), "`outer` has returned 41");
    assert_eq!(machine(&mut client), before);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("6 4.5625 1\n"));
    client.disconnect();
}

/// In a call from the console, breakpoints work as in the program: hit counts, log messages,
/// conditions.
#[test]
fn breakpoints_in_a_console_call_count_and_log() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &[]);
    let third = json!({"hitCondition": "3"});
    client.set_breakpoints_with(&fixture, vec![("inner", third)]);
    for _ in 0..2 {
        assert_eq!(typed(&mut client, "inner(1)").as_deref(), Ok("2"));
    }
    call_stops(&mut client, &fixture, "inner(1)", "inner");
    client.continue_();
    expect_back(&mut client);
    let says = json!({"logMessage": "seen {x}"});
    client.set_breakpoints_with(&fixture, vec![("inner", says)]);
    assert_eq!(typed(&mut client, "outer(7)").as_deref(), Ok("15"));
    assert_eq!(client.output("console").matches("seen 7\n").count(), 1);
    let not = json!({"condition": "x == 9"});
    client.set_breakpoints_with(&fixture, vec![("inner", not)]);
    assert_eq!(typed(&mut client, "inner(8)").as_deref(), Ok("16"));
    call_stops(&mut client, &fixture, "inner(9)", "inner");
    client.continue_();
    expect_back(&mut client);
    // A condition that calls a function itself.
    let asks = json!({"condition": "scaled(2.0, 3.0) + x == 10.0"});
    client.set_breakpoints_with(&fixture, vec![("inner", asks)]);
    assert_eq!(typed(&mut client, "inner(3)").as_deref(), Ok("6"));
    call_stops(&mut client, &fixture, "inner(4)", "inner");
    client.continue_();
    assert_eq!(expect_back(&mut client), "`inner` has returned 8");
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("6 4.5625 1\n"));
    client.disconnect();
}

/// Hits that the program counts by itself.
#[test]
fn in_process_count_stops_a_console_call() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["5000"]}));
    let hits = json!({"hitCondition": "4002"});
    let late = json!({"condition": "i == 4000"});
    client.set_breakpoints_with(&fixture, vec![("inner", hits), ("round", late)]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "round");
    assert_eq!(typed(&mut client, "inner(1)").as_deref(), Ok("2"));
    call_stops(&mut client, &fixture, "inner(2)", "inner");
    client.continue_();
    assert_eq!(expect_back(&mut client), "`inner` has returned 4");
    client.expect_line(&fixture, "round");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn a_long_jump_out_of_the_call_ends_it() {
    let fixture = Fixture::of("c/called_stops.c");
    let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["3", "wait"]);
    debuggee.read_line();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints(&fixture, &["round"]);
    client.configure();
    input.write_all(b"\n").expect("it reads");
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &["leave", "inner"]);
    call_stops(&mut client, &fixture, "leave()", "leave");
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "inner");
    assert!(!client.function_names().contains(&CALLED.to_owned()));
    // Nothing is put back that has been left.
    client.disconnect();
    assert_eq!(debuggee.read_line(), "left");
    assert_eq!(debuggee.read_line(), "6 4.5625 100");
}

#[test]
fn exit_or_exec_during_a_console_call() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &["becomes"]);
    call_stops(&mut client, &fixture, "becomes()", "becomes");
    client.continue_();
    assert_eq!(client.expect_exit(), 1);
    client.disconnect();
    let mut client = stopped_at(&fixture, "round", &["inner"]);
    call_stops(&mut client, &fixture, "inner(1)", "inner");
    // Where the C library has no debug info, the type of `exit` is unknown.
    typed(&mut client, "((void (*)(int))exit)(7)").expect_err("it ends");
    assert_eq!(client.expect_exit(), 7);
    client.disconnect();
}

/// A child has no thread to put back, and must not run the program from its entry point.
#[test]
fn child_forked_in_a_call_does_not_restart() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &["forks"]);
    call_stops(&mut client, &fixture, "forks()", "forks");
    client.continue_();
    expect_back(&mut client);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("stdout");
    assert!(output.ends_with("child 5\n6 4.5625 0\n"), "{output}");
    assert_eq!(output.matches("ready").count(), 1, "{output}");
    client.disconnect();
}

#[test]
fn detach_restores_the_thread_of_a_suspended_call() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler).optimized("1");
        let Some(fixture) = Fixture::build("c/called_stops.c", flags) else {
            continue;
        };
        // In the middle of a system call, or of the program's own code.
        for is_waiting in [true, false] {
            let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["3", "wait"]);
            debuggee.read_line();
            let before = process::text_bytes(debuggee.pid(), &fixture.program);
            let mut client = DapClient::spawn();
            client.attach(debuggee.pid(), json!({"stopOnEntry": true}));
            client.configure();
            client.expect_stopped("entry");
            if !is_waiting {
                client.set_breakpoints(&fixture, &["round"]);
                client.continue_();
                input.write_all(b"\n").expect("it reads");
                client.expect_stopped("breakpoint");
            }
            client.set_breakpoints(&fixture, &["outer", "scaled"]);
            call_stops(&mut client, &fixture, "outer(20)", "outer");
            call_stops(&mut client, &fixture, "scaled(1.0, 2.0)", "scaled");
            client.disconnect();
            if is_waiting {
                assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
                input.write_all(b"\n").expect("it reads");
            }
            assert_eq!(debuggee.read_line(), "6 4.5625 0");
        }
    }
}

/// The adapter's death ends the session in order.
#[test]
fn adapter_death_restores_suspended_calls() {
    let fixture = Fixture::of("c/called_stops.c");
    let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["3", "wait"]);
    debuggee.read_line();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({"stopOnEntry": true}));
    client.configure();
    client.expect_stopped("entry");
    client.set_breakpoints(&fixture, &["outer"]);
    call_stops(&mut client, &fixture, "outer(20)", "outer");
    process::send_signal(client.adapter_pid(), Signal::SIGKILL);
    input.write_all(b"\n").expect("it reads");
    assert_eq!(debuggee.read_line(), "6 4.5625 0");
}

/// Also out of a function that has crashed.
#[test]
fn a_call_can_be_abandoned() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &["inner", "crash"]);
    let before = machine(&mut client);
    let none = typed(&mut client, ":abandon").expect_err("there is no call");
    assert!(none.contains("no call from the console"), "{none}");
    call_stops(&mut client, &fixture, "inner(5)", "inner");
    let in_inner = machine(&mut client);
    call_stops(&mut client, &fixture, "crash(0)", "crash");
    client.continue_();
    client.expect_stopped("exception");
    typed(&mut client, ":abandon").expect("the call is given up");
    let text = expect_back(&mut client);
    assert!(
        text.contains("`crash` did not return; call aborted"),
        "{text}"
    );
    assert_eq!(machine(&mut client), in_inner);
    typed(&mut client, ":abandon").expect("the call is given up");
    expect_back(&mut client);
    assert_eq!(machine(&mut client), before);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("6 4.5625 1\n"));
    client.disconnect();
}

#[test]
fn watches_skip_breakpoints_at_the_stop_of_a_call() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &["outer", "inner"]);
    call_stops(&mut client, &fixture, "inner(5)", "inner");
    let frame = client.top_frame()["id"].clone();
    let watched = client.request_ok(
        "evaluate",
        json!({"expression": "outer(x)", "frameId": frame, "context": "watch"}),
    );
    assert_eq!(watched["result"], "11");
    client.expect_line(&fixture, "inner");
    step_out(&mut client);
    assert_eq!(expect_back(&mut client), "`inner` has returned 10");
    client.disconnect();
}

#[test]
fn ids_from_before_the_stop_are_stale() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &["inner"]);
    let before = client.top_frame()["id"].clone();
    call_stops(&mut client, &fixture, "inner(5)", "inner");
    client
        .request("scopes", json!({"frameId": before}))
        .expect_err("the frame is another one");
    client.disconnect();
}

#[test]
fn frames_behind_a_call_cannot_be_restarted() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &["outer"]);
    call_stops(&mut client, &fixture, "outer(20)", "outer");
    let frames = client.stack();
    assert_eq!(frames[1]["canRestart"], false);
    let why = client.request_error("restartFrame", json!({"frameId": frames[2]["id"]}));
    assert!(why.contains("call from the console"), "{why}");
    // The called function can.
    client.request_ok("restartFrame", json!({"frameId": frames[0]["id"]}));
    client.expect_stopped("restart");
    client.continue_();
    client.expect_stopped("breakpoint");
    client.continue_();
    assert_eq!(expect_back(&mut client), "`outer` has returned 41");
    client.disconnect();
}

#[test]
fn methods_stop_and_their_exceptions_end_the_call() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        let Some(fixture) = Fixture::build("cpp/called_stops.cpp", flags) else {
            continue;
        };
        let mut client = stopped_at(&fixture, "refused", &["add", "refuse", "name"]);
        let before = machine(&mut client);
        call_stops(&mut client, &fixture, "account.add(5)", "add");
        assert_eq!(client.evaluate("balance"), "16");
        step_out(&mut client);
        assert_eq!(expect_back(&mut client), "`Account::add` has returned 16");
        call_stops(&mut client, &fixture, "account.refuse(title)", "refuse");
        assert_eq!(client.evaluate("why"), "\"account \"");
        client.continue_();
        let text = expect_back(&mut client);
        assert!(
            text.contains("threw an exception that it does not catch"),
            "{text}"
        );
        assert_eq!(machine(&mut client), before);
        client.set_breakpoints(&fixture, &[]);
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        // 11, and the balance of 16 that two refusals have taken from.
        assert!(client.output("stdout").ends_with("25 at 14\n"));
        client.disconnect();
    }
}

#[test]
fn a_rust_function_stops() {
    let fixture = Fixture::of("rust/called_stops.rs");
    let mut client = stopped_at(&fixture, "begin", &["triple", "both"]);
    let before = machine(&mut client);
    call_stops(&mut client, &fixture, "triple(7)", "triple");
    assert_eq!(client.function_names()[1], CALLED);
    assert_eq!(client.evaluate("result"), "14");
    step_out(&mut client);
    let text = expect_back(&mut client);
    assert!(text.ends_with("has returned 21"), "{text}");
    assert_eq!(machine(&mut client), before);
    client.set_breakpoints(&fixture, &["both"]);
    call_stops(&mut client, &fixture, "both(3, 9.0)", "both");
    client.continue_();
    let text = expect_back(&mut client);
    assert!(text.contains('9') && text.contains("4.5"), "{text}");
    assert_eq!(machine(&mut client), before);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("9 (12, 2.5)\n"));
    client.disconnect();
}

#[test]
fn one_thread_of_a_non_stop_session_stops_in_a_call() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = DapClient::stopped_with(&fixture, "round", json!({"nonStop": true}));
    client.set_breakpoints(&fixture, &["outer"]);
    let before = machine(&mut client);
    call_stops(&mut client, &fixture, "outer(20)", "outer");
    client.continue_();
    assert_eq!(expect_back(&mut client), "`outer` has returned 41");
    assert_eq!(machine(&mut client), before);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("6 4.5625 1\n"));
    client.disconnect();
}

#[test]
fn function_and_hardware_breakpoints_stop_a_call() {
    let fixture = Fixture::of("c/called_stops.c");
    let mut client = stopped_at(&fixture, "round", &[]);
    let before = machine(&mut client);
    client.set_function_breakpoints(&["inner"]);
    typed(&mut client, "inner(3)").expect_err("it stops");
    client.expect_stopped("function breakpoint");
    client.continue_();
    assert_eq!(expect_back(&mut client), "`inner` has returned 6");
    client.set_function_breakpoints(&[]);
    let hardware = json!({"mode": "hardware"});
    client.set_breakpoints_with(&fixture, vec![("inner", hardware)]);
    call_stops(&mut client, &fixture, "inner(4)", "inner");
    client.continue_();
    assert_eq!(expect_back(&mut client), "`inner` has returned 8");
    assert_eq!(machine(&mut client), before);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("6 4.5625 0\n"));
    client.disconnect();
}

/// The signal belongs to the called function, and is not delivered to the program.
#[test]
fn detach_after_crash_in_a_call_spares_the_program() {
    let fixture = Fixture::of("c/called_stops.c");
    let (debuggee, mut input) = Debuggee::start_with_input(&fixture, &["3", "wait"]);
    debuggee.read_line();
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({"stopOnEntry": true}));
    client.configure();
    client.expect_stopped("entry");
    client.set_breakpoints(&fixture, &["crash"]);
    call_stops(&mut client, &fixture, "crash(0)", "crash");
    client.continue_();
    client.expect_stopped("exception");
    client.disconnect();
    input.write_all(b"\n").expect("it reads");
    assert_eq!(debuggee.read_line(), "6 4.5625 1");
}

/// Continued from its stop, the function has all threads with it.
#[test]
fn other_threads_run_with_a_call_that_has_stopped() {
    let fixture = Fixture::of("c/called_threads.c");
    let mut client = stopped_at(&fixture, "stop", &["await"]);
    let (thread, before) = (client.thread(), machine(&mut client));
    for _ in 0..5 {
        call_stops(&mut client, &fixture, "await_beats(1000)", "await");
        client.continue_();
        assert_eq!(expect_back(&mut client), "`await_beats` has returned 1000");
        assert_eq!(client.thread(), thread);
        assert_eq!(machine(&mut client), before);
    }
    // Another thread stops, and the program while the function waits.
    call_stops(
        &mut client,
        &fixture,
        "await_beats(4000000000000000000)",
        "await",
    );
    client.set_breakpoints(&fixture, &["beat"]);
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_ne!(client.thread(), thread);
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    client.pause();
    client.select_thread(thread);
    assert_eq!(
        client.function_names()[..3],
        ["await_beats", CALLED, "main"]
    );
    // It may not have come as far as to use the first.
    client.evaluate("more = 0");
    client.evaluate("until = 0");
    client.continue_();
    let text = expect_back(&mut client);
    assert!(text.starts_with("`await_beats` has returned "), "{text}");
    assert_eq!(client.thread(), thread);
    assert_eq!(machine(&mut client), before);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").ends_with("5\n"));
    client.disconnect();
}
