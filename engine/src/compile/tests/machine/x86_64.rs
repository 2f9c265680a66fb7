//! The machine's code on x86-64.

use super::{Answer, Machine, SP};
use crate::compile::x86_64::{Exits, emit_captured, emit_condition};
use crate::compile::{Captured, Condition, SavedRegisters};
use crate::os::own_code;
use dwarf::Register;
use iced_x86::code_asm::*;

/// Registers for variables.
pub const VARIABLES: [u16; 14] = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// Returns the outcome of a condition's code.
pub fn run(machine: &Machine, condition: &Condition) -> Answer {
    with_registers(machine, condition.clobbers(), |asm, saved, to| {
        emit_condition(condition, asm, saved, to)
    })
}

/// Captures a value at `place`, and stores where it ends at `end`.
pub fn capture(machine: &Machine, captured: &Captured, place: u64, end: u64) -> Answer {
    with_registers(machine, captured.clobbers(), |asm, saved, to| {
        asm.mov(rbx, place)?;
        emit_captured(captured, asm, saved, rbx, to.deopt)?;
        asm.mov(rax, end)?;
        asm.mov(qword_ptr(rax), rbx)?;
        asm.jmp(to.yes)
    })
}

fn with_registers(
    machine: &Machine,
    clobbers: impl Iterator<Item = Register>,
    body: impl FnOnce(&mut CodeAssembler, &SavedRegisters, Exits) -> Result<(), iced_x86::IcedError>,
) -> Answer {
    let saved = SavedRegisters {
        general: std::array::from_fn(|number| -1024 + 8 * number as i32),
        vectors: -1024 + 16 * 8,
        vector_slot: 16,
        ..SavedRegisters::default()
    };
    let mut host = 0u64;
    let mut asm = CodeAssembler::new(64).expect("an assembler");
    let kept = [rbx, rbp, r12, r13, r14, r15];
    let all = [
        rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15,
    ];
    let xmm = [
        xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13,
        xmm14, xmm15,
    ];
    let emit = || -> Result<Vec<u8>, iced_x86::IcedError> {
        for register in kept {
            asm.push(register)?;
        }
        asm.mov(rax, &raw mut host as u64)?;
        asm.mov(qword_ptr(rax), rsp)?;
        asm.mov(rsp, machine.general[SP])?;
        for (number, value) in machine.vectors.iter().take(16).enumerate() {
            for half in [8, 0] {
                asm.mov(rax, (*value >> (8 * half)) as u64)?;
                asm.mov(qword_ptr(rsp + (-64 + half)), rax)?;
            }
            asm.movups(xmm[number], xmmword_ptr(rsp + -64))?;
            if number < 4 {
                let place = rsp + (saved.vectors + 16 * number as i32);
                asm.movups(xmmword_ptr(place), xmm[number])?;
            }
        }
        for number in (0..16).filter(|number| *number != 7) {
            asm.mov(rax, machine.general[number])?;
            asm.mov(qword_ptr(rsp + saved.general[number]), rax)?;
        }
        for number in (0..16).filter(|number| *number != 7) {
            asm.mov(all[number], machine.general[number])?;
        }
        // Registers that the code may write are not available as the program's.
        for register in clobbers {
            asm.mov(all[usize::from(register.0)], 0x5555_aaaa_5555_aaaau64)?;
        }
        for garbage in &xmm[..4] {
            asm.pcmpeqd(*garbage, *garbage)?;
        }
        let mut to = Exits::new(&mut asm);
        let mut end = asm.create_label();
        body(&mut asm, &saved, to)?;
        for (label, value) in [(&mut to.yes, 0u32), (&mut to.no, 1), (&mut to.deopt, 2)] {
            asm.set_label(label)?;
            asm.mov(eax, value)?;
            asm.jmp(end)?;
        }
        asm.set_label(&mut end)?;
        asm.mov(rcx, &raw mut host as u64)?;
        asm.mov(rsp, qword_ptr(rcx))?;
        for register in kept.iter().rev() {
            asm.pop(*register)?;
        }
        asm.ret()?;
        asm.assemble(0x1000)
    };
    match own_code::run(&emit().expect("code")) {
        0 => Answer::Yes,
        1 => Answer::No,
        _ => Answer::Deopt,
    }
}

/// Returns the instructions of a condition.
pub fn listing(condition: &Condition) -> Vec<String> {
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
    let saved = SavedRegisters {
        general: std::array::from_fn(|number| 8 * number as i32),
        stack_pointer: 0x100,
        vectors: 0x80,
        vector_slot: 16,
        ..SavedRegisters::default()
    };
    let mut asm = CodeAssembler::new(64).expect("an assembler");
    let mut to = Exits::new(&mut asm);
    emit_condition(condition, &mut asm, &saved, to).expect("code");
    for label in [&mut to.yes, &mut to.no, &mut to.deopt] {
        asm.set_label(label).expect("a label");
        asm.nop().expect("a place");
    }
    let code = asm.assemble(0x1000).expect("code");
    let mut formatter = IntelFormatter::new();
    let decoder = Decoder::with_ip(64, &code, 0x1000, DecoderOptions::NONE);
    let instructions = decoder.into_iter().map(|instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        text
    });
    instructions.filter(|it| it != "nop").collect()
}
