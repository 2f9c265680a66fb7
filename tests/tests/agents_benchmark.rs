//! The agents' benchmark (`tests/agents`) with Stillpoint: its goal, and that answers are the same in
//! every run. The evidence is that of programs for x86-64: what is on a stack, whether `char` is signed.

use regex::Regex;
use serde_json::Value;
use std::process::Command;
use stillpoint_tests::{repository, stillpoint, target_directory};

/// The goal: medians of calls and characters for a bug.
const CALLS: f64 = 4.0;
const CHARACTERS: f64 = 6000.0;

/// Runs the benchmark; returns a row for each bug, or `None` if something is not installed.
fn rows() -> Option<Vec<Value>> {
    for command in ["python3", "gcc", "g++", "rustc"] {
        if !skips::has_command(command) {
            skips::skip(command);
            return None;
        }
    }
    let done = Command::new(repository().join("tests/agents/run"))
        .args(["--server", "stillpoint", "--json", "--stillpoint"])
        .arg(stillpoint())
        .env("CARGO_TARGET_DIR", target_directory())
        .output()
        .expect("the benchmark starts");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
    let rows: Value = serde_json::from_slice(&done.stdout).expect("rows as JSON");
    Some(rows.as_array().expect("a list").clone())
}

fn median(rows: &[Value], column: &str) -> f64 {
    let mut numbers: Vec<f64> = rows.iter().filter_map(|row| row[column].as_f64()).collect();
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    (numbers[half] + numbers[(numbers.len() - 1) / 2]) / 2.0
}

/// The answers about a bug, without the kernel's numbers of threads and measured times.
fn answers(row: &Value) -> String {
    let numbers = Regex::new(r"\(tid \d+\)|thread '\w+' \(\d+\)|\d+ [µm]s per hit");
    let numbers = numbers.expect("a pattern");
    let calls = row["transcript"].as_array().expect("calls").iter();
    let answers = calls.map(|call| call["answer"].as_str().expect("a text"));
    let all: Vec<&str> = answers.collect();
    numbers.replace_all(&all.join("\n"), "").into_owned()
}

#[test]
fn evidence_is_recognized_in_the_forms_of_all_servers() {
    if !skips::has_command("python3") {
        skips::skip("python3");
        return;
    }
    let done = Command::new("python3")
        .args(["-B", "-m", "unittest", "benchmark.evidence_test"])
        .current_dir(repository().join("tests/agents"))
        .output()
        .expect("python3 starts");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
}

#[test]
fn all_bugs_are_solved_in_few_calls_and_characters() {
    let Some(rows) = rows() else { return };
    assert_eq!(rows.len(), 33);
    for row in &rows {
        assert_eq!(
            row["seen"],
            true,
            "{}: {} were not seen in\n{}",
            row["bug"],
            row["missing"],
            answers(row)
        );
    }
    let (calls, characters) = (median(&rows, "calls"), median(&rows, "characters"));
    assert!(calls <= CALLS, "{calls} calls for a bug");
    assert!(
        characters <= CHARACTERS,
        "{characters} characters for a bug"
    );
    let Some(again) = self::rows() else { return };
    for (row, again) in rows.iter().zip(&again) {
        if row["varies"] == false {
            assert_eq!(answers(row), answers(again), "{}", row["bug"]);
        }
    }
}
