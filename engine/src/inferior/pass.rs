//! A pass of a site is one hit. A thread whose hit has been counted executes the instruction there
//! before anything else happens to it: a signal is delivered after that. So neither a handler,
//! whether it returns or not, nor a change of the site's form (trap or jump) can make two hits of
//! one pass.
//!
//! Some instructions cannot be finished first: one that faults, a system call, a long string
//! instruction, or one whose hit was reported to the client. Then the thread keeps a record of its
//! pass ([`InterruptedPass`]), its next arrival at the trap is not a hit, and no jump replaces the
//! trap until then.

use super::{Inferior, StoppedWorld};
use crate::ids::{Signal, ThreadId};
use crate::inferior::thread::{RegisterCache, Thread};
use crate::os::{Block, RegisterSet, Resume, SignalData, SignalMask, ThreadEvent};
use dwarf::LoadAddr;

/// Maximum number of instructions in a pass: those that a jump covers, some more than once.
const MAX_STEPS: usize = 16;
/// Maximum number of records of a thread; handlers that never return leave records.
const MAX_RECORDS: usize = 16;
/// Signals that instructions raise or that end a step: the kernel kills a thread that blocks one of
/// these when its instruction raises it.
const NOT_BLOCKED: [Signal; 6] = [
    Signal::SEGV,
    Signal::BUS,
    Signal::FPE,
    Signal::ILL,
    Signal::SYS,
    Signal::TRAP,
];

/// A pass of a site that has been counted, whose instruction is still to be executed when the
/// handler of a signal returns.
#[derive(Clone, Copy)]
pub struct InterruptedPass {
    site: LoadAddr,
    /// Registers to which the handler returns: the stack pointer alone does not distinguish a
    /// return from another pass after a long jump.
    registers: RegisterSet,
}

impl InterruptedPass {
    fn is_resumed_with(&self, registers: &RegisterSet) -> bool {
        let same = |register| self.registers.get(register) == registers.get(register);
        self.site == registers.pc() && registers.arch().general_registers().all(same)
    }
}

impl Thread {
    /// Records that the counted pass at the pc continues after the handler of a signal.
    pub fn interrupt_pass(&mut self, registers: RegisterSet) {
        let site = registers.pc();
        let same = |it: &InterruptedPass| it.site == site && it.registers.sp() == registers.sp();
        self.interrupted_passes.retain(|it| !same(it));
        if self.interrupted_passes.len() == MAX_RECORDS {
            self.interrupted_passes.remove(0);
        }
        self.interrupted_passes
            .push(InterruptedPass { site, registers });
    }

    /// Returns whether the thread arrives at a site to finish a pass that has been counted; removes
    /// the record.
    pub fn resumes_pass(&mut self, registers: &RegisterSet) -> bool {
        let mut records = self.interrupted_passes.iter();
        let found = records.position(|it| it.is_resumed_with(registers));
        if let Some(index) = found {
            self.interrupted_passes.remove(index);
        }
        found.is_some()
    }

    /// Returns whether the thread may still come back to a site that it has passed. `is_left`:
    /// whether a frame with this stack pointer has been left for good.
    fn may_resume_pass(&mut self, site: LoadAddr, is_left: impl Fn(u64) -> bool) -> bool {
        self.interrupted_passes
            .retain(|it| it.site != site || !is_left(it.registers.sp()));
        self.interrupted_passes.iter().any(|it| it.site == site)
    }
}

/// The next thing to execute of a pass.
#[derive(Clone, Copy)]
enum Rest {
    /// The instruction under the trap at this site.
    Covered(LoadAddr),
    /// This copy of an instruction that a jump covers.
    Copy(LoadAddr),
}

/// State to restore after a thread has executed instructions out of turn.
pub(crate) struct OutOfTurn {
    blocked: Option<SignalMask>,
    /// The data of the signal that the thread was stopped with.
    signal: Option<SignalData>,
}

impl OutOfTurn {
    /// Notes that the thread stopped for another reason than its instruction. Another signal has
    /// data of its own.
    pub(super) fn note(&mut self, status: ThreadEvent) {
        if matches!(status, ThreadEvent::Signal(_)) {
            self.signal = None;
        }
    }
}

impl Inferior {
    /// Prepares a thread to execute instructions out of turn: signals are blocked, and the data of
    /// the current one is saved.
    pub(crate) fn begin_out_of_turn(&mut self, thread: ThreadId) -> OutOfTurn {
        let signal = self.os.signal_data(thread);
        let blocked = (self.os).block_signals(thread, Block::AllBut(&NOT_BLOCKED));
        OutOfTurn { blocked, signal }
    }

    /// Restores the state saved by [`Self::begin_out_of_turn`].
    pub(crate) fn end_out_of_turn(&mut self, thread: ThreadId, before: OutOfTurn) {
        if let Some(blocked) = before.blocked {
            self.os.block_signals(thread, Block::Exactly(blocked));
        }
        if let Some(data) = before.signal {
            self.os.set_signal_data(thread, &data);
        }
    }

    /// Finishes the pass of a thread that is about to get a signal, and moves it out of the copies
    /// of what a jump covers: a handler must not see them.
    pub(crate) fn finish_pass(&mut self, thread: ThreadId, how: Resume) {
        if self.jumps.is_empty() && !self.has_passed(thread) {
            return;
        }
        if self.rest_of_pass(thread, how).is_some() {
            let before = self.begin_out_of_turn(thread);
            self.execute_pass(thread, how);
            self.end_out_of_turn(thread, before);
        }
        let pc = self.normalize(thread).map(|registers| registers.pc());
        let passed = self.thread_mut(thread).and_then(|state| state.passed_site);
        // An instruction that could not be finished: back to its original address.
        if let Some(pc) = pc
            && let Some(site) = self.jumps.jump_over(pc, &self.sites)
            && (pc != site || passed == Some(pc))
        {
            self.sites.end_jump_at(site, &*self.os);
        }
        self.keep_pass(thread);
    }

    fn has_passed(&mut self, thread: ThreadId) -> bool {
        let pc = self.registers(thread).map(|registers| registers.pc());
        let passed = self.thread_mut(thread).and_then(|state| state.passed_site);
        pc.is_some() && passed == pc
    }

    /// Records a counted pass that is not finished.
    pub(crate) fn keep_pass(&mut self, thread: ThreadId) {
        if !self.has_passed(thread) {
            return;
        }
        let Some(registers) = self.registers(thread) else {
            return;
        };
        let site = self.sites.get(registers.pc());
        if site.is_some_and(|site| !site.has_jump() && !site.covers_trap())
            && let Some(state) = self.thread_mut(thread)
        {
            state.passed_site = None;
            state.interrupt_pass(registers);
        }
    }

    /// Returns what a thread has to execute next of its pass; `None` if nothing, or if it cannot be
    /// executed now.
    fn rest_of_pass(&mut self, thread: ThreadId, how: Resume) -> Option<Rest> {
        let registers = self.normalize(thread)?;
        let pc = registers.pc();
        let state = self.thread_mut(thread)?;
        let (has_passed, signal) = (state.passed_site == Some(pc), state.signal);
        let is_shown = state.is_hit_shown;
        let site = self.sites.get(pc);
        if let Some(copy) = self.jumps.relocated_pc(pc, &self.sites) {
            return (has_passed || site.is_none()).then_some(Rest::Copy(copy));
        }
        // After a reported stop the handler runs first, as the user expects. A single step handles
        // its own stop, and a fault decides what becomes of its instruction.
        let is_left_alone = is_shown || how == Resume::Step || NOT_BLOCKED.contains(&signal);
        if !has_passed || is_left_alone {
            return None;
        }
        site.filter(|site| !site.covers_trap())?;
        let instruction = self.arch.read(&self.memory(), pc)?;
        instruction.can_be_stepped().then_some(Rest::Covered(pc))
    }

    /// Executes the rest of a pass.
    fn execute_pass(&mut self, thread: ThreadId, how: Resume) {
        let mut kept = None;
        for _ in 0..MAX_STEPS {
            let Some(rest) = self.rest_of_pass(thread, how) else {
                break;
            };
            if !self.execute_rest(thread, rest, &mut kept) {
                break;
            }
        }
        if let (Some(signal), Some(pid)) = (kept, self.pid()) {
            self.os.signal(pid, signal);
        }
    }

    /// Executes one instruction of a pass. Returns false if the rest has to wait. `kept`: a signal
    /// that arrived nevertheless and has to be delivered again.
    fn execute_rest(&mut self, thread: ThreadId, rest: Rest, kept: &mut Option<Signal>) -> bool {
        let Some(registers) = self.registers(thread) else {
            return false;
        };
        let next = match rest {
            Rest::Covered(site) => self.registers_past_site(thread, site, &registers),
            Rest::Copy(copy) => {
                let mut registers = registers;
                registers.set_pc(copy);
                Some(registers)
            }
        };
        let Some(next) = next.filter(|next| self.os.set_registers(thread, next)) else {
            return false;
        };
        let mut status = None;
        let is_emulated = !self.pads.holds(next.pc()) && !self.jumps.holds(next.pc());
        if !is_emulated {
            self.run(thread, Resume::Step, Signal(0));
            status = self.os.wait_for_stop(thread);
        }
        let Some(state) = self.thread_mut(thread) else {
            return false;
        };
        let passed = state.passed_site.take();
        state.registers = RegisterCache::Unread;
        match status {
            None => is_emulated,
            Some(ThreadEvent::Signal(Signal::TRAP)) => self.note_sigtrap(thread).is_some(),
            // The thread has not moved.
            Some(ThreadEvent::Interrupted) => true,
            Some(status @ (ThreadEvent::Exited(_) | ThreadEvent::Killed(_))) => {
                self.thread_ended(thread, status);
                false
            }
            // The instruction faulted; it will fault again when the handler has returned.
            Some(ThreadEvent::Signal(signal)) if NOT_BLOCKED.contains(&signal) => {
                state.passed_site = passed;
                self.set_registers_of(thread, registers);
                false
            }
            // SIGSTOP cannot be blocked.
            Some(ThreadEvent::Signal(signal)) => {
                *kept = Some(signal);
                true
            }
            Some(status) => {
                self.note_group_stop(thread, status);
                false
            }
        }
    }

    /// Returns whether any thread may come back to a site that it has passed.
    pub(crate) fn may_resume_pass(&mut self, site: LoadAddr, _: &StoppedWorld) -> bool {
        let Some(process) = &self.process else {
            return false;
        };
        let has_record = |state: &Thread| !state.interrupted_passes.is_empty();
        if !process.threads.values().any(has_record) {
            return false;
        }
        let mappings = self.os.mappings(process.pid);
        let threads: Vec<ThreadId> = process.threads.keys().copied().collect();
        let mut may = false;
        for thread in threads {
            let sp = self.registers(thread).map(|registers| registers.sp());
            // A handler may run on a stack of its own: the interrupted frame is not left then.
            let is_left = |former: u64| {
                sp.is_some_and(|sp| {
                    let mut stacks = mappings.iter();
                    let stack = stacks.find(|it| it.start.0 <= sp && sp < it.end.0);
                    sp > former && stack.is_some_and(|stack| stack.start.0 <= former)
                })
            };
            if let Some(state) = self.thread_mut(thread) {
                may |= state.may_resume_pass(site, is_left);
            }
        }
        may
    }
}
