//! Names of registers and of their parts.

use super::super::registers::{Flags, Part};
use super::extended::matrix_name;
use dwarf::register::aarch64::{FFR, P0, PSTATE, V0, X29, X30, Z0};
use dwarf::{Machine, Register};

/// Returns a register's name; empty if it has none.
pub fn name(register: Register) -> String {
    if register == FFR {
        return "ffr".to_owned();
    }
    for (letter, first, count) in [('v', V0, 32), ('z', Z0, 32), ('p', P0, 16)] {
        if let Some(number) = register.0.checked_sub(first.0).filter(|it| *it < count) {
            return format!("{letter}{number}");
        }
    }
    if let Some(name) = matrix_name(register) {
        return name;
    }
    let mut names = Machine::Aarch64.register_names().iter();
    let found = names.find(|(number, _)| *number == register);
    found.map_or_else(String::new, |(_, name)| (*name).to_owned())
}

/// Parses the decimal number behind a letter.
pub fn numbered(name: &str, letter: char, count: u16) -> Option<u16> {
    let digits = name.strip_prefix(letter)?;
    let is_plain = digits == "0" || !digits.starts_with(['0', '+']);
    let number = digits.parse().ok().filter(|_| is_plain)?;
    (number < count).then_some(number)
}

/// Parses the name of the low half of a general-purpose register; `None` for other names.
pub fn part(name: &str) -> Option<Part> {
    let whole = match name {
        "wsp" => "sp".to_owned(),
        name => format!("x{}", numbered(name, 'w', 31)?),
    };
    Some(Part {
        whole,
        first: 0,
        size: 4,
    })
}

/// Returns the name of a general-purpose register's low half.
pub fn parts_of(register: &str) -> Vec<String> {
    let half = match register {
        "sp" => Some("wsp".to_owned()),
        register => numbered(register, 'x', 31).map(|number| format!("w{number}")),
    };
    half.into_iter().collect()
}

/// Returns the number of a vector register by its name.
pub fn vector(name: &str) -> Option<u16> {
    numbered(name, 'v', 32)
}

/// There are no segments.
pub fn is_segment(_: &str) -> bool {
    false
}

/// The bits of the pstate that programs use (Arm Architecture Reference Manual, C5.2.19 SPSR_EL1).
pub const FLAGS: Option<Flags> = Some(Flags {
    register: PSTATE,
    name: "pstate",
    bits: &[
        ("N (negative)", 31),
        ("Z (zero)", 30),
        ("C (carry)", 29),
        ("V (overflow)", 28),
        ("TCO (tag checks off)", 25),
        ("DIT (data-independent timing)", 24),
        ("SSBS (speculative store bypass safe)", 12),
    ],
});

/// Returns the register with this alias.
pub fn alias(name: &str) -> Option<Register> {
    match name {
        "cpsr" => Some(PSTATE),
        "fp" => Some(X29),
        "lr" => Some(X30),
        _ => None,
    }
}
