//! Breakpoints on lines that are closer to each other than a jump is long: the program itself checks
//! all of them, each hit is counted once, and each of them comes and goes without the others. On
//! traps these tests would take minutes.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stillpoint_tests::process::{self, Debuggee};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const LINES: [&str; 5] = ["three", "one", "four", "two", "last"];
const MANY: u64 = 600_000;

fn optimized() -> Vec<Fixture> {
    let flags = [Compiler::Gcc, Compiler::Clang]
        .into_iter()
        .flat_map(|compiler| ["1", "2"].map(|level| Flags::new(compiler).optimized(level)));
    let fixtures = flags.filter_map(|flags| Fixture::build("c/neighbors.c", flags));
    fixtures.collect()
}

fn by_gcc() -> Fixture {
    let flags = Flags::new(Compiler::Gcc).optimized("2");
    Fixture::build("c/neighbors.c", flags).expect("the usual compiler is installed")
}

fn launched(fixture: &Fixture, args: [&str; 2]) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({ "args": args }));
    client
}

fn set_all(client: &mut DapClient, fixture: &Fixture, what: &Value) {
    let all = LINES.map(|line| (line, what.clone()));
    client.set_breakpoints_with(fixture, all.into());
}

/// Waits until the program itself checks so many breakpoints.
fn await_jump_patches(client: &mut DapClient, count: usize) {
    for _ in 0..count {
        client.wait_for_jump_patch();
    }
}

#[test]
fn all_hits_of_adjacent_lines_are_counted() {
    let built = optimized();
    let many = MANY.to_string();
    for fixture in &built {
        let mut client = launched(fixture, ["once", &many]);
        set_all(&mut client, fixture, &json!({"hitCondition": many}));
        client.configure();
        for line in LINES {
            client.expect_stopped("breakpoint");
            client.expect_line(fixture, line);
            assert_eq!(client.evaluate("i"), (MANY - 1).to_string());
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout"), "right, strange 0\nend\n");
        client.disconnect();
    }
}

#[test]
fn all_hits_of_adjacent_rust_lines_are_counted() {
    let fixture = Fixture::build("rust/neighbors.rs", Flags::rust("", "2"));
    let fixture = fixture.expect("the usual compiler is installed");
    let many = MANY.to_string();
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({"args": [many]}));
    set_all(&mut client, &fixture, &json!({"hitCondition": many}));
    client.configure();
    for line in LINES {
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, line);
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "right\n");
    client.disconnect();
}

#[test]
fn each_line_has_a_condition_of_its_own() {
    for fixture in &optimized() {
        let mut client = launched(fixture, ["once", &MANY.to_string()]);
        let at = |line: &str, i: u64| (line.to_owned(), i);
        let stops = [
            at("four", 100_000),
            at("one", 200_000),
            at("last", 300_000),
            at("three", 400_000),
            at("two", 500_000),
        ];
        let conditions = stops.each_ref().map(|(line, i)| {
            let condition = json!({"condition": format!("i == {i}")});
            (line.as_str(), condition)
        });
        client.set_breakpoints_with(fixture, conditions.into());
        client.configure();
        for (line, i) in &stops {
            client.expect_stopped("breakpoint");
            client.expect_line(fixture, line);
            assert_eq!(client.evaluate("i"), i.to_string());
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

#[test]
fn messages_of_adjacent_lines_are_ordered() {
    const ROUNDS: u64 = 20_000;
    for fixture in &optimized() {
        let mut client = launched(fixture, ["once", &ROUNDS.to_string()]);
        let says = |line| (line, json!({"logMessage": format!("{line} {{i}}")}));
        client.set_breakpoints_with(fixture, LINES.map(says).into());
        client.configure();
        assert_eq!(client.expect_exit(), 0);
        let output = client.output("console");
        let mut lines = output.lines();
        for i in 0..ROUNDS {
            for line in LINES {
                assert_eq!(lines.next(), Some(format!("{line} {i}").as_str()));
            }
        }
        assert_eq!(lines.next(), None);
        client.disconnect();
    }
}

#[test]
fn a_target_of_branches_is_a_neighbor_as_well() {
    for fixture in &optimized() {
        let mut client = launched(fixture, ["loop", &MANY.to_string()]);
        let counted = |line, hits: u64| (line, json!({"hitCondition": hits.to_string()}));
        let all = vec![
            counted("before", MANY),
            counted("target", 4 * MANY),
            counted("inner", 4 * MANY),
        ];
        client.set_breakpoints_with(fixture, all);
        client.configure();
        for line in ["before", "target", "inner"] {
            client.expect_stopped("breakpoint");
            client.expect_line(fixture, line);
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout"), format!("a {}\nend\n", 4 * MANY));
        client.disconnect();
    }
}

/// A signal every two milliseconds, at any of the instructions; its handler checks the interrupted
/// pc.
#[test]
fn signal_handlers_see_no_jump() {
    for fixture in &optimized() {
        let many = (10 * MANY).to_string();
        let mut client = launched(fixture, ["timer", &many]);
        set_all(&mut client, fixture, &json!({"hitCondition": many}));
        client.configure();
        for line in LINES {
            client.expect_stopped("breakpoint");
            client.expect_line(fixture, line);
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout"), "right, strange 0\nend\n");
        client.disconnect();
    }
}

#[test]
fn threads_count_each_hit_once_wherever_they_are_paused() {
    const THREADS: u64 = 4;
    let fixture = by_gcc();
    let rounds = 10 * MANY;
    let mut client = launched(&fixture, ["threads", &rounds.to_string()]);
    let last = json!({"hitCondition": format!(">= {}", THREADS * rounds)});
    set_all(&mut client, &fixture, &last);
    client.configure();
    await_jump_patches(&mut client, LINES.len());
    assert_ne!(client.pause_repeatedly(50), 0);
    let mut lines: Vec<u64> = Vec::new();
    for _ in LINES {
        client.expect_stopped("breakpoint");
        lines.push(client.top_line());
        client.continue_();
    }
    lines.sort_unstable();
    assert_eq!(lines, LINES.map(|line| fixture.line(line)));
    assert_eq!(client.expect_exit(), 0);
    let expected = "right, strange 0\n".repeat(THREADS as usize);
    assert_eq!(client.output("stdout"), format!("{expected}end\n"));
    client.disconnect();
}

/// Each of them is removed, and set again with another condition, while the others stay.
#[test]
fn neighbor_can_be_set_and_removed_alone() {
    let fixture = by_gcc();
    let mut client = launched(&fixture, ["on", "50000"]);
    let never = json!({"condition": "i == -1"});
    set_all(&mut client, &fixture, &never);
    client.configure();
    await_jump_patches(&mut client, LINES.len());
    for gone in LINES {
        let others = LINES.into_iter().filter(|line| *line != gone);
        let mut rest: Vec<(&str, Value)> = others.map(|line| (line, never.clone())).collect();
        client.set_breakpoints_with(&fixture, rest.clone());
        let stops = json!({"condition": "i == 49000"});
        rest.push((gone, stops));
        client.set_breakpoints_with(&fixture, rest.clone());
        client.expect_stopped("breakpoint");
        client.expect_line(&fixture, gone);
        assert_eq!(client.evaluate("i"), "49000");
        rest.pop();
        rest.push((gone, never.clone()));
        client.set_breakpoints_with(&fixture, rest);
        client.continue_();
        client.wait_for_jump_patch();
    }
    // The program checks its sum in each round.
    client.disconnect_with(json!({"terminateDebuggee": true}));
}

/// A breakpoint that always stops does not keep its neighbors on traps.
#[test]
fn a_neighbor_that_stops_each_time_is_hit_each_time() {
    for fixture in &optimized() {
        let mut client = launched(fixture, ["once", &MANY.to_string()]);
        let counted = |line, hits: String| (line, json!({"hitCondition": hits}));
        let rest = vec![
            counted("three", MANY.to_string()),
            counted("one", MANY.to_string()),
            counted("two", MANY.to_string()),
            counted("last", "100000".to_owned()),
        ];
        client.set_breakpoints_with(fixture, rest.clone());
        client.configure();
        client.expect_stopped("breakpoint");
        client.expect_line(fixture, "last");
        let mut all = rest[..3].to_vec();
        all.push(("four", json!({})));
        client.set_breakpoints_with(fixture, all);
        for i in 100_000..100_050 {
            client.continue_();
            client.expect_stopped("breakpoint");
            client.expect_line(fixture, "four");
            assert_eq!(client.evaluate("i"), i.to_string());
        }
        // Steps over its neighbors as well.
        client.next();
        client.expect_line(fixture, "two");
        client.next();
        client.expect_line(fixture, "last");
        client.set_breakpoints_with(fixture, rest[..3].to_vec());
        client.continue_();
        for line in ["three", "one", "two"] {
            client.expect_stopped("breakpoint");
            client.expect_line(fixture, line);
            assert_eq!(client.evaluate("i"), (MANY - 1).to_string());
            client.continue_();
        }
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

#[test]
fn forked_children_have_their_own_code() {
    for fixture in &optimized() {
        let mut client = launched(fixture, ["fork", &MANY.to_string()]);
        let never = json!({"hitCondition": "> 3000000000"});
        set_all(&mut client, fixture, &never);
        client.configure();
        assert_eq!(client.expect_exit(), 0);
        assert_eq!(client.output("stdout"), "child 7\nend\n");
        client.disconnect();
    }
}

/// A running program with jumps on all lines, and its code as it was before.
fn attached(fixture: &Fixture) -> (Debuggee, Vec<u8>, DapClient) {
    let debuggee = Debuggee::start(fixture, &["on", "3000000"]);
    debuggee.read_line();
    let before = process::text_bytes(debuggee.pid(), &fixture.program);
    let mut client = DapClient::spawn();
    client.attach(debuggee.pid(), json!({}));
    set_all(&mut client, fixture, &json!({"condition": "i == -1"}));
    client.configure();
    await_jump_patches(&mut client, LINES.len());
    assert!(process::text_bytes(debuggee.pid(), &fixture.program) != before);
    (debuggee, before, client)
}

#[test]
fn detach_removes_all_patches() {
    for fixture in &optimized() {
        let (debuggee, before, client) = attached(fixture);
        client.disconnect_with(json!({"terminateDebuggee": false}));
        debuggee.expect_running();
        assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
    }
}

#[test]
fn kill_of_the_adapter_removes_all_patches() {
    for fixture in &optimized() {
        let (debuggee, before, mut client) = attached(fixture);
        process::send_signal(client.adapter_pid(), Signal::SIGKILL);
        client.wait_exit();
        // It ends if its sum is wrong.
        debuggee.read_line();
        debuggee.read_line();
        debuggee.expect_running();
        assert!(process::text_bytes(debuggee.pid(), &fixture.program) == before);
    }
}
