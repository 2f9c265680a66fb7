//! Resuming threads: past the breakpoint at their pc, with the signal to deliver. From a handled
//! stop, a thread of the program is resumed only by [`Inferior::resume`] and
//! [`Inferior::step_in_place`].

use super::displaced::{PastSite, REGION, free_place};
use super::thread::{RegisterCache, RunState, Thread};
use super::{Inferior, StopCause};
use crate::arch::Flow;
use crate::ids::{Signal, ThreadId};
use crate::os::{RegisterSet, ReplayStop, Resume, SystemCall, ThreadEvent};
use dwarf::LoadAddr;

/// What a thread executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunAs {
    /// The program.
    Program,
    /// A function that a condition calls: it is not single-stepped for a watchpoint.
    ConditionCall,
    /// A function that an evaluation calls: like `ConditionCall`, and it runs even in a group-stop
    /// or while the thread waits for locations of breakpoints.
    Call,
}

/// The outcome of [`Inferior::resume`].
pub(crate) enum Resumed {
    /// The thread runs, or has to stay as it is.
    Done,
    /// The thread is still stopped; this cause has to be handled first.
    Stop(StopCause),
    /// The thread is still stopped; this status arrived while the resume was prepared.
    Status(ThreadEvent),
    /// The thread is still stopped; it has to be stepped with the trap at its pc removed.
    InPlace(InPlaceStep),
}

/// A step over a breakpoint in place.
#[derive(Clone, Copy)]
pub(crate) struct InPlaceStep {
    addr: LoadAddr,
    signal: Signal,
    /// How the thread was to be resumed.
    pub how: Resume,
}

impl Inferior {
    /// Resumes one stopped thread: past a breakpoint that it has hit, with its signal.
    pub(crate) fn resume(&mut self, thread: ThreadId, how: Resume, runs: RunAs) -> Resumed {
        let Some(state) = self.thread_mut(thread) else {
            return Resumed::Done;
        };
        if state.run != RunState::Stopped {
            return Resumed::Done;
        }
        if runs == RunAs::Program && self.os.is_at_stored_end() {
            return self.stop_again(thread, how);
        }
        let Some(state) = self.thread_mut(thread) else {
            return Resumed::Done;
        };
        if state.awaits_places && runs != RunAs::Call {
            return Resumed::Done;
        }
        if runs != RunAs::Call && self.stay_stopped(thread) {
            return Resumed::Done;
        }
        self.arm(thread);
        let rests = |state: &mut Thread| std::mem::take(&mut state.debug.rests);
        if self.thread_mut(thread).is_some_and(rests) {
            self.disarm(thread);
        }
        let (is_watched, wanted) = (self.single_stepping && runs == RunAs::Program, how);
        let how = match is_watched {
            true => Resume::Step,
            false => how,
        };
        let Some(state) = self.thread_mut(thread) else {
            return Resumed::Done;
        };
        let was_stepping = std::mem::replace(&mut state.is_stepping, wanted == Resume::Step);
        if std::mem::take(&mut state.has_left_sequence) && was_stepping && wanted == Resume::Step {
            // It was interrupted in a pad, and has been stepped to the end of that.
            return Resumed::Stop(StopCause::Step);
        }
        if let Some((site, id)) = state.pending_counted_hit.take()
            && state.registers.get().is_some_and(|it| it.pc() == site)
        {
            return Resumed::Stop(StopCause::Counted(site, id));
        }
        if state.signal.0 != 0 {
            self.finish_pass(thread, how);
            // A group-stop or an access to watched data during the pass is handled first; the
            // signal stays pending.
            if runs != RunAs::Call && self.stay_stopped(thread) {
                return Resumed::Done;
            }
            if self.thread(thread).is_some_and(|it| it.debug.hits != 0) {
                return Resumed::Stop(StopCause::Access);
            }
        }
        if how == Resume::Step {
            self.end_jump_before_step(thread);
        }
        if self.pass_code_slot(thread) && how == Resume::Step {
            return Resumed::Stop(StopCause::Step);
        }
        let Some(state) = self.thread_mut(thread) else {
            return Resumed::Done;
        };
        let signal = std::mem::take(&mut state.signal);
        let passed = state.passed_site.take();
        let known = std::mem::take(&mut state.registers);
        let unwritten = matches!(known, RegisterCache::Dirty(_));
        // They may be unread: those of another copy of the program were shown.
        let registers = (known.get()).or_else(|| passed.and_then(|_| self.os.registers(thread)));
        if let (Some(addr), Some(mut registers)) = (passed, registers)
            && registers.pc() == addr
            && let Some(site) = self.sites.get(addr)
        {
            if site.covers_trap() {
                // The program's own trap cannot be executed in a pad: its address there would be
                // wrong. The thread is moved past it as if it had been executed.
                registers.set_pc(self.arch.behind_breakpoint(addr));
                if let Some(state) = self.thread_mut(thread) {
                    state.signal = signal;
                }
                self.set_registers_of(thread, registers);
                return Resumed::Stop(StopCause::ProgramTrap);
            }
            match self.registers_past_site(thread, addr, &registers) {
                Some(over) => {
                    // A signal that arrived while memory for the pad was mapped is handled first.
                    if let Some(state) = self.thread_mut(thread)
                        && signal.0 == 0
                        && let Some(status) = state.deferred.take()
                    {
                        state.passed_site = passed;
                        state.registers = RegisterCache::Dirty(registers);
                        return Resumed::Status(status);
                    }
                    // If this fails, the thread is gone: the kernel reports its exit.
                    self.os.set_registers(thread, &over);
                    let elsewhere = self.pads.holds(over.pc()) || self.jumps.holds(over.pc());
                    if how == Resume::Step && !elsewhere {
                        // The instruction was emulated: the step is complete.
                        return Resumed::Stop(StopCause::Step);
                    }
                }
                None if !self.os.is_turn_of(thread) => {
                    self.os.set_registers(thread, &registers);
                    if let Some(state) = self.thread_mut(thread) {
                        state.run = RunState::Running;
                        state.signal = signal;
                        state.passed_site = passed;
                    }
                    self.note_change_of(thread);
                    self.os.resume_at_turn(thread);
                    return Resumed::Done;
                }
                None => {
                    self.os.set_registers(thread, &registers);
                    return Resumed::InPlace(InPlaceStep { addr, signal, how });
                }
            }
        } else if let Some(mut registers) = registers
            && self.sites.get(registers.pc()).is_none()
            && let Some(copy) = self.jumps.relocated_pc(registers.pc(), &self.sites)
        {
            registers.set_pc(copy);
            self.os.set_registers(thread, &registers);
        } else {
            if let (true, Some(registers)) = (unwritten, registers) {
                self.os.set_registers(thread, &registers);
            }
            if how == Resume::Step
                && signal.0 == 0
                && self.arch.has_exclusive_sequences()
                && let Some(registers) = registers.or_else(|| self.os.registers(thread))
                && self.sites.get(registers.pc()).is_none()
                && let Some(past) = self.past_sequence(thread, &registers)
            {
                let addr = registers.pc();
                let Some(past) = past else {
                    return Resumed::InPlace(InPlaceStep { addr, signal, how });
                };
                self.os.set_registers(thread, &past);
            }
        }
        if let Some(state) = self.thread_mut(thread) {
            state.run = RunState::Running;
        }
        let how = match signal.0 {
            0 => self.unbroken(thread, how),
            // It enters the handler first.
            _ => how,
        };
        self.own_time.go_on();
        self.run(thread, how, signal);
        Resumed::Done
    }

    /// Resumes a thread that stops again at once where it is: nothing is prepared for it to run.
    fn stop_again(&mut self, thread: ThreadId, how: Resume) -> Resumed {
        if let Some(state) = self.thread_mut(thread) {
            state.run = RunState::Running;
            state.signal = Signal(0);
            state.passed_site = None;
            state.registers = RegisterCache::Unread;
        }
        self.run(thread, how, Signal(0));
        Resumed::Done
    }

    /// Resumes a stopped thread as it is. What was read from the process is out of date.
    pub(super) fn run(&mut self, thread: ThreadId, how: Resume, signal: Signal) {
        self.note_change_of(thread);
        self.os.resume(thread, how, signal);
    }

    /// Removes the trap at a thread's pc, single-steps the thread, and inserts the trap again. All
    /// other threads must be stopped. Returns the thread's next stop; `None` if it is gone.
    pub(crate) fn step_in_place(
        &mut self,
        thread: ThreadId,
        step: InPlaceStep,
    ) -> Option<ThreadEvent> {
        self.sites.lift(step.addr, &*self.os);
        let status = match self.exits_of_sequence_at(step.addr) {
            Some(exits) if step.signal.0 == 0 => self.run_for_a_moment_to(thread, &exits),
            _ => {
                self.run(thread, Resume::Step, step.signal);
                self.os.wait_for_stop(thread)
            }
        };
        self.sites.plant(step.addr, &*self.os);
        if let Some(state) = self.thread_mut(thread) {
            state.registers = RegisterCache::Unread;
        }
        // It may have stopped before it executed anything: it still has to pass the site. A recorder reports only
        // signals without a handler, after which the program goes on at the same place.
        let is_before = match status {
            Some(ThreadEvent::Replayed(ReplayStop::Reached)) => true,
            Some(ThreadEvent::Signal(signal)) => signal != Signal::TRAP && self.os.is_recording(),
            _ => false,
        };
        if is_before && let Some(state) = self.thread_mut(thread) {
            state.passed_site = Some(step.addr);
        }
        status
    }

    /// Returns the registers with which a thread at a site executes the instruction under the trap,
    /// or has executed it, while the trap stays; `None` if the trap has to be removed. If an exclusive
    /// sequence begins there, the thread executes all of it, and then traps. Maps memory for pads if
    /// necessary.
    pub(crate) fn registers_past_site(
        &mut self,
        thread: ThreadId,
        site: LoadAddr,
        registers: &RegisterSet,
    ) -> Option<RegisterSet> {
        let pid = self.process.as_ref()?.pid;
        if let Some(copy) = self.jumps.relocated_pc(site, &self.sites) {
            let mut registers = *registers;
            registers.set_pc(copy);
            return Some(registers);
        }
        // Between two repetitions, a search must find the thread at the instruction. The kernel tells the program
        // where it has made a system call.
        let stays = |inferior: &Self| {
            let instruction = inferior.arch.read(&inferior.memory(), site);
            instruction.is_some_and(|it| it.is_repeated() || it.flow == Flow::SystemCall)
        };
        let may_copy = self.os.can_execute_copy(site)
            && (!self.os.is_recorded() || self.pads.has_copy(site) || !stays(self));
        for _ in 0..2 {
            let os = &*self.os;
            let memory = crate::memory::ProcessMemory::uncached(os, &self.sites);
            match self
                .pads
                .past_site((self.arch, site), registers, &memory, os, may_copy)
            {
                PastSite::Go(registers) => return Some(registers),
                PastSite::Impossible => return None,
                PastSite::NeedsRegion => self.map_pads(thread, pid, site)?,
            }
        }
        None
    }

    /// Maps memory for pads near an address. If that fails, none is asked for again. `None`: there is no
    /// place.
    fn map_pads(&mut self, thread: ThreadId, pid: i32, near: LoadAddr) -> Option<()> {
        let addr = free_place(self.arch, near, REGION, &self.occupied(pid))?;
        let call = SystemCall::MapCode { addr, len: REGION };
        match self.inject_syscall(thread, call) {
            Some(result) if result as u64 == addr.0 => self.pads.add_region(addr),
            result => {
                tracing::info!(?result, "no memory for displaced stepping");
                self.pads.disable();
            }
        }
        Some(())
    }

    /// Gives the backend the memory that it wants in the process for system calls of ours, if there can be any.
    pub(crate) fn offer_refuge(&mut self, thread: ThreadId) -> Option<()> {
        let bytes = self.os.refuge_bytes()?;
        let mut room = self.pads.take_room(bytes);
        if room.is_none() && self.pads.can_map() {
            let pid = self.process.as_ref()?.pid;
            let near = self.registers(thread)?.pc();
            self.map_pads(thread, pid, near)?;
            room = self.pads.take_room(bytes);
        }
        self.os.set_refuge(room?);
        Some(())
    }
}
