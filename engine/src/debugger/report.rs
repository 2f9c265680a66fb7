//! Reports of stops, and detaching with all instrumentation removed.

use super::dispatch::Shown;
use super::{Debugger, State};
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::inferior::Process;
use crate::inferior::thread::RunState;
use crate::os::ThreadEvent;
use crate::stops::breakpoint::RequestedLocation;
use crate::stops::event::{Event, Stop, StopReason};

/// Number of bytes of output after which no more is passed to the client before a stop is reported.
pub(crate) const OUTPUT_DRAIN_LIMIT: usize = 1 << 20;

impl Debugger {
    /// Reports the stop of a thread. In all-stop mode, stops all other threads first.
    pub(super) fn report_stop(&mut self, thread: ThreadId, reason: StopReason, mut shown: Shown) {
        self.give_back_repetitions(thread);
        let abandoned = self.suspend_call(thread, &reason);
        self.note_unsent_stop(thread, &reason, abandoned.is_some());
        self.note_end_of_recording();
        if self.inferior.non_stop {
            self.report_alone(thread, reason, shown, abandoned);
            return;
        }
        self.inferior.set_state(State::Stopped);
        self.cancel_steps();
        self.stop_all();
        self.inferior.own_time.stop();
        self.drain_all_messages();
        self.clear_stop_state();
        // Another thread's execve may have ended this thread.
        let gone = |process: &Process| !process.threads.contains_key(&thread);
        let thread = match &self.inferior.process {
            Some(process) if gone(process) => {
                shown = Shown::default();
                self.current_thread().unwrap_or(thread)
            }
            _ => thread,
        };
        if !self.client.output_held {
            self.pump_output(OUTPUT_DRAIN_LIMIT);
        }
        self.mark_stop_pc(thread, &reason, shown);
        if self.inferior.survives_debugger() {
            self.inferior.make_all_safe_to_kill();
        }
        if self.state() == State::Stopped {
            self.emit_stopped(thread, reason, abandoned);
        } else if abandoned.is_some() {
            self.emit(Event::CallEnded);
        }
    }

    /// Reports the stop of a thread in non-stop mode: all other threads keep running.
    fn report_alone(
        &mut self,
        thread: ThreadId,
        reason: StopReason,
        shown: Shown,
        abandoned: Option<Error>,
    ) {
        self.inferior.set_state(State::Running);
        self.drain_messages_so_far();
        self.cancel_step(thread);
        self.forget_stop_of(thread);
        if !self.client.output_held {
            self.pump_output(OUTPUT_DRAIN_LIMIT);
        }
        self.mark_stop_pc(thread, &reason, shown);
        if self.inferior.survives_debugger() {
            self.inferior.make_safe_to_kill(thread);
        }
        if let Some(state) = self.inferior.thread_mut(thread) {
            state.run = RunState::StoppedForClient;
            state.pausing = false;
            self.emit_stopped(thread, reason, abandoned);
        } else if abandoned.is_some() {
            self.emit(Event::CallEnded);
        }
    }

    /// Marks a breakpoint at the stop pc as already hit, so that resuming steps over it; after a
    /// pause, a signal or the end of a call it is still to be hit. Records what the stop shows.
    fn mark_stop_pc(&mut self, thread: ThreadId, reason: &StopReason, shown: Shown) {
        let pc = self
            .inferior
            .normalize(thread)
            .map(|registers| registers.pc());
        let by_chance = matches!(
            reason,
            StopReason::Pause | StopReason::Signal { .. } | StopReason::CallEnded { .. }
        );
        let requested = match (reason, pc) {
            (StopReason::Data(..), Some(pc))
                if let Some(written) = self.line_of_found_write(thread, pc) =>
            {
                written
            }
            (
                StopReason::Breakpoint(ids)
                | StopReason::BreakpointError(ids, _)
                | StopReason::Data(ids, _),
                Some(pc),
            ) => self.requested_location(ids, pc),
            _ => RequestedLocation::default(),
        };
        if let Some(state) = self.inferior.thread_mut(thread).filter(|_| !by_chance) {
            state.passed_site = pc;
            state.is_hit_shown = true;
        }
        if let Some(state) = self.thread_state(thread) {
            let requested = shown.requested.unwrap_or(requested);
            state.hidden_inlined = shown.hidden.unwrap_or(requested.hidden);
            state.requested = requested;
            state.returned = shown.returned;
        }
    }

    /// Emits the event of a stop. `abandoned`: the error of the evaluation whose call has stopped.
    pub(crate) fn emit_stopped(
        &mut self,
        thread: ThreadId,
        reason: StopReason,
        abandoned: Option<Error>,
    ) {
        let all = !self.inferior.non_stop;
        self.count_stop(thread, &reason);
        if let Some(process) = &mut self.inferior.process {
            process.current = thread;
            self.show_exception(thread, &reason);
            self.emit(Event::Stopped(Stop {
                thread,
                reason,
                all,
                abandoned,
            }));
        }
    }

    /// Removes all instrumentation and detaches from all threads, which run on.
    ///
    /// # Errors
    /// There is no process.
    pub(crate) fn detach_all(&mut self) -> Result<(), Error> {
        self.put_past_aside();
        self.return_to_head();
        self.abort_call(Error::Cancelled);
        self.inferior.set_state(State::Stopped);
        self.stop_all();
        self.end_suspended_calls();
        self.restart_past();
        if self.inferior.survives_debugger() {
            // The debugger may be killed while it detaches.
            self.inferior.make_all_safe_to_kill();
        }
        self.inferior.detach_unseen_children();
        self.cancel_steps();
        self.drain_all_messages();
        self.inferior.remove_instrumentation();
        let threads: Vec<ThreadId> = match &self.inferior.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return Err(Error::NoProcess),
        };
        for thread in threads {
            self.inferior.write_registers(thread);
        }
        let Some(process) = self.inferior.process.take() else {
            return Err(Error::NoProcess);
        };
        // Closed before the first thread runs: nothing may be written into an untraced process.
        self.inferior.close_memory();
        for (thread, state) in process.threads {
            let deferred = match state.deferred {
                Some(ThreadEvent::Signal(signal)) if signal != Signal::TRAP => signal,
                _ => Signal(0),
            };
            match (state.signal.0, deferred.0) {
                (0, _) => self.inferior.detach_thread(thread, deferred),
                (_, 0) => self.inferior.detach_thread(thread, state.signal),
                // A detach delivers one signal.
                _ => {
                    self.inferior.send_signal(process.pid, deferred);
                    self.inferior.detach_thread(thread, state.signal);
                }
            }
        }
        self.inferior.release_children(process.children);
        self.clear_stop_state();
        self.inferior.over = true;
        Ok(())
    }
}
