//! The transport: between a stream of bytes and messages. The session thread reads and writes the
//! stream itself while that does not block; a thread with Tokio does the rest.

pub mod codec;
mod greeting;
mod guests;
mod intake;
mod listen;
mod outbox;
pub mod stream;
mod token;

pub use greeting::{Refusal, greet};
pub use guests::{Guest, GuestDoor};
pub use intake::Intake;
pub use listen::{ListenAddress, ListenerOptions, admitted, listen, required_authentication};
pub use outbox::Outbox;
pub use token::{TOKEN_VARIABLE, Token};

use crate::protocol::{Malformed, Request, Response};
use codec::FrameError;
use engine::Waker;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use stream::Stream;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::bytes::BytesMut;

/// Set when the client cancels the request.
pub type CancelFlag = Arc<AtomicBool>;

/// A message for the session: from the client, or a `Report` from another thread of the adapter.
#[derive(Debug)]
pub enum Inbound<Report> {
    /// A request.
    Request(Request, CancelFlag, InFlightBytes),
    /// A response to a reverse request.
    Response(Response),
    /// A message that cannot be parsed.
    Malformed(Malformed, InFlightBytes),
    /// A report from another thread.
    Report(Report),
    /// The client has closed the stream, or sent something that is not DAP.
    Ended(Result<(), FrameError>),
}

/// The sending end of the session's queue, for any thread.
pub struct Inbox<Report> {
    queue: mpsc::Sender<Inbound<Report>>,
    waker: Waker,
}

impl<Report> Clone for Inbox<Report> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            waker: self.waker.clone(),
        }
    }
}

impl<Report> Inbox<Report> {
    /// Queues a report and wakes the session; has no effect after the end of the session.
    pub fn put(&self, report: Report) {
        self.put_without_wake(Inbound::Report(report));
        self.wake();
    }

    /// Queues a message; the caller wakes the session later, or is the session thread.
    fn put_without_wake(&self, inbound: Inbound<Report>) {
        // Fails only after the end of the session.
        let _ = self.queue.send(inbound);
    }

    fn wake(&self) {
        self.waker.wake();
    }
}

/// Backpressure: above this many unsent bytes, no more input is read.
const MAX_UNSENT_BYTES: usize = 64 << 20;
/// Backpressure: above this many bytes of unhandled requests, no more input is read.
const MAX_PENDING_BYTES: usize = 16 << 20;

/// Sizes of both queues.
#[derive(Debug, Default)]
struct Queued {
    /// Bytes of unhandled requests.
    received: AtomicUsize,
    /// Bytes to be written.
    bytes: AtomicUsize,
    /// Notifies the reader when either decreases.
    less: Notify,
}

impl Queued {
    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns true if input may be read.
    fn has_room(&self) -> bool {
        self.bytes() <= MAX_UNSENT_BYTES
            && self.received.load(Ordering::Relaxed) <= MAX_PENDING_BYTES
    }

    /// Waits until input may be read.
    async fn room(&self) {
        while !self.has_room() {
            self.less.notified().await;
        }
    }
}

/// The size of a message that counts as unhandled until this is dropped.
#[derive(Debug)]
pub struct InFlightBytes(Arc<Queued>, usize);

impl InFlightBytes {
    fn of(bytes: &[u8], queued: &Arc<Queued>) -> Self {
        queued.received.fetch_add(bytes.len(), Ordering::Relaxed);
        Self(Arc::clone(queued), bytes.len())
    }
}

impl Drop for InFlightBytes {
    fn drop(&mut self) {
        let before = self.0.received.fetch_sub(self.1, Ordering::Relaxed);
        if before > MAX_PENDING_BYTES {
            self.0.less.notify_one();
        }
    }
}

/// The connection to one client.
pub struct Connection<Report> {
    /// The session's queue.
    pub inbox: Inbox<Report>,
    /// The receiving end of it.
    pub received: mpsc::Receiver<Inbound<Report>>,
    /// Reads the client's messages into the queue.
    pub intake: Arc<Intake<Report>>,
    /// Writes to the client.
    pub outbox: Outbox,
    /// Says when everything sent before `outbox` was dropped is written.
    pub flushed: Flushed,
}

/// The end of the output.
pub struct Flushed {
    done: mpsc::Receiver<()>,
    queued: Arc<Queued>,
}

impl Flushed {
    /// Waits until everything is written, unless the client reads nothing for as long as `patience`.
    pub fn wait(&self, patience: Duration) {
        let mut left = self.queued.bytes();
        while self.done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            let now = self.queued.bytes();
            if now >= left {
                break;
            }
            left = now;
        }
    }
}

impl<Report: Send + 'static> Connection<Report> {
    /// Starts the transport. `early_bytes` were read from the client before; `waker` wakes the
    /// session; `on_end` is called when the client has disconnected or its stream has ended, also while the
    /// session is busy.
    ///
    /// # Errors
    /// No thread or timer is available. Without a runtime the connection ends at once.
    pub fn open(
        [input, output]: [Stream; 2],
        early_bytes: BytesMut,
        waker: Waker,
        on_end: fn(),
    ) -> io::Result<Self> {
        let (sender, received) = mpsc::channel();
        let inbox = Inbox {
            queue: sender,
            waker: waker.clone(),
        };
        let (queue, rest) = unbounded_channel();
        let queued = Arc::new(Queued::default());
        let output = Arc::new(output);
        let unwritten = Arc::clone(&queued);
        let outbox = Outbox::new(Arc::clone(&output), queue, Arc::clone(&queued));
        let intake = Intake::new(input, Arc::clone(&queued), inbox.clone(), on_end)?;
        let intake = Arc::new(intake);
        let reader = Arc::clone(&intake);
        let ended = inbox.clone();
        let (written, done) = mpsc::channel();
        thread::Builder::new()
            .name("io".to_owned())
            .spawn(move || {
                // Here, as it takes longer than the first response.
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                let handle = runtime.as_ref().ok().map(|it| it.handle().clone());
                reader.set_runtime(handle);
                let runtime = match runtime {
                    Ok(runtime) => runtime,
                    Err(error) => {
                        ended.put_without_wake(Inbound::Ended(Err(error.into())));
                        return ended.wake();
                    }
                };
                runtime.block_on(async {
                    tokio::spawn(async move {
                        if let Err(error) = reader.read_while_busy().await {
                            // The session still reads, but only between two requests.
                            tracing::info!(%error, "cancel requests are not read during a request");
                        }
                    });
                    outbox::write(&output, rest, &queued, &waker).await;
                });
                // A write to stdout may block forever; the process exits without waiting for it.
                runtime.shutdown_background();
                let _ = written.send(());
            })?;
        intake.push_bytes(early_bytes);
        Ok(Self {
            inbox,
            received,
            intake,
            outbox,
            flushed: Flushed {
                done,
                queued: unwritten,
            },
        })
    }
}
