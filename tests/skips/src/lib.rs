//! What a test leaves out because this machine lacks something.
//!
//! A test that returns early passes. So each early return goes through [`skip`], which prints what
//! is missing and, under `.ci/run`, fails the test unless `tests/skips.txt` lists it with a reason.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;
use std::process::{Command, Stdio};

/// Names the file that each skip is appended to. Where it is set, an unlisted skip is a failure.
const RECORD: &str = "STILLPOINT_SKIPS";

const LISTED: &str = include_str!("../../skips.txt");

/// Skips the rest of the calling test, or the part of it that needs `missing`. The caller returns.
///
/// # Panics
/// Under `.ci/run` if `tests/skips.txt` does not list `missing`.
#[track_caller]
pub fn skip(missing: &str) {
    let place = Location::caller();
    println!("skipped: {missing} ({}:{})", place.file(), place.line());
    let Some(record) = env::var_os(RECORD) else {
        return;
    };
    assert!(
        is_listed(LISTED, missing),
        "`{missing}` is missing; provide it, or list it in tests/skips.txt with the reason"
    );
    // One write a line: tests of several processes append at once.
    let line = format!("{missing}\t{}:{}\n", place.file(), place.line());
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(record)
        .expect("the file that $STILLPOINT_SKIPS names can be written");
    file.write_all(line.as_bytes())
        .expect("the skip is recorded");
}

/// Whether a command starts; skips what needs it otherwise.
///
/// # Panics
/// As [`skip`].
#[track_caller]
pub fn has_command(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").stdin(Stdio::null());
    let starts = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if starts.is_err() {
        skip(name);
    }
    starts.is_ok()
}

/// Whether a list of lines `MISSING: REASON` has an entry, with a reason.
fn is_listed(list: &str, missing: &str) -> bool {
    let entries = list.lines().filter(|line| !line.starts_with('#'));
    entries
        .filter_map(|line| line.split_once(": "))
        .any(|(name, reason)| name == missing && !reason.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};

    #[test]
    fn an_entry_needs_a_reason() {
        let list = "# a list\nrustc +1.70: old\nclang: \nother user: only root has one\n";
        assert!(is_listed(list, "rustc +1.70"));
        assert!(is_listed(list, "other user"));
        for missing in ["clang", "rustc", "gdb", "# a list", ""] {
            assert!(!is_listed(list, missing), "{missing}");
        }
    }

    /// Adds the sources below a folder that print of skipping.
    fn sources_that_print(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of the repository") {
            let path = entry.expect("its entry").path();
            if path.is_dir() {
                sources_that_print(&path, found);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                let prints = |line: &str| line.contains("println!(") && line.contains("skipped");
                found.extend(text.lines().any(prints).then_some(path));
            }
        }
    }

    #[test]
    fn no_other_source_prints_that_it_skips() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for folder in ["dwarf", "engine", "adapter", "tests"] {
            sources_that_print(&root.join(folder), &mut found);
        }
        found.retain(|path| !path.ends_with("tests/skips/src/lib.rs"));
        assert!(
            found.is_empty(),
            "they should call `skips::skip`: {found:?}"
        );
    }

    #[test]
    fn every_entry_is_unique_with_a_reason() {
        let mut names = Vec::new();
        for line in LISTED.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split_once(": ").map(|(name, _)| name);
            let name = name.unwrap_or_else(|| panic!("`{line}` is not `MISSING: REASON`"));
            assert!(is_listed(LISTED, name), "{line}");
            assert!(!names.contains(&name), "{name} stands twice");
            names.push(name);
        }
    }
}
