//! A thousand runs of real programs while breakpoints come and go at random lines of them:
//!
//!     tests/stress/programs.sh
//!     cargo bench -p stillpoint-tests --bench stress
//!
//! The first command fetches and builds the programs. `STRESS_ROUNDS` says how many runs there
//! are (1000), `STRESS_SEED` with which the first one begins (others count from it, so that a
//! failed one is run again by `STRESS_SEED=… STRESS_ROUNDS=1` with the same `STRESS_PROGRAMS`),
//! `STRESS_PROGRAMS` which programs take part (those whose names contain one of its words),
//! `STRESS_CACHE` where they are. What failed is printed, with its transcript in `STRESS_LOGS`
//! (`failures` in the cache).

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use stillpoint_tests::stress::{Outcome, Places, Program, Round, Totals};

/// Programs that last longer would be most of the time.
const LONGEST: Duration = Duration::from_secs(6);

fn number(name: &str, otherwise: u64) -> u64 {
    let given = env::var(name).ok();
    given.map_or(otherwise, |text| text.parse().expect("a number"))
}

fn folder(name: &str, otherwise: impl FnOnce() -> PathBuf) -> PathBuf {
    env::var_os(name).map_or_else(otherwise, PathBuf::from)
}

/// What is known of a program before it is disturbed.
struct Known {
    program: Program,
    places: Places,
    expected: (Outcome, Duration),
}

/// Runs a program twice undisturbed: none if that differs, or takes too long.
fn undisturbed(program: &Program) -> Option<(Outcome, Duration)> {
    let (first, _) = program.run("0");
    let (second, took) = program.run("0");
    let difference = first.difference(&second);
    if let Some(difference) = difference {
        println!("{}: differs each time: {difference}", program.name);
        return None;
    }
    if took > LONGEST {
        println!("{}: takes {took:?}", program.name);
        return None;
    }
    Some((second, took))
}

fn known(program: Program, lines: &Path) -> Option<Known> {
    let expected = undisturbed(&program)?;
    let file = lines.join(&program.name);
    let begun = Instant::now();
    let learn = || {
        let places = Places::learn(&program, "1");
        places.write(&file);
        places
    };
    let learned = panic::catch_unwind(AssertUnwindSafe(|| {
        Places::read(&file).unwrap_or_else(learn)
    }));
    let places = learned.unwrap_or_else(|_| {
        println!("FAILED {}: while its lines were learned", program.name);
        Places::default()
    });
    println!(
        "{}: {:?} undisturbed, exit code {:?}, {} lines, {} busy ({:?})",
        program.name,
        expected.1,
        expected.0.code,
        places.all.len(),
        places.busy.len(),
        begun.elapsed(),
    );
    (!places.all.is_empty()).then_some(Known {
        program,
        places,
        expected,
    })
}

fn main() -> ExitCode {
    let home = || PathBuf::from(env::var_os("HOME").expect("a home"));
    let cache = folder("STRESS_CACHE", || home().join(".cache/stillpoint-stress"));
    let logs = folder("STRESS_LOGS", || cache.join("failures"));
    fs::create_dir_all(&logs).expect("a folder for logs");
    let lines = cache.join("lines");
    fs::create_dir_all(&lines).expect("a folder for lines");
    let words = env::var("STRESS_PROGRAMS").unwrap_or_default();
    let words: Vec<&str> = words.split_whitespace().collect();
    let wanted = |program: &Program| {
        words.is_empty() || words.iter().any(|word| program.name.contains(word))
    };
    let programs = Program::described_in(&cache.join("programs"))
        .into_iter()
        .filter(wanted);
    let known: Vec<Known> = programs
        .filter_map(|program| known(program, &lines))
        .collect();
    if known.is_empty() {
        println!("no programs: tests/stress/programs.sh fetches and builds them");
        return ExitCode::FAILURE;
    }
    let seed = number("STRESS_SEED", 1);
    let rounds = number("STRESS_ROUNDS", 1000);
    let mut totals = Totals::default();
    let mut by_program: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = 0;
    for seed in seed..seed + rounds {
        let Known {
            program,
            places,
            expected,
        } = &known[(seed % known.len() as u64) as usize];
        let begun = Instant::now();
        let round = AssertUnwindSafe(|| Round::run(program, places, expected, seed));
        let outcome = panic::catch_unwind(round).unwrap_or_else(|panic| {
            let text = panic.downcast::<String>().map(|text| *text);
            Err(text.unwrap_or_else(|_| "a panic".to_owned()))
        });
        *by_program.entry(&program.name).or_default() += 1;
        match outcome {
            Ok(did) => {
                println!(
                    "{seed} {}: {} jumps, {:?}",
                    program.name,
                    did.of("jumps"),
                    begun.elapsed()
                );
                totals.include(&did);
            }
            Err(why) => {
                failed += 1;
                let file = logs.join(format!("{seed}-{}", program.name));
                let first: Vec<&str> = why.lines().take(12).collect();
                println!(
                    "FAILED {seed} {}: {}\n  {}",
                    program.name,
                    first.join("\n  "),
                    file.display()
                );
                fs::write(&file, why).expect("a log");
            }
        }
    }
    for (name, rounds) in by_program {
        println!("{rounds:>6} rounds of {name}");
    }
    println!("{totals}{failed} of {rounds} rounds from seed {seed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
