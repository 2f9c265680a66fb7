//! Advice for command lines as people write them for other debuggers.

use crate::files::kind::{FileKind, kind_of};
use std::ffi::OsString;
use std::path::Path;

/// Returns the command that was probably meant by arguments that are not understood (without the name of this
/// program); `None`: nothing is known.
pub fn advice(arguments: &[OsString]) -> Option<String> {
    let words: Vec<String> = arguments
        .iter()
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let quoted = |words: &[&str]| shlex::try_join(words.iter().copied()).unwrap_or_default();
    match words.as_slice() {
        ["attach" | "-p" | "--pid" | "--attach", pid, ..] => Some(attach(pid)),
        [
            "gdb" | "debug" | "exec" | "launch" | "start" | "--args",
            program @ ..,
        ] if !program.is_empty() => Some(format!(
            "to debug a program: `stillpoint run {}`",
            quoted(program)
        )),
        ["trace", place, program @ ..] if !program.is_empty() && !words.contains(&"--") => {
            let (what, program) = program
                .iter()
                .position(|it| is_program(it))
                .map(|at| program.split_at(at))?;
            let what = quoted(&[&[*place], what].concat());
            Some(format!(
                "`--` stands before the program: `stillpoint trace {what} -- {}`",
                quoted(program)
            ))
        }
        [file] | [file, _] if let Some(kind) = meant_file(file) => Some(match kind {
            FileKind::Core => format!("to look at a core file: `stillpoint core {}`", quoted(&words)),
            FileKind::Recording => {
                format!("to look at a recording: `stillpoint replay {}`", quoted(&words))
            }
        }),
        ["ps" | "dump" | "traceinfo" | "pack" | "sources", ..] => Some(
            "a recording has one program, and `stillpoint replay FILE` shows where it ends; processes that run are \
             shown by `ps`, and traced by `stillpoint trace PLACE --pid PID`"
                .to_owned(),
        ),
        ["-f" | "-e" | "-o" | "-c" | "-ff" | "-tt" | "-T" | "strace" | "ltrace" | "perf", ..] => Some(
            "system calls are not printed here; what functions and lines do: `stillpoint trace PLACE QUERY -- PROGRAM`, \
             and the system calls of a run: `stillpoint record -o FILE PROGRAM`, then `:recording calls` in an editor"
                .to_owned(),
        ),
        ["break" | "b" | "tbreak", place, program @ ..] => {
            let program = if program.is_empty() { "PROGRAM".to_owned() } else { quoted(program) };
            let place = quoted(&[place]);
            Some(format!("to see the stops at a place: `stillpoint run --break {place} {program}`"))
        }
        [program, ..] if is_program(program) => Some(format!(
            "to debug a program: `stillpoint run {}`",
            quoted(&words)
        )),
        _ => None,
    }
}

fn attach(pid: &str) -> String {
    format!(
        "to trace a running process: `stillpoint trace PLACE --pid {pid}`; to stop it, attach from an editor \
         (docs/editors.md: `\"request\": \"attach\", \"pid\": {pid}`) or an agent (`stillpoint mcp`)"
    )
}

/// Returns the kind of the file that a word names. If there is no such file, the name decides.
fn meant_file(word: &str) -> Option<FileKind> {
    let path = Path::new(word);
    if path.exists() {
        return kind_of(path);
    }
    let is_core = word.starts_with("core.") || word.ends_with(".core");
    match path.extension().and_then(|it| it.to_str()) {
        _ if is_core => Some(FileKind::Core),
        Some("rec") => Some(FileKind::Recording),
        _ => None,
    }
}

/// Returns whether a word names a program rather than a command.
fn is_program(word: &str) -> bool {
    !word.starts_with('-') && (word.contains('/') || Path::new(word).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_debuggers_command_lines() {
        for (line, expected) in [
            ("./prog a", Some("`stillpoint run ./prog a`")),
            ("build/prog", Some("`stillpoint run build/prog`")),
            ("--args ./prog 'a b'", Some("`stillpoint run ./prog 'a b'`")),
            ("attach 17", Some("--pid 17`")),
            ("-p 17", Some("--pid 17`")),
            (
                "trace main ./prog 3",
                Some("`stillpoint trace main -- ./prog 3`"),
            ),
            (
                "trace main 'count() by x' ./prog",
                Some("`stillpoint trace main 'count() by x' -- ./prog`"),
            ),
            ("prog.core", Some("`stillpoint core prog.core`")),
            (
                "core.4711 ./prog",
                Some("`stillpoint core core.4711 ./prog`"),
            ),
            ("crash.rec", Some("`stillpoint replay crash.rec`")),
            ("ps", Some("`stillpoint replay FILE`")),
            ("-f ./prog", Some("`stillpoint trace PLACE")),
            ("-e openat ./prog", Some("`stillpoint record -o FILE")),
            (
                "break main ./prog",
                Some("`stillpoint run --break main ./prog`"),
            ),
            ("no_such_command", None),
            // The command without its argument.
            ("core", None),
        ] {
            let arguments = shlex::split(line).expect("words");
            let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
            match (advice(&arguments), expected) {
                (Some(text), Some(part)) => assert!(text.contains(part), "{line}: {text}"),
                (text, expected) => assert_eq!(text.as_deref(), expected, "{line}"),
            }
        }
    }
}
