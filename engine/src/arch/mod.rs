//! Instruction sets: data and pure functions.

pub(crate) mod debug_registers;
pub(crate) mod x86_64;
pub(crate) mod x86_64_access;
pub(crate) mod x86_64_body;
pub(crate) mod x86_64_entry;
pub(crate) mod x86_64_flow;
pub(crate) mod x86_64_heuristic_unwind;
mod x86_64_simulation;

pub(crate) use x86_64_simulation::Simulation;

use dwarf::{LoadAddr, Register};

/// A thread's general-purpose registers, as far as instructions need them.
pub trait RegisterFile: Copy {
    /// A register by its DWARF number; `None` if the set does not have it.
    fn get(&self, register: Register) -> Option<u64>;
    /// Changes a register; false if it cannot be written.
    fn set(&mut self, register: Register, value: u64) -> bool;
    /// The stack pointer.
    fn sp(&self) -> u64;
    /// Sets the stack pointer.
    fn set_sp(&mut self, sp: u64);
    /// Sets the program counter.
    fn set_pc(&mut self, pc: LoadAddr);
}
