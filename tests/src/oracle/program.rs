//! Programs that print expressions, and what their compiler says about each.

use super::grammar::Grammar;
use crate::binary::{repository, target_directory};
use crate::fixture::Fixture;
use fastrand::Rng;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write as _};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The language of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Language {
    /// C, by gcc.
    C,
    /// C++, by g++.
    Cpp,
    /// Rust.
    Rust,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::C, Self::Cpp, Self::Rust];

    /// Returns the language of a source.
    fn of(source: &Path) -> Option<Self> {
        match source.extension()?.to_str()? {
            "c" => Some(Self::C),
            "cpp" => Some(Self::Cpp),
            "rs" => Some(Self::Rust),
            _ => None,
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Rust => "rs",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ending())
    }
}

/// A source with types, variables and a grammar, in `tests/fixtures/oracle/KIND/`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct World {
    /// The folder that it is in: `scalars`, `types`, `std`, `calls`.
    pub kind: String,
    /// Its name without the ending.
    pub name: String,
    path: PathBuf,
}

impl World {
    /// Returns all of them, by kind and name.
    pub fn all() -> Vec<Self> {
        let folder = folder();
        let mut all = Vec::new();
        for kind in fs::read_dir(&folder).expect("the fixtures").flatten() {
            let Ok(files) = fs::read_dir(kind.path()) else {
                continue;
            };
            let kind = kind.file_name().to_string_lossy().into_owned();
            for path in files.flatten().map(|it| it.path()) {
                let name = path.file_stem().unwrap_or_default();
                let name = name.to_string_lossy().into_owned();
                if Language::of(&path).is_some() {
                    let kind = kind.clone();
                    all.push(Self { kind, name, path });
                }
            }
        }
        all.sort();
        all
    }

    /// Returns its language.
    pub fn language(&self) -> Language {
        Language::of(&self.path).unwrap_or(Language::C)
    }

    /// Returns whether its expressions change the program: it has `reset` and `describe`.
    pub fn has_state(&self) -> bool {
        self.kind == "calls"
    }

    /// Returns the text, with what it includes and what each program of its language begins with.
    fn text(&self) -> String {
        let common = folder().join(format!("show.{}", self.language()));
        let mut text = fs::read_to_string(common).expect("the common part");
        let own = fs::read_to_string(&self.path).expect("the fixture");
        for line in own.lines() {
            if let Some(name) = line.strip_prefix("//% include ") {
                let path = folder().join(name);
                text += &fs::read_to_string(&path).expect("a file to include");
            } else {
                text += line;
                text.push('\n');
            }
        }
        text.replace(STOP, &stop(self.language()))
    }
}

fn folder() -> PathBuf {
    repository().join("tests/fixtures/oracle")
}

/// What the compiler makes of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// It is an error: the message.
    Rejected(String),
    /// Its type, if the program itself does not print it; that of a typedef behind `|`.
    Typed(String),
    /// The program prints its type and value.
    Printed,
}

/// A program that prints its expressions, and stops at the marker `stop`.
pub struct Program {
    /// The world whose variables they use.
    pub world: World,
    /// They, all different.
    pub expressions: Vec<String>,
    /// What the compiler makes of each.
    pub verdicts: Vec<Verdict>,
    /// The compiled program.
    pub fixture: Fixture,
    /// Enumerators of C and C++ by type and number.
    pub enumerators: BTreeMap<(String, String), String>,
}

/// The line of a world that the expressions replace.
const MARK: &str = "//% expressions\n";
/// The line of a world that is replaced by the stop, and by a loop with lines for log messages.
const STOP: &str = "//% stop\n";
/// Lines of the loop, `tick0` and so on; after each [`ROUNDS`] rounds it passes `end`.
pub const TICKS: usize = 16;
/// Hits of a line of the loop: more than a breakpoint takes until its message is compiled.
pub const ROUNDS: usize = 20;

fn stop(language: Language) -> String {
    let (forever, rounds) = match language {
        Language::Rust => ("loop".to_owned(), format!("for _ in 0..{ROUNDS}")),
        _ => (
            "for (;;)".to_owned(),
            format!("for (int round_ = 0; round_ < {ROUNDS}; round_++)"),
        ),
    };
    let mut text = format!("    flush();\n    tick(0); //@ stop\n    {forever} {{ {rounds} {{\n");
    for line in 0..TICKS {
        let _ = writeln!(text, "    tick({line}); //@ tick{line}");
    }
    text + "    }\n    tick(0); //@ end\n    }\n"
}

impl Program {
    /// Writes and compiles a program with so many random expressions. The same ones are compiled
    /// once.
    ///
    /// # Panics
    /// The world itself does not compile.
    pub fn random(world: &World, seed: u64, count: usize) -> Self {
        let text = world.text();
        let expressions = expressions(world, &text, seed, count);
        let language = world.language();
        let folder = target_directory().join("expression_oracle");
        fs::create_dir_all(&folder).expect("a folder for the programs");
        let mut hasher = DefaultHasher::new();
        // What writes the programs is part of them.
        (&text, &expressions, include_str!("program.rs")).hash(&mut hasher);
        let name = format!("{}_{}_{seed}", world.kind, world.name);
        let stem = format!("{name}_{language}_{:016x}", hasher.finish());
        let source = folder.join(format!("{stem}.{language}"));
        let (before, after) = text.split_once(MARK).expect("the place of the expressions");
        let mut compiler = Compiler {
            language,
            source,
            before,
            after,
            has_state: world.has_state(),
            flags: flags(&text),
        };
        let kept = folder.join(format!("{stem}.verdicts"));
        let verdicts = match verdicts_in(&kept, count) {
            Some(verdicts) if compiler.program().exists() => verdicts,
            _ => {
                let verdicts = compiler.compile(&expressions);
                write_verdicts(&kept, &verdicts);
                verdicts
            }
        };
        Self {
            fixture: Fixture::compiled(&compiler.source, &compiler.program()),
            world: world.clone(),
            enumerators: enumerators(&text),
            expressions,
            verdicts,
        }
    }

    /// Deletes its files.
    pub fn delete(self) {
        for ending in ["verdicts", "c", "cpp", "rs", ""] {
            let _ = fs::remove_file(self.fixture.source.with_extension(ending));
        }
    }
}

/// Returns different random expressions.
fn expressions(world: &World, text: &str, seed: u64, count: usize) -> Vec<String> {
    let grammar = Grammar::of(text);
    let mut random = Rng::with_seed(seed * 3 + world.language() as u64);
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    let mut attempts = 0;
    while all.len() < count {
        let depth = 1 + random.usize(..5);
        let expression = grammar.expression(&mut random, "any", depth);
        attempts += 1;
        // A small grammar may not have so many.
        if seen.insert(expression.clone()) || attempts > 20 * count {
            all.push(expression);
        }
    }
    all
}

/// Reads the line `//# flags: ARGUMENTS` of a source.
fn flags(text: &str) -> Vec<&str> {
    let line = text.lines().find_map(|it| it.strip_prefix("//# flags: "));
    line.unwrap_or_default().split_whitespace().collect()
}

/// Reads the lines `//! enum TYPE: NAME=NUMBER ...` of a source.
fn enumerators(text: &str) -> BTreeMap<(String, String), String> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let Some((of, names)) = line
            .strip_prefix("//! enum ")
            .and_then(|it| it.split_once(": "))
        else {
            continue;
        };
        for (name, number) in names.split(' ').filter_map(|it| it.split_once('=')) {
            all.insert((of.to_owned(), number.to_owned()), name.to_owned());
        }
    }
    all
}

fn verdicts_in(path: &Path, count: usize) -> Option<Vec<Verdict>> {
    let text = fs::read_to_string(path).ok()?;
    let verdict = |line: &str| match line.split_at_checked(1)? {
        ("-", why) => Some(Verdict::Rejected(why.to_owned())),
        (":", ty) => Some(Verdict::Typed(ty.to_owned())),
        _ => Some(Verdict::Printed),
    };
    let all: Option<Vec<Verdict>> = text.lines().map(verdict).collect();
    all.filter(|it| it.len() == count)
}

fn write_verdicts(path: &Path, verdicts: &[Verdict]) {
    let mut text = String::new();
    for verdict in verdicts {
        let _ = match verdict {
            Verdict::Rejected(why) => writeln!(text, "-{why}"),
            Verdict::Typed(ty) => writeln!(text, ":{ty}"),
            Verdict::Printed => writeln!(text, "="),
        };
    }
    fs::write(path, text).expect("the verdicts are written");
}

/// One program on its way to an executable.
struct Compiler<'a> {
    language: Language,
    source: PathBuf,
    before: &'a str,
    after: &'a str,
    /// Whether expressions may change it.
    has_state: bool,
    /// Further arguments, from the line `//# flags: ...` of the world.
    flags: Vec<&'a str>,
}

impl Compiler<'_> {
    fn program(&self) -> PathBuf {
        self.source.with_extension("")
    }

    /// Compiles the expressions that compile.
    fn compile(&mut self, expressions: &[String]) -> Vec<Verdict> {
        let mut verdicts = match self.language {
            Language::C => self.types_of(expressions),
            Language::Cpp | Language::Rust => vec![Verdict::Printed; expressions.len()],
        };
        loop {
            self.write(expressions, &verdicts, |index, expression, verdict| {
                let line = match (self.language, verdict) {
                    (_, Verdict::Rejected(_)) => return String::new(),
                    (Language::C, Verdict::Typed(ty)) => c_line(index, expression, ty),
                    (Language::Rust, _) => format!("show!({index}, {expression});"),
                    _ => format!("SHOW({index}, {expression})"),
                };
                match self.has_state {
                    true => format!("reset(); {line} show_state({index});"),
                    false => line,
                }
            });
            let (done, messages) = self.run(true);
            let errors = self.errors(&messages, expressions.len());
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
