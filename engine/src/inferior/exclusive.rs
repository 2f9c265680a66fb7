//! Exclusive sequences: pieces of code whose store fails after any stop since their load. A thread
//! executes one as a whole, whether it is stepped, passes a breakpoint or a watchpoint: nearly always
//! in a copy ([`super::displaced`]).

use super::Inferior;
use super::site::Owner;
use crate::ids::{Signal, ThreadId};
use crate::os::{Patience, RegisterSet, Resume, ThreadEvent};
use dwarf::LoadAddr;
use std::ops::Range;
use std::time::Duration;

impl Inferior {
    /// Returns the exclusive sequence around an address of the program.
    pub(crate) fn sequence_around(&self, addr: LoadAddr) -> Option<Range<LoadAddr>> {
        let memory = self.memory();
        (self.arch).exclusive_sequence(addr, |addr| self.arch.read(&memory, addr))
    }

    /// Returns where the exclusive sequence around an address is left, if a stop at the address would
    /// be inside: at its beginning, nothing is interrupted.
    pub(crate) fn exits_around(&self, addr: LoadAddr) -> Option<Vec<LoadAddr>> {
        let sequence = self.sequence_around(addr)?;
        let end = sequence.end;
        if sequence.start == addr {
            return None;
        }
        let memory = self.memory();
        let code = |addr| self.arch.read(&memory, addr);
        let exits = self.arch.exits_of_sequence(sequence, code);
        Some(exits.unwrap_or_else(|| vec![end]))
    }

    /// Returns where the exclusive sequence that begins at an address is left.
    pub(super) fn exits_of_sequence_at(&self, addr: LoadAddr) -> Option<Vec<LoadAddr>> {
        let memory = self.memory();
        let code = |addr| self.arch.read(&memory, addr);
        let sequence = self.arch.exclusive_sequence_at(addr, code)?;
        self.arch.exits_of_sequence(sequence, code)
    }

    /// Lets a thread run to one of these addresses, and for a moment only: it may wait for another
    /// one, and all others are stopped. Returns its stop; `None` if it is gone.
    pub(super) fn run_for_a_moment_to(
        &mut self,
        thread: ThreadId,
        addresses: &[LoadAddr],
    ) -> Option<ThreadEvent> {
        /// Much longer than a sequence takes.
        const MOMENT: Duration = Duration::from_millis(2);
        let mut ours = Vec::new();
        for addr in addresses {
            // The owner does not matter: the thread's stop is handled as the end of a step.
            if self.sites.get(*addr).is_none() && self.add_site(*addr, Owner::Step(thread)) {
                ours.push(*addr);
            }
        }
        self.run(thread, Resume::Continue, Signal(0));
        let mut status = self.os.stop_of(thread, Patience::Spin(MOMENT));
        if status.is_none() {
            self.os.interrupt(thread);
            status = self.os.wait_for_stop(thread);
        }
        for addr in ours {
            self.remove_site(addr, Owner::Step(thread));
        }
        status
    }

    /// Returns the registers with which a stopped thread executes the exclusive sequence that begins
    /// at its pc in one go, in a copy. `None`: none begins there; no registers: no copy can be made.
    pub(super) fn past_sequence(
        &mut self,
        thread: ThreadId,
        registers: &RegisterSet,
    ) -> Option<Option<RegisterSet>> {
        let pc = registers.pc();
        if self.pads.holds(pc) {
            return None;
        }
        let memory = self.memory();
        (self.arch).exclusive_sequence_at(pc, |addr| self.arch.read(&memory, addr))?;
        Some(self.registers_past_site(thread, pc, registers))
    }

    /// Returns how to resume a thread that is to make a step: in the copy of an exclusive sequence it
    /// runs, up to the trap behind that.
    pub(super) fn unbroken(&self, thread: ThreadId, how: Resume) -> Resume {
        let is_inside = |pc| self.pads.sequence(pc).is_some();
        match how == Resume::Step
            && self.pads.has_sequences()
            && (self.os.registers(thread)).is_some_and(|registers| is_inside(registers.pc()))
        {
            true => Resume::Continue,
            false => how,
        }
    }
}
