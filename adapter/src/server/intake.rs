//! Reading from the client. The session thread reads whenever it is idle. While it is busy with a
//! long request, the transport thread reads in its place, so that a `cancel` takes effect.

use super::{CancelFlag, InFlightBytes, Inbound, Inbox, Queued};
use crate::files::log;
use crate::protocol::{Incoming, Malformed, Request, read_message};
use crate::server::codec::{Codec, FrameError};
use crate::server::stream::Stream;
use engine::os::host::Alarm;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::bytes::{BufMut, BytesMut};
use tokio_util::codec::Decoder;

/// Duration of a request after which the transport thread reads in the session's place.
const BUSY_AFTER: Duration = Duration::from_millis(5);
/// Grace period for unanswered requests after a `disconnect`; then they are cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum number of bytes per read.
const READ_BYTES: usize = 64 << 10;

/// The client's messages; read by the session thread or the transport thread.
pub struct Intake<Report> {
    stream: Stream,
    reader: Mutex<Reader>,
    queued: Arc<Queued>,
    inbox: Inbox<Report>,
    /// The runtime of the transport thread; `None` if there is none. Empty until that thread has started.
    runtime: OnceLock<Option<Handle>>,
    /// Whether the session is handling a request.
    busy: AtomicBool,
    /// Fires when the session may have been busy for [`BUSY_AFTER`].
    alarm: Alarm,
    /// Whether the alarm is set: a series of short requests sets it once.
    alarm_set: AtomicBool,
    /// Whether the transport thread reads.
    transport_reads: AtomicBool,
    /// Notifies the transport thread that the session reads again.
    back: Notify,
    /// Called when the client has disconnected or its stream has ended, also while the session is busy.
    on_end: fn(),
}

/// The state of the stream.
struct Reader {
    codec: Codec,
    buffer: BytesMut,
    portion: Box<[u8]>,
    /// Cancel flags of unanswered requests, by sequence number.
    flags: HashMap<i64, Weak<AtomicBool>>,
    prune_at: usize,
    ended: bool,
}

/// The result of a read.
#[derive(PartialEq, Eq)]
enum Read {
    /// Messages, or a part of one.
    Some,
    /// No bytes are available now.
    Nothing,
    /// The stream has ended.
    Ended,
}

impl<Report> Intake<Report> {
    /// Creates the intake of `stream`. `on_end` is called when the client has disconnected or the stream has ended.
    ///
    /// # Errors
    /// The system has no timers left.
    pub(super) fn new(
        stream: Stream,
        queued: Arc<Queued>,
        inbox: Inbox<Report>,
        on_end: fn(),
    ) -> io::Result<Self> {
        Ok(Self {
            stream,
            reader: Mutex::new(Reader {
                codec: Codec::default(),
                buffer: BytesMut::with_capacity(READ_BYTES),
                portion: vec![0; READ_BYTES].into_boxed_slice(),
                flags: HashMap::new(),
                prune_at: 64,
                ended: false,
            }),
            queued,
            inbox,
            runtime: OnceLock::new(),
            busy: AtomicBool::new(false),
            alarm: Alarm::new()?,
            alarm_set: AtomicBool::new(false),
            transport_reads: AtomicBool::new(false),
            back: Notify::new(),
            on_end,
        })
    }

    /// Sets the runtime of the thread that runs [`Intake::read_while_busy`].
    pub(super) fn set_runtime(&self, runtime: Option<Handle>) {
        // Only the transport thread does this, once.
        let _ = self.runtime.set(runtime);
    }

    /// Adds bytes that were read from the stream earlier.
    pub(super) fn push_bytes(&self, bytes: BytesMut) {
        let mut reader = self.reader();
        reader.buffer.unsplit(bytes);
        reader.decode(self);
    }

    fn reader(&self) -> MutexGuard<'_, Reader> {
        // A panic with the lock held loses one message at most.
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the descriptor that the session waits for besides the debuggee; `None` under
    /// backpressure and at the end of the stream.
    pub fn wait_descriptor(&self) -> Option<BorrowedFd<'_>> {
        let listens = self.queued.has_room() && !self.reader().ended;
        listens.then(|| self.stream.as_fd())
    }

    /// Reads what is available, on the session thread.
    pub fn read(&self) {
        self.reader()
            .read(self, |portion| self.stream.read(portion));
    }

    /// Waits for input and reads it. Returns false after the timeout and at the end of the stream.
    pub fn read_within(&self, timeout: Duration) -> bool {
        let mut files = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
        poll(&mut files, timeout).is_ok_and(|ready| ready > 0)
            && self
                .reader()
                .read(self, |portion| self.stream.read(portion))
                != Read::Ended
    }

    /// Marks the session as busy with a request.
    pub fn begin(&self) {
        self.busy.store(true, Ordering::SeqCst);
        if !self.alarm_set.swap(true, Ordering::SeqCst)
            && let Err(error) = self.alarm.set(BUSY_AFTER)
        {
            tracing::warn!(%error, "cancel requests are read late");
        }
    }

    /// Marks the session as idle.
    pub fn end(&self) {
        self.busy.store(false, Ordering::SeqCst);
        if self.transport_reads.load(Ordering::SeqCst) {
            self.back.notify_one();
        }
    }

    /// Reads in the session's place whenever it is busy for long. Returns at the end of the stream.
    ///
    /// # Errors
    /// The system has no descriptors left, or the stream cannot be waited for.
    pub async fn read_while_busy(&self) -> io::Result<()> {
        // A file is always readable, and a user at a terminal is slower than any request.
        if !self.stream.never_blocks() {
            return Ok(());
        }
        // `pipe::Receiver` accepts any descriptor that can be polled and read.
        let alarm = self.alarm.as_fd().try_clone_to_owned()?;
        let alarm = pipe::Receiver::from_owned_fd_unchecked(alarm)?;
        loop {
            alarm.readable().await?;
            let _ = alarm.try_read(&mut [0; 8]);
            // The next busy request sets it again.
            self.alarm_set.store(false, Ordering::SeqCst);
            self.transport_reads.store(true, Ordering::SeqCst);
            // Stop reading as soon as the session is idle: otherwise each message would wake this
            // thread as well, and the session would wait for its lock.
            let read = match self.busy.load(Ordering::SeqCst) {
                true => tokio::select! {
                    read = self.read_to_end() => read?,
                    () = self.back.notified() => Read::Nothing,
                },
                false => Read::Nothing,
            };
            self.transport_reads.store(false, Ordering::SeqCst);
            if read == Read::Ended {
                return Ok(());
            }
        }
    }

    /// Reads and wakes the session, until the end of the stream.
    async fn read_to_end(&self) -> io::Result<Read> {
        let stream = pipe::Receiver::from_owned_fd_unchecked(self.stream.descriptor()?)?;
        loop {
            self.queued.room().await;
            stream.readable().await?;
            let read = (self.reader()).read(self, |portion| stream.try_read(portion));
            if read != Read::Nothing {
                self.inbox.wake();
            }
            if read == Read::Ended {
                return Ok(read);
            }
        }
    }

    /// Queues a message for the session. A `cancel` takes effect here, ahead of queued messages.
    fn queue_messages(&self, reader: &mut Reader, bytes: &[u8]) {
        tracing::debug!(message = %log::shown(bytes), "received");
        let weight = InFlightBytes::of(bytes, &self.queued);
        let inbound = match read_message(bytes) {
            Err(malformed) => Inbound::Malformed(malformed, weight),
            Ok(Incoming::Response(response)) => Inbound::Response(response),
            Ok(Incoming::Event { seq, .. }) => Inbound::Malformed(Malformed::event(seq), weight),
            Ok(Incoming::Request(request)) => {
                if request.command == "disconnect" {
                    (self.on_end)();
                    let before = reader.flags.values();
                    let before: Vec<_> = before.filter_map(Weak::upgrade).collect();
                    if !before.is_empty()
                        && let Some(runtime) = self.runtime.wait()
                    {
                        runtime.spawn(cancel_after(CANCEL_TIMEOUT, before));
                    }
                }
                let flag = reader.flag(&request);
                Inbound::Request(request, flag, weight)
            }
        };
        self.inbox.put_without_wake(inbound);
    }
}

impl Reader {
    /// Reads one portion of what is available.
    fn read(
        &mut self,
        intake: &Intake<impl Sized>,
        portion: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> Read {
        if self.ended {
            return Read::Ended;
        }
        let count = match portion(&mut self.portion) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Read::Some,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Read::Nothing,
            Err(error) => return self.end(intake, Err(error.into())),
        };
        self.buffer.put_slice(&self.portion[..count]);
        let read = self.decode(intake);
        if count > 0 || read == Read::Ended {
            return read;
        }
        let end = self.codec.decode_eof(&mut self.buffer);
        self.end(intake, end.map(|_| ()))
    }

    /// Queues all complete messages.
    fn decode(&mut self, intake: &Intake<impl Sized>) -> Read {
        loop {
            match self.codec.decode(&mut self.buffer) {
                Ok(Some(message)) => intake.queue_messages(self, &message),
                Ok(None) => return Read::Some,
                Err(error) => return self.end(intake, Err(error)),
            }
        }
    }

    fn end(&mut self, intake: &Intake<impl Sized>, end: Result<(), FrameError>) -> Read {
        self.ended = true;
        (intake.on_end)();
        intake.inbox.put_without_wake(Inbound::Ended(end));
        Read::Ended
    }

    /// Creates the cancel flag of a request. For a `cancel`, first sets the flag of the request
    /// that it names.
    fn flag(&mut self, request: &Request) -> CancelFlag {
        if request.command == "cancel" {
            let id = request.arguments.get("requestId");
            let flag = id.and_then(|id| self.flags.get(&id.as_i64()?));
            if let Some(flag) = flag.and_then(Weak::upgrade) {
                flag.store(true, Ordering::Relaxed);
            }
        }
        if self.flags.len() >= self.prune_at {
            self.flags.retain(|_, flag| flag.strong_count() > 0);
            self.prune_at = 64.max(2 * self.flags.len());
        }
        let flag = CancelFlag::default();
        self.flags.insert(request.seq, Arc::downgrade(&flag));
        flag
    }
}

/// Cancels what is still unanswered after a grace period.
async fn cancel_after(timeout: Duration, flags: Vec<CancelFlag>) {
    tokio::time::sleep(timeout).await;
    for flag in flags {
        flag.store(true, Ordering::Relaxed);
    }
}
