//! Calls pass arguments and take results where the compilers do: random functions, the same ones at
//! each run. `SIGNATURES=20` tries so many programs of each language and compiler.

use stillpoint_tests::Flags;
use stillpoint_tests::signatures::{Difference, Language, Signatures, compilers};

/// Functions of a program.
const COUNT: usize = 60;

/// Programs of each language and compiler.
fn programs() -> u64 {
    let wanted = std::env::var("SIGNATURES").ok();
    wanted.and_then(|it| it.parse().ok()).unwrap_or(1)
}

#[track_caller]
fn expect_none(
    language: Language,
    levels: &[&'static str],
    differences: impl Fn(&Signatures) -> Vec<Difference>,
) {
    let (mut found, mut tried) = (Vec::new(), 0);
    for seed in 0..programs() {
        for compiler in compilers(language) {
            let level = levels[seed as usize % levels.len()];
            let flags = Flags::new(*compiler).optimized(level);
            let Some(signatures) = Signatures::random(seed, COUNT, language, flags) else {
                continue;
            };
            tried += signatures.count();
            for it in differences(&signatures) {
                found.push(format!("{compiler:?} -O{level} seed {seed}: {it}"));
            }
        }
    }
    println!("{tried} functions");
    assert!(
        found.is_empty(),
        "{} of {tried}\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn calls_of_c_functions_are_as_compiled() {
    expect_none(Language::C, &["0", "2"], Signatures::differences_of_calls);
}

#[test]
fn calls_of_cpp_functions_are_as_compiled() {
    expect_none(Language::Cpp, &["0", "2"], Signatures::differences_of_calls);
}

#[test]
fn calls_of_rust_functions_are_as_compiled() {
    expect_none(
        Language::Rust,
        &["0", "2"],
        Signatures::differences_of_calls,
    );
}

#[test]
fn steps_out_of_c_functions_show_their_results() {
    expect_none(Language::C, &["0"], Signatures::differences_of_steps);
}

#[test]
fn steps_out_of_cpp_functions_show_their_results() {
    expect_none(Language::Cpp, &["0"], Signatures::differences_of_steps);
}

#[test]
fn steps_out_of_rust_functions_show_their_results() {
    expect_none(Language::Rust, &["0"], Signatures::differences_of_steps);
}
