//! Cross-level stepping: the places where steps by lines stop are those that single-stepping the
//! same program by instructions passes, derived from the line table alone (`oracle`).
//!
//! The programs are random (`programs`): the same ones at each run, more of them with
//! `STEPPING_SEEDS=200`. No other debugger is needed, and nothing is expected but what the
//! compiler itself has written about its code.

mod oracle;
mod programs;
mod walk;

use oracle::{Command, Oracle, Place};
use programs::Language;
use std::env;
use std::fs;
use stillpoint_tests::{Compiler, Fixture, Flags, target_directory};
use walk::Walk;

/// Instructions of a program that are stepped through.
const MAX_INSTRUCTIONS: usize = 2500;
/// Steps of one walk.
const MAX_STEPS: usize = 120;

/// What differs, and may: a part of the message, and why.
const KNOWN: &[(&str, &str)] = &[(
    "seed0.c Clang -O2: stepIn: StepIn from f4:157 at",
    "clang marks the end of f3's prologue in a loop that a call may not run; the oracle takes the \
     mark, the step stops at the entry, which each call passes",
)];

fn flags(language: Language) -> Vec<Flags> {
    let (families, levels): (&[Compiler], _) = match language {
        Language::Rust => (&[Compiler::Rustc], ["0", "1", "2"]),
        _ => (&[Compiler::Gcc, Compiler::Clang], ["0", "g", "2"]),
    };
    let mut all = Vec::new();
    for family in families {
        for level in levels {
            let usual = Flags::new(*family).optimized(level);
            // Addresses of the file are those of the process.
            all.push(Flags {
                pie: false,
                ..usual
            });
        }
    }
    all
}

/// How many of each language.
fn seeds() -> u64 {
    let seeds = env::var("STEPPING_SEEDS").ok();
    seeds.and_then(|it| it.parse().ok()).unwrap_or(3)
}

/// Its own harness: a process that debugs blocks SIGCHLD before any thread exists.
fn main() {
    const NAME: &str = "lines_are_what_instructions_pass";
    let (mut is_listed, mut is_wanted) = (false, true);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => is_listed = true,
            "--skip" => is_wanted &= !arguments.next().is_some_and(|it| NAME.contains(&it)),
            filter => is_wanted &= filter.starts_with('-') || NAME.contains(filter),
        }
    }
    if is_wanted && !is_listed {
        engine::os::prepare();
        lines_are_what_instructions_pass();
    }
}

fn lines_are_what_instructions_pass() {
    let folder = target_directory().join("stepping_levels");
    fs::create_dir_all(&folder).expect("a folder for the programs");
    let mut wrong = Vec::new();
    let (mut programs, mut steps) = (0, 0);
    for language in [Language::C, Language::Cpp, Language::Rust] {
        for seed in 0..seeds() {
            let source = folder.join(format!("seed{seed}.{}", language.ending()));
            let text = programs::program(language, seed);
            if fs::read_to_string(&source).ok().as_deref() != Some(&text) {
                fs::write(&source, text).expect("the source is written");
            }
            let source = source.to_str().expect("a path of text");
            for flags in flags(language) {
                let Some(fixture) = Fixture::build(source, flags) else {
                    continue;
                };
                let Some((count, differences)) = compare(&fixture) else {
                    continue;
                };
                programs += 1;
                steps += count;
                let what = format!("{source} {:?} -O{}", flags.compiler, flags.optimization);
                wrong.extend(differences.iter().map(|it| format!("{what}: {it}")));
            }
        }
    }
    let is_known = |text: &String| KNOWN.iter().any(|(part, _)| text.contains(part));
    wrong.retain(|text| !is_known(text));
    eprintln!("{programs} programs, {steps} steps, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(programs > seeds() * 3, "most programs are walked through");
}

/// The number of steps, and the errors in them; `None`: the walk does not begin.
fn compare(fixture: &Fixture) -> Option<(usize, Vec<String>)> {
    let mut walk = Walk::begin(&fixture.program)?;
    let oracle = Oracle::new(walk.instructions(MAX_INSTRUCTIONS), &fixture.program);
    let (mut steps, mut wrong) = (0, Vec::new());
    for commands in ["next", "stepIn", "mixed"] {
        let mut random = fastrand::Rng::with_seed(7);
        let mut walk = Walk::begin(&fixture.program)?;
        let mut place = Place { at: 0, hidden: 0 };
        for _ in 0..MAX_STEPS {
            let command = match commands {
                "next" => Command::Next,
                "stepIn" => Command::StepIn,
                _ => *random
                    .choice(&[
                        Command::Next,
                        Command::StepIn,
                        Command::StepIn,
                        Command::StepOut,
                    ])
                    .expect("there are some"),
            };
            let Some(expected) = oracle.after(place, command) else {
                break;
            };
            steps += 1;
            let (from, to) = (oracle.text(place), oracle.text(expected));
            let seen = walk.step(command);
            if seen.as_ref() != Some(&to) {
                let seen = seen.unwrap_or_else(|| "the end".to_owned());
                wrong.push(format!(
                    "{commands}: {command:?} from {from} comes to {seen}, not to {to}"
                ));
                break;
            }
            place = expected;
        }
    }
    Some((steps, wrong))
}
