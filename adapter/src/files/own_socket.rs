//! A Unix socket in a private folder, for one other process of this user: a launcher in a terminal,
//! the session of a child.

use super::private;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::geteuid;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The path of a socket. A drop removes it, and ends the wait for a client.
#[derive(Debug)]
pub struct OwnSocket {
    folder: TempDir,
    name: &'static str,
}

/// The listening end of an [`OwnSocket`].
#[derive(Debug)]
pub struct OwnListener(UnixListener);

impl OwnSocket {
    /// Listens on a socket called `name`, in a new folder of mode 0700.
    ///
    /// # Errors
    /// The folder or the socket cannot be created.
    pub fn bind(name: &'static str) -> io::Result<(Self, OwnListener)> {
        let folder = private::temporary_folder()?;
        let socket = Self { folder, name };
        let listener = UnixListener::bind(socket.path())?;
        // A client that has gone between `poll` and `accept` must not block.
        listener.set_nonblocking(true)?;
        Ok((socket, OwnListener(listener)))
    }

    /// Returns the path to connect to.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        // A connection ends the wait of `OwnListener::accept`.
        let _ = UnixStream::connect(self.path());
    }
}

impl OwnListener {
    /// Waits for a client of this user; without `limit` until the [`OwnSocket`] is dropped. Returns
    /// `None` if the limit has passed. Clients of other users are disconnected.
    ///
    /// # Errors
    /// A system call fails.
    pub fn accept(&self, limit: Option<Duration>) -> io::Result<Option<UnixStream>> {
        let us = geteuid().as_raw();
        self.accept_from(limit, |user| user == us)
    }

    fn accept_from(
        &self,
        limit: Option<Duration>,
        admits: impl Fn(u32) -> bool,
    ) -> io::Result<Option<UnixStream>> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            let timeout = match deadline {
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
                }
                None => PollTimeout::NONE,
            };
            match poll(
                &mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)],
                timeout,
            ) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(nix::errno::Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let socket = match self.0.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            match engine::os::user_of_unix_peer(&socket) {
                Ok(user) if admits(user) => {
                    socket.set_nonblocking(false)?;
                    return Ok(Some(socket));
                }
                other => tracing::warn!(?other, "a process of another user may not connect"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn folder_is_private_and_goes_with_the_socket() {
        let (socket, _listener) = OwnSocket::bind("one").unwrap();
        let folder = socket.path().parent().unwrap().to_owned();
        assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        drop(socket);
        assert!(!folder.exists());
    }

    #[test]
    fn drop_ends_the_wait() {
        let (socket, listener) = OwnSocket::bind("one").unwrap();
        let waits = std::thread::spawn(move || listener.accept(None).unwrap().is_some());
        drop(socket);
        assert!(waits.join().unwrap());
    }

    #[test]
    fn limit_ends_the_wait() {
        let (_socket, listener) = OwnSocket::bind("one").unwrap();
        let limit = Some(Duration::from_millis(1));
        assert!(listener.accept(limit).unwrap().is_none());
    }

    #[test]
    fn clients_of_other_users_are_passed_over() {
        let (socket, listener) = OwnSocket::bind("one").unwrap();
        let clients = [(); 3].map(|()| UnixStream::connect(socket.path()).unwrap());
        let asked = Cell::new(0);
        let accepted = listener.accept_from(None, |user| {
            asked.set(asked.get() + 1);
            user == geteuid().as_raw() && asked.get() == clients.len()
        });
        assert!(accepted.unwrap().is_some());
        assert_eq!(asked.get(), clients.len());
    }
}
