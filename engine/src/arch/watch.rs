//! Hardware watchpoints and breakpoints: a fixed number of slots per thread, each with an address; a
//! thread traps when it executes, writes, or accesses what is there.

use super::{Arch, RegisterFile, in_set};
use dwarf::LoadAddr;
use smallvec::SmallVec;

/// Number of slots, of the set that has most.
pub const MAX_SLOTS: usize = 4;

/// Some slots.
pub type Slots = SmallVec<[Slot; MAX_SLOTS]>;

/// The kind of access that traps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// Before the instruction at the address is executed.
    Execute,
    /// At an instruction that reads there; on x86-64 also at one that writes
    /// ([`Arch::tells_reads_from_writes`]).
    Read,
    /// At an instruction that writes there.
    Write,
    /// At an instruction that reads or writes there.
    Access,
}

/// The setting of one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// On x86-64 a multiple of `len`; on aarch64 any address.
    pub addr: LoadAddr,
    /// On x86-64 a power of two; on aarch64 any number of bytes of one word of eight. 1 for
    /// [`Trigger::Execute`].
    pub len: u8,
    /// The kind of access.
    pub trigger: Trigger,
}

/// The bytes that slots watch for a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// Those of the range.
    Exact,
    /// Some neighbours too, if that takes fewer slots.
    WithNeighbors,
}

impl Arch {
    /// Returns the slots that watch a range. `None` if there are not enough.
    pub fn watch(
        self,
        addr: LoadAddr,
        bytes: u64,
        trigger: Trigger,
        coverage: Coverage,
    ) -> Option<Slots> {
        in_set!(self, set => set::watch::cover(addr, bytes, trigger, coverage))
    }

    /// Lets a thread execute the instruction at its pc despite [`Trigger::Execute`]. Returns false
    /// if no register does that: its slots have to be cleared for a step.
    pub fn pass_execute_trigger(self, registers: &mut impl RegisterFile) -> bool {
        in_set!(self, set => set::watch::pass(registers))
    }

    /// Returns whether [`Trigger::Read`] traps at reads alone.
    pub fn tells_reads_from_writes(self) -> bool {
        in_set!(self, set => set::watch::TELLS_READS_FROM_WRITES)
    }

    /// Returns whether a thread traps before the access that a slot watches, and not after it.
    pub fn traps_before_access(self) -> bool {
        in_set!(self, set => set::watch::TRAPS_BEFORE_ACCESS)
    }
}
