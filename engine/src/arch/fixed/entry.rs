//! Arguments of a function: none are in registers.

use super::super::Instruction;
use dwarf::{LoadAddr, Register};

pub fn taken(_: LoadAddr, _: impl FnMut(LoadAddr) -> Option<Instruction>) -> Vec<Register> {
    Vec::new()
}

pub fn first_kept(
    _: LoadAddr,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<(LoadAddr, Register, i64)> {
    None
}
