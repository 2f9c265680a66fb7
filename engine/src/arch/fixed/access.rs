//! Memory operands.

use super::super::RegisterFile;
use super::super::instruction::{Access, Instruction, Operand, PointerChain};
use super::{Decoded, LOAD_NEAR, STORE};
use dwarf::{LoadAddr, Register};

pub fn accesses(code: &Decoded, registers: &impl RegisterFile) -> Vec<Access> {
    let base = (code.register(), code.offset() as i64);
    let (at, base) = match code.opcode() {
        LOAD_NEAR => (Some(code.target()), None),
        STORE => (
            registers
                .get(base.0)
                .map(|it| it.wrapping_add(code.offset())),
            Some(base),
        ),
        _ => (None, None),
    };
    let access = at.map(|at| Access {
        at,
        size: 8,
        write: code.opcode() == STORE,
        base,
        is_plain: true,
    });
    access.into_iter().collect()
}

pub fn part_of_frame(code: &Decoded, base: Register) -> Option<(i64, u64)> {
    let is_it = code.opcode() == STORE && code.register() == base;
    is_it.then(|| (code.offset() as i64, 8))
}

pub fn divisor(_: &Decoded, _: &impl RegisterFile) -> Option<Operand> {
    None
}

pub fn pointer_chain(
    _: Register,
    _: &[Instruction],
    _: &impl RegisterFile,
) -> Option<PointerChain> {
    None
}

/// Returns the word that the last of these instructions jumps or calls through.
pub fn word_of_jump(code: &[Instruction]) -> Option<LoadAddr> {
    code.last()?.word_of_jump()
}
