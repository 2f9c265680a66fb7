//! AArch64: AAPCS64, DWARF and ELF for the Arm 64-bit Architecture.

use super::{MachineFacts, Relocations};
use crate::ids::register::aarch64::{CALLEE_SAVED, NAMES, PC, SP, TPIDR, V0, X29, X30};

pub(super) static FACTS: MachineFacts = MachineFacts {
    pc: PC,
    sp: SP,
    frame_pointer: X29,
    link: Some(X30),
    // Pointer authentication codes are in the bits above the user address space.
    return_address_mask: (1 << 48) - 1,
    first_vector: V0,
    callee_saved: CALLEE_SAVED,
    of_thread: &[TPIDR],
    register_names: NAMES,
    cfi_vendor: gimli::Vendor::AArch64,
    relocations: Some(Relocations {
        absolute: 257,
        global_data: 1025,
        jump_slot: 1026,
        relative: 1027,
        indirect: 1032,
    }),
    code: None,
};
