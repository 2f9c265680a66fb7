//! The threads of the task under control, and of its children that have stopped: their ports, their
//! numbers for the engine, and how each is kept from running.

use super::exception::Meaning;
use super::mach::Port;
use super::message::Exception;
use crate::arch::watch::{MAX_SLOTS, Slot};
use crate::ids::{Signal, ThreadId};
use crate::os::TrapCause;
use dwarf::LoadAddr;
use std::collections::BTreeMap;

/// A thread.
pub struct Thread {
    pub port: Port,
    /// Its process.
    pub pid: i32,
    /// Whether this backend has suspended it.
    pub is_suspended: bool,
    /// The exception that it waits in, and what that means.
    pub exception: Option<(Exception, Meaning)>,
    /// Whether its next resume stops it again at once.
    pub is_interrupted: bool,
    /// Whether its exception has arrived after it was reported as interrupted: it is reported at the
    /// next resume.
    pub is_late: bool,
    /// Whether it has ended. Only the first thread is kept then, for the process.
    pub is_gone: bool,
    /// Why it has trapped, if it has.
    pub trap: Option<TrapCause>,
    /// Which of its slots its last trap came from, one bit each.
    pub hits: u8,
    /// Whether it is set to execute a single instruction.
    pub is_stepping: bool,
    /// Its pc at its last resume, if that matters to its next exception.
    pub resumed_at: Option<LoadAddr>,
    /// Whether its last exception was not handled: a signal that stands for it arrives next, and is
    /// passed on.
    pub passes: bool,
    /// What it traps at.
    pub slots: [Option<Slot>; MAX_SLOTS],
    /// The signal to detach with.
    pub detaches: Option<Signal>,
}

impl Thread {
    fn new(port: Port, pid: i32) -> Self {
        Self {
            port,
            pid,
            is_suspended: false,
            exception: None,
            is_interrupted: false,
            is_late: false,
            is_gone: false,
            trap: None,
            hits: 0,
            is_stepping: false,
            resumed_at: None,
            passes: false,
            slots: [None; MAX_SLOTS],
            detaches: None,
        }
    }

    /// Returns whether it may execute the program now.
    pub fn runs(&self) -> bool {
        !self.is_stopped() && !self.is_gone
    }

    /// Returns whether it executes nothing until it is resumed.
    pub fn is_stopped(&self) -> bool {
        self.is_suspended || self.exception.is_some()
    }
}

/// All threads that are known. The engine numbers threads by 32 bits: the first thread of a process
/// has the process's number, the others have the system's own where that fits and is free.
#[derive(Default)]
pub struct Threads {
    by_id: BTreeMap<ThreadId, Thread>,
    by_port: BTreeMap<Port, ThreadId>,
}

impl Threads {
    pub fn get(&self, id: ThreadId) -> Option<&Thread> {
        self.by_id.get(&id)
    }

    pub fn get_mut(&mut self, id: ThreadId) -> Option<&mut Thread> {
        self.by_id.get_mut(&id)
    }

    /// Returns the number of the thread that a port stands for.
    pub fn id_of(&self, port: Port) -> Option<ThreadId> {
        self.by_port.get(&port).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        self.by_id.iter().map(|(id, thread)| (*id, thread))
    }

    /// Returns the threads of a process.
    pub fn of(&self, pid: i32) -> Vec<ThreadId> {
        let of_process = self.iter().filter(|(_, thread)| thread.pid == pid);
        of_process.map(|(id, _)| id).collect()
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Adds a thread with the number that the system has for it.
    pub fn add(&mut self, port: Port, pid: i32, unique: u64) -> ThreadId {
        let is_free = |id: &ThreadId| !self.by_id.contains_key(id);
        let first = ThreadId(pid);
        let id = match i32::try_from(unique).map(ThreadId) {
            _ if is_free(&first) && self.of(pid).is_empty() => first,
            Ok(id) if id.0 > 0 && id != first && is_free(&id) => id,
            // From the end of the range, where no pids are.
            _ => (1..i32::MAX)
                .rev()
                .map(ThreadId)
                .find(is_free)
                .unwrap_or(first),
        };
        self.by_id.insert(id, Thread::new(port, pid));
        self.by_port.insert(port, id);
        id
    }

    /// Removes a thread that has ended.
    pub fn remove(&mut self, id: ThreadId) -> Option<Thread> {
        let thread = self.by_id.remove(&id)?;
        self.by_port.remove(&thread.port);
        Some(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads() {
        let mut threads = Threads::default();
        assert_eq!(threads.add(Port(1), 100, 7_000), ThreadId(100));
        assert_eq!(threads.add(Port(2), 100, 7_001), ThreadId(7_001));
        // The number of the process, one that is taken, and one that is too large.
        let others = [(3, 100), (4, 7_001), (5, u64::MAX), (6, 0)];
        for (nth, (port, unique)) in others.into_iter().enumerate() {
            let id = threads.add(Port(port), 100, unique);
            assert_eq!(id, ThreadId(i32::MAX - 1 - nth as i32), "{unique}");
        }
        assert_eq!(threads.id_of(Port(2)), Some(ThreadId(7_001)));
        assert!(threads.remove(ThreadId(7_001)).is_some());
        assert_eq!(threads.id_of(Port(2)), None);
        assert_eq!(threads.len(), 5);
    }
}
