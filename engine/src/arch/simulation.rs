//! Predicts the targets of indirect calls.

#[cfg(test)]
use super::fixed;
use super::instruction::Code;
use super::{Arch, Instruction, RegisterFile, aarch64, x86_64};
use dwarf::{LoadAddr, Memory};

/// Simulates the instructions before an indirect call on a copy of the registers. Whatever is not
/// simulated makes its result unknown.
// One is made at a time, on the stack.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Simulation<'a> {
    X86_64(x86_64::simulation::Simulation<'a>),
    Aarch64(aarch64::simulation::Simulation<'a>),
    #[cfg(test)]
    Fixed(fixed::simulation::Simulation<'a>),
}

impl<'a> Simulation<'a> {
    /// Starts with a thread's registers.
    pub fn new(arch: Arch, registers: &impl RegisterFile, memory: &'a dyn Memory) -> Self {
        match arch {
            Arch::X86_64 => Self::X86_64(x86_64::simulation::Simulation::new(registers, memory)),
            Arch::Aarch64 => Self::Aarch64(aarch64::simulation::Simulation::new(registers, memory)),
            #[cfg(test)]
            Arch::Fixed => Self::Fixed(fixed::simulation::Simulation::new(registers, memory)),
        }
    }

    /// Drops the values computed on another path, but keeps the stack and frame pointers: functions
    /// do not use those as variables.
    pub fn forget(&mut self) {
        match self {
            Self::X86_64(simulation) => simulation.forget(),
            Self::Aarch64(simulation) => simulation.forget(),
            #[cfg(test)]
            Self::Fixed(simulation) => simulation.forget(),
        }
    }

    /// Returns the target of an indirect call.
    pub fn target(&self, instruction: &Instruction) -> Option<LoadAddr> {
        match (self, instruction.code()) {
            (Self::X86_64(simulation), Code::X86_64(code)) => simulation.target(code),
            (Self::Aarch64(simulation), Code::Aarch64(code)) => simulation.target(code),
            #[cfg(test)]
            (Self::Fixed(simulation), Code::Fixed(code)) => simulation.target(code),
            _ => None,
        }
    }

    /// Simulates an instruction's effect on the registers.
    pub fn execute(&mut self, instruction: &Instruction) {
        match (self, instruction.code()) {
            (Self::X86_64(simulation), Code::X86_64(code)) => simulation.execute(code),
            (Self::Aarch64(simulation), Code::Aarch64(code)) => simulation.execute(code),
            #[cfg(test)]
            (Self::Fixed(simulation), Code::Fixed(code)) => simulation.execute(code),
            _ => {}
        }
    }
}
