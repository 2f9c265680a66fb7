//! A DAP client that checks every message of the adapter.

mod control;
mod look;
mod reverse_requests;
mod server;
mod start;
mod wire;

pub use reverse_requests::Terminal;
pub use server::Server;

use crate::patience::Patience;
use crate::schema;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use wire::Incoming;

/// An editor's side of one connection to the adapter.
///
/// Every message received is checked: header, numbering, the official schema; a violation
/// panics, as does a wait in which nothing happens any more, and both print the transcript. Dropping
/// the client kills the adapter.
pub struct DapClient {
    adapter: Option<Child>,
    writer: Option<Box<dyn Write + Send>>,
    socket: Option<TcpStream>,
    incoming: Receiver<Incoming>,
    transcript: Vec<String>,
    history: Vec<Value>,
    unread: VecDeque<Value>,
    commands: HashMap<i64, String>,
    next_sequence: i64,
    last_received: i64,
    wrote_raw: bool,
    closed: bool,
    started: Option<i64>,
    thread: i64,
    /// Whether the session is in non-stop mode.
    non_stop: bool,
    /// Its `clientID`.
    id: &'static str,
    began: Instant,
}

impl DapClient {
    /// Starts the adapter on its standard streams.
    pub fn spawn() -> Self {
        Self::spawn_with(|_| {})
    }

    /// Starts the adapter on its standard streams, for a client with this `clientID`.
    pub fn spawn_as(id: &'static str) -> Self {
        let mut client = Self::spawn();
        client.id = id;
        client
    }

    /// Starts the adapter on its standard streams with a command that `adjust` has changed.
    pub fn spawn_with(adjust: impl FnOnce(&mut Command)) -> Self {
        let mut command = crate::binary::command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        adjust(&mut command);
        let mut adapter = command.spawn().expect("the adapter starts");
        let stdin = adapter.stdin.take().expect("piped");
        let stdout = adapter.stdout.take().expect("piped");
        let stderr = adapter.stderr.take().expect("piped");
        let (sender, incoming) = mpsc::channel();
        let complaints = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if complaints.send(Incoming::Complaint(line)).is_err() {
                    break;
                }
            }
        });
        wire::listen(stdout, sender);
        Self::new(Some(adapter), Box::new(stdin), None, incoming)
    }

    fn new(
        adapter: Option<Child>,
        writer: Box<dyn Write + Send>,
        socket: Option<TcpStream>,
        incoming: Receiver<Incoming>,
    ) -> Self {
        Self {
            adapter,
            writer: Some(writer),
            socket,
            incoming,
            transcript: Vec::new(),
            history: Vec::new(),
            unread: VecDeque::new(),
            commands: HashMap::new(),
            next_sequence: 1,
            last_received: 0,
            wrote_raw: false,
            closed: false,
            started: None,
            thread: 0,
            non_stop: false,
            id: "stillpoint-tests",
            began: Instant::now(),
        }
    }

    // Messages.

    /// Writes bytes without a frame. Ignores an adapter that has already exited.
    pub fn write_raw(&mut self, bytes: &[u8]) {
        self.log(format!("→ {:?}", String::from_utf8_lossy(bytes)));
        self.wrote_raw = true;
        self.write(bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(writer) = &mut self.writer {
            let _ = writer.write_all(bytes).and_then(|()| writer.flush());
        }
    }

    /// Sends any message in a frame.
    pub fn send_message(&mut self, message: &Value) {
        let text = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
        self.log(format!("→ {text}"));
    }

    /// Sends a request without waiting; returns its number, for [`DapClient::response`]. Arguments
    /// of `null` are left out.
    pub fn send(&mut self, command: &str, arguments: Value) -> i64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let mut message = json!({"seq": sequence, "type": "request", "command": command});
        if !arguments.is_null() {
            message["arguments"] = arguments;
        }
        self.commands.insert(sequence, command.to_owned());
        self.send_message(&message);
        sequence
    }

    /// Sets the number of the next request: Helix starts at 0.
    pub fn count_from(&mut self, sequence: i64) {
        self.next_sequence = sequence;
    }

    /// Waits for the response to a request. Returns its body (`null` if it has none), or the whole
    /// response if it failed.
    pub fn response(&mut self, sequence: i64) -> Result<Value, Value> {
        let mut response = self.wait_for(&format!("the answer to request {sequence}"), |message| {
            message["type"] == "response" && message["request_seq"] == sequence
        });
        if response["success"] == true {
            Ok(response["body"].take())
        } else {
            Err(response)
        }
    }

    /// Sends a request and waits for its response.
    pub fn request(&mut self, command: &str, arguments: Value) -> Result<Value, Value> {
        let sequence = self.send(command, arguments);
        self.response(sequence)
    }

    /// Sends a request that must succeed, and returns the body of the response.
    pub fn request_ok(&mut self, command: &str, arguments: Value) -> Value {
        match self.request(command, arguments) {
            Ok(body) => body,
            Err(response) => self.fail(&format!("`{command}` failed: {response}")),
        }
    }

    /// Sends a request that must fail, and returns the error's text.
    pub fn request_error(&mut self, command: &str, arguments: Value) -> String {
        match self.request(command, arguments) {
            Ok(body) => self.fail(&format!("`{command}` succeeded: {body}")),
            Err(response) => error_text(&response),
        }
    }

    /// Waits for the next unread event of this name; returns its body.
    pub fn wait_event(&mut self, name: &str) -> Value {
        self.wait_event_where(name, |_| true)
    }

    /// Waits for the next unread event of this name whose body matches.
    pub fn wait_event_where(&mut self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait_for(&format!("the event `{name}`"), |message| {
            message["event"] == name && fits(&message["body"])
        })["body"]
            .take()
    }

    /// Waits for the next unread event of any of these names; returns the whole message.
    pub fn wait_event_of(&mut self, names: &[&str]) -> Value {
        self.wait_for(&format!("an event of {names:?}"), |message| {
            message["event"]
                .as_str()
                .is_some_and(|name| names.contains(&name))
        })
    }

    /// Resumes after a stop that has been received but not awaited, if there is one.
    pub fn drain_stops(&mut self) {
        let is_stop = |message: &Value| message["event"] == "stopped";
        while let Some(place) = self.unread.iter().position(is_stop) {
            self.unread.remove(place);
            self.continue_();
        }
    }

    /// Takes the next unread message; `None` after `limit`.
    pub fn next_message(&mut self, limit: Duration) -> Option<Value> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(message) = self.unread.pop_front() {
                return Some(message);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.receive(left) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => self.fail("the adapter is gone"),
            }
        }
    }

    /// Waits for a stop with this reason; no other stop may come first.
    pub fn expect_stopped(&mut self, reason: &str) -> Value {
        self.expect_stopped_by(&[reason])
    }

    /// Waits for a stop with one of these reasons; returns the event's body.
    pub fn expect_stopped_by(&mut self, reasons: &[&str]) -> Value {
        let what = reasons.join(" or ");
        let message = self.wait_for(&format!("stopped: {what}"), |message| {
            message["event"] == "stopped" || message["event"] == "terminated"
        });
        let body = &message["body"];
        let expected = reasons.iter().any(|reason| body["reason"] == *reason);
        if message["event"] != "stopped" || !expected {
            self.fail(&format!("not stopped: {what}, but {message}"));
        }
        if body["allThreadsStopped"] == self.non_stop {
            self.fail("`allThreadsStopped` is wrong");
        }
        match body["threadId"].as_i64() {
            Some(thread) => self.thread = thread,
            None => self.fail("stopped without a thread"),
        }
        body.clone()
    }

    /// Waits for the end of the debuggee and of the session; returns the exit code.
    pub fn expect_exit(&mut self) -> i64 {
        let message = self.wait_for("the end of the program", |message| {
            message["event"] == "exited" || message["event"] == "stopped"
        });
        let Some(code) = message["body"]["exitCode"].as_i64() else {
            self.fail(&format!("no end, but {message}"));
        };
        self.wait_event("terminated");
        code
    }

    /// Takes the first unread message that matches, in the order received.
    fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let place = self.await_unread(what, fits);
        self.unread.remove(place).expect("it is there")
    }

    /// Waits for the first unread message that matches; returns its index.
    fn await_unread(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> usize {
        let mut patience = Patience::new();
        let mut seen = 0;
        loop {
            while seen < self.unread.len() {
                if fits(&self.unread[seen]) {
                    return seen;
                }
                seen += 1;
            }
            match self.receive(patience.portion()) {
                Ok(()) => patience.renew(),
                Err(RecvTimeoutError::Timeout) if patience.is_left() => {}
                Err(RecvTimeoutError::Timeout) => self.fail(&format!("no sign of {what}")),
                Err(RecvTimeoutError::Disconnected) => {
                    self.fail(&format!("the adapter is gone before {what}"));
                }
            }
        }
    }

    /// Receives the next message, which comes within `limit`, into the list of unread ones.
    fn receive(&mut self, limit: Duration) -> Result<(), RecvTimeoutError> {
        if self.closed {
            return Err(RecvTimeoutError::Disconnected);
        }
        match self.incoming.recv_timeout(limit)? {
            Incoming::Message(message) => {
                self.log(format!("← {message}"));
                if let Err(violation) = self.check(&message) {
                    self.fail(&format!("{violation}\nin {message}"));
                }
                self.history.push(message.clone());
                self.unread.push_back(message);
                Ok(())
            }
            Incoming::Complaint(line) => {
                self.log(format!("! {line}"));
                Ok(())
            }
            Incoming::Violation(violation) => self.fail(&violation),
            Incoming::Closed => {
                self.log("← end".to_owned());
                self.closed = true;
                Ok(())
            }
        }
    }

    fn check(&mut self, message: &Value) -> Result<(), String> {
        schema::check(message)?;
        self.last_received += 1;
        if message["seq"] != self.last_received {
            return Err(format!("`seq` is not {}", self.last_received));
        }
        if message["type"] == "response" {
            let sequence = message["request_seq"].as_i64().ok_or("no `request_seq`")?;
            match self.commands.remove(&sequence) {
                Some(command) if message["command"] == command.as_str() => {}
                Some(command) => return Err(format!("the request was `{command}`")),
                // A frame written by a test may have had this number.
                None if self.wrote_raw => {}
                None => return Err(format!("no request {sequence} waits for a reply")),
            }
        }
        Ok(())
    }

    /// Accepts a response to a request that a test has written itself, without [`DapClient::send`].
    pub fn await_answer_to(&mut self, sequence: i64, command: &str) {
        self.commands.insert(sequence, command.to_owned());
        self.next_sequence = self.next_sequence.max(sequence + 1);
    }

    /// Returns every message received so far, in order.
    pub fn history(&self) -> &[Value] {
        &self.history
    }

    /// Returns the index of the first message received that matches.
    pub fn position(&self, fits: impl Fn(&Value) -> bool) -> Option<usize> {
        self.history.iter().position(fits)
    }

    /// Returns the text of all output events of a category so far.
    pub fn output(&self, category: &str) -> String {
        self.history
            .iter()
            .filter(|message| message["event"] == "output")
            .filter(|message| message["body"]["category"] == category)
            .filter_map(|message| message["body"]["output"].as_str())
            .collect()
    }

    /// Returns the bodies of the events of this name so far.
    pub fn events_so_far(&self, name: &str) -> Vec<&Value> {
        let events = self.history.iter();
        let events = events.filter(|message| message["event"] == name);
        events.map(|message| &message["body"]).collect()
    }

    /// Returns the number of events of this name so far.
    pub fn count_events(&self, name: &str) -> usize {
        let events = self.history.iter();
        events.filter(|message| message["event"] == name).count()
    }

    fn log(&mut self, mut line: String) {
        const MAX_CHARS: usize = 2000;
        if line.len() > MAX_CHARS {
            let end = (0..=MAX_CHARS)
                .rev()
                .find(|end| line.is_char_boundary(*end));
            line.truncate(end.unwrap_or(0));
            line.push('…');
        }
        let time = self.began.elapsed().as_millis();
        self.transcript.push(format!("{time:6} ms {line}"));
    }

    /// Returns the log of all messages so far.
    pub fn transcript(&self) -> String {
        let mut text = String::new();
        for line in &self.transcript {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Panics with a text and the transcript.
    pub fn fail(&self, text: &str) -> ! {
        panic!("{text}\n{}", self.transcript());
    }
}

impl Drop for DapClient {
    fn drop(&mut self) {
        if let Some(adapter) = &mut self.adapter {
            let _ = adapter.kill();
            let _ = adapter.wait();
        }
    }
}

fn merge(object: &mut Value, more: Value) {
    let members: Map<String, Value> = match more {
        Value::Object(members) => members,
        Value::Null => return,
        other => panic!("{other} is no object"),
    };
    object.as_object_mut().expect("an object").extend(members);
}

fn array(value: &Value) -> Vec<Value> {
    value.as_array().cloned().expect("an array")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Returns the text of an error response with its variables filled in.
fn error_text(response: &Value) -> String {
    let error = &response["body"]["error"];
    let mut text = error["format"].as_str().unwrap_or_default().to_owned();
    for (name, value) in error["variables"].as_object().into_iter().flatten() {
        text = text.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default());
    }
    text
}
