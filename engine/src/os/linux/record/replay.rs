//! Replays a recording: a copy of a snapshot runs, and the log answers its system calls. The copy has no
//! descriptors, and does nothing to the world.

use super::super::super::thread_state::SIGNAL_BYTES;
use super::super::copy::{Copies, CopyParent, ProcessCopy};
use super::super::ptrace;
use super::buffer::{Arrival, Refill};
use super::calls::{Class, Special};
use super::log::{Effect, Entry, Event, Log, Written};
use super::patches::{self, Patches};
use super::registers::Registers;
use super::snapshots::Snapshot;
use super::threads::copied::{self, Copied};
use super::threads::search::{self, Search};
use super::tracee::{Stop, Tracee, gone};
use super::{buffer, calls, hash, scratch, signals};
use crate::ids::{Signal, ThreadId};
use crate::os::recording::{Difference, Divergence, Place};
use crate::os::{Resume, ThreadEvent};
use dwarf::LoadAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What a replay has compared.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Compared {
    /// Events at which all registers were compared.
    pub events: usize,
    /// Events after which all writable memory was compared.
    pub hashes: usize,
}

/// A thread of a replay.
pub struct ReplayThread {
    /// Its id in the program.
    pub id: i32,
    pub tracee: Tracee,
    /// The registers at the start of the call that it waits in, whose effect is its next event.
    waits: Option<Registers>,
    /// Whether the kernel still has to skip its system call.
    is_answered: bool,
    /// Whether the debugger has resumed it for one instruction.
    is_stepping: bool,
}

/// A replay from a snapshot.
pub struct Replay {
    /// Ends the process.
    copy: ProcessCopy,
    copies: Copies,
    /// The thread that runs, or is at an event.
    pub running: ReplayThread,
    /// The other threads, by their ids in the program.
    others: BTreeMap<i32, ReplayThread>,
    /// What is planted for the place that the thread runs to.
    search: Option<Box<Search>>,
    refill: Refill,
    /// The debugger's patches in it.
    pub patches: Patches,
    /// The event of the snapshot.
    from: usize,
    /// The next event.
    pub next: usize,
    compared: Compared,
    /// The event before which it stops.
    pause_at: Option<usize>,
    /// The event before which the debugger looks for a place.
    ends_before: Option<usize>,
    /// What the debugger sees of it next, of which threads.
    pub seen: VecDeque<(i32, ThreadEvent)>,
    /// Whether it runs.
    is_going: bool,
    /// Whether the debugger has resumed it.
    wants_to_go: bool,
    /// The thread that the debugger has interrupted while it ran.
    interrupting: Option<i32>,
    /// Those that the debugger has interrupted while another one ran: they do not run until it resumes them.
    held: BTreeSet<i32>,
    /// Whether it was interrupted in the stub of the buffer, and leaves that before it is seen.
    is_leaving: bool,
    /// Whether it stops when memory was mapped.
    pub sees_mappings: bool,
    /// Whether a debugger shows it, which learns of new threads, and sees signals before their handlers are
    /// entered.
    pub is_shown: bool,
    /// The event whose signal it has seen.
    seen_signal: Option<usize>,
    /// Whether it does not follow the log.
    is_trial: bool,
}

/// What a replay does after a stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replayed {
    /// It runs on.
    GoesOn,
    /// It is stopped, as a debugger sees it: there are events.
    Seen,
    /// It is stopped, since the thread that runs next waits for the debugger.
    Held,
    /// It is stopped, and has mapped memory or created a thread.
    Mapped,
    /// It is stopped before the event that it was to stop at.
    Reached,
    /// The program ends or executes another one, or the recording ends.
    End,
}

impl Replay {
    /// Begins at a snapshot, which stays.
    ///
    /// # Errors
    /// The system has no memory or processes left, or the snapshot was killed.
    pub fn begin(snapshot: &Snapshot, copies: &Copies) -> io::Result<Replay> {
        let thread = snapshot.copy.thread();
        let mut replay = Replay::of(thread, &snapshot.threads, snapshot.next, copies)?;
        replay.refill = Refill::begin(&replay.running.tracee)?;
        patches::remove(&snapshot.patches, &replay.running.tracee);
        Ok(replay)
    }

    /// Makes a copy of it where it is stopped.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub fn copy(&self, copies: &Copies) -> io::Result<Replay> {
        let thread = self.running.tracee.thread();
        let mut copy = Replay::of(thread, &self.threads_now()?, self.next, copies)?;
        copy.pause_at = self.pause_at;
        copy.ends_before = self.ends_before;
        copy.sees_mappings = self.sees_mappings;
        copy.is_shown = self.is_shown;
        copy.seen_signal = self.seen_signal;
        copy.refill = self.refill.clone();
        copy.patches = self.patches.copy();
        Ok(copy)
    }

    /// Makes a copy of a stopped thread's process that does not follow the log, and has no other threads.
    /// `id`: that of the thread in the program.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub fn trial(thread: ThreadId, id: i32, next: usize, copies: &Copies) -> io::Result<Replay> {
        let alone = [Copied {
            thread: id,
            waits: None,
            state: None,
        }];
        let mut trial = Replay::of(thread, &alone, next, copies)?;
        trial.is_trial = true;
        buffer::pass(&trial.running.tracee);
        Ok(trial)
    }

    /// Begins as a copy of a stopped thread's process with these threads, before the event `next`.
    fn of(thread: ThreadId, all: &[Copied], next: usize, copies: &Copies) -> io::Result<Replay> {
        let at = LoadAddr(scratch::CALL);
        let copy = copies
            .copy_process(thread, at, CopyParent::OfCopied)
            .map_err(|error| io::Error::other(error.to_string()))?;
        ptrace::set_options_for_recording(copy.thread())?;
        let first = all.first();
        let running = ReplayThread {
            id: first.map_or(thread.0, |it| it.thread),
            tracee: Tracee::new(copy.pid())?,
            waits: first.and_then(|it| it.waits),
            is_answered: false,
            is_stepping: false,
        };
        let mut replay = Replay {
            copy,
            copies: copies.clone(),
            running,
            others: BTreeMap::new(),
            search: None,
            refill: Refill::default(),
            patches: Patches::default(),
            from: next,
            next,
            compared: Compared::default(),
            pause_at: None,
            ends_before: None,
            seen: VecDeque::new(),
            is_going: false,
            wants_to_go: false,
            interrupting: None,
            held: BTreeSet::new(),
            is_leaving: false,
            sees_mappings: false,
            is_shown: false,
            seen_signal: None,
            is_trial: false,
        };
        for other in all.iter().skip(1) {
            let Some(state) = &other.state else {
                continue;
            };
            let created = ReplayThread {
                id: other.thread,
                tracee: copied::create(&replay.running.tracee, state, copies)?,
                waits: other.waits,
                is_answered: false,
                is_stepping: false,
            };
            replay.others.insert(other.thread, created);
        }
        Ok(replay)
    }

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
    fn may_end_here(&mut self) -> bool {
        let may_end = self.ends_before == Some(self.next);
        if may_end {
            self.ends_before = None;
        }
        may_end
    }

    /// Runs to the end of the program, or of the recording. Returns what was compared.
    ///
    /// # Errors
    /// The first difference, or what the system refuses.
    pub fn run_to_end(self, log: &Log) -> Result<Compared, Divergence> {
        self.at_end(log).map(|replay| replay.compared)
    }

    /// Runs to the end of the program, or behind the last event of the recording.
    ///
    /// # Errors
    /// As [`Replay::run_to_end`].
    pub fn at_end(mut self, log: &Log) -> Result<Replay, Divergence> {
        if self.next >= log.events.len() {
            return Ok(self);
        }
        self.pause_at = Some(log.events.len());
        self.wants_to_go = true;
        let mut outcome = self.pump(log)?;
        loop {
            outcome = match outcome {
                Replayed::GoesOn => {
                    let stop = self.wait(log)?;
                    self.on_stop(log, stop)?
                }
                Replayed::Reached | Replayed::End => return Ok(self),
                // Of nothing that the program does.
                Replayed::Seen | Replayed::Mapped | Replayed::Held => {
                    for (_, event) in std::mem::take(&mut self.seen) {
                        if let ThreadEvent::Signal(signal) = event {
                            let text = format!("it raised signal {}", signal.0);
                            return Err(self.diverged(log, Difference::Stop(text)));
                        }
                    }
                    self.wants_to_go = true;
                    self.is_going = false;
                    self.pump(log)?
                }
            };
        }
    }

    /// Waits for the next stop of the running thread. The search for a place must not take for ever: a thread
    /// that spins would never come there once it has passed it.
    fn wait(&mut self, log: &Log) -> Result<Stop, Divergence> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let begun = Instant::now();
        loop {
            if let Some(stop) = self.running.tracee.wait_or_tick() {
                return Ok(stop);
            }
            if self.search.is_some() && begun.elapsed() > PATIENCE {
                let text = "it does not come to the place where another thread began to run";
                return Err(self.diverged(log, Difference::Stop(text.to_owned())));
            }
        }
    }

    /// Notes what the debugger sees of the running thread.
    fn see(&mut self, event: ThreadEvent) -> Replayed {
        self.seen.push_back((self.running.id, event));
        Replayed::Seen
    }

    /// Notes that the debugger resumes a thread; [`Replay::pump`] lets the replay run. Which thread runs, the
    /// log says.
    pub fn resume(&mut self, thread: i32, how: Resume) {
        let is_step = how == Resume::Step;
        self.held.remove(&thread);
        if let Some(thread) = self.thread_mut(thread) {
            thread.is_stepping = is_step;
        }
        self.wants_to_go = true;
    }

    fn thread_mut(&mut self, id: i32) -> Option<&mut ReplayThread> {
        match self.running.id == id {
            true => Some(&mut self.running),
            false => self.others.get_mut(&id),
        }
    }

    /// Returns the pid of its process.
    pub fn pid(&self) -> i32 {
        self.copy.pid()
    }

    /// Returns a thread by its id in the program.
    pub fn thread(&self, id: i32) -> Option<ThreadId> {
        let thread = match self.running.id == id {
            true => Some(&self.running),
            false => self.others.get(&id),
        };
        Some(thread?.tracee.thread())
    }

    /// Returns the threads, by their ids in the program.
    pub fn threads(&self) -> Vec<ThreadId> {
        let all = self.others.keys().chain([&self.running.id]);
        all.map(|id| ThreadId(*id)).collect()
    }

    /// Returns the stack pointers of the threads that do not run.
    pub fn other_stacks(&self) -> Vec<u64> {
        self.others.values().filter_map(ReplayThread::sp).collect()
    }

    /// Interrupts a thread for the debugger.
    ///
    /// # Errors
    /// The process is gone.
    pub fn interrupt(&mut self, thread: i32) -> io::Result<()> {
        if self.is_going && self.running.id == thread {
            self.interrupting = Some(thread);
            return ptrace::interrupt(self.running.tracee.thread());
        }
        if self.is_going {
            self.held.insert(thread);
        }
        self.seen.push_back((thread, ThreadEvent::Interrupted));
        Ok(())
    }

    /// Lets it run if the debugger has resumed it and has seen all. What is due without an instruction in
    /// between, is done first.
    ///
    /// # Errors
    /// The first difference to the recording, or what the system refuses.
    pub fn pump(&mut self, log: &Log) -> Result<Replayed, Divergence> {
        if self.is_going || !self.wants_to_go || !self.seen.is_empty() {
            return Ok(Replayed::GoesOn);
        }
        self.wants_to_go = false;
        self.is_going = true;
        if !self.is_trial
            && let Some(outcome) = self.settle(log)?
        {
            return Ok(self.stopped_by(outcome));
        }
        self.go();
        Ok(Replayed::GoesOn)
    }

    fn stopped_by(&mut self, outcome: Replayed) -> Replayed {
        if outcome != Replayed::GoesOn {
            self.is_going = false;
        }
        outcome
    }

    /// Handles a stop of its running thread.
    ///
    /// # Errors
    /// The first difference to the recording, or what the system refuses.
    pub fn on_stop(&mut self, log: &Log, stop: Stop) -> Result<Replayed, Divergence> {
        let outcome = self.handle(log, stop)?;
        if let Some(thread) = self.interrupting
            && thread != self.running.id
            && matches!(outcome, Replayed::GoesOn | Replayed::Held)
        {
            // Another one runs now, and is interrupted for itself.
            self.held.insert(thread);
            self.interrupting = None;
            self.seen.push_back((thread, ThreadEvent::Interrupted));
        }
        Ok(self.stopped_by(outcome))
    }

    fn go(&mut self) {
        self.running.is_answered = false;
        self.running.tracee.go(self.running.is_stepping, 0);
    }

    /// Does what is due before the program runs to the next event: enters the handlers of signals that were
    /// delivered here, ends waits, changes threads, puts in the records before the event. Returns what stops the
    /// replay here.
    fn settle(&mut self, log: &Log) -> Result<Option<Replayed>, Divergence> {
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
                return Ok(Some(Replayed::Reached));
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
                        self.next += 1;
                        continue;
                    }
                    self.leave_answered()
                        .map_err(|error| self.refused(log, &error))?;
                    let begun = Search::begin(&self.running.tracee, place);
                    match begun.map_err(|error| self.refused(log, &error))? {
                        search::Arrival::There if self.may_end_here() => {
                            return Ok(Some(Replayed::Reached));
                        }
                        search::Arrival::There => self.is_preempted(log)?,
                        search::Arrival::Search(search) => {
                            self.search = Some(search);
                            return Ok(None);
                        }
                        search::Arrival::Stopped(stop) => return self.handle(log, stop).map(Some),
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
    fn is_something_due(&self, log: &Log) -> bool {
        let event = log.events.get(self.next);
        self.pause_at == Some(self.next)
            || self.running.waits.is_some()
            || log.thread_of(self.next) != self.running.id
            || event.is_some_and(|event| {
                matches!(event.effect, Effect::Preempt(_) | Effect::Signal { .. })
            })
    }

    fn fill(&mut self, log: &Log) -> Result<(), Divergence> {
        let ready = (self.refill).fill(&self.running.tracee, log, self.next);
        ready.map_err(|error| self.refused(log, &error))
    }

    /// Makes the thread of the next event the running one.
    fn select(&mut self, log: &Log) -> Result<(), Divergence> {
        let wanted = log.thread_of(self.next);
        if wanted == self.running.id {
            return Ok(());
        }
        let Some(next) = self.others.remove(&wanted) else {
            let text = format!("thread {wanted} is missing");
            return Err(self.diverged(log, Difference::Stop(text)));
        };
        let before = std::mem::replace(&mut self.running, next);
        self.others.insert(before.id, before);
        Ok(())
    }

    /// The running thread is at the place of the next event, where another thread begins to run.
    fn is_preempted(&mut self, log: &Log) -> Result<(), Divergence> {
        if !self.refill.is_at_end(&self.running.tracee) {
            let text = "it was reached after fewer system calls".to_owned();
            return Err(self.diverged(log, Difference::Stop(text)));
        }
        self.compared.events += 1;
        self.compare_hash(log)?;
        self.next += 1;
        Ok(())
    }

    /// Lets the kernel skip a call that was answered.
    fn leave_answered(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.running.is_answered) {
            true => self.running.tracee.leave_call(),
            false => Ok(()),
        }
    }

    /// The running thread waits in its call from now on: the kernel skips the call, and the thread can be copied.
    fn leave_waiting(&mut self, registers: Registers) -> io::Result<()> {
        let mut seen = registers;
        seen.set_number(-1);
        seen.write(self.running.tracee.thread());
        self.running.tracee.leave_call()?;
        seen.write(self.running.tracee.thread());
        self.running.waits = Some(registers);
        Ok(())
    }

    /// The call that the running thread waits in has ended.
    fn end_wait(&mut self, log: &Log) -> Result<Option<Replayed>, Divergence> {
        let (Some(registers), Some(event)) = (self.running.waits.take(), log.events.get(self.next))
        else {
            return Ok(None);
        };
        let registers = self.compare(log, registers)?;
        match self.apply(log, event, registers) {
            Ok(Applied::Answered | Applied::Executed) => {}
            Ok(Applied::End) => {
                self.next += 1;
                return Ok(Some(Replayed::End));
            }
            Ok(Applied::OtherResult(found)) => {
                return Err(self.diverged(log, Difference::Result(found)));
            }
            Err(error) => return Err(self.refused(log, &error)),
        }
        self.compare_hash(log)?;
        self.next += 1;
        Ok(None)
    }

    fn compare_hash(&mut self, log: &Log) -> Result<(), Divergence> {
        let Some(expected) = log.events.get(self.next).and_then(|event| event.hash) else {
            return Ok(());
        };
        if hash::of(&self.running.tracee, &self.other_stacks()) != expected {
            return Err(self.diverged(log, Difference::Memory));
        }
        self.compared.hashes += 1;
        Ok(())
    }

    /// Returns the threads, the running one first.
    pub fn threads_now(&self) -> io::Result<Vec<Copied>> {
        let mut all = vec![Copied {
            thread: self.running.id,
            waits: self.running.waits,
            state: None,
        }];
        for (id, thread) in &self.others {
            let registers = match thread.waits {
                Some(registers) => registers,
                None => thread.tracee.registers()?,
            };
            all.push(Copied {
                thread: *id,
                waits: thread.waits,
                state: Some(Rc::new(signals::state_of(&thread.tracee, registers))),
            });
        }
        Ok(all)
    }

    /// Returns whether a signal of the next event is still to be seen by a debugger, which sees it now. A trap is
    /// none for it.
    fn shows_signal(&mut self, signal: i32) -> bool {
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
    fn is_in_own_call(&self) -> bool {
        let registers = self.running.tracee.registers();
        registers.is_ok_and(|registers| registers.pc() == scratch::CALL)
    }

    fn handle(&mut self, log: &Log, stop: Stop) -> Result<Replayed, Divergence> {
        if self.is_trial {
            return Ok(self.on_trial_stop(stop));
        }
        let event = log.events.get(self.next);
        if let Some(search) = self.search.take()
            && let Some(Effect::Preempt(place)) = event.map(|event| &event.effect)
        {
            let tracee = &self.running.tracee;
            let arrival = match stop {
                Stop::Signal(libc::SIGTRAP) => search.on_trap(tracee, place),
                stop if stop.is_end() => Ok(search::Arrival::Stopped(stop)),
                stop => search
                    .leave(tracee)
                    .map(|()| search::Arrival::Stopped(stop)),
            };
            match arrival.map_err(|error| self.refused(log, &error))? {
                search::Arrival::There if self.may_end_here() => return Ok(Replayed::Reached),
                search::Arrival::There => {
                    self.is_preempted(log)?;
                    return self.go_on(log, false);
                }
                search::Arrival::Search(search) => {
                    self.search = Some(search);
                    self.running.tracee.go(false, 0);
                    return Ok(Replayed::GoesOn);
                }
                search::Arrival::Stopped(stop) => return self.handle(log, stop),
            }
        }
        match (stop, event.map(|event| &event.effect)) {
            (Stop::Call, _) => self.on_call(log),
            (Stop::Signal(libc::SIGSEGV), Some(Effect::TimeStamp(value))) => {
                let mut registers = self.compare_here(log)?;
                if let Some((len, rcx)) = self.running.tracee.time_stamp_instruction(registers.pc())
                {
                    registers.complete_time_stamp(*value, len, rcx);
                    registers.write(self.running.tracee.thread());
                }
                self.next += 1;
                self.go_on(log, false)
            }
            (Stop::Signal(number), Some(Effect::Signal { signal, .. }))
                if *signal == number && (number != libc::SIGTRAP || self.is_at_event(log)) =>
            {
                self.compare_here(log)?;
                if self.shows_signal(number) {
                    return Ok(self.see(ThreadEvent::Signal(Signal(number))));
                }
                self.apply_signal(log)?;
                self.go_on(log, false)
            }
            (Stop::Exited(_) | Stop::Killed(_), _) => {
                let text = "the process has ended".to_owned();
                Err(self.diverged(log, Difference::Stop(text)))
            }
            (Stop::Signal(libc::SIGTRAP), _)
                if (self.running.is_stepping || self.is_leaving) && self.is_in_buffer() =>
            {
                buffer::step_on(&self.running.tracee);
                Ok(Replayed::GoesOn)
            }
            (Stop::Signal(libc::SIGTRAP), _) if std::mem::take(&mut self.is_leaving) => {
                Ok(self.see(ThreadEvent::Interrupted))
            }
            (Stop::Interrupted, _) if self.is_in_buffer() => {
                self.is_leaving = true;
                buffer::step_on(&self.running.tracee);
                Ok(Replayed::GoesOn)
            }
            (Stop::Interrupted, _) if self.interrupting != Some(self.running.id) => {
                self.go();
                Ok(Replayed::GoesOn)
            }
            (Stop::Signal(_) | Stop::Interrupted | Stop::Group(_), _) => Ok(match stop.seen() {
                Some(event) => self.see(event),
                None => Replayed::GoesOn,
            }),
            _ => {
                self.running.tracee.go(self.running.is_stepping, 0);
                Ok(Replayed::GoesOn)
            }
        }
    }

    /// Handles a stop of a process that does not follow the log: only calls that concern its memory are
    /// made.
    fn on_trial_stop(&mut self, stop: Stop) -> Replayed {
        let killed = ThreadEvent::Signal(Signal(libc::SIGKILL));
        match stop {
            Stop::Call => {
                let Ok(mut registers) = self.running.tracee.registers() else {
                    return self.see(killed);
                };
                let row = calls::row(registers.number());
                match row.map(|row| &row.class) {
                    Some(Class::Special(Special::Exit)) => {
                        // The function that was called does not return.
                        return self.see(ThreadEvent::Signal(Signal(libc::SIGSYS)));
                    }
                    Some(
                        Class::Repeat
                        | Class::Own(..)
                        | Class::Special(Special::Map | Special::Advise),
                    ) => {
                        if self.running.tracee.leave_call().is_err() {
                            return self.see(killed);
                        }
                    }
                    _ => {
                        registers.answer(-i64::from(libc::ENOSYS));
                        registers.write(self.running.tracee.thread());
                        if self.running.is_stepping && self.running.tracee.leave_call().is_err() {
                            return self.see(killed);
                        }
                    }
                }
                if self.running.is_stepping {
                    return self.see(ThreadEvent::Signal(Signal::TRAP));
                }
                self.running.tracee.go(false, 0);
                Replayed::GoesOn
            }
            Stop::Exited(_) | Stop::Killed(_) => self.see(killed),
            Stop::Signal(_) | Stop::Interrupted | Stop::Group(_) => match stop.seen() {
                Some(event) => self.see(event),
                None => Replayed::GoesOn,
            },
            _ => {
                self.running.tracee.go(self.running.is_stepping, 0);
                Replayed::GoesOn
            }
        }
    }

    /// Runs on behind an event. `is_answered`: the kernel still has to skip its system call.
    fn go_on(&mut self, log: &Log, is_answered: bool) -> Result<Replayed, Divergence> {
        self.running.is_answered = is_answered;
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
    fn end_step(&mut self, log: &Log) -> Result<Replayed, Divergence> {
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

    /// Returns whether its thread is in the code of the buffer.
    fn is_in_buffer(&self) -> bool {
        let registers = self.running.tracee.registers();
        registers.is_ok_and(|registers| self.refill.holds(registers.pc()))
    }

    /// Returns whether its registers are those of the next event.
    fn is_at_event(&self, log: &Log) -> bool {
        let registers = self.running.tracee.registers().ok();
        let event = log.events.get(self.next);
        registers
            .zip(event)
            .is_some_and(|(registers, event)| Entry::of(&registers).pc == event.entry.pc)
    }

    fn on_call(&mut self, log: &Log) -> Result<Replayed, Divergence> {
        if std::mem::take(&mut self.is_leaving) {
            let interrupted = ptrace::interrupt(self.running.tracee.thread());
            interrupted.map_err(|error| self.refused(log, &error))?;
        }
        let arrival = (self.refill).on_call(&self.running.tracee, log, self.next, &self.patches);
        match arrival.map_err(|error| self.refused(log, &error))? {
            Arrival::AtEvent => {}
            Arrival::Answered => return self.go_on(log, true),
        }
        let registers = self.running.tracee.registers_at_call();
        let registers = registers.map_err(|error| self.refused(log, &error))?;
        let registers = self.compare(log, registers)?;
        let Some(event) = log.events.get(self.next) else {
            return Ok(Replayed::End);
        };
        match &event.effect {
            Effect::Wait => {
                let left = self.leave_waiting(registers);
                left.map_err(|error| self.refused(log, &error))?;
                self.next += 1;
                return self.go_on(log, false);
            }
            Effect::Thread { thread, outputs } => {
                let created = self.create_thread(*thread, outputs);
                created.map_err(|error| self.refused(log, &error))?;
                self.compare_hash(log)?;
                self.next += 1;
                return match self.is_shown && !self.running.is_stepping {
                    true => Ok(Replayed::Mapped),
                    false => self.go_on(log, false),
                };
            }
            Effect::ThreadExit { outputs } => {
                let ended = self.end_thread(log, outputs);
                ended.map_err(|error| self.refused(log, &error))?;
                return self.go_on(log, false);
            }
            _ => {}
        }
        let is_answered = match self.apply(log, event, registers) {
            Ok(Applied::Answered) => true,
            Ok(Applied::Executed) => false,
            Ok(Applied::End) => {
                self.next += 1;
                return Ok(Replayed::End);
            }
            Ok(Applied::OtherResult(found)) => {
                return Err(self.diverged(log, Difference::Result(found)));
            }
            Err(error) => return Err(self.refused(log, &error)),
        };
        self.compare_hash(log)?;
        self.next += 1;
        if !is_answered && self.sees_mappings && !self.running.is_stepping {
            return Ok(Replayed::Mapped);
        }
        self.go_on(log, is_answered)
    }

    /// Compares the registers that the thread has with those of the next event.
    fn compare_here(&mut self, log: &Log) -> Result<Registers, Divergence> {
        let registers = self.running.tracee.registers();
        let registers = registers.map_err(|error| self.refused(log, &error))?;
        self.compare(log, registers)
    }

    /// Compares registers with those of the next event.
    fn compare(&mut self, log: &Log, registers: Registers) -> Result<Registers, Divergence> {
        let Some(event) = log.events.get(self.next) else {
            return Ok(registers);
        };
        if !self.refill.is_at_end(&self.running.tracee) {
            let text = "it was reached after fewer system calls".to_owned();
            return Err(self.diverged(log, Difference::Stop(text)));
        }
        let found = Entry::of(&registers);
        let is_time_stamp = matches!(event.effect, Effect::TimeStamp(_) | Effect::Signal { .. });
        let is_same = match is_time_stamp {
            // Which call the thread has made last, does not matter.
            true => {
                Entry {
                    number: event.entry.number,
                    ..found
                } == event.entry
            }
            false => found == event.entry,
        };
        if !is_same {
            let places = Box::new([place(&event.entry), place(&found)]);
            return Err(self.diverged(log, Difference::Registers(places)));
        }
        self.compared.events += 1;
        Ok(registers)
    }

    fn apply(&self, log: &Log, event: &Event, mut registers: Registers) -> io::Result<Applied> {
        let thread = self.running.tracee.thread();
        match &event.effect {
            Effect::Call {
                result,
                outputs,
                bases,
            } => {
                self.write_all(outputs)?;
                registers.answer(*result);
                if let Some(bases) = bases {
                    registers.set_bases(*bases);
                }
                registers.write(thread);
            }
            Effect::Interrupted {
                repeated_as,
                outputs,
            } => {
                self.write_all(outputs)?;
                registers.repeat_call(*repeated_as);
                registers.write(thread);
            }
            Effect::Repeat { result } => {
                return self.execute(moved_to(registers, *result), registers, *result);
            }
            Effect::Map { result } => {
                let mut fixed = registers;
                fixed.set_argument(0, *result as u64);
                fixed.set_argument(3, fixed_flags(registers.arguments()[3]));
                return self.execute(fixed, registers, *result);
            }
            Effect::MapFile { result, file } => {
                return self.map_file(log, registers, *result, *file);
            }
            Effect::SignalReturn(state) => {
                signals::restore(thread, state);
            }
            Effect::Execute | Effect::Exit => return Ok(Applied::End),
            Effect::Signal { .. }
            | Effect::TimeStamp(_)
            | Effect::Preempt(_)
            | Effect::Wait
            | Effect::Thread { .. }
            | Effect::ThreadExit { .. } => {
                return Err(io::Error::other("a system call where there was none"));
            }
        }
        Ok(Applied::Answered)
    }

    /// Lets the kernel execute the system call with other arguments, which the program does not see.
    fn execute(&self, call: Registers, seen: Registers, expected: i64) -> io::Result<Applied> {
        if call != seen {
            call.write(self.running.tracee.thread());
        }
        self.running.tracee.leave_call()?;
        let mut after = self.running.tracee.registers()?;
        if after.result() != expected {
            return Ok(Applied::OtherResult(after.result()));
        }
        if call != seen {
            after.take_arguments(&seen);
            after.write(self.running.tracee.thread());
        }
        Ok(Applied::Executed)
    }

    /// Maps a file that the recorder has kept, by a descriptor that the copy has for a moment.
    fn map_file(
        &self,
        log: &Log,
        before: Registers,
        expected: i64,
        file: usize,
    ) -> io::Result<Applied> {
        let file = log.files.get(file);
        let file = file.ok_or_else(|| io::Error::other("the file was not kept"))?;
        let mut skipped = before;
        skipped.set_number(-1);
        skipped.write(self.running.tracee.thread());
        self.running.tracee.leave_call()?;
        let path = format!("/proc/{}/fd/{}\0", std::process::id(), file.as_raw_fd());
        self.running.tracee.write(scratch::ROOM, path.as_bytes())?;
        let access = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
        let [descriptor] = (self.running.tracee)
            .inject([(libc::SYS_open, [scratch::ROOM, access, 0, 0, 0, 0])])?;
        if descriptor < 0 {
            return Err(io::Error::from_raw_os_error(-descriptor as i32));
        }
        let [_, len, access, flags, _, offset] = before.arguments();
        let flags = fixed_flags(flags);
        let map = [
            expected as u64,
            len,
            access,
            flags,
            descriptor as u64,
            offset,
        ];
        let close = [descriptor as u64, 0, 0, 0, 0, 0];
        let [mapped, _] = self
            .running
            .tracee
            .inject([(libc::SYS_mmap, map), (libc::SYS_close, close)])?;
        self.running
            .tracee
            .write(scratch::ROOM, &vec![0; path.len()])?;
        if mapped != expected {
            return Ok(Applied::OtherResult(mapped));
        }
        let mut after = before;
        after.answer(expected);
        after.write(self.running.tracee.thread());
        Ok(Applied::Executed)
    }

    /// Lets the running thread create one, which has this id in the program.
    fn create_thread(&mut self, id: i32, outputs: &[Written]) -> io::Result<()> {
        let mut created = None;
        loop {
            self.running.tracee.resume_to_call_end();
            match self.running.tracee.wait() {
                Stop::CreatedThread(new) => created = Some(new),
                Stop::CallEnd => break,
                stop if stop.is_end() => return Err(gone()),
                _ => {}
            }
        }
        let new = created.ok_or_else(|| io::Error::other("no thread was created"))?;
        self.copies.add(new);
        let tracee = self.running.tracee.sibling(new);
        match tracee.wait() {
            Stop::Interrupted => {}
            stop => {
                return Err(io::Error::other(format!(
                    "a new thread stopped by {stop:?}"
                )));
            }
        }
        self.write_all(outputs)?;
        let mut after = self.running.tracee.registers()?;
        after.answer(id.into());
        after.write(self.running.tracee.thread());
        let thread = ReplayThread {
            id,
            tracee,
            waits: None,
            is_answered: false,
            is_stepping: false,
        };
        self.others.insert(id, thread);
        Ok(())
    }

    /// Ends the running thread, and makes that of the next event the running one.
    fn end_thread(&mut self, log: &Log, outputs: &[Written]) -> io::Result<()> {
        self.next += 1;
        let next = self.others.remove(&log.thread_of(self.next));
        let next = next.ok_or_else(|| io::Error::other("the next thread is missing"))?;
        let ended = std::mem::replace(&mut self.running, next);
        // The first thread of the process has to stay for the others.
        if ended.tracee.pid != self.copy.pid() {
            ended.tracee.resume(0);
            self.copies.collect_thread(ended.tracee.pid);
        }
        self.write_all(outputs)
    }

    /// Enters the handler of a signal.
    fn apply_signal(&mut self, log: &Log) -> Result<(), Divergence> {
        let event = log.events.get(self.next);
        if let Some(Effect::Signal { frame, state, .. }) = event.map(|event| &event.effect) {
            let written = self.running.tracee.write(frame.0, &frame.1);
            written.map_err(|error| self.refused(log, &error))?;
            signals::restore(self.running.tracee.thread(), state);
        }
        self.next += 1;
        Ok(())
    }

    fn write_all(&self, outputs: &[Written]) -> io::Result<()> {
        for (addr, bytes) in outputs {
            self.running.tracee.write(*addr, bytes)?;
        }
        Ok(())
    }

    fn diverged(&self, log: &Log, difference: Difference) -> Divergence {
        let event = log.events.get(self.next);
        Divergence {
            snapshot: self.from,
            event: self.next,
            call: event.map_or_else(String::new, |event| calls::name(event.entry.number)),
            difference,
        }
    }

    fn refused(&self, log: &Log, error: &io::Error) -> Divergence {
        self.diverged(log, Difference::Stop(error.to_string()))
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        let all = self.others.values().chain([&self.running]);
        let pids = all.map(|thread| thread.tracee.pid);
        let first = self.copy.pid();
        self.copies
            .collect(&self.copy, pids.filter(|pid| *pid != first));
    }
}

impl ReplayThread {
    fn sp(&self) -> Option<u64> {
        match &self.waits {
            Some(registers) => Some(registers.sp()),
            None => Some(self.tracee.registers().ok()?.sp()),
        }
    }
}

enum Applied {
    /// The kernel still has to skip the call.
    Answered,
    /// The kernel has made the call.
    Executed,
    End,
    /// The kernel has returned this.
    OtherResult(i64),
}

/// Returns the flags of a mapping at exactly the address that it had.
fn fixed_flags(flags: u64) -> u64 {
    flags & !(libc::MAP_FIXED_NOREPLACE as u64) | libc::MAP_FIXED as u64
}

/// Returns the registers of mremap(2) so that it moves memory to where it did; those of other calls as they
/// are. Where it has room, may be different in a process that was made of an image.
fn moved_to(mut registers: Registers, result: i64) -> Registers {
    let [old, _, _, flags, ..] = registers.arguments();
    let may_move = flags & libc::MREMAP_MAYMOVE as u64 != 0;
    if registers.number() == libc::SYS_mremap && may_move && result > 0 && result as u64 != old {
        registers.set_argument(3, flags | libc::MREMAP_FIXED as u64);
        registers.set_argument(4, result as u64);
    }
    registers
}

fn place(entry: &Entry) -> Place {
    Place {
        call: calls::name(entry.number),
        pc: entry.pc,
        sp: entry.sp,
        arguments: entry.arguments,
    }
}
