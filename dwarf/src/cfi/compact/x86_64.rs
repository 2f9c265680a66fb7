//! Encodings of x86-64.

use super::{Unwind, rule};
use crate::cfi::{CfaRule, RegisterRule};
use crate::ids::register::Register;
use crate::ids::register::x86_64::{RBP, RBX, RIP, RSP};

/// The mode is in the bits above.
const MODE: u32 = 24;
const FRAME_POINTER: u32 = 1;
const FRAMELESS: u32 = 2;
const FRAMELESS_INDIRECT: u32 = 3;
const DWARF: u32 = 4;

/// Registers by their numbers in encodings, which begin with 1.
const SAVED: [Register; 6] = [
    RBX,
    Register(12),
    Register(13),
    Register(14),
    Register(15),
    RBP,
];

/// Returns how an encoding unwinds. `code` reads a word at an offset in the function's code.
pub(super) fn unwind(encoding: u32, code: impl Fn(u32) -> Option<u32>) -> Option<Unwind> {
    match encoding >> MODE & 0xf {
        FRAME_POINTER => frame_pointer(encoding),
        FRAMELESS => frameless(encoding, i64::from(encoding >> 16 & 0xff) * 8),
        FRAMELESS_INDIRECT => {
            // A large size is only in the instruction `sub $size, %rsp`; what was pushed before it
            // is added.
            let size = code(encoding >> 16 & 0xff)?;
            let pushed = encoding >> 13 & 7;
            frameless(encoding, i64::from(size) + i64::from(pushed) * 8)
        }
        DWARF => Some(Unwind::Dwarf((encoding & 0xff_ffff) as usize)),
        _ => None,
    }
}

/// The frame pointer is set. Five words below it, from a distance on, have registers or none.
fn frame_pointer(encoding: u32) -> Option<Unwind> {
    let first = -16 - i64::from(encoding >> 16 & 0xff) * 8;
    let mut registers = vec![(RBP, RegisterRule::Offset(-16))];
    for nth in 0..5 {
        let number = (encoding >> (3 * nth) & 7) as usize;
        let Some(index) = number.checked_sub(1) else {
            continue;
        };
        // The frame pointer itself is saved elsewhere.
        let register = SAVED.get(index).filter(|it| **it != RBP)?;
        registers.push((*register, RegisterRule::Offset(first + 8 * i64::from(nth))));
    }
    registers.push((RIP, RegisterRule::Offset(-8)));
    Some(rule(CfaRule::Offset(RBP, 16), RIP, registers))
}

/// The size of the frame is known, with the return address in it.
fn frameless(encoding: u32, size: i64) -> Option<Unwind> {
    let saved = permutation(encoding >> 10 & 7, encoding & 0x3ff)?;
    // They end below the return address.
    let first = -8 - 8 * saved.len() as i64;
    let places = (0i64..).map(|nth| RegisterRule::Offset(first + 8 * nth));
    let mut registers: Vec<_> = saved.into_iter().zip(places).collect();
    registers.push((RIP, RegisterRule::Offset(-8)));
    Some(rule(CfaRule::Offset(RSP, size), RIP, registers))
}

/// Returns `count` registers in the order of a number. Each is counted among those that are not in
/// front of it; the counts are the digits of the number, the last of which has the least base.
fn permutation(count: u32, number: u32) -> Option<Vec<Register>> {
    let mut left = SAVED.to_vec();
    let bases = left.len().checked_sub(count as usize)? + 1..=left.len();
    let mut digits = Vec::new();
    let mut rest = number as usize;
    for base in bases {
        digits.push(rest % base);
        rest /= base;
    }
    // No order has a larger number.
    (rest == 0).then_some(())?;
    Some(digits.iter().rev().map(|nth| left.remove(*nth)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrupt_permutations_are_refused() {
        assert_eq!(permutation(0, 0), Some(vec![]));
        let all = permutation(6, 0).expect("the first order of all");
        assert_eq!(all, SAVED);
        let last = permutation(6, 719).expect("the last order of all");
        assert_eq!(last.first(), SAVED.last());
        assert_eq!(permutation(6, 720), None);
        assert_eq!(permutation(1, 6), None);
        assert_eq!(permutation(7, 0), None, "there are six registers");
    }
}
