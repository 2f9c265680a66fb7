//! Signals of each kind at counted sites of each kind: a pass counts once, and its message comes
//! once.

use serde_json::{Value, json};
use stillpoint_tests::{DapClient, Fixture};

/// As of the fixture.
const PASSES: usize = 8 * 250;

/// What makes signals, besides nothing.
const SIGNALS: [&str; 4] = ["none", "timer", "own", "fault"];

fn launched(fixture: &Fixture, signals: &str) -> DapClient {
    let mut client = DapClient::spawn();
    let quiet = json!({"SIGSEGV": {"stop": false, "pass": true, "print": false}});
    client.launch(fixture, json!({"args": [signals], "signals": quiet}));
    client
}

/// Runs to the end, where one breakpoint stops; returns the messages.
fn messages(mut client: DapClient, fixture: &Fixture) -> Vec<String> {
    client.configure();
    client.expect_stopped("breakpoint");
    client.expect_line(fixture, "done");
    client.continue_();
    assert_eq!(client.expect_exit(), 0);
    let text = client.output("console");
    client.disconnect();
    let passed = text.lines().filter(|line| line.starts_with("passed"));
    passed.map(str::to_owned).collect()
}

fn counts(passed: &[String], line: &str) -> usize {
    passed.iter().filter(|text| *text == line).count()
}

#[test]
fn messages_of_lines() {
    let fixture = Fixture::of("c/counted_sites.c");
    for signals in SIGNALS {
        let mut client = launched(&fixture, signals);
        // With a jump, with a trap whose condition is not compiled, and with a trap that counts.
        let wanted = vec![
            ("first", json!({"logMessage": "passed first"})),
            (
                "second",
                json!({"condition": "$thread > 0", "logMessage": "passed second"}),
            ),
            (
                "third",
                json!({"hitCondition": "% 10", "logMessage": "passed third"}),
            ),
            ("done", json!({})),
        ];
        client.set_breakpoints_with(&fixture, wanted);
        let passed = messages(client, &fixture);
        for (line, expected) in [
            ("passed first", PASSES),
            ("passed second", PASSES),
            ("passed third", PASSES / 10),
        ] {
            assert_eq!(counts(&passed, line), expected, "{signals}: {line}");
        }
    }
}

#[test]
fn hit_counts_of_lines_functions_and_instructions() {
    let fixture = Fixture::of("c/counted_sites.c");
    for signals in SIGNALS {
        for kind in ["line", "function", "instruction"] {
            // The last pass stops, and one more would never come.
            let last = PASSES.to_string();
            let never = (PASSES + 1).to_string();
            for (count, expected) in [(last, 1), (never, 0)] {
                let mut client = launched(&fixture, signals);
                client.set_breakpoints(&fixture, &["done"]);
                set(&mut client, &fixture, kind, &count);
                client.configure();
                let mut stops = 0;
                loop {
                    let stop = client.wait_event("stopped");
                    client.select_thread(stop["threadId"].as_i64().expect("a thread"));
                    if client.top_line() == fixture.line("done") {
                        break;
                    }
                    stops += 1;
                    client.continue_();
                }
                assert_eq!(stops, expected, "{signals}, {kind}, {count}");
                client.disconnect();
            }
        }
    }
}

fn set(client: &mut DapClient, fixture: &Fixture, kind: &str, count: &str) {
    let counted = |place: Value| {
        let mut place = place;
        place["hitCondition"] = json!(count);
        json!({"breakpoints": [place]})
    };
    match kind {
        "line" => {
            let places = vec![
                ("first", json!({"hitCondition": count})),
                ("done", json!({})),
            ];
            client.set_breakpoints_with(fixture, places);
        }
        "function" => {
            let arguments = counted(json!({"name": "once"}));
            client.request_ok("setFunctionBreakpoints", arguments);
        }
        _ => {
            let found = client.set_function_breakpoints(&["pass"]);
            let address = found[0]["instructionReference"].clone();
            client.set_function_breakpoints(&[]);
            let arguments = counted(json!({"instructionReference": address}));
            client.request_ok("setInstructionBreakpoints", arguments);
        }
    }
}
