//! System V psABI for x86-64, §3.2.3, and the C libraries of Linux.

use super::super::RegisterFile;
use super::super::convention::{Convention, Landing, TlsTemplate};
use super::decode::read;
use dwarf::register::x86_64::{FS_BASE, RAX, RBX, RCX, RDI, RDX, RFLAGS, RSI};
use dwarf::{LoadAddr, Memory, Register, Registers};
use iced_x86::Mnemonic;

pub const CONVENTION: Convention = Convention {
    integers: &[RDI, RSI, RDX, RCX, Register(8), Register(9)],
    vectors: 8,
    integer_results: &[RAX, RDX],
    vector_results: 2,
    red_zone: 128,
    system_call: RAX,
};

/// Where FXSAVE, and so XSAVE, keeps xmm0 (Intel SDM vol. 1, §10.5.1).
const XMM: usize = 160;
/// Where it says which x87 registers are in use.
const X87_TAGS: usize = 4;
/// The word of an XSAVE area that says which parts are in it (§13.4.2); x87 and SSE are 1 and 2.
const XSTATE_BV: usize = 512;
/// The direction and the trap flag.
const FLAGS_CLEARED: u64 = 0x500;

/// Sets the vector registers of arguments, and what else a function expects.
pub fn set_vectors(registers: &mut impl RegisterFile, extended: &mut [u8], vectors: &[[u8; 8]]) {
    for (nth, word) in vectors.iter().enumerate() {
        let at = XMM + 16 * nth;
        if let Some(slot) = extended.get_mut(at..at + 16) {
            slot.fill(0);
            slot[..8].copy_from_slice(word);
        }
    }
    if let Some(parts) = extended.get_mut(XSTATE_BV) {
        *parts |= 3;
        // The x87 stack is empty where a function begins (psABI §3.2.1).
        extended[X87_TAGS] = 0;
    }
    // A function with variable arguments reads the number of vectors there.
    registers.set(RAX, vectors.len() as u64);
    let flags = registers.get(RFLAGS).unwrap_or(0);
    registers.set(RFLAGS, flags & !FLAGS_CLEARED);
}

/// Pushes it.
pub fn set_return_address(
    registers: &mut impl RegisterFile,
    back: LoadAddr,
) -> Option<(LoadAddr, u64)> {
    let sp = registers.sp().wrapping_sub(8);
    registers.set_sp(sp);
    Some((LoadAddr(sp), back.0))
}

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

pub fn return_slot(sp: u64) -> Option<LoadAddr> {
    Some(LoadAddr(sp))
}

pub fn thread_pointer(registers: &Registers) -> Option<u64> {
    registers.get(FS_BASE)
}

/// Variant II: it ends at the thread pointer.
pub fn tls_of_program(thread: u64, template: TlsTemplate) -> u64 {
    let end = template.start.wrapping_add(template.size);
    let padding = end.wrapping_neg() & template.align.wrapping_sub(1);
    thread.wrapping_sub(template.size.wrapping_add(padding))
}

pub fn tls_at(thread: u64, offset: u64) -> u64 {
    thread.wrapping_sub(offset)
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
