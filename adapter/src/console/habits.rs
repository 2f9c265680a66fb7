//! Commands of gdb and lldb as people type them first, and commands without their prefix: what to type here.

use super::COMMANDS;

/// The words, and what there is instead: a command (after `:`), or a sentence.
const HABITS: &[(&[&str], &str)] = &[
    (&["backtrace", "where", "k"], ":bt"),
    (&["?", "h", "apropos"], ":help"),
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
            "printf",
            "pp",
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
            "hbreak",
            "delete",
            "disable",
            "enable",
            "condition",
            "clear",
        ],
        "set breakpoints in the editor: by a line, a function's name or data",
    ),
    (
        &["watch", "rwatch", "awatch", "watchpoint"],
        "set data breakpoints in the editor's list of variables",
    ),
    (
        &["catch", "handle"],
        "choose exceptions in the editor's list of breakpoints; `:signals` is for signals",
    ),
    (
        &[
            "n", "next", "s", "step", "c", "cont", "continue", "finish", "fin", "until", "advance",
            "run", "r", "start", "kill", "si", "stepi", "ni", "nexti", "jump",
        ],
        "step and continue with the editor's commands; `:reverse-next` and its like go back",
    ),
    (&["rn"], ":reverse-next"),
    (&["rs"], ":reverse-step"),
    (&["rc"], ":reverse-continue"),
    (
        &["f", "frame", "up", "down", "select"],
        "select a frame in the editor's call stack",
    ),
    (&["l", "list", "source"], "the editor shows the source"),
    (&["image", "target"], ":modules"),
    (&["x", "memory"], ":mem"),
    (&["disassemble", "dis", "di"], ":disas"),
    (&["thread"], ":threads"),
    (&["register", "registers", "reg"], ":regs"),
    (
        &["ptype", "whatis"],
        "type the expression alone: its value names the type, and `sizeof` works",
    ),
    (
        &["display", "undisplay"],
        "add the expression to the editor's watches",
    ),
    (
        &["q", "quit", "exit", "detach", "attach", "process"],
        "start and end sessions in the editor",
    ),
];

/// The arguments of gdb's `info`, and what shows the same here.
const INFO: &[(&[&str], &str)] = &[
    (&["registers", "reg", "r", "all-registers"], ":regs"),
    (&["threads"], ":threads"),
    (&["line"], ":info line"),
    (&["symbol", "address"], ":sym"),
    (&["sharedlibrary", "shared", "files"], ":modules"),
    (&["signals", "handle"], ":signals"),
    (&["proc"], ":maps"),
    (&["source"], "the editor shows the source"),
    (
        &["locals", "args", "frame", "f", "variables"],
        "the editor's list of variables shows them",
    ),
    (
        &["breakpoints", "break", "b", "watchpoints"],
        "the editor's list of breakpoints shows them",
    ),
];

/// Returns what to type instead of a command of another debugger, or of a command here without its prefix; `None`: the
/// line is neither. `prefix`: of the commands here; empty: there are none.
pub fn instead_of(line: &str, prefix: &str) -> Option<String> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim_start();
    // A command has arguments; `n + 1` and `x / 2` are expressions.
    let is_operand = |char: char| char.is_alphanumeric() || "_$*&\"'(@".contains(char);
    if !rest.is_empty() && !rest.starts_with(is_operand) {
        return None;
    }
    // gdb: `x/4x`, `p/x`.
    let (word, format) = word.split_once('/').unwrap_or((word, "x"));
    if format.is_empty()
        || !format
            .chars()
            .all(|it| it.is_ascii_digit() || "xduotacfszibhwg".contains(it))
    {
        return None;
    }
    if COMMANDS.iter().any(|it| it.name == word) && word != "info" && word != "set" {
        return (!prefix.is_empty())
            .then(|| format!("commands begin with `{prefix}`: `{prefix}{word}`"));
    }
    let info = rest.split_whitespace().next().unwrap_or_default();
    let found = match word {
        "info" | "image" if !info.is_empty() => {
            INFO.iter().find(|(words, _)| words.contains(&info))
        }
        _ => None,
    };
    let found = found.or_else(|| HABITS.iter().find(|(words, _)| words.contains(&word)));
    let instead = match (found, word) {
        (Some((_, instead)), _) => *instead,
        (None, "info") => ":help",
        (None, "set") => "assign with `=`: `x = 3`; `:set` shows and changes settings",
        (None, _) => return None,
    };
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

    #[test]
    fn commands_that_are_named_exist() {
        for (words, instead) in HABITS.iter().chain(INFO) {
            if let Some(command) = instead.strip_prefix(':') {
                let name = command.split(' ').next().unwrap_or(command);
                assert!(COMMANDS.iter().any(|it| it.name == name), "{name}");
                let is_circle =
                    words.contains(&command) && HABITS.iter().any(|(it, _)| it == words);
                assert!(!is_circle, "{command}");
            }
        }
    }

    #[test]
    fn expressions_are_none() {
        let text = instead_of("x/4x $sp", "-").expect("gdb's");
        assert!(text.ends_with("here it is `-mem`"), "{text}");
        let own = instead_of("mem 0x1000", ":").expect("ours without its prefix");
        assert_eq!(own, "commands begin with `:`: `:mem`");
        for line in [
            "count + p",
            "n + nosuch",
            "x / 2",
            "x/count",
            "info + 1",
            "n == 3",
            "n.x",
            "p[2]",
        ] {
            assert_eq!(instead_of(line, ":"), None, "{line}");
        }
        assert_eq!(instead_of("bt", ""), None);
    }
}
