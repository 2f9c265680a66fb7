//! What the copy with probes prints.

use crate::commands;
use crate::probe::{Run, Truth};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How often a program runs: what depends on chance is no truth.
const RUNS: usize = 4;
/// After this time it runs no further.
const ENOUGH: Duration = Duration::from_secs(5);

/// The variable that names the file to which the probes print.
pub const VARIABLE: &str = "SOURCE_EXPRESSIONS_TRUTH";

/// Runs a program with probes several times, and keeps what is the same. `command` makes it the first time, or the
/// second.
///
/// # Errors
/// It takes too long.
pub fn of(
    folder: &Path,
    deadline: Instant,
    command: impl Fn(usize) -> Command,
) -> Result<Run<Truth>, String> {
    let file = folder.join("truth");
    let once = |nth: usize| {
        let _ = std::fs::remove_file(&file);
        let ended = commands::run(command(nth).env(VARIABLE, &file), folder, deadline)?;
        let text = commands::beginning(&file).unwrap_or_default();
        let mut run = read(&text);
        run.output = without_times(&ended.output);
        Ok::<_, String>(run)
    };
    let began = Instant::now();
    let mut first = once(0)?;
    for nth in 1..RUNS {
        let differed = first.varies;
        first.keep_common(&once(nth % 2)?, |one, other| one == other);
        // The second command's memory has other contents without a value.
        let is_same_command = nth % 2 == 0;
        first.varies = differed || is_same_command && first.varies;
        // Programs that take long run only twice.
        if began.elapsed() > ENOUGH {
            first.varies = true;
            break;
        }
    }
    Ok(first)
}

/// Reads lines `stop ID`, `value ID TAB TYPE TAB TEXT`, `opaque ID TAB TYPE` and `trap ID`.
fn read(text: &str) -> Run<Truth> {
    let mut run = Run::default();
    for line in text.lines() {
        let Some((word, rest)) = line.split_once(' ') else {
            continue;
        };
        let mut fields = rest.splitn(3, '\t');
        let Some(id) = fields.next().and_then(|id| id.parse().ok()) else {
            continue;
        };
        let mut field = || fields.next().unwrap_or_default();
        let truth = match word {
            "stop" => {
                run.reached.push(id);
                continue;
            }
            "value" => Truth::Value(field().to_owned(), Some(unescape(field()))),
            "opaque" => Truth::Value(field().to_owned(), None),
            "trap" => Truth::Trap,
            _ => continue,
        };
        run.values.entry(id).or_insert(truth);
    }
    run
}

/// Undoes the escapes of tabs, line ends and backslashes.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => break,
            },
            other => other,
        });
    }
    plain
}

/// Removes what differs from run to run in the output of Rust's tests.
pub fn without_times(output: &str) -> String {
    let lines = output.lines().map(|line| match line.find("finished in ") {
        Some(at) => &line[..at],
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}
