//! What the code for all systems (`os/unix/`) needs of this one: this process, and the helpers that
//! it forks.

use super::super::unix::ending;
pub use super::launch::exec;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, RawFd};

/// Closes all descriptors but these, so that a helper process does not keep our pipes and sockets
/// open; negative ones are ignored.
///
/// # Safety
/// Must be called only in a forked child that uses no other descriptor afterwards.
pub unsafe fn close_all_but<const COUNT: usize>(mut kept: [RawFd; COUNT]) {
    kept.sort_unstable();
    let mut from = 0;
    for descriptor in kept {
        if let Ok(descriptor) = u32::try_from(descriptor) {
            if descriptor > from {
                // SAFETY: integers only; the caller uses none of these descriptors any more.
                unsafe { libc::syscall(libc::SYS_close_range, from, descriptor - 1, 0) };
            }
            from = from.max(descriptor + 1);
        }
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, from, u32::MAX, 0) };
}

/// Gives this process another name. May be called in a forked child.
pub fn set_process_name(name: &CStr) {
    // SAFETY: the kernel reads a string.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Makes a descriptor for wake-ups, which is read and written, and does not block.
///
/// # Errors
/// The system has no descriptors left.
pub fn event() -> io::Result<(File, Option<File>)> {
    // SAFETY: integers only; the descriptor is new and has no other owner.
    unsafe {
        match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok((File::from_raw_fd(descriptor), None)),
        }
    }
}

/// Makes this process get [`ending::BY_FRONT`] when its parent dies. May be called in a forked
/// child.
pub fn end_with_front() {
    // SAFETY: integers only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, ending::BY_FRONT) };
}

/// The kernel watches, see [`end_with_front`].
pub fn watch_front() {}

/// A signal that is blocked is kept for the one that waits for it, also if it is ignored by default.
pub fn receive_all_signals() {}

/// Lets any process of this user trace this one until it execs (Yama).
pub fn allow_tracing() {
    // SAFETY: integers only. Fails without Yama, where it is not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
}

/// Tunes malloc. The response to a stop consists of small strings that live for a millisecond:
/// glibc must not return their pages to the kernel each time, only memory beyond a large response.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    {
        /// Bytes at the end of the heap that are kept, and the increment by which it grows.
        const KEPT: libc::c_int = 4 << 20;
        const GROWTH: libc::c_int = 256 << 10;
        // SAFETY: mallopt(3) only sets parameters of the allocator; no other thread exists.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
            libc::mallopt(libc::M_TOP_PAD, GROWTH);
        }
    }
}

/// Lowers the priority of the calling thread (setpriority(2) applies to a thread on Linux).
pub fn lower_thread_priority() {
    // nice 10 gets about 1/10 of a CPU under load. nice 19 would get 1/70, and indexing would stall
    // behind a parallel build.
    const INDEXER_NICE: i32 = 10;
    // SAFETY: plain call. If it fails, the thread keeps its priority.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, INDEXER_NICE) };
}
