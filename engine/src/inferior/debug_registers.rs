//! The debug registers of the process: what they watch, which threads have the present values, and
//! which of them a thread has hit.

use super::Inferior;
use super::pass::OutOfTurn;
use super::thread::{RegisterCache, StopPoint};
use crate::arch::watch::{MAX_SLOTS, Slot, Trigger};
use crate::ids::{Signal, ThreadId};
use crate::os::{Resume, SignalData, ThreadEvent, TrapCause};
use dwarf::LoadAddr;
use std::ops::Range;

/// Maximum number of steps to leave an exclusive sequence: several failures of its store, because
/// other threads write there, and the instructions up to the first.
const MAX_STEPS_IN_SEQUENCE: u32 = 32;

/// Returns the slot that stops a thread before it executes the instruction at an address.
pub(crate) fn code_slot(addr: LoadAddr) -> Slot {
    Slot {
        addr,
        len: 1,
        trigger: Trigger::Execute,
    }
}

/// What the debug registers of every thread watch.
#[derive(Default)]
pub(crate) struct DebugRegisters {
    slots: [Option<Slot>; MAX_SLOTS],
    /// The version of `slots`; a thread with another one has to be updated. 0: never used.
    generation: u32,
    /// Whether the kernel refuses to set debug registers.
    pub refused: bool,
}

impl DebugRegisters {
    /// Changes what is watched. Returns true if that is a change; threads get it when they are
    /// resumed.
    pub fn set(&mut self, slots: [Option<Slot>; MAX_SLOTS]) -> bool {
        let changed = slots != self.slots;
        self.slots = slots;
        self.generation += u32::from(changed);
        changed
    }

    /// Returns the only slot, as a bit, that a thread with this version of the debug registers can
    /// hit.
    fn only_slot(&self, armed: u32) -> Option<u8> {
        let slots = self.slots.iter().enumerate();
        let mut used = slots.filter(|(_, slot)| slot.is_some());
        match (used.next(), used.next()) {
            (Some((index, _)), None) if armed == self.generation => Some(1 << index),
            _ => None,
        }
    }

    /// Returns whether a debug register stops threads at an address.
    pub fn has_code(&self, addr: LoadAddr) -> bool {
        self.slots.contains(&Some(code_slot(addr)))
    }

    /// Returns whether any debug register is set for code.
    pub fn has_any_code(&self) -> bool {
        let mut slots = self.slots.iter().flatten();
        slots.any(|slot| slot.trigger == Trigger::Execute)
    }

    /// Returns whether a debug register may trigger on a read.
    pub fn sees_reads(&self) -> bool {
        let mut slots = self.slots.iter().flatten();
        slots.any(|slot| matches!(slot.trigger, Trigger::Read | Trigger::Access))
    }

    /// Returns whether a debug register is set for execution of an address from `start` to before
    /// `end`.
    pub fn has_code_in(&self, start: LoadAddr, end: LoadAddr) -> bool {
        let slots = self.slots.iter().flatten();
        slots
            .filter(|slot| slot.trigger == Trigger::Execute)
            .any(|slot| slot.addr >= start && slot.addr < end)
    }

    /// Returns whether slots were hit (a bit each) and all of them are for reads.
    pub fn are_for_reads(&self, hits: u8) -> bool {
        let mut slots = self.slots.iter().enumerate();
        hits != 0
            && slots.all(|(index, slot)| {
                hits >> index & 1 == 0 || slot.is_some_and(|it| it.trigger == Trigger::Read)
            })
    }

    /// Returns whether one of the slots that were hit (a bit each) is for code.
    pub fn is_code(&self, hits: u8) -> bool {
        let mut slots = self.slots.iter().enumerate();
        slots.any(|(index, slot)| {
            hits >> index & 1 != 0 && slot.is_some_and(|it| it.trigger == Trigger::Execute)
        })
    }
}

impl Inferior {
    /// Records that a thread is in the signal-delivery-stop of a SIGTRAP, also of a step of ours, and
    /// which debug registers caused it: the kernel forgets that at the next trap. Returns the
    /// signal; `None` if the thread is gone.
    pub(crate) fn note_sigtrap(&mut self, thread: ThreadId) -> Option<SignalData> {
        let signal = self.os.signal_data(thread)?;
        let armed = self.thread_mut(thread).map_or(0, |state| {
            state.point = StopPoint::Sigtrap;
            state.debug.generation
        });
        let is_watchpoint = signal.trap == Some(TrapCause::Watchpoint);
        if armed != 0 && (is_watchpoint || signal.trap == Some(TrapCause::Step)) {
            let only = self.debug_registers.only_slot(armed);
            let hits = match only.filter(|_| is_watchpoint) {
                Some(only) => only,
                None => self.os.triggered_watchpoints(thread),
            };
            let mut is_known = false;
            if let Some(state) = self.thread_mut(thread) {
                is_known = state.debug.hits & hits != 0;
                state.debug.hits |= hits;
            }
            let is_access = is_watchpoint && hits != 0 && !self.debug_registers.is_code(hits);
            // A stop that was deferred is looked at again; the instruction is executed by then.
            if is_access && !is_known && self.arch.traps_before_access() {
                self.step_unwatched(thread);
            }
        }
        Some(signal)
    }

    /// Lets a stopped thread execute one instruction unseen by its debug registers: one before which
    /// they have stopped it. The store of an exclusive sequence fails for this stop, and would do so
    /// again and again: the thread goes on until it has left the sequence.
    pub(crate) fn step_unwatched(&mut self, thread: ThreadId) {
        let sequence = self.sequence_of_stop(thread);
        let mut before = self.begin_out_of_turn(thread);
        self.os.set_watchpoints(thread, &[None; MAX_SLOTS]);
        let mut steps = 1;
        while self.step_out_of_turn(thread, &mut before)
            && let Some(sequence) = &sequence
            && (self.normalize(thread)).is_some_and(|it| sequence.contains(&it.pc()))
        {
            steps += 1;
            if steps > MAX_STEPS_IN_SEQUENCE {
                // It waits for another thread in a loop, or cannot execute the sequence in one go.
                if let Some(state) = self.thread_mut(thread) {
                    state.debug.rests = true;
                }
                break;
            }
        }
        self.os.set_watchpoints(thread, &self.debug_registers.slots);
        self.end_out_of_turn(thread, before);
    }

    /// Returns the exclusive sequence that a stopped thread is in. Reads the pc as the kernel reports
    /// it, before it is normalized.
    fn sequence_of_stop(&self, thread: ThreadId) -> Option<Range<LoadAddr>> {
        if !self.arch.has_exclusive_sequences() {
            return None;
        }
        let pc = self.os.registers(thread)?.pc();
        let pc = self.pads.sequence(pc).unwrap_or(pc);
        self.sequence_around(pc)
    }

    /// Lets a stopped thread execute one instruction, or an exclusive sequence from its beginning,
    /// out of turn. Returns whether it has.
    fn step_out_of_turn(&mut self, thread: ThreadId, before: &mut OutOfTurn) -> bool {
        if self.arch.has_exclusive_sequences()
            && let Some(registers) = self.os.registers(thread)
            && let Some(Some(past)) = self.past_sequence(thread, &registers)
        {
            self.os.set_registers(thread, &past);
        }
        let how = self.unbroken(thread, Resume::Step);
        self.run(thread, how, Signal(0));
        let status = self.os.wait_for_stop(thread);
        if let Some(state) = self.thread_mut(thread) {
            state.registers = RegisterCache::Unread;
        }
        match status {
            None => false,
            Some(ThreadEvent::Signal(Signal::TRAP) | ThreadEvent::Interrupted) => true,
            Some(status @ (ThreadEvent::Exited(_) | ThreadEvent::Killed(_))) => {
                self.thread_ended(thread, status);
                false
            }
            // The instruction faulted, or SIGSTOP arrived, which cannot be blocked.
            Some(status @ ThreadEvent::Signal(signal)) => {
                before.note(status);
                if let Some(state) = self.thread_mut(thread) {
                    state.signal = signal;
                }
                false
            }
            Some(status) => {
                self.note_group_stop(thread, status);
                false
            }
        }
    }

    /// Lets a thread that has been stopped at its pc by a debug register pass that. Returns whether
    /// it has executed the instruction.
    pub(crate) fn pass_code_slot(&mut self, thread: ThreadId) -> bool {
        let passed = self.thread(thread).and_then(|state| state.passed_site);
        let Some(at) = passed.filter(|at| self.debug_registers.has_code(*at)) else {
            return false;
        };
        let Some(mut registers) = self.registers(thread).filter(|it| it.pc() == at) else {
            return false;
        };
        if self.arch.pass_execute_trigger(&mut registers) {
            self.set_registers_of(thread, registers);
            return false;
        }
        // A trap of our own there is passed in a pad, and an instruction that may wait for long is
        // executed without debug registers, which are set again at the next stop.
        let instruction = self.arch.read(&self.memory(), at);
        if self.sites.get(at).is_some() || !instruction.is_some_and(|it| it.can_be_stepped()) {
            self.disarm(thread);
            return false;
        }
        self.os.set_registers(thread, &registers);
        self.step_unwatched(thread);
        true
    }

    /// Sets a stopped thread's debug registers, unless they are up to date. Returns false if the
    /// kernel refuses.
    pub(crate) fn arm(&mut self, thread: ThreadId) -> bool {
        let generation = self.debug_registers.generation;
        match self.thread_mut(thread) {
            Some(state) if state.debug.generation != generation => {
                state.debug.generation = generation
            }
            _ => return true,
        }
        self.os.set_watchpoints(thread, &self.debug_registers.slots)
    }

    /// Clears a stopped thread's debug registers: they would persist after a detach.
    pub(crate) fn disarm(&mut self, thread: ThreadId) {
        if let Some(state) = self.thread_mut(thread)
            && std::mem::take(&mut state.debug.generation) != 0
        {
            self.os.set_watchpoints(thread, &[None; MAX_SLOTS]);
        }
    }

    /// Forgets what was watched: the process was replaced or has ended. The kernel clears the debug
    /// registers on exec.
    pub(crate) fn forget_debug_registers(&mut self) {
        self.single_stepping = false;
        self.debug_registers.slots = Default::default();
        if let Some(process) = &mut self.process {
            for state in process.threads.values_mut() {
                state.debug.generation = 0;
            }
        }
    }

    /// Interrupts every running thread, and resumes it at once with its debug registers set.
    pub(crate) fn interrupt_running(&mut self) {
        for thread in self.running_threads() {
            self.interrupt(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_of_reads_are_told_from_no_hits() {
        let slot = |trigger| {
            Some(Slot {
                addr: LoadAddr(0x1000),
                len: 4,
                trigger,
            })
        };
        let mut registers = DebugRegisters::default();
        registers.set([slot(Trigger::Read), slot(Trigger::Write), None, None]);
        // A single step hits no slot.
        for (hits, reads) in [(0, false), (0b1, true), (0b10, false), (0b11, false)] {
            assert_eq!(registers.are_for_reads(hits), reads, "{hits:b}");
        }
    }
}
