//! Resuming threads: past the breakpoint at their pc, with the signal to deliver.

use crate::debugger::{Debugger, State};
use crate::event::StopReason;
use crate::ids::{Signal, ThreadId};
use crate::inferior::displaced::{PastSite, REGION};
use crate::os::{RegisterSet, Resume, SystemCall, WaitStatus};
use dwarf::LoadAddr;

impl Debugger {
    /// Resumes one stopped thread: past a breakpoint that it has hit, with its signal.
    pub(crate) fn resume_thread(&mut self, thread: ThreadId, how: Resume) {
        let Some(state) = self.thread_mut(thread) else {
            return;
        };
        if !state.stopped || state.stopped_for_client {
            return;
        }
        let (awaits_places, group_stop) = (state.awaits_places, state.group_stop);
        if !state.suspended.is_empty() && self.end_returned_call(thread) {
            return;
        }
        if awaits_places && !self.calls_on(thread) {
            return;
        }
        if group_stop && self.stay_stopped(thread) {
            return;
        }
        // While a software watchpoint is set, every resume is a single step, except in calls that
        // the debugger makes.
        let is_called = self.calls.pending.is_some() || self.in_condition_call(thread);
        let how = match self.stops.watches.stepping && !is_called {
            true => Resume::Step,
            false => how,
        };
        self.arm(thread);
        let Some(state) = self.thread_mut(thread) else {
            return;
        };
        if let Some((site, id)) = state.pending_counted_hit.take()
            && state.registers.is_some_and(|it| it.pc() == site)
        {
            return self.on_counted_hit(thread, site, id);
        }
        if state.signal.0 != 0 {
            self.finish_pass(thread, how);
            let Some(state) = self.thread_mut(thread) else {
                return;
            };
            // The deferred stop is handled first; the signal is kept.
            if state.group_stop && self.stay_stopped(thread) {
                return;
            }
            if self
                .thread_mut(thread)
                .is_some_and(|it| it.debug_register_hits != 0)
            {
                return self.on_step_or_watch_trap(thread, false);
            }
        }
        if how == Resume::Step {
            self.end_detour_before(thread);
        }
        let Some(state) = self.thread_mut(thread) else {
            return;
        };
        let signal = std::mem::take(&mut state.signal);
        let passed = state.passed_site.take();
        let mut registers = state.registers.take();
        let mut unwritten = std::mem::take(&mut state.registers_dirty);
        state.stopped = false;
        if let (Some(addr), Some(registers)) = (passed, &mut registers)
            && registers.pc() == addr
            && self.stops.watches.has_code(addr)
        {
            self.images.modules.arch().pass_execute_trigger(registers);
            unwritten = true;
        }
        if let (Some(addr), Some(mut registers)) = (passed, registers)
            && registers.pc() == addr
            && let Some(site) = self.inferior.sites.get(addr)
        {
            if site.covers_trap() {
                // At another address, the program's trap would be taken for one of ours.
                registers.set_pc(self.images.modules.arch().pc_after_breakpoint(addr));
                if let Some(state) = self.thread_mut(thread) {
                    state.stopped = true;
                    state.signal = signal;
                }
                self.set_registers_of(thread, registers);
                self.report_stop(thread, StopReason::Trap);
                return;
            }
            match self.registers_past_site(thread, addr, &registers) {
                Some(over) => {
                    // A signal may have arrived during the preparation: it is delivered first.
                    if let Some(state) = self.thread_mut(thread)
                        && signal.0 == 0
                        && let Some(status) = state.deferred.take()
                    {
                        state.stopped = true;
                        state.passed_site = passed;
                        state.registers = Some(registers);
                        state.registers_dirty = true;
                        self.dispatch_stop(thread, status);
                        return;
                    }
                    // If this fails, the thread is gone and its exit will be reported.
                    self.inferior.os.set_registers(thread, &over);
                    let elsewhere =
                        self.inferior.pads.holds(over.pc()) || self.inferior.jumps.holds(over.pc());
                    if how == Resume::Step && !elsewhere {
                        // The emulated call is the whole step.
                        if let Some(state) = self.thread_mut(thread) {
                            state.stopped = true;
                        }
                        self.on_single_step(thread);
                        return;
                    }
                }
                None => {
                    self.inferior.os.set_registers(thread, &registers);
                    self.step_in_place(thread, addr, how, signal);
                    return;
                }
            }
        } else if let Some(mut registers) = registers
            && self.inferior.sites.get(registers.pc()).is_none()
            && let Some(copy) = self
                .inferior
                .jumps
                .relocated_pc(registers.pc(), &self.inferior.sites)
        {
            registers.set_pc(copy);
            self.inferior.os.set_registers(thread, &registers);
        } else if let (true, Some(registers)) = (unwritten, registers) {
            self.inferior.os.set_registers(thread, &registers);
        }
        self.inferior.os.resume(thread, how, signal);
    }

    /// Returns the registers that move a thread past the instruction under a site without removal
    /// of the trap.
    pub(crate) fn registers_past_site(
        &mut self,
        thread: ThreadId,
        site: LoadAddr,
        registers: &RegisterSet,
    ) -> Option<RegisterSet> {
        let pid = self.inferior.process.as_ref()?.pid;
        if let Some(copy) = self.inferior.jumps.relocated_pc(site, &self.inferior.sites) {
            let mut registers = *registers;
            registers.set_pc(copy);
            return Some(registers);
        }
        for _ in 0..2 {
            let os = &*self.inferior.os;
            let memory = crate::memory::ProcessMemory::uncached(os, &self.inferior.sites);
            let arch = self.images.modules.arch();
            match self
                .inferior
                .pads
                .past_site((arch, site), registers, &memory, os, || os.mappings(pid))
            {
                PastSite::Go(registers) => return Some(registers),
                PastSite::Impossible => return None,
                PastSite::NeedsRegion(addr) => {
                    let call = SystemCall::MapCode { addr, len: REGION };
                    match self.inject_syscall(thread, call) {
                        Some(result) if result as u64 == addr.0 => {
                            self.inferior.pads.add_region(addr)
                        }
                        result => {
                            tracing::info!(?result, "no memory for displaced stepping");
                            self.inferior.pads.disable();
                        }
                    }
                }
            }
        }
        None
    }

    /// Steps over a breakpoint in place, which is slow: all other threads are stopped while the
    /// trap is removed.
    pub(crate) fn step_in_place(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        how: Resume,
        signal: Signal,
    ) {
        if let Some(state) = self.thread_mut(thread) {
            state.stopped = true;
        }
        let status = self.with_world_stopped(thread, |this| {
            this.inferior.sites.lift(addr, &*this.inferior.os);
            this.inferior.os.resume(thread, Resume::Step, signal);
            let status = this.inferior.os.wait_for_stop(thread);
            this.inferior.sites.plant(addr, &*this.inferior.os);
            if let Some(state) = this.thread_mut(thread) {
                state.registers = None;
            }
            status
        });
        match status {
            Some(WaitStatus::Signal(Signal(libc::SIGTRAP))) => {
                self.record_debug_register_hits(thread);
                self.on_step_or_watch_trap(thread, how == Resume::Step);
            }
            Some(status) => self.on_stop(thread, status),
            None => {}
        }
    }

    /// Stops the world, runs an action, and resumes the threads that ran and those created since.
    /// `thread` must be stopped already and stays so. Reports no stop of its own; a deferred stop
    /// of another thread is dispatched instead of resuming it.
    pub(crate) fn with_world_stopped<T>(
        &mut self,
        thread: ThreadId,
        act: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let stopped = |this: &Self| -> Vec<ThreadId> {
            let threads = this.inferior.process.iter().flat_map(|it| &it.threads);
            let stopped = threads.filter(|(_, state)| state.stopped);
            stopped.map(|(thread, _)| *thread).collect()
        };
        let before = stopped(self);
        let state_before = self.state();
        self.set_state(State::Stopped);
        self.stop_all();
        let result = act(self);
        self.inferior.pages.clear();
        self.set_state(state_before);
        // Includes threads that were created during the action.
        for other in stopped(self) {
            if other != thread && !before.contains(&other) {
                match self
                    .thread_mut(other)
                    .and_then(|state| state.deferred.take())
                {
                    Some(status) => self.dispatch_stop(other, status),
                    None => self.resume_thread(other, Resume::Continue),
                }
            }
        }
        result
    }

    /// Resumes a thread from a reported stop; in all-stop mode also all others, unless it is to run
    /// alone.
    pub(crate) fn resume_from_stop(&mut self, thread: ThreadId) {
        if !self.inferior.non_stop {
            let alone = std::mem::take(&mut self.inferior.resume_single_thread);
            self.resume_where(|other| !alone || other == thread);
            return;
        }
        self.forget_stop_of(thread);
        let Some(state) = self.thread_mut(thread) else {
            return;
        };
        state.stopped_for_client = false;
        match state.deferred.take() {
            Some(status) => self.dispatch_stop(thread, status),
            None => self.resume_step(thread),
        }
    }

    /// Resumes all stopped threads.
    pub(crate) fn resume_all(&mut self) {
        self.resume_where(|_| true);
    }

    /// Resumes the wanted threads that are stopped. Deferred stops are dispatched first, and may
    /// stop everything again.
    fn resume_where(&mut self, wanted: impl Fn(ThreadId) -> bool) {
        self.clear_stop_state();
        self.set_state(State::Running);
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        let threads = process.threads.keys().copied();
        let threads: Vec<ThreadId> = threads.filter(|thread| wanted(*thread)).collect();
        for state in process.threads.values_mut() {
            state.stopped_for_client = false;
        }
        for thread in &threads {
            let deferred = self
                .thread_mut(*thread)
                .filter(|state| state.stopped)
                .and_then(|state| state.deferred.take());
            if let Some(status) = deferred {
                self.dispatch_stop(*thread, status);
                if self.state() != State::Running {
                    return;
                }
            }
        }
        self.refresh_watches();
        for thread in threads {
            self.resume_step(thread);
            if self.state() != State::Running {
                return;
            }
        }
    }
}
