//! Compiler of conditions: a parsed expression becomes instructions that the debuggee runs at the
//! breakpoint, by way of an intermediate code (`code.rs`) that does not depend on the instruction set. The result is yes, no, or a deopt to the interpreter
//! ([`crate::expr`]). Compiled code gives the interpreter's result; wherever it might
//! differ, or the interpreter would report an error, it is a deopt.
//!
//! This module does not access the process: [`Scope`] resolves names at an address. The code writes
//! only its scratch registers. A fault in it (an unmapped address) thus has no effect, and is a
//! deopt.

pub(crate) mod aarch64;
mod c_texts;
mod captured;
mod casts;
mod checked;
mod choices;
mod code;
mod compare;
mod containers;
mod expected;
mod followed;
pub(crate) mod functions;
mod image;
mod iterators;
mod lower;
mod matches;
mod needs;
mod numbers;
mod options;
mod owners;
mod parts;
mod place;
mod probe;
mod rows;
mod scalars;
mod scope;
mod set;
mod slices;
mod texts;
mod traced;
mod variants;
pub(crate) mod x86_64;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use captured::Captured;
pub(crate) use expected::Expected;
pub(crate) use image::CodeScope;
pub(crate) use place::{RuntimeLocation, RuntimeValue};
#[cfg(test)]
pub(crate) use probe::NoProcess;
pub(crate) use scope::Scope;
pub(crate) use traced::{
    Calls, KeyPart, Measured, NEVER, NumberKind, Presence, Traced, TracedColumn, TracedTable,
};

use crate::arch::Arch;
use crate::expr::Expression;
use crate::inspect::value::Ty;
use code::{Address, BoolExpr, Int};
use needs::Needs;
use set::{Uses, Work};

/// Maximum number of nodes of a condition; the interpreter evaluates larger ones.
const MAX_PARTS: usize = 2000;

/// Why an expression needs the interpreter, in a few words for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NotCompilable {
    reason: String,
    /// The part of the expression that it is about, as it is written; `None`: the whole expression.
    part: Option<String>,
}

impl NotCompilable {
    fn new(reason: impl Into<String>) -> NotCompilable {
        NotCompilable {
            reason: reason.into(),
            part: None,
        }
    }

    fn unknown_name(name: &str) -> NotCompilable {
        NotCompilable::new(format!("unknown name `{name}`"))
    }

    fn special_layout(ty: &Ty) -> NotCompilable {
        NotCompilable::new(format!("only the debugger reads a `{}`", ty.name()))
    }

    /// A method that the debugger answers by reading, for which there is no code.
    fn method(name: &str) -> NotCompilable {
        NotCompilable::new(format!("only the debugger evaluates `{name}`"))
    }

    fn not_a_value(ty: &Ty) -> NotCompilable {
        NotCompilable::new(format!("a `{}` is not a value", ty.name()))
    }

    /// Says which part of an expression it is about, unless a smaller part is known.
    fn in_part(self, part: Option<&str>) -> NotCompilable {
        let is_of_all = self.reason == crate::expr::messages::TOO_LONG;
        let part = part.filter(|_| !is_of_all).map(str::to_owned);
        NotCompilable {
            part: self.part.or(part),
            ..self
        }
    }
}

impl std::fmt::Display for NotCompilable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.part {
            // Many reasons are about a name: it stands for itself.
            Some(part)
                if !self.reason.starts_with(part)
                    && !self.reason.contains(&format!("`{part}`")) =>
            {
                write!(f, "`{part}`: {}", self.reason)
            }
            _ => f.write_str(&self.reason),
        }
    }
}

impl From<&str> for NotCompilable {
    fn from(text: &str) -> NotCompilable {
        NotCompilable::new(text)
    }
}

/// Numbers of general-purpose registers, and of the stack pointer, are smaller in every set.
const REGISTERS: usize = 32;

/// Offsets in bytes from the stack pointer, which is constant while the code runs, to the saved
/// registers of the interrupted program.
#[derive(Clone, Default, Debug)]
pub(crate) struct SavedRegisters {
    /// The general-purpose registers by DWARF number; the entry of the stack pointer is not used.
    /// Only those that the code clobbers ([`Condition::clobbers`]) need to be saved: the others
    /// still have the program's values.
    pub(crate) general: [i32; REGISTERS],
    /// Mask, by DWARF number, of further registers that earlier code has written: they are read
    /// from their saved values, too.
    pub(crate) written: u32,
    /// Distance in bytes up to the program's stack pointer, or to the word that keeps it.
    pub(crate) stack_pointer: i32,
    /// Whether a word keeps the program's stack pointer: the code runs on another stack.
    pub(crate) keeps_stack_pointer: bool,
    /// The vector registers that the code clobbers; used if [`Condition::uses_vectors`].
    pub(crate) vectors: i32,
    /// Distance in bytes from one of them to the next, in sets where that varies.
    pub(crate) vector_slot: i32,
}

impl SavedRegisters {
    fn place(&self, register: dwarf::Register) -> i32 {
        let place = self.general.get(usize::from(register.0));
        place.copied().unwrap_or_default()
    }
}

/// A compiled condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    truth: BoolExpr,
    uses: Uses,
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
        check(scope.arch(), truth.needs())?;
        let uses = set::uses(scope.arch(), Work::Condition(&truth))?;
        Ok(Condition { truth, uses })
    }

    /// Returns the general-purpose registers that the code may write. It changes the flags, too.
    pub(crate) fn clobbers(&self) -> impl Iterator<Item = dwarf::Register> + use<> {
        registers(self.uses.general)
    }

    /// Returns the condition for code on another stack than the program's
    /// ([`SavedRegisters::keeps_stack_pointer`]), which may clobber more registers.
    pub(crate) fn apart(mut self) -> Condition {
        self.uses.general = self.uses.general_apart;
        self
    }

    /// Returns whether the code may clobber the vector registers for pending floats, and needs the
    /// initial state of floating-point arithmetic. The trampoline has to restore both.
    pub(crate) fn uses_vectors(&self) -> bool {
        self.uses.vectors
    }

    /// Returns the value if the expression is constant.
    #[cfg(test)]
    pub(crate) fn known(&self) -> Option<bool> {
        match self.truth {
            BoolExpr::Constant(known) => Some(known),
            _ => None,
        }
    }
}

fn registers(set: u32) -> impl Iterator<Item = dwarf::Register> + use<> {
    (0..REGISTERS as u16)
        .filter(move |number| set & 1 << number != 0)
        .map(dwarf::Register)
}

fn check(arch: Arch, needs: Needs) -> Result<(), NotCompilable> {
    if needs.parts > MAX_PARTS {
        return Err(crate::expr::messages::TOO_LONG.into());
    }
    let limits = set::limits(arch);
    if needs.general > limits.general || needs.vectors > limits.vectors {
        return Err("the expression needs too many registers".into());
    }
    Ok(())
}

/// Returns the location that a pointer points to.
fn pointed(pointer: Int) -> RuntimeLocation {
    RuntimeLocation::Memory(Address::pointed(pointer))
}
