//! Threads stopped in a trampoline or in the jump to one: the state that the program would have
//! without it.

use super::{PatchTrap, Phase, x86_64};
use crate::ids::BreakpointId;
use crate::ids::{Signal, ThreadId};
use crate::inferior::Inferior;
use crate::inferior::SigtrapKind;
use crate::os::{RegisterSet, TrapCause};
use dwarf::LoadAddr;

impl Inferior {
    /// Returns the program's registers of a thread in a trampoline, and whether it has passed its
    /// site.
    pub(crate) fn user_state_in_trampoline(
        &mut self,
        thread: ThreadId,
        raw: &RegisterSet,
    ) -> Option<(RegisterSet, Option<LoadAddr>)> {
        if let Some(site) = self.jumps.springboards.site_of(raw.pc()) {
            return Some((at(*raw, site), None));
        }
        let patch = self.jumps.at(raw.pc())?;
        let (site, trampoline) = (patch.site, &patch.trampoline);
        let os = &*self.os;
        let read = |addr| {
            let mut word = [0; 8];
            (os.read_memory(addr, &mut word) == 8).then(|| u64::from_le_bytes(word))
        };
        let mut values = None;
        let (kept, passed, counted) = match trampoline.state_of(raw)? {
            Phase::Evaluating(kept) => (kept, None, None),
            Phase::Leaving(kept) => (kept, Some(site), None),
            Phase::Counted(record, kept) => {
                values = Some((trampoline.start, trampoline.values(raw, record, os)?));
                (kept, Some(site), None)
            }
            Phase::Committing if trampoline.stop == Some(raw.pc()) => {
                let counted = patch.breakpoints.first().map(|it| (site, it.id));
                (trampoline.kept(), None, counted)
            }
            Phase::InRelocated(addr) => {
                let passed = (addr == site).then_some(site);
                return Some((at(*raw, addr), passed));
            }
            Phase::Committing | Phase::Attempted(..) | Phase::Inside => return None,
        };
        if kept.vectors
            && let Some(restorer) = trampoline.restorer
        {
            // The program restores them itself; the caller steps it.
            self.os.set_registers(thread, &at(*raw, restorer));
            return None;
        }
        let registers = trampoline.registers(raw, kept, read)?;
        if let (Some((whose, values)), Some(ring)) = (values, &mut self.jumps.ring) {
            ring.add_own(whose, values);
        }
        if kept.vectors {
            self.restore_vectors(thread, LoadAddr(raw.sp()));
        }
        if let (Some(_), Some(state)) = (counted, self.thread_mut(thread)) {
            state.pending_counted_hit = counted;
        }
        Some((at(registers, site), passed))
    }

    /// Returns the registers of a thread in a condition, to resume as if the condition were false.
    pub(crate) fn registers_past_condition(
        &mut self,
        thread: ThreadId,
        raw: &RegisterSet,
    ) -> Option<RegisterSet> {
        let patch = self.jumps.at(raw.pc())?;
        let copy = patch.trampoline.copy_of(patch.site)?;
        if let (Some(restorer), Some(Phase::Evaluating(kept))) =
            (patch.trampoline.restorer, patch.trampoline.state(raw.pc()))
            && kept.vectors
        {
            // On to the trap for a deopt.
            return Some(at(*raw, restorer));
        }
        let (registers, _) = self.user_state_in_trampoline(thread, raw)?;
        Some(at(registers, copy))
    }

    /// Restores the program's vector registers, which a trampoline has saved at `kept`.
    fn restore_vectors(&mut self, thread: ThreadId, kept: LoadAddr) {
        let mut bytes = [0; x86_64::trampoline::VECTOR_AREA as usize];
        if self.os.read_memory(kept, &mut bytes) == bytes.len()
            && let Some(mut area) = self.os.extended_registers(thread)
            && x86_64::trampoline::write_vectors(&mut area, &bytes)
        {
            self.os.set_extended_registers(thread, &area);
        }
    }

    /// Returns the trap of a trampoline that a thread has executed, if any; its pc is moved back to
    /// the trap.
    pub(crate) fn patch_trap(&mut self, thread: ThreadId) -> Option<SigtrapKind> {
        if self.jumps.is_empty() {
            return None;
        }
        let state = self.thread_mut(thread)?;
        match state.pending_patch_trap.take()? {
            PatchTrap::Deopt(site) => Some(SigtrapKind::Site(site)),
            PatchTrap::Stop => {
                let (site, id) = state.pending_counted_hit?;
                Some(SigtrapKind::Counted(site, id))
            }
        }
    }

    /// If the thread has just executed a trap of a trampoline, moves its pc back to it and records
    /// which trap it was. Other code may need the registers before the stop is dispatched.
    pub(crate) fn rewind_to_trap(&mut self, thread: ThreadId, registers: &mut RegisterSet) {
        let trap = self.arch.breakpoint_address(registers.pc());
        let Some(kind) = self.jumps.trap(trap) else {
            return;
        };
        let signal = self.os.signal_data(thread);
        if signal.is_none_or(|signal| signal.trap != Some(TrapCause::Breakpoint)) {
            return;
        }
        if let Some(state) = self.thread_mut(thread) {
            state.pending_patch_trap = Some(kind);
            registers.set_pc(trap);
            self.os.set_registers(thread, registers);
        }
    }

    /// Returns whether a signal is a fault of a condition that read unmapped memory.
    pub(crate) fn is_condition_fault(&self, thread: ThreadId, signal: Signal) -> bool {
        !self.jumps.is_empty()
            && is_fault(signal)
            && self
                .os
                .signal_info(thread)
                .is_some_and(|info| info.code > 0)
            && self.os.registers(thread).is_some_and(|raw| {
                let phase = self.jumps.phase(raw.pc());
                matches!(phase, Some((_, Phase::Evaluating(_))))
            })
    }

    /// Moves a thread in a trampoline to the program's own address before it gets a signal; if the
    /// program's own instruction faulted, that instruction is restored to its place.
    pub(crate) fn leave_trampoline_for_signal(&mut self, thread: ThreadId, signal: Signal) {
        if self.jumps.is_empty() {
            return;
        }
        let raw = self.os.registers(thread).map(|raw| raw.pc());
        let Some((site, _)) = raw.and_then(|pc| self.jumps.phase(pc)) else {
            return;
        };
        self.normalize(thread);
        let info = self.os.signal_info(thread);
        if is_fault(signal) && info.is_some_and(|info| info.code > 0) {
            self.sites.end_jump_at(site, &*self.os);
            if let Some(site) = self.sites.get(site) {
                site.keep_trap();
            }
        }
    }

    /// Returns how many hits of a breakpoint the program has counted.
    pub(crate) fn counted_by_jumps(&self, id: BreakpointId) -> u64 {
        let counter = self.jumps.counter(id);
        counter.and_then(|at| self.read_word(at)).unwrap_or(0)
    }

    /// Removes the jump at a thread's pc before a single step: the step would end in a trampoline,
    /// but has to hit the trap.
    pub(crate) fn end_jump_before_step(&mut self, thread: ThreadId) {
        if self.jumps.is_empty() {
            return;
        }
        let pc = self.registers(thread).map(|registers| registers.pc());
        let passed = self.thread_mut(thread).and_then(|state| state.passed_site);
        if let Some(pc) = pc
            && passed != Some(pc)
        {
            self.sites.end_jump_at(pc, &*self.os);
        }
    }
}

/// Returns whether an instruction can raise this signal.
fn is_fault(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::SEGV | Signal::BUS | Signal::FPE | Signal::ILL
    )
}

fn at(mut registers: RegisterSet, pc: LoadAddr) -> RegisterSet {
    registers.set_pc(pc);
    registers
}
