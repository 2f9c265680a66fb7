//! Conditions as code of the debuggee's own: a checked expression is compiled to x86-64
//! instructions that run where the breakpoint is, and say yes, no, or that the interpreter
//! ([`crate::eval`]) has to be asked. What is compiled means exactly what the interpreter means;
//! whatever might differ, or would be an error there, asks.
//!
//! No process is known here: [`Scope`] says what names mean at an address. The code writes
//! nothing but its scratch registers, so a fault in it (an address that is not mapped) leaves
//! nothing behind, and is to be taken as the wish to ask.

mod captured;
mod code;
mod compile;
mod containers;
mod emit;
mod emit_address;
mod emit_block;
mod emit_float;
mod emit_truth;
mod image;
mod lacking;
mod needs;
mod numbers;
mod operators;
mod place;
mod probe;
mod scope;
mod variants;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use captured::Captured;
pub(crate) use image::CodeScope;
pub(crate) use lacking::Declared;
pub(crate) use place::{Found, Place};
#[cfg(test)]
pub(crate) use probe::NoProcess;
pub(crate) use probe::{may_have_member, member_type};
pub(crate) use scope::Scope;

use crate::eval::Expression;
use code::{Address, Int, Truth};
use emit::{At, Emitter};
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel};
use needs::Needs;

/// Parts of a condition; more code than these make would not pay.
const MOST_PARTS: usize = 2000;

/// Why an expression stays with the interpreter, in a few words for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reason(pub(crate) String);

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        Reason(text.to_owned())
    }
}

/// Where the code finds the registers of the interrupted program, in bytes from `rsp`, which
/// stays where it is while the code runs.
#[derive(Clone, Debug)]
pub(crate) struct SavedRegisters {
    /// The general registers by their DWARF numbers; `rsp`'s is not used. Only those that the
    /// code clobbers ([`Condition::clobbers`]) need to have been saved: it takes the others
    /// from where they are.
    pub(crate) general: [i32; 16],
    /// More registers, a bit each by DWARF number, that what came before has written: they are
    /// taken from there, too.
    pub(crate) written: u32,
    /// How far above the present `rsp` the program's own pointed.
    pub(crate) stack_pointer: i32,
    /// `xmm0` to `xmm3`, 16 bytes each; used where [`Condition::uses_vectors`].
    pub(crate) vectors: i32,
}

impl SavedRegisters {
    fn place(&self, register: dwarf::Register) -> i32 {
        let place = self.general.get(usize::from(register.0));
        place.copied().unwrap_or_default()
    }
}

/// Where the code goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcomes {
    /// The condition holds.
    pub(crate) yes: CodeLabel,
    /// It does not.
    pub(crate) no: CodeLabel,
    /// The interpreter has to be asked.
    pub(crate) ask: CodeLabel,
}

/// A condition, ready to be emitted.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    truth: Truth,
    clobbers: u32,
    vectors: bool,
}

impl Condition {
    /// What `expression` means where `scope` is.
    ///
    /// # Errors
    /// Why it stays with the interpreter.
    pub(crate) fn compile(expression: &Expression, scope: &dyn Scope) -> Result<Condition, Reason> {
        let truth = compile::Compiler::new(expression, scope).truth(expression.root())?;
        check(truth.needs())?;
        let mut condition = Condition {
            truth,
            clobbers: emit::SCRATCH,
            vectors: false,
        };
        // What a first pass writes is all that any pass writes.
        let (written, vectors) = dry_run(|asm, saved, to| {
            let mut emitter = condition.emitter(asm, saved, to);
            emitter.branch(&condition.truth, true, to.yes, At::START)?;
            Ok((emitter.written, emitter.vectors))
        })?;
        condition.clobbers = written;
        condition.vectors = vectors;
        Ok(condition)
    }

    /// The general registers that the code writes, by their DWARF numbers; flags besides.
    pub(crate) fn clobbers(&self) -> impl Iterator<Item = dwarf::Register> + use<> {
        registers(self.clobbers)
    }

    /// Whether it may clobber `xmm0` to `xmm3`, and has to run with the floating-point control
    /// word (`mxcsr`) that programs start with, `0x1f80`; both are the trampoline's to restore.
    pub(crate) fn uses_vectors(&self) -> bool {
        self.vectors
    }

    /// Whether the expression was a constant, and which.
    #[cfg(test)]
    pub(crate) fn known(&self) -> Option<bool> {
        match self.truth {
            Truth::Constant(known) => Some(known),
            _ => None,
        }
    }

    /// Emits the code. It goes to one of `to`, and never on to what is emitted next.
    ///
    /// # Errors
    /// The assembler's; none is expected.
    pub(crate) fn emit(
        &self,
        asm: &mut CodeAssembler,
        saved: &SavedRegisters,
        to: Outcomes,
    ) -> Result<(), IcedError> {
        let mut emitter = self.emitter(asm, saved, to);
        emitter.branch(&self.truth, true, to.yes, At::START)?;
        asm.jmp(to.no)
    }

    fn emitter<'a>(
        &self,
        asm: &'a mut CodeAssembler,
        saved: &'a SavedRegisters,
        to: Outcomes,
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

fn check(needs: Needs) -> Result<(), Reason> {
    if needs.parts > MOST_PARTS {
        return Err("it is too long".into());
    }
    if needs.general > emit::POOL.len() || needs.vectors > emit::VECTOR_POOL {
        return Err("it nests deeper than there are registers".into());
    }
    Ok(())
}

/// Emits to nowhere.
fn dry_run<T>(
    emit: impl FnOnce(&mut CodeAssembler, &SavedRegisters, Outcomes) -> Result<T, IcedError>,
) -> Result<T, Reason> {
    let saved = SavedRegisters {
        general: [0; 16],
        written: 0,
        stack_pointer: 0,
        vectors: 0,
    };
    let failed = |error: IcedError| Reason(format!("the assembler refuses it: {error}"));
    let mut asm = CodeAssembler::new(64).map_err(failed)?;
    let to = Outcomes {
        yes: asm.create_label(),
        no: asm.create_label(),
        ask: asm.create_label(),
    };
    emit(&mut asm, &saved, to).map_err(failed)
}

/// What is read through a pointer.
fn pointed(pointer: Int) -> Place {
    Place::Memory(Address::pointed(pointer))
}
