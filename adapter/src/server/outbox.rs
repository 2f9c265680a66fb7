//! Writing to the client. The session thread writes what fits at once. Only the rest is left to the
//! transport thread: waking it costs more than most responses.

use super::Queued;
use crate::files::log;
use crate::protocol::{self, Body, Outgoing};
use crate::server::codec;
use crate::server::stream::Stream;
use base64::Engine as _;
use engine::Waker;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::bytes::{Buf, Bytes};

/// Below this many queued bytes, the debuggee's output is read again.
const LOW_WATER: usize = 64 << 10;
/// Above this many queued bytes, the debuggee's output is not read: responses would wait behind it.
const HIGH_WATER: usize = 256 << 10;
/// Maximum capacity kept for the next message, in bytes.
const MAX_KEPT_CAPACITY: usize = 4 << 20;
/// Bytes of data encoded at once: few enough to stay in the processor's cache until they are
/// written. A multiple of three, so that padding occurs only at the end.
const CHUNK_BYTES: usize = 192 << 10;
/// The text after the data in a response: the ends of string, body and message.
const DATA_TAIL: &str = "\"}}";
/// Above this many bytes, a body is written separately and not copied behind the message's head.
const LARGE_MESSAGE_BYTES: usize = 64 << 10;

/// The queue of messages to the client.
pub struct Outbox {
    stream: Arc<Stream>,
    /// The bytes that the client has not read yet.
    queue: UnboundedSender<Bytes>,
    queued: Arc<Queued>,
    /// Number of messages so far; they are numbered from 1.
    sent: u64,
    /// The buffer for messages, with room for the header in front.
    frame: Vec<u8>,
}

impl Outbox {
    /// Creates an outbox whose queue is written to the same stream by [`write()`].
    pub(super) fn new(
        stream: Arc<Stream>,
        queue: UnboundedSender<Bytes>,
        queued: Arc<Queued>,
    ) -> Self {
        Self {
            stream,
            queue,
            queued,
            sent: 0,
            frame: Vec::new(),
        }
    }

    /// Sends a message, for a response with its body. Returns its number.
    pub fn send(&mut self, message: &Outgoing<'_>, body: Option<Body>) -> Option<u64> {
        let mut frame = std::mem::take(&mut self.frame);
        let sent = self.write_message(message, body, &mut frame);
        frame.shrink_to(MAX_KEPT_CAPACITY);
        self.frame = frame;
        self.sent = sent.unwrap_or(self.sent);
        sent
    }

    /// Writes a message by way of the buffer `frame`. Returns its number.
    fn write_message(
        &self,
        message: &Outgoing<'_>,
        body: Option<Body>,
        frame: &mut Vec<u8>,
    ) -> Option<u64> {
        let seq = self.sent + 1;
        frame.clear();
        frame.resize(codec::HEADER_ROOM, 0);
        frame.extend_from_slice(format!("{{\"seq\":{seq}").as_bytes());
        let joint = frame.len();
        if let Err(error) = serde_json::to_writer(&mut *frame, message) {
            tracing::error!(%error, "cannot write a message");
            return None;
        }
        // A message is an object that has members already.
        frame[joint] = b',';
        let (mut text, data) = body.map_or_else(Default::default, |body| (body.json, body.data));
        let tail = match (text.is_empty(), data.is_empty()) {
            (true, _) => "",
            (false, true) => "}",
            (false, false) => DATA_TAIL,
        };
        if !text.is_empty() {
            frame.pop();
            frame.extend_from_slice(b",\"body\":");
            // The data go before the ends of string and body.
            text.truncate(text.len() + 1 - tail.len());
        }
        let more = text.len() + base64_len(data.len()) + tail.len();
        let mut start = codec::put_header(frame, more);
        let begin = &frame[codec::HEADER_ROOM..];
        tracing::debug!(message = %log::shown(begin), body = text, more, "sent");
        if text.len() > LARGE_MESSAGE_BYTES {
            self.put(frame, start);
            self.put(&mut text.into_bytes(), 0);
            frame.clear();
            start = 0;
        } else {
            frame.extend_from_slice(text.as_bytes());
        }
        for (number, portion) in data.chunks(CHUNK_BYTES).enumerate() {
            if number > 0 {
                self.put(frame, start);
                frame.clear();
                start = 0;
            }
            put_base64(portion, frame);
        }
        frame.extend_from_slice(tail.as_bytes());
        self.put(frame, start);
        Some(seq)
    }

    /// Sends `frame` from `start` on. What the client does not read at once is moved to the queue.
    fn put(&self, frame: &mut Vec<u8>, start: usize) {
        let taken = start + self.write(&frame[start..]);
        if taken < frame.len() {
            let mut rest = Bytes::from(std::mem::take(frame));
            rest.advance(taken);
            self.queued.bytes.fetch_add(rest.len(), Ordering::Relaxed);
            // Fails only if the client is gone, which the reader reports.
            let _ = self.queue.send(rest);
        }
    }

    /// Writes as much as the client reads at once. Returns the number of bytes.
    fn write(&self, frame: &[u8]) -> usize {
        let mut taken = 0;
        // Acquire: the queue is empty, so all of it is in the stream.
        if self.queued.bytes.load(Ordering::Acquire) == 0 {
            while taken < frame.len() {
                match self.stream.write(&frame[taken..]) {
                    Ok(count) => taken += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // The transport thread waits for the client, or finds that it is gone.
                    Err(_) => break,
                }
            }
        }
        taken
    }

    /// Returns true if the client reads too slowly.
    pub fn is_full(&self) -> bool {
        self.queued.bytes() > HIGH_WATER
    }
}

/// Returns the length of base64 for `len` bytes, including padding.
fn base64_len(len: usize) -> usize {
    len.div_ceil(3) * 4
}

fn put_base64(bytes: &[u8], text: &mut Vec<u8>) {
    let start = text.len();
    text.resize(start + base64_len(bytes.len()), 0);
    let written = protocol::base64().encode_slice(bytes, &mut text[start..]);
    debug_assert_eq!(written, Ok(text.len() - start));
}

/// Writes queued bytes until the session ends.
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
            tracing::warn!(%error, "the client reads no more messages");
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
    // Registered only while waiting: otherwise each read of the client would wake this thread.
    // `pipe::Sender` accepts any descriptor that can be polled and written.
    let mut stream = pipe::Sender::from_owned_fd_unchecked(stream.descriptor()?)?;
    stream.write_all(frame).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::codec::Codec;
    use serde_json::{Value, json};
    use std::io::{PipeReader, Read};
    use tokio::sync::mpsc::unbounded_channel;
    use tokio_util::bytes::BytesMut;
    use tokio_util::codec::Decoder;

    /// Returns what a client reads that starts to read after the last message.
    fn received(
        mut pipe: PipeReader,
        outbox: Outbox,
        mut rest: UnboundedReceiver<Bytes>,
    ) -> Vec<Value> {
        drop(outbox);
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("bytes");
        while let Ok(more) = rest.try_recv() {
            bytes.extend_from_slice(&more);
        }
        let mut bytes = BytesMut::from(&bytes[..]);
        let mut codec = Codec::default();
        let messages = std::iter::from_fn(|| codec.decode(&mut bytes).expect("frames"));
        let messages: Vec<_> = messages
            .map(|message| serde_json::from_slice(&message).expect("JSON"))
            .collect();
        assert!(bytes.is_empty());
        messages
    }

    #[test]
    fn data_is_in_the_string_that_the_message_ends_with() {
        let (pipe, stdout) = std::io::pipe().expect("a pipe");
        let (queue, rest) = unbounded_channel();
        let stream = Arc::new(Stream::of(&stdout).expect("a stream"));
        drop(stdout);
        let mut outbox = Outbox::new(stream, queue, Arc::default());
        // More than a pipe holds, and lengths around those of the portions.
        let lengths = [
            0,
            1,
            2,
            3,
            CHUNK_BYTES - 1,
            CHUNK_BYTES,
            CHUNK_BYTES + 1,
            7 * CHUNK_BYTES + 5,
        ];
        let data: Vec<u8> = (0..7 * CHUNK_BYTES + 5)
            .map(|n| (n * 7 / 3) as u8)
            .collect();
        for len in lengths {
            let body = json!({"address": "0x1f", "data": ""});
            let answer = Outgoing::Response {
                request_seq: 3,
                success: true,
                command: "readMemory",
                message: None,
            };
            let body = Body {
                json: body.to_string(),
                data: data[..len].to_vec(),
            };
            outbox.send(&answer, Some(body));
        }
        let messages = received(pipe, outbox, rest);
        assert_eq!(messages.len(), lengths.len());
        for ((message, len), seq) in messages.iter().zip(lengths).zip(1..) {
            assert_eq!(message["seq"], seq);
            assert_eq!(message["body"]["address"], "0x1f");
            let text = message["body"]["data"].as_str().expect("a string");
            assert_eq!(protocol::base64().decode(text).as_deref(), Ok(&data[..len]));
        }
    }

    #[test]
    fn bodies_of_every_length_end_their_message() {
        let (pipe, stdout) = std::io::pipe().expect("a pipe");
        let (queue, rest) = unbounded_channel();
        let stream = Arc::new(Stream::of(&stdout).expect("a stream"));
        drop(stdout);
        let mut outbox = Outbox::new(stream, queue, Arc::default());
        // None, small ones, and lengths around the copy threshold.
        let bodies = [
            0,
            1,
            LARGE_MESSAGE_BYTES - 20,
            LARGE_MESSAGE_BYTES,
            LARGE_MESSAGE_BYTES + 20,
            3 * LARGE_MESSAGE_BYTES,
        ];
        let bodies = bodies.map(|len| (len > 0).then(|| json!({"text": "a".repeat(len)})));
        for body in &bodies {
            let answer = Outgoing::Response {
                request_seq: 3,
                success: true,
                command: "variables",
                message: None,
            };
            let body = body.as_ref().map(|body| Body::from(body.to_string()));
            outbox.send(&answer, body);
        }
        let messages = received(pipe, outbox, rest);
        let received: Vec<_> = messages.iter().map(|it| it.get("body").cloned()).collect();
        assert_eq!(received, bodies);
    }
}
