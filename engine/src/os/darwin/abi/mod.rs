//! What XNU defines for each architecture: thread states (`mach/i386/_structs.h`,
//! `mach/arm/_structs.h`), exception codes, how a thread is made to single-step and to trap at
//! addresses. Plain data, which can be tested on any host.

mod aarch64;
pub mod x86_64;

use super::exception::Codes;
use super::flavors::Flavor;
use crate::arch::Arch;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::os::TrapCause;
use crate::os::registers::RegisterLayout;
use dwarf::Register;

/// What the kernel defines for an architecture.
pub struct DarwinAbi {
    /// The general-purpose registers.
    pub registers: RegisterLayout,
    /// The flavor of the state that has them.
    pub flavor: Flavor,
    /// Registers of other states.
    pub separate: &'static [SeparateRegister],
    /// The register whose value is the thread's handle, if no state has it.
    pub handle: Option<Register>,
    /// The floating-point and vector registers, the state with most first.
    pub vectors: &'static [VectorState],
    /// The flavor of the state with debug registers.
    pub debug_flavor: Flavor,
    /// How a thread single-steps.
    pub step: StepBit,
    /// Writes what a thread traps at into its debug state.
    pub set_slots: fn(&mut [u32], &[Option<Slot>; MAX_SLOTS]),
    /// Returns which slots a trap came from, one bit each: by the thread's debug state, which of them
    /// are set, and the codes of the exception.
    pub hits: fn(&[u32], &[Option<Slot>; MAX_SLOTS], &Codes) -> u8,
    /// Returns why a thread has trapped.
    pub trap_cause: fn(&Trapped<'_>) -> Option<TrapCause>,
}

/// A register of a state other than the general-purpose one.
pub struct SeparateRegister {
    /// The flavor of the state.
    pub flavor: Flavor,
    /// Its offset in the state, in words of 4 bytes.
    pub word: usize,
    pub register: Register,
}

/// A state with vector registers, and how it is translated to what the architecture reads.
pub struct VectorState {
    /// Its flavor.
    pub flavor: Flavor,
    /// Makes the area that [`crate::arch::ExtendedRegisters`] has of it.
    pub area: fn(&[u8]) -> Option<Vec<u8>>,
    /// Changes the state to what an area contains.
    pub put: fn(&mut [u8], &[u8]) -> Option<()>,
}

/// How a thread is made to execute a single instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepBit {
    /// By a bit of a general-purpose register.
    Register(Register, u64),
    /// By a bit of a word of the debug state: its index in words of 4 bytes.
    Debug(usize, u32),
}

/// A thread that has stopped with `EXC_BREAKPOINT`.
pub struct Trapped<'a> {
    pub codes: &'a Codes,
    /// Whether it was to execute a single instruction.
    pub is_stepping: bool,
    /// Whether its pc is another than at its resume.
    pub has_moved: bool,
    /// Whether its pc is at a trap instruction.
    pub is_at_trap: bool,
    /// The slots that it has hit, one bit each.
    pub hits: u8,
}

/// What the kernel defines for this machine.
pub const HOST: DarwinAbi = match Arch::HOST {
    Arch::X86_64 => x86_64::ABI,
    _ => aarch64::ABI,
};

#[cfg(test)]
mod tests {
    use super::super::flavors::MAX_WORDS;
    use super::*;
    use crate::arch::watch::Trigger;
    use dwarf::LoadAddr;

    #[test]
    fn slots_are_set_and_cleared_in_each_debug_state() {
        let slot = |addr, len, trigger| {
            let addr = LoadAddr(addr);
            Some(Slot { addr, len, trigger })
        };
        let slots = [
            slot(0x1008, 8, Trigger::Write),
            slot(0x2000, 4, Trigger::Access),
            slot(0x3000, 1, Trigger::Execute),
            None,
        ];
        for abi in [&x86_64::ABI, &aarch64::ABI] {
            let mut state = [0; MAX_WORDS];
            (abi.set_slots)(&mut state, &slots);
            assert!(state.iter().any(|word| *word != 0));
            (abi.set_slots)(&mut state, &[None; MAX_SLOTS]);
            let enabled = state.iter().filter(|word| **word & 1 != 0).count();
            assert_eq!(enabled, 0);
        }
    }
}
