//! Copies of exclusive sequences beside the originals.

use super::*;
use crate::arch::aarch64::sequence;

const NOP: u32 = 0xd503_201f;

/// The load and the store of a sequence: `ldxr`, `ldaxr`, `ldxp`, `ldaxp` of x0 (and x4) from x1,
/// `stxr` and others of x2 (and x4), with the result in w3.
fn pair(random: &mut Random) -> (u32, u32) {
    let (is_ordered, is_pair) = (random.below(2) as u32, random.below(3) == 0);
    let size = match is_pair {
        true => 2 + random.below(2) as u32,
        false => random.below(4) as u32,
    };
    let both = size << 30 | 0x0800_0000 | is_ordered << 15 | 1 << 5;
    match is_pair {
        true => (
            both | 0x007f_1000,
            both | 3 << 16 | 0x0020_0000 | 4 << 10 | 2,
        ),
        false => (both | 0x005f_7c00, both | 3 << 16 | 0x1f << 10 | 2),
    }
}

/// An instruction within a sequence; `after` are the instructions from it to behind the store.
fn inner(random: &mut Random, after: u32) -> u32 {
    let ahead = match random.below(2) {
        0 => 1 + random.below(u64::from(after)) as u32,
        // Out of the sequence.
        _ => after + 8 + random.below(8) as u32,
    };
    let register = [0, 2, 4, 5, 6, 7][random.below(6) as usize];
    let near = random.below((CODE_LEN + DATA_LEN) as u64 / 4);
    let near = (CODE + 4 * near).wrapping_sub(SITE) as u32 >> 2 & 0x7_ffff;
    let field = near << 5 | register;
    match random.below(12) {
        // `add x2, x0, #1`; `eor x2, x0, x9`; `subs xzr, x0, x8`; `csel x2, x0, x9, lt`
        0 => 0x9100_0402,
        1 => 0xca09_0002,
        2 => 0xeb08_001f,
        3 => 0x9a89_b002,
        // `cbz`, `cbnz`, `tbz`, `b.ne`
        4 => 0xb400_0000 | ahead << 5 | register,
        5 => 0x3500_0000 | ahead << 5 | register,
        6 => 0x3600_0000 | ahead << 5 | register,
        7 => 0x5400_0001 | ahead << 5,
        // `adr`, `adrp`, `ldr` of a literal
        8 => 0x1000_0000 | field,
        9 => 0x9000_0000 | field,
        10 => 0x5800_0000 | field,
        _ => NOP,
    }
}

/// Returns a sequence with a test of its store, or without.
fn random_sequence(random: &mut Random) -> Vec<u32> {
    let (load, store) = pair(random);
    let count = random.below(6) as u32;
    let mut words = vec![load];
    for nth in 0..count {
        words.push(inner(random, count - nth + 1));
    }
    words.push(store);
    let back = |words: &[u32]| (words.len() as u32).wrapping_neg();
    match random.below(5) {
        // `cbnz w3`, `tbnz w3, #0`, both back
        0 => words.push(0x3500_0003 | (back(&words) & 0x7_ffff) << 5),
        1 => words.push(0x3700_0003 | (back(&words) & 0x3fff) << 5),
        // `mov x7, x3`; `cbnz w7`
        2 => {
            words.push(0xaa03_03e7);
            words.push(0x3500_0007 | (back(&words) & 0x7_ffff) << 5);
        }
        // `cbz w3` ahead
        3 => words.push(0x3400_0003 | 4 << 5),
        _ => {}
    }
    words
}

impl Processor {
    /// Runs to a trap.
    fn run_from(&mut self, pc: u64, before: &State) -> Outcome {
        let mut state = before.clone();
        state.general.0[PC] = pc;
        self.put(&state);
        let signal = self.child.run();
        self.outcome(signal.0)
    }
}

fn compare(words: &[u32], processor: &mut Processor, random: &mut Random, found: &mut Found) {
    let traps = [TRAP; 64];
    processor.write_words(SITE, &traps);
    processor.write_words(SITE, words);
    let code = |at: LoadAddr| {
        let index = at.0.checked_sub(SITE)? / 4;
        let word = words.get(index as usize).copied().unwrap_or(TRAP);
        Arch::Aarch64.decode(&word.to_le_bytes(), at)
    };
    let Some(range) = sequence::starting_at(LoadAddr(SITE), code) else {
        found.count("no sequences");
        return;
    };
    let first = *own(&code(LoadAddr(SITE)).unwrap()).unwrap();
    let mut before = state_for(&first, processor, random);
    // A jump over the store ends the loop.
    before.general.0[3] = 0;
    // An interrupt makes a store fail, which not every sequence repeats.
    let has_failed = |outcome: &Outcome| outcome.state.general.0[3] != 0;
    let mut original = processor.run_from(SITE, &before);
    for _ in 0..100 {
        if has_failed(&original) {
            original = processor.run_from(SITE, &before);
        }
    }
    assert_eq!(original.signal, SIGTRAP, "{words:08x?}");
    for pad in PADS {
        let Some(copy) = sequence::copied(range.clone(), LoadAddr(pad), code) else {
            found.count("not copied");
            continue;
        };
        found.count("copied");
        processor.child.write(pad, &copy.bytes);
        let mut state = before.clone();
        // A store may fail at any time: the sequence begins again.
        for _ in 0..100 {
            let mut outcome = processor.run_from(pad, &state);
            let offset = outcome.state.general.0[PC].wrapping_sub(pad);
            let exit = copy.exits.iter().find(|it| it.offset as u64 == offset);
            let exit = exit.filter(|_| outcome.signal == SIGTRAP);
            let Some(exit) = exit else {
                let how = format!("left at {offset:#x} of {words:08x?}");
                found.differs("exit of", &first, how);
                break;
            };
            outcome.state.general.0[PC] = exit.next.0;
            if exit.next.0 == SITE || has_failed(&outcome) {
                found.count("failed stores");
                state = match exit.next.0 {
                    SITE => outcome.state,
                    _ => before.clone(),
                };
                continue;
            }
            if let Some(how) = difference(&original.state, &outcome.state) {
                found.differs("sequence of", &first, format!("{how}; {words:08x?}"));
            }
            break;
        }
    }
}

#[test]
fn copies_of_sequences_do_what_these_do() {
    let (mut processor, mut random, mut found) = (Processor::new(), random(), Found::default());
    let count = number("RELOCATIONS", 6000) / 10;
    for _ in 0..count {
        let words = random_sequence(&mut random);
        compare(&words, &mut processor, &mut random, &mut found);
    }
    let copied = found.executed["copied"] as u64;
    assert!(copied > count, "{:?}", found.executed);
    found.conclude();
}
