//! Compares expressions as they stand in other people's sources with what their compilers make of them.
//!
//! A package is copied; in the copy, each statement is preceded by code that prints the values of its
//! sub-expressions without side effects when it is first reached. Then the debugger runs the package as it
//! was, stops at the same statements, and evaluates the same texts. CONTRIBUTING.md says how to run it.

mod ask;
mod c;
mod commands;
mod compare;
mod corpus;
mod known;
mod probe;
mod report;
mod rust;
mod truth;

use probe::Level;
use report::{Package, Report};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: stillpoint-source-expressions [--seed N] [--rust N] [--c N] [--seconds N] [--verbose] [PACKAGE...]
    --seed N      which packages are taken from the lists (the day, if left out)
    --rust N      how many crates (2)
    --c N         how many packages of C and C++ (1)
    --seconds N   begin no further package after this time, and give each a half of it (300)
    --verbose     list refused expressions, too
    PACKAGE       `rust:NAME`, `gcc:NAME`, `clang:NAME`: these instead of a choice; `rust-O2:NAME`, `gcc-O2:NAME`,
                  `clang-O2:NAME`: optimized, where the copy with probes is not; their wrong answers are listed only
Environment: STILLPOINT names the debugger, SOURCE_EXPRESSIONS_CACHE a folder for sources and builds.";

/// What the command line asks for.
struct Wishes {
    seed: u64,
    rust: usize,
    c: usize,
    seconds: u64,
    verbose: bool,
    packages: Vec<String>,
}

impl Wishes {
    fn read() -> Option<Self> {
        let day = std::time::UNIX_EPOCH.elapsed().ok()?.as_secs() / 86_400;
        let mut wishes = Self {
            seed: day,
            rust: 2,
            c: 1,
            seconds: 300,
            verbose: false,
            packages: Vec::new(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut number = || words.next()?.parse().ok();
            match word.as_str() {
                "--seed" => wishes.seed = number()?,
                "--rust" => wishes.rust = number()? as usize,
                "--c" => wishes.c = number()? as usize,
                "--seconds" => wishes.seconds = number()?,
                "--verbose" => wishes.verbose = true,
                name if name.contains(':') => wishes.packages.push(word),
                _ => return None,
            }
        }
        Some(wishes)
    }
}

fn main() -> ExitCode {
    let Some(wishes) = Wishes::read() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut packages = wishes.packages.clone();
    if packages.is_empty() {
        packages = corpus::choose(wishes.seed, wishes.rust, wishes.c);
        println!("seed {}: {}", wishes.seed, packages.join(" "));
    }
    let limit = Duration::from_secs(wishes.seconds);
    let began = Instant::now();
    let mut report = Report::new(wishes.verbose);
    for name in &packages {
        if began.elapsed() > limit {
            report.leave_out(name, "the time is over");
            continue;
        }
        let deadline = Instant::now() + limit / 2;
        let found: Result<Package, String> = match name.split_once(':') {
            Some(("rust", name)) => rust::examine(name, Level::Plain, deadline),
            Some(("rust-O2", name)) => rust::examine(name, Level::Optimized, deadline),
            Some((family @ ("gcc" | "clang"), name)) => {
                c::examine(name, family, Level::Plain, deadline)
            }
            Some(("gcc-O2", name)) => c::examine(name, "gcc", Level::Optimized, deadline),
            Some(("clang-O2", name)) => c::examine(name, "clang", Level::Optimized, deadline),
            _ => Err("no such kind of package".to_owned()),
        };
        match found {
            Ok(package) => report.add(package),
            Err(why) => report.leave_out(name, &why),
        }
    }
    report.end()
}
