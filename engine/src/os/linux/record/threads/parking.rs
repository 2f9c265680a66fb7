//! Threads that are parked in the program, which then changes threads without a stop. At each stop that the recorder
//! handles all of them are taken out first, and are where they would be if each change had been a stop: at the start
//! of the calls that they wait in.

use super::super::buffer::{MOST_WAITERS, ParkedWaiter, Rewound, damaged, step_on};
use super::super::call::call_of;
use super::super::log::{Effect, Entry};
use super::super::recorder::Recorder;
use super::super::registers::Registers;
use super::super::tracee::{Stop, gone, poll_stop_but_end};
use super::thread::{Outcome, Reason, Thread, Waiting};
use crate::ids::ThreadId;
use crate::os::Patience;
use crate::os::linux::stop_wait::StopWait;
use crate::os::linux::{procfs, ptrace};
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

/// What is known of the threads while some are parked.
pub struct Parked {
    /// The threads, by their numbers.
    threads: Vec<i32>,
    /// Those that run or are parked: the others are stopped.
    free: Vec<i32>,
    /// Those that could run when they were parked, and did not.
    ready: Vec<i32>,
    /// The registers of the thread that ran when they were parked.
    registers: Registers,
    /// The number of changes then, and when it was last looked at.
    begun: u64,
    seen: u64,
}

impl Parked {
    /// Returns whether a thread runs or is parked.
    pub fn has(&self, pid: i32) -> bool {
        self.free.contains(&pid)
    }
}

impl Thread {
    /// Returns whether it can be parked: it waits for a word for ever, or is woken.
    fn can_park(&self) -> bool {
        let is_wait = |it: &Waiting| {
            matches!(it.reason, Reason::Word)
                && it.until.is_none()
                && it.registers.number() == libc::SYS_futex
        };
        self.waiting.as_ref().is_some_and(is_wait)
            && matches!(self.outcome, None | Some(Outcome::Answer(0)))
            && self.held.is_empty()
            && !self.is_call_changed
            && !self.is_stopped
            && !self.is_interrupting
    }
}

impl Recorder {
    /// Before the running thread runs on: parks the threads that wait for words, if that is worth it. Returns whether it
    /// did, or they are.
    pub(in super::super) fn park(&mut self) -> bool {
        if !self.turns.streak.is_long() || !self.may_park() {
            return self.turns.parked.is_some();
        }
        let Ok(registers) = self.running.tracee.registers() else {
            return false;
        };
        if self.buffer.holds(&registers) {
            return false;
        }
        let own = self.running.tracee.pid;
        let threads: Vec<i32> = [own]
            .into_iter()
            .chain(self.others.keys().copied())
            .collect();
        let number = |pid: i32| threads.iter().position(|it| *it == pid);
        let mut waiters = Vec::new();
        let mut free = vec![own];
        for (pid, thread) in self.others.iter().filter(|(_, thread)| thread.can_park()) {
            if let (Some(number), Some(waiting)) = (number(*pid), &thread.waiting) {
                free.push(*pid);
                waiters.push(ParkedWaiter {
                    number,
                    registers: waiting.registers,
                });
            }
        }
        if waiters.is_empty() {
            return false;
        }
        let ready = self.turns.scheduler.take_ready();
        let queue: Vec<usize> = ready.iter().filter_map(|pid| number(*pid)).collect();
        let waiting = self.turns.futexes.all();
        let waiting = waiting.filter_map(|(pid, word)| Some((number(pid)?, word)));
        let all = self.buffer.begin_parking(0, &waiters, waiting, &queue);
        for (pid, registers) in free[1..].iter().zip(all) {
            if let Some(thread) = self.others.get(pid) {
                registers.write(thread.tracee.thread());
                thread.tracee.resume(0);
            }
        }
        let begun = self.buffer.changes();
        self.turns.parked = Some(Parked {
            threads,
            free,
            ready,
            registers,
            begun,
            seen: begun,
        });
        true
    }

    fn may_park(&self) -> bool {
        let running = &self.running;
        let is_free = self.has_threads()
            && self.others.len() < MOST_WAITERS
            && self.turns.parked.is_none()
            && self.ended.is_none()
            && !self.turns.is_exiting
            && !self.turns.is_idle
            && !self.turns.has_sent_signals
            && self.buffer.can_park();
        let is_unseen = self.seen.is_empty()
            && !self.turns.scheduler.holds_any()
            && !self.turns.scheduler.is_chaos()
            && self.others.values().all(|thread| !thread.is_stepping);
        let is_alone = running.waiting.is_none()
            && running.call.is_none()
            && running.held.is_empty()
            && !running.is_stepping
            && !running.is_interrupting
            && !running.is_interrupted;
        is_free && is_unseen && is_alone
    }

    /// While threads are parked, and the program runs: a slice begins anew at each change. No more changes are made
    /// without a stop once a thread can run that the program does not know of.
    pub(in super::super) fn look_at_parked(&mut self, now: Instant) {
        let changes = self.buffer.changes();
        if let Some(parked) = &mut self.turns.parked {
            if std::mem::replace(&mut parked.seen, changes) != changes {
                self.turns.scheduler.begin(now);
            }
            if self.turns.scheduler.has_ready() {
                self.buffer.forbid_parking();
            }
        }
    }

    /// Stops the program if threads are parked, for what the recorder has to do, and takes them out.
    ///
    /// # Errors
    /// The program has ended, or has written to the memory of the recorder.
    pub(in super::super) fn stop_parked(&mut self) -> io::Result<()> {
        let result = self.unpark(None);
        self.after_unpark(result)
    }

    fn after_unpark(&mut self, result: io::Result<Option<(i32, Stop)>>) -> io::Result<()> {
        let result = match result {
            Ok(Some((_, stop))) if stop.is_end() => {
                self.turns.is_exiting = true;
                Ok(())
            }
            Ok(Some((_, stop))) => self.on_running_stop(stop),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        result.or_else(|error| self.unless_killed(error))
    }

    /// Takes parked threads out for the debugger, which interrupts threads. The one that runs stops again before it
    /// executes anything: the debugger waits for that stop, or it runs on.
    ///
    /// # Errors
    /// The program has ended, or has written to the memory of the recorder.
    pub(in super::super) fn unpark_for_debugger(&mut self) -> io::Result<()> {
        if self.turns.parked.is_none() {
            return Ok(());
        }
        self.turns.streak.ends();
        match self.unpark(None) {
            Ok(Some((_, Stop::Interrupted))) => {
                self.running.is_interrupted = true;
                ptrace::interrupt(self.running.tracee.thread())?;
                self.run();
                Ok(())
            }
            result => self.after_unpark(result),
        }
    }

    /// If a thread has stopped that was parked, or ran while others are, takes all of them out. `first`: the thread
    /// that has stopped, and how; `None`: the one that runs is stopped. Returns which thread the program is stopped by:
    /// `first`, unless that only had to be taken out.
    ///
    /// # Errors
    /// The program has ended, or has written to the memory of the recorder.
    pub(in super::super) fn unpark(
        &mut self,
        first: Option<(i32, Stop)>,
    ) -> io::Result<Option<(i32, Stop)>> {
        let is_other = |parked: &Parked| first.is_some_and(|(pid, _)| !parked.has(pid));
        let Some(parked) = self.turns.parked.take_if(|parked| !is_other(parked)) else {
            return Ok(first);
        };
        self.buffer.forbid_parking();
        // The table is to be written again.
        self.turns.futexes.change();
        if let Some((_, stop)) = first
            && stop.is_end()
        {
            // The process ends, and with it all threads.
            let taken = self.take_changes(&parked);
            tracing::debug!(?taken, "the program has ended with parked threads");
            return Ok(first);
        }
        let mut stops: BTreeMap<i32, Stop> = first.into_iter().collect();
        let result = self.take_out(&parked, &mut stops);
        if result.is_err() {
            self.buffer.release_parked();
        }
        let current = result?;
        let changes = self.buffer.changes().wrapping_sub(parked.begun);
        if first.is_some() {
            self.turns.streak.was_parked(changes, parked.free.len());
        }
        let stop = stops.remove(&current).unwrap_or(Stop::Interrupted);
        // The end of the first thread follows, after that of all others.
        let is_to_come = current == self.pid && stop.is_end();
        Ok((!is_to_come).then_some((current, stop)))
    }

    /// Takes all threads out. `stops`: how those that have stopped have. Returns the thread that runs.
    fn take_out(&mut self, parked: &Parked, stops: &mut BTreeMap<i32, Stop>) -> io::Result<i32> {
        let current = self.stop_current(parked, stops);
        for pid in &parked.free {
            stops
                .entry(*pid)
                .or_insert_with(|| self.interrupt_and_wait(*pid));
        }
        let current = current?;
        for (pid, stop) in stops.iter() {
            if let Stop::Signal(signal) = *stop
                && *pid != current
            {
                self.hold_unseen(*pid, signal);
            }
        }
        self.take_changes(parked)?;
        self.take_queues(parked);
        if self.running.tracee.pid != current {
            return Err(damaged());
        }
        if let Some(boundary) = self.running.boundary
            && self.is_parking(current)
        {
            boundary.write(self.running.tracee.thread());
        }
        for pid in parked.free.iter().filter(|pid| **pid != current) {
            let stop = match stops.get(pid) {
                Some(stop) if stop.is_end() => *stop,
                _ => self.lead_to_call(*pid)?,
            };
            if stop.is_end() && *pid != self.pid {
                self.on_other_stop(*pid, stop)?;
            }
        }
        Ok(current)
    }

    /// Returns the thread that runs.
    fn current_of(&self, parked: &Parked) -> io::Result<i32> {
        let pid = (self.buffer.current()).and_then(|number| parked.threads.get(number).copied());
        pid.filter(|pid| parked.has(*pid)).ok_or_else(damaged)
    }

    /// Stops the thread that runs, outside of the stub. Returns which one it is.
    fn stop_current(
        &mut self,
        parked: &Parked,
        stops: &mut BTreeMap<i32, Stop>,
    ) -> io::Result<i32> {
        loop {
            let pid = self.current_of(parked)?;
            let stop = match stops.get(&pid) {
                Some(stop) => *stop,
                None => {
                    let stop = self.interrupt_and_wait(pid);
                    if let Some(thread) = self.thread_mut(pid) {
                        // That stop may follow on another one.
                        thread.is_interrupted = stop != Stop::Interrupted;
                    }
                    stop
                }
            };
            let stop = self.leave_stub(pid, stop)?;
            stops.insert(pid, stop);
            // It may have let another one run meanwhile.
            if self.current_of(parked)? == pid {
                return Ok(pid);
            }
        }
    }

    /// Lets a stopped thread leave the stub, by steps, unless it is parked. Returns its stop then.
    fn leave_stub(&mut self, pid: i32, mut stop: Stop) -> io::Result<Stop> {
        while !stop.is_end() && stop != Stop::Call {
            let Some(tracee) = self.thread_mut(pid).map(|it| it.tracee.sibling(pid)) else {
                return Err(gone());
            };
            let mut registers = tracee.registers()?;
            if !self.buffer.holds(&registers) || self.buffer.is_parking(registers.pc()) {
                break;
            }
            if let Stop::Signal(signal) = stop
                && signal != libc::SIGTRAP
            {
                self.hold_unseen(pid, signal);
                self.buffer.stop_next();
            }
            if self.buffer.rewind(&tracee, &mut registers, None)? != Rewound::No {
                stop = Stop::Interrupted;
                break;
            }
            step_on(&tracee);
            stop = match self.wait_for(pid) {
                Stop::Signal(libc::SIGTRAP) => Stop::Interrupted,
                stop => stop,
            };
        }
        Ok(stop)
    }

    /// Holds a signal that a thread is stopped with.
    fn hold_unseen(&mut self, pid: i32, signal: i32) {
        if let Some(thread) = self.thread_mut(pid) {
            let info = ptrace::signal_info(thread.tracee.thread());
            thread.hold(signal, info);
        }
    }

    fn is_parking(&mut self, pid: i32) -> bool {
        let registers = (self.thread_mut(pid)).and_then(|thread| thread.tracee.registers().ok());
        registers.is_some_and(|registers| self.buffer.is_parking(registers.pc()))
    }

    fn interrupt_and_wait(&self, pid: i32) -> Stop {
        // It may be gone.
        let _ = ptrace::interrupt(ThreadId(pid));
        self.wait_for(pid)
    }

    /// Waits for the stop of a thread. The end of the first thread is reported after that of all others: that is left.
    fn wait_for(&self, pid: i32) -> Stop {
        if pid != self.pid {
            let tracee = self.running.tracee.sibling(pid);
            return tracee.wait();
        }
        let mut wait = StopWait::begin(Patience::UntilStopped);
        loop {
            if let Some(stop) = poll_stop_but_end(pid) {
                return stop;
            }
            if procfs::is_zombie(pid) || procfs::status(pid, "State").is_none() {
                return Stop::Killed(libc::SIGKILL);
            }
            if !wait.rest() {
                return Stop::Late;
            }
        }
    }

    /// Adds the changes of threads to the log, as if each had been a stop: one thread waits, another one has waited.
    fn take_changes(&mut self, parked: &Parked) -> io::Result<()> {
        for mut change in self.buffer.take_changes()? {
            if !change.keep_records(&mut self.log) {
                return Err(damaged());
            }
            let next = parked.threads.get(change.next).copied();
            let next = next.filter(|next| self.others.contains_key(next) && parked.has(*next));
            let next = next.ok_or_else(damaged)?;
            let registers = parked.registers.at_wait(&change.saved);
            self.log.push(Entry::of(&registers), Effect::Wait);
            self.running.waiting = Some(Waiting {
                registers,
                reason: Reason::Word,
                until: None,
            });
            self.running.outcome = None;
            self.switch_to(next);
            let waiting = self.running.waiting.take().ok_or_else(damaged)?;
            self.running.outcome = None;
            let mut registers = waiting.registers;
            self.log
                .push(Entry::of(&registers), call_of(0, Box::default()));
            registers.answer(0);
            self.running.boundary = Some(registers);
        }
        Ok(())
    }

    /// Takes over which threads wait, and which can run.
    fn take_queues(&mut self, parked: &Parked) {
        let (waiting, ready) = self.buffer.take_queues();
        let pid = |number: usize| parked.threads.get(number).copied();
        let ready: Vec<i32> = ready.into_iter().filter_map(pid).collect();
        let others = &self.others;
        let is_other = |pid: &i32| others.contains_key(pid);
        let ready: Vec<i32> = ready.into_iter().filter(is_other).collect();
        let waits = |pid: i32| others.get(&pid).is_some_and(|it| it.is_waiting());
        let waiting = waiting.into_iter();
        let waiting = waiting.filter_map(|(number, word)| Some((pid(number)?, word)));
        let waiting = waiting.filter(|(pid, _)| waits(*pid) && !ready.contains(pid));
        self.turns.futexes.set_all(waiting);
        for pid in &ready {
            // A thread whose time was over, and that has not run since, was woken: as if that had come first.
            if let Some(thread) = self.others.get_mut(pid)
                && thread.waiting.is_some()
                && (thread.outcome.is_none() || !parked.ready.contains(pid))
            {
                thread.outcome = Some(Outcome::Answer(0));
            }
        }
        self.turns.scheduler.add_first(&ready);
    }

    /// Lets a thread that was parked, and is stopped, make the call that it waits in with a stop.
    fn lead_to_call(&mut self, pid: i32) -> io::Result<Stop> {
        let at = self.buffer.stop_of_parked();
        let thread = self.others.get(&pid).ok_or_else(gone)?;
        let Some(waiting) = &thread.waiting else {
            return Err(damaged());
        };
        let (tracee, registers) = (thread.tracee.sibling(pid), waiting.registers);
        let mut call = registers;
        call.make_call_at(at);
        call.write(tracee.thread());
        loop {
            tracee.resume(0);
            match self.wait_for(pid) {
                Stop::Call => break,
                Stop::Signal(signal) => self.hold_unseen(pid, signal),
                stop if stop.is_end() => return Ok(stop),
                _ => {}
            }
        }
        registers.write(tracee.thread());
        let process = self.pid;
        let Some(thread) = self.others.get_mut(&pid) else {
            return Err(gone());
        };
        let mut has_signal = false;
        for held in &mut thread.held {
            has_signal |= held.send(process, pid);
        }
        if has_signal && thread.is_waiting() {
            thread.outcome = Some(Outcome::Make);
            self.turns.futexes.remove(pid);
            self.turns.scheduler.add(pid);
        }
        Ok(Stop::Call)
    }
}
