//! What lets a replay run: the debugger, and what is due before the program runs to its next event.

use super::super::log::{Effect, Log};
use super::super::threads::search;
use super::super::tracee::Stop;
use super::super::{scratch, signals};
use super::{Replay, Replayed};
use crate::ids::Signal;
use crate::os::linux::ptrace;
use crate::os::recording::{Divergence, ReplayStop};
use crate::os::thread_state::SIGNAL_BYTES;
use crate::os::{Resume, ThreadEvent};
use std::io;

impl Replay {
    /// Makes it stop before an event.
    pub fn pause_at(&mut self, event: Option<usize>) {
        self.pause_at = event;
        self.ends_before = event;
    }

    /// The debugger looks for a place before an event, which is the next one: it stops where that happens, too.
    pub fn end_before(&mut self, event: usize) {
        self.pause_at = None;
        self.ends_before = Some(event);
    }

    /// Returns whether the place that the debugger looks for may be that of the next event, where another thread
    /// begins to run, once.
    pub(super) fn may_end_here(&mut self) -> bool {
        let may_end = self.ends_before == Some(self.next);
        if may_end {
            self.ends_before = None;
        }
        may_end
    }

    /// Notes what the debugger sees of the running thread.
    pub(super) fn see(&mut self, event: ThreadEvent) -> Replayed {
        self.seen.push_back((self.running.id, event));
        Replayed::Seen
    }

    /// Notes that the debugger resumes a thread; [`Replay::pump`] lets the replay run. Which thread runs, the
    /// log says.
    pub fn resume(&mut self, id: i32, how: Resume) {
        let is_step = how == Resume::Step;
        self.held.remove(&id);
        if let Some(thread) = self.thread_mut(id) {
            thread.is_stepping = is_step;
            thread.awaits_turn = false;
        }
        self.resumed.insert(id);
    }

    /// Like [`Replay::resume`], for a thread that stops again when it is its turn.
    pub fn resume_at_turn(&mut self, thread: i32) {
        self.resume(thread, Resume::Continue);
        if let Some(thread) = self.thread_mut(thread) {
            thread.awaits_turn = true;
        }
    }

    /// Interrupts a thread for the debugger, which sees a stop of it in any case.
    ///
    /// # Errors
    /// The process is gone.
    pub fn interrupt(&mut self, thread: i32) -> io::Result<()> {
        if self.is_going && self.running.id == thread {
            self.interrupting = Some(thread);
            return ptrace::interrupt(self.running.tracee.thread());
        }
        self.resumed.remove(&thread);
        match self.is_going || !self.resumed.is_empty() {
            true => drop(self.held.insert(thread)),
            // All are stopped: which of them the debugger resumes, decides that the replay goes on.
            false => self.held.clear(),
        }
        self.seen.push_back((thread, ThreadEvent::Interrupted));
        Ok(())
    }

    /// Returns whether it runs: otherwise no thread of it stops before the debugger resumes one.
    pub fn is_going(&self) -> bool {
        self.is_going
    }

    /// Lets it run if the debugger has resumed it and has seen all. What is due without an instruction in
    /// between, is done first.
    ///
    /// # Errors
    /// The first difference to the recording, or what the system refuses.
    pub fn pump(&mut self, log: &Log) -> Result<Replayed, Divergence> {
        if self.is_going || self.resumed.is_empty() || !self.seen.is_empty() {
            return Ok(Replayed::GoesOn);
        }
        self.resumed.clear();
        self.is_going = true;
        let settled = match self.is_trial {
            true => Ok(None),
            false => self.settle(log),
        };
        match settled {
            Ok(None) => {
                self.go();
                Ok(Replayed::GoesOn)
            }
            Ok(Some(outcome)) => self.stopped_by(Ok(outcome)),
            Err(divergence) => self.stopped_by(Err(divergence)),
        }
    }

    fn stopped_by(
        &mut self,
        outcome: Result<Replayed, Divergence>,
    ) -> Result<Replayed, Divergence> {
        self.is_going &= matches!(outcome, Ok(Replayed::GoesOn));
        outcome
    }

    /// Handles a stop of its running thread.
    ///
    /// # Errors
    /// The first difference to the recording, or what the system refuses.
    pub fn on_stop(&mut self, log: &Log, stop: Stop) -> Result<Replayed, Divergence> {
        let outcome = self.handle(log, stop);
        let outcome = self.stopped_by(outcome);
        if let Some(thread) = self.interrupting {
            let is_seen = self.seen.iter().any(|(of, _)| *of == thread);
            // Another one runs now, or waits for the debugger: this one stops for the interrupt.
            let is_behind = thread != self.running.id || matches!(outcome, Ok(Replayed::Held));
            if is_behind && !is_seen {
                self.held.insert(thread);
                self.seen.push_back((thread, ThreadEvent::Interrupted));
            }
            if is_behind || is_seen || !self.is_going {
                self.interrupting = None;
            }
        }
        outcome
    }

    /// Lets the running thread run. Any stop has taken an interrupt from the kernel that was to come.
    pub(super) fn run(&mut self, is_step: bool) {
        if self.interrupting == Some(self.running.id) {
            // It may be gone.
            let _ = ptrace::interrupt(self.running.tracee.thread());
        }
        self.running.tracee.go(is_step, 0);
    }

    pub(super) fn go(&mut self) {
        self.running.is_answered = false;
        self.run(self.running.is_stepping);
    }

    /// Does what is due before the program runs to the next event: enters the handlers of signals that were
    /// delivered here, ends waits, changes threads, puts in the records before the event. Returns what stops the
    /// replay here.
    pub(super) fn settle(&mut self, log: &Log) -> Result<Option<Replayed>, Divergence> {
        loop {
            // Nothing is due in most cases: so the registers are not read.
            if !self.is_something_due(log) {
                self.fill(log)?;
                return Ok(None);
            }
            if self.is_in_own_call() {
                return Ok(None);
            }
            self.select(log)?;
            if self.held.contains(&self.running.id) {
                return Ok(Some(Replayed::Held));
            }
            if self.pause_at == Some(self.next) {
                self.pause_at = None;
                // The program has taken out the records of this event, too: if the end is here, it is recognised now.
                // A signal that comes next is shown before.
                if log.events.get(self.next).is_none() {
                    self.fill(log)?;
                }
                return Ok(Some(Replayed::Reached));
            }
            if self.running.awaits_turn && !self.is_at_change(log) {
                self.running.awaits_turn = false;
                self.fill(log)?;
                return Ok(Some(self.see(ThreadEvent::Replayed(ReplayStop::Turn))));
            }
            let event = log.events.get(self.next);
            let was_seen = self.seen_signal == Some(self.next);
            let due = event.and_then(signals::Due::of);
            if let Some(due) = due.filter(|due| !due.is_of_instruction || was_seen) {
                if self.shows_signal(due.signal) {
                    return Ok(Some(self.see(ThreadEvent::Signal(Signal(due.signal)))));
                }
                self.apply_signal(log)?;
                if self.running.is_stepping {
                    return Ok(Some(self.see(ThreadEvent::Signal(Signal::TRAP))));
                }
                continue;
            }
            match event.map(|event| &event.effect) {
                Some(_) if self.running.waits.is_some() => {
                    if let Some(outcome) = self.end_wait(log)? {
                        return Ok(Some(outcome));
                    }
                }
                Some(Effect::Preempt(place)) => {
                    self.fill(log)?;
                    if self.running.is_stepping {
                        if !search::is_at(&self.running.tracee, place) {
                            return Ok(None);
                        }
                        let unmapped = self.unmap_search();
                        unmapped.map_err(|error| self.refused(log, &error))?;
                        self.next += 1;
                        continue;
                    }
                    self.leave_answered()
                        .map_err(|error| self.refused(log, &error))?;
                    let begun = self.begin_search(place);
                    match begun.map_err(|error| self.refused(log, &error))? {
                        search::Arrival::There if self.may_end_here() => {
                            return Ok(Some(Replayed::Reached));
                        }
                        search::Arrival::There => self.is_preempted(log)?,
                        search::Arrival::Search(search) => {
                            self.keep_search(search);
                            return Ok(None);
                        }
                        search::Arrival::Stopped(stop, search) => {
                            self.suspended = search.map(|search| (self.next, search));
                            return self.handle(log, stop).map(Some);
                        }
                    }
                }
                _ => {
                    self.fill(log)?;
                    return Ok(None);
                }
            }
        }
    }

    /// Returns whether anything but records is due before the program runs to the next event.
    pub(super) fn is_something_due(&self, log: &Log) -> bool {
        let event = log.events.get(self.next);
        self.pause_at == Some(self.next)
            || self.running.waits.is_some()
            || self.running.awaits_turn
            || log.thread_of(self.next) != self.running.id
            || event.is_some_and(|event| {
                matches!(event.effect, Effect::Preempt(_) | Effect::Signal { .. })
            })
    }

    pub(super) fn fill(&mut self, log: &Log) -> Result<(), Divergence> {
        let ready = (self.refill).fill(&self.running.tracee, log, self.next);
        ready.map_err(|error| self.refused(log, &error))
    }

    /// The running thread is at the place of the next event, where another thread begins to run.
    pub(super) fn is_preempted(&mut self, log: &Log) -> Result<(), Divergence> {
        if !self.refill.is_at_end(&self.running.tracee) {
            return Err(self.too_early(log));
        }
        self.compared.events += 1;
        self.compare_hash(log)?;
        self.next += 1;
        Ok(())
    }

    /// Lets the kernel skip a call that was answered.
    pub(super) fn leave_answered(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.running.is_answered) {
            true => self.running.tracee.leave_call(),
            false => Ok(()),
        }
    }

    /// Runs on behind an event. `is_answered`: the kernel still has to skip its system call. That may also be left
    /// to do of a thread which runs since another one has ended.
    pub(super) fn go_on(&mut self, log: &Log, is_answered: bool) -> Result<Replayed, Divergence> {
        self.running.is_answered |= is_answered;
        if self.running.is_stepping && self.running.waits.is_none() {
            return self.end_step(log);
        }
        let Some(outcome) = self.settle(log)? else {
            self.go();
            return Ok(Replayed::GoesOn);
        };
        if outcome != Replayed::GoesOn {
            self.leave_answered()
                .map_err(|error| self.refused(log, &error))?;
        }
        Ok(outcome)
    }

    /// The running thread has executed an instruction by an event, which ends its step: behind the handler's
    /// entry, if a signal was delivered here.
    pub(super) fn end_step(&mut self, log: &Log) -> Result<Replayed, Divergence> {
        self.leave_answered()
            .map_err(|error| self.refused(log, &error))?;
        if self.pause_at == Some(self.next) {
            self.pause_at = None;
            // The step has passed the site where the end would be recognised: it is compared with that of the program
            // here, which has taken out the records of this event.
            self.fill(log)?;
            return Ok(Replayed::Reached);
        }
        if let Some(event) = log.events.get(self.next)
            && event.thread == self.running.id
            && let Effect::Signal {
                is_of_instruction: false,
                ..
            } = event.effect
        {
            self.apply_signal(log)?;
        }
        Ok(self.see(ThreadEvent::Signal(Signal::TRAP)))
    }

    /// Returns whether a signal of the next event is still to be seen by a debugger, which sees it now. A trap is
    /// none for it.
    pub(super) fn shows_signal(&mut self, signal: i32) -> bool {
        let is_new = self.seen_signal != Some(self.next);
        let is_shown = self.is_shown && is_new && signal != libc::SIGTRAP;
        if is_shown {
            self.seen_signal = Some(self.next);
        }
        is_shown
    }

    /// Returns the details of the signal that a debugger has seen last, and whose handler is not entered yet.
    pub fn signal_info(&self, log: &Log) -> Option<[u8; SIGNAL_BYTES]> {
        let event = log.events.get(self.next)?;
        let due = signals::Due::of(event).filter(|_| self.seen_signal == Some(self.next))?;
        due.info()
    }

    /// Returns whether the debugger makes it execute a system call of its own.
    pub(super) fn is_in_own_call(&self) -> bool {
        let registers = self.running.tracee.registers();
        registers.is_ok_and(|registers| registers.pc() == scratch::CALL)
    }
}
