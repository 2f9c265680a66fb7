//! Kernel queues (kqueue(2)): their descriptor is readable when one of their events has happened.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A queue. A process that is forked does not have it.
#[derive(Debug)]
pub struct Queue(OwnedFd);

impl Queue {
    /// # Errors
    /// The system has no descriptors left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the descriptor is new and has no other owner.
        unsafe {
            match libc::kqueue() {
                -1 => Err(io::Error::last_os_error()),
                queue => Ok(Self(OwnedFd::from_raw_fd(queue))),
            }
        }
    }

    /// Adds or changes an event.
    pub fn change(&self, event: libc::kevent64_s) -> io::Result<()> {
        // SAFETY: one live event, and none is asked for.
        let result = unsafe {
            let none = std::ptr::null_mut();
            let queue = self.0.as_raw_fd();
            libc::kevent64(queue, &raw const event, 1, none, 0, 0, std::ptr::null())
        };
        match result {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Adds a signal to this process, which may be blocked.
    pub fn watch_signal(&self, signal: i32) -> io::Result<()> {
        let (ident, filter) = (signal as u64, libc::EVFILT_SIGNAL);
        self.change(event(ident, filter, libc::EV_ADD))
    }

    /// Waits until a process has exited; returns at once if there is none, or it may not be watched.
    pub fn await_exit(&self, pid: i32) {
        let exit = libc::kevent64_s {
            fflags: libc::NOTE_EXIT,
            ..event(
                pid as u64,
                libc::EVFILT_PROC,
                libc::EV_ADD | libc::EV_ONESHOT,
            )
        };
        if self.change(exit).is_err() {
            return;
        }
        let mut happened = exit;
        loop {
            // SAFETY: room for one event, and no limit of time.
            let count = unsafe {
                let queue = self.0.as_raw_fd();
                let (out, none) = (&raw mut happened, std::ptr::null());
                libc::kevent64(queue, none, 0, out, 1, 0, std::ptr::null())
            };
            let is_interrupted =
                count == -1 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            if !is_interrupted {
                return;
            }
        }
    }
}

/// An event without flags of its filter.
pub fn event(ident: u64, filter: i16, flags: u16) -> libc::kevent64_s {
    libc::kevent64_s {
        ident,
        filter,
        flags,
        fflags: 0,
        data: 0,
        udata: 0,
        ext: [0; 2],
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Queue> for OwnedFd {
    fn from(queue: Queue) -> OwnedFd {
        queue.0
    }
}
