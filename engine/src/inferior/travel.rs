//! Replays of a recorded program, in its place: what belongs to one process is put aside for another.

use super::Inferior;
use super::displaced::DisplacedPads;
use super::jump_patch::JumpPatches;
use super::resume::RunAs;
use super::site::{Owner, Sites};
use super::thread::{RegisterCache, RunState, StopPoint, Thread};
use super::{Process, State};
use crate::ids::ThreadId;
use crate::os::{KeptFor, Mapping, OtherState, RecordFrom, RegisterSet, Resume, Word};
use dwarf::LoadAddr;
use std::path::PathBuf;

/// The bytes of a word.
const WORD: u64 = 8;

/// A place in a recording, as far as registers tell it from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The index of the event that follows.
    pub event: usize,
    pub registers: RegisterSet,
    /// Whether the function there may use the stack below the stack pointer.
    pub has_red_zone: bool,
}

/// Whether a thread is at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AtMark {
    /// It is.
    There,
    /// It has the registers, but other words of memory: these are those at the place.
    OtherWords(Vec<Word>),
    /// It is not.
    Elsewhere,
}

/// Where a replay begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReplayFrom {
    /// At a snapshot, by its index.
    Snapshot(usize),
    /// At a copy of a replay.
    Kept(KeptFor),
}

/// A process that was put aside, as the debugger knows it.
pub(crate) struct Aside {
    process: Option<Process>,
    sites: Sites,
    pads: DisplacedPads,
    jumps: JumpPatches,
    copied: Vec<(LoadAddr, u64)>,
}

/// What is known of a kept copy of a replay.
#[derive(Default)]
pub(super) struct Kept {
    /// Its sites, without jumps.
    sites: Sites,
    pads: DisplacedPads,
    /// Memory of the debugger's in it.
    own: Vec<(LoadAddr, u64)>,
}

/// Memory of the debugger's in the processes that replays are copies of.
#[derive(Default)]
pub(super) struct Copied {
    /// In the process that is shown, besides that of its jumps.
    shown: Vec<(LoadAddr, u64)>,
    /// In the program itself, while a replay is shown.
    head: Vec<(LoadAddr, u64)>,
}

/// A copy that is shown in place of what functions are called and memory is changed for.
pub(crate) struct Trial {
    thread: ThreadId,
    /// The sites of what the copy was made of, and its pads.
    sites: Sites,
    pads: DisplacedPads,
}

impl Inferior {
    /// Begins to record the process, at a stop of all its threads, by this one.
    ///
    /// # Errors
    /// Why it is not recorded: it is as before then.
    pub(crate) fn begin_recording(&mut self, thread: ThreadId) -> Result<(), String> {
        let Some(pid) = self.pid() else {
            return Err("it has ended".to_owned());
        };
        let threads = self.leave_own_code()?;
        self.write_all_registers();
        self.end_all_jumps();
        let begun = self.os.begin_recording(&RecordFrom {
            process: pid,
            thread,
            threads: &threads,
            patches: &self.sites.traps(),
            own: &self.jumps.regions(),
        });
        // Threads may be elsewhere, even if it is not recorded.
        for thread in threads {
            if let Some(state) = self.thread_mut(thread) {
                state.registers = RegisterCache::Unread;
            }
        }
        self.note_change();
        begun
    }

    /// Moves all stopped threads out of code of the debugger's and to the ends of system calls that it has seen in
    /// progress. Returns them.
    ///
    /// # Errors
    /// A thread is in a call that does not end.
    fn leave_own_code(&mut self) -> Result<Vec<ThreadId>, String> {
        let threads = self.process.iter().flat_map(|it| it.threads.keys());
        let mut threads: Vec<ThreadId> = threads.copied().collect();
        threads.retain(|thread| self.normalize(*thread).is_some());
        let is_in_call = |thread: &&ThreadId| {
            let state = self.thread(**thread);
            state.is_some_and(|it| matches!(it.point, StopPoint::SystemCall(_)))
        };
        match threads.iter().find(is_in_call) {
            Some(thread) => Err(format!(
                "thread {thread} waits until a process that it has started executes a program; step once, and try again"
            )),
            None => Ok(threads),
        }
    }

    /// Returns the place that a process with a stopped thread is at; `None` if it is gone. Of several threads one
    /// runs at a time: where that is, is the place.
    pub(crate) fn mark(&mut self, thread: ThreadId) -> Option<Mark> {
        self.write_all_registers();
        let running = self.os.running_thread().unwrap_or(thread);
        Some(Mark {
            event: self.os.next_event(),
            registers: self.os.registers_at_event(running)?,
            has_red_zone: true,
        })
    }

    /// Returns whether a stopped thread of a replay is at a place of what was put aside, but for these words of
    /// memory.
    pub(crate) fn is_at(
        &mut self,
        thread: ThreadId,
        mark: &Mark,
        aside: Option<&Aside>,
        not_compared: &[LoadAddr],
    ) -> AtMark {
        self.write_registers(thread);
        if self.os.next_event() != mark.event
            || self.os.registers_at_event(thread).as_ref() != Some(&mark.registers)
        {
            return AtMark::Elsewhere;
        }
        // Memory of the debugger's in either.
        let mut own = self.own_regions();
        own.extend(not_compared.iter().map(|addr| (*addr, WORD)));
        if let Some(aside) = aside {
            own.extend(aside.jumps.regions());
            own.extend(&aside.copied);
        }
        match self.os.difference(&own, mark.has_red_zone) {
            None => AtMark::There,
            Some(OtherState::Words(words)) => AtMark::OtherWords(words),
            Some(OtherState::Registers) => AtMark::Elsewhere,
        }
    }

    /// Describes where a stopped thread of a replay is instead of at a place, for a report.
    pub(crate) fn distance_from(&self, thread: ThreadId, mark: &Mark) -> String {
        let event = self.os.next_event();
        let mut text = format!("before event {event}, for {}", mark.event);
        let here = self.os.registers_at_event(thread);
        let here = here.iter().flat_map(|it| it.words());
        for (nth, (here, there)) in here.zip(mark.registers.words()).enumerate() {
            if here != there {
                text += &format!("; register {nth} {here:#x}, for {there:#x}");
            }
        }
        text
    }

    /// Returns the memory of the debugger's in the process that is shown.
    fn own_regions(&self) -> Vec<(LoadAddr, u64)> {
        let mut own = self.jumps.regions();
        own.extend(&self.copied.shown);
        own
    }

    /// Shows a replay in place of what is shown, which is returned. The replay has the sites of what was
    /// shown with these owners; it will stop before an event.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub(crate) fn begin_replay(
        &mut self,
        from: ReplayFrom,
        event: Option<usize>,
        keeps: impl Fn(Owner) -> bool,
    ) -> Result<Aside, String> {
        let mut sites = Sites::default();
        sites.set_arch(self.arch);
        let mut pads = DisplacedPads::default();
        let is_head = self.os.recording().is_some_and(|it| it.position.is_none());
        if is_head {
            self.copied.head = self.jumps.regions();
        }
        let copied = match from {
            ReplayFrom::Snapshot(index) => {
                self.os.begin_replay(index, event)?;
                self.copied.head.clone()
            }
            ReplayFrom::Kept(purpose) => {
                self.os.begin_kept_replay(purpose, event)?;
                let none = Kept::default();
                let kept = self.kept.get(&purpose).unwrap_or(&none);
                (sites, pads) = (kept.sites.clone(), kept.pads.clone());
                kept.own.clone()
            }
        };
        let pid = self.pid.unwrap_or_default();
        let thread = ThreadId(pid);
        let mut process = Process::new(pid, self.launched);
        process.state = State::Running;
        process.current = thread;
        if let Some(shown) = &self.process {
            process.loader_sites.clone_from(&shown.loader_sites);
        }
        if let Some(running) = self.os.running_thread() {
            process.current = running;
        }
        let aside = Aside {
            process: self.process.replace(process),
            sites: std::mem::replace(&mut self.sites, sites),
            pads: std::mem::replace(&mut self.pads, pads),
            jumps: std::mem::take(&mut self.jumps),
            copied: std::mem::replace(&mut self.copied.shown, copied),
        };
        self.sync_threads();
        self.missing.clear();
        self.ready.clear();
        self.take_over_sites(&aside.sites, |owner| owner.is_lasting() && keeps(owner));
        self.note_change();
        Ok(aside)
    }

    /// Takes over which threads the replay that is shown has: those that it creates and ends are no news.
    pub(crate) fn sync_threads(&mut self) {
        let (Some(threads), Some(process)) = (self.os.replay_threads(), &mut self.process) else {
            return;
        };
        // A trial has the others only where it was made.
        if self.trial.is_none() {
            process.threads.retain(|thread, _| threads.contains(thread));
        }
        for thread in threads {
            process.threads.entry(thread).or_insert_with(|| Thread {
                run: RunState::Stopped,
                announced: true,
                ..Thread::default()
            });
        }
    }

    /// Returns a thread of the process that is shown; for one that a replay does not have (yet), the one that runs
    /// in it.
    pub(crate) fn thread_of_replay(&self, thread: ThreadId) -> ThreadId {
        let is_missing = self.thread(thread).is_none() && self.os.replay_threads().is_some();
        match self.os.running_thread().filter(|_| is_missing) {
            Some(running) => running,
            None => thread,
        }
    }

    /// Resumes these threads of a replay in which something is searched: they have no stops of their own to
    /// be handled, and watch data.
    pub(crate) fn resume_rest(&mut self, is_wanted: impl Fn(&ThreadId) -> bool) {
        let threads = self.process.iter().flat_map(|process| &process.threads);
        let stopped = threads.filter(|(thread, state)| is_wanted(thread) && state.is_stopped());
        let stopped: Vec<ThreadId> = stopped.map(|(thread, _)| *thread).collect();
        for thread in stopped {
            let _ = self.resume(thread, Resume::Continue, RunAs::Program);
        }
    }

    /// Gives the process that is shown the sites of another one with these owners, and no others.
    fn take_over_sites(&mut self, from: &Sites, is_wanted: impl Fn(Owner) -> bool) {
        for (addr, owner) in self.sites.all() {
            if !is_wanted(owner) || !from.has_owner(addr, owner) {
                self.remove_site(addr, owner);
            }
        }
        for (addr, owner) in from.all() {
            if is_wanted(owner) {
                self.add_site_later(addr, owner);
            }
        }
    }

    /// Returns the mappings of the process, and what a replay maps at any time: no code of the debugger's may
    /// be there.
    pub(crate) fn occupied(&self, pid: i32) -> Vec<Mapping> {
        let mut all = self.os.mappings(pid);
        let later = self.os.mapped_later();
        all.extend(later.into_iter().map(|(start, end)| Mapping {
            start,
            end,
            readable: false,
            writable: false,
            executable: false,
            shared: false,
            path: PathBuf::new(),
            offset: 0,
        }));
        all.sort_by_key(|mapping| mapping.start);
        all
    }

    /// Keeps a copy of the replay that is shown, at this stop.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub(crate) fn keep_replay(&mut self, purpose: KeptFor) -> Result<(), String> {
        self.write_all_registers();
        self.end_all_jumps();
        self.os.keep_replay(purpose)?;
        let kept = Kept {
            sites: self.sites.clone(),
            pads: self.pads.clone(),
            own: self.own_regions(),
        };
        self.kept.insert(purpose, kept);
        Ok(())
    }

    fn write_all_registers(&mut self) {
        let threads = self.process.iter().flat_map(|it| it.threads.keys());
        let threads: Vec<ThreadId> = threads.copied().collect();
        for thread in threads {
            self.write_registers(thread);
        }
    }

    /// Adds the lasting sites of what was put aside to those of the replay that is shown.
    pub(crate) fn add_sites_of(&mut self, aside: &Aside) {
        for (addr, owner) in aside.sites.lasting() {
            self.add_site_later(addr, owner);
        }
    }

    /// Adds a site to a replay, as soon as its memory is mapped.
    pub(crate) fn add_site_later(&mut self, addr: LoadAddr, owner: Owner) {
        if !self.sites.add(addr, owner, &*self.os) {
            self.await_mapping(addr, owner);
        }
    }

    /// Adds a site to a replay once its memory is mapped.
    pub(super) fn await_mapping(&mut self, addr: LoadAddr, owner: Owner) {
        self.missing.push((addr, owner));
        self.os.see_mappings();
    }

    /// Adds the sites whose memory was not mapped before, and those that a mapping has covered: a loader maps
    /// a file as a whole first, and its code over that.
    pub(crate) fn add_missing_sites(&mut self) {
        self.sites.plant_covered(&*self.os);
        for (addr, owner) in std::mem::take(&mut self.missing) {
            if !self.sites.add(addr, owner, &*self.os) {
                self.missing.push((addr, owner));
            }
        }
        self.note_change();
    }

    /// If the program is recorded, or a replay is shown: shows a copy instead, until the thread runs as the
    /// program. Functions are called and memory is changed in the copy, which has this thread alone: a copy for
    /// another thread is ended.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub(crate) fn begin_trial(&mut self, thread: ThreadId) -> Result<(), String> {
        let is_begun = self.trial_thread() == Some(thread);
        if !self.os.is_recording() || is_begun {
            return Ok(());
        }
        self.end_trial();
        self.write_registers(thread);
        // What a jump leads to would have to be the same in both.
        self.end_all_jumps();
        self.os.begin_trial(thread)?;
        self.trial = Some(Trial {
            thread,
            sites: self.sites.clone(),
            pads: self.pads.clone(),
        });
        self.show_other(thread);
        Ok(())
    }

    /// Shows again what was shown before [`Inferior::begin_trial`]. It gets the sites that were added
    /// meanwhile, and loses those that were removed.
    pub(crate) fn end_trial(&mut self) {
        let Some(Trial {
            thread,
            sites,
            pads,
        }) = self.trial.take()
        else {
            return;
        };
        for owner in [Owner::Call, Owner::ConditionCall, Owner::Suspended] {
            self.sites.remove_owner(owner, &*self.os);
        }
        self.os.end_trial();
        self.pads = pads;
        let wanted = std::mem::replace(&mut self.sites, sites);
        self.take_over_sites(&wanted, |_| true);
        self.show_other(thread);
    }

    /// Returns whether a copy is shown that is not the program.
    pub(crate) fn is_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Returns the thread that the copy which is shown was made for, if one is.
    pub(crate) fn trial_thread(&self) -> Option<ThreadId> {
        Some(self.trial.as_ref()?.thread)
    }

    /// The thread is that of another process now, at the same place.
    fn show_other(&mut self, thread: ThreadId) {
        self.note_change();
        if let Some(state) = self.thread_mut(thread) {
            state.registers = RegisterCache::Unread;
            state.debug.generation = 0;
        }
    }

    /// Shows what was put aside again: the program itself, or the replay that was shown before. It gets the
    /// lasting sites of what was shown.
    pub(crate) fn restore_aside(&mut self, aside: Aside, is_head: bool) {
        match is_head {
            true => self.os.show_head(),
            false => self.os.restore_aside(),
        }
        let shown = std::mem::replace(&mut self.sites, aside.sites);
        self.trial = None;
        self.process = aside.process;
        self.pads = aside.pads;
        self.jumps = aside.jumps;
        self.copied.shown = aside.copied;
        self.missing.clear();
        self.ready.clear();
        self.take_over_sites(&shown, |owner| owner.is_lasting());
        self.note_change();
        self.stops_may_be_ready = true;
    }
}
