//! The way out. The session's thread writes what fits at once, and only what the client does not
//! take is left to the thread that moves bytes: waking it costs more than most answers.

use super::Queued;
use crate::codec::Codec;
use crate::protocol::Outgoing;
use crate::stdio::Stream;
use engine::Waker;
use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::bytes::{Buf, Bytes, BytesMut};
use tokio_util::codec::Encoder;

/// Below this many queued bytes the debuggee's output flows again.
const LOW_WATER: usize = 1 << 20;
/// Above this many queued bytes the debuggee's output has to wait.
const HIGH_WATER: usize = 4 << 20;

/// The session's way out.
pub struct Outbox {
    stream: Arc<Stream>,
    /// What the client has not taken yet goes here.
    queue: UnboundedSender<Bytes>,
    queued: Arc<Queued>,
    /// Messages so far: they are numbered in their order, from 1.
    sent: Cell<u64>,
    /// Where messages are made.
    message: RefCell<Vec<u8>>,
}

impl Outbox {
    /// To be emptied into the same stream by [`write`].
    pub(super) fn new(
        stream: Arc<Stream>,
        queue: UnboundedSender<Bytes>,
        queued: Arc<Queued>,
    ) -> Self {
        Self {
            stream,
            queue,
            queued,
            sent: Cell::new(0),
            message: RefCell::default(),
        }
    }

    /// Sends a message; gives its number.
    pub fn send(&self, message: &Outgoing<'_>) -> Option<u64> {
        let seq = self.sent.get() + 1;
        let mut json = self.message.borrow_mut();
        json.clear();
        json.extend_from_slice(format!("{{\"seq\":{seq}").as_bytes());
        let joint = json.len();
        if let Err(error) = serde_json::to_writer(&mut *json, message) {
            tracing::error!(%error, "a message cannot be written");
            return None;
        }
        // A message is an object with members.
        json[joint] = b',';
        tracing::debug!(message = %String::from_utf8_lossy(&json), "sent");
        let mut frame = BytesMut::new();
        // Writing to memory does not fail.
        let _ = Codec::default().encode(&json, &mut frame);
        json.shrink_to(HIGH_WATER);
        self.sent.set(seq);
        self.write(frame.freeze());
        Some(seq)
    }

    fn write(&self, mut frame: Bytes) {
        // Acquire: what was queued before is in the stream.
        if self.queued.bytes.load(Ordering::Acquire) == 0 {
            while frame.has_remaining() {
                match self.stream.write(&frame) {
                    Ok(count) => frame.advance(count),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // The other thread waits, or finds out that nobody listens any more.
                    Err(_) => break,
                }
            }
        }
        if frame.has_remaining() {
            self.queued.bytes.fetch_add(frame.len(), Ordering::Relaxed);
            // Fails only when the client is gone, of which the reader tells.
            let _ = self.queue.send(frame);
        }
    }

    /// Whether the client reads too slowly.
    pub fn is_full(&self) -> bool {
        self.queued.bytes() > HIGH_WATER
    }
}

/// Writes what is queued until the session ends.
pub async fn write(
    stream: &Stream,
    mut queue: UnboundedReceiver<Bytes>,
    queued: &Queued,
    waker: &Waker,
) {
    let mut broken = false;
    while let Some(frame) = queue.recv().await {
        let taken = frame.len();
        if !broken && let Err(error) = write_all(stream, &frame).await {
            tracing::warn!(%error, "the client does not listen any more");
            broken = true;
        }
        let before = queued.bytes.fetch_sub(taken, Ordering::Release);
        queued.less.notify_one();
        if before > LOW_WATER && before - taken <= LOW_WATER {
            waker.wake();
        }
    }
}

async fn write_all(stream: &Stream, frame: &[u8]) -> io::Result<()> {
    if !stream.never_blocks() {
        let mut stdout = tokio::io::stdout();
        stdout.write_all(frame).await?;
        return stdout.flush().await;
    }
    // Waited for no longer than needed: all that the client takes would wake us. (To Tokio, a
    // pipe is whatever can be waited for and written to.)
    let mut stream = pipe::Sender::from_owned_fd_unchecked(stream.descriptor()?)?;
    stream.write_all(frame).await
}
