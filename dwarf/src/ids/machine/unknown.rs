//! The table of a machine without registers and code patterns: images are read, stacks are not
//! unwound.

use super::{CTypes, ForeignCfi, Headers, LongDouble, MachineFacts};
use crate::ids::register::Register;

const C_TYPES: CTypes = CTypes {
    char_is_signed: true,
    wchar_is_signed: true,
    long_double: LongDouble::Extended,
    headers: Headers::Unknown,
};

/// The numbers of registers only have to differ: no code of the machine runs under the debugger.
pub(super) static FACTS: MachineFacts = MachineFacts {
    pc: Register(16),
    sp: Register(7),
    frame_pointer: Register(6),
    link: None,
    return_address_mask: u64::MAX,
    signature_mask: None,
    first_vector: Register(17),
    callee_saved: &[],
    of_thread: &[],
    register_names: &[],
    thread_locals_by_symbol: false,
    c_types: C_TYPES,
    c_types_of_apple: C_TYPES,
    cfi_vendor: gimli::Vendor::Default,
    foreign_cfi: ForeignCfi::NONE,
    relocations: None,
    code: None,
};
