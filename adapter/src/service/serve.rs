//! Serves one client, from its streams to its end.

use super::{Service, ServiceError};
use crate::server::Connection;
use crate::server::stream::Stream;
use crate::session::Session;
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

/// Like [`serve`], for a client in this process that ends the session itself when the process gets a
/// signal to end.
///
/// # Errors
/// Like [`serve`].
pub fn serve_to_its_end(streams: [Stream; 2]) -> Result<(), ServiceError> {
    run(streams, BytesMut::new(), true)
}

/// Like [`serve`], with bytes that were read from the client before.
///
/// # Errors
/// Like [`serve`].
pub fn serve_after(streams: [Stream; 2], early_bytes: BytesMut) -> Result<(), ServiceError> {
    run(streams, early_bytes, false)
}

fn run(
    streams: [Stream; 2],
    early_bytes: BytesMut,
    is_ended_by_client: bool,
) -> Result<(), ServiceError> {
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
    session.is_ended_by_client = is_ended_by_client;
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
