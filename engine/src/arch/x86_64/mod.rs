//! x86-64. The jump patches and the code that they lead to use its decoder themselves.

pub(super) mod access;
pub(super) mod callers;
pub(super) mod convention;
pub(super) mod copies;
pub(super) mod decode;
pub(super) mod entry;
pub(crate) mod extended;
pub(super) mod heuristic_unwind;
pub(super) mod registers;
pub(super) mod relocate;
pub(super) mod repeat;
pub(super) mod simulation;
pub(super) mod text;
pub(crate) mod watch;

pub(crate) use decode::decoded;
pub(crate) use relocate::{can_push_and_jump, copy, far_jump, jump};

use super::instruction::{Code, Instruction};
pub(super) use super::no_sequences as sequence;
use dwarf::Register;
use dwarf::register::x86_64::RFLAGS;

/// A decoded instruction.
pub(crate) type Decoded = iced_x86::Instruction;

/// Addresses have 47 bits; the last page cannot be mapped.
pub(super) const END_OF_USER_SPACE: u64 = 0x7fff_ffff_0000;
pub(super) const NAME: &str = "x86-64";
/// `EM_X86_64`
pub(super) const ELF_MACHINE: u16 = 62;
/// `int3`
pub(crate) const INT3: u8 = 0xcc;
/// The breakpoint instruction.
pub(super) const BREAKPOINT: &[u8] = &[INT3];
/// Distance of the pc after a breakpoint from its address.
pub(super) const PC_BEHIND_BREAKPOINT: u64 = 1;
/// Instructions begin anywhere.
/// DWARF numbers of general-purpose registers are smaller.
pub(super) const GENERAL_REGISTERS: u16 = 16;
/// `rflags` without TF and RF, which single steps and breakpoints set.
pub(super) const STATUS_REGISTER: (Register, u64) = (RFLAGS, !(1 << 8 | 1 << 16));
pub(super) const ALIGNMENT: usize = 1;
/// Maximum length of an instruction in bytes.
pub(crate) const MAX_INSTRUCTION_BYTES: usize = 15;
/// `jmp` with a displacement of −2.
pub(super) const SPIN_LOOP: &[u8] = &[0xeb, 0xfe];
/// `syscall`
pub(super) const SYSTEM_CALL_INSTRUCTION: &[u8] = &[0x0f, 0x05];
/// Opcode of `jmp rel32`.
pub(crate) const NEAR_JUMP: u8 = 0xe9;
/// Length of the jump of a fast breakpoint.
pub(super) const JUMP_BYTES: Option<usize> = Some(JUMP);
/// `nop`
pub(super) const DO_NOTHING: &[u8] = &[0x90];
/// Length of `jmp rel32`, which reaches ±2 GiB.
pub(crate) const JUMP: usize = 5;

/// Returns an instruction as it was decoded here; `None` if it is of another set.
pub(crate) fn own(instruction: &Instruction) -> Option<&Decoded> {
    match instruction.code() {
        Code::X86_64(code) => Some(code),
        _ => None,
    }
}
