//! Calling convention of the System V psABI for x86-64 (§3.2.3), and assembly code of the C
//! libraries of Linux.

use super::super::convention::{
    Composites, Convention, JumpBuffer, Landing, PointerGuard, TlsTemplate, VirtualBit,
};
use super::super::{ExtendedRegisters, RegisterFile};
use super::decode::read;
use dwarf::register::x86_64::{FS_BASE, GS_BASE, RAX, RBX, RCX, RDI, RDX, RFLAGS, RSI};
use dwarf::{LoadAddr, Memory, Register, Registers};
use iced_x86::Mnemonic;

pub const CONVENTION: Convention = Convention {
    integers: &[RDI, RSI, RDX, RCX, Register(8), Register(9)],
    vectors: 8,
    integer_results: &[RAX, RDX],
    vector_results: 2,
    composites: Composites::Eightbytes,
    even_pairs: false,
    exhausts: false,
    packs_stack: false,
    variadics_on_stack: false,
    result_address: None,
    returned_address: Some(RAX),
    virtual_bit: VirtualBit::Pointer,
    red_zone: 128,
    system_call: RAX,
    jump_buffer: JumpBuffer {
        pc: 7,
        sp: 6,
        guard: PointerGuard::InThread(0x30),
        rotation: 17,
    },
};

/// Apple's systems have the same.
pub const CONVENTION_OF_APPLE: Convention = CONVENTION;

/// Offset of xmm0 in an FXSAVE area, with which an XSAVE area begins (Intel SDM vol. 1, §10.5.1).
const XMM: usize = 160;
/// Offset of the byte there with a bit for each x87 register in use.
const X87_TAGS: usize = 4;
/// Offset of the word of an XSAVE area with a bit for each state component in it (§13.4.2): bit 0
/// is x87, bit 1 is SSE.
const XSTATE_BV: usize = 512;
/// Flags that are clear where a function begins: the direction flag (psABI §3.2.1) and the trap
/// flag.
const FLAGS_CLEARED: u64 = 0x500;

/// Sets the vector registers of arguments and the other state that a function expects at its entry.
pub fn set_vectors(
    registers: &mut impl RegisterFile,
    extended: &mut ExtendedRegisters,
    vectors: &[[u8; 16]],
) {
    for (nth, word) in vectors.iter().enumerate() {
        let at = XMM + 16 * nth;
        if let Some(slot) = extended.get_mut(at..at + 16) {
            slot.copy_from_slice(word);
        }
    }
    if let Some(parts) = extended.get_mut(XSTATE_BV) {
        *parts |= 3;
        // The x87 stack is empty where a function begins (psABI §3.2.1).
        extended[X87_TAGS] = 0;
    }
    // A variadic function reads the number of vector registers from `al` (psABI §3.5.7).
    registers.set(RAX, vectors.len() as u64);
    let flags = registers.get(RFLAGS).unwrap_or(0);
    registers.set(RFLAGS, flags & !FLAGS_CLEARED);
}

/// Makes room for the return address on the stack; the caller writes it.
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

pub fn thread_data_of_apple(registers: &Registers) -> Option<u64> {
    registers.get(GS_BASE)
}

/// TLS variant II: the program's block ends at the thread pointer.
pub fn tls_of_program(thread: u64, template: TlsTemplate) -> u64 {
    let end = template.start.wrapping_add(template.size);
    let padding = end.wrapping_neg() & template.align.wrapping_sub(1);
    thread.wrapping_sub(template.size.wrapping_add(padding))
}

/// The thread pointer is the address of the structure of a thread.
pub fn tls_table_pointer(thread: u64, offset: u64) -> u64 {
    thread.wrapping_add(offset)
}

pub fn tls_at(thread: u64, offset: u64) -> u64 {
    thread.wrapping_sub(offset)
}

/// In glibc, the function of a context returns to code that begins with `mov rsp, rbx`; rbx is then
/// the address of the pointer to the linked context.
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
