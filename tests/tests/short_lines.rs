//! Fast breakpoints without room for a jump: the line's first instruction is short, and the next
//! one is a branch target.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

/// Far more than could be stopped at.
const MANY: u64 = 2_000_000;
/// The lines, by how their first instructions are short.
const LINES: [&str; 6] = ["one", "two", "three", "four", "end", "arm"];

/// Each with its lines; clang has nothing at the end of functions that is short.
fn fixtures() -> impl Iterator<Item = (Fixture, Vec<&'static str>)> {
    [Compiler::Gcc, Compiler::Clang]
        .into_iter()
        .filter_map(|compiler| {
            let fixture = Fixture::build("c/short_lines.c", Flags::new(compiler).optimized("0"))?;
            let there = |line: &&str| compiler == Compiler::Gcc || *line != "end";
            Some((fixture, LINES.into_iter().filter(there).collect()))
        })
}

/// The program passes a line, where a breakpoint is.
fn passing(fixture: &Fixture, arguments: &[&str], breakpoint: Value) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"args": arguments}));
    client.set_breakpoints_with(fixture, vec![(arguments[0], breakpoint)]);
    client.configure();
    client
}

/// What the program prints that has run through undisturbed.
fn expected_output(line: &str, count: u64) -> String {
    let passes = match line {
        "arm" => {
            let of = |arms: &[u64]| -> i64 {
                (0..count).map(|i| i64::from(arms.contains(&(i % 7)))).sum()
            };
            of(&[0]) * 3 + of(&[1]) * 2 + of(&[2]) + of(&[6]) * 3
                - of(&[3]) * 3
                - of(&[4]) * 2
                - of(&[5])
        }
        _ => 3 * count as i64,
    };
    format!("passes {passes}, strange 0\n")
}

#[test]
fn all_hits_in_short_loops_are_counted() {
    for (fixture, lines) in fixtures() {
        for line in lines {
            let hits = if line == "arm" { MANY / 7 * 2 } else { MANY };
            let at_last = json!({"hitCondition": hits.to_string()});
            let mut client = passing(&fixture, &[line, &MANY.to_string()], at_last);
            client.wait_for_jump_patch();
            client.expect_stopped("breakpoint");
            client.expect_line(&fixture, line);
            client.continue_();
            assert_eq!(client.expect_exit(), 0);
            assert_eq!(
                client.output("stdout"),
                expected_output(line, MANY),
                "{line}"
            );
            client.disconnect();
        }
    }
}

#[test]
fn signal_handlers_see_no_jump_patch() {
    for (fixture, lines) in fixtures() {
        for line in lines {
            let never = json!({"condition": "count == 7"});
            let count = (2 * MANY).to_string();
            let arguments = [line, count.as_str(), "timer"];
            // The line `end` has no hit condition.
            let never = if line == "end" {
                json!({"condition": "one == 7"})
            } else {
                never
            };
            let mut client = passing(&fixture, &arguments, never);
            client.wait_for_jump_patch();
            assert_eq!(client.expect_exit(), 0);
            assert_eq!(
                client.output("stdout"),
                expected_output(line, 2 * MANY),
                "{line}"
            );
            client.disconnect();
        }
    }
}

#[test]
fn stop_at_a_springboard_shows_the_program() {
    for (fixture, lines) in fixtures() {
        for line in lines {
            let never = json!({"hitCondition": "> 2000000000"});
            let mut client = passing(&fixture, &[line, "100000000", "on"], never);
            client.wait_for_jump_patch();
            for _ in 0..10 {
                client.pause();
                let names = client.function_names();
                assert!(names.contains(&"main".into()), "{names:?}");
                for _ in 0..4 {
                    let thread = client.thread();
                    let step = json!({"threadId": thread, "granularity": "instruction"});
                    client.request_ok("stepIn", step);
                    client.expect_stopped("step");
                    assert!(client.function_names().contains(&"main".into()));
                }
                client.continue_();
            }
            client.disconnect_with(json!({"terminateDebuggee": true}));
        }
    }
}

/// A jump of aarch64 covers one instruction.
#[cfg(target_arch = "x86_64")]
#[test]
fn close_breakpoint_is_hit() {
    let fixture = Fixture::of("c/short_lines.c");
    let once = json!({"hitCondition": "1000"});
    let mut client = passing(&fixture, &["one", &MANY.to_string()], once);
    client.expect_stopped("breakpoint");
    let frame = client.top_frame();
    let at = frame["instructionPointerReference"].as_str();
    let at = at.expect("an address").to_owned();
    // The loop begins there: the last bytes of the jump are the first ones of it.
    let behind = json!({"breakpoints": [{"instructionReference": at, "offset": 1}]});
    let until = |i: u64| vec![("one", json!({"condition": format!("i == {i}")}))];
    client.set_breakpoints_with(&fixture, until(100_000));
    client.continue_();
    client.expect_stopped("breakpoint");
    client.set_breakpoints_with(&fixture, until(MANY));
    client.request_ok("setInstructionBreakpoints", behind);
    for left in [3, 2, 1, 3] {
        client.continue_();
        client.expect_stopped("instruction breakpoint");
        assert_eq!(client.evaluate("left"), left.to_string());
    }
    assert_eq!(client.evaluate("i"), "100001");
    client.request_ok("setInstructionBreakpoints", json!({"breakpoints": []}));
    client.set_breakpoints_with(&fixture, until(200_000));
    client.continue_();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("i"), "200000");
    client.disconnect();
}

/// A running program that passes a line for ever.
fn attached(fixture: &Fixture, line: &str) -> (Debuggee, Vec<u8>, DapClient) {
    let debuggee = Debuggee::start(fixture, &[line, "20000000", "on"]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    let never = json!({"hitCondition": "> 2000000000"});
    client.set_breakpoints_with(fixture, vec![(line, never)]);
    client.configure();
    client.wait_for_jump_patch();
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) != before);
    (debuggee, before, client)
}

#[test]
fn detach_and_kill_remove_all_patches() {
    for (fixture, lines) in fixtures() {
        for line in lines {
            let (debuggee, before, client) = attached(&fixture, line);
            client.disconnect_with(json!({"terminateDebuggee": false}));
            debuggee.expect_running();
            assert!(
                process::text_bytes(debuggee.pid(), &fixture.program) == before,
                "{line}"
            );
            let (debuggee, before, mut client) = attached(&fixture, line);
            process::send_signal(client.adapter_pid(), Signal::SIGKILL);
            client.wait_exit();
            debuggee.expect_running();
            assert!(
                process::text_bytes(debuggee.pid(), &fixture.program) == before,
                "{line}"
            );
        }
    }
}
