//! Instruction sets that conditions are compiled for: each is a folder that generates code for the
//! intermediate code.

use super::captured::Captured;
use super::code::BoolExpr;
use super::traced::Measured;
use super::{NotCompilable, aarch64, x86_64};
use crate::arch::Arch;

/// What to generate code for.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    Condition(&'a BoolExpr),
    Capture(&'a Captured),
    Measure(&'a Measured),
}

/// The registers that code may write, besides the flags.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Uses {
    /// Mask of the general-purpose registers by DWARF number.
    pub general: u32,
    /// The same for code on another stack than the program's.
    pub general_apart: u32,
    /// Whether it computes with floats.
    pub vectors: bool,
}

/// The registers of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The number of general-purpose registers for pending numbers.
    pub general: usize,
    /// The number of vector registers for pending floats.
    pub vectors: usize,
    /// The number of vector registers that variables of the program may be in.
    pub of_program: u16,
}

/// How many registers of each kind hold pending numbers: the next of the pool are free.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub general: usize,
    pub vector: usize,
}

impl At {
    /// No registers in use.
    pub const START: At = At {
        general: 0,
        vector: 0,
    };

    /// Returns the place behind one more general-purpose register.
    pub fn next(self) -> At {
        At {
            general: self.general + 1,
            ..self
        }
    }

    /// Returns the place behind one more vector register.
    pub fn next_vector(self) -> At {
        At {
            vector: self.vector + 1,
            ..self
        }
    }
}

/// Returns the registers of a set.
pub(super) fn limits(arch: Arch) -> Limits {
    match arch {
        Arch::X86_64 => x86_64::LIMITS,
        Arch::Aarch64 => aarch64::LIMITS,
        #[cfg(test)]
        Arch::Fixed => Limits {
            general: 0,
            vectors: 0,
            of_program: 0,
        },
    }
}

/// Checks that programs of a set can record for tracepoints.
///
/// # Errors
/// The debugger records.
pub(super) fn check_tracing(arch: Arch) -> Result<(), NotCompilable> {
    match arch {
        Arch::X86_64 => Ok(()),
        Arch::Aarch64 => Err("programs on aarch64 do not record for tracepoints".into()),
        #[cfg(test)]
        Arch::Fixed => Err("no code is generated for this set".into()),
    }
}

/// Returns the registers that the code for `work` may write.
///
/// # Errors
/// No code can be generated, which is not expected.
pub(super) fn uses(arch: Arch, work: Work<'_>) -> Result<Uses, NotCompilable> {
    match arch {
        Arch::X86_64 => x86_64::uses(work),
        Arch::Aarch64 => aarch64::uses(work),
        #[cfg(test)]
        Arch::Fixed => Err("no code is generated for this set".into()),
    }
}
