//! Code generation for x86-64.

mod address;
mod block;
mod emit;
mod float;
mod truth;

use super::captured::{Captured, Kept};
use super::code::Width;
use super::set::{At, Limits, Uses, Work};
use super::traced::{Measured, Number};
use super::{Condition, NotCompilable, SavedRegisters};
use emit::Emitter;
use iced_x86::IcedError;
use iced_x86::code_asm::{AsmRegister64, CodeAssembler, CodeLabel, ptr, qword_ptr, rbx, rsp};

/// The registers of the set.
pub(super) const LIMITS: Limits = Limits {
    general: emit::POOL.len(),
    vectors: emit::VECTOR_POOL,
    of_program: 16,
};

/// Jump targets of the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exits {
    /// The condition is true.
    pub(crate) yes: CodeLabel,
    /// The condition is false.
    pub(crate) no: CodeLabel,
    /// Deopt: the interpreter has to decide.
    pub(crate) deopt: CodeLabel,
}

impl Exits {
    /// Returns the targets of code that computes no truth value.
    fn only(deopt: CodeLabel) -> Exits {
        Exits {
            yes: deopt,
            no: deopt,
            deopt,
        }
    }

    /// Creates the labels.
    pub(crate) fn new(asm: &mut CodeAssembler) -> Exits {
        Exits {
            yes: asm.create_label(),
            no: asm.create_label(),
            deopt: asm.create_label(),
        }
    }
}

/// Emits the code of a condition; it ends with a jump to one of `to`. It writes only the registers
/// that the condition clobbers; if it uses vectors, also `xmm0` to `xmm3`, and it needs the initial
/// floating-point control word (`mxcsr`), `0x1f80`. The trampoline has to restore both.
///
/// # Errors
/// The assembler fails, which is not expected.
pub(crate) fn emit_condition(
    condition: &Condition,
    asm: &mut CodeAssembler,
    saved: &SavedRegisters,
    to: Exits,
) -> Result<(), IcedError> {
    let mut emitter = Emitter::new(asm, saved, to, condition.uses.general);
    emitter.branch(&condition.truth, true, to.yes, At::START)?;
    asm.jmp(to.no)
}

/// Emits code that stores the bytes of a value at `record` and advances it, then falls through; on a
/// deopt it jumps to `deopt`. The trampoline has saved the register `record`; the program's value is
/// read from there.
///
/// # Errors
/// Those of the assembler; none is expected.
pub(crate) fn emit_captured(
    captured: &Captured,
    asm: &mut CodeAssembler,
    saved: &SavedRegisters,
    record: AsmRegister64,
    deopt: CodeLabel,
) -> Result<(), IcedError> {
    let to = Exits::only(deopt);
    let clobbers = captured.uses.general | emit::bit_of(record);
    store(
        &mut Emitter::new(asm, saved, to, clobbers),
        captured,
        record,
    )
}

/// Emits code that stores a number's 64 bits at `at` bytes above the stack pointer, then falls through;
/// on a deopt it jumps to `deopt`.
///
/// # Errors
/// Those of the assembler; none is expected.
pub(crate) fn emit_measured(
    measured: &Measured,
    asm: &mut CodeAssembler,
    saved: &SavedRegisters,
    at: i32,
    deopt: CodeLabel,
) -> Result<(), IcedError> {
    let to = Exits::only(deopt);
    let mut emitter = Emitter::new(asm, saved, to, measured.uses.general);
    measure(&mut emitter, measured, at)
}

fn measure(emitter: &mut Emitter<'_>, measured: &Measured, at: i32) -> emit::Done {
    match &measured.number {
        Number::Int(int) => {
            emitter.int(int, At::START)?;
            emitter.store(At::START, ptr(rsp + at), Width::WORD)
        }
        Number::Float(float) => {
            emitter.float(float, At::START)?;
            let from = emitter.vector(At::START);
            emitter.asm.movsd_2(qword_ptr(rsp + at), from)
        }
    }
}

fn store(emitter: &mut Emitter<'_>, captured: &Captured, record: AsmRegister64) -> emit::Done {
    match &captured.kept {
        Kept::Words(words, size) => {
            for (word, width, at) in words {
                emitter.int(word, At::START)?;
                emitter.store(At::START, ptr(record + *at), *width)?;
            }
            let size = size.next_multiple_of(8) as i32;
            emitter.asm.lea(record, ptr(record + size))?;
        }
        Kept::Float(float, single) => emitter.store_float(float, *single, record)?,
        Kept::Block => {}
    }
    for block in &captured.blocks {
        emitter.block(block, record, captured.room)?;
    }
    Ok(())
}

/// Returns the registers that code writes. A dry run, for which all scratch registers are clobbered,
/// writes at least the registers that the final code writes.
pub(super) fn uses(work: Work<'_>) -> Result<Uses, NotCompilable> {
    let emit = |keeps_stack_pointer| -> Result<Uses, IcedError> {
        let saved = SavedRegisters {
            keeps_stack_pointer,
            ..SavedRegisters::default()
        };
        let mut asm = CodeAssembler::new(64)?;
        let to = Exits::new(&mut asm);
        let mut emitter = Emitter::new(&mut asm, &saved, to, emit::SCRATCH);
        match work {
            Work::Condition(truth) => emitter.branch(truth, true, to.yes, At::START)?,
            Work::Capture(captured) => {
                emitter.clobbers |= emit::bit_of(rbx);
                store(&mut emitter, captured, rbx)?;
            }
            Work::Measure(measured) => measure(&mut emitter, measured, 0)?,
        }
        Ok(Uses {
            general: emitter.written,
            general_apart: emitter.written,
            vectors: emitter.vectors,
        })
    };
    let both = || -> Result<Uses, IcedError> {
        Ok(Uses {
            general_apart: emit(true)?.general,
            ..emit(false)?
        })
    };
    both().map_err(|error| NotCompilable::new(format!("cannot assemble it: {error}")))
}
