//! Branches from the code around a function into the middle of it: functions that are written in assembly share
//! code, as `mempcpy` and `memcpy` do.

use dwarf::{LoadAddr, Memory};
use iced_x86::{Decoder, DecoderOptions, OpKind};
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of code that are looked at on either side.
const REACH: u64 = 1 << 16;
/// Bytes that are read at once.
const PORTION: u64 = 1 << 12;
/// A branch with a displacement of one byte leads no farther, counted from its first byte.
const SHORT: usize = 0x82;
/// So many bytes before, decoding begins: from a wrong byte on, it comes to the right instructions soon.
const RUN_UP: usize = 64;

/// Returns the addresses in the middle of a range of a function that the code around it branches to. A few may be
/// such by chance: what looks like a long branch at any byte counts. Cost: reads and scans 128 KiB of code.
pub fn branches_into(function: &Range<LoadAddr>, memory: &dyn Memory) -> BTreeSet<LoadAddr> {
    let before = before(function.start, memory);
    let behind = behind(function.end, memory);
    let first = LoadAddr(function.start.0 - before.len() as u64);
    let far = before.len().saturating_sub(SHORT + RUN_UP);
    let near = behind.len().min(SHORT);
    let mut targets = BTreeSet::new();
    targets.extend(long_branches(&before, first));
    targets.extend(long_branches(&behind, function.end));
    targets.extend(short_branches(&before[far..], first + far as u64));
    targets.extend(short_branches(&behind[..near], function.end));
    targets.retain(|target| *target > function.start && *target < function.end);
    targets
}

/// Returns the readable code that ends at an address.
fn before(end: LoadAddr, memory: &dyn Memory) -> Vec<u8> {
    let mut portions = Vec::new();
    let mut at = end.0;
    while at > end.0.saturating_sub(REACH) {
        let start = (at - 1) / PORTION * PORTION;
        let mut portion = vec![0; (at - start) as usize];
        if memory.read(LoadAddr(start), &mut portion).is_err() {
            break;
        }
        portions.push(portion);
        at = start;
    }
    portions.into_iter().rev().flatten().collect()
}

/// Returns the readable code from an address on.
fn behind(start: LoadAddr, memory: &dyn Memory) -> Vec<u8> {
    let mut code = Vec::new();
    while (code.len() as u64) < REACH {
        let at = start + code.len() as u64;
        let mut portion = vec![0; (PORTION - at.0 % PORTION) as usize];
        if memory.read(at, &mut portion).is_err() {
            break;
        }
        code.append(&mut portion);
    }
    code
}

/// Returns the targets of all bytes that could be a jump with a displacement of four bytes.
fn long_branches(code: &[u8], start: LoadAddr) -> impl Iterator<Item = LoadAddr> {
    const JUMP: u8 = 0xe9;
    const LONG: u8 = 0x0f;
    let target = move |at: usize| {
        let next = start + at as u64 + 4;
        let displacement = code.get(at..)?.first_chunk()?;
        let displacement = i64::from(i32::from_le_bytes(*displacement));
        Some(LoadAddr(next.0.wrapping_add_signed(displacement)))
    };
    code.iter().enumerate().filter_map(move |(at, byte)| {
        let is_conditional = || code.get(at + 1).is_some_and(|it| it & 0xf0 == 0x80);
        match *byte {
            JUMP => target(at + 1),
            LONG if is_conditional() => target(at + 2),
            _ => None,
        }
    })
}

/// Returns the targets of the branches in some code, as far as it can be decoded.
fn short_branches(code: &[u8], start: LoadAddr) -> impl Iterator<Item = LoadAddr> {
    let decoder = Decoder::with_ip(64, code, start.0, DecoderOptions::NONE);
    let branches = decoder.into_iter().filter(|it| {
        let is_branch = it.op0_kind() == OpKind::NearBranch64;
        is_branch && !it.is_call_near()
    });
    branches.map(|it| LoadAddr(it.near_branch64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::Unreadable;

    const START: LoadAddr = LoadAddr(0x10_0000);
    const FUNCTION: Range<LoadAddr> = LoadAddr(0x14_0000)..LoadAddr(0x14_0020);

    /// Code of `nop`, in which these bytes are.
    struct Code(Vec<u8>);

    impl Code {
        fn with(places: &[(LoadAddr, &[u8])]) -> Code {
            let mut code = vec![0x90; 1 << 19];
            for (addr, bytes) in places {
                let at = (*addr - START) as usize;
                code[at..at + bytes.len()].copy_from_slice(bytes);
            }
            Code(code)
        }

        fn targets(&self) -> Vec<u64> {
            let targets = branches_into(&FUNCTION, self).into_iter();
            targets.map(|it| it - FUNCTION.start).collect()
        }
    }

    impl Memory for Code {
        fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
            let len = buffer.len();
            let at = addr.0.checked_sub(START.0).map(|at| at as usize);
            let bytes = at.and_then(|at| self.0.get(at..at + len));
            buffer.copy_from_slice(bytes.ok_or(Unreadable { addr, len })?);
            Ok(())
        }
    }

    #[test]
    fn short_branches_of_neighbors_lead_into_a_function() {
        let (before, behind) = (LoadAddr(0x13_ffc6), LoadAddr(0x14_0030));
        // jmp +59; jne -48
        let code = Code::with(&[(before, &[0xeb, 0x3b]), (behind, &[0x75, 0xd0])]);
        assert_eq!(code.targets(), [2, 3]);
        // To its start, and behind it.
        let code = Code::with(&[(before, &[0xeb, 0x38]), (behind, &[0x75, 0xee])]);
        assert!(code.targets().is_empty());
    }

    #[test]
    fn long_branches_from_farther_away_lead_into_a_function() {
        let (before, behind) = (LoadAddr(0x13_1000), LoadAddr(0x14_8000));
        let jump = (FUNCTION.start.0 as i32 + 7) - (before.0 as i32 + 5);
        let branch = (FUNCTION.start.0 as i32 + 9) - (behind.0 as i32 + 6);
        let jump = [&[0xe9][..], &jump.to_le_bytes()].concat();
        let branch = [&[0x0f, 0x84][..], &branch.to_le_bytes()].concat();
        let code = Code::with(&[(before, &jump), (behind, &branch)]);
        assert_eq!(code.targets(), [7, 9]);
    }

    #[test]
    fn code_at_the_ends_of_memory_is_enough() {
        let jump = LoadAddr(0x13_fffe);
        let Code(mut code) = Code::with(&[(jump, &[0xeb, 0x04])]);
        code.truncate((FUNCTION.end - START) as usize);
        assert_eq!(Code(code).targets(), [4]);
        let far = LoadAddr(u64::MAX - 8)..LoadAddr(u64::MAX);
        assert!(branches_into(&far, &Code::with(&[])).is_empty());
        let first = LoadAddr(0)..LoadAddr(8);
        assert!(branches_into(&first, &Code::with(&[])).is_empty());
    }
}
