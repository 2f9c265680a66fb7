//! The link to an adapter process, which speaks DAP on its standard streams, and the state that its
//! messages describe.

use super::error::ToolError;
use super::output::{Output, Stream};
use crate::requests::{Effect, find};
use crate::server::codec::Codec;
use engine::Signal;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};

/// Grace period for the adapter's process to exit after the end of its session.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The state of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Launched or attached to, and held at its start.
    #[default]
    Held,
    /// It runs.
    Running,
    /// It is stopped.
    Stopped,
    /// It has ended; how, as text.
    Ended(String),
    /// The adapter's process has exited.
    Lost,
}

/// The state from the adapter's messages so far.
#[derive(Debug, Default)]
pub struct Told {
    /// The state of the program.
    pub phase: Phase,
    /// Number of stops so far.
    pub stops: u64,
    /// The thread that stopped last.
    pub thread: i64,
    /// The program's and the debugger's output.
    pub output: Output,
    /// Ids of threads in the order of their appearance: a thread's number is its position, from 1.
    pub threads: Vec<i64>,
    /// Breakpoints that changed after they were set, by the adapter's ids.
    pub breakpoints: HashMap<i64, Value>,
    /// Whether the adapter has sent `initialized`.
    pub initialized: bool,
    exit: Option<String>,
    asked: HashMap<i64, (String, oneshot::Sender<Value>)>,
}

impl Told {
    /// Returns a thread's number for agents; assigns one to a new thread.
    pub fn number(&mut self, thread: i64) -> usize {
        let known = self.threads.iter().position(|known| *known == thread);
        known.unwrap_or_else(|| {
            self.threads.push(thread);
            self.threads.len() - 1
        }) + 1
    }

    fn hear(&mut self, message: Value) {
        if let Some(seq) = message["request_seq"].as_i64() {
            let Some((command, answer)) = self.asked.remove(&seq) else {
                return;
            };
            // Set here and not where the response is awaited: the next stop may follow immediately.
            let runs = find(&command).is_some_and(|route| route.effect == Effect::Runs);
            if message["success"] == true && runs {
                self.phase = Phase::Running;
            }
            // The receiver may have stopped waiting.
            let _ = answer.send(message);
            return;
        }
        let body = &message["body"];
        match message["event"].as_str().unwrap_or_default() {
            "initialized" => self.initialized = true,
            "stopped" => {
                self.stops += 1;
                self.thread = body["threadId"].as_i64().unwrap_or_default();
                self.phase = Phase::Stopped;
            }
            "continued" => self.phase = Phase::Running,
            "thread" if body["reason"] == "started" => {
                self.number(body["threadId"].as_i64().unwrap_or_default());
            }
            "output" => {
                let text = body["output"].as_str().unwrap_or_default();
                self.output
                    .push(Stream::of(body["category"].as_str()), text);
            }
            "breakpoint" => {
                let breakpoint = &body["breakpoint"];
                let mut told = breakpoint.clone();
                told["removed"] = json!(body["reason"] == "removed");
                self.breakpoints
                    .insert(breakpoint["id"].as_i64().unwrap_or_default(), told);
            }
            "exited" => {
                let code = body["exitCode"].as_i64().unwrap_or_default();
                self.exit = Some(exit_text(code));
            }
            "terminated" => {
                let how = self.exit.take();
                self.phase = Phase::Ended(how.unwrap_or_else(|| "it is debugged no more".into()));
            }
            _ => {}
        }
    }
}

/// Describes how a program ended: a code above 128 may stand for a signal.
fn exit_text(code: i64) -> String {
    let signal = i32::try_from(code - 128)
        .ok()
        .filter(|it| (1..=64).contains(it));
    match signal {
        Some(signal) => format!("exit code {code} ({})", Signal(signal).name()),
        None => format!("exit code {code}"),
    }
}

/// An adapter process.
pub struct Link {
    requests: UnboundedSender<Value>,
    told: Arc<Mutex<Told>>,
    /// Changes with each message.
    news: watch::Receiver<u64>,
    seq: Mutex<i64>,
    child: Mutex<Option<Child>>,
}

impl Link {
    /// Starts an adapter process.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start() -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("dap")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("no pipes");
        let stdin = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
        let stdout = OwnedFd::from(child.stdout.take().ok_or_else(missing)?);
        let (requests, queue) = unbounded_channel();
        tokio::spawn(write(pipe::Sender::from_owned_fd(stdin)?, queue));
        let mut stdout = pipe::Receiver::from_owned_fd(stdout)?;
        let told = Arc::new(Mutex::new(Told::default()));
        let (tell, news) = watch::channel(0_u64);
        let heard = Arc::clone(&told);
        tokio::spawn(async move {
            let (mut codec, mut buffer) = (Codec::default(), BytesMut::new());
            while let Some(frame) = next(&mut stdout, &mut codec, &mut buffer).await {
                if let Ok(message) = serde_json::from_slice(&frame) {
                    lock(&heard).hear(message);
                    tell.send_modify(|count| *count += 1);
                }
            }
            let mut told = lock(&heard);
            told.phase = Phase::Lost;
            // No more responses will arrive.
            told.asked.clear();
            drop(told);
            tell.send_modify(|count| *count += 1);
        });
        Ok(Self {
            requests,
            told,
            news,
            seq: Mutex::new(0),
            child: Mutex::new(Some(child)),
        })
    }

    /// Returns the state so far.
    pub fn told(&self) -> MutexGuard<'_, Told> {
        lock(&self.told)
    }

    /// Waits until the state satisfies `is_it`, for the time `limit` at most. Returns whether it
    /// does.
    pub async fn wait(&self, limit: Duration, is_it: impl Fn(&Told) -> bool) -> bool {
        let mut news = self.news.clone();
        let satisfied = async {
            loop {
                news.borrow_and_update();
                if is_it(&self.told()) {
                    return true;
                }
                if news.changed().await.is_err() {
                    return is_it(&self.told());
                }
            }
        };
        tokio::time::timeout(limit, satisfied)
            .await
            .unwrap_or(false)
    }

    /// Sends a request, and returns the handle of its response.
    ///
    /// # Errors
    /// The adapter's process has exited.
    pub fn send(&self, command: &str, arguments: Value) -> Result<Asked, ToolError> {
        let seq = {
            let mut seq = lock(&self.seq);
            *seq += 1;
            *seq
        };
        let (sender, answer) = oneshot::channel();
        {
            let mut told = self.told();
            if told.phase == Phase::Lost {
                return Err(ToolError::lost());
            }
            told.asked.insert(seq, (command.to_owned(), sender));
        }
        let asked = Asked {
            seq,
            answer,
            requests: Some(self.requests.clone()),
        };
        let request = json!({
            "seq": seq, "type": "request", "command": command, "arguments": arguments
        });
        self.requests.send(request).map_err(|_| ToolError::lost())?;
        Ok(asked)
    }

    /// Sends a request and waits for the body of its response.
    ///
    /// # Errors
    /// The request failed, or the adapter's process has exited.
    pub async fn request(&self, command: &str, arguments: Value) -> Result<Value, ToolError> {
        self.send(command, arguments)?.body().await
    }

    /// Ends the session and its process. A launched program ends with it, unless `terminate` says
    /// otherwise.
    pub async fn close(&self, terminate: Option<bool>) {
        let arguments = match terminate {
            Some(terminate) => json!({"terminateDebuggee": terminate}),
            None => json!({}),
        };
        // The process exits whatever the response is.
        let _ = self.request("disconnect", arguments).await;
        let Some(mut child) = lock(&self.child).take() else {
            return;
        };
        let gone = self
            .wait(LAST_WORDS, |told| told.phase == Phase::Lost)
            .await;
        if !gone && let Err(error) = child.kill() {
            tracing::warn!(%error, "a session's process cannot be killed");
        }
        // Its streams are closed: it is about to exit.
        let _ = child.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the next message; `None` at the end of the stream, or if it is not DAP.
async fn next(
    stream: &mut pipe::Receiver,
    codec: &mut Codec,
    buffer: &mut BytesMut,
) -> Option<BytesMut> {
    loop {
        if let Some(frame) = codec.decode(buffer).ok()? {
            return Some(frame);
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// Writes requests until the queue is closed. A request is always written completely, even if its
/// sender stops waiting.
async fn write(mut stream: pipe::Sender, mut queue: UnboundedReceiver<Value>) {
    let mut frame = BytesMut::new();
    while let Some(message) = queue.recv().await {
        frame.clear();
        // Writing to memory does not fail.
        let _ = Codec::default().encode(message.to_string().as_bytes(), &mut frame);
        if let Err(error) = stream.write_all(&frame).await {
            // The reader reports the lost session.
            tracing::warn!(%error, "a session does not listen");
            return;
        }
    }
}

/// A request without a response yet. Dropping it cancels the request.
pub struct Asked {
    seq: i64,
    answer: oneshot::Receiver<Value>,
    requests: Option<UnboundedSender<Value>>,
}

impl Asked {
    /// Waits for the body of the response.
    ///
    /// # Errors
    /// The request failed, or the adapter's process has exited.
    pub async fn body(mut self) -> Result<Value, ToolError> {
        let answer = (&mut self.answer).await;
        self.requests = None;
        let mut answer = answer.map_err(|_| ToolError::lost())?;
        match answer["success"] == true {
            true => Ok(answer["body"].take()),
            false => Err(ToolError::of_answer(&answer)),
        }
    }

    /// Returns true if the response has arrived.
    pub fn is_answered(&self) -> bool {
        !self.answer.is_empty() || self.answer.is_terminated()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(requests) = self.requests.take() else {
            return;
        };
        // The number does not matter: the response to `cancel` is ignored.
        let cancel = json!({
            "seq": 0, "type": "request", "command": "cancel",
            "arguments": {"requestId": self.seq},
        });
        // Fails only if the adapter has exited.
        let _ = requests.send(cancel);
    }
}
