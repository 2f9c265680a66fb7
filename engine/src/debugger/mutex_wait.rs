//! Threads that wait for each other: the owner of a mutex that a stopped thread waits for.

use super::Debugger;
use crate::ids::ThreadId;
use crate::os::FutexWait;
use dwarf::LoadAddr;

/// A mutex that a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MutexWait {
    /// The mutex.
    pub mutex: LoadAddr,
    /// The thread that holds it.
    pub owner: ThreadId,
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
