//! There are no extended registers.

use super::super::registers::ExtendedBytes;
use dwarf::Register;

pub fn holds(_: Register) -> bool {
    false
}

pub fn named(_: &str) -> Option<Register> {
    None
}

pub fn read(_: Register, _: &[u8]) -> Option<ExtendedBytes> {
    None
}

pub fn write(_: Register, _: &mut [u8], _: &[u8]) -> bool {
    false
}

pub fn low_vectors(_: &[u8]) -> Option<Vec<u128>> {
    None
}

pub fn float_stack_top(_: &[u8]) -> Option<[u8; 10]> {
    None
}

pub fn lane(_: Register) -> Option<&'static str> {
    None
}

pub fn is_extended_float(_: Register) -> bool {
    false
}

pub fn is_vector(_: &str) -> bool {
    false
}

pub fn vectors(_: Option<&[u8]>) -> Vec<String> {
    Vec::new()
}

pub fn floats() -> Vec<String> {
    Vec::new()
}
