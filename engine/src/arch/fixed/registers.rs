//! Registers `f0`, `f1` and so on, without parts.

use super::super::registers::{Flags, Part};
use dwarf::Register;

pub const FLAGS: Option<Flags> = None;

pub fn name(register: Register) -> String {
    format!("f{}", register.0)
}

pub fn alias(_: &str) -> Option<Register> {
    None
}

pub fn part(_: &str) -> Option<Part> {
    None
}

pub fn parts_of(_: &str) -> Vec<String> {
    Vec::new()
}

pub fn vector(_: &str) -> Option<u16> {
    None
}

pub fn is_segment(_: &str) -> bool {
    false
}
