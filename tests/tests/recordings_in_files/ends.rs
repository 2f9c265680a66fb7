//! Where a recording ends: what is shown there, and that it ends there.

use super::{go, opened, place_for_file, record, shown};
use serde_json::json;
use std::fs;
use stillpoint_tests::{DapClient, Fixture};

#[test]
fn crash_is_shown_with_its_stack_and_values() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    let output = record(&file, &[fixture.program.as_os_str(), "crash".as_ref()]);
    assert_eq!(output.status.code(), Some(128 + 11));
    let (mut client, event) = opened(&file, json!({}), &["exception"]);
    assert_eq!(event["description"], "signal SIGSEGV", "{event}");
    let text = event["text"].as_str().expect("a text");
    assert!(text.contains("0x8"), "{event}");
    client.expect_line(&fixture, "crash");
    assert_eq!(client.function_names()[..2], ["fail", "main"]);
    assert_eq!(client.locals()["depth"], "3");
    assert_eq!(client.evaluate("sum(3)"), "6", "calls run in a copy");
    assert_eq!(client.evaluate("total"), "55");

    // The last write of what is wrong, and forward again to the crash, which does not end.
    shown(&mut client, ":last-write total").expect("a search");
    client.expect_stopped("data breakpoint");
    assert_eq!(client.evaluate("i"), "10");
    go(&mut client, "continue", &["exception"]);
    client.expect_line(&fixture, "crash");
    for _ in 0..2 {
        let event = go(&mut client, "continue", &["end of recording"]);
        assert_eq!(event["description"], "The recording ends here", "{event}");
        client.expect_line(&fixture, "crash");
    }
    for step in ["next", "stepIn", "stepOut"] {
        go(&mut client, step, &["end of recording"]);
    }
    client.disconnect();
}

#[test]
fn exit_is_shown_and_changes_there_are_forgotten() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    let output = record(&file, &[fixture.program.as_os_str(), "5".as_ref()]);
    assert_eq!(output.status.code(), Some(5));
    let (mut client, event) = opened(&file, json!({}), &["exit"]);
    assert_eq!(event["description"], "Exiting with code 5");
    assert_eq!(client.evaluate("total"), "55");
    assert_eq!(client.evaluate("total = 7"), "7");
    client.set_breakpoints(&fixture, &["write"]);
    go(&mut client, "reverseContinue", &["breakpoint"]);
    assert_eq!(client.evaluate("total"), "45", "before the tenth write");
    go(&mut client, "continue", &["exit", "end of recording"]);
    assert_eq!(client.evaluate("total"), "55");
    let kept = client.request("terminate", json!({}));
    assert!(kept.is_ok());
    client.wait_event("terminated");
    client.disconnect();
}

#[test]
fn recording_goes_to_its_start_and_on_from_there() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    record(&file, &[fixture.program.as_os_str(), "0".as_ref()]);
    let (mut client, _) = opened(&file, json!({}), &["exit"]);
    let event = go(&mut client, "reverseContinue", &["entry"]);
    assert_eq!(event["description"], "In the past: entry");
    client.set_breakpoints_with(
        &fixture,
        vec![("write", json!({"condition": "total > 20"}))],
    );
    go(&mut client, "continue", &["breakpoint"]);
    assert_eq!(client.evaluate("total"), "21");
    assert_eq!(
        client.evaluate("line"),
        "\"first line\\n\"",
        "of a file that is gone"
    );
    client.disconnect();
}

#[test]
fn killed_program_ends_at_its_last_event() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    let output = record(&file, &[fixture.program.as_os_str(), "kill".as_ref()]);
    assert_eq!(output.status.code(), Some(128 + 9));
    let (mut client, event) = opened(&file, json!({}), &["end of recording"]);
    let text = event["text"].as_str().expect("a text");
    assert!(text.contains("SIGKILL"), "{event}");
    go(&mut client, "reverseContinue", &["entry"]);
    client.disconnect();
}

#[test]
fn recording_that_ended_early_says_why() {
    let fixture = Fixture::of("c/record/threads/refused.c");
    let (_folder, file) = place_for_file();
    record(&file, &[fixture.program.as_os_str(), "execute".as_ref()]);
    let (client, event) = opened(&file, json!({}), &["end of recording"]);
    let text = "it executes a program while it has threads";
    assert_eq!(event["text"], text, "{event}");
    client.disconnect();
}

#[test]
fn saved_stop_is_the_end_until_it_is_saved_again() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    let settings = json!({"record": true, "args": ["5"]});
    let mut live = DapClient::stopped_with(&fixture, "write", settings);
    let save = format!(":recording save {}", file.display());
    live.continue_();
    live.expect_stopped("breakpoint");
    shown(&mut live, &save).expect("a file");
    let size = fs::metadata(&file).expect("it").len();
    let total = live.evaluate("total");
    // A breakpoint of the session that has saved is not in the file's program.
    let (mut client, event) = opened(&file, json!({}), &["end of recording"]);
    assert_eq!(event["text"], "step back or run back", "{event}");
    client.expect_line(&fixture, "write");
    assert_eq!(client.evaluate("total"), total);
    go(&mut client, "stepBack", &["step"]);
    client.set_breakpoints(&fixture, &["write"]);
    go(&mut client, "reverseContinue", &["breakpoint"]);
    assert_eq!(client.evaluate("total"), "0");
    let refused = shown(&mut client, &save).expect_err("a refusal");
    assert!(refused.contains("copy that"), "{refused}");
    client.disconnect();

    live.set_breakpoints(&fixture, &[]);
    live.continue_();
    live.expect_stopped("exit");
    shown(&mut live, &save).expect("a file");
    assert!(fs::metadata(&file).expect("it").len() > size / 2);
    let (client, _) = opened(&file, json!({}), &["exit"]);
    client.disconnect();
    live.disconnect();
}
