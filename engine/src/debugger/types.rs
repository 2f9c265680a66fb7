//! What [`Debugger`](super::Debugger) is asked with and answers with: plain data.

use crate::event::Event;
use crate::ids::ThreadId;

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
