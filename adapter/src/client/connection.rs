//! The two tasks of a connection, and the requests that wait for their responses.

use super::{ClientError, Listener};
use crate::protocol::{Incoming, Outgoing, Response, body_of, read_message};
use crate::requests::Effect;
use crate::server::codec::Codec;
use futures_util::{SinkExt, StreamExt};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_util::codec::{FramedRead, FramedWrite};

/// What the handles of a client and its tasks share.
pub(super) struct Shared {
    /// Messages to be written. The writer ends when this is dropped.
    queue: UnboundedSender<Vec<u8>>,
    calls: Mutex<Calls>,
}

/// The requests so far.
#[derive(Default)]
struct Calls {
    /// Number of messages sent; they are numbered from 1.
    sent: u64,
    /// Requests without a response, by their numbers.
    waiting: HashMap<u64, Waiting>,
    /// Why the connection has ended.
    end: Option<ClientError>,
}

/// A request without a response.
struct Waiting {
    effect: Effect,
    caller: oneshot::Sender<Response>,
}

/// A message with its number.
#[derive(Serialize)]
struct Numbered<'a> {
    seq: u64,
    #[serde(flatten)]
    message: Outgoing<'a>,
}

/// Starts the tasks of a connection.
pub(super) fn open(
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    listener: impl Listener,
) -> Arc<Shared> {
    let (queue, messages) = unbounded_channel();
    let shared = Arc::new(Shared {
        queue,
        calls: Mutex::default(),
    });
    let output = FramedWrite::new(output, Codec::default());
    let writer = tokio::spawn(write(output, messages)).abort_handle();
    let input = FramedRead::new(input, Codec::default());
    let reader = Reader {
        shared: Arc::downgrade(&shared),
        listener,
        writer,
    };
    tokio::spawn(reader.run(input));
    shared
}

impl Shared {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        // Consistent between any two statements.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request. Returns its number and the receiver of its response.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn request(
        &self,
        command: &'static str,
        effect: Effect,
        arguments: &impl Serialize,
    ) -> Result<(u64, oneshot::Receiver<Response>), ClientError> {
        let arguments = body_of(arguments);
        let arguments = arguments.map_err(|error| ClientError::Broken(error.to_string()))?;
        let (caller, response) = oneshot::channel();
        let mut calls = self.calls();
        let seq = self.send(&mut calls, Outgoing::Request { command, arguments })?;
        calls.waiting.insert(seq, Waiting { effect, caller });
        Ok((seq, response))
    }

    /// Queues a message and returns its number.
    fn send(&self, calls: &mut Calls, message: Outgoing<'_>) -> Result<u64, ClientError> {
        if let Some(end) = &calls.end {
            return Err(end.clone());
        }
        let seq = calls.sent + 1;
        let text = serde_json::to_vec(&Numbered { seq, message });
        let text = text.map_err(|error| ClientError::Broken(error.to_string()))?;
        self.queue.send(text).map_err(|_| ClientError::Ended)?;
        calls.sent = seq;
        Ok(seq)
    }

    /// Returns why the connection has ended.
    pub(super) fn end(&self) -> ClientError {
        self.calls().end.clone().unwrap_or(ClientError::Ended)
    }
}

/// Reads the server's messages.
struct Reader<L> {
    shared: Weak<Shared>,
    listener: L,
    writer: AbortHandle,
}

impl<L: Listener> Reader<L> {
    /// Reads until the stream ends or no handle waits for a message.
    async fn run(mut self, mut input: FramedRead<impl AsyncRead + Unpin, Codec>) {
        let end = loop {
            let error = match input.next().await {
                None => break ClientError::Ended,
                Some(Err(error)) => error.to_string(),
                Some(Ok(message)) => match self.receive(&message) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
            };
            tracing::warn!(error, "the connection to the adapter failed");
            break ClientError::Broken(error);
        };
        // The server no longer answers, so nothing more is sent.
        self.writer.abort();
        let waiting = self.shared.upgrade().map(|shared| {
            let mut calls = shared.calls();
            calls.end = Some(end);
            std::mem::take(&mut calls.waiting)
        });
        self.listener.on_end();
        // Their callers get the end as their error.
        drop(waiting);
    }

    /// Dispatches a message.
    ///
    /// # Errors
    /// It is not DAP.
    fn receive(&mut self, message: &[u8]) -> Result<(), String> {
        match read_message(message).map_err(|malformed| malformed.message)? {
            Incoming::Event { event, .. } => self.listener.on_event(event),
            Incoming::Response(response) => self.respond(response),
            // No front end of ours offers the capability that a reverse request needs.
            Incoming::Request(request) => {
                let refusal = Outgoing::Response {
                    request_seq: request.seq,
                    success: false,
                    command: &request.command,
                    message: Some("this client supports no reverse requests".to_owned()),
                };
                if let Some(shared) = self.shared.upgrade() {
                    // Fails only if the connection has ended.
                    let _ = shared.send(&mut shared.calls(), refusal);
                }
            }
        }
        Ok(())
    }

    /// Hands a response to the caller of its request.
    fn respond(&mut self, response: Response) {
        let seq = response.request_seq;
        let shared = self.shared.upgrade();
        let waiting = shared.and_then(|shared| shared.calls().waiting.remove(&seq));
        let Some(Waiting { effect, caller }) = waiting else {
            tracing::debug!(seq, command = response.command, "unexpected response");
            return;
        };
        if response.success && effect == Effect::Runs {
            self.listener.on_resumed();
        }
        // The caller may have stopped waiting.
        let _ = caller.send(response);
    }
}

/// Writes messages until the queue is closed, then closes the stream. Each message is written
/// completely, even if its caller stops waiting.
async fn write(
    mut output: FramedWrite<impl AsyncWrite + Unpin, Codec>,
    mut messages: UnboundedReceiver<Vec<u8>>,
) {
    while let Some(message) = messages.recv().await {
        if let Err(error) = output.send(message.as_slice()).await {
            // The reader reports the end.
            tracing::warn!(%error, "the adapter does not read any more");
            return;
        }
    }
    if let Err(error) = SinkExt::<&[u8]>::close(&mut output).await {
        tracing::debug!(%error, "the adapter's input cannot be closed");
    }
}
