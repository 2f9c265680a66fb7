//! AArch64 with the instruction set A64. Its encoding is regular: what control flow, addresses and
//! registers depend on is decoded here; only texts come from a crate.

pub(super) mod access;
pub(crate) mod assembler;
pub(super) mod callers;
pub(super) mod convention;
pub(super) mod copies;
pub(super) mod decode;
mod effects;
mod encoding;
pub(super) mod entry;
pub(crate) mod extended;
pub(super) mod heuristic_unwind;
pub(crate) mod matrix;
mod memory;
pub(super) mod registers;
pub(crate) mod relocate;
pub(super) mod repeat;
pub(super) mod sequence;
pub(super) mod simulation;
pub(super) mod text;
pub(crate) mod watch;

#[cfg(test)]
mod behavior_tests;
#[cfg(test)]
pub(crate) mod execution_tests;
#[cfg(test)]
mod linkage_tests;
#[cfg(test)]
mod tests;

use super::instruction::{Code, Instruction};
use dwarf::Register;
use dwarf::register::aarch64::PSTATE;
use effects::Effects;
use encoding::Kind;

/// An instruction and its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decoded {
    pub addr: u64,
    pub word: u32,
    kind: Kind,
}

/// Addresses have 48 bits, or 52 where a program asks for them; the highest are not mapped.
pub(super) const END_OF_USER_SPACE: u64 = 1 << 48;
pub(super) const NAME: &str = "aarch64";
/// `EM_AARCH64`
pub(super) const ELF_MACHINE: u16 = 183;
/// `brk #0`
pub(super) const BREAKPOINT: &[u8] = &0xd420_0000_u32.to_le_bytes();
/// It leaves the pc where it is.
pub(super) const PC_BEHIND_BREAKPOINT: u64 = 0;
/// DWARF numbers of general-purpose registers are smaller.
pub(super) const GENERAL_REGISTERS: u16 = 31;
/// The condition flags; the other bits are of the processor's state.
pub(super) const STATUS_REGISTER: (Register, u64) = (PSTATE, 0xf << 28);
pub(super) const ALIGNMENT: usize = INSTRUCTION_BYTES;
/// Length of the jump of a fast breakpoint, a `b`.
pub(super) const JUMP_BYTES: Option<usize> = Some(INSTRUCTION_BYTES);
/// `nop`
pub(super) const DO_NOTHING: &[u8] = &0xd503_201f_u32.to_le_bytes();
/// `svc #0`
pub(super) const SYSTEM_CALL_INSTRUCTION: &[u8] = &0xd400_0001_u32.to_le_bytes();
pub(super) const MAX_INSTRUCTION_BYTES: usize = INSTRUCTION_BYTES;
/// `b .`
pub(super) const SPIN_LOOP: &[u8] = &0x1400_0000_u32.to_le_bytes();

/// Length of every instruction.
pub(crate) const INSTRUCTION_BYTES: usize = 4;

impl Decoded {
    /// Returns the address behind it.
    fn next(&self) -> u64 {
        self.addr.wrapping_add(INSTRUCTION_BYTES as u64)
    }

    /// Returns the address at a distance.
    fn at(&self, distance: i64) -> u64 {
        self.addr.wrapping_add_signed(distance)
    }

    /// Returns the registers that it reads and writes.
    fn effects(&self) -> Effects {
        effects::effects(self.word, &self.kind)
    }
}

/// Returns whether an indirect jump or call may lead to an instruction in guarded code: `bti`,
/// `paciasp`, `pacibsp`, `paciasppc`, `pacibsppc`.
pub(crate) fn is_landing_pad(code: &Decoded) -> bool {
    match code.kind {
        Kind::Hint { number } => matches!(number, 25 | 27 | 34 | 36 | 38),
        _ => matches!(code.word, 0xdac1_a3fe | 0xdac1_a7fe),
    }
}

/// Returns the DWARF number of a general register; 31 is the stack pointer.
fn dwarf_register(register: u8) -> Register {
    Register(register.into())
}

/// Returns an instruction as it was decoded here; `None` if it is of another set.
pub(crate) fn own(instruction: &Instruction) -> Option<&Decoded> {
    match instruction.code() {
        Code::Aarch64(code) => Some(code),
        _ => None,
    }
}
