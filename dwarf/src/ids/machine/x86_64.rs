//! x86-64: the System V psABI, and instructions that compilers and linkers emit.

use super::{
    CTypes, CodePatterns, ForeignCfi, Headers, LinkageStubs, LongDouble, MachineFacts, Prologue,
    Relocations, SignalReturn,
};
use crate::ids::register::Register;
use crate::ids::register::x86_64::{CALLEE_SAVED, FS_BASE, GS_BASE, NAMES, RBP, RIP, RSP, XMM0};

const C_TYPES: CTypes = CTypes {
    char_is_signed: true,
    wchar_is_signed: true,
    long_double: LongDouble::Extended,
    headers: Headers::Linux,
};

pub(super) static FACTS: MachineFacts = MachineFacts {
    pc: RIP,
    sp: RSP,
    frame_pointer: RBP,
    link: None,
    return_address_mask: u64::MAX,
    signature_mask: None,
    first_vector: XMM0,
    callee_saved: CALLEE_SAVED,
    of_thread: &[FS_BASE, GS_BASE],
    register_names: NAMES,
    thread_locals_by_symbol: false,
    c_types: C_TYPES,
    c_types_of_apple: CTypes {
        headers: Headers::Apple,
        ..C_TYPES
    },
    cfi_vendor: gimli::Vendor::Default,
    foreign_cfi: ForeignCfi::NONE,
    relocations: Some(Relocations {
        absolute: 1,
        global_data: 6,
        jump_slot: 7,
        relative: 8,
        indirect: 37,
        thread_module: 16,
    }),
    code: Some(CodePatterns {
        ends_with_call,
        is_return: |code| code.first() == Some(&0xc3),
        prologue,
        signal_return: SignalReturn {
            // mov rax, 15; syscall
            code: &[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05],
            instructions: &[0, 7],
            // `struct ucontext` is on top of the stack, `struct sigcontext` in it.
            saved_at: 40,
            saved: &[
                Register(8),
                Register(9),
                Register(10),
                Register(11),
                Register(12),
                Register(13),
                Register(14),
                Register(15),
                Register(5),
                Register(4),
                Register(6),
                Register(3),
                Register(1),
                Register(0),
                Register(2),
                RSP,
                RIP,
            ],
        },
        linkage: LinkageStubs {
            // Those of `.plt.got` have 8 bytes, others 16.
            alignment: 8,
            longest: 16,
            slot: plt_slot,
        },
    }),
};

/// `e8` and an offset, or `ff /2` with its operand.
fn ends_with_call(bytes: &[u8; 7]) -> bool {
    let indirect = |length: usize| {
        let instruction = bytes.get(7 - length..);
        matches!(instruction, Some([0xff, operand, ..]) if operand & 0x38 == 0x10)
    };
    bytes[2] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(indirect)
}

/// `push rbp; mov rbp, rsp`, with or without an `endbr64` before them.
fn prologue(code: &[u8; 8], offset: u64) -> Prologue {
    let (push, skipped) = match *code {
        // endbr64
        [0xf3, 0x0f, 0x1e, 0xfa, rest, ..] => (rest, 4),
        [first, ..] => (first, 0),
    };
    if offset <= skipped {
        Prologue::Entry
    } else if push == 0x55 && offset < skipped + 4 {
        Prologue::Pushed
    } else {
        Prologue::Body
    }
}

/// `jmp [rip + offset]` (`ff 25`), with or without prefixes.
fn plt_slot(code: &[u8], start: u64) -> Option<u64> {
    let offset_at = match code {
        [0xff, 0x25, ..] => 2,
        // bnd jmp
        [0xf2, 0xff, 0x25, ..] => 3,
        // endbr64; jmp
        [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, ..] => 6,
        // endbr64; bnd jmp
        [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, ..] => 7,
        _ => return None,
    };
    let offset = code.get(offset_at..)?.first_chunk::<4>()?;
    let next = start.wrapping_add(offset_at as u64 + 4);
    Some(next.wrapping_add_signed(i64::from(i32::from_le_bytes(*offset))))
}
