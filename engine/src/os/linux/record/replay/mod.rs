//! Replays a recording: a copy of a snapshot runs, and the log answers its system calls. The copy has no
//! descriptors, and does nothing to the world.

mod effects;
mod progress;
mod stops;
mod threads;

use super::buffer::{self, Refill};
use super::calls;
use super::log::{Effect, Log};
use super::patches::{self, Patches};
use super::scratch;
use super::snapshots::Snapshot;
use super::threads::copied::{self, Copied};
use super::threads::outside::outside_call;
use super::threads::search::{Search, SearchMemory};
use super::tracee::{Stop, Tracee, stop_or_tick};
use crate::ids::ThreadId;
use crate::os::ThreadEvent;
use crate::os::linux::copy::{Copies, CopyParent, ProcessCopy};
use crate::os::linux::ptrace;
use crate::os::recording::{Difference, Divergence};
use dwarf::LoadAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};
pub use threads::ReplayThread;

/// What a replay has compared.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Compared {
    /// Events at which all registers were compared.
    pub events: usize,
    /// Events after which all writable memory was compared.
    pub hashes: usize,
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
    /// Memory that it has mapped for the last search whose code was removed at a stop for something else, or that
    /// is planted.
    search_memory: Option<SearchMemory>,
    /// A search whose code was removed at a stop for something else, by the event whose place it searches.
    suspended: Option<(usize, Box<Search>)>,
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
    /// The threads that the debugger has resumed since it was stopped.
    resumed: BTreeSet<i32>,
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
        copy.search_memory = self.search_memory;
        copy.patches = self.patches.copy();
        for thread in self.others.values().chain([&self.running]) {
            if let Some(copied) = copy.thread_mut(thread.id) {
                copied.awaits_turn = thread.awaits_turn;
            }
        }
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
            mask: 0,
        }];
        let mut trial = Replay::of(thread, &alone, next, copies)?;
        trial.is_trial = true;
        buffer::pass(&trial.running.tracee)?;
        Ok(trial)
    }

    /// Begins as a copy of a stopped thread's process with these threads, before the event `next`.
    fn of(thread: ThreadId, all: &[Copied], next: usize, copies: &Copies) -> io::Result<Replay> {
        let at = LoadAddr(scratch::CALL);
        let copy = outside_call(thread, || {
            let copy = copies.copy_process(thread, at, CopyParent::OfCopied);
            copy.map_err(|error| io::Error::other(error.to_string()))
        })?;
        ptrace::set_options_for_recording(copy.thread())?;
        let first = all.first();
        let running = ReplayThread {
            id: first.map_or(thread.0, |it| it.thread),
            tracee: Tracee::new(copy.pid())?,
            waits: first.and_then(|it| it.waits),
            is_answered: false,
            is_stepping: false,
            awaits_turn: false,
        };
        let mut replay = Replay {
            copy,
            copies: copies.clone(),
            running,
            others: BTreeMap::new(),
            search: None,
            search_memory: None,
            suspended: None,
            refill: Refill::default(),
            patches: Patches::default(),
            from: next,
            next,
            compared: Compared::default(),
            pause_at: None,
            ends_before: None,
            seen: VecDeque::new(),
            is_going: false,
            resumed: BTreeSet::new(),
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
                tracee: copied::create(&replay.running.tracee, (state, other.mask), copies)?,
                waits: other.waits,
                is_answered: false,
                is_stepping: false,
                awaits_turn: false,
            };
            replay.others.insert(other.thread, created);
        }
        Ok(replay)
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
        self.resumed.insert(self.running.id);
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
                    self.resumed.insert(self.running.id);
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
            match stop_or_tick(self.running.tracee.pid) {
                Ok(Some((_, stop))) => return Ok(stop),
                Ok(None) => {}
                Err(_) => return Ok(Stop::Killed(libc::SIGKILL)),
            }
            if self.search.is_some() && begun.elapsed() > PATIENCE {
                let text = "it does not come to the place where another thread began to run";
                return Err(self.diverged(log, Difference::Stop(text.to_owned())));
            }
        }
    }

    /// Returns the pid of its process.
    pub fn pid(&self) -> i32 {
        self.copy.pid()
    }

    fn diverged(&self, log: &Log, difference: Difference) -> Divergence {
        let event = log.events.get(self.next);
        Divergence {
            snapshot: self.from,
            event: self.next,
            call: event.map_or_else(String::new, |event| calls::name(event.entry.number)),
            difference,
            is_repeatable: self.has_missed_place(log),
        }
    }

    /// Returns whether the replay has passed the place of the next event, and a further one would look more closely.
    fn has_missed_place(&self, log: &Log) -> bool {
        let has_searched = self.suspended.as_ref().is_some_and(|it| it.0 == self.next);
        let event = log.events.get(self.next);
        match event.map(|event| &event.effect) {
            Some(Effect::Preempt(place)) if has_searched => place.is_missed(),
            _ => false,
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
