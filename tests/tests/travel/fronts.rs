//! Recorded programs on the command line.

use serde_json::Value;
use stillpoint_tests::{Fixture, assert_contains, command, line_of};

#[test]
fn run_prints_what_was_recorded() {
    let fixture = Fixture::of("c/travel.c");
    let place = line_of(&fixture, "done");
    let run = |more: &[&str]| {
        let mut run = command();
        run.args(["run", "--record", "--break", &place, "--print", "result"]);
        let done = run.args(more).arg(&fixture.program).output();
        let done = done.expect("it runs");
        assert!(done.status.success(), "{done:?}");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (text(done.stdout), text(done.stderr))
    };
    let (stdout, stderr) = run(&[]);
    assert_contains(&stdout, &["result = 2220", "done 2220\n"]);
    assert!(!stdout.contains("Exiting"), "{stdout}");
    assert!(stderr.starts_with("stillpoint: recorded "), "{stderr}");
    assert!(
        stderr.contains("events (system calls and signals, "),
        "{stderr}"
    );
    let (stdout, _) = run(&["--json"]);
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let recorded = lines.iter().find(|line| line["event"] == "recorded");
    let recording = &recorded.expect("the recording")["recording"];
    assert!(
        recording["events"].as_u64().is_some_and(|it| it > 10),
        "{recording}"
    );
}
