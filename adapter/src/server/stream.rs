//! One direction of the client's stream. Pipes and sockets are read and written without blocking;
//! others (files, terminals, a file shared with stderr) are polled before each read.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;

/// The status flags of an open file, restored on drop.
pub struct SavedFlags(Option<(OwnedFd, OFlag)>);

impl SavedFlags {
    /// Saves the flags of an open file.
    pub fn of(file: impl AsFd) -> Self {
        let file = file.as_fd().try_clone_to_owned().ok();
        let known = file.and_then(|file| Some((status_flags(&file)?, file)));
        Self(known.map(|(flags, file)| (file, flags)))
    }
}

fn status_flags(file: &impl AsFd) -> Option<OFlag> {
    let flags = fcntl(file, FcntlArg::F_GETFL).ok()?;
    Some(OFlag::from_bits_retain(flags))
}

impl Drop for SavedFlags {
    fn drop(&mut self) {
        if let Some((file, flags)) = &self.0 {
            // An error could not be reported here.
            let _ = fcntl(file, FcntlArg::F_SETFL(*flags));
        }
    }
}

/// One direction of the client's stream.
#[derive(Debug)]
pub struct Stream {
    file: File,
    never_blocks: bool,
}

impl Stream {
    /// Creates a stream of an open descriptor.
    ///
    /// # Errors
    /// The descriptor is closed.
    pub fn of(descriptor: impl AsFd) -> io::Result<Self> {
        let file = File::from(descriptor.as_fd().try_clone_to_owned()?);
        let never_blocks = can_wait(&file)? && set_nonblocking(&file);
        if never_blocks {
            // A long response takes fewer turns between us and the client.
            engine::os::host::enlarge_pipe(&file);
        }
        Ok(Self { file, never_blocks })
    }

    /// Creates both directions of a socket.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn both_of(socket: impl Into<OwnedFd>) -> io::Result<[Self; 2]> {
        let file = File::from(socket.into());
        let never_blocks = set_nonblocking(&file);
        let other = file.try_clone()?;
        Ok([file, other].map(|file| Self { file, never_blocks }))
    }

    /// Returns true if [`Stream::write`] can be used and the stream can be polled.
    pub fn never_blocks(&self) -> bool {
        self.never_blocks
    }

    /// Duplicates the descriptor.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }

    /// Reads available bytes; 0 bytes at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock`: nothing is available now. Others: the stream cannot be read any more.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.never_blocks && !self.has_something() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        (&self.file).read(buffer)
    }

    /// Writes as many bytes as fit.
    ///
    /// # Errors
    /// `WouldBlock`: nothing fits now, or writing might block. Others: the reader is gone.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        if !self.never_blocks {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        (&self.file).write(bytes)
    }

    fn has_something(&self) -> bool {
        let mut files = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        poll(&mut files, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns true if a descriptor can be polled, and its flags are not shared with others.
fn can_wait(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    // Flags belong to the open file: one that stderr shares must not change.
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?).metadata();
    if stderr.is_ok_and(|stderr| (stderr.dev(), stderr.ino()) == (metadata.dev(), metadata.ino())) {
        return Ok(false);
    }
    let file_type = metadata.file_type();
    if file_type.is_socket() {
        // Sockets of other families are left as they are.
        let socket = UnixStream::from(OwnedFd::from(file.try_clone()?));
        return Ok(socket.local_addr().is_ok());
    }
    Ok(file_type.is_fifo())
}

fn set_nonblocking(file: &File) -> bool {
    status_flags(file)
        .is_some_and(|flags| fcntl(file, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK)).is_ok())
}
