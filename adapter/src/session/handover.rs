//! Hands a child process over to a session of its own. A session is an adapter process, so the
//! child moves from one tracer to another: the parent's session holds the child and sends the
//! client `startDebugging` with the path of a socket. The new session connects, sends its process
//! id, receives the addresses of the child's spin loop, attaches and confirms. A child that no
//! session requests or attaches to is detached. Afterwards, the parent's session sends changed
//! settings over the socket.
//!
//! # How a child changes its tracer
//!
//! 1. A child to be followed is held at its birth or after its `execve`, and our traps are removed
//!    from its memory (`inferior/children.rs`). The parent resumes at once.
//! 2. The adapter (`session/children.rs`) opens a socket and sends `startDebugging` with an
//!    `attach` that names it. If the client cannot or refuses, or `followForkTimeout` expires, the
//!    child is detached. If we are killed before that, it dies if its parent was launched
//!    (EXITKILL), and otherwise keeps running.
//! 3. The new session identifies itself at the socket (`session/handover.rs`). The child permits
//!    that tracer (Yama), gets a jump to itself at its pc, and is detached. A SIGSTOP would be
//!    visible to a parent that waits with WUNTRACED.
//! 4. The new session seizes the child (with EXITKILL if its program was launched), stops it,
//!    restores its two bytes, and confirms. If the socket closes before that, the first session
//!    restores the bytes, and the child runs. If the first session ends before that, a helper
//!    process (`os/linux/duty.rs`) waits for the new tracer or the end of the child, then restores
//!    the bytes, or kills the child if its parent was launched.
//!
//! The parent's end is reported after all held children are handed over. With `child` the session
//! itself moves: everything of ours is removed from the parent, which is detached, and the child is
//! followed as after an `execve`. That waits while the user inspects the parent.

use super::reports::{HandoverEvent, Inbox, Report};
use crate::files::own_socket::{OwnListener, OwnSocket};
use engine::{Handover, LoadAddr};
use serde_json::{Map, Value};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Timeout for each message between the two sessions.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// A child that is offered on a socket; the offer ends on drop.
#[derive(Debug)]
pub struct ChildOffer {
    at: OwnSocket,
    /// The connection to the session, once there is one.
    pub socket: Option<UnixStream>,
    /// Settings that changed after the offer and before the session connected.
    pub changed: Map<String, Value>,
}

impl ChildOffer {
    /// Offers a child; waits for the session on a thread of its own.
    ///
    /// # Errors
    /// No socket can be created.
    pub fn open(pid: i32, timeout: Duration, inbox: Inbox) -> io::Result<Self> {
        let (at, listener) = OwnSocket::bind("child")?;
        std::thread::Builder::new()
            .name("handover".to_owned())
            .spawn(move || {
                let report = match await_session(&listener, pid, timeout, &inbox) {
                    Ok(true) => HandoverEvent::Taken { pid },
                    Ok(false) => HandoverEvent::Unwanted { pid },
                    Err(error) => {
                        tracing::info!(pid, %error, "a child was not attached");
                        HandoverEvent::Lost { pid }
                    }
                };
                inbox.put(Report::Child(report));
            })?;
        Ok(Self {
            at,
            socket: None,
            changed: Map::new(),
        })
    }

    /// Sends changed settings to the session.
    pub fn change(&mut self, changes: &Map<String, Value>) {
        let Some(socket) = &self.socket else {
            self.changed.extend(changes.clone());
            return;
        };
        let line = format!("{}\n", Value::from(changes.clone()));
        // The session always reads, and one that has ended needs no settings. A partial line would
        // corrupt the next one.
        match engine::os::host::send_at_once(socket, line.as_bytes()) {
            Ok(sent) if sent == line.len() => {}
            result => {
                tracing::debug!(?result, "cannot send settings to the session of a child");
                self.socket = None;
            }
        }
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> PathBuf {
        self.at.path()
    }
}

/// Waits for the session and for its confirmation. Returns false after the timeout.
fn await_session(
    listener: &OwnListener,
    pid: i32,
    timeout: Duration,
    inbox: &Inbox,
) -> io::Result<bool> {
    let Some(socket) = listener.accept(Some(timeout))? else {
        return Ok(false);
    };
    socket.set_read_timeout(Some(REPORT_TIMEOUT))?;
    let mut lines = BufReader::new(socket.try_clone()?);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let by = line
        .trim()
        .parse()
        .map_err(|_| io::Error::other("the session did not identify itself"))?;
    inbox.put(Report::Child(HandoverEvent::Wanted { pid, by, socket }));
    // The session confirms that it has attached.
    lines.read_exact(&mut [0])?;
    Ok(true)
}

/// Sends the session the state of the child.
///
/// # Errors
/// The session has ended.
pub fn give(handover: &Handover, mut socket: &UnixStream) -> io::Result<()> {
    let mut line = format!("{} {} {}", handover.pid, handover.at.0, handover.launched);
    for byte in handover.original {
        line.push_str(&format!(" {byte}"));
    }
    writeln!(socket, "{line}")
}

/// Requests the child from the parent's session, on a thread of its own.
///
/// # Errors
/// No thread can be created.
pub fn request_handover(socket: PathBuf, inbox: Inbox) -> io::Result<()> {
    std::thread::Builder::new()
        .name("handover".to_owned())
        .spawn(move || {
            let (received, later) = match receive(&socket) {
                Ok((handover, socket, lines)) => (Ok((handover, socket)), Some(lines)),
                Err(error) => {
                    let why = format!(
                        "the session of its parent does not hand over the process (it has ended \
                         or has detached it): {error}"
                    );
                    (Err(why), None)
                }
            };
            inbox.put(Report::HandoverReceived(received));
            for line in later.into_iter().flat_map(BufRead::lines) {
                let Ok(line) = line else { break };
                match serde_json::from_str(&line) {
                    Ok(changes) => inbox.put(Report::Settings(changes)),
                    Err(error) => tracing::warn!(%error, "cannot read settings"),
                }
            }
        })
        .map(drop)
}

fn receive(path: &Path) -> io::Result<(Handover, UnixStream, BufReader<UnixStream>)> {
    let mut socket = UnixStream::connect(path)?;
    socket.set_read_timeout(Some(REPORT_TIMEOUT))?;
    writeln!(socket, "{}", std::process::id())?;
    let mut line = String::new();
    let mut lines = BufReader::new(socket.try_clone()?);
    lines.read_line(&mut line)?;
    let handover = read(&line).ok_or_else(|| io::Error::other("no report about it"))?;
    // Settings may change at any time: wait without a timeout.
    socket.set_read_timeout(None)?;
    Ok((handover, socket, lines))
}

fn read(line: &str) -> Option<Handover> {
    let mut words = line.split_ascii_whitespace();
    let mut handover = Handover {
        pid: words.next()?.parse().ok()?,
        at: LoadAddr(words.next()?.parse().ok()?),
        launched: words.next()?.parse().ok()?,
        original: Default::default(),
    };
    for byte in &mut handover.original {
        *byte = words.next()?.parse().ok()?;
    }
    Some(handover)
}
