//! Numbers as values of a language's types.

use crate::inspect::value::Value;
use crate::inspect::value::scalar::{Int, Number, Scalar, ScalarKind};
use dwarf::Language;

/// A number that a value is.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Its value.
    pub number: Number,
}

impl Operand {
    /// Returns whether it counts as true.
    pub fn is_true(self) -> bool {
        match self.number {
            Number::Int(int) => int.bits != 0,
            Number::Float(value) => value != 0.0,
        }
    }
}

/// Returns an integer as a value of the language's type of its width.
pub fn integer(int: Int, language: Language) -> Value {
    let name = match (language, int.size, int.signed) {
        (Language::Rust, 1, true) => "i8",
        (Language::Rust, 1, false) => "u8",
        (Language::Rust, 2, true) => "i16",
        (Language::Rust, 2, false) => "u16",
        (Language::Rust, 4, true) => "i32",
        (Language::Rust, 4, false) => "u32",
        (Language::Rust, 8, true) => "i64",
        (Language::Rust, 8, false) => "u64",
        (Language::Rust, _, true) => "i128",
        (Language::Rust, _, false) => "u128",
        (_, 1 | 2 | 4, true) => "int",
        (_, 1 | 2 | 4, false) => "unsigned int",
        (_, 8, true) => "long",
        (_, 8, false) => "unsigned long",
        (_, _, true) => "__int128",
        (_, _, false) => "unsigned __int128",
    };
    let kind = if int.signed {
        ScalarKind::Signed
    } else {
        ScalarKind::Unsigned
    };
    Value::builtin(Scalar::new(kind, int.size), name, int.bits)
}

/// Returns a boolean as a value: an `int` in C.
pub fn boolean(value: bool, language: Language) -> Value {
    let bits = u128::from(value);
    match language {
        Language::C => Value::builtin(Scalar::new(ScalarKind::Signed, 4), "int", bits),
        _ => Value::builtin(Scalar::new(ScalarKind::Bool, 1), "bool", bits),
    }
}

/// Returns a length or size as a value.
pub fn size(bytes: u64, language: Language) -> Value {
    let name = match language {
        Language::Rust => "usize",
        _ => "unsigned long",
    };
    Value::builtin(
        Scalar::new(ScalarKind::Unsigned, 8),
        name,
        u128::from(bytes),
    )
}
