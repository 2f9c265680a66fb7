//! What [`Debugger`](super::Debugger) is asked with and answers with: plain data.

use crate::event::{Event, ThreadId};
use dwarf::{AddrRange, LoadAddr, SymbolStatus};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

/// How a program is to be started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The file to run; absolute, or relative to `cwd`.
    pub program: PathBuf,
    /// Its arguments, the program's name not among them.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// stdin, stdout, stderr.
    pub stdio: [StdioTarget; 3],
    /// Load it at the same addresses each time.
    pub disable_aslr: bool,
}

/// Where one of the debuggee's standard descriptors leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StdioTarget {
    /// stdout and stderr: to us, as [`Event::Output`]; stdin: at its end from the start.
    #[default]
    Captured,
    /// `/dev/null`.
    Null,
    /// A file, relative to the working directory; written ones are created and truncated.
    File(PathBuf),
    /// The adapter's own descriptor.
    Inherited,
}

/// What a step moves over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// Over calls.
    Over,
    /// Into calls of functions with line information.
    Into,
    /// To the caller.
    Out,
}

/// How far a step goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granularity {
    /// To another line.
    Line,
    /// To another line, or to another column of this one where compilers tell of columns.
    Statement,
    /// One instruction.
    Instruction,
}

/// Where the session stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nothing launched or attached.
    NoProcess,
    /// Launched or attached, held until [`Debugger::release`].
    Held,
    /// At least one thread runs.
    Running,
    /// All threads stopped.
    Stopped,
    /// The process is gone, or was let go.
    Ended,
}

/// A thread for people.
#[derive(Clone, Debug)]
pub struct ThreadInfo {
    /// Its id.
    pub id: ThreadId,
    /// Its name, never empty.
    pub name: String,
}

/// An image of the process; the number is not used again in the session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleId(pub u32);

/// An image for people.
#[derive(Clone, Debug)]
pub struct ModuleInfo {
    /// Its id.
    pub id: ModuleId,
    /// Base name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Where it is loaded.
    pub range: AddrRange<LoadAddr>,
    /// How much is known of it.
    pub symbols: SymbolStatus,
    /// The separate file with its debug info.
    pub symbol_file: Option<PathBuf>,
    /// GNU build-id in hex.
    pub build_id: Option<String>,
    /// Bytes of debug info.
    pub debug_size: u64,
    /// Whether it is the program itself.
    pub is_program: bool,
}

/// An image whose names are being read in the background.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Base name of its file.
    pub image: String,
    /// Since when.
    pub began: Instant,
    /// Units read so far.
    pub units_read: u32,
    /// Units there are; 0 while that is not known.
    pub units: u32,
}

/// A part of a frame's registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegisterGroup {
    /// Integers and addresses.
    General,
    /// The bits of the flags register.
    Flags,
    /// Segments and their bases.
    Segment,
    /// SSE and, of the innermost frame, AVX and AVX-512 as far as the processor has them.
    Vector,
    /// x87, and what controls it and SSE: the innermost frame only.
    Float,
}

/// Why [`Debugger::wait`] came back.
#[derive(Debug)]
pub enum Wait {
    /// The [`Waker`] was used.
    Woken,
    /// What the caller named can be read.
    Client,
    /// Something happened. Further events may be ready: call again.
    Event(Event),
    /// The deadline has passed.
    Deadline,
}
