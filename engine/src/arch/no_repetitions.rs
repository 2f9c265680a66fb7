//! Instruction sets without instructions that repeat.

use super::RegisterFile;
use dwarf::Register;

pub const COUNT: Register = Register(u16::MAX);

pub fn is_repeated<T>(_: &T) -> bool {
    false
}

pub fn repetitions<T, R: RegisterFile>(_: &T, _: &R, _: &R) -> Option<u64> {
    None
}

pub fn compares<T>(_: &T) -> bool {
    false
}

pub fn has_ended<T>(_: &T, _: &impl RegisterFile) -> bool {
    false
}
