//! The transport: from a stream of bytes to messages and back. The session's thread reads and
//! writes the stream itself as long as neither has to wait; Tokio, on a thread of its own, does
//! what would.

pub mod codec;
mod greeting;
mod intake;
mod listen;
mod outbox;
pub mod stream;
mod token;

pub use greeting::{Refusal, greet};
pub use intake::Intake;
pub use listen::{At, Listening, admitted, demand, listen};
pub use outbox::Outbox;
pub use token::{Token, VARIABLE as TOKEN_VARIABLE};

use crate::protocol::{Malformed, Request, Response};
use codec::FrameError;
use engine::Waker;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use stream::Stream;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::bytes::BytesMut;

/// Set when the client cancels a request.
pub type CancelFlag = Arc<AtomicBool>;

/// What reaches the session: the client's messages, and `News` from our own threads.
#[derive(Debug)]
pub enum Inbound<News> {
    /// A request.
    Request(Request, CancelFlag, Weight),
    /// The response to a request of ours.
    Response(Response),
    /// A message that cannot be parsed.
    Malformed(Malformed, Weight),
    /// A report of another thread.
    News(News),
    /// The client has closed the stream, or what it sends is no DAP.
    Ended(Result<(), FrameError>),
}

/// The session's queue, for any thread.
pub struct Inbox<News> {
    queue: mpsc::Sender<Inbound<News>>,
    waker: Waker,
}

impl<News> Clone for Inbox<News> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            waker: self.waker.clone(),
        }
    }
}

impl<News> Inbox<News> {
    /// Queues a report and wakes the session; without effect after the end of the session.
    pub fn put(&self, news: News) {
        self.put_without_wake(Inbound::News(news));
        self.wake();
    }

    /// Queues a message; the caller wakes the session later, or is the session.
    fn put_without_wake(&self, inbound: Inbound<News>) {
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

/// The connection to one client.
pub struct Connection<News> {
    /// The session's queue.
    pub inbox: Inbox<News>,
    /// What is in it.
    pub received: mpsc::Receiver<Inbound<News>>,
    /// Reads the client's messages into it.
    pub intake: Arc<Intake<News>>,
    /// Writes to the client.
    pub outbox: Outbox,
    /// Gets a message once all is written that was sent before `outbox` was dropped.
    pub flushed: mpsc::Receiver<()>,
}

impl<News: Send + 'static> Connection<News> {
    /// Starts to move messages. `said` is what was read of the client already; `waker` wakes the
    /// session.
    ///
    /// # Errors
    /// No thread, runtime or timer is available.
    pub fn open([input, output]: [Stream; 2], said: BytesMut, waker: Waker) -> io::Result<Self> {
        let (sender, received) = mpsc::channel();
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
                            // The session still reads all, but only between two requests.
                            tracing::info!(%error, "no cancel is seen during a request");
                        }
                    });
                    outbox::write(&output, rest, &queued, &waker).await;
                });
                // Writing to stdout may block for ever; the process ends without it.
                runtime.shutdown_background();
                let _ = done.send(());
            })?;
        Ok(Self {
            inbox,
            received,
            intake,
            outbox,
            flushed,
        })
    }
}
