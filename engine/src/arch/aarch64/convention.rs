//! Calling convention of the Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), and
//! assembly code of the C libraries of Linux.

use super::super::convention::{
    Composites, Convention, JumpBuffer, Landing, PointerGuard, TlsTemplate, VirtualBit,
};
use super::super::{ExtendedRegisters, RegisterFile};
use super::INSTRUCTION_BYTES;
use super::decode::read;
use super::encoding::{Condition, Kind, LINK, Width};
use super::extended;
use dwarf::register::aarch64::{PSTATE, TPIDR, TPIDRRO, V0, X30};
use dwarf::{LoadAddr, Memory, Register, Registers};

/// `x8`, which has the address of a result in memory, and the number of a system call.
const X8: Register = Register(8);

pub const CONVENTION: Convention = Convention {
    integers: &[
        Register(0),
        Register(1),
        Register(2),
        Register(3),
        Register(4),
        Register(5),
        Register(6),
        Register(7),
    ],
    vectors: 8,
    integer_results: &[Register(0), Register(1)],
    vector_results: 4,
    composites: Composites::Homogeneous,
    even_pairs: true,
    exhausts: true,
    packs_stack: false,
    variadics_on_stack: false,
    result_address: Some(X8),
    returned_address: None,
    virtual_bit: VirtualBit::Adjustment,
    red_zone: 0,
    system_call: X8,
    jump_buffer: JumpBuffer {
        pc: 11,
        sp: 13,
        guard: PointerGuard::Variable,
        rotation: 0,
    },
};

/// What Apple's systems do in other ways ("Writing ARM64 code for Apple platforms").
pub const CONVENTION_OF_APPLE: Convention = Convention {
    even_pairs: false,
    packs_stack: true,
    variadics_on_stack: true,
    red_zone: 128,
    ..CONVENTION
};

/// Bits of the pstate that say that a jump led here (BTYPE), for which a function in guarded code
/// needs a landing pad.
const BRANCH_TYPE: u64 = 0b11 << 10;

/// Sets the vector registers of arguments and the other state that a function expects at its entry.
pub fn set_vectors(
    registers: &mut impl RegisterFile,
    extended: &mut ExtendedRegisters,
    vectors: &[[u8; 16]],
) {
    extended::leave_modes(extended);
    for (number, word) in (V0.0..).zip(vectors) {
        extended::write(Register(number), extended, word);
    }
    if let Some(pstate) = registers.get(PSTATE) {
        registers.set(PSTATE, pstate & !BRANCH_TYPE);
    }
}

/// Sets the link register; nothing is written to memory.
pub fn set_return_address(
    registers: &mut impl RegisterFile,
    back: LoadAddr,
) -> Option<(LoadAddr, u64)> {
    registers.set(X30, back.0);
    None
}

fn word(memory: &dyn Memory, base: u64, offset: u64) -> Option<u64> {
    let addr = LoadAddr(base.wrapping_add(offset));
    memory.read_uint(addr, 8).ok()
}

/// The link register is signed only by the first instruction.
pub fn return_at_entry(registers: &impl RegisterFile, _: &dyn Memory) -> Option<Landing> {
    Some(Landing {
        addr: LoadAddr(registers.get(X30)?),
        sp: registers.sp(),
    })
}

pub fn return_slot(_: u64) -> Option<LoadAddr> {
    None
}

pub fn thread_pointer(registers: &Registers) -> Option<u64> {
    registers.get(TPIDR)
}

/// The number of the processor may be in the lowest bits.
pub fn thread_data_of_apple(registers: &Registers) -> Option<u64> {
    registers.get(TPIDRRO).map(|it| it & !7)
}

/// TLS variant I: the program's block begins above a header of two words at the thread pointer.
pub fn tls_of_program(thread: u64, template: TlsTemplate) -> u64 {
    const HEADER: u64 = 16;
    let padding = template.start.wrapping_sub(HEADER) & template.align.wrapping_sub(1);
    thread.wrapping_add(HEADER).wrapping_add(padding)
}

/// The structure of a thread ends at the thread pointer, and the header there begins with the
/// pointer to the table.
pub fn tls_table_pointer(thread: u64, _: u64) -> u64 {
    thread
}

pub fn tls_at(thread: u64, offset: u64) -> u64 {
    thread.wrapping_add(offset)
}

/// Returns the instruction at an address, or the one behind a hint (a `nop`, a landing pad).
fn behind_hint(memory: &dyn Memory, addr: LoadAddr) -> Option<Kind> {
    let kind = |addr| read(memory, addr).map(|it| it.kind);
    match kind(addr)? {
        Kind::Hint { .. } => kind(addr + INSTRUCTION_BYTES as u64),
        first => Some(first),
    }
}

/// In glibc, the function of a context returns to code that begins with `mov x0, x19`, or with a
/// test of `x19`, which is then the address of the linked context. If `swapcontext` has made that, it
/// continues with `mov x30, x1` and `ret` there.
pub fn linked_context(
    pc: LoadAddr,
    registers: &impl RegisterFile,
    memory: &dyn Memory,
) -> Option<Landing> {
    /// Offset in `ucontext_t` (sys/ucontext.h) of `uc_mcontext.regs`, followed by `sp` and `pc`.
    const REGISTERS: u64 = 176 + 8;
    const SP: u64 = REGISTERS + 8 * 31;
    let from_x19 = matches!(
        behind_hint(memory, pc)?,
        Kind::Move {
            to: 0,
            from: 19,
            width: Width::X,
        } | Kind::JumpIf {
            condition: Condition::Zero { register: 19, .. },
            ..
        }
    );
    if !from_x19 {
        return None;
    }
    let context = registers.get(Register(19)).filter(|it| *it != 0)?;
    let sp = word(memory, context, SP)?;
    let mut pc = word(memory, context, SP + 8)?;
    if let Some(Kind::Move {
        to: LINK,
        from: from @ ..LINK,
        ..
    }) = behind_hint(memory, LoadAddr(pc))
    {
        pc = word(memory, context, REGISTERS + 8 * u64::from(from))?;
    }
    Some(Landing {
        addr: LoadAddr(pc),
        sp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::Unreadable;
    use std::collections::BTreeMap;

    /// `x19`.
    #[derive(Clone, Copy)]
    struct Only(u64);

    impl RegisterFile for Only {
        fn get(&self, register: Register) -> Option<u64> {
            (register == Register(19)).then_some(self.0)
        }

        fn set(&mut self, _: Register, _: u64) -> bool {
            false
        }

        fn sp(&self) -> u64 {
            0
        }

        fn set_sp(&mut self, _: u64) {}

        fn set_pc(&mut self, _: LoadAddr) {}
    }

    struct Words(BTreeMap<u64, u64>);

    impl Memory for Words {
        fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
            let len = buffer.len();
            let word = self.0.get(&addr.0).ok_or(Unreadable { addr, len })?;
            buffer.copy_from_slice(word.to_le_bytes().get(..len).unwrap_or_default());
            Ok(())
        }
    }

    #[test]
    fn the_linked_context_is_where_glibc_continues() {
        const CODE: u64 = 0x1000;
        const SWAPPED: u64 = 0x2000;
        const CONTEXT: u64 = 0x7000;
        const NOP: u32 = 0xd503_201f;
        let landing_at = |code: &[u32], linked: u64, pc: u64| {
            // `uc_mcontext` follows 176 bytes: the address of a fault, x0 to x30, sp, pc.
            let saved = |nth: u64| CONTEXT + 176 + 8 + 8 * nth;
            let mut words =
                BTreeMap::from([(saved(1), 0x5678), (saved(31), 0x8000), (saved(32), pc)]);
            // nop; mov x30, x1
            let swapped = [NOP, 0xaa01_03fe];
            for (start, code) in [(CODE, code), (SWAPPED, &swapped)] {
                words.extend(
                    (start..)
                        .step_by(4)
                        .zip(code.iter().copied().map(u64::from)),
                );
            }
            let landing = linked_context(LoadAddr(CODE), &Only(linked), &Words(words))?;
            Some((landing.addr.0, landing.sp))
        };
        let landing = |code: &[u32], linked| landing_at(code, linked, 0x1234);
        // mov x0, x19, also behind a nop; cbnz x19, .; cbz x19, .
        for code in [
            &[0xaa13_03e0][..],
            &[NOP, 0xaa13_03e0],
            &[0xb500_0013],
            &[0xb400_0013],
        ] {
            assert_eq!(landing(code, CONTEXT), Some((0x1234, 0x8000)), "{code:x?}");
            assert_eq!(landing(code, 0), None, "the thread ends");
            let swapped = landing_at(code, CONTEXT, SWAPPED);
            assert_eq!(swapped, Some((0x5678, 0x8000)), "{code:x?}");
        }
        // mov x0, x20; cbnz x20, .; ret
        for code in [0xaa14_03e0, 0xb500_0014, 0xd65f_03c0] {
            assert_eq!(landing(&[code], CONTEXT), None, "{code:x}");
        }
    }
}
