//! Differences of two runs.

use super::{opened, place_for_file, record, shown};
use serde_json::json;
use stillpoint_tests::{DapClient, Fixture, command, patience};

#[test]
fn run_before_a_restart_differs_where_other_bytes_were_read() {
    let fixture = Fixture::of("c/record/runs.c");
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("input");
    std::fs::write(&input, "the same, then 1").expect("a file");
    let settings = json!({"record": true, "args": [input]});
    let mut client = DapClient::stopped_with(&fixture, "end", settings);
    let refused = shown(&mut client, ":diff-runs").expect_err("no run before");
    assert!(refused.contains("no run before is kept"), "{refused}");

    for (text, differs) in [("the same, then 1", false), ("the same, then 2", true)] {
        std::fs::write(&input, text).expect("a file");
        client.request_ok("restart", json!({}));
        client.expect_stopped("breakpoint");
        let text = shown(&mut client, ":diff-runs").expect("two runs");
        assert_eq!(text.contains(" differs"), differs, "{text}");
        if differs {
            let read = |byte| format!("= 16, read from byte 15 on \"{byte}\"");
            assert!(
                text.contains(&read('2')) && text.contains(&read('1')),
                "{text}"
            );
            assert!(
                text.contains("read(fd = ") && text.contains("count = 32"),
                "{text}"
            );
            let event = client.expect_stopped("goto");
            assert_eq!(event["description"], "In the past: goto", "{event}");
            let stack = client.function_names();
            assert!(stack.iter().any(|it| it == "take"), "{stack:?}");
            assert_eq!(client.evaluate("takes"), "2");
        } else {
            assert!(text.contains("of both runs are the same"), "{text}");
        }
    }
    client.disconnect();
}

#[test]
fn files_of_two_runs_are_compared() {
    let fixture = Fixture::of("c/record/runs.c");
    let (folder, one) = place_for_file();
    let other = folder.path().join("other");
    let input = folder.path().join("input");
    for (file, text) in [(&one, "first"), (&other, "second")] {
        std::fs::write(&input, text).expect("a file");
        record(file, &[fixture.program.as_os_str(), input.as_os_str()]);
    }
    let mut replay = command();
    let output = replay
        .arg("replay")
        .arg(&one)
        .arg("--diff")
        .arg(&other)
        .output();
    let output = output.expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("= 5, read \"first\"") && text.contains("= 6, read \"second\""),
        "{text}"
    );
    assert!(text.contains(" take at "), "{text}");

    let (mut client, _) = opened(&one, json!({}), &["exit"]);
    let same = shown(&mut client, &format!(":diff-runs {}", one.display()));
    assert!(
        same.expect("two runs")
            .contains("of both runs are the same")
    );
    let refused = shown(&mut client, &format!(":diff-runs {}", input.display()));
    assert!(
        refused
            .expect_err("no recording")
            .contains("is not a recording")
    );
    client.disconnect();
}

#[test]
fn run_that_ends_earlier_stays_at_its_end() {
    let fixture = Fixture::of("c/record/runs.c");
    let (folder, short) = place_for_file();
    let (long, input) = (folder.path().join("long"), folder.path().join("input"));
    std::fs::write(&input, "text").expect("a file");
    let mut live = DapClient::spawn();
    live.launch(&fixture, json!({"record": true, "args": [input]}));
    live.set_function_breakpoints(&["take"]);
    live.configure();
    for file in [&short, &long] {
        live.expect_stopped("function breakpoint");
        shown(&mut live, &format!(":recording save {}", file.display())).expect("a file");
        live.continue_();
    }
    live.disconnect();
    let (sender, ended) = std::sync::mpsc::channel();
    let mut replay = command();
    replay.arg("replay").arg(&short).arg("--diff").arg(&long);
    std::thread::spawn(move || sender.send(replay.output()));
    let output = patience::receive(&ended).expect("its end");
    let output = output.expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("  this run   ends here\n"), "{text}");
    assert!(text.contains("stack\n  #0 take at "), "{text}");
}
