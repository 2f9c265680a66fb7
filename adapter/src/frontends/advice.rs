//! Advice for command lines as people write them for other debuggers.

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
            ("no_such_command", None),
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
