//! AArch64: AAPCS64, DWARF and ELF for the Arm 64-bit Architecture.

use super::{
    CTypes, CodePatterns, ForeignCfi, Headers, LinkageStubs, LongDouble, MachineFacts, Prologue,
    Relocations, SignalReturn,
};
use crate::ids::register::Register;
use crate::ids::register::aarch64::{
    CALLEE_SAVED, NAMES, PC, SIGNATURE_MASK, SP, TPIDR, TPIDRRO, V0, X29, X30,
};

pub(super) static FACTS: MachineFacts = MachineFacts {
    pc: PC,
    sp: SP,
    frame_pointer: X29,
    link: Some(X30),
    // Pointer authentication codes are in the bits above the user address space.
    return_address_mask: (1 << 48) - 1,
    signature_mask: Some(SIGNATURE_MASK),
    first_vector: V0,
    callee_saved: CALLEE_SAVED,
    of_thread: &[TPIDRRO, TPIDR, SIGNATURE_MASK],
    register_names: NAMES,
    thread_locals_by_symbol: true,
    c_types: CTypes {
        char_is_signed: false,
        wchar_is_signed: false,
        long_double: LongDouble::Quad,
        headers: Headers::Linux,
    },
    // "Writing ARM64 code for Apple platforms", data types.
    c_types_of_apple: CTypes {
        char_is_signed: true,
        wchar_is_signed: true,
        long_double: LongDouble::Double,
        headers: Headers::Apple,
    },
    cfi_vendor: gimli::Vendor::AArch64,
    // How a return address is signed: any signature is removed. `DW_CFA_AARCH64_set_ra_state` with
    // the state and an offset in the code, `DW_CFA_AARCH64_negate_ra_state_with_pc`; `B` for the
    // second key, and `G` for frames whose memory is tagged (aadwarf64, LLVM).
    foreign_cfi: ForeignCfi {
        instructions: &[(0x2b, 2), (0x2c, 0)],
        augmentations: b"BG",
    },
    relocations: Some(Relocations {
        absolute: 257,
        global_data: 1025,
        jump_slot: 1026,
        relative: 1027,
        indirect: 1032,
        thread_module: 1028,
    }),
    code: Some(CodePatterns {
        ends_with_call,
        is_return: |code| word_at(code, 0).is_some_and(is_return),
        prologue,
        signal_return: SignalReturn {
            // mov x8, #139; svc #0
            code: &[0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4],
            instructions: &[0, 4],
            // On top of the stack are `siginfo_t` and `struct ucontext`, in which `struct sigcontext`
            // begins with the address of a fault.
            saved_at: 128 + 176 + 8,
            saved: SAVED,
        },
        linkage: LinkageStubs {
            // Those with a landing pad or an authentication have 24 bytes, others 16.
            alignment: 4,
            longest: 24,
            slot: plt_slot,
        },
    }),
};

/// x0 to x30, the stack pointer and the pc.
const SAVED: &[Register] = &{
    let mut saved = [PC; 33];
    let mut number = 0;
    while number < 32 {
        saved[number as usize] = Register(number);
        number += 1;
    }
    saved
};

fn word_at(code: &[u8], at: usize) -> Option<u32> {
    let word = code.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*word))
}

/// `bl`, `blr`, `blraa` and others.
fn ends_with_call(bytes: &[u8; 7]) -> bool {
    word_at(bytes, 3)
        .is_some_and(|word| word & 0xfc00_0000 == 0x9400_0000 || word & 0xfeff_f000 == 0xd63f_0000)
}

/// `ret`, and `retaa`, `retab`, also with the pc as modifier.
fn is_return(word: u32) -> bool {
    word & 0xffff_fc1f == 0xd65f_0000
        || word & 0xffff_fbe0 == 0xd65f_0be0
        || word & 0xffc0_001f == 0x5500_001f
}

/// Landing pads (`bti`) and signatures of the return address (`paciasp`, `pacm`, `paciasppc` and those
/// of the other key) come before the frame. Its size is in the instruction that makes it, so that what follows is not told apart.
fn prologue(code: &[u8; 8], offset: u64) -> Prologue {
    let is_before = |word: u32| {
        matches!(word, 0xd503_233f | 0xd503_237f | 0xd503_24ff)
            || word & 0xffff_dbff == 0xdac1_83fe
            || word & 0xffff_ff3f == 0xd503_241f
    };
    let before = (0..2).take_while(|nth| word_at(code, 4 * nth).is_some_and(is_before));
    match offset <= 4 * before.count() as u64 {
        true => Prologue::Entry,
        false => Prologue::Body,
    }
}

/// `adrp x16, page; ldr x17, [x16, #offset]`, with or without a `bti c` before them.
fn plt_slot(code: &[u8], start: u64) -> Option<u64> {
    const LANDING_PAD: u32 = 0xd503_245f;
    let skipped = match word_at(code, 0)? {
        LANDING_PAD => 4,
        _ => 0,
    };
    let (page, load) = (word_at(code, skipped)?, word_at(code, skipped + 4)?);
    if page & 0x9f00_001f != 0x9000_0010 || load & 0xffc0_03ff != 0xf940_0211 {
        return None;
    }
    // 21 bits with a sign, of which the lowest two are elsewhere.
    let high = i64::from((page << 8) as i32 >> 13);
    let pages = high << 2 | i64::from(page >> 29 & 3);
    let here = start.wrapping_add(skipped as u64) & !0xfff;
    let offset = u64::from(load >> 10 & 0xfff) * 8;
    Some(here.wrapping_add_signed(pages << 12).wrapping_add(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(words: &[u32]) -> [u8; N] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes[bytes.len() - N..].try_into().unwrap()
    }

    #[test]
    fn calls_and_returns_are_recognised() {
        const NOP: u32 = 0xd503_201f;
        // bl; blr x8; blraa x8, x9; br x8; b
        let calls = [
            0x97ff_fffb,
            0xd63f_0100,
            0xd73f_0909,
            0xd61f_0100,
            0x17ff_fffb,
        ];
        let found = calls.map(|word| ends_with_call(&bytes(&[NOP, word])));
        assert_eq!(found, [true, true, true, false, false]);
        // ret; ret x3; retaa; retab; retaasppcr x2; retaasppc; retabsppc
        let returns = [
            0xd65f_03c0,
            0xd65f_0060,
            0xd65f_0bff,
            0xd65f_0fff,
            0xd65f_0be2,
            0x5500_021f,
            0x5520_023f,
        ];
        assert_eq!(returns.map(is_return), [true; 7]);
        // br x30; b.nv, which is no return
        assert_eq!([0xd61f_03c0, 0x5400_001f].map(is_return), [false; 2]);
    }

    #[test]
    fn nothing_of_the_frame_exists_before_its_first_instruction() {
        // stp x29, x30, [sp, #-48]!; mov x29, sp, and the same behind `paciasp`
        let plain = bytes(&[0xa9bd_7bfd, 0x9100_03fd]);
        let signed = bytes(&[0xd503_233f, 0xa9bd_7bfd]);
        let with_pc = bytes(&[0xdac1_a3fe, 0xa9bd_7bfd]);
        let at = |code, offset| prologue(code, offset) == Prologue::Entry;
        assert_eq!([0, 4].map(|offset| at(&plain, offset)), [true, false]);
        let found = [0, 4, 8].map(|offset| at(&signed, offset));
        assert_eq!(found, [true, true, false]);
        let found = [0, 4, 8].map(|offset| at(&with_pc, offset));
        assert_eq!(found, [true, true, false]);
    }

    #[test]
    fn stubs_name_their_slots() {
        // adrp x16, 1a0000; ldr x17, [x16]; add x16, x16, #0; br x17
        let stub = [0xb000_0bd0, 0xf940_0211, 0x9100_0210, 0xd61f_0220];
        assert_eq!(plt_slot(&bytes::<16>(&stub), 0x27260), Some(0x1a_0000));
        let padded = [0xd503_245f, 0xb000_0bd0, 0xf940_0611, 0xd61f_0220];
        assert_eq!(plt_slot(&bytes::<16>(&padded), 0x27260), Some(0x1a_0008));
        let header = [0xa9bf_7bf0, 0x9000_0bd0, 0xf947_fe11, 0x913f_e210];
        assert_eq!(plt_slot(&bytes::<16>(&header), 0x27240), None);
    }
}
