//! Encodings of arm64.

use super::{Unwind, rule};
use crate::cfi::{CfaRule, RegisterRule};
use crate::ids::register::Register;
use crate::ids::register::aarch64::{SP, V0, X29, X30};

/// The mode is in the bits above.
const MODE: u32 = 24;
const FRAMELESS: u32 = 2;
const DWARF: u32 = 3;
const FRAME_POINTER: u32 = 4;

/// Bits of encodings and the first of the two registers that each is set for.
const PAIRS: [(u32, Register); 9] = [
    (1 << 0, Register(19)),
    (1 << 1, Register(21)),
    (1 << 2, Register(23)),
    (1 << 3, Register(25)),
    (1 << 4, Register(27)),
    (1 << 8, Register(V0.0 + 8)),
    (1 << 9, Register(V0.0 + 10)),
    (1 << 10, Register(V0.0 + 12)),
    (1 << 11, Register(V0.0 + 14)),
];

/// Returns how an encoding unwinds.
pub(super) fn unwind(encoding: u32) -> Option<Unwind> {
    let mut registers = Vec::new();
    let (cfa, top) = match encoding >> MODE & 0xf {
        // The return address is in the link register.
        FRAMELESS => {
            let size = i64::from(encoding >> 12 & 0xfff) * 16;
            (CfaRule::Offset(SP, size), 0)
        }
        FRAME_POINTER => {
            registers.push((X29, RegisterRule::Offset(-16)));
            registers.push((X30, RegisterRule::Offset(-8)));
            (CfaRule::Offset(X29, 16), -16)
        }
        DWARF => return Some(Unwind::Dwarf((encoding & 0xff_ffff) as usize)),
        _ => return None,
    };
    // Pairs follow each other downwards, the first register of each above the second.
    let saved = PAIRS.iter().filter(|(bit, _)| encoding & bit != 0);
    let saved = saved.flat_map(|(_, first)| [*first, Register(first.0 + 1)]);
    let places = (1i64..).map(|nth| RegisterRule::Offset(top - 8 * nth));
    registers.extend(saved.zip(places));
    Some(rule(cfa, X30, registers))
}
