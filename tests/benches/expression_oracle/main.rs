//! Compares random expressions with what gcc, g++ and rustc make of them:
//! [`stillpoint_tests::oracle`]. Prints the differences.
//!
//! `cargo bench --profile dev -p stillpoint-tests --bench expression_oracle -- [PROGRAMS] [WORD...]`:
//! the number of programs of each world (1 by default), and which worlds: those whose kind, language
//! and name have all of the words. `--from SEED`: the first seed. `--all`: each difference instead of
//! one of each group. The expressions are the same in each run.
//!
//! 1000 expressions take 4 to 13 s on a busy machine with two cores, most of it the compiler's, if
//! `STILLPOINT` is a release build: 100,000 of a language take 10 to 20 minutes. A debug build takes
//! three times as long, and ten times for calls.

use std::collections::VecDeque;
use std::env;
use std::panic::{self, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;
use stillpoint_tests::oracle::{Keep, Report, Trial, World};

/// Expressions of one program: the compiler's start costs little then.
const EXPRESSIONS: usize = 1000;
/// Runs of its loop, for expressions that are compiled in the program.
const RUNS: usize = 16;
/// Programs at once.
const THREADS: usize = 2;

fn main() -> ExitCode {
    let (mut programs, mut first, mut all) = (1, 0, false);
    let mut words = Vec::new();
    let mut arguments = env::args().skip(1).filter(|it| it != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => all = true,
            "--from" => first = number(arguments.next().as_deref()),
            word => match word.parse() {
                Ok(count) => programs = count,
                Err(_) => words.push(argument),
            },
        }
    }
    // Without the transcript, which is long here.
    panic::set_hook(Box::new(|what| {
        let text = what.payload_as_str().unwrap_or_default();
        let text: String = text.chars().take(500).collect();
        println!("a session failed: {text}");
    }));
    let mut differ = 0;
    for world in World::all() {
        let language = world.language().to_string();
        let names = [&world.kind, &language, &world.name];
        if !words.iter().all(|word| names.contains(&word)) {
            continue;
        }
        let began = Instant::now();
        let report = compare(&world, first..first + programs);
        match all {
            true => report.differences.iter().for_each(|it| println!("{it}")),
            false => print!("{}", report.groups()),
        }
        for (reason, count) in &report.accepted {
            println!("{count:5}  accepted: {reason}");
        }
        let took = began.elapsed().as_secs_f64();
        println!(
            "{} {language} {}: {} ({took:.1} s)\n",
            world.kind,
            world.name,
            report.figures()
        );
        differ += report.differences.len();
    }
    match differ {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn number(text: Option<&str>) -> u64 {
    text.and_then(|it| it.parse().ok())
        .expect("--from: the number of a seed")
}

fn compare(world: &World, seeds: std::ops::Range<u64>) -> Report {
    let left = Mutex::new(seeds.collect::<VecDeque<u64>>());
    let total = Mutex::new(Report::default());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("no thread panics").pop_front();
                    let Some(seed) = next else { break };
                    let (count, runs) = (EXPRESSIONS, RUNS);
                    let trial = Trial { seed, count, runs };
                    // A session that fails says why; the next programs are tried nevertheless.
                    let report = catch_unwind(|| trial.run(world, Keep::Nothing));
                    let report = report.unwrap_or_else(|_| Report::failed(world, seed));
                    total.lock().expect("no thread panics").merge(report);
                }
            });
        }
    });
    total.into_inner().expect("no thread panics")
}
