//! Trampolines, run by this process: their effect equals that of the covered instructions alone,
//! for all conditions, counters and messages.

#![cfg(target_arch = "x86_64")]

use super::super::log_ring::{self, Message, MessagePart, Ring};
use super::super::trampoline::{Count, Counted, Decision, HitAction, Place, TrampolineState};
use super::super::window::PatchedRange;
use super::function_code::FunctionCode;
use crate::arch::{Arch, x86_64};
use crate::compile::tests::machine::{At, Machine, SP};
use crate::compile::{Captured, Condition, Expected};
use crate::expr::Expression;
use crate::ids::HitCondition;
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::os::own_code;
use dwarf::{Language, LoadAddr};
use iced_x86::Register::R11;
use iced_x86::code_asm::*;
use iced_x86::{IcedError, Instruction, MemoryOperand};
use std::collections::BTreeSet;

const COLLECT: u64 = 0x1000;
const SITE: u64 = 0x2000;
const DATA: u64 = 0x3000;
const HELPER: u64 = 0x4000;
const TRAMPOLINE: u64 = 0x8000;
const ARENA: usize = 0x10000;
/// All arithmetic flags, and the direction.
const FLAGS: u64 = 0xcd5;

/// A program's registers and red zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    general: Vec<u64>,
    flags: u64,
    vectors: Vec<u64>,
    mxcsr: u64,
    red_zone: Vec<u64>,
}

/// Code at a site: the instructions that a jump covers, and more.
pub(super) type Code = fn(&mut CodeAssembler, u64) -> Result<(), IcedError>;

/// The result of a run.
pub(super) struct Run {
    pub seen: Seen,
    pub traps: usize,
    /// Whether the last trap was the one for a deopt, or the one for hits that stop.
    is_evaluated_outside: bool,
    stopped: bool,
}

pub(super) fn machine() -> Machine {
    let mut machine = Machine::new(Language::C);
    for (number, value) in machine.general.iter_mut().enumerate() {
        if number != SP {
            *value = 0x1111_1111_1111_1111_u64.wrapping_mul(number as u64);
        }
    }
    for (number, value) in machine.vectors.iter_mut().enumerate() {
        *value = u128::MAX / (number as u128 + 3);
    }
    let ty = |kind, size, name| Ty::Builtin(Scalar::new(kind, size), name);
    let double = ScalarKind::Float(Float::Double);
    for (name, ty, at) in [
        ("i", ty(ScalarKind::Signed, 4, "int"), At::Register(5)),
        ("a", ty(ScalarKind::Signed, 8, "long"), At::Register(0)),
        ("b", ty(ScalarKind::Signed, 8, "long"), At::Register(4)),
        ("top", ty(ScalarKind::Signed, 8, "long"), At::Stack(16)),
        ("x", ty(double, 8, "double"), At::Vector(2)),
        ("y", ty(double, 8, "double"), At::Vector(9)),
        (
            "s",
            ty(ScalarKind::SignedChar, 1, "char").pointer(),
            At::Register(3),
        ),
    ] {
        machine.variables.push((name.into(), ty, at));
    }
    machine.set(At::Register(5), 7, 8);
    machine.set(At::Register(4), 9, 8);
    machine.set(At::Stack(16), 0x1_0000_0000, 8);
    machine.set(At::Vector(2), u128::from(2.5f64.to_bits()), 16);
    machine.set(At::Vector(9), u128::from((-0.25f64).to_bits()), 16);
    machine.set(At::Register(3), c"some text".as_ptr() as u128, 8);
    machine
}

pub(super) fn condition(machine: &Machine, text: &str) -> Condition {
    let expression = Expression::parse(text, machine.language).expect("an expression");
    Condition::compile(&expression, machine).expect("a condition")
}

/// Runs code with the machine's registers, through a trampoline if there is a condition.
pub(super) fn run(
    machine: &Machine,
    code: Code,
    question: Option<(Option<&Condition>, HitAction<'_>)>,
) -> Run {
    let question = question.map(|(condition, then)| (condition.into(), then));
    run_on(machine, code, question, None)
}

/// Like [`run`], with all that may decide, as in a search: the trampoline has its own stack.
fn run_decided(
    machine: &Machine,
    code: Code,
    question: Option<(Decision<'_>, HitAction<'_>)>,
) -> Run {
    // The test's handler of traps runs on it, too.
    const BYTES: usize = 1 << 16;
    let mut stack = memmap2::MmapMut::map_anon(BYTES).expect("memory");
    let end = LoadAddr(stack.as_mut_ptr() as u64 + BYTES as u64);
    let unused: Vec<LoadAddr> = (17..80)
        .map(|nth| LoadAddr(machine.general[SP] - 8 * nth))
        .collect();
    let before: Vec<u64> = unused.iter().map(|at| read_word(*at)).collect();
    let run = run_on(machine, code, question, Some(end));
    let after: Vec<u64> = unused.iter().map(|at| read_word(*at)).collect();
    assert_eq!(before, after, "what the program has left on its stack");
    run
}

fn run_on(
    machine: &Machine,
    code: Code,
    question: Option<(Decision<'_>, HitAction<'_>)>,
    own_stack: Option<LoadAddr>,
) -> Run {
    const RED_ZONE: usize = 16;
    let stack = machine.general[SP];
    let red_zone = stack - 8 * RED_ZONE as u64;
    let mut seen = vec![0u64; 64].into_boxed_slice();
    let place = seen.as_mut_ptr() as u64;
    let mut host = 0u64;
    let host = &raw mut host as u64;
    let vectors: Vec<u64> = machine
        .vectors
        .iter()
        .flat_map(|it| [*it as u64, (*it >> 64) as u64])
        .collect();
    let red: Vec<u64> = (0..RED_ZONE as u64).map(|it| 0xabcd_0000 + it).collect();
    let mut built = None;
    let (traps, last) = own_code::run_at(ARENA, |base| {
        let mut bytes = vec![0u8; ARENA];
        let mut put =
            |at: u64, code: &[u8]| bytes[at as usize..][..code.len()].copy_from_slice(code);
        put(
            0,
            &enter(
                machine,
                base,
                host,
                (&red, red_zone),
                vectors.as_ptr() as u64,
            )
            .expect("code"),
        );
        put(COLLECT, &collect(base, host, place).expect("code"));
        let mut asm = CodeAssembler::new(64).expect("an assembler");
        code(&mut asm, base).expect("code");
        asm.jmp(base + COLLECT).expect("a jump");
        let mut site = asm.assemble(base + SITE).expect("code");
        put(
            DATA,
            &[0x1122_3344_5566_7788, base + HELPER]
                .map(u64::to_le_bytes)
                .concat(),
        );
        let mut asm = CodeAssembler::new(64).expect("an assembler");
        asm.mov(r10, qword_ptr(rsp)).expect("code");
        asm.ret().expect("code");
        put(HELPER, &asm.assemble(base + HELPER).expect("code"));
        if let Some((decision, then)) = question {
            let at = LoadAddr(base + SITE);
            let window = window(at, &site, machine);
            let start = LoadAddr(base + TRAMPOLINE);
            let place = Place {
                own_stack,
                ..Place::new(start, at)
            };
            let trampoline = super::trampoline::build(place, &window, decision, then);
            let trampoline = trampoline.expect("a trampoline");
            let jump = x86_64::jump(at, start);
            // Control never returns into the covered instructions.
            let covered = (window.end.0 - at.0) as usize;
            site[..covered.max(5)].fill(0xf4);
            site[..5].copy_from_slice(&jump);
            put(TRAMPOLINE, &trampoline.bytes);
            built = Some(trampoline);
        }
        put(SITE, &site);
        bytes
    });
    let flags = seen[16] & FLAGS;
    let base = seen[50];
    // Addresses differ in every run.
    let relative = |word: u64| match word.wrapping_sub(base) < ARENA as u64 {
        true => word - base,
        false => word,
    };
    Run {
        seen: Seen {
            general: seen[..16].iter().map(|it| relative(*it)).collect(),
            flags,
            mxcsr: seen[17],
            vectors: seen[18..50].to_vec(),
            red_zone: (0..RED_ZONE as u64)
                .map(|index| relative(read_word(LoadAddr(red_zone + 8 * index))))
                .collect(),
        },
        traps,
        is_evaluated_outside: built.as_ref().is_some_and(|it| it.deopt.0 == last),
        stopped: built.is_some_and(|it| it.stop == Some(LoadAddr(last))),
    }
}

const GENERAL: [AsmRegister64; 16] = [
    rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15,
];
const XMM: [AsmRegisterXmm; 16] = [
    xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14,
    xmm15,
];
const KEPT: [AsmRegister64; 6] = [rbx, rbp, r12, r13, r14, r15];

/// Loads the program's registers and jumps to the site.
fn enter(
    machine: &Machine,
    base: u64,
    host: u64,
    (red, red_zone): (&[u64], u64),
    vectors: u64,
) -> Result<Vec<u8>, IcedError> {
    let mut asm = CodeAssembler::new(64)?;
    for register in KEPT {
        asm.push(register)?;
    }
    asm.mov(rax, host)?;
    asm.mov(qword_ptr(rax), rsp)?;
    for (index, word) in red.iter().enumerate() {
        asm.mov(rax, red_zone + 8 * index as u64)?;
        asm.mov(rcx, *word)?;
        asm.mov(qword_ptr(rax), rcx)?;
    }
    // Rounding up, all flags set.
    asm.push(0x5f80)?;
    asm.ldmxcsr(dword_ptr(rsp))?;
    asm.push(FLAGS as i32)?;
    asm.popfq()?;
    asm.mov(rax, vectors)?;
    for (number, register) in XMM.into_iter().enumerate() {
        asm.movups(register, xmmword_ptr(rax + 16 * number))?;
    }
    for (register, value) in GENERAL.into_iter().zip(machine.general) {
        asm.mov(register, value)?;
    }
    asm.jmp(base + SITE)?;
    asm.assemble(base)
}

/// Stores the program's registers and returns to the test.
fn collect(base: u64, host: u64, seen: u64) -> Result<Vec<u8>, IcedError> {
    let mut asm = CodeAssembler::new(64)?;
    // mov [seen], rax
    asm.db(&[0x48, 0xa3])?;
    asm.db(&seen.to_le_bytes())?;
    asm.mov(rax, seen)?;
    for (number, register) in GENERAL.into_iter().enumerate().skip(1) {
        asm.mov(qword_ptr(rax + 8 * number), register)?;
    }
    asm.mov(rcx, host)?;
    asm.mov(rsp, qword_ptr(rcx))?;
    asm.pushfq()?;
    asm.pop(rcx)?;
    asm.cld()?;
    asm.mov(qword_ptr(rax + 8 * 16), rcx)?;
    asm.stmxcsr(dword_ptr(rax + 8 * 17))?;
    for (number, register) in XMM.into_iter().enumerate() {
        asm.movups(xmmword_ptr(rax + 8 * 18 + 16 * number), register)?;
    }
    asm.mov(rcx, base)?;
    asm.mov(qword_ptr(rax + 8 * 50), rcx)?;
    asm.push(0x1f80)?;
    asm.ldmxcsr(dword_ptr(rsp))?;
    asm.pop(rcx)?;
    for register in KEPT.iter().rev() {
        asm.pop(*register)?;
    }
    asm.ret()?;
    asm.assemble(base + COLLECT)
}

/// Returns an operand relative to the instruction.
fn there(addr: u64) -> MemoryOperand {
    MemoryOperand::with_base_displ_size(iced_x86::Register::RIP, addr as i64, 8)
}

/// Code whose first instructions are of all kinds that a jump may cover.
pub(super) const CODES: [(&str, Code); 12] = [
    ("plain", |asm, _| {
        asm.add(rax, 5)?;
        asm.mov(qword_ptr(rsp - 8), rcx)
    }),
    ("reads flags", |asm, _| {
        asm.adc(rax, 0)?;
        asm.setc(dl)?;
        asm.cmovs(rbx, rdi)
    }),
    ("pushes", |asm, _| {
        asm.push(rdi)?;
        asm.pop(r9)?;
        asm.mov(r8, rsp)
    }),
    ("vectors", |asm, _| {
        asm.addsd(xmm2, xmm9)?;
        asm.cvtsd2si(rax, xmm2)
    }),
    ("relative load", |asm, base| {
        let there = there(base + DATA);
        asm.add_instruction(Instruction::with2(
            iced_x86::Code::Mov_r64_rm64,
            R11,
            there,
        )?)
    }),
    ("relative comparison", |asm, base| {
        let there = there(base + DATA);
        let number = 0x5566_7788;
        asm.add_instruction(Instruction::with2(
            iced_x86::Code::Cmp_rm32_imm32,
            there,
            number,
        )?)?;
        asm.sete(cl)
    }),
    ("call", |asm, base| asm.call(base + HELPER)),
    ("call behind another", |asm, base| {
        asm.mov(rdi, rsp)?;
        asm.call(base + HELPER)
    }),
    ("indirect call", |asm, base| {
        let there = there(base + DATA + 8);
        asm.add_instruction(Instruction::with1(iced_x86::Code::Call_rm64, there)?)
    }),
    ("jump", |asm, base| {
        asm.inc(rax)?;
        asm.jmp(base + COLLECT)
    }),
    ("branch that is taken", |asm, base| {
        asm.xor(eax, eax)?;
        asm.je(base + COLLECT)?;
        asm.mov(rax, 77u64)
    }),
    ("branch that is not", |asm, base| {
        asm.xor(eax, eax)?;
        asm.jne(base + COLLECT)?;
        asm.mov(rax, 77u64)
    }),
];

#[test]
fn relocated_instructions_behave_the_same() {
    for (name, code) in CODES {
        let machine = machine();
        let alone = run(&machine, code, None);
        assert_eq!(alone.traps, 0);
        for (text, holds) in [
            ("i == 7", true),
            ("i == 8", false),
            ("a * a + i / 3 - i % 2 == 1", true),
            ("x * 2 == 5 && y < 0", true),
            ("x + y > 100 || i << a % 7 == -1", false),
            ("1 == 1", true),
            ("*(int *)16 == 3", true),
        ] {
            let condition = condition(&machine, text);
            let with = run(&machine, code, Some((Some(&condition), HitAction::Stop)));
            assert_eq!(with.seen, alone.seen, "{name}: {text}");
            assert_eq!(with.traps, usize::from(holds), "{name}: {text}");
            assert_eq!(with.is_evaluated_outside, holds, "{name}: {text}");
            let passes = 6u64;
            let decision = Decision {
                passes: Some(LoadAddr(&raw const passes as u64)),
                ..Decision::from(Some(&condition))
            };
            let counting = run_decided(&machine, code, Some((decision, HitAction::Stop)));
            assert_eq!(counting.seen, alone.seen, "{name}: {text}");
            assert_eq!(counting.traps, usize::from(holds), "{name}: {text}");
            let counted = read_word(LoadAddr(&raw const passes as u64));
            assert_eq!(counted, 7 - u64::from(holds), "{name}: {text}");
        }
    }
}

#[test]
fn trampoline_counts_and_stops() {
    use HitCondition::{AtLeast, AtMost, Every, Exactly, LessThan, MoreThan};
    for hit in [
        Every(3),
        Exactly(4),
        AtLeast(8),
        MoreThan(8),
        AtMost(2),
        LessThan(2),
    ] {
        for (name, code) in CODES {
            let machine = machine();
            let alone = run(&machine, code, None).seen;
            let mut counter = Box::new(0u64);
            let at = LoadAddr(&raw mut *counter as u64);
            let then = HitAction::Count(Count { at, hit });
            let holds = condition(&machine, "x > 2 && i == 7");
            let not = condition(&machine, "x > 3 || i == 8");
            for number in 1..=10 {
                let with = run(&machine, code, Some((Some(&not), then)));
                assert_eq!((with.seen, with.traps), (alone.clone(), 0), "{name}");
                let with = run(&machine, code, Some((Some(&holds), then)));
                assert_eq!(with.seen, alone, "{name}");
                assert_eq!(
                    with.stopped,
                    hit.holds(number),
                    "{name}: {hit:?} at {number}"
                );
                assert_eq!(with.traps, usize::from(hit.holds(number)), "{name}");
            }
            let counted = read_word(at);
            assert_eq!(counted, 10, "{name}: {hit:?}");
        }
    }
}

/// The state of the machine and of two words of memory.
fn state_of(machine: &Machine, words: &[u64; 2]) -> Vec<Expected> {
    let registers = Arch::X86_64.general_registers().zip(machine.general);
    let registers = registers.map(|(register, value)| Expected::Register(register, value));
    let words = words.iter().map(|word| {
        let at = std::ptr::from_ref(word) as u64;
        Expected::Word(LoadAddr(at), *word)
    });
    registers.chain(words).collect()
}

#[test]
fn end_is_recognised_before_a_hit_is_counted() {
    for (name, code) in CODES {
        let machine = machine();
        let alone = run(&machine, code, None).seen;
        let words = Box::new([5, 0x1234_5678_9abc_def0]);
        let state = state_of(&machine, &words);
        let mut counter = Box::new(0u64);
        let at = LoadAddr(&raw mut *counter as u64);
        let hit = HitCondition::Exactly(0);
        // Registers that the comparison with the end uses are read by the condition.
        let holds = condition(&machine, "a == 0").apart();
        let mut hits = 0;
        for differs in (0..state.len()).map(Some).chain([None]) {
            let mut state = state.clone();
            if let Some(differs) = differs {
                let (Expected::Register(_, value) | Expected::Word(_, value)) = &mut state[differs];
                *value ^= 1 << (differs * 3);
            }
            let end = Condition::of_expected(Arch::X86_64, &state).expect("a condition");
            let decide = |condition| Decision {
                end: Some(&end),
                condition,
                passes: None,
            };
            let is_end = usize::from(differs.is_none());
            let then = HitAction::Count(Count { at, hit });
            for (decision, then) in [
                (decide(None), HitAction::Pass),
                (decide(Some(&holds)), then),
                (decide(None), then),
            ] {
                let with = run_decided(&machine, code, Some((decision, then)));
                assert_eq!(with.seen, alone, "{name}: {differs:?}");
                assert_eq!(with.traps, is_end, "{name}: {differs:?}");
                assert_eq!(with.is_evaluated_outside, is_end == 1);
            }
            hits += 2 * u64::from(is_end == 0);
            assert_eq!(read_word(at), hits, "{name}: {differs:?}");
        }
    }
}

#[test]
fn conditions_on_another_stack_read_the_program_s() {
    for (name, code) in CODES {
        let machine = machine();
        let alone = run(&machine, code, None).seen;
        for (text, holds) in [
            ("top > 5 && b == 9", true),
            ("top == 0x100000001", false),
            ("b == 9 && top + x * 2 > 0x100000004", true),
            ("*(&top) - b == top - 8", false),
        ] {
            let condition = condition(&machine, text).apart();
            let decision = Some(&condition).into();
            let with = run_decided(&machine, code, Some((decision, HitAction::Stop)));
            assert_eq!(with.seen, alone, "{name}: {text}");
            assert_eq!(with.traps, usize::from(holds), "{name}: {text}");
        }
    }
}

#[test]
fn hits_of_several_breakpoints_are_counted_or_none() {
    for (name, code) in CODES {
        let machine = machine();
        let alone = run(&machine, code, None).seen;
        let counters = Box::new([0u64; 4]);
        let place = counters.as_ptr() as u64;
        let counted = |nth: u64, condition: Option<&str>, target| Counted {
            condition: condition.map(|text| self::condition(&machine, text).apart()),
            at: LoadAddr(place + 8 * nth),
            target,
        };
        let counts = || [0, 1, 2, 3].map(|nth| read_word(LoadAddr(place + 8 * nth)));
        // Each condition reads registers that others, or the marks, may have changed.
        let mut all = vec![
            counted(0, Some("top > 5 && b == 9 && x > 2 && a == 0"), None),
            counted(1, None, None),
            counted(2, Some("i == 8 || i * a == 3"), Some(1)),
            counted(
                3,
                Some("top == 0x100000000 && a == 0 && i == 7 && b == 9"),
                Some(3),
            ),
        ];
        let words = Box::new([1, 2]);
        let mut state = state_of(&machine, &words);
        state[0] = Expected::Register(dwarf::Register(0), 1);
        let end = Condition::of_expected(Arch::X86_64, &state).expect("a condition");
        let decision = Decision {
            end: Some(&end),
            condition: None,
            passes: None,
        };
        let pass = |all: &[Counted]| {
            let with = run_decided(&machine, code, Some((decision, HitAction::CountAll(all))));
            assert_eq!(with.seen, alone, "{name}");
            assert!(!with.stopped && with.traps == usize::from(with.is_evaluated_outside));
            (with.traps, counts())
        };
        assert_eq!(pass(&all), (0, [1, 1, 0, 1]), "{name}");
        assert_eq!(pass(&all), (0, [2, 2, 0, 2]), "{name}");
        // The third hit of the last one stops; the debugger counts for all.
        assert_eq!(pass(&all), (1, [2, 2, 0, 2]), "{name}");
        all[3].target = None;
        assert_eq!(pass(&all), (0, [3, 3, 0, 3]), "{name}");
        // So does one whose condition the program cannot evaluate.
        all[3] = counted(3, Some("*(int *)16 == i / (a - a)"), None);
        all[2].condition = None;
        all[2].target = Some(9);
        assert_eq!(pass(&all), (1, [3, 3, 0, 3]), "{name}");
    }
}

/// Returns the instructions that a jump at a site replaces.
fn window(site: LoadAddr, code: &[u8], machine: &Machine) -> PatchedRange {
    let run = super::function_code::CodeRange {
        start: site,
        bytes: code.to_vec(),
        behind: Vec::new(),
        padding: 0,
    };
    let target: &dyn crate::inspect::value::Target = machine;
    let code = FunctionCode::new(vec![run], BTreeSet::new(), target.memory());
    let window = super::window::at(site, &code, &[]).expect("a window");
    assert!(window.overlapped_bytes.is_empty());
    window
}

/// Reads a word written by the test's own code.
fn read_word(at: LoadAddr) -> u64 {
    let mut word = [0; 8];
    let machine = Machine::new(Language::C);
    let target: &dyn crate::inspect::value::Target = &machine;
    target.memory().read(at, &mut word).expect("own memory");
    u64::from_le_bytes(word)
}

fn message(machine: &Machine, texts: &[&str]) -> Message {
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

#[test]
fn records_are_complete_and_wait_for_space() {
    for (name, code) in CODES {
        let machine = machine();
        let alone = run(&machine, code, None).seen;
        let message = message(&machine, &["i", "x", "y * 2", "s", "a"]);
        let (shared, at, _map) = own_code::shared(log_ring::LEN as usize);
        let mut ring = Ring::new(LoadAddr(at), shared);
        let condition = condition(&machine, "y < 0");
        let then = HitAction::Say {
            message: &message,
            ring: LoadAddr(at),
            count: None,
        };
        let mut values = Vec::new();
        for _ in 0..3 {
            let with = run(&machine, code, Some((Some(&condition), then)));
            assert_eq!((with.seen, with.traps), (alone.clone(), 0), "{name}");
            assert!(ring.next(&mut values).is_some(), "{name}");
            let mut text = String::new();
            message.text(&values, &machine, &mut text);
            let pointer = c"some text".as_ptr() as u64;
            let s = machine.general[3];
            assert_eq!(s, pointer);
            assert_eq!(
                text,
                format!("7 2.5 -0.5 {s:#x} \"some text\" 0 \n"),
                "{name}"
            );
            assert!(ring.next(&mut values).is_none() && ring.is_drained());
        }
    }
}

#[test]
fn full_ring_traps_before_or_after_the_count() {
    let machine = machine();
    let (_, code) = CODES[0];
    let alone = run(&machine, code, None).seen;
    let message = message(&machine, &["i"]);
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
            let with = run(&machine, code, Some((None, then)));
            assert_eq!(with.seen, alone);
            let stops = hit.is_none_or(|hit| hit.holds(number));
            assert_eq!(with.traps, usize::from(stops));
            assert_eq!(with.is_evaluated_outside, hit.is_none());
            assert_eq!(with.stopped, stops && hit.is_some());
        }
        assert!(ring.skip_abandoned());
        let mut values = Vec::new();
        for number in 5..=8u64 {
            let with = run(&machine, code, Some((None, then)));
            assert_eq!((with.seen, with.traps), (alone.clone(), 0));
            let stops = hit.is_none_or(|hit| hit.holds(number));
            assert_eq!(ring.next(&mut values).is_some(), stops);
        }
    }
}

/// Each instruction has a state from which the program's position is known.
#[test]
fn every_instruction_has_a_state() {
    let machine = machine();
    let message = message(&machine, &["i", "s", "x"]);
    let holds = condition(&machine, "x > 2 && i == 7");
    let count = Count {
        at: LoadAddr(0x1000),
        hit: HitCondition::Every(7),
    };
    let ring = LoadAddr(0x2000);
    let site = LoadAddr(0x40_0000);
    let counted = [None, Some(holds.clone())].map(|condition| Counted {
        condition,
        at: LoadAddr(0x1000),
        target: Some(3),
    });
    for then in [
        HitAction::Stop,
        HitAction::Pass,
        HitAction::CountAll(&counted),
        HitAction::Count(count),
        HitAction::Say {
            message: &message,
            ring,
            count: None,
        },
        HitAction::Say {
            message: &message,
            ring,
            count: Some(count),
        },
    ] {
        let mut asm = CodeAssembler::new(64).expect("an assembler");
        asm.mov(rdi, rsp).expect("code");
        asm.call(site.0 + 0x100).expect("code");
        let code = asm.assemble(site.0).expect("code");
        let window = window(site, &code, &machine);
        let start = LoadAddr(0x41_0000);
        let decision = Decision {
            end: Some(&holds),
            condition: Some(&holds),
            passes: None,
        };
        let trampoline = super::trampoline::build(Place::new(start, site), &window, decision, then);
        let trampoline = trampoline.expect("a trampoline");
        let mut decoder = iced_x86::Decoder::with_ip(64, &trampoline.bytes, start.0, 0);
        let mut decided = false;
        let mut at_end = None;
        while decoder.can_decode() {
            let instruction = decoder.decode();
            assert!(!instruction.is_invalid());
            let state = trampoline
                .state(LoadAddr(instruction.ip()))
                .expect("a state");
            decided |= state == TrampolineState::Committing;
            // Counters are changed only where nothing starts again.
            if instruction.mnemonic() == iced_x86::Mnemonic::Inc
                && instruction.op0_kind() == iced_x86::OpKind::Memory
            {
                assert_eq!(state, TrampolineState::Committing);
            }
            // While the evaluation may start again, only the stack is written.
            let stores = instruction.has_lock_prefix();
            assert!(
                !stores
                    || matches!(
                        state,
                        TrampolineState::Evaluating(_) | TrampolineState::Committing
                    )
            );
            at_end = Some(state);
        }
        let says_something = !matches!(then, HitAction::Stop | HitAction::Pass);
        assert_eq!(decided, says_something);
        assert!(
            matches!(at_end, Some(TrampolineState::InRelocated(next)) if next == LoadAddr(site.0 + 0x100)),
            "{at_end:?}"
        );
        assert_eq!(
            trampoline.state(start + trampoline.bytes.len() as u64),
            None
        );
    }
}
