//! `stillpoint replay`, and agents.

use super::{place_for_file, record};
use std::fs;
use std::path::Path;
use stillpoint_tests::{Fixture, command};
use twox_hash::XxHash3_64;

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
    let expected = ["0", "1", "3", "6", "10", "15", "21", "28", "36", "45", "55"];
    assert_eq!(values(&text, "total"), expected, "{text}");
}

#[test]
fn functions_of_libraries_are_hit() {
    let fixture = Fixture::of("c/record/stored.c");
    let (_folder, file) = place_for_file();
    record(&file, &[fixture.program.as_os_str(), "crash".as_ref()]);
    let text = printed(&file, &["--break", "fgets", "--break", "mkstemp"]);
    for function in ["fgets", "mkstemp"] {
        let hits = text.lines().filter(|it| {
            let frame = it.trim_start().strip_prefix("#0 ");
            frame.is_some_and(|it| it.contains(function))
        });
        assert_eq!(hits.count(), 1, "{function}: {text}");
    }
}

/// Returns the values of an expression in what was printed.
fn values<'a>(text: &'a str, expression: &str) -> Vec<&'a str> {
    let begin = format!("  {expression} = ");
    let values = text.lines().filter_map(|it| it.strip_prefix(&begin));
    values.collect()
}

/// Changes bytes of the recorded log to others, and the checksum of their section with them.
fn change_log(file: &Path, from: &[u8], to: &[u8]) {
    /// Magic number and version.
    const PROLOGUE: usize = 20;
    /// The kind of a section with a part of the log.
    const LOG: u32 = 2;
    let mut bytes = fs::read(file).expect("it");
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    let mut at = PROLOGUE;
    let mut changed = 0;
    while at < bytes.len() {
        // Kind, length, compressed length, checksum.
        let (kind, len) = (number(&bytes, at), number(&bytes, at + 8) as usize);
        let packed = at + 20..at + 20 + len;
        at = packed.end;
        if kind != LOG {
            continue;
        }
        let within = &mut bytes[packed.clone()];
        while let Some(found) = within.windows(from.len()).position(|it| it == from) {
            within[found..found + to.len()].copy_from_slice(to);
            changed += 1;
        }
        let check = XxHash3_64::oneshot(&bytes[packed.clone()]);
        bytes[packed.start - 8..packed.start].copy_from_slice(&check.to_le_bytes());
    }
    assert_eq!(changed, 1, "the bytes are in the log once");
    fs::write(file, bytes).expect("it");
}

#[test]
fn replay_that_diverges_is_told_once_and_fails() {
    let fixture = Fixture::of("c/record/reads.c");
    let (_folder, file) = place_for_file();
    record(&file, &[&fixture.program]);
    let place = format!("reads.c:{}", fixture.line("write"));
    let text = printed(&file, &["--break", &place, "--print", "written"]);
    let expected = ["0", "1", "3", "6", "10", "13", "15", "16"];
    assert_eq!(values(&text, "written"), expected, "{text}");
    // The replay writes nine bytes where the program has written one.
    change_log(&file, b"1234321.", b"9234321.");
    let mut replay = command();
    let replay = replay.args(["replay", "--break", &place]).arg(&file);
    let output = replay.output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let told = errors.matches("was not like the recording").count();
    assert_eq!(told, 1, "{errors}");
    assert!(errors.contains("(write): "), "{errors}");
}
