//! What the code for all systems (`os/unix/`) needs of this one: this process, and the helpers that
//! it forks.

use super::super::super::unix::waker::nonblocking_pipe;
use super::super::super::unix::{ending, front};
pub use super::super::system::replace as exec;
use super::queue::Queue;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::thread;

/// Closes all descriptors but these, so that a helper process does not keep our pipes and sockets
/// open; negative ones are ignored.
///
/// # Safety
/// Must be called only in a forked child that uses no other descriptor afterwards.
pub unsafe fn close_all_but<const COUNT: usize>(kept: [RawFd; COUNT]) {
    /// How many descriptors are listed at once: the list is on the stack, as the child of a process
    /// with threads must not allocate.
    const LISTED: usize = 256;
    let none = libc::proc_fdinfo {
        proc_fd: -1,
        proc_fdtype: 0,
    };
    let mut open = [none; LISTED];
    loop {
        let mut is_closed = false;
        // SAFETY: the list is live and has that size; the caller uses none of these descriptors any
        // more.
        unsafe {
            let bytes = libc::proc_pidinfo(
                libc::getpid(),
                libc::PROC_PIDLISTFDS,
                0,
                open.as_mut_ptr().cast(),
                size_of_val(&open) as i32,
            );
            let count = usize::try_from(bytes).unwrap_or(0) / size_of_val(&none);
            for descriptor in open.iter().take(count).map(|entry| entry.proc_fd) {
                if !kept.contains(&descriptor) {
                    is_closed |= libc::close(descriptor) == 0;
                }
            }
            // A list that is not full is the whole one.
            if count < LISTED || !is_closed {
                return;
            }
        }
    }
}

/// Gives this process another name. Without effect here: it is that of the file.
pub fn set_process_name(_: &CStr) {}

/// Makes descriptors for wake-ups: one that is read, and one that is written. Neither blocks.
///
/// # Errors
/// The system has no descriptors left.
pub fn event() -> io::Result<(File, Option<File>)> {
    let (read, write) = nonblocking_pipe()?;
    Ok((read, Some(write)))
}

/// The end of the parent is not signalled here, see [`watch_front`].
pub fn end_with_front() {}

/// Starts a thread that makes this process get [`ending::BY_FRONT`] when its front dies.
pub fn watch_front() {
    let Some(front) = front::front() else {
        return;
    };
    let watch = move |queue: Queue| {
        queue.await_exit(front);
        // SAFETY: integers only. The signal is blocked, and its thread waits for it.
        unsafe { libc::kill(libc::getpid(), ending::BY_FRONT) };
    };
    let watcher = thread::Builder::new().name("front".to_owned());
    let started =
        Queue::new().and_then(|queue| watcher.stack_size(64 << 10).spawn(move || watch(queue)));
    if let Err(error) = started {
        tracing::warn!(%error, "the death of the process that the client knows is not noticed");
    }
}

extern "C" fn ignore(_: i32) {}

/// Makes this process get the signals that are ignored by default: the system drops those even
/// where they are blocked and waited for.
pub fn receive_all_signals() {
    let ignored = [
        libc::SIGCHLD,
        libc::SIGURG,
        libc::SIGIO,
        libc::SIGWINCH,
        libc::SIGINFO,
    ];
    for signal in ignored {
        let handler: extern "C" fn(i32) = ignore;
        // SAFETY: the handler does nothing. It does not run, as these signals are blocked.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// No process has to allow that another one controls it: signatures decide.
pub fn allow_tracing() {}

/// The allocator is left as it is.
pub fn keep_freed_memory() {}

/// Lowers the priority of the calling thread.
pub fn lower_thread_priority() {
    // The next lower class, "background", is throttled so much that indexing would stall.
    // SAFETY: plain call. If it fails, the thread keeps its priority.
    unsafe { libc::pthread_set_qos_class_self_np(libc::qos_class_t::QOS_CLASS_UTILITY, 0) };
}
