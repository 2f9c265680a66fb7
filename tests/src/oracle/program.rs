//! Programs that print expressions, and what their compiler says about each.

use super::compiler::Compiler;
use super::grammar::Grammar;
use crate::binary::{repository, target_directory};
use crate::fixture::Fixture;
use fastrand::Rng;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write as _};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

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
        let writers = [include_str!("program.rs"), include_str!("compiler.rs")];
        (&text, &expressions, writers).hash(&mut hasher);
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
