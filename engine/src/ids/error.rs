//! Errors of the engine. A message names the cause and the remedy.

use dwarf::{LoadAddr, Unreadable};
use std::ops::Range;
use std::path::PathBuf;

/// A failed operation. The debuggee stays as it was.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The operation needs a stopped program.
    #[error("the program is running; pause it first")]
    NotStopped,
    /// There is no process: it has not started, or has ended.
    #[error("no program is being debugged")]
    NoProcess,
    /// There is a process already.
    #[error("a program is already being debugged")]
    AlreadyStarted,
    /// There is no thread with that id.
    #[error("there is no thread {0}")]
    NoSuchThread(i32),
    /// The stack has fewer frames.
    #[error("there is no frame {0} in this stack")]
    NoSuchFrame(usize),
    /// The outermost frame has no caller to step out to.
    #[error("cannot step out of the outermost frame")]
    OutermostFrame,
    /// The program could not be started.
    #[error("cannot launch {}: {message}", program.display())]
    Launch {
        /// The program.
        program: PathBuf,
        /// Cause and remedy.
        message: String,
    },
    /// The process could not be attached to.
    #[error("cannot attach to process {pid}: {message}")]
    Attach {
        /// The process.
        pid: i32,
        /// Cause and remedy.
        message: String,
    },
    /// The core file cannot be used.
    #[error("cannot use the core file {}: {message}", path.display())]
    Core {
        /// The file.
        path: PathBuf,
        /// Cause and remedy.
        message: String,
    },
    /// A core file cannot be changed or run; the text names the request.
    #[error("this is a core file: {0}")]
    PostMortem(&'static str),
    /// A past stop cannot be changed or run; the text says what was refused.
    #[error("this is a past stop: {0}. `:past present` returns to the present one")]
    InThePast(&'static str),
    /// The program cannot be recorded; the text says why.
    #[error("the program is not recorded: {0}")]
    NotRecorded(String),
    /// The past has no such stop; the text says why.
    #[error("{0}")]
    NoSuchPast(String),
    /// The operating system refused a call.
    #[error("{call} failed: {message}")]
    Os {
        /// The call (`ptrace(PTRACE_SEIZE)`).
        call: &'static str,
        /// `errno`.
        errno: i32,
        /// `strerror`.
        message: String,
    },
    /// Memory cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Memory at an address that a client gave cannot be read or written.
    #[error("cannot {what} memory at {addr}: {why}")]
    NoMemory {
        /// `read` or `write`.
        what: &'static str,
        /// The first byte that cannot be accessed.
        addr: LoadAddr,
        /// What is mapped there, if anything.
        why: String,
    },
    /// Memory cannot be written.
    #[error("cannot write {len} bytes of memory at {addr}")]
    Unwritable {
        /// First address.
        addr: LoadAddr,
        /// Number of bytes.
        len: usize,
    },
    /// Debug info is corrupt or not supported.
    #[error(transparent)]
    Dwarf(#[from] dwarf::Error),
    /// The expression is malformed, or cannot be evaluated.
    #[error("{message}")]
    Eval {
        /// The cause, as compilers word it.
        message: String,
        /// Position in the text, in bytes; empty if the error is about no part of it.
        span: Range<usize>,
    },
    /// A name in the expression is not in scope.
    #[error("{message}")]
    UnknownName {
        /// The name, and a similar one if there is one.
        message: String,
        /// Its position in the text, in bytes.
        span: Range<usize>,
    },
    /// The value does not exist at this address.
    #[error("<optimized out>")]
    OptimizedOut,
    /// The variable has no value yet: its pattern was not matched, or it was not assigned.
    #[error("<no value yet: the code behind this place gives it one>")]
    NoValueYet,
    /// The pointer exists in debug info only, and its target has no value.
    #[error("<points to something optimized out>")]
    PointeeOptimizedOut,
    /// A call into the program is in progress; repeat the request after
    /// [`crate::Event::CallEnded`].
    #[error("a call into the program is in progress")]
    Calling,
    /// The program is recorded, and has to be prepared before an evaluation changes it; it is then repeated.
    #[error("the recorded program cannot be changed here")]
    Unprepared,
    /// The operation was cancelled by the client.
    #[error("cancelled")]
    Cancelled,
    /// The operation is not possible; the text is the cause.
    #[error("{0}")]
    Unsupported(String),
}

impl Error {
    /// Returns the position of the error in the text of an expression, in bytes; `None` if it is
    /// not about the text.
    pub fn span(&self) -> Option<&Range<usize>> {
        match self {
            Error::Eval { span, .. } | Error::UnknownName { span, .. } => Some(span),
            _ => None,
        }
    }

    /// Returns an evaluation error without a position.
    pub fn eval(message: impl Into<String>) -> Self {
        Error::Eval {
            message: message.into(),
            span: 0..0,
        }
    }
}
