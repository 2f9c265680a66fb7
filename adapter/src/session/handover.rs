//! A child process gets a session of its own. One session is one process of ours, so the child
//! goes from one process to another: the parent's session holds it and asks the client to attach
//! to it (`startDebugging`), naming a socket. The new session says there who it is, is told where
//! the child jumps in place, takes it over and says so. A child that nobody comes for, or that is
//! not taken over, runs on without us. From then on the parent's session passes on at the socket
//! what settings change.

use super::{Inbox, News};
use engine::{Handover, LoadAddr};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Map, Value};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// How long the two sessions wait for each other's words.
const WORD_PATIENCE: Duration = Duration::from_secs(10);

/// What the parent's session hears of a child that it holds.
#[derive(Debug)]
pub enum HandoverEvent {
    /// A session has come for it.
    Wanted {
        /// The child.
        pid: i32,
        /// The process of that session.
        by: i32,
        /// Where to tell it of the child.
        socket: UnixStream,
    },
    /// The session that came has taken it over.
    Taken {
        /// The child.
        pid: i32,
    },
    /// Nobody has come in time.
    Unwanted {
        /// The child.
        pid: i32,
    },
    /// The session that came has not taken it over.
    Lost {
        /// The child.
        pid: i32,
    },
}

/// A child on offer, at a socket; taken back when dropped.
#[derive(Debug)]
pub struct ChildOffer {
    directory: TempDir,
    /// Who came.
    pub socket: Option<UnixStream>,
    /// Settings that have changed since the child was offered, and before anybody came.
    pub changed: Map<String, Value>,
}

impl ChildOffer {
    /// Waits for a session that wants the child, on a thread of its own.
    ///
    /// # Errors
    /// There is no room for a socket.
    pub fn open(pid: i32, patience: Duration, inbox: Inbox) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("stillpoint-").tempdir()?;
        let offer = Self {
            directory,
            socket: None,
            changed: Map::new(),
        };
        let listener = UnixListener::bind(offer.path())?;
        std::thread::Builder::new()
            .name("handover".to_owned())
            .spawn(move || {
                let report = match await_session(&listener, pid, patience, &inbox) {
                    Ok(true) => HandoverEvent::Taken { pid },
                    Ok(false) => HandoverEvent::Unwanted { pid },
                    Err(error) => {
                        tracing::info!(pid, %error, "a child was not taken over");
                        HandoverEvent::Lost { pid }
                    }
                };
                inbox.put(News::Child(report));
            })?;
        Ok(offer)
    }

    /// Passes settings on that have changed.
    pub fn change(&mut self, changes: &Map<String, Value>) {
        let Some(socket) = &self.socket else {
            self.changed.extend(changes.clone());
            return;
        };
        let line = format!("{}\n", Value::from(changes.clone()));
        // Its session reads always, and what has ended needs no settings. A part of a line would
        // spoil the next one.
        match engine::os::host::send_at_once(socket, line.as_bytes()) {
            Ok(sent) if sent == line.len() => {}
            result => {
                tracing::debug!(
                    ?result,
                    "a child's session does not hear of settings any more"
                );
                self.socket = None;
            }
        }
    }

    /// The socket.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("child")
    }
}

impl Drop for ChildOffer {
    fn drop(&mut self) {
        // Ends the thread if nobody ever came.
        let _ = UnixStream::connect(self.path());
    }
}

/// False: nobody has come.
fn await_session(
    listener: &UnixListener,
    pid: i32,
    patience: Duration,
    inbox: &Inbox,
) -> io::Result<bool> {
    let mut polled = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
    if poll(&mut polled, timeout)? == 0 {
        return Ok(false);
    }
    let (socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(WORD_PATIENCE))?;
    let mut lines = BufReader::new(socket.try_clone()?);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let by = line
        .trim()
        .parse()
        .map_err(|_| io::Error::other("the session did not say who it is"))?;
    inbox.put(News::Child(HandoverEvent::Wanted { pid, by, socket }));
    // It says so when it has the child.
    lines.read_exact(&mut [0])?;
    Ok(true)
}

/// Tells the session that came for the child where that is.
///
/// # Errors
/// It has gone again.
pub fn give(handover: &Handover, mut socket: &UnixStream) -> io::Result<()> {
    let [first, second] = handover.original;
    writeln!(
        socket,
        "{} {} {first} {second} {}",
        handover.pid, handover.at.0, handover.launched
    )
}

/// What the new session hears: the child, and where to say that it has it.
pub type Given = Result<(Handover, UnixStream), String>;

/// Asks the parent's session for the child, on a thread of its own.
///
/// # Errors
/// There is no thread to be had.
pub fn ask(socket: PathBuf, inbox: Inbox) -> io::Result<()> {
    std::thread::Builder::new()
        .name("handover".to_owned())
        .spawn(move || {
            let (given, later) = match receive(&socket) {
                Ok((handover, socket, lines)) => (Ok((handover, socket)), Some(lines)),
                Err(error) => {
                    let why = format!(
                        "the session of its parent does not hand the process over (it has ended, \
                         or let the process go): {error}"
                    );
                    (Err(why), None)
                }
            };
            inbox.put(News::Given(given));
            for line in later.into_iter().flat_map(BufRead::lines) {
                let Ok(line) = line else { break };
                match serde_json::from_str(&line) {
                    Ok(changes) => inbox.put(News::Settings(changes)),
                    Err(error) => tracing::warn!(%error, "settings that cannot be read"),
                }
            }
        })
        .map(drop)
}

fn receive(path: &Path) -> io::Result<(Handover, UnixStream, BufReader<UnixStream>)> {
    let mut socket = UnixStream::connect(path)?;
    socket.set_read_timeout(Some(WORD_PATIENCE))?;
    writeln!(socket, "{}", std::process::id())?;
    let mut line = String::new();
    let mut lines = BufReader::new(socket.try_clone()?);
    lines.read_line(&mut line)?;
    let handover = read(&line).ok_or_else(|| io::Error::other("no word of it"))?;
    // Settings change when somebody changes them.
    socket.set_read_timeout(None)?;
    Ok((handover, socket, lines))
}

fn read(line: &str) -> Option<Handover> {
    let mut words = line.split_ascii_whitespace();
    Some(Handover {
        pid: words.next()?.parse().ok()?,
        at: LoadAddr(words.next()?.parse().ok()?),
        original: [words.next()?.parse().ok()?, words.next()?.parse().ok()?],
        launched: words.next()?.parse().ok()?,
    })
}
