//! [`Waker`]: wakes the session thread from any other.

#[cfg(any(test, target_os = "macos"))]
use super::stdio::set_flags;
use super::{os_error, own};
use crate::ids::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
#[cfg(any(test, target_os = "macos"))]
use std::os::fd::OwnedFd;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

/// Wakes the session thread from its wait. Cheap to clone, usable on any thread.
#[derive(Clone)]
pub struct Waker(Arc<Ends>);

/// What is written to wake, and read to sleep again: one descriptor, or two. Neither blocks.
struct Ends {
    read: File,
    /// `None`: the same.
    write: Option<File>,
}

impl Waker {
    /// A waker that has not been used.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub(in super::super) fn new() -> Result<Self, Error> {
        let event = own::event().map_err(|error| os_error("waker", &error));
        let (read, write) = event?;
        Ok(Self(Arc::new(Ends { read, write })))
    }

    /// Returns a descriptor that can be read once the waker was used.
    pub(in super::super) fn descriptor(&self) -> RawFd {
        self.0.read.as_raw_fd()
    }

    /// Makes the current or next wait return.
    pub fn wake(&self) {
        let mut end = self.0.write.as_ref().unwrap_or(&self.0.read);
        // The write fails only if very many wake-ups are unread; one is enough.
        let _ = end.write(&1_u64.to_ne_bytes());
    }

    /// Returns whether the waker was used since the last call.
    pub(in super::super) fn take(&self) -> bool {
        let mut is_woken = false;
        let mut bytes = [0; 64];
        loop {
            match (&self.0.read).read(&mut bytes) {
                Ok(count) => {
                    is_woken |= count > 0;
                    if count < bytes.len() {
                        return is_woken;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return is_woken,
            }
        }
    }
}

/// Makes a pipe whose ends do not block.
///
/// # Errors
/// The system has no descriptors left.
#[cfg(any(test, target_os = "macos"))]
pub fn nonblocking_pipe() -> io::Result<(File, File)> {
    let (read, write) = io::pipe()?;
    let ends = [OwnedFd::from(read), OwnedFd::from(write)].map(File::from);
    for end in &ends {
        set_flags(end.as_raw_fd(), |flags| flags | libc::O_NONBLOCK)?;
    }
    let [read, write] = ends;
    Ok((read, write))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;

    fn is_readable(waker: &Waker) -> bool {
        let read = waker.0.read.as_fd();
        let mut polled = [PollFd::new(read, PollFlags::POLLIN)];
        poll(&mut polled, PollTimeout::ZERO).unwrap() > 0
    }

    fn check(waker: &Waker) {
        assert!(!is_readable(waker));
        assert!(!waker.take());
        let other = waker.clone();
        std::thread::spawn(move || (0..100).for_each(|_| other.wake()))
            .join()
            .unwrap();
        assert!(is_readable(waker));
        assert!(waker.take());
        // All wake-ups were forgotten.
        assert!(!is_readable(waker));
        assert!(!waker.take());
    }

    #[test]
    fn wakers_wake_until_they_are_cleared() {
        check(&Waker::new().unwrap());
    }

    #[test]
    fn wakers_of_a_pipe_do_the_same() {
        let (read, write) = nonblocking_pipe().unwrap();
        let write = Some(write);
        let waker = Waker(Arc::new(Ends { read, write }));
        check(&waker);
        // A pipe that is full does not block.
        for _ in 0..20_000 {
            waker.wake();
        }
        assert!(waker.take());
        assert!(!is_readable(&waker));
    }
}
