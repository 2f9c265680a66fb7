//! From a stream of bytes to a session and back. Tokio only moves the bytes, on a thread of
//! its own: a reader task fills the session's inbox, a writer task numbers and sends.

use crate::codec::{Codec, FrameError};
use crate::core_file;
use crate::debuginfod;
use crate::handover;
use crate::protocol::{Incoming, Malformed, Outgoing, Request, Response, read_message};
use crate::session::{Session, SessionError};
use crate::stdio::{self, Flags};
use crate::terminal;
use engine::{Debugger, Waker};
use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};

/// Set when the client cancels a request.
pub type CancelFlag = Arc<AtomicBool>;

/// What reaches the session.
#[derive(Debug)]
pub enum Inbound {
    /// A request.
    Request(Request, CancelFlag, Weight),
    /// An answer.
    Response(Response),
    /// A message that cannot be understood.
    Malformed(Malformed, Weight),
    /// News of a program started in a terminal.
    Terminal(terminal::Report),
    /// The folder of Rust's own sources, if there is one.
    RustSources(Option<PathBuf>),
    /// News of a child that is to have a session of its own.
    Child(handover::Report),
    /// The child that we are to attach to.
    Given(handover::Given),
    /// What became of fetching debug info.
    DebugFile(debuginfod::Report),
    /// A core file is unpacked, or cannot be.
    Core(core_file::Report),
    /// The client is gone, or sends garbage.
    Ended(Result<(), FrameError>),
}

/// The session's way in, from any thread.
#[derive(Clone)]
pub struct Inbox {
    queue: mpsc::Sender<Inbound>,
    waker: Waker,
}

impl Inbox {
    /// Hands something to the session; when that has ended already, nothing happens.
    pub fn put(&self, inbound: Inbound) {
        if self.queue.send(inbound).is_ok() {
            self.waker.wake();
        }
    }
}

/// Below this many queued bytes the debuggee's output flows again.
const LOW_WATER: usize = 1 << 20;
/// Above this many queued bytes the debuggee's output has to wait.
const HIGH_WATER: usize = 4 << 20;
/// Above this many queued bytes the client has to read before it is listened to.
const FLOOD: usize = 64 << 20;
/// Above this many bytes of requests not yet carried out, the client has to wait.
const BACKLOG: usize = 16 << 20;

/// The session's way out.
pub struct Outbox {
    queue: UnboundedSender<String>,
    queued: Arc<Queued>,
    /// Messages so far: the writer numbers them in their order.
    sent: Cell<u64>,
}

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

    /// Comes back when the client may be listened to.
    async fn room(&self) {
        while self.bytes() > FLOOD || self.received.load(Ordering::Relaxed) > BACKLOG {
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

impl Outbox {
    /// Queues a message; gives the number it will have.
    pub fn send(&self, message: &Outgoing<'_>) -> Option<u64> {
        match serde_json::to_string(message) {
            Ok(json) => {
                self.sent.set(self.sent.get() + 1);
                self.queued.bytes.fetch_add(json.len(), Ordering::Relaxed);
                // Fails only when the client is gone, of which the reader tells.
                let _ = self.queue.send(json);
                Some(self.sent.get())
            }
            Err(error) => {
                tracing::error!(%error, "a message cannot be written");
                None
            }
        }
    }

    /// Whether the client reads too slowly.
    pub fn is_full(&self) -> bool {
        self.queued.bytes() > HIGH_WATER
    }
}

/// Serves one client to the end; `open` makes the streams, on the thread that moves the bytes.
///
/// # Errors
/// A stream that is no DAP; a system that refuses what a debugger needs.
pub fn serve<R, W, F>(open: F) -> Result<(), SessionError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin,
    F: FnOnce() -> io::Result<(R, W)> + Send + 'static,
{
    let debugger = Debugger::new()?;
    let waker = debugger.waker();
    let (sender, receiver) = mpsc::channel();
    let inbox = Inbox {
        queue: sender,
        waker: waker.clone(),
    };
    let (queue, messages) = unbounded_channel();
    let queued = Arc::new(Queued::default());
    let outbox = Outbox {
        queue,
        queued: Arc::clone(&queued),
        sent: Cell::new(0),
    };
    let (done, flushed) = mpsc::channel();
    let (reader_inbox, io_waker) = (inbox.clone(), waker);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("io".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                match open() {
                    Ok((reader, writer)) => {
                        tokio::spawn(read(reader, reader_inbox, Arc::clone(&queued)));
                        write(writer, messages, &queued, &io_waker).await;
                    }
                    Err(error) => reader_inbox.put(Inbound::Ended(Err(error.into()))),
                }
            });
            // Reading from stdin may block for ever; the process ends without it.
            runtime.shutdown_background();
            let _ = done.send(());
        })?;
    let end = Session::new(debugger, inbox, outbox).run(&receiver);
    // A client that does not read any more must not keep us.
    let _ = flushed.recv_timeout(Duration::from_secs(2));
    end
}

/// Reads messages to the end. A `cancel` takes effect here, past all that is queued.
async fn read(reader: impl AsyncRead + Unpin, inbox: Inbox, queued: Arc<Queued>) {
    let mut frames = Frames::new(reader);
    let mut flags: HashMap<i64, Weak<AtomicBool>> = HashMap::new();
    let mut prune_at = 64;
    let end = loop {
        queued.room().await;
        let bytes = match frames.next().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        tracing::debug!(message = %String::from_utf8_lossy(&bytes), "received");
        let weight = Weight::of(&bytes, &queued);
        inbox.put(match read_message(&bytes) {
            Err(malformed) => Inbound::Malformed(malformed, weight),
            Ok(Incoming::Response(response)) => Inbound::Response(response),
            Ok(Incoming::Request(request)) => {
                if request.command == "cancel" {
                    let id = request
                        .arguments
                        .get("requestId")
                        .and_then(|id| id.as_i64());
                    let flag = id.and_then(|id| flags.get(&id)).and_then(Weak::upgrade);
                    if let Some(flag) = flag {
                        flag.store(true, Ordering::Relaxed);
                    }
                }
                if flags.len() >= prune_at {
                    flags.retain(|_, flag| flag.strong_count() > 0);
                    prune_at = 64.max(2 * flags.len());
                }
                if request.command == "disconnect" {
                    let before = flags.values().cloned().collect();
                    tokio::spawn(give_up_after(PATIENCE, before));
                }
                let flag = CancelFlag::default();
                flags.insert(request.seq, Arc::downgrade(&flag));
                Inbound::Request(request, flag, weight)
            }
        });
    };
    inbox.put(Inbound::Ended(end));
}

/// How long a client that disconnects waits for what it has asked for before.
const PATIENCE: Duration = Duration::from_millis(200);

/// Cancels, after a while, what has not been answered by then.
async fn give_up_after(patience: Duration, flags: Vec<Weak<AtomicBool>>) {
    tokio::time::sleep(patience).await;
    for flag in flags.iter().filter_map(Weak::upgrade) {
        flag.store(true, Ordering::Relaxed);
    }
}

/// Sends messages until the session ends, numbered from 1.
async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut messages: UnboundedReceiver<String>,
    queued: &Queued,
    waker: &Waker,
) {
    let (mut seq, mut broken) = (0_u64, false);
    let (mut frames, mut numbered) = (BytesMut::new(), String::new());
    while let Some(first) = messages.recv().await {
        let (mut next, mut taken) = (Some(first), 0);
        while let Some(message) = next {
            seq += 1;
            taken += message.len();
            numbered.clear();
            numbered.push_str(&format!("{{\"seq\":{seq},"));
            numbered.push_str(message.strip_prefix('{').unwrap_or(&message));
            tracing::debug!(message = numbered, "sent");
            // Writing to memory does not fail.
            let _ = Codec::default().encode(numbered.as_bytes(), &mut frames);
            next = match frames.len() < (64 << 10) {
                true => messages.try_recv().ok(),
                false => None,
            };
        }
        if !broken {
            let written = async {
                writer.write_all(&frames).await?;
                writer.flush().await
            };
            if let Err(error) = written.await {
                tracing::warn!(%error, "the client does not listen any more");
                broken = true;
            }
        }
        frames.clear();
        let before = queued.bytes.fetch_sub(taken, Ordering::Relaxed);
        queued.less.notify_one();
        if before > LOW_WATER && before - taken <= LOW_WATER {
            waker.wake();
        }
    }
}

/// The messages of a stream.
pub struct Frames<R> {
    reader: R,
    codec: Codec,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// The messages of `reader`.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            codec: Codec::default(),
            buffer: BytesMut::with_capacity(16 << 10),
        }
    }

    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// The stream cannot be read, or is no sequence of messages.
    pub async fn next(&mut self) -> Result<Option<BytesMut>, FrameError> {
        loop {
            if let Some(message) = self.codec.decode(&mut self.buffer)? {
                return Ok(Some(message));
            }
            let read = tokio::io::AsyncReadExt::read_buf(&mut self.reader, &mut self.buffer);
            if read.await? == 0 {
                return self.codec.decode_eof(&mut self.buffer);
            }
        }
    }
}

/// Serves the client on stdin and stdout.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio() -> Result<(), SessionError> {
    // Whoever shares the pipes with us finds them as they were.
    let _as_they_were = [Flags::of(io::stdin()), Flags::of(io::stdout())];
    serve(|| Ok((stdio::input()?, stdio::output()?)))
}

/// Serves the client on the socket that is our stdin.
///
/// # Errors
/// As [`serve`].
pub fn serve_socket() -> Result<(), SessionError> {
    serve(|| {
        let socket = TcpStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(tokio::net::TcpStream::from_std(socket)?.into_split())
    })
}

/// Gives each connection a process of its own: SIGCHLD belongs to a process, so a session
/// does, and no crash costs more than one.
///
/// # Errors
/// The address cannot be had, or our own program is not to be found.
pub fn listen(addresses: &[SocketAddr], hand_on: &[String]) -> io::Result<()> {
    let listener = TcpListener::bind(addresses)?;
    let program = std::env::current_exe()?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let (socket, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "accept");
                thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        tracing::info!(%peer, "connected");
        let child = Command::new(&program)
            .args(["dap", "--socket-on-stdin"])
            .args(hand_on)
            .stdin(Stdio::from(OwnedFd::from(socket)))
            .stdout(Stdio::null())
            .spawn();
        match child {
            Ok(mut child) => drop(thread::spawn(move || child.wait())),
            Err(error) => tracing::error!(%error, "no process for a connection"),
        }
    }
}
