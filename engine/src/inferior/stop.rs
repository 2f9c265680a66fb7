//! Stopping all threads, reporting the cause, and detaching without leaving anything in the
//! process.

use super::{Child, OUTPUT_DRAIN_LIMIT, Process, STOP_TIMEOUT};
use crate::arch::Flow;
use crate::breakpoint::{AskedPlace, CALL_GRACE};
use crate::debugger::{Debugger, State};
use crate::event::{Event, Stop, StopReason};
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::inferior::displaced::REGION;
use crate::os::{RegisterSet, Resume, SystemCall, WaitInterest, WaitStatus};
use dwarf::LoadAddr;
use std::time::{Duration, Instant};

/// Above this many running threads, if few stopped in a pass, wait for `STOP_POLL_INTERVAL` instead
/// of polling each thread again.
const MANY_THREADS: usize = 64;
/// The wait between two passes over many running threads.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(1);

impl Debugger {
    /// Stops all threads and reports the cause.
    pub(crate) fn report_stop(&mut self, thread: ThreadId, reason: StopReason) {
        let abandoned = self.suspend_call(thread, &reason);
        if self.inferior.non_stop {
            self.report_alone(thread, reason, abandoned);
            return;
        }
        self.set_state(State::Stopped);
        self.cancel_steps();
        self.stop_all();
        self.drain_all_messages();
        self.clear_stop_state();
        // Another thread's execve may have ended this thread.
        let gone = |process: &Process| !process.threads.contains_key(&thread);
        let thread = match &self.inferior.process {
            Some(process) if gone(process) => self.current_thread().unwrap_or(thread),
            _ => thread,
        };
        if !self.client.output_held {
            self.pump_output(OUTPUT_DRAIN_LIMIT);
        }
        self.mark_stop_pc(thread, &reason);
        if self.survives_debugger() {
            self.make_all_safe_to_kill();
        }
        if self.state() == State::Stopped {
            self.emit_stopped(thread, reason, abandoned);
        } else if abandoned.is_some() {
            self.inferior.events.push_back(Event::CallEnded);
        }
    }

    /// Reports the stop of one thread; all other threads keep running.
    fn report_alone(&mut self, thread: ThreadId, reason: StopReason, abandoned: Option<Error>) {
        self.set_state(State::Running);
        while self.drain_messages() {}
        self.cancel_step(thread);
        self.forget_stop_of(thread);
        if !self.client.output_held {
            self.pump_output(OUTPUT_DRAIN_LIMIT);
        }
        self.mark_stop_pc(thread, &reason);
        if self.survives_debugger() {
            self.make_safe_to_kill(thread);
        }
        if let Some(state) = self.thread_mut(thread) {
            state.stopped_for_client = true;
            state.pausing = false;
            self.emit_stopped(thread, reason, abandoned);
        } else if abandoned.is_some() {
            self.inferior.events.push_back(Event::CallEnded);
        }
    }

    /// Marks a breakpoint at the stop pc as already hit, so that resuming steps over it. After a
    /// pause or a signal it is still to be hit.
    fn mark_stop_pc(&mut self, thread: ThreadId, reason: &StopReason) {
        let pc = self.user_registers(thread).map(|registers| registers.pc());
        let by_chance = matches!(
            reason,
            StopReason::Pause | StopReason::Signal { .. } | StopReason::CallEnded { .. }
        );
        let asked = match (reason, pc) {
            (
                StopReason::Breakpoint(ids)
                | StopReason::BreakpointError(ids, _)
                | StopReason::Data(ids, _),
                Some(pc),
            ) => self.asked_place(ids, pc),
            _ => AskedPlace::default(),
        };
        if let Some(state) = self.thread_mut(thread) {
            if !by_chance {
                state.passed_site = pc;
                state.is_hit_shown = true;
            }
            state.hidden_inlined = asked.hidden;
            state.asked = asked;
        }
    }

    /// Emits the event of a stop. `abandoned`: the error of an evaluation whose call has stopped.
    pub(crate) fn emit_stopped(
        &mut self,
        thread: ThreadId,
        reason: StopReason,
        abandoned: Option<Error>,
    ) {
        let all = !self.inferior.non_stop;
        if let Some(process) = &mut self.inferior.process {
            process.current = thread;
            self.show_exception(thread, &reason);
            self.inferior.events.push_back(Event::Stopped(Stop {
                thread,
                reason,
                all,
                abandoned,
            }));
        }
    }

    fn survives_debugger(&self) -> bool {
        self.inferior
            .process
            .as_ref()
            .is_some_and(|it| !it.launched)
    }

    /// Interrupts one thread; all threads if `wanted` is not one of the debuggee's.
    pub(crate) fn pause_threads(&mut self, wanted: ThreadId) {
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        let all = !process.threads.contains_key(&wanted);
        for (thread, state) in &mut process.threads {
            if (all || *thread == wanted) && !state.stopped {
                state.pausing = true;
                state.interrupted = true;
                self.inferior.os.interrupt(*thread);
            }
        }
    }

    /// Puts the stopped threads of a process that outlives the debugger into a state that it
    /// survives if the debugger is killed: no SIGTRAP of ours pending, no pc at or inside one of
    /// our traps.
    pub(crate) fn make_all_safe_to_kill(&mut self) {
        let threads: Vec<ThreadId> = match &self.inferior.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return,
        };
        for thread in threads {
            self.make_safe_to_kill(thread);
        }
    }

    fn make_safe_to_kill(&mut self, thread: ThreadId) {
        let Some(state) = self.thread_mut(thread) else {
            return;
        };
        if !state.stopped || state.deferred.is_some() || state.signal.0 != 0 {
            return;
        }
        let Some(registers) = self.user_registers(thread) else {
            return;
        };
        let site = registers.pc();
        let mut refuge = None;
        if self.inferior.sites.get(site).is_some() && self.make_slot(thread, site, &registers) {
            // An indirect call has no displaced copy: there the guardian has to be quick.
            refuge = self.inferior.pads.safe_registers(site, &registers);
        }
        if let Some(copy) = self.inferior.jumps.relocated_pc(site, &self.inferior.sites) {
            let mut registers = registers;
            registers.set_pc(copy);
            refuge = Some(registers);
        }
        self.leave_sigtrap_stop(thread);
        match refuge {
            Some(refuge) => {
                self.inferior.os.set_registers(thread, &refuge);
                if let Some(state) = self.thread_mut(thread) {
                    state.registers_dirty = true;
                }
            }
            None => self.write_registers(thread),
        }
    }

    /// Moves a thread out of the signal-delivery-stop of a SIGTRAP without delivering it and
    /// without executing an instruction.
    pub(crate) fn leave_sigtrap_stop(&mut self, thread: ThreadId) {
        let trapped = self
            .thread_mut(thread)
            .is_some_and(|state| std::mem::take(&mut state.in_sigtrap_stop));
        if !trapped {
            return;
        }
        self.write_registers(thread);
        // A pending interrupt ends the resume before any instruction.
        self.inferior.os.interrupt(thread);
        self.inferior.os.resume(thread, Resume::Continue, Signal(0));
        match self.inferior.os.wait_for_stop(thread) {
            Some(WaitStatus::Interrupted | WaitStatus::GroupStop(_)) | None => {}
            Some(status @ (WaitStatus::Exited(_) | WaitStatus::Killed(_))) => {
                self.thread_ended(thread, status);
            }
            Some(status) => self.defer(thread, status),
        }
    }

    /// Makes a displaced copy of the instruction under the trap at `site`, if that is possible
    /// without side effects.
    pub(crate) fn make_slot(
        &mut self,
        thread: ThreadId,
        site: LoadAddr,
        registers: &RegisterSet,
    ) -> bool {
        let memory = self.memory();
        let instruction = self.images.modules.arch().read(&memory, site);
        let pushes =
            instruction.is_none_or(|instruction| matches!(instruction.flow, Flow::IndirectCall(_)));
        !pushes && self.registers_past_site(thread, site, registers).is_some()
    }

    pub(crate) fn running_threads(&self) -> Vec<ThreadId> {
        self.inferior
            .process
            .as_ref()
            .map_or_else(Vec::new, |process| {
                process
                    .threads
                    .iter()
                    .filter(|(_, state)| !state.stopped)
                    .map(|(thread, _)| *thread)
                    .collect()
            })
    }

    /// Interrupts all running threads and waits until they stop. Their stops are deferred.
    pub(crate) fn stop_all(&mut self) {
        let begun = Instant::now();
        let patience = begun + STOP_TIMEOUT;
        loop {
            let running = self.running_threads();
            if running.is_empty() {
                return;
            }
            self.hurry_asking(Some(begun + CALL_GRACE));
            let until = match self.asking_deadline() {
                Some(_) => begun + CALL_GRACE,
                None => patience,
            };
            for thread in &running {
                let is_asking = self.in_condition_call(*thread);
                if let Some(state) = self.thread_mut(*thread)
                    && !state.interrupted
                    && !is_asking
                {
                    state.interrupted = true;
                    self.inferior.os.interrupt(*thread);
                }
            }
            // Poll each thread by its id: to wait for any thread, the kernel walks over all of
            // them.
            let (all, mut stopped) = (running.len(), 0);
            for thread in running {
                if let Some(status) = self.inferior.os.poll_stop(thread) {
                    self.on_stop(thread, status);
                    stopped += 1;
                }
            }
            if all - stopped > MANY_THREADS && stopped < all / 4 && Instant::now() < patience {
                // A wake-up for each thread would cost more than the threads need to stop.
                std::thread::sleep(STOP_POLL_INTERVAL);
                continue;
            }
            if stopped > 0 {
                continue;
            }
            match self.inferior.os.next_stop() {
                Some((thread, status)) => self.on_stop(thread, status),
                None if Instant::now() >= patience => {
                    tracing::warn!("cannot stop some threads: blocked in the kernel");
                    return;
                }
                None => match self.inferior.os.wait(Some(until), WaitInterest::default()) {
                    Ok(ready) => self.remember(ready),
                    Err(error) => {
                        tracing::error!(%error, "cannot wait for threads to stop");
                        return;
                    }
                },
            }
        }
    }

    /// Removes all instrumentation from the stopped process.
    pub(crate) fn remove_instrumentation(&mut self) {
        self.cancel_steps();
        self.drain_all_messages();
        self.inferior.sites.remove_all(&*self.inferior.os);
        let threads: Vec<ThreadId> = match &self.inferior.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return,
        };
        // A process that shares the memory may be in a pad, too.
        let shares = |kind: &Child| *kind == Child::Vfork;
        let mut in_slot = self
            .inferior
            .process
            .as_ref()
            .is_some_and(|it| it.children.values().any(shares));
        for thread in &threads {
            self.disarm(*thread);
            // Reading the registers moves a thread out of its pad.
            in_slot |= self.user_registers(*thread).is_none_or(|it| {
                self.inferior.pads.holds(it.pc()) || self.inferior.jumps.holds(it.pc())
            });
        }
        if in_slot {
            // A thread may still need the pads: they stay in the process, without effect.
            return;
        }
        // In the kernel's registers, a parked thread is in a pad. If the debugger were killed after
        // the first system call, the thread would resume in unmapped memory.
        for thread in &threads {
            self.write_registers(*thread);
        }
        let slots = self.inferior.pads.regions().into_iter();
        let regions = slots.map(|region| (region, REGION));
        for (addr, len) in regions.chain(self.inferior.jumps.regions()) {
            if let Some(thread) = threads.first() {
                self.inject_syscall(*thread, SystemCall::Unmap { addr, len });
            }
        }
        self.inferior.pads = Default::default();
        self.inferior.jumps = Default::default();
        if self.survives_debugger()
            && let Some(thread) = threads.first()
        {
            self.leave_sigtrap_stop(*thread);
        }
    }

    /// Detaches from all threads.
    pub(crate) fn detach_all(&mut self) -> Result<(), Error> {
        self.abort_call(Error::Cancelled);
        self.set_state(State::Stopped);
        self.stop_all();
        self.end_suspended_calls();
        if self.survives_debugger() {
            // Detaching takes a while, and the debugger may be killed during it.
            self.make_all_safe_to_kill();
        }
        self.detach_unseen_children();
        self.remove_instrumentation();
        let threads: Vec<ThreadId> = match &self.inferior.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return Err(Error::NoProcess),
        };
        for thread in threads {
            self.write_registers(thread);
        }
        let Some(process) = self.inferior.process.take() else {
            return Err(Error::NoProcess);
        };
        // Before the first thread runs: no trap may be written into a process that is not traced.
        self.inferior.os.close_memory();
        for (thread, state) in process.threads {
            let mut signal = state.signal;
            if let Some(WaitStatus::Signal(deferred)) = state.deferred
                && deferred.0 != libc::SIGTRAP
            {
                signal = deferred;
            }
            self.inferior.os.detach(thread, signal);
        }
        self.release_children(process.children);
        self.clear_stop_state();
        self.inferior.over = true;
        Ok(())
    }
}
