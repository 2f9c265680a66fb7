//! `--chaos`: random slices show races, and the same seed shows them again.

use super::Recorded;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use stillpoint_tests::Fixture;

const SOURCE: &str = "c/record/threads/races.c";
/// So many seeds are tried until a race shows.
const SEEDS: u64 = 40;

/// Records the fixture with options, and checks the recording.
fn recorded(options: &[&str], mode: &str) -> Recorded {
    let fixture = Fixture::of(SOURCE);
    let program = [fixture.program.as_os_str(), OsStr::new(mode)];
    Recorded::with(options, Path::new("/"), &program)
}

fn with_seed(seed: u64, mode: &str) -> Recorded {
    recorded(&["--chaos", &seed.to_string()], mode)
}

/// Returns a seed with which the program fails, and what it printed.
fn failing_seed(mode: &str) -> (u64, String) {
    let failed = (1..=SEEDS).find_map(|seed| {
        let recorded = with_seed(seed, mode);
        recorded.assert_exact();
        (recorded.status != Some(0)).then_some((seed, recorded.stdout))
    });
    failed.unwrap_or_else(|| panic!("no race in {SEEDS} seeds"))
}

#[test]
fn a_race_shows_with_a_seed_and_again_with_it() {
    for mode in ["update", "locks"] {
        for _ in 0..2 {
            let recorded = recorded(&[], mode);
            assert_eq!(
                recorded.status,
                Some(0),
                "without chaos: {}",
                recorded.stdout
            );
        }
        let (seed, printed) = failing_seed(mode);
        eprintln!("{mode}: seed {seed} shows {printed}");
        for _ in 0..3 {
            let again = with_seed(seed, mode);
            again.assert_exact();
            assert_eq!(
                (again.status, &again.stdout),
                (Some(1), &printed),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn a_seed_has_its_order_of_turns() {
    let mut orders = BTreeSet::new();
    for seed in 1..=4 {
        let [one, other] = [(); 2].map(|()| with_seed(seed, "order"));
        one.assert_exact();
        assert_eq!(one.stdout, other.stdout, "seed {seed}");
        orders.insert(one.stdout);
    }
    assert!(orders.len() > 1, "{orders:?}");
}

#[test]
fn a_chosen_seed_is_printed() {
    let chosen = recorded(&["--chaos"], "order");
    let seed = chosen.stderr.split("chaos with seed ").nth(1);
    let seed: String = seed
        .unwrap_or_else(|| panic!("{}", chosen.stderr))
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let again = with_seed(seed.parse().expect("a number"), "order");
    assert_eq!(again.stdout, chosen.stdout, "seed {seed}");
}

/// Real libraries, whose threads wait for each other in many ways.
#[test]
fn programs_do_in_chaos_what_they_do_otherwise() {
    // Slices are stepped through: twenty threads would take 10 s.
    for (source, arguments, start) in [
        ("c/record/threads/stored.c", &[][..], "taken 5\n"),
        ("c/record/threads/lives.c", &["5"], "sum "),
    ] {
        let fixture = Fixture::of(source);
        let mut program = vec![fixture.program.as_os_str()];
        program.extend(arguments.iter().map(OsStr::new));
        let recorded = Recorded::with(&["--chaos", "5"], Path::new("/"), &program);
        recorded.assert_exact();
        assert_eq!(recorded.status, Some(3), "{source}");
        assert!(recorded.stdout.starts_with(start), "{}", recorded.stdout);
    }
}
