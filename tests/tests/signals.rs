//! Signals: which stop, which the program gets, and that nothing else is disturbed by us.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture, process};

fn launched(fixture: &Fixture, args: &[&str], signals: Value) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": args, "signals": signals}));
    client
}

#[test]
fn signals_that_the_setting_names_stop() {
    let fixture = Fixture::of("c/signal_kinds.c");
    let mut client = launched(&fixture, &["usr1"], json!({"SIGUSR1": {"stop": true}}));
    client.configure();
    let stop = client.expect_stopped("exception");
    assert_eq!(stop["description"], "signal SIGUSR1");
    assert_eq!(stop["text"], "SIGUSR1 from the program itself");
    assert_eq!(client.evaluate("$exception"), "10");
    client.continue_();
    assert_eq!(client.expect_exit(), 128 + 10);
    client.disconnect();
}

#[test]
fn discarded_signals_are_not_delivered() {
    let fixture = Fixture::of("c/signal_kinds.c");
    for (args, rule) in [
        ("usr1", json!({"USR1": {"pass": false, "stop": true}})),
        ("int", json!({"SIGINT": {"pass": false, "print": true}})),
    ] {
        let stops = rule.get("USR1").is_some();
        let mut client = launched(&fixture, &[args], rule);
        client.configure();
        if stops {
            client.expect_stopped("exception");
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout"), "survived\n");
        let output = client.output("console");
        if !stops {
            let note = "SIGINT from the program itself: discarded (thread ";
            assert!(output.contains(note), "{output}");
        }
        client.disconnect();
    }
}

#[test]
fn fatal_signal_need_not_stop() {
    let fixture = Fixture::of("c/signals.c");
    let mut client = launched(&fixture, &["abort"], json!({"SIGABRT": {"stop": false}}));
    client.configure();
    assert_eq!(client.expect_exit(), 128 + 6);
    client.disconnect();
}

#[test]
fn mistakes_in_the_setting_are_named() {
    let fixture = Fixture::of("c/signal_kinds.c");
    for (signals, part) in [
        (json!({"SIGFOO": {"stop": true}}), "SIGFOO"),
        (json!({"SIGUSR1": {"halt": true}}), "halt"),
        (json!({"SIGUSR1": 5}), "signals"),
    ] {
        let mut client = DapClient::spawn();
        client.initialize();
        let settings = json!({"program": fixture.program, "signals": signals});
        let error = client.request_error("launch", settings);
        assert!(error.contains(part), "{error}");
        client.disconnect();
    }
}

#[test]
fn signal_filter_ignores_everyday_signals() {
    let fixture = Fixture::of("c/signal_kinds.c");
    for (args, filters, stops) in [
        ("usr1", json!({"filters": ["signals"]}), true),
        ("usr1", json!({"filters": ["SIGUSR1"]}), true),
        ("usr1", json!({"filters": ["SIGUSR2"]}), false),
        ("children", json!({"filters": ["signals"]}), false),
        ("usr1", option("SIGUSR2, USR1"), true),
        ("usr1", option("SIGRT*"), false),
        ("usr1", option("$exception == 10"), true),
        ("usr1", option("$exception == 11"), false),
    ] {
        let mut client = launched(&fixture, &[args], json!({}));
        let set = client.request_ok("setExceptionBreakpoints", filters.clone());
        let set = &set["breakpoints"][0];
        assert_eq!(set["verified"], true);
        client.configure();
        if stops {
            let stop = client.expect_stopped("exception");
            assert_eq!(stop["hitBreakpointIds"], json!([set["id"]]), "{filters}");
            client.continue_();
        }
        let dead = if args == "usr1" { 128 + 10 } else { 0 };
        assert_eq!(client.expect_exit(), dead, "{filters}");
        client.disconnect();
    }
}

fn option(condition: &str) -> Value {
    json!({"filterOptions": [{"filterId": "signals", "condition": condition}]})
}

/// The value sent with a real-time signal arrives, whether the signal stops the program or not.
#[test]
fn values_of_signals_are_kept() {
    let fixture = Fixture::of("c/signal_kinds.c");
    for stops in [false, true] {
        let mut client = launched(
            &fixture,
            &["value"],
            json!({"SIGRTMIN+3": {"stop": stops, "print": true}}),
        );
        client.set_breakpoints(&fixture, &["value"]);
        client.configure();
        for value in 1000..1003 {
            if stops {
                let stop = client.expect_stopped("exception");
                assert_eq!(stop["description"], "signal SIGRTMIN+3");
                // Calls take the thread out of the signal's stop.
                assert_eq!(client.evaluate("answer(41)"), "42");
                client.continue_();
            }
            client.expect_stopped("breakpoint");
            let sent = client.evaluate("info->_sifields._rt.si_sigval.sival_int");
            assert_eq!(sent, value.to_string());
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout"), "value 1002\n");
        client.disconnect();
    }
}

#[test]
fn wait_for_children_works() {
    let fixture = Fixture::of("c/signal_kinds.c");
    let (client, code) = DapClient::run_to_end(&fixture, json!({"args": ["children"]}));
    assert_eq!(code, 0);
    assert_eq!(client.output("stdout"), "children 3\n");
    client.disconnect();
}

/// A timer that fires all the time: steps end where they should, and the program gets its ticks.
#[test]
fn steps_under_a_storm_of_signals() {
    let fixture = Fixture::of("c/signal_kinds.c");
    let mut client = launched(&fixture, &["storm"], json!({}));
    client.set_breakpoints(&fixture, &["first"]);
    client.configure();
    client.expect_stopped("breakpoint");
    client.next();
    client.expect_line(&fixture, "second");
    client.step_in();
    client.expect_line(&fixture, "work");
    client.next();
    client.expect_line(&fixture, "loop");
    client.step_out();
    client.expect_line(&fixture, "second");
    client.next();
    client.expect_line(&fixture, "third");
    client.next();
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").starts_with("ticks 1 "));
    client.disconnect();
}

/// Breakpoints of another thread, steps and pauses do not interrupt a thread's system call.
#[test]
fn system_calls_are_not_interrupted_by_stops() {
    let fixture = Fixture::of("c/interrupted.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_breakpoints(&fixture, &["beat"]);
    client.configure();
    for _ in 0..3 {
        client.expect_stopped("breakpoint");
        client.next();
        client.continue_();
    }
    client.expect_stopped("breakpoint");
    client.set_breakpoints(&fixture, &[]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "done\n", "interrupted");
    client.disconnect();
}

#[test]
fn system_calls_are_not_interrupted_by_pauses() {
    let fixture = Fixture::of("c/interrupted.c");
    let mut client = launched(&fixture, &["wait"], json!({}));
    let message = json!({"logMessage": "beat {number}"});
    client.set_breakpoints_with(&fixture, vec![("beat", message)]);
    client.configure();
    client.wait_event_where("output", |body| body["output"] == "beat 3\n");
    for _ in 0..3 {
        client.pause();
        client.continue_();
    }
    process::send_signal(client.debuggee_pid(), Signal::SIGUSR1);
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "done\n", "interrupted");
    client.disconnect();
}

/// A signal that arrives while the program is stopped at a breakpoint: its handler runs first, and
/// the step has the same result as without it.
#[test]
fn a_signal_at_a_breakpoint_is_handled_within_the_step() {
    let fixture = Fixture::of("c/signals.c");
    let mut client = DapClient::stopped_at(&fixture, "handled");
    process::send_signal(client.debuggee_pid(), Signal::SIGUSR1);
    client.next();
    assert_eq!(client.top_line(), fixture.line("handled") + 1);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "handled 10\n");
    client.disconnect();
}

/// A trap that the program contains for debuggers is reported as a stop, with exception info.
#[test]
fn traps_of_the_program_are_explained() {
    let fixture = Fixture::of("c/signal_kinds.c");
    let mut client = launched(&fixture, &["trap"], json!({}));
    client.configure();
    let stop = client.expect_stopped("exception");
    assert_eq!(stop["description"], "signal SIGTRAP");
    let thread = client.thread();
    let info = client.request_ok("exceptionInfo", json!({"threadId": thread}));
    assert_eq!(info["exceptionId"], "SIGTRAP");
    assert_eq!(info["description"], stop["text"]);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}
