//! Plain data in requests to and results of [`Debugger`](super::Debugger).

use crate::ids::ThreadId;
use crate::stops::event::Event;

/// The kind of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// Over calls.
    Over,
    /// Into calls of functions with line information.
    Into,
    /// To the caller.
    Out,
}

/// The threads that a request resumes in all-stop mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResumeScope {
    /// All threads.
    All,
    /// Only the thread of the request; all others stay stopped. It may block on one of them:
    /// [`Debugger::interrupt`](super::Debugger::interrupt) ends that.
    One,
}

/// The unit of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granularity {
    /// To another line.
    Line,
    /// To another line, or to another column of this one if the line table has columns.
    Statement,
    /// One instruction.
    Instruction,
}

/// A thread, for users.
#[derive(Clone, Debug)]
pub struct ThreadInfo {
    /// Its id.
    pub id: ThreadId,
    /// Its name, never empty.
    pub name: String,
}

/// A group of a frame's registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegisterGroup {
    /// Integers and addresses.
    General,
    /// The bits of the flags register.
    Flags,
    /// Segments and their bases.
    Segment,
    /// SSE and, for the innermost frame, AVX and AVX-512 as far as the processor has them.
    Vector,
    /// x87, and the control registers of x87 and SSE: the innermost frame only.
    Float,
}

/// Why `Debugger::wait` returned.
#[derive(Debug)]
pub enum Wait {
    /// The `Waker` was used.
    Woken,
    /// The caller's `client` can be read.
    Client,
    /// An event. Further ones may be ready: call again.
    Event(Event),
    /// The deadline has passed.
    Deadline,
}
