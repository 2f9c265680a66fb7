//! System V psABI for x86-64, §3.2.3, and the C libraries of Linux.

use super::super::RegisterFile;
use super::super::convention::{Convention, Landing};
use super::decode::read;
use dwarf::register::x86_64::{FS_BASE, RAX, RBX, RCX, RDI, RDX, RSI};
use dwarf::{LoadAddr, Memory, Register, Registers};
use iced_x86::Mnemonic;

pub const CONVENTION: Convention = Convention {
    integers: &[RDI, RSI, RDX, RCX, Register(8), Register(9)],
    integer_results: &[RAX, RDX],
    system_call: RAX,
};

fn word(memory: &dyn Memory, base: u64, offset: u64) -> Option<u64> {
    let addr = LoadAddr(base.wrapping_add(offset));
    memory.read_uint(addr, 8).ok()
}

pub fn return_at_entry(registers: &impl RegisterFile, memory: &dyn Memory) -> Option<Landing> {
    let sp = registers.sp();
    Some(Landing {
        addr: LoadAddr(word(memory, sp, 0)?),
        sp: sp.wrapping_add(8),
    })
}

pub fn thread_pointer(registers: &Registers) -> Option<u64> {
    registers.get(FS_BASE)
}

/// In the C libraries of Linux, the stack pointer and the pc are words 6 and 7 of the buffer, which
/// glibc (`PTR_MANGLE`) rotates and xors with a per-thread word.
pub fn long_jumps(registers: &impl RegisterFile, memory: &dyn Memory) -> Option<[Landing; 2]> {
    let buffer = registers.get(RDI)?;
    let (sp, pc) = (word(memory, buffer, 48)?, word(memory, buffer, 56)?);
    let key = word(memory, registers.get(FS_BASE)?, 0x30)?;
    let clear = |word: u64| word.rotate_right(17) ^ key;
    Some([(clear(pc), clear(sp)), (pc, sp)].map(|(pc, sp)| Landing {
        addr: LoadAddr(pc),
        sp,
    }))
}

/// glibc's code there begins with `mov rsp, rbx`, and rbx points to the linked context.
pub fn linked_context(
    pc: LoadAddr,
    registers: &impl RegisterFile,
    memory: &dyn Memory,
) -> Option<Landing> {
    /// Offset in `ucontext_t` (bits/types and sys/ucontext.h) of `uc_mcontext.gregs[REG_RSP]`,
    /// followed by `[REG_RIP]`.
    const SP_IN_CONTEXT: u64 = 160;
    let first = read(memory, pc)?;
    let from_rbx = first.mnemonic() == Mnemonic::Mov
        && first.op0_register() == iced_x86::Register::RSP
        && first.op1_register() == iced_x86::Register::RBX;
    if !from_rbx {
        return None;
    }
    let context = word(memory, registers.get(RBX)?, 0)?;
    let sp = word(memory, context, SP_IN_CONTEXT)?;
    let pc = word(memory, context, SP_IN_CONTEXT + 8)?;
    Some(Landing {
        addr: LoadAddr(pc),
        sp,
    })
}
