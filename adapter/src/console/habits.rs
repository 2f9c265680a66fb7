//! Commands of gdb and lldb as people type them first, and what does the same here.

/// The words, and what there is instead: a command (after `:`), or a sentence.
const HABITS: &[(&[&str], &str)] = &[
    (&["bt", "backtrace", "where"], ":bt"),
    (&["help", "?", "h", "apropos"], ":help"),
    (
        &[
            "p",
            "print",
            "po",
            "v",
            "expr",
            "expression",
            "call",
            "output",
        ],
        "type the expression alone, without a command",
    ),
    (
        &[
            "b",
            "br",
            "break",
            "breakpoint",
            "tb",
            "tbreak",
            "delete",
            "disable",
            "enable",
            "condition",
        ],
        "set breakpoints in the editor: by a line, a function's name or data",
    ),
    (
        &["watch", "rwatch", "awatch", "watchpoint"],
        "set data breakpoints in the editor's list of variables",
    ),
    (
        &[
            "n", "next", "s", "step", "c", "continue", "finish", "fin", "until", "advance", "run",
            "r", "kill",
        ],
        "step and continue with the editor's commands; `:reverse-next` and its like go back",
    ),
    (
        &[
            "rn",
            "rs",
            "rc",
            "reverse-next",
            "reverse-step",
            "reverse-continue",
        ],
        ":reverse-next",
    ),
    (
        &["f", "frame", "up", "down", "select"],
        "select a frame in the editor's call stack",
    ),
    (&["l", "list", "source"], "the editor shows the source"),
    (&["i", "info", "target", "image"], ":help"),
    (&["x", "memory"], ":mem"),
    (&["disas", "disassemble", "di"], ":disas"),
    (&["thread", "threads"], ":threads"),
    (&["register", "registers", "reg"], ":regs"),
    (
        &["ptype", "whatis"],
        "type the expression alone: its value names the type, and `sizeof` works",
    ),
    (
        &["set"],
        "assign with `=`: `x = 3`; `:set` shows and changes settings",
    ),
    (
        &["display", "undisplay"],
        "add the expression to the editor's watches",
    ),
    (
        &["q", "quit", "exit", "detach"],
        "end the session in the editor",
    ),
];

/// Returns what to type instead of a command of another debugger; `None`: the line is none. `prefix`: of the
/// commands here; empty: there are none.
pub fn instead_of(line: &str, prefix: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    // gdb: `x/4x`, `p/x`.
    let word = word.split('/').next().unwrap_or(word);
    let (_, instead) = HABITS.iter().find(|(words, _)| words.contains(&word))?;
    let said = instead.replace("`:", &format!("`{prefix}"));
    Some(match instead.strip_prefix(':') {
        Some(_) if prefix.is_empty() => return None,
        Some(command) => {
            format!("`{word}` is a command of other debuggers; here it is `{prefix}{command}`")
        }
        None => format!("`{word}` is a command of other debuggers; here {said}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::COMMANDS;

    #[test]
    fn commands_that_are_named_exist() {
        for (_, instead) in HABITS {
            if let Some(name) = instead.strip_prefix(':') {
                assert!(
                    COMMANDS.iter().any(|it| it.name.starts_with(name)),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn only_first_words_count() {
        let text = instead_of("x/4x $sp", "-").expect("gdb's");
        assert!(text.ends_with("here it is `-mem`"), "{text}");
        assert_eq!(instead_of("count + p", ":"), None);
        assert_eq!(instead_of("bt", ""), None);
    }
}
