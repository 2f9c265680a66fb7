//! Resuming and stopping, and the threads that can be inspected.

use super::{Debugger, ResumeScope, State};
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::Process;
use dwarf::{LoadAddr, SourceLocation};

impl Debugger {
    /// Sets non-stop mode: from now on, a thread stops by itself while the others run.
    pub fn set_non_stop(&mut self, on: bool) {
        self.inferior.non_stop = on;
    }

    /// Returns whether non-stop mode is on.
    pub fn is_non_stop(&self) -> bool {
        self.inferior.non_stop
    }

    /// Returns whether there is a stopped thread to inspect; others may run.
    pub fn has_visible_stop(&self) -> bool {
        self.current_thread().is_some()
    }

    pub(super) fn stopped(&self) -> Result<&Process, Error> {
        let process = self.inferior.process.as_ref().ok_or(Error::NoProcess)?;
        match process.state {
            State::Stopped | State::Running if self.calls.pending.is_some() => Err(Error::Calling),
            State::Stopped => Ok(process),
            State::Running if self.current_thread().is_some() => Ok(process),
            State::Ended | State::NoProcess => Err(Error::NoProcess),
            State::Held | State::Running => Err(Error::NotStopped),
        }
    }

    pub(crate) fn stopped_thread(&self, thread: ThreadId) -> Result<(), Error> {
        match self.stopped()?.threads.get(&thread) {
            Some(_) if self.inferior.is_visible_stop(thread) => Ok(()),
            Some(_) => Err(Error::NotStopped),
            None => Err(Error::NoSuchThread(thread.0)),
        }
    }

    /// Drops all state that is valid for one stop only.
    pub(crate) fn clear_stop_state(&mut self) {
        self.forget_present_stop();
        self.views.stacks.clear();
        for state in self.threads.values_mut() {
            state.forget_stop();
        }
        self.stops.exceptions.forget_stop();
    }

    /// Drops the state of a thread that is valid for one stop only.
    pub(crate) fn forget_stop_of(&mut self, thread: ThreadId) {
        self.views.stacks.remove(&thread);
        self.stops.exceptions.forget_stop_of(thread);
        if let Some(state) = self.threads.get_mut(&thread) {
            state.forget_stop();
        }
    }

    /// Returns the number of inlined calls that a thread's innermost frame does not show.
    pub(crate) fn hidden_at(&self, thread: ThreadId) -> usize {
        let state = self.threads.get(&thread);
        state.map_or(0, |state| state.hidden_inlined)
    }

    /// Returns the requested line at a thread's pc, if the line table assigns another one to its
    /// code.
    pub(crate) fn shown_line(&self, thread: ThreadId, pc: LoadAddr) -> Option<SourceLocation> {
        let state = self.threads.get(&thread)?;
        state.requested.shown_at(pc, state.hidden_inlined)
    }

    /// Returns the thread of the last stop, or else any thread.
    pub fn current_thread(&self) -> Option<ThreadId> {
        let process = self.inferior.process.as_ref()?;
        Some(process.current)
            .filter(|thread| self.inferior.is_visible_stop(*thread))
            .or_else(|| {
                let mut threads = process.threads.keys().copied();
                threads.find(|thread| self.inferior.is_visible_stop(*thread))
            })
    }

    /// Resumes all threads, or only the given one: by `scope`, and in non-stop mode. Returns true if
    /// all threads run now.
    ///
    /// # Errors
    /// The program or the thread is not stopped, or it is a core file.
    pub fn resume(&mut self, thread: ThreadId, scope: ResumeScope) -> Result<bool, Error> {
        self.can_run()?;
        let process = self.stopped()?;
        if self.inferior.non_stop && process.threads.contains_key(&thread) {
            self.stopped_thread(thread)?;
            self.resume_from_stop(thread, scope);
            return Ok(!self.has_visible_stop());
        }
        if scope == ResumeScope::One {
            self.stopped_thread(thread)?;
        }
        self.resume_from_stop(thread, scope);
        Ok(scope == ResumeScope::All)
    }

    /// Interrupts the program, or in non-stop mode the given thread; [`StopReason::Pause`] follows
    /// unless it is stopped already.
    ///
    /// # Errors
    /// There is no process, or it is a core file.
    pub fn interrupt(&mut self, thread: ThreadId) -> Result<(), Error> {
        self.can_run()?;
        self.await_unsent_stops(thread);
        match self.state() {
            State::NoProcess | State::Ended => return Err(Error::NoProcess),
            State::Stopped | State::Held => {
                self.abort_call(Error::eval("call interrupted"));
                return Ok(());
            }
            State::Running => {}
        }
        if self
            .inferior
            .process
            .as_ref()
            .is_some_and(|process| process.launcher)
        {
            return Ok(());
        }
        if self.calls.pending.is_some() {
            self.abort_call(Error::eval("call interrupted"));
        }
        if self.inferior.non_stop {
            self.inferior.pause_threads(thread);
            return Ok(());
        }
        self.cancel_steps();
        self.inferior.set_state(State::Stopped);
        self.stop_all();
        let before = self.abandon_search();
        let (thread, before) = self.show_begin_again(before);
        self.inferior.set_state(State::Stopped);
        match thread.or_else(|| self.current_thread()) {
            Some(thread) => self.report_interrupt(thread, before),
            // No thread could be stopped, or the process has just ended.
            None => self.inferior.set_state(State::Running),
        }
        Ok(())
    }
}
