//! Reports from other threads of the adapter.

use crate::server;
use engine::{CoreFile, Error, Handover, OpenStdio};
use serde_json::{Map, Value};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The session's queue, for reports of other threads.
pub type Inbox = server::Inbox<Report>;

/// A report from another thread.
#[derive(Debug)]
pub enum Report {
    /// From the launcher in a terminal.
    Terminal(LauncherEvent),
    /// The folder of the sources of Rust's standard library, if there is one.
    RustSources(Option<PathBuf>),
    /// About a child process on offer.
    Child(HandoverEvent),
    /// The child process that this session attaches to.
    HandoverReceived(HandoverReceived),
    /// Settings that changed in the parent's session.
    Settings(Map<String, Value>),
    /// The result of fetching debug info.
    DebugFile(FetchResult),
    /// The result of unpacking a core file.
    Core(UnpackResult),
    /// A client that looks on has connected.
    Guest(OwnedFd),
    /// The result of opening the files of a program's standard streams.
    Stdio(OpenResult),
}

/// A report about the launcher.
#[derive(Debug)]
pub enum LauncherEvent {
    /// The launcher waits for the debugger to attach.
    Waiting {
        /// Its process id.
        pid: i32,
        /// The connection on which it waits.
        socket: UnixStream,
    },
    /// The launcher became the program, or ended.
    Gone {
        /// Why it could not become the program.
        failure: Option<String>,
    },
}

/// A report about a held child.
#[derive(Debug)]
pub enum HandoverEvent {
    /// A session has connected for the child.
    Wanted {
        /// The child's process id.
        pid: i32,
        /// The process id of that session.
        by: i32,
        /// The connection to that session.
        socket: UnixStream,
    },
    /// The session has attached to the child.
    Taken {
        /// The child's process id.
        pid: i32,
    },
    /// No session has connected in time.
    Unwanted {
        /// The child's process id.
        pid: i32,
    },
    /// The session failed to attach to the child.
    Lost {
        /// The child's process id.
        pid: i32,
    },
}

/// What the new session receives: the child's state, and the connection for its confirmation.
pub type HandoverReceived = Result<(Handover, UnixStream), String>;

/// The result of a run of `debuginfod-find`.
#[derive(Debug)]
pub struct FetchResult {
    /// The number of the run.
    pub number: u64,
    /// The file.
    pub outcome: Result<PathBuf, FetchFailure>,
}

/// Why there is no file.
#[derive(Debug)]
pub enum FetchFailure {
    /// The tool is not installed.
    NotInstalled,
    /// Another failure, as text.
    Other(String),
}

/// The result of unpacking a core file.
#[derive(Debug)]
pub struct UnpackResult {
    /// The cancel flag of the unpacking.
    pub of: Arc<AtomicBool>,
    /// The unpacked file.
    pub file: Result<CoreFile, Error>,
}

/// The result of opening the files of `stdio`.
#[derive(Debug)]
pub struct OpenResult {
    /// Identifies the opening.
    pub of: Arc<()>,
    /// The open files.
    pub files: Result<OpenStdio, Error>,
}
