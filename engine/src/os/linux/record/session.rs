//! The recording of a program under the debugger, and the replay that is shown in place of the program.
//!
//! A recording of a file has a process, too: where it ends. That never runs.
//!
//! To the debugger, a replay is the program: it has its thread id, and its process is stopped, resumed
//! and read like it. One more replay can be kept aside, stopped: the place that a search has begun at.

use super::super::super::thread_state::SIGNAL_BYTES;
use super::log::Log;
use super::recorder::Recorder;
use super::registers::Registers;
use super::replay::{Replay, Replayed};
use super::snapshots::Snapshot;
use super::stored::Stored;
use super::tracee::{Stop, Tracee, poll_stop};
use super::{buffer, difference};
use crate::ids::{Signal, ThreadId};
use crate::os::linux::stop_wait::StopWait;
use crate::os::recording::{Divergence, KeptFor, OtherState, RecordingState, ReplayStop};
use crate::os::registers::RegisterSet;
use crate::os::{Patience, Resume, ThreadEvent};
use dwarf::LoadAddr;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

/// How often to look whether a snapshot is due.
const TICK: Duration = Duration::from_millis(25);

/// A recording, and what is shown of it.
pub struct Recording {
    pub recorder: Recorder,
    /// If it is one of a file.
    pub(super) stored: Option<Stored>,
    /// The replay that is shown; `None`: the program.
    shown: Option<Replay>,
    /// What was put aside for a replay: another one, or the program (`None`).
    aside: Option<Option<Replay>>,
    /// What a trial, a copy that is shown, was made of: a replay, or the program (`None`).
    tried: Option<Option<Replay>>,
    /// Copies of replays, for later.
    kept: BTreeMap<KeptFor, Replay>,
    /// What the shown replay has reported.
    seen: VecDeque<(ThreadId, ThreadEvent)>,
    /// The first difference between a replay and the recording.
    divergence: Option<Divergence>,
}

impl Recording {
    /// Begins with the recorder of a program.
    pub fn new(recorder: Recorder) -> Recording {
        Recording {
            recorder,
            stored: None,
            shown: None,
            aside: None,
            tried: None,
            kept: BTreeMap::new(),
            seen: VecDeque::new(),
            divergence: None,
        }
    }

    /// Returns the thread that a thread of the program is, as it is shown.
    pub fn actual(&self, thread: ThreadId) -> ThreadId {
        let of = |shown: &Option<Replay>| match (shown, &self.stored) {
            (Some(replay), _) => replay.thread(thread.0),
            (None, Some(stored)) => stored.actual(thread),
            (None, None) => None,
        };
        // A trial has one thread: the others are still in what it was made of.
        let actual = of(&self.shown).or_else(|| of(self.tried.as_ref()?));
        match actual {
            Some(actual) => actual,
            // The process.
            None if thread.0 == self.recorder.pid => ThreadId(self.shown_pid()),
            None => thread,
        }
    }

    /// Returns the thread that runs, or has stopped the others: where it is, is the place of the process.
    pub fn running_thread(&self) -> ThreadId {
        match &self.shown {
            Some(replay) => ThreadId(replay.running.id),
            None => match &self.stored {
                Some(stored) => stored.running(),
                None => self.recorder.running.tracee.thread(),
            },
        }
    }

    /// Returns the threads where the recording ends, if it is one of a file.
    pub fn stored_threads(&self) -> Vec<ThreadId> {
        self.stored.as_ref().map_or_else(Vec::new, Stored::threads)
    }

    /// Returns the threads of the replay that is shown, if one is.
    pub fn replay_threads(&self) -> Option<Vec<ThreadId>> {
        Some(self.shown.as_ref()?.threads())
    }

    /// Returns the state of the recording.
    pub fn state(&self) -> RecordingState {
        let log = &self.recorder.log;
        RecordingState {
            ended: self.recorder.ended.clone(),
            events: log.events.len(),
            bytes: log.bytes(),
            has_threads: log.has_threads || self.recorder.has_threads(),
            position: self.shown.as_ref().map(|replay| replay.next),
            snapshots: match &self.stored {
                Some(stored) => stored.places(),
                None => (self.recorder.snapshots_of_program())
                    .map(Snapshot::taken_at)
                    .collect(),
            },
            divergence: self.divergence.clone(),
        }
    }

    /// Returns whether a copy of the instruction at an address may be executed elsewhere.
    pub fn can_execute_copy(&self, at: LoadAddr) -> bool {
        /// The length of the longest instruction.
        const MOST: u64 = 15;
        let Some(replay) = &self.shown else {
            return false;
        };
        // A system call is an event behind its instruction, a fault is one at it.
        let next = self.log().events.get(replay.next);
        next.is_none_or(|event| event.entry.pc.wrapping_sub(at.0) > MOST)
    }

    /// Returns whether a stopped thread executes its next instruction before another thread runs.
    pub fn is_turn_of(&self, thread: ThreadId) -> bool {
        let replay = self.shown.as_ref();
        replay.is_none_or(|replay| replay.is_turn_of(self.log(), thread.0))
    }

    /// Resumes a thread of the shown replay, which stops when it is its turn.
    pub fn resume_at_turn(&mut self, thread: ThreadId) {
        if let Some(replay) = &mut self.shown {
            replay.resume_at_turn(thread.0);
        }
    }

    /// Returns the places in code at which replays change threads, in order.
    pub fn places_of_changes(&self) -> Vec<LoadAddr> {
        match &self.shown {
            Some(_) => self.log().places().map(LoadAddr).collect(),
            None => Vec::new(),
        }
    }

    fn log(&self) -> &Log {
        &self.recorder.log
    }

    /// Returns the ranges of memory that the shown replay will map, or has mapped.
    pub fn mapped_later(&self) -> Vec<(LoadAddr, LoadAddr)> {
        match &self.shown {
            Some(_) => self.log().mapped(),
            None => Vec::new(),
        }
    }

    /// Returns a stop that is known without the kernel.
    fn take_seen(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        match self.is_program_shown() {
            false => self.seen.pop_front(),
            true => self.recorder.take_seen(),
        }
    }

    fn take_seen_of(&mut self, thread: ThreadId) -> Option<ThreadEvent> {
        match self.is_program_shown() {
            false => {
                let nth = self.seen.iter().position(|(of, _)| *of == thread)?;
                Some(self.seen.remove(nth)?.1)
            }
            true => self.recorder.take_seen_of(thread.0),
        }
    }

    /// Returns whether what is shown is the program, which runs: no replay, and no end of a file.
    fn is_program_shown(&self) -> bool {
        self.shown.is_none() && self.stored.is_none()
    }

    /// Returns whether a stop is known without the kernel.
    pub fn has_seen(&self) -> bool {
        let stored = self.stored.as_ref().filter(|_| self.shown.is_none());
        match self.is_program_shown() {
            false => !self.seen.is_empty() || stored.is_some_and(Stored::is_stop_due),
            true => !self.recorder.seen.is_empty(),
        }
    }

    /// Lets what is shown run, as far as the debugger has resumed it and has seen all.
    fn pump(&mut self) {
        if let Some(replay) = &mut self.shown {
            if self.seen.is_empty() {
                let outcome = replay.pump(&self.recorder.log);
                self.note(outcome);
            }
        } else if let Some(stored) = &mut self.stored {
            self.seen.extend(stored.stop_again());
        } else if let Err(error) = self.recorder.pump() {
            self.recorder.fail(&error);
        }
    }

    /// Returns the next stop that the debugger sees, if one is ready.
    pub fn next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        loop {
            if let Some(seen) = self.take_seen() {
                return Some(seen);
            }
            self.pump();
            if self.has_seen() {
                continue;
            }
            let (pid, stop) = poll_stop(-1).ok()??;
            if let Some(seen) = self.on_stop(pid, stop) {
                return Some(seen);
            }
        }
    }

    /// Handles a stop of any tracee. Returns what the debugger sees of it.
    fn on_stop(&mut self, pid: i32, stop: Stop) -> Option<(ThreadId, ThreadEvent)> {
        if let Some(replay) = &mut self.shown
            && replay.running.tracee.pid == pid
        {
            let outcome = replay.on_stop(&self.recorder.log, stop);
            self.note(outcome);
            return self.seen.pop_front();
        }
        match self.recorder.on_stop(pid, stop) {
            Ok(seen) => seen.map(|(thread, event)| {
                let stored = self.stored.as_ref();
                let id = stored.and_then(|stored| stored.id_of(thread));
                (id.unwrap_or(thread), event)
            }),
            Err(error) => {
                self.recorder.fail(&error);
                None
            }
        }
    }

    /// Notes what the debugger sees of what a replay has done.
    fn note(&mut self, outcome: Result<Replayed, Divergence>) {
        let Some(replay) = &mut self.shown else {
            return;
        };
        let seen = std::mem::take(&mut replay.seen).into_iter();
        self.seen
            .extend(seen.map(|(id, event)| (ThreadId(id), event)));
        let stop = match outcome {
            Ok(Replayed::GoesOn | Replayed::Seen | Replayed::Held) => return,
            Ok(Replayed::Mapped) => ReplayStop::Mapped,
            Ok(Replayed::Reached) => ReplayStop::Reached,
            Ok(Replayed::End) => ReplayStop::End,
            Err(divergence) => {
                tracing::warn!(%divergence, "a replay is not like its recording");
                self.divergence = Some(divergence);
                ReplayStop::Diverged
            }
        };
        let running = ThreadId(replay.running.id);
        self.seen.push_back((running, ThreadEvent::Replayed(stop)));
    }

    /// Resumes a thread of the program, or of the replay that is shown.
    pub fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal) {
        if !self.is_program_shown() && self.has_seen_of(thread) {
            // It stops again by that, and executes nothing before.
            return;
        }
        if let Some(replay) = &mut self.shown {
            // Signals are part of the recording.
            replay.resume(thread.0, how);
            return;
        }
        if let Some(stored) = &mut self.stored {
            stored.resume(thread, how);
            return;
        }
        if let Err(error) = self.recorder.resume(thread, how, signal) {
            self.recorder.fail(&error);
        }
    }

    /// Returns the stop of a thread; `None` if it does not come within `patience`, or the thread is gone.
    pub fn stop_of(&mut self, thread: ThreadId, patience: Patience) -> Option<ThreadEvent> {
        let mut wait = StopWait::begin(patience);
        loop {
            if let Some(event) = self.take_seen_of(thread) {
                return Some(event);
            }
            self.pump();
            if self.has_seen_of(thread) {
                continue;
            }
            if !self.is_program_shown() && !self.shown.as_ref().is_some_and(Replay::is_going) {
                // Another thread has stopped for the debugger: this one executes nothing before that is handled.
                return (patience == Patience::UntilStopped).then_some(ThreadEvent::Interrupted);
            }
            if let Some((pid, stop)) = poll_stop(-1).ok()? {
                match self.on_stop(pid, stop) {
                    Some((of, event)) if of == thread => return Some(event),
                    Some((of, event)) => self.put_back(of, event),
                    None => {}
                }
                continue;
            }
            if !wait.rest() {
                return None;
            }
        }
    }

    fn has_seen_of(&self, thread: ThreadId) -> bool {
        match self.is_program_shown() {
            false => self.seen.iter().any(|(of, _)| *of == thread),
            true => self.recorder.seen.iter().any(|(of, _)| *of == thread.0),
        }
    }

    /// Keeps a stop of another thread for later.
    fn put_back(&mut self, thread: ThreadId, event: ThreadEvent) {
        match self.is_program_shown() {
            false => self.seen.push_front((thread, event)),
            true => self.recorder.seen.push_front((thread.0, event)),
        }
    }

    /// Interrupts the running program if a snapshot is due. Returns when to look again.
    pub fn next_tick(&mut self, now: Instant) -> Option<Instant> {
        self.pump();
        if self.shown.is_some() || self.has_seen() || !self.recorder.is_running() {
            return None;
        }
        if let Err(error) = self.recorder.on_tick() {
            self.recorder.fail(&error);
        }
        Some(self.recorder.next_look(now, now + TICK))
    }

    /// Returns whether a replay is shown.
    pub fn is_replay_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Registers a patch of the debugger in the code of what is shown, by the program's bytes under it, or
    /// that there is none.
    pub fn note_patch(&self, addr: LoadAddr, original: Option<&[u8]>) {
        let patches = match &self.shown {
            Some(replay) => &replay.patches,
            None => &self.recorder.patches,
        };
        patches.set(addr.0, original);
    }

    /// Removes the recorder's jumps that a patch of the debugger in this range of what is shown would change.
    pub fn give_way(&self, addr: LoadAddr, len: usize) {
        let tracee = match &self.shown {
            Some(replay) => &replay.running.tracee,
            None => &self.recorder.running.tracee,
        };
        let range = addr.0..addr.0.saturating_add(len as u64);
        for site in self.log().segments.sites() {
            if let Err(error) = buffer::give_way(tracee, site, &range) {
                tracing::debug!(%error, site, "a jump of the recorder stays");
            }
        }
    }

    /// Puts the program's code in the place of the recorder's jumps, in bytes that were read at an address.
    pub fn hide_jumps(&self, addr: LoadAddr, bytes: &mut [u8]) {
        self.log().segments.hide(addr.0, bytes);
    }

    /// Returns whether the program is recorded: the recording has not ended.
    pub fn is_going_on(&self) -> bool {
        self.recorder.ended.is_none()
    }

    /// Interrupts the program, or the replay that is shown.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn interrupt(&mut self, thread: ThreadId) -> io::Result<()> {
        match &mut self.shown {
            Some(replay) => {
                replay.interrupt(thread.0)?;
                self.note(Ok(Replayed::GoesOn));
                Ok(())
            }
            None if self.stored.is_some() => {
                self.pump();
                // One of those that were resumed has stopped again.
                if !self.has_seen_of(thread) {
                    self.seen.push_back((thread, ThreadEvent::Interrupted));
                }
                Ok(())
            }
            None => self.recorder.interrupt(thread),
        }
    }

    /// Shows a replay from a snapshot of the program that runs now, by its index, in place of what is
    /// shown, which is put aside. The debugger's patches are not in it. It stops before the event
    /// `pause_at`.
    ///
    /// # Errors
    /// There is no such snapshot, or the system has no memory or processes left.
    pub fn begin_replay(&mut self, snapshot: usize, pause_at: Option<usize>) -> Result<(), String> {
        // What the program has done since the last event, is part of what a replay does.
        let replay = match &mut self.stored {
            Some(stored) => stored.replay(snapshot, self.recorder.copies()),
            None => (self.recorder.keep_records()).and_then(|()| self.recorder.replay(snapshot)),
        };
        self.put_in_place(replay.map_err(|error| error.to_string())?, pause_at);
        Ok(())
    }

    /// Keeps a copy of the shown replay.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub fn keep_replay(&mut self, purpose: KeptFor) -> Result<(), String> {
        let copy = match &self.shown {
            Some(shown) => shown.copy(self.recorder.copies()),
            None => return Ok(()),
        };
        self.kept
            .insert(purpose, copy.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Shows a copy of a kept replay in place of what is shown, as [`Recording::begin_replay`] does.
    ///
    /// # Errors
    /// There is none, or the system has no memory or processes left.
    pub fn begin_kept_replay(
        &mut self,
        purpose: KeptFor,
        pause_at: Option<usize>,
    ) -> Result<(), String> {
        let kept = self.kept.get(&purpose).ok_or("no replay was kept")?;
        let replay = kept.copy(self.recorder.copies());
        self.put_in_place(replay.map_err(|error| error.to_string())?, pause_at);
        Ok(())
    }

    /// Ends what was kept for a purpose.
    pub fn end_kept_replay(&mut self, purpose: KeptFor) {
        self.kept.remove(&purpose);
    }

    fn put_in_place(&mut self, mut replay: Replay, pause_at: Option<usize>) {
        replay.pause_at(pause_at);
        replay.is_shown = true;
        self.seen.clear();
        self.divergence = None;
        let before = self.shown.replace(replay);
        // Of a search that begins again, the first place is kept.
        self.aside.get_or_insert(before);
    }

    /// Returns the details of the signal that the shown replay was stopped with, which the kernel knows only of
    /// the program; `None`: it shows none.
    pub fn signal_info(&self) -> Option<[u8; SIGNAL_BYTES]> {
        self.shown.as_ref()?.signal_info(self.log())
    }

    /// Makes the shown replay stop when memory was mapped.
    pub fn see_mappings(&mut self) {
        if let Some(replay) = &mut self.shown {
            replay.sees_mappings = true;
        }
    }

    /// Makes the shown replay stop before an event.
    pub fn pause_before(&mut self, event: Option<usize>) {
        if let Some(replay) = &mut self.shown {
            replay.pause_at(event);
        }
    }

    /// The debugger looks for a place in the shown replay, before the next event.
    pub fn end_before_next(&mut self) {
        if let Some(replay) = &mut self.shown {
            replay.end_before(replay.next);
        }
    }

    /// Ends what was put aside.
    pub fn end_aside(&mut self) {
        self.kept.remove(&KeptFor::Steps);
        self.aside = None;
    }

    /// Shows what was put aside again.
    pub fn restore_aside(&mut self) {
        self.kept.remove(&KeptFor::Steps);
        self.seen.clear();
        self.shown = self.aside.take().flatten();
    }

    /// Shows a copy of what is shown in place of it, to call functions in it and to change it.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub fn begin_trial(&mut self, thread: ThreadId) -> Result<(), String> {
        if self.tried.is_some() {
            return Ok(());
        }
        let copies = self.recorder.copies();
        let trial = Replay::trial(self.actual(thread), thread.0, self.position(), copies);
        let trial = trial.map_err(|error| error.to_string())?;
        self.tried = Some(self.shown.replace(trial));
        Ok(())
    }

    /// Shows again what was shown before the trial.
    pub fn end_trial(&mut self) {
        if let Some(before) = self.tried.take() {
            self.seen.clear();
            self.shown = before;
        }
    }

    /// Shows the program itself.
    pub fn show_head(&mut self) {
        self.tried = None;
        self.kept.remove(&KeptFor::Steps);
        self.seen.clear();
        self.shown = None;
        self.aside = None;
    }

    /// Returns the pid of the process that is shown.
    pub fn shown_pid(&self) -> i32 {
        let replay = self.shown.as_ref();
        replay.map_or(self.recorder.pid, Replay::pid)
    }

    /// Returns how the shown replay differs from what was put aside, outside of these ranges of memory;
    /// `None`: they are the same.
    pub fn difference(&self, except: &[(LoadAddr, u64)], has_red_zone: bool) -> Option<OtherState> {
        let (wanted, mut others): (&Tracee, _) = match &self.aside {
            Some(Some(replay)) => (&replay.running.tracee, replay.other_stacks()),
            Some(None) | None => (&self.recorder.running.tracee, self.recorder.other_stacks()),
        };
        let copy = self.shown.as_ref()?;
        // What is traced and counted has written there, too.
        others.extend(self.log().left_stacks(copy.next));
        let aside = self.aside.iter().flatten();
        let searches = aside.chain([copy]).filter_map(Replay::search_memory);
        let except: Vec<_> = except.iter().copied().chain(searches).collect();
        let copy = &copy.running.tracee;
        difference::of(wanted, copy, &others, &except, has_red_zone)
    }

    /// Returns the index of the next event of what is shown.
    pub fn position(&self) -> usize {
        match &self.shown {
            Some(replay) => replay.next,
            None => self.log().events.len(),
        }
    }

    /// Returns the registers of a stopped thread; those before its system call if that was interrupted
    /// and is made again.
    pub fn registers_at_event(&self, thread: ThreadId) -> Option<RegisterSet> {
        let thread = self.actual(thread);
        let mut set = super::super::registers::read(thread)?;
        Registers::read(thread)?.at_event().copy_to(set.words_mut());
        Some(set)
    }
}
