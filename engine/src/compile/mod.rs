//! Compiler of conditions: a parsed expression becomes x86-64 instructions that the debuggee runs
//! at the breakpoint. The result is yes, no, or a deopt to the interpreter
//! ([`crate::expr`]). Compiled code gives the interpreter's result; wherever it might
//! differ, or the interpreter would report an error, it is a deopt.
//!
//! This module does not access the process: [`Scope`] resolves names at an address. The code writes
//! only its scratch registers. A fault in it (an unmapped address) thus has no effect, and is a
//! deopt.

mod captured;
mod checked;
mod code;
mod containers;
mod emit;
mod emit_address;
mod emit_block;
mod emit_float;
mod emit_truth;
mod image;
mod lower;
mod needs;
mod numbers;
mod place;
mod probe;
mod scope;
mod texts;
mod variants;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use captured::Captured;
pub(crate) use image::CodeScope;
pub(crate) use place::{RuntimeLocation, RuntimeValue};
#[cfg(test)]
pub(crate) use probe::NoProcess;
pub(crate) use scope::Scope;

use crate::expr::Expression;
use crate::inspect::value::Ty;
use code::{Address, BoolExpr, Int};
use emit::{At, Emitter};
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel};
use needs::Needs;

/// Maximum number of nodes of a condition; the interpreter evaluates larger ones.
const MAX_PARTS: usize = 2000;

/// Why an expression needs the interpreter, in a few words for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NotCompilable(pub(crate) String);

impl NotCompilable {
    fn unknown_name(name: &str) -> NotCompilable {
        NotCompilable(format!("unknown name `{name}`"))
    }

    fn special_layout(ty: &Ty) -> NotCompilable {
        NotCompilable(format!("a `{}` has a special layout", ty.name()))
    }

    fn not_a_value(ty: &Ty) -> NotCompilable {
        NotCompilable(format!("a `{}` is not a value", ty.name()))
    }
}

impl std::fmt::Display for NotCompilable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for NotCompilable {
    fn from(text: &str) -> NotCompilable {
        NotCompilable(text.to_owned())
    }
}

/// Offsets in bytes from `rsp`, which is constant while the code runs, to the saved registers of
/// the interrupted program.
#[derive(Clone, Debug)]
pub(crate) struct SavedRegisters {
    /// The general-purpose registers by DWARF number; the entry of `rsp` is not used. Only those
    /// that the code clobbers ([`Condition::clobbers`]) need to be saved: the others still have the
    /// program's values.
    pub(crate) general: [i32; 16],
    /// Mask, by DWARF number, of further registers that earlier code has written: they are read
    /// from their saved values, too.
    pub(crate) written: u32,
    /// Distance in bytes from `rsp` up to the program's stack pointer.
    pub(crate) stack_pointer: i32,
    /// `xmm0` to `xmm3`, 16 bytes each; used if [`Condition::uses_vectors`].
    pub(crate) vectors: i32,
}

impl SavedRegisters {
    fn place(&self, register: dwarf::Register) -> i32 {
        let place = self.general.get(usize::from(register.0));
        place.copied().unwrap_or_default()
    }
}

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

/// A compiled condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    truth: BoolExpr,
    clobbers: u32,
    vectors: bool,
}

impl Condition {
    /// Compiles `expression` in `scope`.
    ///
    /// # Errors
    /// Why the expression needs the interpreter.
    pub(crate) fn compile(
        expression: &Expression,
        scope: &dyn Scope,
    ) -> Result<Condition, NotCompilable> {
        let truth = lower::Compiler::new(expression, scope).truth(expression.root())?;
        check(truth.needs())?;
        let mut condition = Condition {
            truth,
            clobbers: emit::SCRATCH,
            vectors: false,
        };
        // A dry run, for which all scratch registers are clobbered, writes at least the registers
        // that the final code writes.
        let (written, vectors) = dry_run(|asm, saved, to| {
            let mut emitter = condition.emitter(asm, saved, to);
            emitter.branch(&condition.truth, true, to.yes, At::START)?;
            Ok((emitter.written, emitter.vectors))
        })?;
        condition.clobbers = written;
        condition.vectors = vectors;
        Ok(condition)
    }

    /// Returns the general-purpose registers that the code may write. It changes the flags, too.
    pub(crate) fn clobbers(&self) -> impl Iterator<Item = dwarf::Register> + use<> {
        registers(self.clobbers)
    }

    /// Returns whether the code may clobber `xmm0` to `xmm3`, and needs the initial floating-point
    /// control word (`mxcsr`), `0x1f80`. The trampoline has to restore both.
    pub(crate) fn uses_vectors(&self) -> bool {
        self.vectors
    }

    /// Returns the value if the expression is constant.
    #[cfg(test)]
    pub(crate) fn known(&self) -> Option<bool> {
        match self.truth {
            BoolExpr::Constant(known) => Some(known),
            _ => None,
        }
    }

    /// Emits the code; it ends with a jump to one of `to`.
    ///
    /// # Errors
    /// The assembler fails, which is not expected.
    pub(crate) fn emit(
        &self,
        asm: &mut CodeAssembler,
        saved: &SavedRegisters,
        to: Exits,
    ) -> Result<(), IcedError> {
        let mut emitter = self.emitter(asm, saved, to);
        emitter.branch(&self.truth, true, to.yes, At::START)?;
        asm.jmp(to.no)
    }

    fn emitter<'a>(
        &self,
        asm: &'a mut CodeAssembler,
        saved: &'a SavedRegisters,
        to: Exits,
    ) -> Emitter<'a> {
        Emitter {
            asm,
            saved,
            to,
            clobbers: self.clobbers,
            written: 0,
            vectors: false,
        }
    }
}

fn registers(set: u32) -> impl Iterator<Item = dwarf::Register> + use<> {
    (0..16)
        .filter(move |number| set & 1 << number != 0)
        .map(dwarf::Register)
}

fn check(needs: Needs) -> Result<(), NotCompilable> {
    if needs.parts > MAX_PARTS {
        return Err(crate::expr::messages::TOO_LONG.into());
    }
    if needs.general > emit::POOL.len() || needs.vectors > emit::VECTOR_POOL {
        return Err("the expression needs too many registers".into());
    }
    Ok(())
}

/// Generates code only for the result of `emit`; the code is discarded.
fn dry_run<T>(
    emit: impl FnOnce(&mut CodeAssembler, &SavedRegisters, Exits) -> Result<T, IcedError>,
) -> Result<T, NotCompilable> {
    let saved = SavedRegisters {
        general: [0; 16],
        written: 0,
        stack_pointer: 0,
        vectors: 0,
    };
    let failed = |error: IcedError| NotCompilable(format!("cannot assemble it: {error}"));
    let mut asm = CodeAssembler::new(64).map_err(failed)?;
    let to = Exits {
        yes: asm.create_label(),
        no: asm.create_label(),
        deopt: asm.create_label(),
    };
    emit(&mut asm, &saved, to).map_err(failed)
}

/// Returns the location that a pointer points to.
fn pointed(pointer: Int) -> RuntimeLocation {
    RuntimeLocation::Memory(Address::pointed(pointer))
}
