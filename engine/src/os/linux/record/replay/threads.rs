//! The threads of a replay: one of them runs, which the log says.

use super::super::log::{Effect, Log, Written};
use super::super::registers::Registers;
use super::super::signals;
use super::super::threads::copied::Copied;
use super::super::threads::place::Place;
use super::super::threads::search::{self, Search, SearchMemory};
use super::super::tracee::{Stop, Tracee, gone};
use super::Replay;
use crate::ids::ThreadId;
use crate::os::linux::ptrace;
use crate::os::recording::{Difference, Divergence};
use dwarf::LoadAddr;
use std::io;
use std::rc::Rc;

/// A thread of a replay.
pub struct ReplayThread {
    /// Its id in the program.
    pub id: i32,
    pub tracee: Tracee,
    /// The registers at the start of the call that it waits in, whose effect is its next event.
    pub(super) waits: Option<Registers>,
    /// Whether the kernel still has to skip its system call.
    pub(super) is_answered: bool,
    /// Whether the debugger has resumed it for one instruction.
    pub(super) is_stepping: bool,
    /// Whether it stops for the debugger when it is its turn.
    pub(super) awaits_turn: bool,
}

impl Replay {
    /// Begins to search the place of the next event, or goes on after a stop for something else.
    pub(super) fn begin_search(&mut self, place: &Place) -> io::Result<search::Arrival> {
        let suspended = self
            .suspended
            .take()
            .filter(|(event, _)| *event == self.next);
        if let Some((_, search)) = suspended
            && let Some(arrival) = search.begin_again(&self.running.tracee, place)?
        {
            return Ok(arrival);
        }
        self.unmap_search()?;
        Search::begin(&self.running.tracee, place)
    }

    /// Unmaps the memory of a search that has not come to its place: the program may map its own there behind that.
    pub(super) fn unmap_search(&mut self) -> io::Result<()> {
        self.suspended = None;
        let memory = self.search_memory.take();
        memory.map_or(Ok(()), |memory| memory.unmap(&self.running.tracee))
    }

    /// Keeps a search that is planted.
    pub(super) fn keep_search(&mut self, search: Box<Search>) {
        self.search_memory = search.memory();
        self.search = Some(search);
    }

    /// Returns the memory of the recorder's that a search has mapped, and that may be there still.
    pub fn search_memory(&self) -> Option<(LoadAddr, u64)> {
        self.search_memory.map(SearchMemory::range)
    }

    pub(super) fn thread_mut(&mut self, id: i32) -> Option<&mut ReplayThread> {
        match self.running.id == id {
            true => Some(&mut self.running),
            false => self.others.get_mut(&id),
        }
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

    /// Returns whether a stopped thread executes its next instruction before another thread runs.
    pub fn is_turn_of(&self, log: &Log, id: i32) -> bool {
        if self.is_trial || self.running.id != id {
            return self.is_trial;
        }
        log.thread_of(self.next) == id && !self.is_at_change(log)
    }

    /// Returns whether the running thread is at the place of the next event, where another one begins to run.
    pub(super) fn is_at_change(&self, log: &Log) -> bool {
        let event = log
            .events
            .get(self.next)
            .filter(|event| event.thread == self.running.id);
        let effect = event.map(|event| &event.effect);
        matches!(effect, Some(Effect::Preempt(place)) if search::is_at(&self.running.tracee, place))
    }

    /// Makes the thread of the next event the running one.
    pub(super) fn select(&mut self, log: &Log) -> Result<(), Divergence> {
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

    /// Returns the threads, the running one first.
    pub fn threads_now(&self) -> io::Result<Vec<Copied>> {
        let mut all = vec![Copied {
            thread: self.running.id,
            waits: self.running.waits,
            state: None,
            mask: 0,
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
                mask: ptrace::blocked_signals(thread.tracee.thread())?,
            });
        }
        Ok(all)
    }

    /// Lets the running thread create one, which has this id in the program.
    pub(super) fn create_thread(&mut self, id: i32, outputs: &[Written]) -> io::Result<()> {
        if self.thread(id).is_some() {
            return Err(io::Error::other(format!("thread {id} is there already")));
        }
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
            awaits_turn: false,
        };
        self.others.insert(id, thread);
        Ok(())
    }

    /// Ends the running thread, and makes that of the next event the running one.
    pub(super) fn end_thread(&mut self, log: &Log, outputs: &[Written]) -> io::Result<()> {
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
}

impl ReplayThread {
    pub(super) fn sp(&self) -> Option<u64> {
        match &self.waits {
            Some(registers) => Some(registers.sp()),
            None => Some(self.tracee.registers().ok()?.sp()),
        }
    }
}
