//! Fast breakpoints: exact, and invisible to the program. Each of these tests hits a line so often
//! that stopping at each hit would take minutes.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// Far more than could be stopped at.
const MANY: u64 = 3_000_000;

fn with(fixture: &Fixture, what: &str, condition: Value) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": [what, MANY.to_string()]}));
    client.set_breakpoints_with(fixture, vec![("hit", condition)]);
    client.configure();
    client
}

/// All ways to compile it; two, if `$STILLPOINT_BUILDS` is `few`, as on emulated machines.
fn everywhere() -> Vec<Fixture> {
    let mut all = Vec::new();
    for level in ["0", "1", "2"] {
        all.extend([(Compiler::Gcc, level), (Compiler::Clang, level)]);
    }
    if std::env::var_os("STILLPOINT_BUILDS").is_some_and(|it| it == "few") {
        all.retain(|it| [(Compiler::Clang, "0"), (Compiler::Gcc, "2")].contains(it));
    }
    let flags = all.into_iter();
    flags
        .map(|(compiler, level)| Flags::new(compiler).optimized(level))
        .filter_map(|flags| Fixture::build("c/jump_patches.c", flags))
        .collect()
}

#[test]
fn all_hits_are_counted() {
    for fixture in everywhere() {
        let last = json!({"hitCondition": MANY.to_string()});
        let mut client = with(&fixture, "once", last);
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, "hit");
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(
            client.output("stdout"),
            format!("sum {}\n", MANY * (MANY - 1) / 2)
        );
        client.disconnect();
    }
}

#[test]
fn pause_at_any_pc_counts_each_hit_once() {
    const HITS: u64 = 40_000_000;
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["once", HITS.to_string()]}));
    let last = json!({"hitCondition": HITS.to_string()});
    client.set_breakpoints_with(&fixture, vec![("hit", last)]);
    client.configure();
    client.wait_for_jump_patch();
    assert_ne!(client.pause_repeatedly(100), 0);
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("i"), (HITS - 1).to_string());
    client.disconnect();
}

#[test]
fn hit_condition_stops_at_the_right_hits() {
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = with(&fixture, "once", json!({"hitCondition": "% 1000000"}));
    for million in 1..=3 {
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, "hit");
        assert_eq!(client.evaluate("i"), (million * 1_000_000 - 1).to_string());
        assert_eq!(client.function_names()[..2], ["pass", "main"]);
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn stop_at_a_jump_patch_shows_original_state() {
    for fixture in everywhere() {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["on", "1000000000"]}));
        client.set_function_breakpoints(&["pass"]);
        client.configure();
        client.expect_stopped("function breakpoint");
        let code = "*(unsigned char *)pass@96";
        let before = client.evaluate(code);
        client.set_function_breakpoints(&[]);
        client.set_breakpoints_with(
            &fixture,
            vec![("hit", json!({"hitCondition": "> 2000000000"}))],
        );
        client.continue_();
        for _ in 0..12 {
            client.pause();
            let names = client.function_names();
            assert!(names.starts_with(&["pass".into()]), "{names:?}");
            assert!(names.contains(&"main".into()), "{names:?}");
            assert_eq!(client.evaluate(code), before);
            // From wherever that is, one instruction after the other.
            for _ in 0..6 {
                let thread = client.thread();
                client.request_ok(
                    "stepIn",
                    json!({"threadId": thread, "granularity": "instruction"}),
                );
                client.expect_stopped("step");
                assert_eq!(client.function_names()[0], "pass");
            }
            client.next();
            assert_eq!(client.function_names()[0], "pass");
            client.continue_();
        }
        client.disconnect_with(json!({"terminateDebuggee": true}));
    }
}

/// Runs a fixture whose signal handler counts interrupted addresses outside of its program.
#[track_caller]
fn nothing_is_strange(args: [&str; 2], marker: &str) {
    for fixture in everywhere() {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": args}));
        let never = json!({"hitCondition": "> 3000000000"});
        client.set_breakpoints_with(&fixture, vec![(marker, never)]);
        client.configure();
        assert_eq!(client.expect_exit(), 0);
        let output = client.output("stdout");
        assert!(output.contains(", strange 0\n"), "{output}");
        client.disconnect();
    }
}

#[test]
fn signal_handlers_see_no_jump_patch() {
    nothing_is_strange(["timer", &(10 * MANY).to_string()], "hit");
}

/// The signal that comes next finds the thread in the copy of an instruction that takes long, and
/// has to be the program's again in its own place. Whenever the breakpoint is another one, there is
/// a jump again.
#[test]
fn signal_handlers_see_no_relocated_instruction() {
    for fixture in everywhere() {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["fill", "1000000000"]}));
        let mut among_them = 0;
        for round in 0..8 {
            let never = json!({"hitCondition": format!("> {}", 3_000_000_000_u64 + round)});
            let fill = ("fill", never);
            client.set_breakpoints_with(&fixture, vec![fill.clone()]);
            match round {
                0 => client.configure(),
                _ => client.continue_(),
            }
            client.wait_for_jump_patch();
            client.set_breakpoints_with(&fixture, vec![fill, ("ticked", json!({}))]);
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, "ticked");
            assert_eq!(client.evaluate("strange"), "0");
            among_them += usize::from(client.function_names().contains(&"fill".to_owned()));
        }
        assert!(among_them > 0, "{:?}", fixture.program);
        client.disconnect_with(json!({"terminateDebuggee": true}));
    }
}

/// A thread is inside the instructions that a jump would cover when the jump is first tried.
/// A jump of aarch64 covers one instruction, which has no inside.
#[cfg(target_arch = "x86_64")]
#[test]
fn jump_waits_for_a_thread_inside_its_bytes() {
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["inside", MANY.to_string()]}));
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    let last = json!({"hitCondition": (1 + 200 + MANY).to_string()});
    client.set_breakpoints_with(&fixture, vec![("touch", last)]);
    client.configure();
    client.expect_stopped("exception");
    client.expect_line(&fixture, "touch");
    client.continue_();
    client.wait_event_where("breakpoint", |event| {
        let message = event["breakpoint"]["message"].as_str();
        message.is_some_and(|it| it.contains("a thread's stack returns into the bytes of the jump"))
    });
    client.wait_for_jump_patch();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "touch");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

/// A handler comes by the line where its own interrupted frame is in the midst of it.
#[test]
fn interrupted_thread_returns_into_its_line() {
    nothing_is_strange(["within", "50000000"], "long");
}

#[test]
fn pause_in_a_condition_keeps_vector_registers() {
    const HALVES: u64 = 30_000_000;
    for fixture in everywhere() {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["halves", HALVES.to_string()]}));
        let never = json!({"condition": "two * 1.5 + 0.25 < 0.0"});
        client.set_breakpoints_with(&fixture, vec![("halves", never)]);
        client.configure();
        client.wait_for_jump_patch();
        assert_ne!(client.pause_repeatedly(40), 0);
        assert_eq!(client.expect_exit(), 0);
        let output = client.output("stdout");
        assert!(
            output.starts_with(&format!("halves {}.0\n", HALVES / 2)),
            "{output}"
        );
        client.disconnect();
    }
}

/// Faults of the program are at their own address, and a restarted instruction is not a hit.
#[test]
fn faults_of_the_program_reach_its_handler() {
    for fixture in everywhere() {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["knock", "10000"]}));
        client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
        let last = json!({"hitCondition": "> 10000"});
        client.set_breakpoints_with(&fixture, vec![("knock", last)]);
        client.configure();
        for _ in 0..11 {
            client.expect_stopped("exception");
            client.expect_line(&fixture, "knock");
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        assert!(client.output("stdout").starts_with("let in 11\n"));
        client.disconnect();
    }
}

/// The same with hits that trap; a return from a handler to the interrupted address is not a hit.
#[test]
fn signal_handlers_see_no_displaced_step() {
    const HITS: u64 = 2_000;
    // The kernel looks for its time now and then: it may see none of so many passes.
    const MOST: u64 = 500 * HITS;
    let built = [Compiler::Gcc, Compiler::Clang]
        .map(|compiler| Fixture::build("c/jump_patches.c", Flags::new(compiler)));
    for (fixture, mode) in (built.iter().flatten()).flat_map(|it| [(it, "timer"), (it, "fill")]) {
        let mut client = DapClient::spawn();
        client.launch(fixture, json!({"args": [mode, MOST.to_string()]}));
        let marker = if mode == "timer" { "hit" } else { "fill" };
        // A condition that the program cannot evaluate is evaluated by the debugger.
        let now_and_then =
            json!({"condition": "$thread != 0", "hitCondition": format!("% {HITS}")});
        client.set_breakpoints_with(fixture, vec![(marker, now_and_then)]);
        client.configure();
        let mut hits = 0;
        let mut ticks = String::from("0");
        while ticks == "0" {
            client.expect_stopped("breakpoint");
            hits += HITS;
            assert_eq!(client.evaluate("i"), (hits - 1).to_string());
            ticks = client.evaluate("ticks");
            if ticks == "0" {
                client.continue_();
            }
        }
        assert_eq!(client.evaluate("strange"), "0");
        client.disconnect();
    }
}

#[test]
fn unreadable_memory_in_a_condition_is_reported() {
    // The pointer is none from the middle on.
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["pointer", MANY.to_string()]}));
    let condition = json!({"condition": "*pointer == -1"});
    client.set_breakpoints_with(&fixture, vec![("follow", condition)]);
    client.configure();
    let stopped = client.expect_stopped("breakpoint");
    let text = stopped["text"].as_str().expect("a text");
    assert!(
        text.contains("cannot read 4 bytes of memory at 0x10; hits at which it cannot be evaluated do not stop again"),
        "{text}"
    );
    client.expect_line(&fixture, "follow");
    assert_eq!(client.evaluate("i"), (MANY / 2).to_string());
    client.disconnect();
}

#[test]
fn pause_at_a_condition_fault_reports_no_signal() {
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["gone", "1000"]}));
    let says = json!({"logMessage": "{*pointer}"});
    client.set_breakpoints_with(&fixture, vec![("lead", says)]);
    client.configure();
    client.wait_for_jump_patch();
    for _ in 0..100 {
        client.pause();
        assert_eq!(client.function_names()[..2], ["lead", "main"]);
        client.continue_();
    }
    client.disconnect();
}

#[test]
fn compiled_conditions_hold_as_interpreted() {
    let fixture = Fixture::of("c/jump_patches.c");
    for condition in [
        "i == 2999999",
        "i > 2999998 && sum > 0",
        "i * 2.0 >= 5999998.0",
        "*pointer == 2 && i == 2999999",
        "kind == LAST",
        "half.left == 1499999 && half.right == 1",
        "name[0] == 'z'",
    ] {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["kinds", MANY.to_string()]}));
        let set =
            client.set_breakpoints_with(&fixture, vec![("kinds", json!({"condition": condition}))]);
        assert_eq!(set[0]["verified"], true, "{condition}: {set:?}");
        client.configure();
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate("i"), "2999999", "{condition}");
        client.disconnect();
    }
}

#[test]
fn forked_child_has_original_code() {
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = with(&fixture, "fork", json!({"hitCondition": "> 2000000000"}));
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").starts_with("child 7\n"));
    client.disconnect();
}

/// A child of `vfork` evaluates conditions in the shared memory without a stop; faults in them are
/// not reported.
#[test]
fn vfork_child_is_not_harmed() {
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["vfork", "100000"]}));
    let condition = json!({"condition": "*pointer == -1"});
    client.set_breakpoints_with(&fixture, vec![("lead", condition)]);
    client.configure();
    assert_eq!(client.expect_exit(), 0);
    assert!(client.output("stdout").starts_with("child 7\n"));
    client.disconnect();
}

#[test]
fn steps_and_breakpoints_in_patched_bytes_stop() {
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = with(&fixture, "once", json!({"hitCondition": "1000000"}));
    client.expect_stopped("breakpoint");
    client.next();
    client.expect_line(&fixture, "after");
    client.next();
    client.next();
    client.expect_line(&fixture, "hit");
    assert_eq!(client.evaluate("i"), "1000000");
    // Hits are still counted, and a second breakpoint on the same line is counted as well.
    let other = vec![
        ("hit", json!({"hitCondition": "2000000"})),
        ("after", json!({"hitCondition": "1500000"})),
    ];
    client.set_breakpoints_with(&fixture, other);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "after");
    // It has counted from when it was set.
    assert_eq!(
        client.evaluate("i"),
        (1_000_000 + 1_500_000 - 1).to_string()
    );
    client.set_breakpoints(&fixture, &["end"]);
    client.continue_();
    client.expect_stopped("breakpoint");
    client.expect_line(&fixture, "end");
    client.disconnect();
}

/// A running program that passes the line for ever, with a condition that never holds.
fn attached(fixture: &Fixture) -> (Debuggee, Vec<u8>, DapClient) {
    let debuggee = Debuggee::start(fixture, &["on", "20000000"]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let client = attached_to(&debuggee, fixture);
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) != before);
    (debuggee, before, client)
}

fn attached_to(debuggee: &Debuggee, fixture: &Fixture) -> DapClient {
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    client.set_breakpoints_with(fixture, vec![("hit", json!({"condition": "count == 7"}))]);
    client.configure();
    client.wait_for_jump_patch();
    client
}

#[test]
fn detach_removes_all_patches() {
    let fixture = Fixture::of("c/jump_patches.c");
    let (debuggee, before, client) = attached(&fixture);
    client.disconnect_with(json!({"terminateDebuggee": false}));
    debuggee.expect_running();
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
}

#[test]
fn edited_condition_replaces_the_compiled_one() {
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["on", "2000000"]}));
    for condition in ["i == 1900000", "i == 12345", "i == 1800000"] {
        let stops = json!({"condition": format!("i == -1 || {condition}")});
        let never = json!({"condition": "i == -1"});
        client.set_breakpoints_with(&fixture, vec![("hit", never)]);
        if client.count_events("stopped") == 0 {
            client.configure();
        } else {
            client.continue_();
        }
        client.wait_for_jump_patch();
        client.set_breakpoints_with(&fixture, vec![("hit", stops)]);
        client.expect_stopped("breakpoint");
        assert_eq!(client.evaluate(condition), "1");
    }
    client.disconnect();
}

/// Calls and detaching happen in a thread that may be inside `fork`.
#[test]
fn calls_and_detach_spare_a_fork_in_progress() {
    let fixture = Fixture::of("c/jump_patches.c");
    let debuggee = Debuggee::start(&fixture, &["forks", "20"]);
    debuggee.read_line();
    for _ in 0..20 {
        let mut client = attached_to(&debuggee, &fixture);
        client.pause();
        assert_eq!(client.evaluate("pass(0)"), "-1");
        client.continue_();
        client.disconnect_with(json!({"terminateDebuggee": false}));
        debuggee.expect_running();
    }
}

#[test]
fn kill_of_the_adapter_removes_all_patches() {
    let fixture = Fixture::of("c/jump_patches.c");
    for _ in 0..5 {
        let (debuggee, before, mut client) = attached(&fixture);
        process::send_signal(client.adapter_pid(), Signal::SIGKILL);
        client.wait_exit();
        debuggee.expect_running();
        assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
    }
}

#[test]
fn log_messages_are_complete_and_ordered() {
    const MESSAGES: u64 = 300_000;
    for fixture in everywhere() {
        let mut client = DapClient::spawn();
        client.launch(&fixture, json!({"args": ["once", MESSAGES.to_string()]}));
        let says = json!({"logMessage": "{i} then {i * 3}"});
        client.set_breakpoints_with(&fixture, vec![("hit", says)]);
        client.configure();
        assert_eq!(client.expect_exit(), 0);
        let output = client.output("console");
        let mut lines = output.lines();
        for i in 0..MESSAGES {
            let text = lines.next().unwrap_or_default();

            let expected = format!("{i} then {}", i * 3);
            assert_eq!(text, expected, "{:?}", fixture.program);
        }
        assert_eq!(lines.next(), None);
        client.disconnect();
    }
}

#[test]
fn log_messages_precede_the_next_stop() {
    let fixture = Fixture::of("c/jump_patches.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["once", "100000"]}));
    let says = json!({"logMessage": "i is {i}", "condition": "i % 2 == 1"});
    let stops = json!({"condition": "i == 50001"});
    client.set_breakpoints_with(&fixture, vec![("hit", says), ("after", stops)]);
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.output("console").lines().count(), 25_001);
    assert_eq!(client.output("console").lines().last(), Some("i is 50001"));
    client.disconnect();
}

/// A thread that is paused while it runs into a trap stops first, with its trap pending: its pc
/// must not be moved in between.
#[test]
fn pause_at_trap_resumes_correctly() {
    let fixture = Fixture::of("c/threads.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": ["4", "1000000000"]}));
    // A quotient that may overflow is left to the debugger, so each hit traps in the trampoline.
    let never = json!({"condition": "worker->rounds / -1 == 7"});
    client.set_breakpoints_with(&fixture, vec![("hit", never)]);
    client.configure();
    client.wait_for_jump_patch();
    for _ in 0..300 {
        client.pause();
        let list = client.request_ok("threads", json!({}));
        for thread in list["threads"].as_array().expect("threads") {
            let stack = client.request_ok("stackTrace", json!({"threadId": thread["id"]}));
            // In the program, or in the library that has just begun the thread.
            let module = &stack["stackFrames"][0]["moduleId"];
            assert!(!module.is_null(), "{stack}");
        }
        client.continue_();
    }
    client.disconnect_with(json!({"terminateDebuggee": true}));
}

/// On other machines a jump replaces one instruction.
#[cfg(target_arch = "x86_64")]
#[test]
fn code_that_another_function_branches_to_stays_in_place() {
    const TIMES: u64 = 200_000;
    /// Sets a breakpoint on the first instruction of a function. Hits of that number stop.
    fn set_at_entry(client: &mut DapClient, function: &str, hits: u64) {
        let frame = client.top_frame()["id"].clone();
        let expression = format!("(void *)&{function}");
        let evaluate = json!({"expression": expression, "frameId": frame});
        let body = client.request_ok("evaluate", evaluate);
        let breakpoint = json!({
            "instructionReference": body["memoryReference"],
            "hitCondition": hits.to_string(),
        });
        let body = client.request_ok(
            "setInstructionBreakpoints",
            json!({"breakpoints": [breakpoint]}),
        );
        assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
    }

    let fixture = Fixture::of("c/shared_code.c");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": [TIMES.to_string()]}));
    client.set_breakpoints(&fixture, &["begin"]);
    client.configure();
    client.expect_stopped("breakpoint");
    set_at_entry(&mut client, "both", TIMES);
    client.continue_();
    client.expect_stopped("instruction breakpoint");
    assert_eq!(client.evaluate("$rdi"), (TIMES - 1).to_string());
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let sum = 3 * TIMES * (TIMES - 1) + TIMES * 2 * (1 + 11 + 101);
    assert_eq!(client.output("stdout"), format!("sum {sum}\n"));
    client.disconnect();
}
