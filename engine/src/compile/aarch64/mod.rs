//! Code generation for aarch64.

mod address;
mod block;
mod emit;
mod float;
mod truth;

use super::captured::{Captured, Kept};
use super::set::{At, Limits, Uses, Work};
use super::{Condition, NotCompilable, SavedRegisters};
use crate::arch::aarch64::assembler::{Assembler, Label, V, X};
pub(crate) use emit::MAX_DEPTH;
use emit::{Emitter, POOL, VECTOR_POOL};

/// The registers of the set.
pub(super) const LIMITS: Limits = Limits {
    general: POOL.len(),
    vectors: VECTOR_POOL.len(),
    of_program: 32,
};

/// The vector registers that code may write.
pub(crate) const VECTORS: [V; 4] = VECTOR_POOL;

/// Jump targets of the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exits {
    /// The condition is true.
    pub(crate) yes: Label,
    /// The condition is false.
    pub(crate) no: Label,
    /// Deopt: the interpreter has to decide.
    pub(crate) deopt: Label,
}

impl Exits {
    /// Creates the labels.
    pub(crate) fn new(asm: &mut Assembler) -> Exits {
        Exits {
            yes: asm.label(),
            no: asm.label(),
            deopt: asm.label(),
        }
    }
}

/// Emits the code of a condition; it ends with a jump to one of `to`. It writes only the registers
/// that the condition clobbers; if it uses vectors, also [`VECTORS`] and the status of floating-point
/// arithmetic (FPSR), and it needs a control register (FPCR) of zero. The trampoline has to restore
/// them.
pub(crate) fn emit_condition(
    condition: &Condition,
    asm: &mut Assembler,
    saved: &SavedRegisters,
    to: Exits,
) {
    let mut emitter = Emitter::new(asm, saved, to, condition.uses.general);
    emitter.branch(&condition.truth, true, to.yes, At::START);
    asm.jump(to.no);
}

/// Emits code that stores the bytes of a value at `record` and advances it, then falls through; on a
/// deopt it jumps to `deopt`. The trampoline has saved the register `record`; the program's value is
/// read from there.
pub(crate) fn emit_captured(
    captured: &Captured,
    asm: &mut Assembler,
    saved: &SavedRegisters,
    record: X,
    deopt: Label,
) {
    let to = Exits {
        yes: deopt,
        no: deopt,
        deopt,
    };
    let clobbers = captured.uses.general | 1 << record.0;
    store(
        &mut Emitter::new(asm, saved, to, clobbers),
        captured,
        record,
    );
}

fn store(emitter: &mut Emitter<'_>, captured: &Captured, record: X) {
    match &captured.kept {
        Kept::Words(words, size) => {
            for (word, width, at) in words {
                emitter.int(word, At::START);
                emitter.store(At::START, (record, i64::from(*at)), *width);
            }
            emitter.advance(record, size.next_multiple_of(8));
        }
        Kept::Float(float, single) => emitter.store_float(float, *single, record),
        Kept::Block => {}
    }
    for block in &captured.blocks {
        emitter.block(block, record, captured.room);
    }
}

/// Returns the registers that code writes. A dry run, for which all scratch registers are clobbered,
/// writes at least the registers that the final code writes.
pub(super) fn uses(work: Work<'_>) -> Result<Uses, NotCompilable> {
    /// Any register that the code itself does not write.
    const RECORD: X = X(0);
    let saved = SavedRegisters::default();
    let mut asm = Assembler::default();
    let to = Exits::new(&mut asm);
    let mut emitter = Emitter::new(&mut asm, &saved, to, 0).dry();
    match work {
        Work::Condition(truth) => emitter.branch(truth, true, to.yes, At::START),
        Work::Capture(captured) => {
            emitter.clobbers |= 1 << RECORD.0;
            store(&mut emitter, captured, RECORD);
        }
        Work::Measure(_) => {
            return Err("tracepoints are evaluated by the debugger on aarch64".into());
        }
    }
    Ok(Uses {
        general: emitter.written,
        general_apart: emitter.written,
        vectors: emitter.vectors,
    })
}
