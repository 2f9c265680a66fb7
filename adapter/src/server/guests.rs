//! Clients that look on at another client's session: each has a connection of its own, on a Unix socket
//! that only this user can open.

use super::listen::{SocketFile, private_socket, private_sockets};
use super::{Inbound, Intake, Outbox, stream::Stream};
use crate::server::Connection;
use engine::Waker;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use tokio_util::bytes::BytesMut;

/// The socket on which guests arrive. It is removed when this is dropped.
pub struct GuestDoor(SocketFile);

/// What the names of these sockets have.
const PURPOSE: &str = "join";

impl GuestDoor {
    /// Returns the sockets of this user's sessions, the newest first. Those of sessions that were
    /// killed refuse connections.
    pub fn all() -> Vec<PathBuf> {
        private_sockets(PURPOSE)
    }

    /// Opens the socket. `arrived` is called on another thread for each guest.
    ///
    /// # Errors
    /// There is no folder that only this user can write to, or no thread is available.
    pub fn open(arrived: impl Fn(OwnedFd) + Send + 'static) -> io::Result<GuestDoor> {
        let (listener, file) = private_socket(PURPOSE)?;
        listener.set_nonblocking(false)?;
        thread::Builder::new()
            .name("guests".to_owned())
            .spawn(move || accept(&listener, &arrived))?;
        Ok(GuestDoor(file))
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

fn accept(listener: &UnixListener, arrived: &impl Fn(OwnedFd)) {
    let us = nix::unistd::geteuid().as_raw();
    for socket in listener.incoming() {
        let Ok(socket) = socket else {
            // No descriptors are left: the guest has to try again.
            tracing::warn!("a client that wants to join cannot be accepted");
            thread::sleep(std::time::Duration::from_millis(100));
            continue;
        };
        match engine::os::user_of_unix_peer(&socket) {
            Ok(user) if user == us => arrived(socket.into()),
            other => tracing::warn!(?other, "a client of another user may not join"),
        }
    }
}

/// A client that looks on.
pub struct Guest {
    /// Its messages.
    pub received: Receiver<Inbound<()>>,
    /// Writes to it.
    pub outbox: Outbox,
    _intake: Arc<Intake<()>>,
}

impl Guest {
    /// Starts the connection to a guest; its messages wake the session.
    ///
    /// # Errors
    /// No thread, runtime or timer is available.
    pub fn connect(socket: OwnedFd, waker: Waker) -> io::Result<Guest> {
        let streams = Stream::both_of(socket)?;
        let Connection {
            received,
            intake,
            outbox,
            ..
        } = Connection::open(streams, BytesMut::new(), waker, || {})?;
        // The connection's own thread reads all the time: the session waits for one client only.
        intake.begin();
        Ok(Guest {
            received,
            outbox,
            _intake: intake,
        })
    }
}
