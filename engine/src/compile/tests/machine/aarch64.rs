//! The machine's code on aarch64.

use super::{Answer, Machine, SP};
use crate::arch::Arch;
use crate::arch::aarch64::assembler::{self, Assembler, Size, V, X};
use crate::compile::aarch64::{Exits, VECTORS, emit_captured, emit_condition};
use crate::compile::{Captured, Condition, SavedRegisters};
use crate::os::own_code;
use dwarf::{LoadAddr, Register};

/// Registers for variables.
pub const VARIABLES: [u16; 14] = [0, 1, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 30];
/// Distance from the stack pointer to the program's while the code runs.
const DEPTH: i32 = 1024;
/// Offset of the saved vector registers.
const SAVED_VECTORS: i32 = 512;
/// Size of the frame of the host's registers.
const HOST: i64 = 160;
const HOST_SP: X = assembler::SP;
/// Any register that code does not use by itself.
const RECORD: X = X(2);

/// Returns the outcome of a condition's code.
pub fn run(machine: &Machine, condition: &Condition) -> Answer {
    with_registers(machine, condition.clobbers(), |asm, saved, to| {
        emit_condition(condition, asm, saved, to);
    })
}

/// Captures a value at `place`, and stores where it ends at `end`.
pub fn capture(machine: &Machine, captured: &Captured, place: u64, end: u64) -> Answer {
    with_registers(machine, captured.clobbers(), |asm, saved, to| {
        asm.number(RECORD, place);
        emit_captured(captured, asm, saved, RECORD, to.deopt);
        asm.number(X(0), end);
        asm.store(RECORD, X(0), 0, Size::WORD);
        asm.jump(to.yes);
    })
}

fn with_registers(
    machine: &Machine,
    clobbers: impl Iterator<Item = Register>,
    body: impl FnOnce(&mut Assembler, &SavedRegisters, Exits),
) -> Answer {
    let saved = SavedRegisters {
        general: std::array::from_fn(|number| 8 * number as i32),
        written: 0,
        stack_pointer: DEPTH,
        keeps_stack_pointer: false,
        vectors: SAVED_VECTORS,
        vector_slot: 16,
    };
    let mut host = 0u64;
    let host = &raw mut host as u64;
    // The host compiler does not see that the code reads and writes these.
    let general = std::hint::black_box(machine.general);
    let vectors = std::hint::black_box(machine.vectors);
    let mut asm = Assembler::default();
    asm.add_number(HOST_SP, HOST_SP, -HOST);
    let pairs = (19..31).step_by(2).zip((0..).step_by(16));
    for (register, offset) in pairs.clone() {
        asm.store_pair((X(register), X(register + 1)), HOST_SP, offset);
    }
    for (register, offset) in (8..16).zip((96..).step_by(8)) {
        asm.store_float(V(register), HOST_SP, offset, false);
    }
    let (table, word) = (X(30), X(17));
    asm.number(table, host);
    asm.copy(word, HOST_SP);
    asm.store(word, table, 0, Size::WORD);
    asm.number(word, machine.general[SP] - DEPTH as u64);
    asm.add_number(HOST_SP, word, 0);
    asm.number(table, vectors.as_ptr() as u64);
    for (number, offset) in (0..32).step_by(2).zip((0..).step_by(32)) {
        asm.load_vectors((V(number), V(number + 1)), table, offset);
    }
    for (pair, offset) in VECTORS.chunks(2).zip((SAVED_VECTORS as u32..).step_by(32)) {
        asm.store_vectors((pair[0], pair[1]), HOST_SP, offset);
    }
    asm.number(word, u64::MAX);
    for garbage in VECTORS {
        asm.fmov_in(garbage, word);
    }
    asm.number(table, general.as_ptr() as u64);
    for offset in (0..31).map(|number| 8 * number) {
        asm.load(word, table, offset, Size::WORD);
        asm.store(word, HOST_SP, offset, Size::WORD);
    }
    for number in (0..31).filter(|number| *number != 18) {
        asm.load(X(number), table, 8 * i64::from(number), Size::WORD);
    }
    // Registers that the code may write are not available as the program's.
    for register in clobbers {
        asm.number(X(register.0 as u8), 0x5555_aaaa_5555_aaaa);
    }
    let to = Exits::new(&mut asm);
    let end = asm.label();
    body(&mut asm, &saved, to);
    for (label, value) in [(to.yes, 0), (to.no, 1), (to.deopt, 2)] {
        asm.place(label);
        asm.number(X(0), value);
        asm.jump(end);
    }
    asm.place(end);
    asm.number(X(1), host);
    asm.load(X(1), X(1), 0, Size::WORD);
    asm.add_number(HOST_SP, X(1), 0);
    for (register, offset) in pairs {
        asm.load_pair((X(register), X(register + 1)), HOST_SP, offset);
    }
    for (register, offset) in (8..16).zip((96..).step_by(8)) {
        asm.load_float(V(register), HOST_SP, offset, false);
    }
    asm.add_number(HOST_SP, HOST_SP, HOST);
    // ret
    asm.word(0xd65f_03c0);
    let words = asm.finish().expect("code");
    let code: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    match own_code::run(&code) {
        0 => Answer::Yes,
        1 => Answer::No,
        _ => Answer::Deopt,
    }
}

/// Returns the instructions of a condition.
pub fn listing(condition: &Condition) -> Vec<String> {
    let saved = SavedRegisters {
        general: std::array::from_fn(|number| 8 * number as i32),
        written: 0,
        stack_pointer: 0x100,
        keeps_stack_pointer: false,
        vectors: 0x80,
        vector_slot: 16,
    };
    let mut asm = Assembler::default();
    let to = Exits::new(&mut asm);
    emit_condition(condition, &mut asm, &saved, to);
    for label in [to.yes, to.no, to.deopt] {
        asm.place(label);
        asm.word(0xd503_201f);
    }
    let words = asm.finish().expect("code");
    let code: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut formatter = crate::arch::Formatter::new(Arch::Aarch64, Default::default());
    let decoded = Arch::Aarch64.decode_all(&code, LoadAddr(0x1000));
    let instructions = decoded.map(|it| match it {
        Ok(instruction) => formatter.text(&instruction),
        Err(bad) => format!("{bad:?}"),
    });
    instructions.filter(|it| it != "nop").collect()
}
