//! Exclusive sequences: from the load that makes the processor watch a piece of memory to behind the
//! test of the store, which fails if anything has interrupted the thread in between.

use super::super::instruction::{Instruction, SequenceCopy, SequenceExit};
use super::encoding::{Condition, Kind, Transfer};
use super::memory::Direction;
use super::relocate::{copy, jump_between};
use super::{BREAKPOINT, Decoded, INSTRUCTION_BYTES, own};
use dwarf::LoadAddr;
use std::collections::BTreeMap;
use std::ops::Range;

pub const PRESENT: bool = true;
/// Maximum number of instructions of an exclusive sequence.
const MAX_SEQUENCE: u64 = 64;
/// Maximum number of instructions between the store and the branch that tests its result.
const MAX_TEST: usize = 8;

/// Returns the exclusive sequence around `addr`: from its load to behind the branch that repeats it.
/// A stop within makes its store fail, so that a program that is stepped there never ends.
pub fn around(
    addr: LoadAddr,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<Range<LoadAddr>> {
    for back in 0..MAX_SEQUENCE {
        let start = LoadAddr(addr.0.checked_sub(back * INSTRUCTION_BYTES as u64)?);
        let instruction = code(start)?;
        if exclusive(&instruction)? == Some(Direction::Load) {
            let end = end_of_sequence(start, &mut code)?;
            return (addr < end).then_some(start..end);
        }
    }
    None
}

/// Returns the exclusive sequence that begins at `start`.
pub fn starting_at(
    start: LoadAddr,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<Range<LoadAddr>> {
    if exclusive(&code(start)?)? != Some(Direction::Load) {
        return None;
    }
    Some(start..end_of_sequence(start, &mut code)?)
}

/// Returns the addresses at which a sequence is left: behind it, and where its jumps lead. `None`: it
/// contains an indirect jump.
pub fn exits(
    sequence: Range<LoadAddr>,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<Vec<LoadAddr>> {
    let mut exits = vec![sequence.end];
    let mut at = sequence.start;
    while at < sequence.end {
        let instruction = code(at)?;
        match own(&instruction)?.kind {
            Kind::JumpTo { .. } => return None,
            _ => exits.extend(instruction.direct_target()),
        }
        at = instruction.next();
    }
    exits.retain(|addr| !sequence.contains(addr));
    exits.sort_unstable();
    exits.dedup();
    Some(exits)
}

/// Returns a copy of a sequence for `pad`, with a trap wherever it is left, or begins again.
pub fn copied(
    sequence: Range<LoadAddr>,
    pad: LoadAddr,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<SequenceCopy> {
    let mut words: Vec<u32> = Vec::new();
    // The index of each instruction's copy, and the jumps, by the index of theirs.
    let mut copies = BTreeMap::new();
    let mut jumps = Vec::new();
    let mut exits = BTreeMap::new();
    let mut at = sequence.start;
    while at < sequence.end {
        let instruction = code(at)?;
        let decoded = *own(&instruction)?;
        copies.insert(at, words.len());
        match decoded.kind {
            Kind::Jump { links: false, .. } | Kind::JumpIf { .. } => {
                jumps.push((words.len(), decoded, instruction.direct_target()?));
                words.push(decoded.word);
            }
            // It has an address of its own: executed there.
            Kind::JumpTo { .. } => {
                jumps.push((words.len(), JUMP, at));
                words.push(JUMP.word);
            }
            Kind::Memory(access) if access.is_exclusive => words.push(decoded.word),
            _ => {
                let place = pad + (words.len() * INSTRUCTION_BYTES) as u64;
                let (copied, next) = copy(&decoded, place)?;
                if next != decoded.next() {
                    return None;
                }
                words.extend(copied);
            }
        }
        at = instruction.next();
    }
    exits.insert(sequence.end, words.len());
    words.push(trap());
    for (index, jump, target) in jumps {
        // Backwards, a thread may wait for another one.
        let inside = copies.get(&target).filter(|copied| **copied > index);
        let to = match inside {
            Some(copied) => *copied,
            None => *exits.entry(target).or_insert_with(|| {
                words.push(trap());
                words.len() - 1
            }),
        };
        let distance = u32::try_from(to.checked_sub(index)?).ok()?;
        *words.get_mut(index)? = with_distance(&jump, distance)?;
    }
    let exits = exits.into_iter().map(|(next, index)| {
        let offset = index * INSTRUCTION_BYTES;
        let jump = jump_between(pad.0 + offset as u64, next.0)?;
        Some(SequenceExit {
            offset,
            jump: jump.to_le_bytes(),
            next,
        })
    });
    Some(SequenceCopy {
        exits: exits.collect::<Option<_>>()?,
        bytes: words.into_iter().flat_map(u32::to_le_bytes).collect(),
    })
}

/// `b`
const JUMP: Decoded = Decoded {
    addr: 0,
    word: 0x1400_0000,
    kind: Kind::Jump {
        distance: 0,
        links: false,
    },
};

/// Returns the breakpoint instruction.
fn trap() -> u32 {
    BREAKPOINT
        .first_chunk()
        .map_or(0, |it| u32::from_le_bytes(*it))
}

/// Returns a jump with another distance, in instructions ahead.
fn with_distance(jump: &Decoded, distance: u32) -> Option<u32> {
    let (field, low) = match jump.kind {
        Kind::Jump { .. } => (0x3ff_ffff, 0),
        Kind::JumpIf {
            condition: Condition::Bit { .. },
            ..
        } => (0x3fff, 5),
        Kind::JumpIf { .. } => (0x7_ffff, 5),
        _ => return None,
    };
    // The highest bit is the sign.
    (distance <= field >> 1).then_some(jump.word & !(field << low) | distance << low)
}

/// Returns the direction of an exclusive load or store, `Some(None)` for other instructions; `None` if
/// the instruction is of another set.
fn exclusive(instruction: &Instruction) -> Option<Option<Direction>> {
    Some(match own(instruction)?.kind {
        Kind::Memory(access) if access.is_exclusive => Some(access.direction),
        _ => None,
    })
}

/// Returns the end of the sequence that begins with an exclusive load.
fn end_of_sequence(
    start: LoadAddr,
    code: &mut impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<LoadAddr> {
    let limit = start
        .0
        .checked_add(MAX_SEQUENCE * INSTRUCTION_BYTES as u64)?;
    let mut at = code(start)?.next();
    // Where jumps within lead to.
    let mut furthest = start;
    while at.0 < limit {
        let instruction = code(at)?;
        if exclusive(&instruction)? == Some(Direction::Store) {
            return end_of_test(&instruction, code).filter(|end| end.0 <= limit);
        }
        let goes_on = match own(&instruction)?.kind {
            Kind::JumpIf { .. } | Kind::Jump { links: false, .. } => {
                let target = instruction.direct_target()?;
                let is_ahead = target > at && target.0 < limit;
                furthest = furthest.max(if is_ahead { target } else { start });
                matches!(own(&instruction)?.kind, Kind::JumpIf { .. })
            }
            // These end it without a store.
            Kind::JumpTo {
                transfer: Transfer::Jump | Transfer::Return,
                ..
            } => false,
            Kind::Jump { .. } | Kind::JumpTo { .. } | Kind::SystemCall | Kind::Trap { .. } => {
                return None;
            }
            Kind::Fault => false,
            _ => true,
        };
        if !goes_on && furthest <= at {
            return None;
        }
        at = instruction.next();
    }
    None
}

/// Returns the end of the test of an exclusive store's result.
fn end_of_test(
    store: &Instruction,
    code: &mut impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<LoadAddr> {
    let mut at = store.next();
    for _ in 0..MAX_TEST {
        let Some(instruction) = code(at) else { break };
        match own(&instruction)?.kind {
            Kind::JumpIf { .. } => return Some(instruction.next()),
            Kind::Memory(access) if access.is_exclusive => break,
            Kind::Jump { .. } | Kind::JumpTo { .. } | Kind::SystemCall => break,
            Kind::Trap { .. } | Kind::Fault => break,
            _ => at = instruction.next(),
        }
    }
    Some(store.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;

    /// `swap`: 1: ldaxr w0, [x1]; cmp w0, w2; b.ne 3f; adr x5, .; tbz w0, #1, 2f; stlxr w3, w4, [x1];
    /// 2: cbnz w3, 1b; 3: ret
    const SWAP: [u32; 8] = [
        0x885f_fc20,
        0x6b02_001f,
        0x5400_00a1,
        0x1000_0005,
        0x3608_0040,
        0x8803_fc24,
        0x35ff_ff43,
        0xd65f_03c0,
    ];
    const START: LoadAddr = LoadAddr(0x1000);
    const PAD: LoadAddr = LoadAddr(0x9000);

    fn decoded(words: &[u32], from: LoadAddr, at: LoadAddr) -> Option<Instruction> {
        let index = usize::try_from(at.0.checked_sub(from.0)? / 4).ok()?;
        Arch::Aarch64.decode(&words.get(index)?.to_le_bytes(), at)
    }

    /// The words of a copy in `PAD`, and its exits: index and target.
    type Copied = (Vec<u32>, Vec<(usize, u64)>);

    fn copy_of(words: &[u32]) -> Option<Copied> {
        let code = |at| decoded(words, START, at);
        let sequence = starting_at(START, code)?;
        let copy = copied(sequence, PAD, code)?;
        let words = copy.bytes.chunks_exact(4);
        let words = words.map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]]));
        let exits = copy.exits.iter().map(|it| (it.offset / 4, it.next.0));
        Some((words.collect(), exits.collect()))
    }

    #[test]
    fn copies_are_left_by_traps() {
        let (words, exits) = copy_of(&SWAP).unwrap();
        // `adr` becomes `movz`, of the original's address.
        assert_eq!(words[..2], SWAP[..2]);
        assert_eq!(words[3], 0xd282_0185);
        assert_eq!(words[5], SWAP[5]);
        // Where the store fails, the thread is at the beginning again, and not in the copy.
        assert_eq!(exits, [(8, 0x1000), (7, 0x101c)]);
        assert_eq!(words[7..], [trap(); 2]);
        let target = |index: usize| {
            let at = PAD + 4 * index as u64;
            let jump = decoded(&words, PAD, at).unwrap().direct_target().unwrap();
            (jump - PAD) / 4
        };
        assert_eq!((target(2), target(4), target(6)), (7, 6, 8));
        let code = |at| decoded(&SWAP, START, at);
        let sequence = starting_at(START, code).unwrap();
        assert_eq!(exits_of(sequence, code), [0x101c]);
    }

    fn exits_of(
        sequence: Range<LoadAddr>,
        code: impl FnMut(LoadAddr) -> Option<Instruction>,
    ) -> Vec<u64> {
        let exits = exits(sequence, code).unwrap();
        exits.into_iter().map(|it| it.0).collect()
    }

    #[test]
    fn a_thread_that_waits_leaves_the_copy() {
        // 1: ldaxr w0, [x2]; cbnz w0, 1b; stxr w1, w3, [x2]; cbnz w1, 1b
        let lock = [0x885f_fc40, 0x35ff_ffe0, 0x8801_7c43, 0x35ff_ffa1];
        let (words, exits) = copy_of(&lock).unwrap();
        assert_eq!(exits, [(5, 0x1000), (4, 0x1010)]);
        for index in [1, 3] {
            let at = PAD + 4 * index as u64;
            let target = decoded(&words, PAD, at).unwrap().direct_target();
            assert_eq!(target, Some(PAD + 20), "{index}");
        }
    }

    #[test]
    fn only_an_exclusive_load_begins_a_sequence() {
        let code = |at| decoded(&SWAP, START, at);
        assert_eq!(starting_at(START + 4, code), None);
        assert_eq!(starting_at(START + 20, code), None);
        assert!(starting_at(START, code).is_some());
    }
}
