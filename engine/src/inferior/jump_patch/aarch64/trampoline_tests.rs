//! Trampolines of aarch64. Those of other machines decode them; aarch64 runs them: their effect
//! equals that of the covered instruction alone, for all conditions, counters and messages.

use super::super::log_ring::{Message, MessagePart};
use super::super::trampoline::{Count, HitAction, Place, Trampoline, TrampolineState, Unmade};
use super::super::window::PatchedRange;
use super::window;
use crate::arch::{Arch, Instruction};
use crate::compile::tests::machine::{At, Machine};
use crate::compile::{Captured, Condition};
use crate::expr::Expression;
use crate::ids::HitCondition;
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use dwarf::{Language, LoadAddr, Memory, Unreadable};

/// Capabilities of processors: none, atomic instructions, scalable vectors.
const PLAIN: u64 = 0;
const ATOMICS: u64 = 1 << 8;
const SCALABLE: u64 = 1 << 22;

/// Some instructions.
struct Words<'a>(LoadAddr, &'a [u32]);

impl Memory for Words<'_> {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let len = buffer.len();
        let bytes: Vec<u8> = self.1.iter().flat_map(|it| it.to_le_bytes()).collect();
        let from = (addr - self.0) as usize;
        let bytes = bytes.get(from..).and_then(|it| it.get(..len));
        buffer.copy_from_slice(bytes.ok_or(Unreadable { addr, len })?);
        Ok(())
    }
}

/// Returns a machine with variables in registers that the code uses and in others.
pub fn machine() -> Machine {
    let mut machine = Machine::new(Language::C);
    machine.arch = Arch::Aarch64;
    let ty = |kind, size, name| Ty::Builtin(Scalar::new(kind, size), name);
    let double = ScalarKind::Float(Float::Double);
    for (name, ty, at) in [
        ("i", ty(ScalarKind::Signed, 4, "int"), At::Register(11)),
        ("a", ty(ScalarKind::Signed, 8, "long"), At::Register(0)),
        ("x", ty(double, 8, "double"), At::Vector(17)),
        ("y", ty(double, 8, "double"), At::Vector(9)),
        (
            "s",
            ty(ScalarKind::SignedChar, 1, "char").pointer(),
            At::Register(7),
        ),
    ] {
        machine.variables.push((name.into(), ty, at));
    }
    machine
}

pub fn condition(machine: &Machine, text: &str) -> Condition {
    let expression = Expression::parse(text, machine.language).expect("an expression");
    Condition::compile(&expression, machine).expect("a condition")
}

pub fn message(machine: &Machine, texts: &[&str]) -> Message {
    let parts = texts.iter().flat_map(|text| {
        let expression = Expression::parse(text, machine.language).expect("an expression");
        let mut captured = Captured::compile(&expression, machine).expect("a value");
        captured.set_room(64).expect("room");
        let numbers = Default::default();
        [
            MessagePart::Value { captured, numbers },
            MessagePart::Text(" ".into()),
        ]
    });
    Message {
        parts: parts.collect(),
    }
}

pub fn window(site: LoadAddr, words: &[u32]) -> Result<PatchedRange, &'static str> {
    window::at(site, &Words(site, words))
}

fn decoded(trampoline: &Trampoline) -> Vec<Instruction> {
    let all = Arch::Aarch64.decode_all(&trampoline.bytes, trampoline.start);
    all.map(|it| it.expect("an instruction")).collect()
}

/// Each instruction has a state from which the program's position is known, and no single step is
/// needed between the load and the store of an exclusive sequence.
#[test]
fn every_instruction_has_a_state_and_no_step_spoils_a_store() {
    const SITE: LoadAddr = LoadAddr(0x40_0000);
    const START: LoadAddr = LoadAddr(0x41_0000);
    let machine = machine();
    let message = message(&machine, &["i", "s", "x"]);
    let holds = condition(&machine, "x > 2 && i == 7");
    let count = Count {
        at: LoadAddr(0x1000),
        hit: HitCondition::Every(7),
    };
    let ring = LoadAddr(0x2000);
    // bl .+0x100
    let window = window(SITE, &[0x9400_0040]).expect("a window");
    for capabilities in [PLAIN, ATOMICS, SCALABLE] {
        for (then, attempts) in [
            (HitAction::Stop, 0),
            (HitAction::Count(count), 1),
            (
                HitAction::Say {
                    message: &message,
                    ring,
                    count: None,
                },
                1,
            ),
            (
                HitAction::Say {
                    message: &message,
                    ring,
                    count: Some(count),
                },
                2,
            ),
        ] {
            let built = super::trampoline::build(
                capabilities,
                Place::new(START, SITE),
                &window,
                Some(&holds).into(),
                then,
            );
            let trampoline = built.expect("a trampoline");
            let mut tried = 0;
            let mut is_counted = false;
            let mut at_end = None;
            for instruction in decoded(&trampoline) {
                let state = trampoline.state(instruction.addr).expect("a state");
                if !instruction.can_be_stepped() && !instruction.is_compiler_trap() {
                    let is_trap = trampoline.traps().any(|trap| trap == instruction.addr);
                    let is_never_stepped = matches!(
                        state,
                        TrampolineState::Evaluating(_) | TrampolineState::Counted(..)
                    );
                    assert!(is_trap || is_never_stepped, "{instruction:?} {state:?}");
                }
                if let TrampolineState::Attempted(_, unmade) = state {
                    tried += 1;
                    let is_after_count = matches!(unmade, Unmade::Counted(..));
                    assert_eq!(is_after_count, tried == 2 || is_counted, "{then:?}");
                }
                is_counted |= state == TrampolineState::Committing;
                at_end = Some(state);
            }
            let has_atomics = capabilities == ATOMICS && !matches!(attempts, 0);
            let counts = matches!(
                then,
                HitAction::Count(_) | HitAction::Say { count: Some(_), .. }
            );
            let expected = attempts - i32::from(has_atomics && counts);
            assert_eq!(tried, expected, "{then:?}");
            let target = TrampolineState::InRelocated(SITE + 0x100);
            assert_eq!(at_end, Some(target));
            let end = trampoline.start + trampoline.bytes.len() as u64;
            assert_eq!(trampoline.state(end), None);
        }
    }
}

#[test]
fn instructions_that_must_stay_in_place_are_refused() {
    const SITE: LoadAddr = LoadAddr(0x40_0000);
    let refused = |words: &[u32]| window(SITE, words).err();
    assert_eq!(refused(&[0xd503_201f]), None, "nop");
    assert_eq!(refused(&[0xa9bf_7bfd]), None, "stp x29, x30, [sp, #-16]!");
    assert_eq!(refused(&[0x9000_0001]), None, "adrp");
    assert_eq!(refused(&[0x5400_0040]), None, "b.eq");
    assert_eq!(refused(&[0xd65f_03c0]), None, "ret");
    assert_eq!(refused(&[0xd63f_0100]), None, "blr x8");
    let pad = Some("a landing pad of indirect calls must stay in place");
    for word in [
        0xd503_245f,
        0xd503_249f,
        0xd503_24df,
        0xd503_233f,
        0xd503_237f,
    ] {
        assert_eq!(refused(&[word]), pad, "{word:#x}");
    }
    assert_eq!(refused(&[0xd400_0001]), Some("it is a system call"));
    assert_eq!(refused(&[0xd420_0000]), Some("it is a trap of the program"));
    assert_eq!(
        refused(&[0xd63f_03c0]),
        Some("its instruction cannot be relocated")
    );
    assert_eq!(refused(&[0xffff_ffff]), Some("invalid code is there"));
    // again: ldxr x0, [x1]; add x0, x0, #1; stxr w2, x0, [x1]; cbnz w2, again; ret
    let sequence = [
        0xc85f_7c20,
        0x9100_0400,
        0xc802_7c20,
        0x35ff_ffa2,
        0xd65f_03c0,
    ];
    let inside = Some("it is inside an exclusive sequence");
    for (nth, expected) in [
        (0, inside),
        (1, inside),
        (2, inside),
        (3, inside),
        (4, None),
    ] {
        let at = window::at(SITE + 4 * nth, &Words(SITE, &sequence));
        assert_eq!(at.err(), expected, "{nth}");
    }
}

/// Runs of the code by this process.
#[cfg(target_arch = "aarch64")]
mod native {
    use super::super::super::log_ring::{self, Ring};
    use super::*;
    use crate::arch::aarch64::assembler::{self, Assembler, Size, V, X};
    use crate::compile::tests::machine::SP;
    use crate::os::own_code;

    const COLLECT: u64 = 0x1000;
    const SITE: u64 = 0x2000;
    const DATA: u64 = 0x3000;
    const HELPER: u64 = 0x4000;
    const TRAMPOLINE: u64 = 0x8000;
    const ARENA: usize = 0x10000;
    /// Size of the frame of the host's registers.
    const HOST: i64 = 160;
    const HOST_SP: X = assembler::SP;
    /// Rounding up, and all flags of exceptions.
    const CONTROL: u64 = 1 << 22;
    const STATUS: u64 = 0x9f;
    const FLAGS: u64 = 0xa << 28;

    /// A program's registers: x0 to x30, sp, the flags, control, status, and the vectors.
    type Seen = Vec<u64>;
    const AT_FLAGS: i64 = 32 * 8;
    const AT_VECTORS: i64 = 36 * 8;
    const WORDS: usize = 36 + 64;

    /// The result of a run.
    struct Run {
        seen: Seen,
        traps: usize,
        is_evaluated_outside: bool,
        stopped: bool,
    }

    /// The instruction at the site, from the address of the arena.
    type Code = fn(u64) -> u32;

    fn distance(from: u64, to: u64) -> u32 {
        (to.wrapping_sub(from) as u32) >> 2
    }

    const CODES: [(&str, Code); 14] = [
        ("add", |_| 0x9100_1420),
        ("adc", |_| 0x9a02_0020),
        ("csel", |_| 0x9a82_5020),
        ("stp below the stack pointer", |_| 0xa9bf_07e0),
        ("fadd", |_| 0x1e72_2a30),
        ("adr", |base| {
            0x1000_0001 | (distance(base + SITE, base + DATA) & 0x7_ffff) << 5
        }),
        ("ldr literal", |base| {
            0x5800_0001 | (distance(base + SITE, base + DATA) & 0x7_ffff) << 5
        }),
        ("bl", |base| {
            0x9400_0000 | distance(base + SITE, base + HELPER) & 0x3ff_ffff
        }),
        ("blr", |_| 0xd63f_0380),
        ("br", |_| 0xd61f_0380),
        ("b", |base| {
            0x1400_0000 | distance(base + SITE, base + COLLECT) & 0x3ff_ffff
        }),
        ("b.mi, taken", |base| {
            0x5400_0004 | (distance(base + SITE, base + COLLECT) & 0x7_ffff) << 5
        }),
        ("cbz, not taken", |base| {
            0xb400_0001 | (distance(base + SITE, base + COLLECT) & 0x7_ffff) << 5
        }),
        ("tbnz", |base| {
            0x3708_0001 | (distance(base + SITE, base + COLLECT) & 0x3fff) << 5
        }),
    ];

    fn set_up(base: u64) -> Machine {
        let mut machine = machine();
        for (number, value) in machine.general.iter_mut().enumerate() {
            if number != SP {
                *value = 0x1111_1111_1111_1111_u64.wrapping_mul(number as u64);
            }
        }
        for (number, value) in machine.vectors.iter_mut().enumerate() {
            *value = u128::MAX / (number as u128 + 3);
        }
        machine.set(At::Register(11), 7, 8);
        machine.set(At::Register(0), 0, 8);
        machine.set(At::Vector(17), u128::from(2.5f64.to_bits()), 16);
        machine.set(At::Vector(9), u128::from((-0.25f64).to_bits()), 16);
        machine.set(At::Register(7), c"some text".as_ptr() as u128, 8);
        machine.general[28] = base + HELPER;
        machine
    }

    fn bytes(asm: Assembler) -> Vec<u8> {
        let words = asm.finish().expect("code");
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Loads the program's registers and jumps to the site.
    fn enter(machine: &Machine, host: u64) -> Vec<u8> {
        let mut asm = Assembler::default();
        asm.add_number(HOST_SP, HOST_SP, -HOST);
        for (register, offset) in (19..31).step_by(2).zip((0..).step_by(16)) {
            asm.store_pair((X(register), X(register + 1)), HOST_SP, offset);
        }
        for (register, offset) in (8..16).zip((96..).step_by(8)) {
            asm.store_float(V(register), HOST_SP, offset, false);
        }
        let (table, word) = (X(30), X(17));
        asm.number(table, host);
        asm.copy(word, HOST_SP);
        asm.store(word, table, 0, Size::WORD);
        asm.number(word, machine.general[SP]);
        asm.add_number(HOST_SP, word, 0);
        asm.number(table, machine.vectors.as_ptr() as u64);
        for (number, offset) in (0..32).step_by(2).zip((0..).step_by(32)) {
            asm.load_vectors((V(number), V(number + 1)), table, offset);
        }
        asm.number(word, CONTROL);
        asm.write_float_control(word);
        asm.number(word, STATUS);
        asm.write_float_status(word);
        asm.number(word, FLAGS);
        asm.write_flags(word);
        for number in (0..31).filter(|number| *number != 18) {
            asm.number(X(number), machine.general[usize::from(number)]);
        }
        let jump = 0x1400_0000 | distance(4 * asm.len() as u64, SITE);
        asm.word(jump);
        bytes(asm)
    }

    /// Stores the program's registers and returns to the test.
    fn collect(host: u64, seen: u64) -> Vec<u8> {
        let mut asm = Assembler::default();
        // The program's stack keeps two registers for a moment.
        asm.store(X(0), HOST_SP, -256, Size::WORD);
        asm.number(X(0), seen);
        // x18 is the system's.
        for number in (1..31).filter(|number| *number != 18) {
            asm.store(X(number), X(0), 8 * i64::from(number), Size::WORD);
        }
        asm.load(X(1), HOST_SP, -256, Size::WORD);
        asm.store(X(1), X(0), 0, Size::WORD);
        asm.copy(X(1), HOST_SP);
        asm.store(X(1), X(0), 31 * 8, Size::WORD);
        asm.read_flags(X(1));
        asm.store(X(1), X(0), AT_FLAGS, Size::WORD);
        asm.read_float_control(X(1));
        asm.store(X(1), X(0), AT_FLAGS + 8, Size::WORD);
        asm.read_float_status(X(1));
        asm.store(X(1), X(0), AT_FLAGS + 16, Size::WORD);
        asm.write_float_control(assembler::ZERO);
        asm.add_number(X(1), X(0), AT_VECTORS);
        for (number, offset) in (0..32).step_by(2).zip((0..).step_by(32)) {
            asm.store_vectors((V(number), V(number + 1)), X(1), offset);
        }
        asm.number(X(1), host);
        asm.load(X(1), X(1), 0, Size::WORD);
        asm.add_number(HOST_SP, X(1), 0);
        for (register, offset) in (19..31).step_by(2).zip((0..).step_by(16)) {
            asm.load_pair((X(register), X(register + 1)), HOST_SP, offset);
        }
        for (register, offset) in (8..16).zip((96..).step_by(8)) {
            asm.load_float(V(register), HOST_SP, offset, false);
        }
        asm.add_number(HOST_SP, HOST_SP, HOST);
        asm.word(0xd65f_03c0);
        bytes(asm)
    }

    /// Runs code, through a trampoline if there is a question.
    fn run(
        code: Code,
        capabilities: u64,
        question: Option<(Option<&Condition>, HitAction<'_>)>,
    ) -> Run {
        let mut seen = vec![0u64; WORDS].into_boxed_slice();
        let place = seen.as_mut_ptr() as u64;
        let mut host = 0u64;
        let host = &raw mut host as u64;
        let mut built = None;
        let mut arena = 0;
        let mut stack = 0;
        let mut kept = None;
        let (traps, last) = own_code::run_at(ARENA, |base| {
            arena = base;
            let machine = kept.insert(set_up(base));
            stack = machine.general[SP];
            let mut all = vec![0u8; ARENA];
            let mut put = |at: u64, code: &[u8]| {
                all[at as usize..][..code.len()].copy_from_slice(code);
            };
            put(0, &enter(machine, host));
            put(COLLECT, &collect(host, place));
            let word = code(base);
            let mut site = word.to_le_bytes().to_vec();
            put(DATA, &0x1122_3344_5566_7788_u64.to_le_bytes());
            // add x10, x30, #0; b collect: a call does not return to the site alone.
            let back = 0x1400_0000 | distance(HELPER + 4, COLLECT) & 0x3ff_ffff;
            put(HELPER, &[0x9100_03ca, back].map(u32::to_le_bytes).concat());
            let on = 0x1400_0000 | distance(SITE + 4, COLLECT) & 0x3ff_ffff;
            put(SITE + 4, &on.to_le_bytes());
            if let Some((condition, then)) = question {
                let at = LoadAddr(base + SITE);
                let window = window(at, &[word]).expect("a window");
                let start = LoadAddr(base + TRAMPOLINE);
                let trampoline = super::super::trampoline::build(
                    capabilities,
                    Place::new(start, at),
                    &window,
                    condition.into(),
                    then,
                );
                let trampoline = trampoline.expect("a trampoline");
                let jump = Arch::Aarch64.jump(at, start).expect("a jump");
                site.copy_from_slice(&jump[..4]);
                put(TRAMPOLINE, &trampoline.bytes);
                built = Some(trampoline);
            }
            put(SITE, &site);
            all
        });
        // Addresses differ in every run.
        let relative = |word: &u64| match *word {
            word if word.wrapping_sub(arena) < ARENA as u64 => word - arena,
            word if word.wrapping_sub(stack - 4096) < 8192 => word.wrapping_sub(stack),
            word => word,
        };
        Run {
            seen: seen.iter().map(relative).collect(),
            traps,
            is_evaluated_outside: built.as_ref().is_some_and(|it| it.deopt.0 == last),
            stopped: built.is_some_and(|it| it.stop == Some(LoadAddr(last))),
        }
    }

    /// The capabilities whose code every processor can run; with SVE or LSE if this one has it.
    fn capabilities() -> Vec<u64> {
        let mut all = vec![PLAIN];
        if std::arch::is_aarch64_feature_detected!("lse") {
            all.push(ATOMICS);
        }
        if std::arch::is_aarch64_feature_detected!("sve") {
            all.push(SCALABLE);
        }
        all
    }

    #[test]
    fn relocated_instructions_behave_the_same() {
        for (name, code) in CODES {
            let alone = run(code, PLAIN, None);
            assert_eq!(alone.traps, 0);
            for (text, holds) in [
                ("i == 7", true),
                ("i == 8", false),
                ("a * a + i / 3 - i % 2 == 1", true),
                ("x * 2 == 5 && y < 0", true),
                ("x + y > 100 || i << a % 7 == -1", false),
                ("1 == 1", true),
            ] {
                for capabilities in capabilities() {
                    let condition = condition(&machine(), text);
                    let then = HitAction::Stop;
                    let with = run(code, capabilities, Some((Some(&condition), then)));
                    assert_eq!(with.seen, alone.seen, "{name}: {text}");
                    assert_eq!(with.traps, usize::from(holds), "{name}: {text}");
                    assert_eq!(with.is_evaluated_outside, holds, "{name}: {text}");
                }
            }
        }
    }

    #[test]
    fn trampoline_counts_and_stops() {
        use HitCondition::{AtLeast, AtMost, Every, Exactly, LessThan, MoreThan};
        let (name, code) = CODES[4];
        let alone = run(code, PLAIN, None).seen;
        for hit in [
            Every(3),
            Exactly(4),
            AtLeast(8),
            MoreThan(8),
            AtMost(2),
            LessThan(2),
        ] {
            for capabilities in capabilities() {
                let mut counter = Box::new(0u64);
                let counter = &raw mut *counter;
                let at = LoadAddr(counter as u64);
                let then = HitAction::Count(Count { at, hit });
                let holds = condition(&machine(), "x > 2 && i == 7");
                let not = condition(&machine(), "x > 3 || i == 8");
                for number in 1..=10 {
                    let with = run(code, capabilities, Some((Some(&not), then)));
                    assert_eq!((with.seen, with.traps), (alone.clone(), 0), "{name}");
                    let with = run(code, capabilities, Some((Some(&holds), then)));
                    assert_eq!(with.seen, alone, "{name}");
                    assert_eq!(with.stopped, hit.holds(number), "{hit:?} at {number}");
                    assert_eq!(with.traps, usize::from(hit.holds(number)));
                }
            }
        }
    }

    #[test]
    fn records_are_complete_and_wait_for_space() {
        for (name, code) in CODES {
            let alone = run(code, PLAIN, None).seen;
            let machine = set_up(0);
            let (shared, at, _map) = own_code::shared(log_ring::LEN as usize);
            let mut ring = Ring::new(LoadAddr(at), shared);
            let condition = condition(&machine, "y < 0");
            let s = c"some text".as_ptr() as u64;
            let text_of_s = format!("{s:#x} \"some text\" \n");
            let all = format!("7 2.5 -0.5 {s:#x} \"some text\" 0 \n");
            let messages: [(&[&str], &str); 6] = [
                (&["i"], "7 \n"),
                (&["x"], "2.5 \n"),
                (&["y * 2"], "-0.5 \n"),
                (&["a"], "0 \n"),
                (&["s"], &text_of_s),
                (&["i", "x", "y * 2", "s", "a"], &all),
            ];
            let mut values = Vec::new();
            for (parts, expected) in messages {
                let message = message(&machine, parts);
                let then = HitAction::Say {
                    message: &message,
                    ring: LoadAddr(at),
                    count: None,
                };
                for capabilities in capabilities() {
                    let with = run(code, capabilities, Some((Some(&condition), then)));
                    let what = format!("{name} {parts:?} {capabilities:#x}");
                    assert_eq!((with.seen, with.traps), (alone.clone(), 0), "{what}");
                    assert!(ring.next(&mut values).is_some(), "{what}");
                    let mut text = String::new();
                    message.text(&values, &machine, &mut text);
                    assert_eq!(text, expected, "{what}");
                    assert!(ring.next(&mut values).is_none() && ring.is_drained());
                }
            }
        }
    }

    #[test]
    fn full_ring_traps_before_or_after_the_count() {
        let (_, code) = CODES[0];
        let alone = run(code, PLAIN, None).seen;
        let message = message(&machine(), &["i"]);
        for hit in [None, Some(HitCondition::Every(2))] {
            let (shared, at, _map) = own_code::shared(log_ring::LEN as usize);
            let mut ring = Ring::new(LoadAddr(at), shared);
            let mut counter = Box::new(0u64);
            let counter = LoadAddr(&raw mut *counter as u64);
            let count = hit.map(|hit| Count { at: counter, hit });
            let then = HitAction::Say {
                message: &message,
                ring: LoadAddr(at),
                count,
            };
            ring.pretend_taken(log_ring::COUNT);
            for number in 1..=4u64 {
                let with = run(code, PLAIN, Some((None, then)));
                assert_eq!(with.seen, alone);
                let stops = hit.is_none_or(|hit| hit.holds(number));
                assert_eq!(with.traps, usize::from(stops));
                assert_eq!(with.is_evaluated_outside, hit.is_none());
                assert_eq!(with.stopped, stops && hit.is_some());
            }
            assert!(ring.skip_abandoned());
            let mut values = Vec::new();
            for number in 5..=8u64 {
                let with = run(code, PLAIN, Some((None, then)));
                assert_eq!((with.seen, with.traps), (alone.clone(), 0));
                let stops = hit.is_none_or(|hit| hit.holds(number));
                assert_eq!(ring.next(&mut values).is_some(), stops);
            }
        }
    }
}
