//! `stillpoint replay`, and agents.

use super::{place_for_file, record};
use std::path::Path;
use stillpoint_tests::{Fixture, command};

/// Returns what `stillpoint replay` prints of a file.
fn printed(file: &Path, options: &[&str]) -> String {
    let mut replay = command();
    let output = replay.arg("replay").args(options).arg(file).output();
    let output = output.expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}\n{errors}");
    text
}

#[test]
fn end_and_the_stops_before_are_printed() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    record(&file, &[fixture.program.as_os_str(), "crash".as_ref()]);
    let text = printed(&file, &["--print", "total"]);
    assert!(
        text.contains("signal SIGSEGV") && text.contains("total = 55"),
        "{text}"
    );
    assert!(
        text.contains("#0 fail at ") && text.contains("#1 main at "),
        "{text}"
    );
    let place = format!("stored.c:{}", fixture.line("write"));
    let text = printed(&file, &["--break", &place, "--print", "total"]);
    let totals: Vec<&str> = text
        .lines()
        .filter_map(|it| it.strip_prefix("  total = "))
        .collect();
    let expected = ["0", "1", "3", "6", "10", "15", "21", "28", "36", "45", "55"];
    assert_eq!(totals, expected, "{text}");
}
