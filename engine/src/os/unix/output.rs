//! Captured output of the debuggee. We read it; when we detach and the debuggee (or a child of it)
//! lives on, a small process reads and discards it. Without a reader the debuggee would die of
//! SIGPIPE, or block on a full pipe.

use super::own;
use crate::ids::OutputStream;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};

/// Our ends of stdout and stderr, while they have writers.
#[derive(Default)]
pub struct Outputs([Option<File>; 2]);

impl Outputs {
    /// Takes these descriptors, which must be non-blocking.
    pub fn new(files: [Option<File>; 2]) -> Self {
        Self(files)
    }

    /// Returns the descriptors to poll.
    pub fn descriptors(&self) -> [Option<RawFd>; 2] {
        [0, 1].map(|index| self.0[index].as_ref().map(AsRawFd::as_raw_fd))
    }

    /// Returns whether any stream may still have a writer.
    pub fn is_open(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// Reads available output of one stream; never blocks. `None` if there is none.
    pub fn read(&mut self) -> Option<(OutputStream, Vec<u8>)> {
        let mut buffer = [0; 1 << 16];
        let streams = [OutputStream::Stdout, OutputStream::Stderr];
        for (slot, stream) in self.0.iter_mut().zip(streams) {
            let Some(file) = slot else {
                continue;
            };
            match file.read(&mut buffer) {
                Ok(count) if count > 0 => return Some((stream, buffer[..count].to_vec())),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                // End of file; EIO is that of a terminal without writers.
                Ok(_) | Err(_) => *slot = None,
            }
        }
        None
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        // Mostly all writers are gone, which only a read shows.
        const MAX_READERS: usize = 64;
        for _ in 0..MAX_READERS {
            if self.read().is_none() {
                break;
            }
        }
        if !self.is_open() {
            return;
        }
        let [stdout, stderr] = self.descriptors().map(|it| it.unwrap_or(-1));
        // SAFETY: the child makes system calls only, on memory of its own.
        unsafe {
            if libc::fork() == 0 {
                drain(stdout, stderr);
            }
        }
    }
}

/// Discards output until there is no writer.
///
/// # Safety
/// Must be called in a forked child only.
unsafe fn drain(stdout: RawFd, stderr: RawFd) -> ! {
    // SAFETY: system calls on live local memory; the descriptors are this process's own.
    unsafe {
        libc::setsid();
        own::set_process_name(c"stillpoint-sink");
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        own::close_all_but([stdout, stderr]);
        let mut polled = [stdout, stderr].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        let mut buffer = [0_u8; 4096];
        while polled.iter().any(|it| it.fd >= 0) {
            libc::poll(polled.as_mut_ptr(), 2, -1);
            for slot in &mut polled {
                if slot.fd < 0 || slot.revents == 0 {
                    continue;
                }
                let count = libc::read(slot.fd, buffer.as_mut_ptr().cast(), buffer.len());
                let again = count < 0 && nix::errno::Errno::last_raw() == libc::EAGAIN;
                if count <= 0 && !again {
                    slot.fd = -1;
                }
            }
        }
        libc::_exit(0)
    }
}
