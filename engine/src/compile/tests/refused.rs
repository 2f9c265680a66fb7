//! Expressions that need the interpreter, and the reasons shown to the user.

use super::machine::{At, Machine};
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use dwarf::Language;

fn machine(language: Language) -> Machine {
    let mut machine = Machine::new(language);
    let mut add = |name: &str, kind, size, spelled| {
        let at = At::Global(16 * machine.variables.len() as u64);
        let ty = Ty::Builtin(Scalar::new(kind, size), spelled);
        machine.variables.push((name.into(), ty, at));
    };
    add("i", ScalarKind::Signed, 4, "i32");
    add("u", ScalarKind::Unsigned, 8, "u64");
    add("wide", ScalarKind::Signed, 16, "i128");
    add("x", ScalarKind::Float(Float::Double), 8, "f64");
    add(
        "extended",
        ScalarKind::Float(Float::Extended),
        16,
        "long double",
    );
    machine
}

fn check(machine: &Machine, expected: &[(&str, &str)]) {
    for (text, expected) in expected {
        let reason = machine
            .compiled(text)
            .err()
            .map(|reason| reason.to_string());
        assert_eq!(reason.as_deref(), Some(*expected), "{text}");
    }
}

#[test]
fn in_c() {
    let machine = machine(Language::C);
    check(
        &machine,
        &[
            ("f(i)", "it calls `f`"),
            ("nobody == 1", "`nobody` is not known here"),
            ("i = 5", "it changes the program"),
            ("i++", "it changes the program"),
            ("wide > 3", "it has 128 bits"),
            ("extended > 3", "`long double` is a float of its own"),
            ("x % 2 == 1", "the rest of floats is computed by a function"),
            ("$thread == 3", "`$thread` is the system's to tell"),
            ("$caller_is(\"main\")", "`$caller_is` looks at the callers"),
            (
                "i == \"text\"",
                "a `i32` is compared with text in a way of its own",
            ),
            ("i << 40", "a shift by the width or more"),
            ("1 / 0 == i", "division by zero"),
        ],
    );
    let long = vec!["i"; 900].join(" == 1 || ");
    let deep = format!("{}i{}", "1 == (i - (".repeat(100), "))".repeat(100));
    for text in [long, deep] {
        let machine = &machine;
        let _ = machine
            .compiled(&text)
            .map(|condition| machine.run(&condition));
    }
}

#[test]
fn in_rust() {
    check(
        &machine(Language::Rust),
        &[
            ("i == u", "the types do not mix in Rust"),
            ("i + 3000000000 == 1", "the number does not fit the type"),
            ("i.foo() == 1", "it calls `foo`"),
        ],
    );
}
