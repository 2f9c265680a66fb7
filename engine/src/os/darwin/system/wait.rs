//! Waiting for a message or a descriptor, in one place.

use super::super::host::queue::{Queue, event};
use super::super::mach::{Awaited, Descriptors, Port};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A kernel queue that is readable when a port has a message.
pub struct Wait {
    queue: Queue,
    /// The port in it.
    port: Cell<Port>,
}

impl Wait {
    /// # Errors
    /// The system has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            queue: Queue::new()?,
            port: Cell::new(Port::NULL),
        })
    }

    /// Puts the port into the queue, in place of the one before.
    fn watch(&self, port: Port) -> io::Result<()> {
        let before = self.port.replace(Port::NULL);
        if before != Port::NULL {
            // A port that is gone has left the queue.
            let _ = self.change(before, libc::EV_DELETE);
        }
        if port != Port::NULL {
            self.change(port, libc::EV_ADD)?;
        }
        self.port.set(port);
        Ok(())
    }

    fn change(&self, port: Port, flags: u16) -> io::Result<()> {
        let (ident, filter) = (u64::from(port.0), libc::EVFILT_MACHPORT);
        self.queue.change(event(ident, filter, flags))
    }

    /// Sleeps until the port has a message, a descriptor is readable or at its end, or the time is
    /// over.
    ///
    /// `poll` waits, on the queue as well as on the descriptors: EVFILT_READ does not report the end
    /// of a regular file, which a client's stdin may be.
    ///
    /// # Errors
    /// The port is none, or the system refuses.
    pub fn wait(
        &self,
        port: Port,
        descriptors: Descriptors,
        timeout: Option<Duration>,
    ) -> io::Result<Awaited> {
        if self.port.get() != port {
            self.watch(port)?;
        }
        let slot = |descriptor| libc::pollfd {
            fd: descriptor,
            events: libc::POLLIN,
            revents: 0,
        };
        let [a, b, c, d] = descriptors.map(|descriptor| slot(descriptor.unwrap_or(-1)));
        let mut polled = [slot(self.queue.as_fd().as_raw_fd()), a, b, c, d];
        // A remainder of a millisecond is waited for, too.
        let timeout = timeout.map_or(-1, |timeout| {
            let up = timeout.as_nanos().div_ceil(1_000_000);
            i32::try_from(up).unwrap_or(i32::MAX)
        });
        // SAFETY: the array is live and has that many elements.
        let count = unsafe {
            let len = polled.len() as libc::nfds_t;
            libc::poll(polled.as_mut_ptr(), len, timeout)
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(Awaited::default()),
                _ => Err(error),
            };
        }
        let [message, readable @ ..] = polled.map(|slot| slot.revents != 0);
        Ok(Awaited { message, readable })
    }
}
