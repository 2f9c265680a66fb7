//! The death of the debugger must not kill the debuggee. An attached process lives on when we are
//! killed, and would die at the first trap that it runs into. A guardian process, forked at attach,
//! has the debuggee's memory open and a table of the original bytes, and restores them when the
//! tracing thread dies.
//!
//! The guardian detects that death by a robust mutex that the tracing thread holds. The kernel
//! releases a dying thread's futexes (`exit_mm`) before it detaches the tracees (`exit_notify`). A
//! pipe would not do: it closes with the last thread of the process. The thread holds many more
//! such mutexes, whose release takes it about a millisecond: this is the guardian's head start, as
//! an idle processor may take some tenths of a millisecond to wake up.
//!
//! Debug registers outlast a tracer, too, and only another tracer can clear them: the guardian
//! seizes the threads once the kernel has detached them. A thread that accesses watched data within
//! these one or two milliseconds is killed by the SIGTRAP.
//!
//! A thread makes a system call for the debugger in a [refuge](super::refuge), for example when a stop is
//! kept. The guardian seizes it, too, and restores its registers and the signals that it blocked.
//!
//! The guardian cannot help with a trap that the tracer has not yet waited for: 10 to 20 µs of each
//! hit that the debugger evaluates, and most of the time in conditions that call functions. It restores no
//! registers of a thread that maps memory for the debugger, or that executes a call from the console: such a call,
//! if it is suspended at that moment, returns to the entry point without a trap.

use super::super::GuardedPatch;
use super::super::registers::{MAX_WORDS, RegisterSet};
use super::{machine, own, ptrace, refuge, registers};
use crate::arch::MAX_JUMP_BYTES;
use crate::ids::ThreadId;
use dwarf::LoadAddr;
use std::cell::{Cell, UnsafeCell};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Maximum number of guarded sites.
const MAX_SITES: usize = 1 << 13;
/// Maximum number of guarded threads with debug registers.
const MAX_THREADS: usize = 1 << 12;
/// Number of attempts to seize a thread that the dying tracer still holds.
const SEIZE_ATTEMPTS: u32 = 20_000;
/// Time between them.
const SEIZE_INTERVAL_NS: i64 = 50_000;
/// Number of mutexes that a dying thread releases after the first one. The kernel processes 2048 in
/// all (`ROBUST_LIST_LIMIT`).
const DELAY_MUTEXES: usize = 2000;
/// `FUTEX_WAITERS`: marks a futex as having waiters, so that the kernel has to process it.
const WAITERS: u32 = 1 << 31;

/// Indexes in the word with the original bytes: the rank (order of restoration), and the number of
/// bytes.
const RANK: usize = 5;
/// Index of the number of bytes, also in the word with the bytes that are recognised.
const COUNT: usize = 7;

/// A guarded site, as two words: the original bytes with their rank and number (0: a free entry),
/// and the bytes by which our patch is recognised with their number.
#[derive(Clone, Copy)]
struct Entry([u64; 2]);

impl Entry {
    const FREE: Entry = Entry([0; 2]);

    fn new(patch: GuardedPatch<'_>) -> Entry {
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            let count = bytes.len().min(MAX_JUMP_BYTES);
            word[..count].copy_from_slice(&bytes[..count]);
            word[COUNT] = count as u8;
            word
        };
        let mut original = word(patch.original);
        original[RANK] = patch.rank;
        Entry([original, word(patch.patch)].map(u64::from_le_bytes))
    }

    fn is_free(self) -> bool {
        self.0[0] == 0
    }

    fn rank(self) -> u8 {
        self.0[0].to_le_bytes()[RANK]
    }

    /// The program's bytes: the first ones of the array, and their number.
    fn original(self) -> ([u8; 8], usize) {
        let bytes = self.0[0].to_le_bytes();
        (bytes, usize::from(bytes[COUNT]).min(MAX_JUMP_BYTES))
    }

    /// Returns whether the bytes that are there now begin with our patch.
    fn is_patched(self, now: &[u8]) -> bool {
        let bytes = self.0[1].to_le_bytes();
        let count = usize::from(bytes[COUNT]);
        bytes
            .get(..count)
            .is_some_and(|patch| now.starts_with(patch))
    }
}

/// Memory that parent and guardian share.
struct Shared {
    /// Held by the tracing thread while it lives.
    life: UnsafeCell<libc::pthread_mutex_t>,
    /// Held by it, too, to delay its end.
    delays: [UnsafeCell<libc::pthread_mutex_t>; DELAY_MUTEXES],
    /// Nonzero: the guardian exits without restoring.
    dismissed: AtomicU64,
    /// The highest rank of any site.
    highest_rank: AtomicU32,
    /// An address, and the words of its [`Entry`].
    entries: [[AtomicU64; 3]; MAX_SITES],
    /// Threads whose debug registers are set; 0 for a free entry.
    threads: [AtomicI32; MAX_THREADS],
    shelter: Shelter,
}

/// A thread that makes a system call in a refuge, and what it was like before.
struct Shelter {
    /// 0: there is none. Written last.
    thread: AtomicI32,
    /// The address of the refuge.
    refuge: AtomicU64,
    /// The signals that the thread blocked.
    mask: AtomicU64,
    /// Its general-purpose registers, as the kernel orders them.
    registers: [AtomicU64; MAX_WORDS],
}

impl Shared {
    /// Unlocks all mutexes: none may be on the thread's robust list when the memory is unmapped.
    ///
    /// # Safety
    /// Must be called by the thread that holds them.
    unsafe fn unlock(&self) {
        for mutex in std::iter::once(&self.life).chain(&self.delays) {
            // SAFETY: this thread holds the mutex, as the caller guarantees.
            unsafe { libc::pthread_mutex_unlock(mutex.get()) };
        }
    }
}

/// A guardian process, as its parent sees it. Belongs to the tracing thread.
pub struct Guardian {
    pub pid: i32,
    /// The address of the program's refuge, if it has one.
    pub refuge: Cell<Option<LoadAddr>>,
    shared: *mut Shared,
    /// Number of entries that have ever been used: the table is large, and mostly empty.
    used: Cell<usize>,
}

impl Guardian {
    /// Starts a guardian for the process whose memory is open as `memory`.
    pub fn start(memory: &File) -> io::Result<Guardian> {
        let memory = memory.as_raw_fd();
        // SAFETY: the mapping is fresh, zeroed (valid for atomics), large enough, and lives until
        // the guardian is dropped; the mutex is initialised before it is used; the child calls only
        // system calls and pthread_mutex_lock on memory prepared here.
        unsafe {
            let shared: *mut Shared = libc::mmap(
                std::ptr::null_mut(),
                size_of::<Shared>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
            .cast();
            if shared.cast() == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let life = (*shared).life.get();
            let mut attributes = MaybeUninit::uninit();
            libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            libc::pthread_mutexattr_setpshared(
                attributes.as_mut_ptr(),
                libc::PTHREAD_PROCESS_SHARED,
            );
            libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST);
            // The mutex locked last is released first.
            for delay in &(*shared).delays {
                libc::pthread_mutex_init(delay.get(), attributes.as_ptr());
                libc::pthread_mutex_lock(delay.get());
                // The first word of a pthread mutex is its futex.
                (*delay.get().cast::<AtomicU32>()).fetch_or(WAITERS, Ordering::Relaxed);
            }
            libc::pthread_mutex_init(life, attributes.as_ptr());
            libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
            libc::pthread_mutex_lock(life);
            match libc::fork() {
                -1 => {
                    let error = io::Error::last_os_error();
                    (*shared).unlock();
                    libc::munmap(shared.cast(), size_of::<Shared>());
                    Err(error)
                }
                0 => watch(memory, &*shared),
                pid => {
                    hurry(pid);
                    Ok(Guardian {
                        pid,
                        refuge: Cell::new(None),
                        shared,
                        used: Cell::new(0),
                    })
                }
            }
        }
    }

    fn shared(&self) -> &Shared {
        // SAFETY: mapped until self is dropped; all that changes in it is atomic or belongs to a
        // mutex.
        unsafe { &*self.shared }
    }

    /// Returns the entries that have ever been used, and the next one.
    fn entries(&self) -> &[[AtomicU64; 3]] {
        let entries = &self.shared().entries;
        &entries[..(self.used.get() + 1).min(MAX_SITES)]
    }

    /// Guards a patch of at most five bytes at an address that is not in the table.
    pub fn add(&self, addr: LoadAddr, patch: GuardedPatch<'_>) {
        self.shared()
            .highest_rank
            .fetch_max(patch.rank.into(), Ordering::Release);
        let is_free = |entry: &[AtomicU64; 3]| entry[1].load(Ordering::Relaxed) == 0;
        match self.entries().iter().position(is_free) {
            Some(index) => {
                let [place, original, patched] = &self.shared().entries[index];
                let Entry(words) = Entry::new(patch);
                place.store(addr.0, Ordering::Release);
                patched.store(words[1], Ordering::Release);
                original.store(words[0], Ordering::Release);
                self.used.set(self.used.get().max(index + 1));
            }
            None => {
                tracing::warn!(%addr, "too many breakpoints: the guardian cannot restore this one");
            }
        }
    }

    /// Removes a site from the table.
    pub fn remove(&self, addr: LoadAddr) {
        for [place, original, _] in self.entries() {
            if original.load(Ordering::Relaxed) != 0 && place.load(Ordering::Relaxed) == addr.0 {
                original.store(Entry::FREE.0[0], Ordering::Release);
            }
        }
    }

    /// Notes what a thread is like before it makes a system call in the refuge at an address.
    pub fn shelter(&self, thread: ThreadId, refuge: LoadAddr, registers: &RegisterSet, mask: u64) {
        let shelter = &self.shared().shelter;
        for (place, word) in shelter.registers.iter().zip(registers.words()) {
            place.store(*word, Ordering::Relaxed);
        }
        shelter.refuge.store(refuge.0, Ordering::Relaxed);
        shelter.mask.store(mask, Ordering::Relaxed);
        shelter.thread.store(thread.0, Ordering::Release);
    }

    /// Notes that the thread is as before.
    pub fn end_shelter(&self) {
        self.shared().shelter.thread.store(0, Ordering::Release);
    }

    /// Adds a thread whose debug registers are set to the table, or removes it (`false`).
    pub fn guard_thread(&self, tid: i32, armed: bool) {
        let threads = &self.shared().threads;
        let place = |wanted| {
            threads
                .iter()
                .find(|it| it.load(Ordering::Relaxed) == wanted)
        };
        match (place(tid), armed) {
            (None, true) => match place(0) {
                Some(free) => free.store(tid, Ordering::Release),
                None => tracing::warn!(
                    tid,
                    "too many threads: the guardian cannot clear this one's debug registers"
                ),
            },
            (Some(place), false) => place.store(0, Ordering::Release),
            (Some(_), true) | (None, false) => {}
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.shared().dismissed.store(1, Ordering::Release);
        let mut status = 0;
        // SAFETY: this thread holds the mutexes; the mapping is not used afterwards.
        unsafe {
            self.shared().unlock();
            libc::waitpid(self.pid, &raw mut status, libc::__WALL);
            libc::munmap(self.shared.cast(), size_of::<Shared>());
        }
    }
}

/// Gives the guardian real-time priority: it must be quick, and must not wait for its first time
/// slice when we are killed right after attaching. This mostly fails for lack of permission. (A
/// nice value would not do: a session of its own is a scheduling group of its own.)
fn hurry(pid: i32) {
    // SAFETY: zeros are valid; musl's structure has more fields. It lives until the call returns.
    unsafe {
        let mut first: libc::sched_param = std::mem::zeroed();
        first.sched_priority = 1;
        libc::sched_setscheduler(pid, libc::SCHED_FIFO, &raw const first);
    }
}

/// The guardian's main function.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn watch(memory: i32, shared: &Shared) -> ! {
    // SAFETY: system calls and a robust, shared mutex on live memory.
    unsafe {
        libc::setsid();
        own::set_process_name(c"stillpoint-guard");
        own::close_all_but([memory]);
        libc::pthread_mutex_lock(shared.life.get());
        if shared.dismissed.load(Ordering::Acquire) == 0 {
            let highest = shared.highest_rank.load(Ordering::Acquire);
            for rank in (0..=highest).rev() {
                restore(memory, shared, rank as u8);
            }
            bring_back(&shared.shelter);
            clear_debug_registers(shared);
        }
        libc::_exit(0)
    }
}

/// Restores the original bytes of all sites of a rank.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn restore(memory: i32, shared: &Shared, rank: u8) {
    for [place, original, patched] in &shared.entries {
        let words = [original, patched].map(|word| word.load(Ordering::Acquire));
        let entry = Entry(words);
        if entry.is_free() || entry.rank() != rank {
            continue;
        }
        let place = place.load(Ordering::Acquire) as libc::off_t;
        let (original, count) = entry.original();
        let mut now = [0_u8; MAX_JUMP_BYTES];
        // SAFETY: system calls, on live bytes.
        unsafe {
            let read = libc::pread(memory, now.as_mut_ptr().cast(), now.len(), place);
            let now = now.get(..read.max(0) as usize).unwrap_or_default();
            // Otherwise the program has replaced the code.
            if entry.is_patched(now) {
                libc::pwrite(memory, original.as_ptr().cast(), count, place);
            }
        }
    }
}

/// Seizes the threads after the tracer's death, clears their debug registers and detaches them.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn clear_debug_registers(shared: &Shared) {
    let threads = || {
        let tids = shared.threads.iter().map(|it| it.load(Ordering::Acquire));
        tids.filter(|tid| *tid != 0)
    };
    // SAFETY: in the forked child, as the caller guarantees.
    unsafe {
        for tid in threads() {
            interrupt(tid);
        }
        for tid in threads() {
            if let Some(status) = stop_of(tid) {
                machine::clear_watchpoints(tid);
                release(tid, status);
            }
        }
    }
}

/// Restores the thread that makes a system call for the debugger, if there is one. Its registers are the call's as long
/// as it is in the refuge.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn bring_back(shelter: &Shelter) {
    let thread = ThreadId(shelter.thread.load(Ordering::Acquire));
    if thread.0 == 0 {
        return;
    }
    // SAFETY: in the forked child, as the caller guarantees.
    unsafe {
        interrupt(thread.0);
        let Some(status) = stop_of(thread.0) else {
            return;
        };
        let at = LoadAddr(shelter.refuge.load(Ordering::Relaxed));
        if let Some(mut set) = registers::read_general(thread)
            && refuge::holds(at, set.pc())
        {
            for (word, kept) in set.words_mut().iter_mut().zip(&shelter.registers) {
                *word = kept.load(Ordering::Relaxed);
            }
            registers::write(thread, &set);
        }
        let _ = ptrace::set_blocked_signals(thread, shelter.mask.load(Ordering::Relaxed));
        release(thread.0, status);
    }
}

/// Seizes and interrupts a thread as soon as the dying tracer no longer holds it.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn interrupt(tid: i32) {
    let pause = libc::timespec {
        tv_sec: 0,
        tv_nsec: SEIZE_INTERVAL_NS,
    };
    // SAFETY: system calls, on integers and a live pause.
    unsafe {
        for _ in 0..SEIZE_ATTEMPTS {
            if libc::ptrace(libc::PTRACE_SEIZE, tid, 0_usize, 0_usize) == 0 {
                libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0_usize, 0_usize);
                return;
            }
            if *libc::__errno_location() != libc::EPERM {
                return;
            }
            libc::nanosleep(&raw const pause, std::ptr::null_mut());
        }
    }
}

/// Waits for the stop of a seized thread and returns its status; `None` if it was not seized, or has ended.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn stop_of(tid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: the status is live.
    let waited = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
    (waited == tid && libc::WIFSTOPPED(status)).then_some(status)
}

/// Detaches a stopped thread. Our interrupt and the trap of a debug register are not delivered to the program.
///
/// # Safety
/// Must be called in the forked child only.
unsafe fn release(tid: i32, status: i32) {
    let signal = match libc::WSTOPSIG(status) {
        _ if status >> 16 == libc::PTRACE_EVENT_STOP => 0,
        libc::SIGTRAP => 0,
        signal => signal,
    };
    // SAFETY: integers only.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, tid, 0_usize, signal as usize) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_patch_is_compared() {
        let patch = GuardedPatch {
            original: &[1, 2, 3, 4],
            patch: &[0, 0, 0x20, 0xd4],
            rank: 3,
        };
        let entry = Entry::new(patch);
        assert!(!entry.is_free());
        assert_eq!(entry.rank(), 3);
        let (original, count) = entry.original();
        assert_eq!(original[..count], [1, 2, 3, 4]);
        assert!(entry.is_patched(&[0, 0, 0x20, 0xd4, 9]));
        assert!(!entry.is_patched(&[0, 0, 0x20, 0xd5, 9]), "the program's");
        assert!(!entry.is_patched(&[0, 0, 0x20]), "the memory ends");
        assert!(Entry::FREE.is_free());
    }
}
