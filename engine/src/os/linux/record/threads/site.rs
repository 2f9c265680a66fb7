//! Code that a jump can replace for a moment, so that each passage is seen.
//!
//! The jump has 5 bytes. Where the instruction is shorter, it covers the ones behind it, to which other code may
//! branch: the bytes of the jump are chosen so that there is a trap at the start of each.

use crate::arch::{Arch, Flow, Instruction};
use crate::os::Mapping;
use dwarf::LoadAddr;
use std::ops::Range;

/// Length of a jump with a 32-bit displacement.
pub const JUMP_LEN: usize = 5;
const JUMP: u8 = 0xe9;
/// `int3`
pub const TRAP: u8 = 0xcc;
/// Code that is looked at for branches into a site, on either side.
const AROUND: u64 = 256;
/// Bytes of code that are enough for a site.
pub const CODE_LEN: usize = 32;
const PAGE: u64 = 4096;
/// Instructions that must not be executed elsewhere: they are completed by the recorder.
const TIME_STAMPS: [&str; 2] = ["rdtsc", "rdtscp"];

/// How good a site is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Quality {
    /// No jump can be there: each passage traps.
    Trap,
    /// A branch leads into it: that traps.
    Entered,
    /// Several instructions.
    Several,
    /// One instruction.
    One,
}

/// A site.
pub struct Site {
    pub at: u64,
    instructions: Vec<Instruction>,
}

impl Site {
    /// Returns the site at the start of some code; `None`: no jump can be there.
    pub fn of(at: u64, code: &[u8]) -> Option<Site> {
        let mut decoder = Arch::HOST.decoder(code, LoadAddr(at));
        let mut instructions = Vec::new();
        let mut len = 0;
        while len < JUMP_LEN {
            let instruction = decoder.at(len)?.ok()?;
            len += instruction.len();
            let is_last = len >= JUMP_LEN;
            let can_be = match instruction.flow {
                Flow::Next | Flow::ConditionalJump(_) => true,
                Flow::Jump(_) => is_last,
                _ => false,
            };
            let is_plain = instruction.can_be_stepped()
                && !TIME_STAMPS.contains(&instruction.mnemonic().as_str());
            if !can_be || !is_plain {
                return None;
            }
            instructions.push(instruction);
        }
        let site = Site { at, instructions };
        let range = site.range();
        let mut targets = site.instructions.iter().filter_map(|it| it.direct_target());
        // A copy would have to be left and entered again.
        let is_closed = targets.any(|target| range.contains(&target.0) && target.0 != at);
        (!is_closed).then_some(site)
    }

    /// Returns the addresses that it covers.
    pub fn range(&self) -> Range<u64> {
        let len: usize = self.instructions.iter().map(Instruction::len).sum();
        self.at..self.at + len as u64
    }

    /// Returns the addresses that it covers behind the first.
    pub fn inside(&self) -> Range<u64> {
        self.at + 1..self.range().end
    }

    /// Returns the offsets of the instructions behind the first that the jump covers.
    fn inner(&self) -> impl Iterator<Item = usize> + '_ {
        let starts = self.instructions.iter().skip(1);
        let offsets = starts.map(|it| (it.addr.0 - self.at) as usize);
        offsets.filter(|offset| *offset < JUMP_LEN)
    }

    /// Returns how good it is. `around` returns code from an address on.
    pub fn quality(&self, around: impl Fn(u64, usize) -> Vec<u8>) -> Quality {
        if self.inner().next().is_none() {
            return Quality::One;
        }
        let range = self.range();
        let after = around(range.end, AROUND as usize);
        let start = range.start.saturating_sub(AROUND);
        let before = around(start, AROUND as usize);
        let is_entered = |from: u64, code: &[u8]| {
            let mut decoder = Arch::HOST.decoder(code, LoadAddr(from));
            let mut at = 0;
            while let Some(decoded) = decoder.at(at) {
                let Ok(instruction) = decoded else {
                    at += 1;
                    continue;
                };
                let target = instruction.direct_target().map_or(0, |target| target.0);
                if target != self.at && range.contains(&target) {
                    return true;
                }
                at += instruction.len();
            }
            false
        };
        match is_entered(range.end, &after) || is_entered(start, &before) {
            true => Quality::Entered,
            false => Quality::Several,
        }
    }

    /// Returns where the jump can lead: to so many free bytes, between these mappings. `None`: nowhere.
    pub fn target(&self, len: u64, mappings: &[Mapping]) -> Option<u64> {
        let inner: Vec<usize> = self.inner().collect();
        let is_fixed = |byte: usize| inner.contains(&(byte + 1));
        let choices = |byte: usize, all: &'static [u8]| -> &'static [u8] {
            match is_fixed(byte) {
                true => &[TRAP],
                false => all,
            }
        };
        let is_free = |target: u64| {
            let (start, end) = (target & !(PAGE - 1), target.saturating_add(len));
            let in_reach = start >= 1 << 16 && end < Arch::HOST.end_of_user_space() - PAGE;
            let mut all = mappings.iter();
            // Stacks grow downwards.
            in_reach && !all.any(|it| it.start.0.saturating_sub(1 << 20) < end && start < it.end.0)
        };
        const TOP: &[u8] = &[
            0xf0, 0xe8, 0xe0, 0xd8, 0xf8, 0xfc, 0x10, 0x18, 0x20, 0x28, 0x30, 0x38, 0x08, 0x04,
            0xd0, 0xc8, 0x40, 0x50, 0xc0, 0xb0,
        ];
        const MIDDLE: &[u8] = &[0x10, 0x40, 0x70, 0xa0, 0xd0];
        for top in choices(3, TOP) {
            for third in choices(2, MIDDLE) {
                for second in choices(1, &[0x00]) {
                    for low in choices(0, &[0x00]) {
                        let target = self.target_of([*low, *second, *third, *top]);
                        if is_free(target) {
                            return Some(target);
                        }
                    }
                }
            }
        }
        None
    }

    fn target_of(&self, displacement: [u8; 4]) -> u64 {
        let next = self.at.wrapping_add(JUMP_LEN as u64);
        next.wrapping_add_signed(i64::from(i32::from_le_bytes(displacement)))
    }

    /// Returns the jump to such a target.
    pub fn jump(&self, target: u64) -> [u8; JUMP_LEN] {
        let next = self.at.wrapping_add(JUMP_LEN as u64);
        let [a, b, c, d] = (target.wrapping_sub(next) as u32).to_le_bytes();
        [JUMP, a, b, c, d]
    }

    /// Returns the code for `place` that does what the site does, and continues behind it, with the offsets of
    /// its instructions in it. `None`: it is too far away.
    pub fn copy(&self, place: u64) -> Option<(Vec<u8>, Vec<usize>)> {
        let mut code = Vec::new();
        let mut starts = Vec::new();
        let last = self.instructions.len() - 1;
        for (nth, instruction) in self.instructions.iter().enumerate() {
            starts.push(code.len());
            let relocated = instruction.relocate(LoadAddr(place + code.len() as u64))?;
            match nth == last {
                true => code.extend(relocated.bytes),
                false => code.extend(relocated.bytes.get(..relocated.jump)?),
            }
        }
        Some((code, starts))
    }

    /// Returns the address of an instruction of it, by its index.
    pub fn instruction(&self, nth: usize) -> Option<u64> {
        Some(self.instructions.get(nth)?.addr.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A site in code that ends there.
    fn quality(code: &[u8]) -> Option<Quality> {
        let mut all = code.to_vec();
        all.resize(CODE_LEN, 0x90);
        let site = Site::of(0x40_0000, &all)?;
        Some(site.quality(|at, len| {
            match at {
                0x40_0000.. => all
                    .iter()
                    .skip((at - 0x40_0000) as usize)
                    .take(len)
                    .copied()
                    .collect(),
                _ => vec![0x90; len],
            }
        }))
    }

    #[test]
    fn one_long_instruction_is_best() {
        assert_eq!(quality(&[0x48, 0x8b, 0x44, 0x24, 0x08]), Some(Quality::One));
        assert_eq!(
            quality(&[0x48, 0x01, 0xc8, 0x48, 0xff, 0xc0]),
            Some(Quality::Several)
        );
        // The jump behind it leads to its second instruction.
        let entered = [0x48, 0x01, 0xc8, 0x48, 0xff, 0xc0, 0xeb, 0xfb];
        assert_eq!(quality(&entered), Some(Quality::Entered));
    }

    #[test]
    fn calls_returns_and_repeated_instructions_have_no_site() {
        assert_eq!(quality(&[0xe8, 0, 0, 0, 0]), None);
        assert_eq!(quality(&[0x48, 0x01, 0xc8, 0xc3]), None);
        assert_eq!(quality(&[0xf3, 0xa4, 0x90, 0x90, 0x90]), None);
        assert_eq!(quality(&[0x0f, 0x31, 0x90, 0x90, 0x90]), None, "rdtsc");
        assert_eq!(quality(&[0x0f, 0x05, 0x90, 0x90, 0x90]), None, "syscall");
    }

    #[test]
    fn a_branch_into_the_jump_traps() {
        let mut code = vec![0x48, 0x01, 0xc8, 0x48, 0xff, 0xc0];
        code.resize(CODE_LEN, 0x90);
        let at = 0x5555_5555_5000;
        let site = Site::of(at, &code).expect("a site");
        let target = site.target(0x4000, &[]).expect("free memory");
        let jump = site.jump(target);
        assert_eq!(jump[0], JUMP);
        assert_eq!(jump[3], TRAP, "where the second instruction was");
        let displacement = i32::from_le_bytes([jump[1], jump[2], jump[3], jump[4]]);
        assert_eq!((at + 5).wrapping_add_signed(displacement.into()), target);
    }
}
