//! Copies of instructions beside the originals, executed by this processor in the same state: they
//! have the same effect, and continue at the same place. So have emulated instructions, and copies
//! of exclusive sequences; and an instruction writes what [`effects`](super::effects) says.
//!
//! `RELOCATIONS` says how many random words there are, `RELOCATIONS_SEED` which.
#![cfg(target_arch = "aarch64")]

pub mod processor;
mod sequences;

use super::super::{Arch, Flavor, Formatter, Instruction};
use super::encoding::{Kind, bits};
use super::memory::{Base, MemoryAccess};
use super::{Decoded, own};
use dwarf::LoadAddr;
use processor::{
    BRANCH_TYPE, BY_CALL, BY_JUMP, CODE, CODE_LEN, DATA, DATA_LEN, FLAGS, General, MIDDLE, Outcome,
    PADS, PC, PSTATE, Processor, Random, SIGILL, SIGTRAP, SITE, SP, State, TRAP, difference,
};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Returns a state in which an instruction does something: its pointers point to data.
fn state_for(code: &Decoded, processor: &Processor, random: &mut Random) -> State {
    let mut general = General([0; 34]);
    for place in &mut general.0[..31] {
        *place = match random.below(3) {
            0 => random.pointer(),
            _ => random.value(),
        };
    }
    general.0[SP] = MIDDLE + 16 * random.below(64);
    general.0[FLAGS] = random.below(16) << 28;
    if let Kind::Memory(access) = code.kind {
        if let Some(index) = access.index.filter(|it| it.register < 31) {
            general.0[usize::from(index.register)] = random.below(64);
        }
        if let Base::Register(base) = access.base {
            general.0[usize::from(base)] = random.pointer();
        }
    }
    State {
        general,
        vectors: processor.vectors(random),
        data: processor.data().to_vec(),
    }
}

/// Signs the pointer that an instruction authenticates, half of the time.
fn sign(word: u32, kind: &Kind, state: &mut State, processor: &mut Processor) {
    let Kind::JumpTo { register, .. } = *kind else {
        return;
    };
    let key = bits(word, 10, 10) << 10;
    let to = u32::from(register);
    let pac = match word >> 16 {
        // `retaa`: `pacia x30, sp`
        0xd65f if bits(word, 11, 11) == 1 => 0xdac1_0000 | key | 31 << 5 | 30,
        // `braaz`: `paciza`
        0xd61f | 0xd63f if bits(word, 11, 11) == 1 => 0xdac1_23e0 | key | to,
        // `braa`: `pacia`
        0xd71f | 0xd73f => 0xdac1_0000 | key | bits(word, 4, 0) << 5 | to,
        _ => return,
    };
    if register < 31 {
        state.general.0[usize::from(register)] = SITE + 0x100;
    }
    let signed = processor.original(pac, state);
    if signed.signal == SIGTRAP {
        let signed = signed.state.general;
        state.general.0[..31].copy_from_slice(&signed.0[..31]);
    }
}

/// Moves what a load or an address refers to into the memory that there is, and jumps near.
fn aimed(word: u32, kind: &Kind, random: &mut Random) -> u32 {
    let distance = |random: &mut Random| {
        let at = CODE + 4 * random.below((CODE_LEN + DATA_LEN) as u64 / 4);
        at.wrapping_sub(SITE) as u32 >> 2
    };
    match kind {
        Kind::Memory(MemoryAccess {
            base: Base::Near(_),
            ..
        }) => word & !(0x7_ffff << 5) | (distance(random) & 0x7_ffff) << 5,
        _ => word,
    }
}

/// What was compared.
#[derive(Default)]
struct Found {
    executed: BTreeMap<&'static str, usize>,
    differences: BTreeMap<String, String>,
}

impl Found {
    fn count(&mut self, what: &'static str) {
        *self.executed.entry(what).or_default() += 1;
    }

    /// Keeps the first difference of a kind.
    fn differs(&mut self, what: &str, code: &Decoded, how: String) {
        let name = super::decode::mnemonic(code);
        let known = self.differences.entry(format!("{what} {name}"));
        known.or_insert_with(|| format!("{:08x}: {how}", code.word));
    }
}

/// Whether the effect of an instruction depends on more than the state: counters, random numbers,
/// other processors.
fn is_indeterminate(word: u32, before: &State, processor: &mut Processor) -> bool {
    let first = processor.original(word, before);
    let second = processor.original(word, before);
    first.signal != second.signal || difference(&first.state, &second.state).is_some()
}

/// Compares an instruction with its copies, and with what is said of it.
fn compare(word: u32, processor: &mut Processor, random: &mut Random, found: &mut Found) {
    let decode = |word: u32| Arch::Aarch64.decode(&word.to_le_bytes(), LoadAddr(SITE));
    let Some(instruction) = decode(word) else {
        return;
    };
    let word = aimed(word, &own(&instruction).unwrap().kind, random);
    let instruction = decode(word).unwrap();
    let code = *own(&instruction).unwrap();
    let is_single = match code.kind {
        Kind::SystemCall | Kind::Trap { .. } | Kind::Fault => return,
        // A step makes its store fail.
        Kind::Memory(access) => !access.is_exclusive,
        _ => true,
    };
    if !is_single {
        return;
    }
    let mut before = state_for(&code, processor, random);
    if random.below(2) == 0 {
        sign(word, &code.kind, &mut before, processor);
    }
    let original = processor.original(word, &before);
    found.count(match original.signal {
        SIGTRAP => "executed",
        _ => "faulted",
    });
    let is_known = original.signal == SIGTRAP;
    if is_known {
        check_effects(&code, &instruction, &before, &original, processor, found);
        check_emulation(&instruction, &before, &original, found);
    }
    let depends_on_place = !matches!(code.kind, Kind::Other | Kind::Memory(_))
        || matches!(code.kind, Kind::Memory(access) if matches!(access.base, Base::Near(_)));
    let pads: &[u64] = match depends_on_place {
        true => &PADS,
        false => &PADS[..1],
    };
    for pad in pads {
        let Some(relocated) = instruction.relocate(LoadAddr(*pad)) else {
            found.count("not relocated");
            continue;
        };
        found.count(match relocated.bytes.len() {
            0..=4 => "copies of no instruction",
            8 => "copies of one instruction",
            _ => "copies of several",
        });
        // A processor without `bc` refuses it, also if it always jumps.
        if original.signal == SIGILL && matches!(code.kind, Kind::JumpIf { .. }) {
            continue;
        }
        let mut copy = processor.copy(&relocated.bytes, *pad, &before);
        if copy.signal != original.signal {
            let how = format!("{} {}", original.signal, copy.signal);
            if !is_indeterminate(word, &before, processor) {
                found.differs("signal of a copy of", &code, how);
            }
            continue;
        }
        if !is_known {
            // The registers are those in the middle of the copy.
            continue;
        }
        // A landing pad for a call allows a jump through a register of the linkage, too.
        let branch_type = |state: &State| state.general.0[FLAGS] & BRANCH_TYPE;
        if (branch_type(&original.state), branch_type(&copy.state)) == (BY_CALL, BY_JUMP) {
            copy.state.general.0[FLAGS] ^= BY_CALL | BY_JUMP;
        }
        if let Some(how) = difference(&original.state, &copy.state)
            && !is_indeterminate(word, &before, processor)
        {
            found.differs("copy of", &code, how);
        }
    }
}

/// What is said to be written, and is not read in the same breath: registers and memory.
fn check_effects(
    code: &Decoded,
    instruction: &Instruction,
    before: &State,
    after: &Outcome,
    processor: &Processor,
    found: &mut Found,
) {
    // Of the Scalable Vector Extension little is decoded.
    if bits(code.word, 28, 25) == 0b0010 {
        return;
    }
    let writes = code.effects().writes;
    let after = &after.state;
    for number in 0..32 {
        let is_changed = before.general.0[number] != after.general.0[number];
        if is_changed && writes >> number & 1 == 0 {
            found.differs("effects of", code, format!("writes x{number}"));
        }
        let vector = |state| processor.vector(state, number);
        let is_changed = vector(&before.vectors) != vector(&after.vectors);
        if is_changed && writes >> (32 + number) & 1 == 0 {
            found.differs("effects of", code, format!("writes v{number}"));
        }
    }
    let accesses = instruction.accesses(&before.general);
    // A size that varies is not known.
    let is_written = |at: u64| {
        let mut all = accesses.iter().filter(|access| access.write);
        all.any(|access| access.size == 0 || at.wrapping_sub(access.at) < access.size)
    };
    let bytes = before.data.iter().zip(&after.data);
    let mut changed = (DATA..)
        .zip(bytes)
        .filter(|(_, (left, right))| left != right);
    if let Some((at, _)) = changed.find(|(at, _)| !is_written(*at)) {
        let how = format!("changes {at:#x}, said: {accesses:x?}");
        found.differs("accesses of", code, how);
    }
    if before.data != after.data && !instruction.may_store() {
        found.differs("stores of", code, String::new());
    }
}

/// An emulated instruction has the effect of an executed one.
fn check_emulation(instruction: &Instruction, before: &State, after: &Outcome, found: &mut Found) {
    let Some(emulated) = instruction.emulate(&before.general, before) else {
        return;
    };
    found.count("emulated");
    let mut state = before.clone();
    state.general = emulated.registers;
    state.general.0[FLAGS] &= PSTATE;
    if let Some(how) = difference(&after.state, &state) {
        let code = own(instruction).unwrap();
        found.differs("emulation of", code, how);
    }
}

/// Returns the words of the decoder's fixture, which are of all groups.
fn fixture() -> impl Iterator<Item = u32> {
    let lines = include_str!("words.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    let words = lines.filter_map(|line| line.split(' ').nth(1));
    words.map(|word| u32::from_str_radix(word, 16).unwrap())
}

/// Returns words of the executable mappings of this process: of this program, of libc and others.
fn own_words() -> Vec<u32> {
    /// Of each mapping; more take longer than they are worth.
    const MOST: usize = 400_000;
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut words = Vec::new();
    for line in maps.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [range, "r-xp", offset, _, _, path] = fields[..] else {
            continue;
        };
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let Ok(file) = File::open(path) else { continue };
        let mut bytes = vec![0; (number(end) - number(start)) as usize];
        let len = file.read_at(&mut bytes, number(offset)).unwrap();
        let all = bytes[..len].as_chunks::<4>().0;
        let some = all.iter().step_by(1 + all.len() / MOST);
        words.extend(some.map(|it| u32::from_le_bytes(*it)));
    }
    words
}

/// Returns some words of each form of instruction: those whose texts differ only in numbers.
fn forms(words: impl Iterator<Item = u32>) -> Vec<u32> {
    const OF_EACH: usize = 2;
    let mut seen = FxHashSet::default();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut formatter = Formatter::new(Arch::Aarch64, Flavor::Intel);
    let mut chosen = Vec::new();
    for word in words {
        // The numbers of three registers.
        if !seen.insert(word & !0x001f_03ff) {
            continue;
        }
        let instruction = Arch::Aarch64.decode(&word.to_le_bytes(), LoadAddr(SITE));
        let Some(instruction) = instruction else {
            continue;
        };
        let mut text = formatter.text(&instruction);
        text.retain(|c| !c.is_ascii_hexdigit() || c.is_ascii_alphabetic());
        let count = counts.entry(text).or_default();
        *count += 1;
        if *count <= OF_EACH {
            chosen.push(word);
        }
    }
    chosen
}

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |text| text.parse().unwrap())
}

fn random() -> Random {
    let mut random = Random(number("RELOCATIONS_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    random.next();
    random
}

impl Found {
    fn conclude(&self) {
        println!("{:#?}", self.executed);
        let differences: Vec<String> = self
            .differences
            .iter()
            .map(|(k, v)| format!("{k}: {v}"))
            .collect();
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}

/// Real instructions of each form.
#[test]
fn copies_of_real_instructions_do_what_these_do() {
    let (mut processor, mut random, mut found) = (Processor::new(), random(), Found::default());
    for word in forms(fixture().chain(own_words())) {
        compare(word, &mut processor, &mut random, &mut found);
    }
    assert!(found.executed["executed"] > 1000, "{:?}", found.executed);
    found.conclude();
}

#[test]
fn copies_of_random_instructions_do_what_these_do() {
    let (mut processor, mut random, mut found) = (Processor::new(), random(), Found::default());
    for _ in 0..number("RELOCATIONS", 6000) {
        let word = random.next() as u32;
        compare(word, &mut processor, &mut random, &mut found);
    }
    assert!(found.executed["executed"] > 1000, "{:?}", found.executed);
    found.conclude();
}

/// What depends on its place: each form, with registers and distances at random.
#[test]
fn copies_of_instructions_with_addresses_do_what_these_do() {
    /// Masks of what is chosen at random, and the words without.
    const FORMS: [(u32, u32); 24] = [
        // `b`, `bl`, `b.cond`, `cbz`, `tbz`
        (0x03ff_ffff, 0x1400_0000),
        (0x03ff_ffff, 0x9400_0000),
        (0x00ff_ffef, 0x5400_0000),
        (0x81ff_ffff, 0x3400_0000),
        (0x81ff_ffff, 0x3600_0000),
        // `adr`, `adrp`
        (0x60ff_ffff, 0x1000_0000),
        (0x60ff_ffff, 0x9000_0000),
        // `ldr`, `ldrsw`, `prfm`, of vectors
        (0x40ff_ffff, 0x1800_0000),
        (0x00ff_ffff, 0x9800_0000),
        (0x00ff_ffff, 0xd800_0000),
        (0x40ff_ffff, 0x1c00_0000),
        (0x00ff_ffff, 0x9c00_0000),
        // `br`, `blr`, `ret`
        (0x0000_03e0, 0xd61f_0000),
        (0x0000_03e0, 0xd63f_0000),
        (0x0000_03e0, 0xd65f_0000),
        // `braaz`, `blraaz`, `retaa`, `braa`, `blraa`
        (0x0000_07e0, 0xd61f_081f),
        (0x0000_07e0, 0xd63f_081f),
        (0x0000_0400, 0xd65f_0bff),
        (0x0000_07ff, 0xd71f_0800),
        (0x0000_07ff, 0xd73f_0800),
        // hints, which sign and authenticate
        (0x0000_0fe0, 0xd503_201f),
        // `autiasppc`, `retaasppc`, `pacia` with the pc
        (0x003f_ffe0, 0xf380_001f),
        (0x003f_ffe0, 0x5500_001f),
        (0x0000_7fff, 0xdac1_8000),
    ];
    let (mut processor, mut random, mut found) = (Processor::new(), random(), Found::default());
    for _ in 0..number("RELOCATIONS", 6000) / 100 {
        for (mask, word) in FORMS {
            let word = word | random.next() as u32 & mask;
            compare(word, &mut processor, &mut random, &mut found);
        }
    }
    found.conclude();
}
