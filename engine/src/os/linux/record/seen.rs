//! What the debugger sees of a recorded program, and asks of it: stops, resumes, interrupts, and when to look again.

use super::calls::Waits;
use super::recorder::Recorder;
use super::threads::thread::Thread;
use super::tracee;
use crate::ids::{Signal, ThreadId};
use crate::os::linux::ptrace;
use crate::os::{Resume, ThreadEvent};
use std::io;
use std::time::{Duration, Instant};

/// How often the files that threads wait for are looked at, while no thread can run.
const IDLE_LOOK: Duration = Duration::from_millis(2);

impl Recorder {
    /// Returns a thread of the program.
    pub(super) fn thread_mut(&mut self, pid: i32) -> Option<&mut Thread> {
        match self.is_running_thread(pid) {
            true => Some(&mut self.running),
            false => self.others.get_mut(&pid).map(|thread| &mut **thread),
        }
    }

    /// Returns what the debugger is to see next, without a stop of the kernel.
    pub fn take_seen(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        let (pid, _) = *self.seen.front()?;
        Some((ThreadId(pid), self.take_seen_of(pid)?))
    }

    /// Returns what the debugger is to see next of a thread.
    pub fn take_seen_of(&mut self, pid: i32) -> Option<ThreadEvent> {
        let nth = self.seen.iter().position(|(of, _)| *of == pid)?;
        let (_, event) = self.seen.remove(nth)?;
        if !event.is_end()
            && let Some(thread) = self.thread_mut(pid)
        {
            thread.is_stopped = true;
            thread.signal = match event {
                ThreadEvent::Signal(signal) => Some(signal.0),
                _ => None,
            };
        }
        self.exiting = match event {
            ThreadEvent::Exiting(code) => Some(code),
            _ => None,
        };
        if self.is_running_thread(pid) {
            self.keep_ending(event);
        }
        Some(event)
    }

    /// Shows the debugger a stop of the program.
    pub(super) fn report(&mut self, event: ThreadEvent) {
        self.report_of(self.running.tracee.pid, event);
    }

    /// Shows the debugger a stop of a thread, which does not run from now on.
    pub(super) fn report_of(&mut self, pid: i32, event: ThreadEvent) {
        if !event.is_end() {
            self.turns.scheduler.hold(pid);
        }
        self.seen.push_back((pid, event));
    }

    /// Resumes a thread of the program from a stop that the debugger has seen, with a signal (0: none).
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal) -> io::Result<()> {
        let is_step = how == Resume::Step;
        if self.ended.is_some() {
            self.threads.insert(thread.0, is_step);
            let _ = ptrace::resume(thread, is_step, signal);
            return Ok(());
        }
        self.turns.scheduler.release(thread.0);
        let Some(resumed) = self.thread_mut(thread.0) else {
            return Ok(());
        };
        resumed.is_stopped = false;
        resumed.is_stepping = is_step;
        let reported = resumed.signal.take();
        let waits = resumed.waiting.is_some();
        self.exiting = None;
        if waits || !self.is_running_thread(thread.0) {
            if signal.0 != 0 {
                self.hold_for(thread.0, signal.0);
            }
            // It runs when it is its turn.
            return Ok(());
        }
        if std::mem::take(&mut self.is_at_start) && is_step {
            // The debugger steps out of execve(2); the recorder has done that.
            self.report(ThreadEvent::Signal(Signal::TRAP));
            return Ok(());
        }
        if signal.0 != 0 {
            return self
                .deliver(signal.0)
                .or_else(|error| self.unless_killed(error));
        }
        if let Some(reported) = reported {
            self.suppress(reported);
        }
        if !self.patches.is_empty() {
            self.running.resumed_at = self.running.tracee.registers()?.pc();
        }
        (self.buffer).note_restored(&self.running.tracee, &self.patches, &mut self.log);
        self.run();
        Ok(())
    }

    /// Interrupts the program for the debugger; [`ThreadEvent::Interrupted`] follows.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn interrupt(&mut self, thread: ThreadId) -> io::Result<()> {
        self.unpark_for_debugger()?;
        let is_running = self.is_running_thread(thread.0);
        let Some(interrupted) = self.thread_mut(thread.0) else {
            return ptrace::interrupt(thread);
        };
        let in_kernel = interrupted.is_in_kernel();
        if in_kernel || is_running && interrupted.waiting.is_none() && !interrupted.is_stopped {
            interrupted.is_interrupting = true;
            interrupted.is_interrupted = true;
            return ptrace::interrupt(thread);
        }
        // The kernel has stopped it already.
        self.report_of(thread.0, ThreadEvent::Interrupted);
        Ok(())
    }

    /// Lets another thread run if the running one waits for the debugger, and others do not.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn pump(&mut self) -> io::Result<()> {
        if self.ended.is_some() || self.end.is_some() || !self.seen.is_empty() {
            return Ok(());
        }
        let is_stopped = self.running.is_stopped && self.running.waiting.is_none();
        if is_stopped {
            self.look_for_woken();
        }
        let result = match is_stopped {
            _ if self.turns.is_stepping => self.execute_slice(),
            true if self.turns.scheduler.has_ready() => self.park_stopped(),
            true => Ok(()),
            false if self.turns.is_idle => self.wake_due(),
            false => Ok(()),
        };
        result.or_else(|error| self.unless_killed(error))
    }

    /// Returns whether the program runs and is recorded.
    pub fn is_running(&self) -> bool {
        let waits = || self.others.values().any(|thread| !thread.is_stopped);
        let runs = !self.running.is_stopped || self.turns.is_idle && waits();
        self.ended.is_none() && self.end.is_none() && runs
    }

    /// Returns when to look again: at `tick`, or earlier while no thread can run.
    pub fn next_look(&self, now: Instant, tick: Instant) -> Instant {
        if self.turns.is_stepping {
            return now;
        }
        if !self.turns.is_idle {
            return tick;
        }
        let (until, files) = self.idle_until();
        let look = match files.is_empty() {
            true => tick,
            // They are not among the descriptors that the debugger waits for.
            false => now + IDLE_LOOK,
        };
        until.map_or(look, |until| until.min(look)).max(now)
    }

    /// Interrupts the program for a snapshot, if one is due, or for another thread to run.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn on_tick(&mut self) -> io::Result<()> {
        if self.end.is_none()
            && let Some(end) = tracee::take_end(self.pid)
        {
            self.has_ended(end);
            if let Some(event) = end.seen() {
                self.report_of(self.pid, event);
            }
        }
        if self.ended.is_some() || self.end.is_some() {
            return Ok(());
        }
        // The last other thread may have ended while this one waits.
        if self.has_threads() || self.turns.is_idle {
            self.wake_due().or_else(|error| self.unless_killed(error))?;
        }
        let is_stopped = self.running.is_stopped || self.turns.is_stepping;
        if is_stopped || self.turns.is_idle || !self.seen.is_empty() {
            return Ok(());
        }
        let now = self.slice_clock();
        self.look_at_parked(now);
        let is_over = self.has_threads()
            && (self.turns.scheduler.is_over(now)
                || self.turns.scheduler.is_long(now) && self.buffer.has_woken());
        let interrupts = match &self.running.call {
            None => is_over || self.holds_signals() || self.snapshots.is_due(self.begun.elapsed()),
            Some(call) if is_over => match call.waits {
                Waits::Never => false,
                // It writes no memory.
                Waits::Kernel | Waits::Output(_) => return self.leave_in_kernel(),
                _ => true,
            },
            Some(_) => false,
        };
        if interrupts {
            self.turns.is_interrupted |= is_over;
            if self.turns.parked.is_some() {
                return self.stop_parked();
            }
            self.running.is_interrupted = true;
            let _ = ptrace::interrupt(self.running.tracee.thread());
        }
        Ok(())
    }
}
