//! Conditions and log messages in the tightest loops of programs with several threads: the program evaluates them in
//! code of the debugger's, and there may be no other place at which threads change than the jump to that.

use super::{go, return_to_present, reverse, shown};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const SOURCE: &str = "c/travel_tight.c";

/// Returns the program, as optimized as a compiler can do without knowing what the loops are for.
fn built(optimization: &'static str) -> Fixture {
    let flags = Flags::new(Compiler::Gcc).optimized(optimization);
    Fixture::build(SOURCE, flags).expect("gcc")
}

/// Launches the program with a breakpoint that has these options, and waits until the program evaluates it.
fn hot(fixture: &Fixture, mode: &str, passes: i64, record: &Value, options: Value) -> DapClient {
    let mut client = DapClient::spawn();
    let arguments = json!([mode, passes.to_string()]);
    client.launch(fixture, json!({"record": record, "args": arguments}));
    client.set_breakpoints_with(fixture, vec![(mode, options)]);
    client.configure();
    client.wait_for_jump_patch();
    client
}

/// Returns the log messages so far.
fn messages(client: &DapClient) -> Vec<String> {
    let console = client.output("console");
    let lines = console.lines().filter(|line| line.starts_with("at "));
    lines.map(str::to_owned).collect()
}

/// A loop, by its mode and the name of its line.
struct Loop {
    mode: &'static str,
    /// What it counts, and what that is modulo a quarter of the passes where the condition holds.
    counter: &'static str,
    modulo: i64,
}

const UP: Loop = Loop {
    mode: "hot",
    counter: "x",
    modulo: -1,
};
const DOWN: Loop = Loop {
    mode: "down",
    counter: "left",
    modulo: 1,
};

/// Meets the hits of a condition, and in the past the same ones: backward, and forward again.
fn hits_are_the_same(fixture: &Fixture, of: &Loop, passes: i64, record: &Value) {
    let each = passes / 4;
    let remainder = of.modulo.rem_euclid(each);
    let condition = format!("{} % {each} == {remainder}", of.counter);
    let options = json!({"condition": condition});
    let mut client = hot(fixture, of.mode, passes, record, options);
    let seen = |client: &mut DapClient| (client.evaluate(of.counter), client.evaluate("y"));
    let mut hits = Vec::new();
    for nth in 0..4 {
        client.expect_stopped("breakpoint");
        let now = seen(&mut client);
        let nth = if of.modulo > 0 { 3 - nth } else { nth };
        assert_eq!(now.0, (nth * each + remainder).to_string());
        hits.push(now);
        client.continue_();
    }
    client.expect_stopped("exit");
    let beside: Vec<&String> = hits.iter().map(|it| &it.1).collect();
    assert!(
        beside.windows(2).any(|pair| pair[0] != pair[1]),
        "no turn of the other thread: {hits:?}"
    );
    for expected in hits.iter().rev() {
        reverse(&mut client);
        assert_eq!(&seen(&mut client), expected);
    }
    go(&mut client, "stepBack", &["step"]);
    for expected in &hits {
        let event = go(&mut client, "continue", &["breakpoint"]);
        assert_eq!(event["description"], "In the past: breakpoint");
        assert_eq!(&seen(&mut client), expected);
    }
    return_to_present(&mut client);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
}

#[test]
fn hits_in_tight_loops_are_the_same_in_the_past() {
    for optimization in ["0", "1", "2"] {
        hits_are_the_same(&built(optimization), &UP, 6_000_000, &json!(true));
    }
    // All of this loop is code of the debugger's then.
    hits_are_the_same(&built("2"), &DOWN, 6_000_000, &json!(true));
}

#[test]
fn hits_in_tight_loops_are_the_same_in_short_slices() {
    for (seed, optimization) in [(3, "0"), (5, "2")] {
        let record = json!({"chaos": seed});
        hits_are_the_same(&built(optimization), &UP, 12_000_000, &record);
    }
    hits_are_the_same(&built("2"), &DOWN, 12_000_000, &json!({"chaos": 7}));
}

/// The thread that waits does nothing else: another one has to get its turns.
#[test]
fn a_thread_that_only_waits_gives_way() {
    for optimization in ["0", "1", "2"] {
        let fixture = built(optimization);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("input");
        mkfifo(&path, Mode::S_IRWXU).expect("a FIFO");
        // For both ends: opening does not wait.
        let input = OpenOptions::new().read(true).write(true).open(&path);
        let mut input = input.expect("the FIFO");
        let mut client = DapClient::spawn();
        let settings =
            json!({"record": true, "args": ["wait", "100000000"], "stdio": [path, null, null]});
        client.launch(&fixture, settings);
        let never = json!({"condition": "done == 2"});
        client.set_breakpoints_with(&fixture, vec![("wait", never)]);
        client.configure();
        client.wait_for_jump_patch();
        // It is resumed where it is interrupted next, too.
        for _ in 0..3 {
            client.pause();
            client.continue_();
        }
        // The program is not over before, however fast it counts.
        input.write_all(b"A").expect("the FIFO");
        client.expect_stopped("exit");
        client.set_breakpoints(&fixture, &["end"]);
        reverse(&mut client);
        assert_eq!(client.evaluate("x"), "100000000");
        return_to_present(&mut client);
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
    }
}

/// Few passes: each of them is a trap, among the instructions that are executed one by one.
#[test]
fn traps_in_short_slices_are_met() {
    let fixture = built("1");
    let mut client = DapClient::spawn();
    client.launch(
        &fixture,
        json!({"record": {"chaos": 6}, "args": ["say", "20"]}),
    );
    let options = json!({"logMessage": "at {own + nth}."});
    client.set_breakpoints_with(&fixture, vec![("say", options)]);
    client.configure();
    client.expect_stopped("exit");
    let mut seen = messages(&client);
    seen.sort_by_key(|line| (line.len(), line.clone()));
    let all: Vec<String> = (0..60).map(|nth| format!("at {nth}.")).collect();
    assert_eq!(seen, all);
    client.disconnect();
}

#[test]
fn log_messages_of_threads_are_told_once_and_again() {
    const PASSES: i64 = 3000;
    for record in [json!(true), json!({"chaos": 2})] {
        let fixture = built("1");
        let options = json!({"logMessage": "at {own + nth}."});
        let mut client = hot(&fixture, "say", PASSES, &record, options);
        client.expect_stopped("exit");
        let first = messages(&client);
        let mut sorted = first.clone();
        sorted.sort_by_key(|line| (line.len(), line.clone()));
        let once: Vec<String> = (0..3 * PASSES).map(|nth| format!("at {nth}.")).collect();
        assert_eq!(sorted, once);
        client.request_ok("stillpoint/replay", json!({}));
        client.expect_stopped("exit");
        assert_eq!(messages(&client), [&first[..], &first[..]].concat());
        assert!(!shown(&mut client, ":recording").contains("ended"));
        client.disconnect();
    }
}
