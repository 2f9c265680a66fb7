//! From a stream of bytes to a session and back. The session's thread reads and writes the stream
//! itself as long as neither has to wait; Tokio, on a thread of its own, does what would.

pub mod codec;
mod greeting;
mod intake;
mod listen;
mod outbox;
pub mod stream;
mod token;

pub use greeting::Refusal;
pub use intake::Intake;
pub use listen::{At, Listening, listen};
pub use outbox::Outbox;
pub use token::{Token, VARIABLE as TOKEN_VARIABLE};

use crate::protocol::{Malformed, Request, Response};
use crate::server::codec::FrameError;
use crate::server::stream::{Flags, Stream};
use crate::session::core_file;
use crate::session::debuginfod;
use crate::session::handover;
use crate::session::opening;
use crate::session::terminal;
use crate::session::{Session, SessionError};
use engine::{Debugger, Waker};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::bytes::BytesMut;

/// Set when the client cancels a request.
pub type CancelFlag = Arc<AtomicBool>;

/// What reaches the session.
#[derive(Debug)]
pub enum Inbound {
    /// A request.
    Request(Request, CancelFlag, Weight),
    /// An answer.
    Response(Response),
    /// A message that cannot be understood.
    Malformed(Malformed, Weight),
    /// News of a program started in a terminal.
    Terminal(terminal::Report),
    /// The folder of Rust's own sources, if there is one.
    RustSources(Option<PathBuf>),
    /// News of a child that is to have a session of its own.
    Child(handover::Report),
    /// The child that we are to attach to.
    Given(handover::Given),
    /// Settings have changed in the session of the parent.
    Settings(serde_json::Map<String, serde_json::Value>),
    /// What became of fetching debug info.
    DebugFile(debuginfod::Report),
    /// A core file is unpacked, or cannot be.
    Core(core_file::Report),
    /// The files of a program's standard streams are open, or cannot be.
    Stdio(opening::Report),
    /// The client is gone, or sends garbage.
    Ended(Result<(), FrameError>),
}

/// The session's way in, from any thread.
#[derive(Clone)]
pub struct Inbox {
    queue: mpsc::Sender<Inbound>,
    waker: Waker,
}

impl Inbox {
    /// Hands something to the session; when that has ended already, nothing happens.
    pub fn put(&self, inbound: Inbound) {
        self.put_quietly(inbound);
        self.wake();
    }

    /// The same, for who wakes the session later, or is the session.
    fn put_quietly(&self, inbound: Inbound) {
        // Fails when the session has ended.
        let _ = self.queue.send(inbound);
    }

    fn wake(&self) {
        self.waker.wake();
    }
}

/// Above this many queued bytes the client has to read before it is listened to.
const FLOOD: usize = 64 << 20;
/// Above this many bytes of requests not yet carried out, the client has to wait.
const BACKLOG: usize = 16 << 20;

/// What waits on the way in and on the way out.
#[derive(Debug, Default)]
struct Queued {
    /// To be carried out.
    received: AtomicUsize,
    /// To be written.
    bytes: AtomicUsize,
    /// Tells the reader that there is less of either.
    less: Notify,
}

impl Queued {
    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether the client may be listened to.
    fn has_room(&self) -> bool {
        self.bytes() <= FLOOD && self.received.load(Ordering::Relaxed) <= BACKLOG
    }

    /// Comes back when it may.
    async fn room(&self) {
        while !self.has_room() {
            self.less.notified().await;
        }
    }
}

/// The bytes of a message that is being dealt with as long as this lives.
#[derive(Debug)]
pub struct Weight(Arc<Queued>, usize);

impl Weight {
    fn of(bytes: &[u8], queued: &Arc<Queued>) -> Self {
        queued.received.fetch_add(bytes.len(), Ordering::Relaxed);
        Self(Arc::clone(queued), bytes.len())
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        let before = self.0.received.fetch_sub(self.1, Ordering::Relaxed);
        if before > BACKLOG {
            self.0.less.notify_one();
        }
    }
}

/// Serves one client to the end.
///
/// # Errors
/// A stream that is no DAP; a system that refuses what a debugger needs.
pub fn serve(streams: [Stream; 2]) -> Result<(), SessionError> {
    serve_after(streams, BytesMut::new())
}

/// As [`serve`], where the client has `said` something already.
fn serve_after([input, output]: [Stream; 2], said: BytesMut) -> Result<(), SessionError> {
    let debugger = Debugger::new()?;
    let waker = debugger.waker();
    let (sender, receiver) = mpsc::channel();
    let inbox = Inbox {
        queue: sender,
        waker: waker.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (queue, rest) = unbounded_channel();
    let queued = Arc::new(Queued::default());
    let output = Arc::new(output);
    let outbox = Outbox::new(Arc::clone(&output), queue, Arc::clone(&queued));
    let handle = runtime.handle().clone();
    let intake = Intake::new(input, Arc::clone(&queued), inbox.clone(), handle)?;
    intake.hear(said);
    let intake = Arc::new(intake);
    let reader = Arc::clone(&intake);
    let (done, flushed) = mpsc::channel();
    thread::Builder::new()
        .name("io".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                tokio::spawn(async move {
                    if let Err(error) = reader.stand_in().await {
                        // The session hears everything still, but only between two requests.
                        tracing::info!(%error, "cancel is not heard while a request is carried out");
                    }
                });
                outbox::write(&output, rest, &queued, &waker).await;
            });
            // Writing to stdout may block for ever; the process ends without it.
            runtime.shutdown_background();
            let _ = done.send(());
        })?;
    let end = Session::new(debugger, inbox, outbox).run(&receiver, &intake);
    // A client that does not read any more must not keep us.
    let _ = flushed.recv_timeout(Duration::from_secs(2));
    end
}

/// Serves the client on stdin and stdout.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio() -> Result<(), SessionError> {
    // Whoever shares the pipes with us finds them as they were.
    let _as_they_were = [Flags::of(io::stdin()), Flags::of(io::stdout())];
    serve([Stream::of(io::stdin())?, Stream::of(io::stdout())?])
}

/// Serves the client on the socket that is our stdin, once it has shown that it may use us; to
/// the `same_user` the port is open without a token.
///
/// # Errors
/// As [`serve`]; the client is refused.
pub fn serve_socket(same_user: bool) -> Result<(), SessionError> {
    let demand = listen::demand(same_user)?;
    let streams = Stream::both_of(io::stdin().as_fd().try_clone_to_owned()?)?;
    let said = greeting::greet(&streams[0], &demand).map_err(SessionError::Refused)?;
    listen::admitted();
    serve_after(streams, said)
}
