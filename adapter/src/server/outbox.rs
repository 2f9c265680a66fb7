//! The way out. The session's thread writes what fits at once, and only what the client does not
//! take is left to the thread that moves bytes: waking it costs more than most answers.

use super::Queued;
use crate::codec;
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
use tokio_util::bytes::{Buf, Bytes};

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
    /// Where messages are made, the header's room in front of them.
    frame: RefCell<Vec<u8>>,
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
            frame: RefCell::default(),
        }
    }

    /// Sends a message; gives its number.
    pub fn send(&self, message: &Outgoing<'_>) -> Option<u64> {
        let seq = self.sent.get() + 1;
        let mut frame = self.frame.borrow_mut();
        frame.clear();
        frame.resize(codec::HEADER_ROOM, 0);
        frame.extend_from_slice(format!("{{\"seq\":{seq}").as_bytes());
        let joint = frame.len();
        if let Err(error) = serde_json::to_writer(&mut *frame, message) {
            tracing::error!(%error, "a message cannot be written");
            return None;
        }
        // A message is an object with members.
        frame[joint] = b',';
        let start = codec::put_header(&mut frame);
        let json = &frame[codec::HEADER_ROOM..];
        tracing::debug!(message = %String::from_utf8_lossy(json), "sent");
        self.sent.set(seq);
        let taken = start + self.write(&frame[start..]);
        if taken < frame.len() {
            let mut rest = Bytes::from(std::mem::take(&mut *frame));
            rest.advance(taken);
            self.queued.bytes.fetch_add(rest.len(), Ordering::Relaxed);
            // Fails only when the client is gone, of which the reader tells.
            let _ = self.queue.send(rest);
        }
        frame.shrink_to(HIGH_WATER);
        Some(seq)
    }

    /// Writes what the client takes at once; gives how many bytes it took.
    fn write(&self, frame: &[u8]) -> usize {
        let mut taken = 0;
        // Acquire: what was queued before is in the stream.
        if self.queued.bytes.load(Ordering::Acquire) == 0 {
            while taken < frame.len() {
                match self.stream.write(&frame[taken..]) {
                    Ok(count) => taken += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // The other thread waits, or finds out that nobody listens any more.
                    Err(_) => break,
                }
            }
        }
        taken
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
