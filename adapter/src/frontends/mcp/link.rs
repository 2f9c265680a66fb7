//! A session: a process of our own program that speaks the protocol on its standard streams, and
//! what it has told so far.

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

/// How long a session that is over may take to end its process.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Where the program stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Launched or attached to, and not let go yet.
    #[default]
    Held,
    /// It runs.
    Running,
    /// It is stopped.
    Stopped,
    /// It is over; how, for people.
    Ended(String),
    /// The session's process is gone.
    Lost,
}

/// What the session has told.
#[derive(Debug, Default)]
pub struct Told {
    /// Where the program stands.
    pub phase: Phase,
    /// How often it stopped.
    pub stops: u64,
    /// The thread that stopped last.
    pub thread: i64,
    /// What was written.
    pub output: Output,
    /// Threads in the order in which they were told of: a thread's number is its place, from 1.
    pub threads: Vec<i64>,
    /// Breakpoints that have changed since they were set, by the session's number.
    pub breakpoints: HashMap<i64, Value>,
    /// The session is ready for breakpoints.
    pub initialized: bool,
    exit: Option<String>,
    asked: HashMap<i64, (String, oneshot::Sender<Value>)>,
}

impl Told {
    /// A thread's number in our texts.
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
            // Here and not where the answer is waited for: the next stop may be right behind.
            let runs = find(&command).is_some_and(|route| route.effect == Effect::Runs);
            if message["success"] == true && runs {
                self.phase = Phase::Running;
            }
            // Whoever asked may have given up.
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

/// How a program ended: of a number beyond 128 which signal it stands for.
fn exit_text(code: i64) -> String {
    let signal = i32::try_from(code - 128)
        .ok()
        .filter(|it| (1..=64).contains(it));
    match signal {
        Some(signal) => format!("exit code {code} ({})", Signal(signal).name()),
        None => format!("exit code {code}"),
    }
}

/// A session's process.
pub struct Link {
    requests: UnboundedSender<Value>,
    told: Arc<Mutex<Told>>,
    /// Counts what was told.
    news: watch::Receiver<u64>,
    seq: Mutex<i64>,
    child: Mutex<Option<Child>>,
}

impl Link {
    /// Starts a process for a session.
    ///
    /// # Errors
    /// It cannot be started.
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
            // Nobody will answer.
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

    /// What was told so far.
    pub fn told(&self) -> MutexGuard<'_, Told> {
        lock(&self.told)
    }

    /// Waits until what was told satisfies `is_it`, or the time is over; says whether it does.
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

    /// Sends a request; its answer is to be waited for.
    ///
    /// # Errors
    /// The session's process is gone.
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

    /// Asks, and waits for the answer's body.
    ///
    /// # Errors
    /// The request failed, or the session's process is gone.
    pub async fn request(&self, command: &str, arguments: Value) -> Result<Value, ToolError> {
        self.send(command, arguments)?.body().await
    }

    /// Ends the session and its process. The program ends with it if it was launched, unless
    /// `terminate` says otherwise.
    pub async fn close(&self, terminate: Option<bool>) {
        let arguments = match terminate {
            Some(terminate) => json!({"terminateDebuggee": terminate}),
            None => json!({}),
        };
        // Whatever it answers, it ends.
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
        // Its streams are closed: it is as good as gone.
        let _ = child.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next message; none at the end, and where what comes is no protocol.
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

/// Writes what is asked, until nobody can ask any more: no request is ever left half written,
/// whoever gives up waiting for it.
async fn write(mut stream: pipe::Sender, mut queue: UnboundedReceiver<Value>) {
    let mut frame = BytesMut::new();
    while let Some(message) = queue.recv().await {
        frame.clear();
        // Writing to memory does not fail.
        let _ = Codec::default().encode(message.to_string().as_bytes(), &mut frame);
        if let Err(error) = stream.write_all(&frame).await {
            // The reader will tell that the session is lost.
            tracing::warn!(%error, "a session does not listen");
            return;
        }
    }
}

/// A request without an answer yet. If it is dropped so, the session is told to give it up.
pub struct Asked {
    seq: i64,
    answer: oneshot::Receiver<Value>,
    requests: Option<UnboundedSender<Value>>,
}

impl Asked {
    /// The answer's body.
    ///
    /// # Errors
    /// The request failed, or the session's process is gone.
    pub async fn body(mut self) -> Result<Value, ToolError> {
        let answer = (&mut self.answer).await;
        self.requests = None;
        let mut answer = answer.map_err(|_| ToolError::lost())?;
        match answer["success"] == true {
            true => Ok(answer["body"].take()),
            false => Err(ToolError::of_answer(&answer)),
        }
    }

    /// Whether the answer is here.
    pub fn is_answered(&self) -> bool {
        !self.answer.is_empty() || self.answer.is_terminated()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(requests) = self.requests.take() else {
            return;
        };
        // Numbers of requests are our own; nobody waits for this one's answer.
        let cancel = json!({
            "seq": 0, "type": "request", "command": "cancel",
            "arguments": {"requestId": self.seq},
        });
        // Fails where there is nobody left to cancel anything.
        let _ = requests.send(cancel);
    }
}
