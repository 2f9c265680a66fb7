//! stdin and stdout without a thread of Tokio's for each read and write: pipes and sockets are
//! waited for like any other stream, which saves every message two changes of thread.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

/// The status flags of an open file, put back when this is dropped.
pub struct Flags(Option<(OwnedFd, OFlag)>);

impl Flags {
    /// Remembers the flags of an open file.
    pub fn of(file: impl AsFd) -> Self {
        let file = file.as_fd().try_clone_to_owned().ok();
        let known = file.and_then(|file| {
            let flags = fcntl(&file, FcntlArg::F_GETFL).ok()?;
            Some((file, OFlag::from_bits_retain(flags)))
        });
        Self(known)
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        if let Some((file, flags)) = &self.0 {
            // Nobody is left to be told of an error.
            let _ = fcntl(file, FcntlArg::F_SETFL(*flags));
        }
    }
}

/// What a descriptor is.
enum Kind {
    Pipe(OwnedFd),
    Socket(UnixStream),
    Other,
}

fn kind(descriptor: BorrowedFd<'_>) -> io::Result<Kind> {
    let file = File::from(descriptor.try_clone_to_owned()?);
    let metadata = file.metadata()?;
    // Flags belong to the open file: what stderr shares must stay as it is.
    let shared = File::from(io::stderr().as_fd().try_clone_to_owned()?)
        .metadata()
        .is_ok_and(|stderr| (stderr.dev(), stderr.ino()) == (metadata.dev(), metadata.ino()));
    let file_type = metadata.file_type();
    if shared {
        return Ok(Kind::Other);
    }
    if file_type.is_fifo() {
        return Ok(Kind::Pipe(file.into()));
    }
    if file_type.is_socket() {
        let socket = UnixStream::from(OwnedFd::from(file));
        // Of another family it is no business of ours.
        if socket.local_addr().is_ok() {
            socket.set_nonblocking(true)?;
            return Ok(Kind::Socket(socket));
        }
    }
    Ok(Kind::Other)
}

/// stdin as a stream; to be called in a Tokio runtime.
///
/// # Errors
/// The descriptor is closed.
pub fn input() -> io::Result<Box<dyn AsyncRead + Unpin + Send>> {
    Ok(match kind(io::stdin().as_fd())? {
        Kind::Pipe(pipe) => Box::new(pipe::Receiver::from_owned_fd(pipe)?),
        Kind::Socket(socket) => Box::new(tokio::net::UnixStream::from_std(socket)?),
        Kind::Other => Box::new(tokio::io::stdin()),
    })
}

/// stdout as a stream; to be called in a Tokio runtime.
///
/// # Errors
/// The descriptor is closed.
pub fn output() -> io::Result<Box<dyn AsyncWrite + Unpin>> {
    Ok(match kind(io::stdout().as_fd())? {
        Kind::Pipe(pipe) => Box::new(pipe::Sender::from_owned_fd(pipe)?),
        Kind::Socket(socket) => Box::new(tokio::net::UnixStream::from_std(socket)?),
        Kind::Other => Box::new(tokio::io::stdout()),
    })
}
