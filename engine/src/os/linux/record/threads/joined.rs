//! The threads of a program that runs already, where its recording begins: what only the kernel knows of them, and
//! the system calls that they were stopped in.

use super::super::calls::{self, Class, Plan, Waits};
use super::super::recorder::Recorder;
use super::super::registers::{RESTART_BY_KERNEL, Registers};
use super::super::tracee::Tracee;
use super::thread::Thread;
use crate::os::linux::ptrace;
use std::io;

/// `PR_GET_TID_ADDRESS`
const GET_CLEARED: u64 = 40;
const PAGE: u64 = 4096;

/// What the kernel knows of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// Whether it has registered restartable sequences.
    has_sequences: bool,
    /// The address of the word that is cleared when it exits; 0: none.
    cleared: u64,
    /// The address of the head of the list of robust mutexes; 0: none.
    robust: u64,
}

/// Asks the kernel about the threads of a stopped process, of which there is one at least, in their order. They
/// execute system calls for it.
///
/// # Errors
/// The process has ended, has no memory left, or the kernel does not say what it does for several threads.
pub fn ask(threads: &[Tracee]) -> io::Result<Vec<Known>> {
    let Some(first) = threads.first() else {
        return Ok(Vec::new());
    };
    let access = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let map = (libc::SYS_mmap, [0, PAGE, access, flags, u64::MAX, 0]);
    let [page] = first.inject([map])?;
    let page = succeeded(page)? as u64;
    let known = threads.iter().map(|thread| {
        let [cleared, robust] = words(thread, page)?;
        Ok(match (cleared, robust) {
            (None, _) if threads.len() > 1 => {
                return Err(io::Error::other(
                    "the kernel does not say which word it clears when a thread exits (prctl(PR_GET_TID_ADDRESS)); \
                     record from the start",
                ));
            }
            (cleared, robust) => Known {
                has_sequences: ptrace::restartable_sequences(thread.thread()).is_some(),
                cleared: cleared.unwrap_or(0),
                robust: robust.unwrap_or(0),
            },
        })
    });
    let known = known.collect();
    first.inject([(libc::SYS_munmap, [page, PAGE, 0, 0, 0, 0])])?;
    known
}

/// Returns the addresses that a thread has told the kernel; `None`: the kernel does not say.
fn words(thread: &Tracee, page: u64) -> io::Result<[Option<u64>; 2]> {
    let (cleared, robust, len) = (page, page + 8, page + 16);
    let results = thread.inject([
        (libc::SYS_prctl, [GET_CLEARED, cleared, 0, 0, 0, 0]),
        (libc::SYS_get_robust_list, [0, robust, len, 0, 0, 0]),
    ])?;
    let word = |nth: usize| match results[nth] {
        0 => thread.word([cleared, robust][nth]),
        _ => None,
    };
    Ok([word(0), word(1)])
}

fn succeeded(result: i64) -> io::Result<i64> {
    match result {
        code @ -4095..=-1 => Err(io::Error::from_raw_os_error(-code as i32)),
        value => Ok(value),
    }
}

/// Makes threads of a recording of stopped ones, with what the kernel knows of them, in the same order. Those that
/// were stopped in a system call are moved back to its instruction.
///
/// # Errors
/// A thread has ended.
pub fn join(all: Vec<Tracee>, known: &[Known]) -> io::Result<Vec<Thread>> {
    let has_others = all.len() > 1;
    let joined = all.into_iter().zip(known).map(|(tracee, known)| {
        let mut thread = Thread::new(tracee);
        thread.cleared = known.cleared;
        thread.robust = known.robust;
        thread.expects_sequences = !known.has_sequences;
        let registers = thread.tracee.registers()?;
        if registers.is_in_interrupted_call() {
            take_back(&mut thread, registers, has_others);
        }
        Ok(thread)
    });
    joined.collect()
}

/// Moves a thread that was stopped in a system call back to its instruction.
fn take_back(thread: &mut Thread, mut registers: Registers, has_others: bool) {
    let row = calls::row(registers.number());
    let waits = row.map(|row| row.waits);
    let mut number = registers.number();
    if registers.result() == RESTART_BY_KERNEL && goes_on(waits, has_others) {
        // Where it will write, the kernel has kept.
        if let Some(Class::Log(outputs)) = row.map(|row| row.class) {
            let read = |addr: u64, bytes: &mut [u8]| thread.tracee.read_into(addr, bytes);
            thread.interrupted = Plan::of(outputs, &registers.arguments(), &read);
        }
        number = libc::SYS_restart_syscall;
    }
    registers.repeat_call(number);
    registers.write(thread.tracee.thread());
    // A replay has this place before the first event.
    thread.boundary = Some(registers);
}

/// Returns whether the kernel goes on with a call, for the time that is left, and does not make it anew. It writes
/// and wakes at times that no replay knows while other threads run: then only sleeps go on in the kernel.
fn goes_on(waits: Option<Waits>, has_others: bool) -> bool {
    !has_others || matches!(waits, Some(Waits::Sleep(_)))
}

impl Recorder {
    /// Answers rseq(2). A C library whose first thread has registered sequences ends the program if a thread that was
    /// just created cannot: so it can, but the kernel, which knows nothing of them, leaves the processor unknown. The
    /// thread then does not use them.
    pub(in super::super) fn sequences(&mut self, registers: Registers) -> io::Result<()> {
        /// `offsetof(struct rseq, cpu_id)`
        const PROCESSOR: u64 = 4;
        /// `RSEQ_CPU_ID_UNINITIALIZED`
        const UNKNOWN: i32 = -1;
        let [area, _, flags, ..] = registers.arguments();
        let unknown = (
            area.wrapping_add(PROCESSOR),
            Box::from(UNKNOWN.to_le_bytes()),
        );
        let written = vec![unknown];
        let is_begin = flags == 0 && std::mem::take(&mut self.running.expects_sequences);
        match is_begin && self.write_all(&written) {
            true => self.answer(registers, 0, written),
            false => self.answer(registers, -i64::from(libc::ENOSYS), Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sleeps_go_on_beside_other_threads() {
        let waits = |number| calls::row(number).map(|row| row.waits);
        for sleep in [libc::SYS_nanosleep, libc::SYS_clock_nanosleep] {
            assert!(goes_on(waits(sleep), true));
        }
        for call in [libc::SYS_poll, libc::SYS_futex] {
            assert!(!goes_on(waits(call), true));
            assert!(goes_on(waits(call), false));
        }
    }
}
