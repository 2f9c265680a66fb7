//! A small DAP client: sends requests, waits for responses, queues events.

use crate::server::codec::{Codec, FrameError};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};

/// Why the client failed, as text.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// Creates a failure with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<FrameError> for Failure {
    fn from(error: FrameError) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// A DAP client.
pub struct Client {
    stream: UnixStream,
    codec: Codec,
    received: BytesMut,
    seq: i64,
    answers: HashMap<i64, Value>,
    events: VecDeque<Value>,
}

impl Client {
    /// Creates a client of the server at the other end of `stream`.
    pub fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            codec: Codec::default(),
            received: BytesMut::new(),
            seq: 0,
            answers: HashMap::new(),
            events: VecDeque::new(),
        }
    }

    /// Sends a request; returns its number.
    ///
    /// # Errors
    /// The server has disconnected.
    pub fn send(&mut self, command: &str, arguments: &Value) -> Result<i64, Failure> {
        self.seq += 1;
        let message = json!({
            "seq": self.seq, "type": "request", "command": command, "arguments": arguments
        });
        let mut frame = BytesMut::new();
        Codec::default().encode(message.to_string().as_bytes(), &mut frame)?;
        self.stream.write_all(&frame)?;
        Ok(self.seq)
    }

    /// Reads one message into the queue of responses or events.
    fn receive(&mut self) -> Result<(), Failure> {
        let message = loop {
            if let Some(message) = self.codec.decode(&mut self.received)? {
                break message;
            }
            let mut portion = [0; 16 << 10];
            match self.stream.read(&mut portion)? {
                0 => return Err(Failure::new("the session ended by itself")),
                count => self.received.extend_from_slice(&portion[..count]),
            }
        };
        let message: Value = serde_json::from_slice(&message)?;
        match message["request_seq"].as_i64() {
            Some(seq) => drop(self.answers.insert(seq, message)),
            None => self.events.push_back(message),
        }
        Ok(())
    }

    /// Waits for the body of the response to request `seq`.
    ///
    /// # Errors
    /// The request failed, or the server has disconnected.
    pub fn answer(&mut self, seq: i64) -> Result<Value, Failure> {
        loop {
            if let Some(mut answer) = self.answers.remove(&seq) {
                if answer["success"] == true {
                    return Ok(answer["body"].take());
                }
                let format = &answer["body"]["error"]["format"];
                let message = format.as_str().or(answer["message"].as_str());
                return Err(Failure::new(message.unwrap_or("a request failed")));
            }
            self.receive()?;
        }
    }

    /// Sends a request and waits for the body of its response.
    ///
    /// # Errors
    /// Like [`Client::answer`].
    pub fn request(&mut self, command: &str, arguments: &Value) -> Result<Value, Failure> {
        let seq = self.send(command, arguments)?;
        self.answer(seq)
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// The server has disconnected.
    pub fn event(&mut self) -> Result<Value, Failure> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            self.receive()?;
        }
    }

    /// Waits for `initialized`, which is not sent if the request `launch` fails.
    ///
    /// # Errors
    /// The launch failed.
    pub fn await_initialized(&mut self, launch: i64) -> Result<(), Failure> {
        loop {
            if self
                .events
                .iter()
                .any(|event| event["event"] == "initialized")
            {
                return Ok(());
            }
            if self.answers.contains_key(&launch) {
                return self.answer(launch).map(drop);
            }
            self.receive()?;
        }
    }
}
