//! Instruction sets without exclusive sequences.

use super::instruction::{Instruction, SequenceCopy};
use dwarf::LoadAddr;
use std::ops::Range;

pub const PRESENT: bool = false;

pub fn around(
    _: LoadAddr,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<Range<LoadAddr>> {
    None
}

pub fn starting_at(
    _: LoadAddr,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<Range<LoadAddr>> {
    None
}

pub fn exits(
    _: Range<LoadAddr>,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<Vec<LoadAddr>> {
    None
}

pub fn copied(
    _: Range<LoadAddr>,
    _: LoadAddr,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<SequenceCopy> {
    None
}
