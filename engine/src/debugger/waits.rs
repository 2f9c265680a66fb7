//! What a stopped thread waits for: a mutex and its owner, the end of a thread, input, time.

use super::Debugger;
use crate::ids::ThreadId;
use crate::os::{BlockingCall, FutexWait};
use dwarf::{LoadAddr, Memory};

/// A mutex that a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MutexWait {
    /// The mutex.
    pub mutex: LoadAddr,
    /// The thread that holds it.
    pub owner: ThreadId,
}

/// What a thread waits for in the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// A mutex whose owner is known.
    Mutex(MutexWait),
    /// The end of another thread of the process (`pthread_join`).
    EndOf(ThreadId),
    /// A change of this word by another thread: a condition variable, or a lock that does not store
    /// its owner.
    Word(LoadAddr),
    /// A file: its path, or what it is (`a pipe`).
    File(String),
    /// One of several files to become ready (`poll`, `epoll_wait`, `select`).
    Readiness,
    /// An amount of time.
    Time,
    /// A child process.
    Child,
    /// A signal.
    Signal,
}

/// Mask of the thread's id in the word of a robust or priority-inheriting mutex (`FUTEX_TID_MASK`).
const OWNER: u32 = 0x3fff_ffff;
/// The bit of such a word that is set while threads wait (`FUTEX_WAITERS`).
const WAITERS: u32 = 0x8000_0000;
/// The word of a plain mutex while threads wait for it.
const CONTENDED: u32 = 2;
/// Bits of `__kind` that glibc and musl use.
const KINDS: u32 = 0x3ff;

impl Debugger {
    /// Returns what a stopped thread waits for; `None` if it does not wait, or for something else.
    pub fn waiting(&mut self, thread: ThreadId) -> Option<Waiting> {
        self.stopped_thread(thread).ok()?;
        let registers = self.inferior.registers(thread)?;
        if let Some(wait) = registers.futex_wait() {
            return Some(match self.mutex_wait(thread) {
                Some(mutex) => Waiting::Mutex(mutex),
                None => match self.thread_waited_for(thread, wait) {
                    Some(other) => Waiting::EndOf(other),
                    None => Waiting::Word(wait.word),
                },
            });
        }
        Some(match registers.blocking_call()? {
            BlockingCall::File(descriptor) => {
                let process = self.inferior.process.as_ref()?;
                let target = self.inferior.os().open_file(process.pid, descriptor);
                Waiting::File(file_name(descriptor, target))
            }
            BlockingCall::Readiness => Waiting::Readiness,
            BlockingCall::Time => Waiting::Time,
            BlockingCall::Child => Waiting::Child,
            BlockingCall::Signal => Waiting::Signal,
        })
    }

    /// Returns the thread whose end a thread waits for: the kernel clears the word with a thread's id
    /// when that ends (`CLONE_CHILD_CLEARTID`), and `pthread_join` waits for that.
    fn thread_waited_for(&self, thread: ThreadId, wait: FutexWait) -> Option<ThreadId> {
        let other = ThreadId(i32::try_from(wait.expected?).ok()?);
        let process = self.inferior.process.as_ref()?;
        let mut word = [0; 4];
        self.inferior.memory().read(wait.word, &mut word).ok()?;
        let is_id = i32::from_le_bytes(word) == other.0;
        (is_id && other != thread && process.threads.contains_key(&other)).then_some(other)
    }

    /// Returns the mutex that a stopped thread waits for, and its owner. Works for
    /// `pthread_mutex_t` (also under C++'s `std::mutex`), which stores the owner's id; `None` for
    /// locks that do not, such as Rust's.
    pub fn mutex_wait(&mut self, thread: ThreadId) -> Option<MutexWait> {
        self.stopped_thread(thread).ok()?;
        let wait = self.inferior.registers(thread)?.futex_wait()?;
        let is_thread = |process: &crate::inferior::Process, id| process.threads.contains_key(&id);
        let mut words = [0; 20];
        let read = self.in_process(|scope| {
            use crate::inspect::value::Target;
            Ok(scope.memory().read(wait.word, &mut words).is_ok())
        });
        if !read.unwrap_or(false) {
            return None;
        }
        let owner = owner_of(wait, &words)?;
        let owner = ThreadId(i32::try_from(owner).ok()?);
        let process = self.inferior.process.as_ref()?;
        (owner != thread && is_thread(process, owner)).then_some(MutexWait {
            mutex: wait.word,
            owner,
        })
    }
}

/// Describes an open file by what `/proc` links it to, without numbers that differ in each run.
fn file_name(descriptor: i32, target: Option<String>) -> String {
    match target.as_deref() {
        Some(target) if target.starts_with("pipe:") => format!("a pipe (descriptor {descriptor})"),
        Some(target) if target.starts_with("socket:") => {
            format!("a socket (descriptor {descriptor})")
        }
        Some(target) if target.starts_with('/') => target.to_owned(),
        _ => format!("descriptor {descriptor}"),
    }
}

/// Returns the owner's id from the mutex whose first word is waited for (glibc's `__lock`,
/// `__count`, `__owner`, `__nusers`, `__kind`).
fn owner_of(wait: FutexWait, bytes: &[u8; 20]) -> Option<u32> {
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let lock = word(0)?;
    let owner = match wait.expected {
        None => lock & OWNER,
        Some(expected) if expected != lock => return None,
        Some(CONTENDED) => {
            let is_mutex = word(16)? & !KINDS == 0 && word(12)? > 0;
            is_mutex.then(|| word(8)).flatten()?
        }
        Some(expected) if expected & WAITERS != 0 => expected & OWNER,
        Some(_) => return None,
    };
    (owner != 0).then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_of_mutexes() {
        let owner = |expected, words: [u32; 5]| {
            let mut bytes = [0; 20];
            for (slot, word) in bytes.chunks_exact_mut(4).zip(words) {
                slot.copy_from_slice(&word.to_le_bytes());
            }
            let word = LoadAddr(0x1000);
            owner_of(FutexWait { word, expected }, &bytes)
        };
        // Plain, recursive; already unlocked; a condition variable's word; with inheritance.
        assert_eq!(owner(Some(2), [2, 0, 77, 1, 0]), Some(77));
        assert_eq!(owner(Some(2), [2, 3, 77, 1, 1]), Some(77));
        assert_eq!(owner(Some(2), [0, 0, 0, 0, 0]), None);
        assert_eq!(owner(Some(2), [2, 0, 77, 1, 0x5555_0000]), None);
        assert_eq!(owner(Some(0), [0, 0, 77, 1, 0]), None);
        assert_eq!(owner(None, [WAITERS | 78, 0, 0, 0, 0]), Some(78));
        assert_eq!(
            owner(Some(WAITERS | 79), [WAITERS | 79, 0, 0, 0, 0]),
            Some(79)
        );
    }
}
