//! Instruction sets: data and pure functions.

pub(crate) mod debug_registers;
pub(crate) mod register_parts;
pub(crate) mod rustc_abi;
pub(crate) mod sysv;
pub(crate) mod x86_64;
pub(crate) mod x86_64_access;
pub(crate) mod x86_64_body;
pub(crate) mod x86_64_entry;
pub(crate) mod x86_64_flow;
mod x86_64_simulation;
pub(crate) mod x86_64_way_back;
pub(crate) mod xsave;

pub(crate) use x86_64_simulation::Simulation;
