//! The compilers: which expressions they reject and why, and C's types.

use super::program::{Language, Verdict};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// One program on its way to an executable.
pub(super) struct Compiler<'a> {
    pub(super) language: Language,
    pub(super) source: PathBuf,
    pub(super) before: &'a str,
    pub(super) after: &'a str,
    /// Whether expressions may change it.
    pub(super) has_state: bool,
    /// Further arguments, from the line `//# flags: ...` of the world.
    pub(super) flags: Vec<&'a str>,
}

impl Compiler<'_> {
    /// Returns the path of the executable.
    pub(super) fn program(&self) -> PathBuf {
        self.source.with_extension("")
    }

    /// Compiles the expressions that compile.
    pub(super) fn compile(&mut self, expressions: &[String]) -> Vec<Verdict> {
        let mut verdicts = match self.language {
            Language::C => self.types_of(expressions),
            Language::Cpp | Language::Rust => vec![Verdict::Printed; expressions.len()],
        };
        loop {
            self.write(expressions, &verdicts, |index, expression, verdict| {
                let line = match (self.language, verdict) {
                    (_, Verdict::Rejected(_)) => return String::new(),
                    (Language::C, Verdict::Typed(ty)) => c_line(index, expression, ty),
                    // A place is looked at without moving it. Without a macro, whose own line some
                    // errors would have.
                    (Language::Rust, _) => format!(
                        "show({index}, || match ({expression}) {{ ref it => (&Tag(it)).line() }});"
                    ),
                    _ => format!("SHOW({index}, {expression})"),
                };
                match self.has_state {
                    true => format!("reset(); {line} show_state({index});"),
                    false => line,
                }
            });
            let (done, messages) = self.run(true);
            let mut errors = self.errors(&messages, expressions.len());
            // A value that another expression moves, which itself is an error.
            let follows = |why: &str| why.starts_with("[E0382]");
            if errors.values().any(|why| !follows(why)) {
                errors.retain(|_, why| !follows(why));
            }
            if done {
                return verdicts;
            }
            assert!(!errors.is_empty(), "{}: {messages}", self.source.display());
            for (index, why) in errors {
                verdicts[index] = Verdict::Rejected(why);
            }
        }
    }

    /// Writes the source with a line for each expression.
    fn write(
        &self,
        expressions: &[String],
        verdicts: &[Verdict],
        line: impl Fn(usize, &str, &Verdict) -> String,
    ) {
        let mut text = self.before.to_owned();
        for (index, (expression, verdict)) in expressions.iter().zip(verdicts).enumerate() {
            text += &line(index, expression, verdict);
            text.push('\n');
        }
        text += self.after;
        fs::write(&self.source, text).expect("the source is written");
    }

    /// Returns the types of C's expressions: gcc names them when it refuses a pointer to each as an
    /// argument.
    fn types_of(&self, expressions: &[String]) -> Vec<Verdict> {
        let rejected = vec![Verdict::Printed; expressions.len()];
        self.write(expressions, &rejected, |_, expression, _| {
            format!("probe_((__typeof__({expression}) *)0);")
        });
        let (_, messages) = self.run(false);
        let mut all = vec![Verdict::Printed; expressions.len()];
        let mut current = None;
        for message in messages.lines() {
            if let Some((index, why)) = self.error(message, expressions.len()) {
                current = Some(index);
                let is_probe = why.contains("incompatible type for argument 1 of 'probe_'");
                let is_bits = why.contains("'typeof' applied to a bit-field");
                if !is_probe && !is_bits && all[index] == Verdict::Printed {
                    all[index] = Verdict::Rejected(why);
                }
            } else if let (Some(index), Some((_, ty))) = (
                current,
                message.split_once("note: expected 'struct Probe_' but argument is of type '"),
            ) {
                current = None;
                if all[index] == Verdict::Printed {
                    let both = ty.trim_end_matches(['\'', '}']).split("' {aka '");
                    let both: Vec<String> = both.map(pointed).collect();
                    all[index] = Verdict::Typed(both.join("|"));
                }
            }
        }
        // gcc reports an undeclared name once.
        for verdict in all.iter_mut().filter(|it| **it == Verdict::Printed) {
            *verdict = Verdict::Rejected("an undeclared name".to_owned());
        }
        all
    }

    /// Runs the compiler; returns whether it succeeds, and its messages.
    fn run(&self, link: bool) -> (bool, String) {
        let mut command = Command::new(match self.language {
            Language::C => "gcc",
            Language::Cpp => "g++",
            Language::Rust => "rustc",
        });
        command.env("LC_ALL", "C");
        match self.language {
            Language::Rust => command.args([
                "--edition=2024",
                "--error-format=short",
                "--crate-name=oracle",
                "-g",
            ]),
            // Errors as of gcc 14.
            Language::C => command.args([
                "-std=gnu17",
                "-Werror=implicit-function-declaration",
                "-Werror=int-conversion",
                "-Werror=incompatible-pointer-types",
            ]),
            Language::Cpp => command.args(["-std=c++20", "-w"]),
        };
        if self.language != Language::Rust {
            command.args(["-g", "-fwrapv", "-fno-diagnostics-show-caret"]);
            command.args(["-fno-var-tracking", "-fmessage-length=0"]);
            // What is undefined ends in a signal; signed overflow wraps around.
            command.arg("-fsanitize=shift-exponent,float-cast-overflow,bounds");
            command.arg("-fsanitize-undefined-trap-on-error");
            if self.has_state {
                command.arg("-fsanitize=address");
            }
        }
        command.args(&self.flags);
        if link {
            command.arg("-o").arg(self.program());
        } else {
            command.arg("-fsyntax-only");
        }
        let output = command.arg(&self.source).output();
        let output = output.expect("the compiler is installed");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), messages)
    }

    /// Returns the first error of each expression.
    fn errors(&self, messages: &str, count: usize) -> BTreeMap<usize, String> {
        let mut all = BTreeMap::new();
        // What an instantiation requires is at the line that requires it; the error follows.
        let mut required = None;
        // An error at the end of an expression is in the macro around it.
        let mut in_macro = None;
        for message in messages.lines() {
            if let Some((index, why)) = self.error(message, count) {
                all.entry(index).or_insert(why);
                required = None;
            } else if message.contains("in expansion of macro")
                && let Some((index, _)) = self.line_of(message, count)
                && let Some(why) = in_macro.take()
            {
                all.entry(index).or_insert(why);
            } else if message.contains("required from here") {
                required = self.line_of(message, count).map(|(index, _)| index);
            } else if let (Some(index), Some((_, why))) =
                (required, message.split_once(": error: "))
            {
                all.entry(index).or_insert_with(|| why.to_owned());
                required = None;
            } else if let Some((_, why)) = message.split_once(": error: ") {
                in_macro = Some(why.to_owned());
            }
        }
        all
    }

    /// Returns the expression and the text of an error.
    fn error(&self, message: &str, count: usize) -> Option<(usize, String)> {
        let (index, rest) = self.line_of(message, count)?;
        let (_, why) = rest.split_once("error")?;
        let why = why.trim_start_matches([':', ' ']);
        rest.trim_start()
            .trim_start_matches(|it: char| it.is_ascii_digit() || it == ':' || it == ' ')
            .starts_with("error")
            .then(|| (index, why.to_owned()))
    }

    /// Returns the expression that a message is about, and the rest of the message.
    fn line_of<'m>(&self, message: &'m str, count: usize) -> Option<(usize, &'m str)> {
        let first = self.before.lines().count() + 1;
        let source = self.source.to_str()?;
        let rest = message.strip_prefix(source)?.strip_prefix(':')?;
        let (line, rest) = rest.split_once(':')?;
        let line: usize = line.parse().ok()?;
        (first..first + count)
            .contains(&line)
            .then(|| (line - first, rest))
    }
}

/// Returns the target of a pointer's type as gcc spells it: `int (*)[2]` is `int [2]`.
fn pointed(ty: &str) -> String {
    // The innermost parentheses with stars only.
    let stars = ty.match_indices("(*").find_map(|(at, _)| {
        let (inner, _) = ty[at + 1..].split_once(')')?;
        inner
            .chars()
            .all(|it| it == '*')
            .then_some((at, inner.len()))
    });
    match stars {
        Some((at, 1)) => format!("{}{}", &ty[..at], &ty[at + 3..]),
        Some((at, _)) => format!("{}{}", &ty[..=at], &ty[at + 2..]),
        None => ty.strip_suffix('*').unwrap_or(ty).trim_end().to_owned(),
    }
}

/// Returns the line that prints a C expression of a type.
fn c_line(index: usize, expression: &str, ty: &str) -> String {
    let real = ty.rsplit('|').next().unwrap_or_default();
    let bare: Vec<&str> = real
        .split_whitespace()
        .filter(|it| !matches!(*it, "const" | "volatile"))
        .collect();
    let bare = bare.join(" ");
    // `int (* [3])(int)` is an array.
    let is_function = bare.contains("(*)") || bare.contains("(**)");
    let is_pointer = is_function || (bare.ends_with('*') && !bare.contains('['));
    let is_object = bare.starts_with("struct") || bare.starts_with("union");
    let (format, cast) = match bare.split(':').next().unwrap_or_default() {
        _ if is_pointer => ("%p", "(const void *)"),
        _ if is_object || bare.contains(['[', '(']) || bare == "void" => ("?", ""),
        "_Bool" => ("bool", ""),
        "float" | "double" => ("%.17g", "(double)"),
        "long double" => ("%.21Lg", ""),
        "__int128" => ("int128", ""),
        "__int128 unsigned" => ("uint128", ""),
        "long unsigned int" | "long long unsigned int" => ("%lu", "(unsigned long)"),
        _ => ("%ld", "(long)"),
    };
    let print = |format: &str, value: &str| format!("printf(\"{index}\\t\\t{format}\\n\"{value});");
    let statement = match format {
        // Of a type that is not printed: it is evaluated, since it may trap.
        "?" => format!("(void)({expression}); {}", print("?", "")),
        "bool" => print("%s", &format!(", ({expression}) ? \"true\" : \"false\"")),
        "int128" | "uint128" => format!("print_{format}({index}, {expression});"),
        _ => print(format, &format!(", {cast}({expression})")),
    };
    format!("SHOW({index}, {statement})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_pointers_point_to() {
        for (pointer, expected) in [
            ("enum Color *", "enum Color"),
            ("int (*)[2][3]", "int [2][3]"),
            ("const char **", "const char *"),
            ("int (*)(int,  char *)", "int (int,  char *)"),
            ("int (**)(int,  char *)", "int (*)(int,  char *)"),
            ("int (*(*)[3])(int)", "int (*[3])(int)"),
            ("unsigned char:5 *", "unsigned char:5"),
            ("void *", "void"),
        ] {
            assert_eq!(pointed(pointer), expected, "{pointer}");
        }
    }
}
