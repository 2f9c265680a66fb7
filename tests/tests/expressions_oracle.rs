//! Random expressions mean what gcc, g++ and rustc say ([`stillpoint_tests::oracle`]): the same ones at
//! each run, few of each world. `cargo bench` runs as many as wanted (`benches/expression_oracle`).

use stillpoint_tests::oracle::{Keep, Language, Trial, What, World};

/// Expressions of a program.
const COUNT: usize = 100;

/// What no expression of a world may differ in: that which the bench finds clean in it.
fn checked(world: &World) -> &'static [What] {
    const SAFE: &[What] = &[What::Compiled, What::Memory, What::Trap];
    const NO_MORE: &[What] = &[What::Compiled, What::Memory, What::Trap, What::Accepted];
    const ALL: &[What] = &[
        What::Compiled,
        What::Memory,
        What::Trap,
        What::Accepted,
        What::Refused,
        What::Value,
        What::Type,
        What::State,
    ];
    match (&*world.kind, world.language()) {
        ("scalars", _) => ALL,
        ("calls", _) if world.name == "overloads" => ALL,
        ("types", Language::C) => NO_MORE,
        // A call that is refused in an argument, or of a wrong overload, changes other variables.
        ("calls", Language::Cpp) => SAFE,
        ("calls", Language::C | Language::Rust) => {
            &[What::Memory, What::Trap, What::Accepted, What::State]
        }
        _ => SAFE,
    }
}

#[track_caller]
fn expect_as_compiled(kind: &str) {
    let mut differences = Vec::new();
    for world in World::all().iter().filter(|it| it.kind == kind) {
        let trial = Trial {
            seed: 0,
            count: COUNT,
            runs: 2,
        };
        let report = trial.run(world, Keep::Programs);
        assert_eq!(report.expressions, COUNT);
        assert!(report.rejected < COUNT / 2, "{}", report.figures());
        let checked = checked(world);
        let found = report.differences.into_iter();
        differences.extend(
            found
                .filter(|it| checked.contains(&it.what))
                .map(|it| it.to_string()),
        );
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn scalars_are_what_compilers_say() {
    expect_as_compiled("scalars");
}

#[test]
fn objects_are_what_compilers_say() {
    expect_as_compiled("types");
}

#[test]
fn containers_are_what_compilers_say() {
    expect_as_compiled("std");
}

#[test]
fn calls_do_what_compilers_say() {
    expect_as_compiled("calls");
}
