//! Breakpoints that never stop come and go at random lines of programs that test themselves. The
//! large version, of other people's programs, is `benches/stress.rs`.

use stillpoint_tests::stress::{Places, Program, Round, Totals};
use stillpoint_tests::{Compiler, Fixture, Flags};

/// Runs of each program; each takes as many seconds as the machine is slow.
const ROUNDS: u64 = 3;

fn undisturbed(source: &str, flags: Flags, rounds: &str) -> Totals {
    let Some(fixture) = Fixture::build(source, flags) else {
        return Totals::default();
    };
    let program = Program {
        name: source.to_owned(),
        command: vec![fixture.program.display().to_string(), rounds.to_owned()],
        folder: fixture.program.parent().expect("a folder").to_owned(),
        ordered: true,
    };
    let expected = program.run("0");
    assert_eq!(
        program.run("0").0,
        expected.0,
        "its results are the same each time"
    );
    let places = Places::learn(&program, "1");
    assert!(
        places.busy.len() >= 5,
        "{source}: {} busy lines",
        places.busy.len()
    );
    let mut totals = Totals::default();
    for seed in 0..ROUNDS {
        match Round::run(&program, &places, &expected, seed) {
            Ok(did) => totals.include(&did),
            Err(why) => panic!("{source} {flags:?}, seed {seed}: {why}"),
        }
    }
    totals
}

fn with_jumps(source: &str, compilers: &[Compiler], rounds: &str) {
    let mut totals = Totals::default();
    for compiler in compilers {
        for level in ["0", "2"] {
            totals.include(&undisturbed(
                source,
                Flags::new(*compiler).optimized(level),
                rounds,
            ));
        }
    }
    println!("{totals}");
    assert!(totals.of("jumps") >= 3, "{totals}");
}

#[test]
fn program_with_signals_and_forks_is_undisturbed() {
    with_jumps("cpp/suite.cpp", &[Compiler::Gcc, Compiler::Clang], "2000");
}

#[test]
fn program_with_panics_and_channels_is_undisturbed() {
    with_jumps("rust/suite.rs", &[Compiler::Rustc], "3000");
}
