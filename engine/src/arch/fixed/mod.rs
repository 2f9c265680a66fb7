//! An instruction set for tests: instructions of four bytes, a trap that leaves the pc in place, and
//! calls that keep the return address in a register. What passes with it above this seam does not
//! depend on x86-64.
//!
//! An instruction is a little-endian word: the opcode in its highest byte, below it 24 bits. For
//! jumps these are the signed distance in bytes; for the others a register and an offset.

pub(super) mod access;
pub(super) mod callers;
pub(super) mod convention;
pub(super) mod copies;
pub(super) mod decode;
pub(super) mod entry;
pub(super) mod extended;
pub(super) mod heuristic_unwind;
pub(super) mod registers;
pub(super) mod relocate;
pub(super) mod repeat;
pub(super) mod simulation;
pub(super) mod text;
pub(super) mod watch;

#[cfg(test)]
mod tests;

pub(super) use super::no_sequences as sequence;
use dwarf::Register;

/// An instruction and its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decoded {
    pub addr: u64,
    pub word: u32,
}

/// Any address can be mapped.
pub(super) const END_OF_USER_SPACE: u64 = u64::MAX;
pub(super) const NAME: &str = "the fixed set";
/// No machine's number.
pub(super) const ELF_MACHINE: u16 = 0xfeed;
/// The breakpoint instruction.
pub(super) const BREAKPOINT: &[u8] = &[0, 0, 0, TRAP];
/// It leaves the pc where it is.
pub(super) const PC_BEHIND_BREAKPOINT: u64 = 0;
/// DWARF numbers of general-purpose registers are smaller.
pub(super) const GENERAL_REGISTERS: u16 = 4;
/// It has no flags.
pub(super) const STATUS_REGISTER: (Register, u64) = (Register(u16::MAX), 0);
pub(super) const ALIGNMENT: usize = 4;
/// There are no fast breakpoints.
pub(super) const JUMP_BYTES: Option<usize> = None;
pub(super) const DO_NOTHING: &[u8] = &[0, 0, 0, NOP];
/// A jump by no distance.
pub(super) const SPIN_LOOP: &[u8] = &[0, 0, 0, JUMP];
pub(super) const SYSTEM_CALL_INSTRUCTION: &[u8] = &[0, 0, 0, SYSTEM_CALL];
pub(super) const MAX_INSTRUCTION_BYTES: usize = 4;

pub(crate) const NOP: u8 = 0x01;
pub(crate) const JUMP: u8 = 0x10;
pub(crate) const JUMP_IF: u8 = 0x11;
pub(crate) const CALL: u8 = 0x12;
pub(crate) const RETURN: u8 = 0x13;
pub(crate) const JUMP_TO_REGISTER: u8 = 0x14;
pub(crate) const CALL_REGISTER: u8 = 0x15;
pub(crate) const TRAP: u8 = 0x20;
pub(crate) const SYSTEM_CALL: u8 = 0x21;
pub(crate) const UNDEFINED: u8 = 0x22;
/// Loads the word at a distance of the pc into register 0.
pub(crate) const LOAD_NEAR: u8 = 0x30;
/// Stores register 0 at an offset from a register.
pub(crate) const STORE: u8 = 0x31;

/// The register that holds the return address.
pub(crate) const LINK: Register = Register(14);

/// Encodes an instruction with a signed distance.
pub(crate) fn to(opcode: u8, distance: i32) -> [u8; 4] {
    (u32::from(opcode) << 24 | distance as u32 & 0xff_ffff).to_le_bytes()
}

/// Encodes an instruction with a register and an offset.
pub(crate) fn with(opcode: u8, register: u8, offset: u16) -> [u8; 4] {
    (u32::from(opcode) << 24 | u32::from(register) << 16 | u32::from(offset)).to_le_bytes()
}

impl Decoded {
    fn opcode(self) -> u8 {
        (self.word >> 24) as u8
    }

    /// Returns the address at the signed distance.
    fn target(self) -> u64 {
        let distance = (self.word << 8) as i32 >> 8;
        self.addr.wrapping_add_signed(i64::from(distance))
    }

    fn register(self) -> Register {
        Register((self.word >> 16 & 0xff) as u16)
    }

    fn offset(self) -> u64 {
        u64::from(self.word & 0xffff)
    }

    fn next(self) -> u64 {
        self.addr.wrapping_add(4)
    }
}
