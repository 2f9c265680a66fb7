//! The begin and the end of threads.

use super::super::log::{Effect, Entry, read_outputs};
use super::super::recorder::Recorder;
use super::super::registers::Registers;
use super::super::tracee::{Stop, Tracee, gone};
use super::thread::Thread;
use crate::os::linux::procfs;
use crate::os::linux::stop_wait::StopWait;
use crate::os::{Patience, ThreadEvent};
use std::io;

/// The most mutexes that are looked at in the list of a thread, as in the kernel (ROBUST_LIST_LIMIT).
const MOST_MUTEXES: usize = 2048;
/// FUTEX_OWNER_DIED and FUTEX_WAITERS
const OWNER_DIED: u32 = 0x4000_0000;
const ANY: u32 = u32::MAX;

impl Recorder {
    /// The running thread has created one, which stops before its first instruction.
    pub(in super::super) fn thread_is_born(&mut self, pid: i32) -> io::Result<()> {
        if !self.family.takes_early(pid) {
            let new = self.running.tracee.sibling(pid);
            loop {
                match new.wait() {
                    Stop::Interrupted => break,
                    Stop::Late => return Err(gone()),
                    _ => {}
                }
                if !procfs::threads(self.pid).contains(&pid) {
                    return Err(io::Error::other("a thread has ended before it began"));
                }
                new.resume(0);
            }
        }
        if !self.has_threads() {
            self.buffer.expect_threads(&self.running.tracee)?;
        }
        self.note_name_of(pid);
        let mut thread = Box::new(Thread::new(self.running.tracee.sibling(pid)));
        let call = self.running.call.as_ref();
        let [flags, _, _, cleared, ..] = call.map_or([0; 6], |call| call.before.arguments());
        if flags & libc::CLONE_CHILD_CLEARTID as u64 != 0 {
            thread.cleared = cleared;
        }
        self.others.insert(pid, thread);
        self.turns.scheduler.add(pid);
        Ok(())
    }

    /// Remembers what the kernel does to memory when the thread exits, and its name.
    pub(in super::super) fn note_of_thread(&mut self, registers: &Registers) {
        let [first, second, ..] = registers.arguments();
        match registers.number() {
            libc::SYS_prctl if first == libc::PR_SET_NAME as u64 => self.note_new_name(second),
            libc::SYS_set_tid_address => self.running.cleared = first,
            libc::SYS_set_robust_list => self.running.robust = first,
            _ => {}
        }
    }

    /// Lets the running thread exit while there are others.
    pub(in super::super) fn exit_thread(&mut self, registers: Registers) -> io::Result<()> {
        self.note_name_of(self.running.tracee.pid);
        let mutexes = robust_mutexes(&self.running.tracee, self.running.robust);
        let cleared = self.running.cleared;
        let pid = self.running.tracee.pid;
        let before = words(&self.running.tracee, &mutexes);
        self.running.tracee.resume(0);
        match pid == self.pid {
            // The end of the first thread is reported after that of all others.
            true => {
                let mut wait = StopWait::begin(Patience::UntilStopped);
                while !procfs::is_zombie(pid) && procfs::status(pid, "State").is_some() {
                    if !wait.rest() {
                        return Err(gone());
                    }
                }
            }
            false => loop {
                match self.running.tracee.wait() {
                    stop if stop.is_end() => break,
                    _ => self.running.tracee.resume(0),
                }
            },
        }
        // Its memory is that of the others.
        let after = words(&self.running.tracee, &mutexes);
        let mut written: Vec<(u64, usize)> = mutexes.iter().map(|addr| (*addr, 4)).collect();
        if cleared != 0 {
            written.push((cleared, 4));
        }
        let outputs = read_outputs(&self.running.tracee, written);
        let entry = Entry::of(&registers);
        self.log.push(entry, Effect::ThreadExit { outputs });
        for (nth, addr) in mutexes.iter().enumerate() {
            let is_left = |words: &[u32]| words.get(nth).is_some_and(|it| it & OWNER_DIED != 0);
            if is_left(&after) && !is_left(&before) {
                let woken = self.turns.futexes.wake(*addr, 1, ANY);
                self.wake(woken);
            }
        }
        if cleared != 0 {
            let woken = self.turns.futexes.wake(cleared, 1, ANY);
            self.wake(woken);
        }
        if pid != self.pid {
            self.report_of(pid, ThreadEvent::Exited(0));
        }
        self.replace_ended()
    }
}

fn words(tracee: &Tracee, addrs: &[u64]) -> Vec<u32> {
    let read = |addr: &u64| {
        let mut bytes = [0; 4];
        tracee.read_into(*addr, &mut bytes);
        u32::from_le_bytes(bytes)
    };
    addrs.iter().map(read).collect()
}

/// Returns the words of the mutexes in a list of `struct robust_list_head`.
fn robust_mutexes(tracee: &Tracee, head: u64) -> Vec<u64> {
    let mut all = Vec::new();
    if head == 0 {
        return all;
    }
    let word = |at: u64| tracee.word(at).unwrap_or(head);
    let offset = word(head.wrapping_add(8));
    let pending = word(head.wrapping_add(16)) & !1;
    let mut entry = word(head) & !1;
    while entry != head && all.len() < MOST_MUTEXES {
        all.push(entry.wrapping_add(offset));
        entry = word(entry) & !1;
    }
    if pending != 0 && pending != head {
        all.push(pending.wrapping_add(offset));
    }
    all.retain(|addr| tracee.read(*addr, 4).len() == 4);
    all
}
