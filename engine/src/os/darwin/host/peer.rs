//! The user at the other end of a connection on this machine.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;

/// Returns the user that connected the other end of a Unix socket.
///
/// # Errors
/// The system does not say.
pub fn user_of_unix_peer(socket: &UnixStream) -> io::Result<u32> {
    Ok(nix::unistd::getpeereid(socket)?.0.as_raw())
}

/// Returns the user that owns the `peer` end of a connection whose `local` end is ours: `None`, as
/// no public interface of the system tells that of sockets of other users. The client has to show
/// the token.
pub fn user_of_peer(_local: SocketAddr, _peer: SocketAddr) -> Option<u32> {
    None
}
