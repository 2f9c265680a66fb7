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
            ("nobody == 1", "unknown name `nobody`"),
            (
                "i = 5",
                "assignments are allowed only on the console and in watches",
            ),
            (
                "i++",
                "assignments are allowed only on the console and in watches",
            ),
            ("wide > 3", "`wide`: 128-bit integers are not supported"),
            (
                "extended > 3",
                "`extended`: unsupported float type `long double`",
            ),
            ("x % 2 == 1", "`x % 2`: `%` is not defined for floats"),
            ("$thread == 3", "`$thread` is known only to the debugger"),
            ("$caller_is(\"main\")", "`$caller_is` unwinds the stack"),
            ("i == \"text\"", "cannot compare `i32` with a string"),
            ("i << 40", "shift count is out of range"),
            ("1 / 0 == i", "`1 / 0`: division by zero"),
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
            (
                "i == u",
                "mismatched types `i32` and `u64`; cast the left operand with `as u64`",
            ),
            (
                "x % 2.0 == 1.0",
                "`x % 2.0`: the remainder of floats needs a call",
            ),
            (
                "i + 3000000000 == 1",
                "3000000000 is out of range for `i32`",
            ),
            ("foo(i) == 1", "it calls `foo`"),
        ],
    );
}
