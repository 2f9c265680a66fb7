//! The processes that a recorded program starts. They are not recorded; but the filter is theirs, too,
//! and without a tracer it would make all their system calls fail.

use super::super::{procfs, ptrace};
use super::buffer;
use super::patches::{self, Originals, Patches};
use super::processor::Processors;
use super::registers::Registers;
use super::signals::is_of_instruction;
use super::tracee::{Stop, Tracee};
use crate::ids::{Signal, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// The changes to undo in a new process, a copy of the recorded one.
#[derive(Clone, Copy)]
pub struct Birth {
    /// The registers before the call that has created it, whose arguments the recorder has altered;
    /// `None`: it has not.
    pub call: Option<Registers>,
    /// Whether it would use the memory of the recorded process.
    pub borrows: bool,
    /// Whether it has the memory of the buffer of a process that is recorded.
    pub shares_buffer: bool,
}

/// Threads that run on, by their ids.
pub struct Family {
    /// Where they may run.
    processors: Processors,
    /// What a debugger has in the code that they are copies of.
    patches: Patches,
    members: BTreeSet<i32>,
    /// Have stopped before the thread that has created them reported it.
    early: BTreeSet<i32>,
    /// Were reported before they have stopped, with the patches that they were copied with: those of the
    /// recorded process may be others until then, as at the end of a step over the call.
    expected: BTreeMap<i32, (Option<Birth>, Originals)>,
    /// Would use the memory of the recorded process.
    borrowers: BTreeSet<i32>,
}

impl Family {
    /// No threads yet; those that come may run on these processors.
    pub fn on(processors: Processors, patches: Patches) -> Family {
        Family {
            processors,
            patches,
            members: BTreeSet::new(),
            early: BTreeSet::new(),
            expected: BTreeMap::new(),
            borrowers: BTreeSet::new(),
        }
    }

    /// Returns the processors that they may run on.
    pub fn processors(&self) -> &Processors {
        &self.processors
    }

    /// Returns whether all have ended.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.expected.is_empty()
    }

    /// Returns whether a thread has stopped before its creation was reported, and forgets that.
    pub fn takes_early(&mut self, pid: i32) -> bool {
        self.early.remove(&pid)
    }

    /// Takes a stopped thread in, and lets it run.
    pub fn adopt(&mut self, pid: i32) {
        self.members.insert(pid);
        self.processors.set_for(pid);
        resume(pid, 0);
    }

    /// Notes that a thread was created; it is stopped, or will be.
    pub fn created(&mut self, pid: i32, birth: Option<Birth>) {
        let patches = self.patches.now();
        match self.early.remove(&pid) {
            true => self.start(pid, birth, &patches),
            false => drop(self.expected.insert(pid, (birth, patches))),
        }
    }

    fn start(&mut self, pid: i32, birth: Option<Birth>, patches: &Originals) {
        if let Some(birth) = birth {
            self.undo(pid, birth, patches);
        }
        self.adopt(pid);
    }

    fn undo(&mut self, pid: i32, birth: Birth, patches: &Originals) {
        if let Ok(child) = Tracee::new(pid) {
            patches::remove(patches, &child);
            if birth.shares_buffer
                && let Err(error) = buffer::free(&child)
            {
                tracing::debug!(%error, pid, "a process that has just been created has ended");
            }
        }
        if let Some(call) = birth.call
            && let Some(mut registers) = Registers::read(ThreadId(pid))
        {
            registers.take_arguments(&call);
            registers.write(ThreadId(pid));
        }
        if birth.borrows {
            self.borrowers.insert(pid);
        }
    }

    /// Returns whether a process that has stopped at a system call would use the memory of the recorded
    /// one, and is about to exit.
    pub fn gives_back(&self, pid: i32) -> bool {
        self.borrowers.contains(&pid)
            && Registers::read(ThreadId(pid)).is_some_and(|registers| {
                [libc::SYS_exit, libc::SYS_exit_group].contains(&registers.number())
            })
    }

    /// Lets a thread run on after a stop.
    pub fn on_stop(&mut self, pid: i32, stop: Stop) {
        if stop.is_end() {
            self.members.remove(&pid);
            self.early.remove(&pid);
            self.expected.remove(&pid);
            self.borrowers.remove(&pid);
            return;
        }
        if let Some((birth, patches)) = self.expected.remove(&pid) {
            return self.start(pid, birth, &patches);
        }
        if !self.members.contains(&pid) {
            self.early.insert(pid);
            return;
        }
        match stop {
            Stop::Created(child) | Stop::CreatedThread(child) => {
                self.created(child, None);
                resume(pid, 0);
            }
            Stop::Signal(signal) if is_fatal_for_init(pid, signal) => {
                // The kernel keeps the first process of a namespace from such a signal as long as it is traced.
                // Its instruction raises it again.
                let _ = ptrace::detach(ThreadId(pid), Signal(0));
                self.members.remove(&pid);
            }
            Stop::Signal(signal) => {
                let read = signal == libc::SIGSEGV && complete_time_stamp(pid);
                resume(pid, if read { 0 } else { signal });
            }
            Stop::Execed => {
                // The thread has the id of its process now, whose end is reported once.
                self.members.remove(&(ptrace::event_message(pid) as i32));
                self.members.insert(pid);
                self.borrowers.remove(&pid);
                resume(pid, 0);
            }
            Stop::Group(_) => {
                if ptrace::listen(ThreadId(pid)).is_err() {
                    resume(pid, 0);
                }
            }
            _ => resume(pid, 0),
        }
    }
}

/// Returns whether a signal of an instruction is to end a process that is the first one of its pid namespace.
fn is_fatal_for_init(pid: i32, signal: i32) -> bool {
    let info = ptrace::signal_info(ThreadId(pid));
    is_of_instruction(signal, info.as_ref())
        && procfs::is_namespace_init(pid)
        && !(signal == libc::SIGSEGV && is_time_stamp(pid))
        && Tracee::new(pid).is_ok_and(|tracee| !tracee.catches(signal))
}

fn is_time_stamp(pid: i32) -> bool {
    let registers = Registers::read(ThreadId(pid));
    let tracee = Tracee::new(pid).ok();
    let found = tracee.zip(registers);
    found.is_some_and(|(tracee, registers)| tracee.time_stamp_instruction(registers.pc()).is_some())
}

fn resume(pid: i32, signal: i32) {
    let _ = ptrace::resume(ThreadId(pid), false, Signal(signal));
}

/// Completes an instruction that reads the time-stamp counter, which faults in all of them.
pub fn complete_time_stamp(pid: i32) -> bool {
    let (Some(registers), Ok(tracee)) = (Registers::read(ThreadId(pid)), Tracee::new(pid)) else {
        return false;
    };
    let Some((len, writes_rcx)) = tracee.time_stamp_instruction(registers.pc()) else {
        return false;
    };
    tracee.complete_time_stamp(registers, crate::os::ticks(), len, writes_rcx);
    true
}
