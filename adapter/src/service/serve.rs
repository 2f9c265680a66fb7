//! Serves one client, from its streams to its end.

use super::{Service, ServiceError};
use crate::server::Connection;
use crate::server::stream::Stream;
use crate::session::{Session, User};
use engine::Debugger;
use std::time::{Duration, Instant};
use tokio_util::bytes::BytesMut;

/// Grace period for each part of the last messages to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves one client until the end of the session.
///
/// # Errors
/// The stream is not DAP, or a system call that a debugger needs fails.
pub fn serve(streams: [Stream; 2]) -> Result<(), ServiceError> {
    serve_after(streams, BytesMut::new())
}

/// Like [`serve`], for a command in this process.
///
/// # Errors
/// Like [`serve`].
pub fn serve_command(streams: [Stream; 2], user: User) -> Result<(), ServiceError> {
    run(streams, BytesMut::new(), user)
}

/// Like [`serve`], with bytes that were read from the client before.
///
/// # Errors
/// Like [`serve`].
pub fn serve_after(streams: [Stream; 2], early_bytes: BytesMut) -> Result<(), ServiceError> {
    run(streams, early_bytes, User::Client)
}

fn run(streams: [Stream; 2], early_bytes: BytesMut, user: User) -> Result<(), ServiceError> {
    let debugger = Debugger::new()?;
    let Connection {
        inbox,
        received,
        intake,
        outbox,
        flushed,
    } = Connection::open(
        streams,
        early_bytes,
        debugger.waker(),
        engine::os::ask_to_end,
    )?;
    let mut session = Session::new(debugger, inbox, outbox);
    session.user = user;
    let service = Service {
        session,
        received: &received,
        intake: &intake,
        last_sent: None,
        quiet_since: Instant::now(),
    };
    let end = service.run();
    // A client that no longer reads must not keep the process alive.
    flushed.wait(FLUSH_TIMEOUT);
    end
}
