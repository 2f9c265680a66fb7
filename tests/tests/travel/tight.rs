//! Breakpoints in tight loops of programs with several threads.

use serde_json::json;
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags};

const SOURCE: &str = "c/travel_tight.c";

/// Returns the program, as optimized as a compiler can do without knowing what the loops are for.
fn built(optimization: &'static str) -> Fixture {
    let flags = Flags::new(Compiler::Gcc).optimized(optimization);
    Fixture::build(SOURCE, flags).expect("gcc")
}

/// Returns the log messages so far.
fn messages(client: &DapClient) -> Vec<String> {
    let console = client.output("console");
    let lines = console.lines().filter(|line| line.starts_with("at "));
    lines.map(str::to_owned).collect()
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
