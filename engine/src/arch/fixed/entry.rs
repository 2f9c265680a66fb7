//! Arguments of a function: none are in registers.

use super::super::Instruction;
use dwarf::{LoadAddr, Register};

pub fn arguments_read(
    _: LoadAddr,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Vec<Register> {
    Vec::new()
}

pub fn result_address_store(
    _: LoadAddr,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<(LoadAddr, Register, i64)> {
    None
}

/// Every function returns the address.
pub fn result_address_at_call(
    _: LoadAddr,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<(LoadAddr, Register, i64)> {
    None
}
