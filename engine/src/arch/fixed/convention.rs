//! Two argument registers; the return address is in a register.

use super::super::convention::{
    Composites, Convention, JumpBuffer, Landing, PointerGuard, TlsTemplate, VirtualBit,
};
use super::super::{ExtendedRegisters, RegisterFile};
use super::LINK;
use dwarf::{LoadAddr, Memory, Register, Registers};

pub const CONVENTION: Convention = Convention {
    integers: &[Register(0), Register(1)],
    vectors: 0,
    integer_results: &[Register(0)],
    vector_results: 0,
    composites: Composites::Eightbytes,
    even_pairs: false,
    exhausts: true,
    packs_stack: false,
    variadics_on_stack: false,
    result_address: None,
    returned_address: None,
    virtual_bit: VirtualBit::Pointer,
    red_zone: 0,
    system_call: Register(8),
    jump_buffer: JumpBuffer {
        pc: 0,
        sp: 1,
        guard: PointerGuard::Variable,
        rotation: 0,
    },
};

pub const CONVENTION_OF_APPLE: Convention = CONVENTION;

pub fn set_vectors(_: &mut impl RegisterFile, _: &mut ExtendedRegisters, _: &[[u8; 16]]) {}

pub fn set_return_address(
    registers: &mut impl RegisterFile,
    back: LoadAddr,
) -> Option<(LoadAddr, u64)> {
    registers.set(LINK, back.0);
    None
}

pub fn return_at_entry(registers: &impl RegisterFile, _: &dyn Memory) -> Option<Landing> {
    Some(Landing {
        addr: LoadAddr(registers.get(LINK)?),
        sp: registers.sp(),
    })
}

pub fn return_slot(_: u64) -> Option<LoadAddr> {
    None
}

pub fn thread_pointer(_: &Registers) -> Option<u64> {
    None
}

pub fn thread_data_of_apple(_: &Registers) -> Option<u64> {
    None
}

/// Variant I: it begins above a header at the thread pointer.
pub fn tls_of_program(thread: u64, template: TlsTemplate) -> u64 {
    const HEADER: u64 = 16;
    let padding = template.start.wrapping_sub(HEADER) & template.align.wrapping_sub(1);
    thread.wrapping_add(HEADER).wrapping_add(padding)
}

/// The thread pointer points behind the structure of a thread, to a header that begins with the
/// pointer to the table.
pub fn tls_table_pointer(thread: u64, _: u64) -> u64 {
    thread
}

pub fn tls_at(thread: u64, offset: u64) -> u64 {
    thread.wrapping_add(offset)
}

pub fn linked_context(_: LoadAddr, _: &impl RegisterFile, _: &dyn Memory) -> Option<Landing> {
    None
}
