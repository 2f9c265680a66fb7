//! Conditions and log messages of lines that are passed often: code in the program evaluates them, also while it
//! is recorded, and replays, which do not have that code, find the same hits.

use super::{return_to_present, reverse, reverse_to_begin, shown, step_back};
use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// Launches a recorded program with a breakpoint that has these options, and waits until the program
/// evaluates it.
fn hot(fixture: &Fixture, arguments: &[&str], marker: &str, options: Value) -> DapClient {
    let mut client = DapClient::spawn();
    client.launch(fixture, json!({"record": true, "args": arguments}));
    client.set_breakpoints_with(fixture, vec![(marker, options)]);
    client.configure();
    client.wait_for_jump_patch();
    client
}

/// Its signals arrive, too: a place for them is found beside the code of the debugger.
#[test]
fn conditions_are_evaluated_in_the_recorded_program() {
    const PASSES: u64 = 40_000_000;
    let fixture = Fixture::of("c/jump_patches.c");
    let each = PASSES / 4;
    let condition = json!({"condition": format!("i % {each} == {}", each - 1)});
    let mut client = hot(&fixture, &["timer", &PASSES.to_string()], "hit", condition);
    let seen = |client: &mut DapClient| (client.evaluate("i"), client.evaluate("ticks"));
    let mut passed = Vec::new();
    for nth in 1..=4 {
        client.expect_stopped("breakpoint");
        passed.push(seen(&mut client));
        assert_eq!(client.evaluate("i"), (nth * each - 1).to_string());
        client.continue_();
    }
    client.expect_stopped("exit");
    assert_ne!(passed[3].1, "0", "no signal has arrived");
    for expected in passed.iter().rev() {
        reverse(&mut client);
        assert_eq!(&seen(&mut client), expected);
    }
    reverse_to_begin(&mut client);
    return_to_present(&mut client);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let output = client.output("stdout");
    assert!(output.contains("strange 0\n"), "{output}");
}

#[test]
fn pause_in_a_condition_can_be_gone_back_from() {
    let fixture = Fixture::of("c/jump_patches.c");
    let never = json!({"condition": "i * 3 + 1 < 0"});
    let mut client = hot(&fixture, &["timer", "4000000000"], "hit", never);
    for _ in 0..3 {
        client.pause();
        while client.function_names()[0] != "pass" {
            client.step_out();
        }
        let passed: u64 = client.evaluate("i").parse().expect("a number");
        let line = client.top_line();
        // A pass has three lines.
        for _ in 0..3 {
            step_back(&mut client);
        }
        let back: u64 = client.evaluate("i").parse().expect("a number");
        assert!(back < passed && back + 2 >= passed, "{back} {passed}");
        return_to_present(&mut client);
        assert_eq!(client.evaluate("i"), passed.to_string());
        assert_eq!(client.top_line(), line);
        client.continue_();
    }
    client.disconnect();
}

#[test]
fn log_messages_of_the_recorded_program_are_told_again() {
    let fixture = Fixture::of("c/jump_patches.c");
    let options = json!({"logMessage": "at {i}.", "condition": "i % 1000 == 0"});
    let mut client = hot(&fixture, &["timer", "20000"], "hit", options);
    client.expect_stopped("exit");
    let told = |client: &DapClient| {
        let console = client.output("console");
        let lines = console.lines().filter(|line| line.starts_with("at "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let once: Vec<String> = (0..20).map(|nth| format!("at {}.", nth * 1000)).collect();
    assert_eq!(told(&client), once);
    client.request_ok("stillpoint/replay", json!({}));
    client.expect_stopped("exit");
    assert_eq!(told(&client), [&once[..], &once[..]].concat());
    // The memory that the program shares with the debugger for them is not the program's.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("logged.rec");
    let saved = shown(&mut client, &format!(":recording save {}", file.display()));
    assert!(saved.contains("logged.rec"), "{saved}");
    client.disconnect();
}

/// Threads change places of a recording, none of which is in the code of the debugger.
#[test]
fn conditions_go_on_when_threads_begin() {
    let fixture = Fixture::of("c/travel_hot.c");
    let condition = json!({"condition": "passes % 500 == 499"});
    let mut client = hot(&fixture, &[], "hot", condition);
    let mut passed = Vec::new();
    for _ in 0..8 {
        client.expect_stopped("breakpoint");
        passed.push((client.thread(), client.evaluate("passes")));
        client.continue_();
    }
    client.expect_stopped("exit");
    let values: Vec<&str> = passed.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(
        values,
        ["499", "999", "1499", "1999", "2499", "2999", "3499", "3999"]
    );
    for (thread, value) in passed.iter().rev() {
        let event = reverse(&mut client);
        assert_eq!(event["threadId"], *thread);
        client.select_thread(*thread);
        assert_eq!(&client.evaluate("passes"), value);
    }
    return_to_present(&mut client);
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    assert_eq!(client.output("stdout"), "alone 1000\ntogether 4000\n");
}
