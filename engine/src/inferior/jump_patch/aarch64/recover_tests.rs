//! A thread stopped at any instruction of a trampoline: what the program's registers are there, and
//! whether its hit is counted and said, as `inferior/jump_patch/recover.rs` decides it.
#![cfg(target_arch = "aarch64")]

use super::super::log_ring::{self, Message, Ring};
use super::super::trampoline::{Count, HitAction, Place, Trampoline, TrampolineState};
use super::trampoline_tests::{condition, machine, message, window};
use crate::arch::Arch;
use crate::arch::aarch64::execution_tests::processor::{
    CODE, FLAGS, PC, Processor, Random, SIGTRAP, SITE, SP, State, TRAP,
};
use crate::compile::Condition;
use crate::compile::tests::machine::{At, Machine};
use crate::ids::HitCondition;
use crate::os::{RegisterSet, own_code};
use dwarf::{LoadAddr, Register};

/// Capabilities of processors.
const ATOMICS: u64 = 1 << 8;
const SCALABLE: u64 = 1 << 22;
const TRAMPOLINE: u64 = CODE + 0xa000;
/// Rounding up, and all flags of exceptions.
const CONTROL: u32 = 1 << 22;
const STATUS: u32 = 0x9f;
/// `add x0, x1, #5`; `stp x0, x1, [sp, #-16]!`; `adr x1`, which becomes two; `bl`; `b.mi`
const SITES: [u32; 5] = [
    0x9100_1420,
    0xa9bf_07e0,
    0x1001_0001,
    0x9400_0040,
    0x5400_0804,
];

/// Where a thread is found, and what it has done.
#[derive(Debug)]
struct Found {
    general: [u64; 34],
    /// It has passed the site, or executed its instruction.
    passed: Passed,
    /// The values of its record, taken from its stack.
    values: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Passed {
    No,
    /// It is about to execute the instruction.
    Site,
    /// It stops here.
    Stops,
    /// The instruction is done.
    Instruction,
}

/// The program's state at the site. Code for processors without scalable vectors knows nothing of
/// what they have more of: it is zero then.
fn initial(machine: &Machine, processor: &Processor, capabilities: u64) -> State {
    let mut state = State {
        general: crate::arch::aarch64::execution_tests::processor::General([0; 34]),
        vectors: processor.vectors(&mut Random(7)),
        data: processor.data().to_vec(),
    };
    state.general.0[..31].copy_from_slice(&machine.general[..31]);
    state.general.0[SP] = machine.general[31];
    state.general.0[PC] = SITE;
    state.general.0[FLAGS] = 0xa << 28;
    if capabilities & SCALABLE == 0 {
        processor.clear_upper_parts(&mut state.vectors);
    }
    for number in [9, 17] {
        let bytes = machine.vectors[number].to_le_bytes();
        processor.set_vector(&mut state.vectors, number, &bytes);
    }
    processor.set_float_state(&mut state.vectors, STATUS, CONTROL);
    state
}

/// Moves a thread in a trampoline to where it is shown.
fn settle(trampoline: &Trampoline, processor: &mut Processor) -> Found {
    // Longer than any commit; a store that fails at each step would never be made.
    for _ in 0..400 {
        let state = processor.outcome(SIGTRAP).state;
        let mut raw = RegisterSet::zeroed_of(Arch::Aarch64);
        for (number, value) in state.general.0.iter().enumerate().take(FLAGS + 1) {
            raw.set(Register(number as u16), *value);
        }
        let read = |addr: LoadAddr| {
            let mut word = [0; 8];
            processor.child.read(addr.0, &mut word);
            Some(u64::from_le_bytes(word))
        };
        let shown = |kept, passed, values| {
            let registers = trampoline
                .registers(&raw, kept, read)
                .expect("its registers");
            let mut general = [0; 34];
            for (number, value) in general.iter_mut().enumerate() {
                *value = registers.get(Register(number as u16)).expect("a register");
            }
            general[PC] = SITE;
            Found {
                general,
                passed,
                values,
            }
        };
        let pc = raw.pc();
        let Some(state_at) = trampoline.state(pc) else {
            // The last instruction of the copy was a jump.
            return Found {
                general: state.general.0,
                passed: Passed::Instruction,
                values: None,
            };
        };
        let decided = match state_at {
            TrampolineState::Attempted(..) => trampoline.state_of(&raw).expect("a state"),
            decided => decided,
        };
        match decided {
            TrampolineState::Evaluating(kept) if kept.vectors => {
                let restorer = trampoline.restorer.expect("code that restores vectors");
                processor.go_to(restorer.0);
            }
            TrampolineState::Evaluating(kept) => return shown(kept, Passed::No, None),
            TrampolineState::Leaving(kept) => return shown(kept, Passed::Site, None),
            TrampolineState::Counted(record, kept) => {
                let size = raw.get(record.size).expect("a size");
                let mut values = vec![0; size as usize];
                let at = raw.sp().wrapping_add(record.offset as u64);
                processor.child.read(at, &mut values);
                return shown(kept, Passed::Site, Some(values));
            }
            TrampolineState::Committing if trampoline.stop == Some(pc) => {
                return shown(trampoline.kept(), Passed::Stops, None);
            }
            TrampolineState::InRelocated(addr) => {
                let mut general = state.general.0;
                general[PC] = addr.0;
                let passed = match addr.0 {
                    SITE => Passed::Site,
                    _ => Passed::Instruction,
                };
                return Found {
                    general,
                    passed,
                    values: None,
                };
            }
            TrampolineState::Committing
            | TrampolineState::Attempted(..)
            | TrampolineState::Inside => {
                assert_eq!(processor.child.step().0, SIGTRAP);
            }
        }
    }
    panic!("a thread in a trampoline gets out of it");
}

/// What is tried at each instruction.
struct Case<'a> {
    capabilities: u64,
    condition: &'a Condition,
    holds: bool,
    hit: Option<HitCondition>,
    message: Option<&'a Message>,
    /// Whether there is no room for a record.
    is_full: bool,
    word: u32,
    name: String,
}

struct Bench<'a> {
    processor: &'a mut Processor,
    ring: &'a mut Ring,
    counter: u64,
    before: State,
    /// How often each state was met.
    met: std::collections::BTreeMap<&'static str, usize>,
}

impl Bench<'_> {
    fn counter(&self) -> u64 {
        let mut word = [0; 8];
        self.processor.child.read(self.counter, &mut word);
        u64::from_le_bytes(word)
    }

    fn try_all(&mut self, case: &Case<'_>) {
        let alone = self.processor.original(case.word, &self.before).state;
        let at = LoadAddr(self.counter);
        let count = case.hit.map(|hit| Count { at, hit });
        let then = match (case.message, count) {
            (Some(message), count) => HitAction::Say {
                message,
                ring: self.ring.at,
                count,
            },
            (None, Some(count)) => HitAction::Count(count),
            (None, None) => HitAction::Stop,
        };
        let (site, start) = (LoadAddr(SITE), LoadAddr(TRAMPOLINE));
        let window = window(site, &[case.word]).expect("a window");
        let trampoline = super::trampoline::build(
            case.capabilities,
            Place::new(start, site),
            &window,
            Some(case.condition).into(),
            then,
        );
        let trampoline = trampoline.expect("a trampoline");
        let child = &self.processor.child;
        child.write(TRAMPOLINE, &trampoline.bytes);
        let jump = Arch::Aarch64.jump(site, start).expect("a jump");
        child.write(SITE, &jump[..4]);
        for counted in [0, 1] {
            for offset in (0..trampoline.bytes.len()).step_by(4) {
                self.try_one(case, &trampoline, counted, offset, &alone);
            }
        }
    }

    fn try_one(
        &mut self,
        case: &Case<'_>,
        trampoline: &Trampoline,
        counted: u64,
        offset: usize,
        alone: &State,
    ) {
        let what = format!("{} at {offset:#x} after {counted} hits", case.name);
        let place = TRAMPOLINE + offset as u64;
        self.processor
            .child
            .write(self.counter, &counted.to_le_bytes());
        if case.is_full {
            self.ring.pretend_taken(log_ring::COUNT);
        }
        self.processor.child.write(place, &TRAP.to_le_bytes());
        self.processor.put(&self.before);
        assert_eq!(self.processor.child.run().0, SIGTRAP, "{what}");
        let word = &trampoline.bytes[offset..][..4];
        self.processor.child.write(place, word);
        let mut values = Vec::new();
        let is_there = self.processor.pc() == place;
        let found = is_there.then(|| settle(trampoline, self.processor));
        let now = self.counter();
        if case.is_full {
            assert!(self.ring.skip_abandoned(), "{what}");
        }
        let is_said = self.ring.next(&mut values).is_some();
        assert!(self.ring.is_drained(), "{what}");
        let Some(found) = found else { return };
        let state = trampoline.state(LoadAddr(place)).expect("a state");
        let name = match state {
            TrampolineState::Evaluating(kept) if kept.vectors => "evaluating with vectors",
            TrampolineState::Evaluating(_) => "evaluating",
            TrampolineState::Committing => "committing",
            TrampolineState::Attempted(..) => "attempted",
            TrampolineState::Counted(..) => "counted",
            TrampolineState::Leaving(_) => "leaving",
            TrampolineState::InRelocated(_) => "relocated",
            TrampolineState::Inside => "inside",
        };
        *self.met.entry(name).or_default() += 1;
        // It has what it had before the site, or what the instruction alone makes of that.
        let mut expected = match found.passed {
            Passed::Instruction => alone.general.0,
            _ => self.before.general.0,
        };
        let mut shown = found.general;
        for general in [&mut expected, &mut shown] {
            general[FLAGS] &= 0xf << 28;
        }
        assert_eq!(shown, expected, "{what}: {state:?} {:?}", found.passed);
        let after = self.processor.outcome(SIGTRAP).state;
        assert!(after.vectors == self.before.vectors, "{what}: {state:?}");
        // Each hit is counted once, and said once if it stops.
        let has_passed = found.passed != Passed::No;
        let counts = case.hit.is_some() && case.holds && has_passed;
        assert_eq!(now, counted + u64::from(counts), "{what}: {state:?}");
        let stops = case.holds && case.hit.is_none_or(|hit| hit.holds(counted + 1));
        let says = case.message.is_some() && stops && has_passed && found.passed != Passed::Stops;
        let is_said = is_said || found.values.is_some();
        assert_eq!(is_said, says, "{what}: {state:?} {:?}", found.passed);
        if let Some(taken) = found.values {
            values = taken;
        }
        if is_said {
            assert!(
                values.starts_with(&7_u64.to_le_bytes()),
                "{what}: {values:?}"
            );
        }
    }
}

#[test]
fn thread_in_a_trampoline_is_shown_at_its_site() {
    let machine = machine_with_values();
    let message = message(&machine, &["a * 0 + 7", "s", "x"]);
    let (shared, at, _map) = own_code::shared(log_ring::LEN as usize);
    let mut ring = Ring::new(LoadAddr(at), shared);
    let counter = Box::new(0_u64);
    // The child has a copy of all of these.
    let mut processor = Processor::new();
    let before = initial(&machine, &processor, 0);
    let mut bench = Bench {
        processor: &mut processor,
        ring: &mut ring,
        counter: &raw const *counter as u64,
        before,
        met: Default::default(),
    };
    let mut capabilities = vec![("plain", 0)];
    if std::arch::is_aarch64_feature_detected!("lse") {
        capabilities.push(("atomics", ATOMICS));
    }
    if std::arch::is_aarch64_feature_detected!("sve") {
        capabilities.push(("scalable", SCALABLE));
    }
    let mut sites = SITES.into_iter().cycle();
    for (name, capabilities) in capabilities {
        bench.before = initial(&machine, bench.processor, capabilities);
        for (text, holds) in [
            ("i == 7", true),
            ("x > 2 && i == 7", true),
            ("i == 8 || y > 0", false),
        ] {
            let condition = condition(&machine, text);
            for (hit, said, is_full) in [
                (None, false, false),
                (Some(HitCondition::Every(2)), false, false),
                (None, true, false),
                (Some(HitCondition::Exactly(1)), true, false),
                (None, true, true),
                (Some(HitCondition::AtMost(1)), true, true),
            ] {
                let word = sites.next().unwrap_or(SITES[0]);
                bench.try_all(&Case {
                    capabilities,
                    condition: &condition,
                    holds,
                    hit,
                    message: said.then_some(&message),
                    is_full,
                    word,
                    name: format!("{name} {text} {hit:?} said {said} full {is_full} {word:08x}"),
                });
            }
        }
    }
    println!("{:?}", bench.met);
    assert_eq!(bench.met.len(), 8, "each state: {:?}", bench.met);
}

fn machine_with_values() -> Machine {
    let mut machine = machine();
    for (number, value) in machine.general.iter_mut().enumerate().take(31) {
        *value = 0x1111_1111_1111_1111_u64.wrapping_mul(number as u64);
    }
    machine.set(At::Register(11), 7, 8);
    machine.set(At::Register(0), 0, 8);
    machine.set(At::Vector(17), u128::from(2.5f64.to_bits()), 16);
    machine.set(At::Vector(9), u128::from((-0.25f64).to_bits()), 16);
    machine.set(At::Register(7), c"some text".as_ptr() as u128, 8);
    machine
}
