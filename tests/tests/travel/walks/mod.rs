//! Random walks in recorded programs, forward and back. What they must come to, the program says itself: a
//! place is known by its program counter, its stack pointer and a number that the program counts, and all
//! stops there must show the same stack, registers, values and memory (`place`). The moves are random
//! (`walk`), the same ones at each run; more of them with `WALKS_SEEDS=20`, from another one on with `WALKS_FIRST=21`,
//! longer ones with `WALKS_MOVES=200`. `WALKS_TRAIL=100` shows so many moves before each mistake.

pub(crate) mod place;
mod walk;

use fastrand::Rng;
use stillpoint_tests::{Compiler, Fixture, Flags};
use walk::Walk;

/// A program to walk in.
struct Program {
    source: &'static str,
    compiler: Compiler,
    /// Where breakpoints on functions are set.
    functions: &'static [&'static str],
    /// Calls that its language and its functions allow.
    calls: &'static [&'static str],
}

/// Returns a number from the environment.
fn number(variable: &str, usual: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.and_then(|it| it.parse().ok()).unwrap_or(usual)
}

fn walk_in(program: &Program) {
    let mut wrong = Vec::new();
    let (mut moves, mut places) = (0, 0);
    for optimization in ["0", "2"] {
        let flags = Flags::new(program.compiler).optimized(optimization);
        let Some(fixture) = Fixture::build(program.source, flags) else {
            return;
        };
        let hits = walk::numbered_hits(&fixture);
        for seed in (number("WALKS_FIRST", 1)..).take(number("WALKS_SEEDS", 1) as usize) {
            let random = Rng::with_seed(seed);
            let mut walk = Walk::begin(&fixture, program, &hits, optimization != "0", random);
            for _ in 0..number("WALKS_MOVES", 55) {
                walk.move_on();
            }
            let walked = walk.end();
            moves += walked.moves;
            places += walked.places;
            let what = format!("{} -O{optimization}, seed {seed}", program.source);
            wrong.extend(walked.wrong.into_iter().map(|it| format!("{what}: {it}")));
        }
    }
    eprintln!("{}: {moves} moves, {places} places", program.source);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(places > 8, "few places were seen: {places}");
}

#[test]
fn walks_among_calls_and_strings_see_the_same() {
    walk_in(&Program {
        source: "c/walk_calls.c",
        compiler: Compiler::Gcc,
        functions: &["main", "fib", "cmp", "ack", "malloc"],
        calls: &["fib(4)", "ack(1, 1)"],
    });
}

#[test]
fn walks_among_signals_and_jumps_see_the_same() {
    walk_in(&Program {
        source: "c/walk_signals.c",
        compiler: Compiler::Gcc,
        functions: &[
            "main",
            "on_alarm",
            "on_user",
            "on_fault",
            "deep",
            "nanosleep",
        ],
        calls: &["jumps()"],
    });
}

#[test]
fn walks_among_system_calls_see_the_same() {
    walk_in(&Program {
        source: "c/walk_world.c",
        compiler: Compiler::Gcc,
        functions: &["main", "files", "pipes", "maps", "read", "write"],
        calls: &["(int)getpid()"],
    });
}

#[test]
fn walks_among_exceptions_see_the_same() {
    walk_in(&Program {
        source: "cpp/walk_exceptions.cpp",
        compiler: Compiler::Gcc,
        functions: &["main", "guarded", "__cxa_throw"],
        calls: &["shapes.size()"],
    });
}

#[test]
fn walks_in_rust_see_the_same() {
    walk_in(&Program {
        source: "rust/walk_values.rs",
        compiler: Compiler::Rustc,
        functions: &["walk_values::main", "weigh", "collatz", "checked"],
        calls: &["collatz(5)"],
    });
}
