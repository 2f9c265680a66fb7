//! What can go wrong, in words that name the cause and the remedy.

use dwarf::{LoadAddr, Unreadable};
use std::ops::Range;
use std::path::PathBuf;

/// A failed operation of the engine. Nothing is lost by one: the debuggee stays as it was.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The operation needs a stopped program.
    #[error("the program is running; pause it first")]
    NotStopped,
    /// There is no program (not yet, or no more).
    #[error("no program is being debugged")]
    NoProcess,
    /// A program is being debugged already.
    #[error("a program is already being debugged")]
    AlreadyStarted,
    /// No thread of that id.
    #[error("there is no thread {0}")]
    NoSuchThread(i32),
    /// The stack is not as deep as that.
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
        /// Why, and what to do.
        message: String,
    },
    /// The process could not be attached to.
    #[error("cannot attach to process {pid}: {message}")]
    Attach {
        /// The process.
        pid: i32,
        /// Why, and what to do.
        message: String,
    },
    /// A core file that cannot be used.
    #[error("cannot use the core file {}: {message}", path.display())]
    Core {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        message: String,
    },
    /// The process is a core file, which can be looked at only; the text says what was wanted.
    #[error("this is a core file: {0}")]
    PostMortem(&'static str),
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
    /// Memory that could not be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Memory that is not to be had by its address.
    #[error("cannot {what} memory at {addr}: {why}")]
    NoMemory {
        /// `read` or `write`.
        what: &'static str,
        /// The first byte that is not to be had.
        addr: LoadAddr,
        /// What is there instead.
        why: String,
    },
    /// Memory that could not be written.
    #[error("cannot write {len} bytes of memory at {addr}")]
    Unwritable {
        /// First address.
        addr: LoadAddr,
        /// Bytes.
        len: usize,
    },
    /// The debug info is wrong or beyond us.
    #[error(transparent)]
    Dwarf(#[from] dwarf::Error),
    /// An expression that cannot be read or evaluated.
    #[error("{message}")]
    Eval {
        /// What is wrong.
        message: String,
        /// Where in the text, in bytes; empty where no place is to blame.
        span: Range<usize>,
    },
    /// A name in an expression that is not in scope.
    #[error("{message}")]
    UnknownName {
        /// The name, and a similar one if there is one.
        message: String,
        /// Its position in the text, in bytes.
        span: Range<usize>,
    },
    /// A value that is not there at this place of the program.
    #[error("<optimized out>")]
    OptimizedOut,
    /// The target of a pointer that exists in debug info only has no value.
    #[error("<points to something optimized out>")]
    PointeeOptimizedOut,
    /// A call into the program is under way; ask again after [`crate::Event::CallEnded`].
    #[error("a call into the program is in progress")]
    Calling,
    /// The operation was cancelled by the client.
    #[error("cancelled")]
    Cancelled,
    /// Not possible here; the text says why.
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

    /// An evaluation error without a place.
    pub fn eval(message: impl Into<String>) -> Self {
        Error::Eval {
            message: message.into(),
            span: 0..0,
        }
    }
}
