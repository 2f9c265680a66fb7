//! One call as data: its lines with the changes that they made, the calls inside it, and how it
//! ended. Nothing here reads the program; a session adds what it observes at each stop
//! ([`Recorder`]) and formats the result ([`text`]).

mod differences;
mod fold;
mod moved;
mod names;
mod record;
mod text;

mod wanted;

pub use differences::{Group, Leaf, Snapshot, cut, differences};
pub use moved::{Use, use_of};
pub use record::{Frame, Position, Recorder, Relation, Seen};
pub use text::{Source, Traced, lines_of};
pub use wanted::{Pass, Wanted};

use std::fmt;

/// A source line; files are numbered in the order of their appearance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Line {
    /// The number of the file.
    pub file: u32,
    /// The line, from 1; 0: the code has no line.
    pub number: u32,
}

/// The change of a variable or of a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The variable, or the path of its part.
    pub name: String,
    /// The value before; `None`: it had none that means anything.
    pub before: Option<String>,
    /// The value after.
    pub after: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.before {
            Some(before) => write!(f, "{}: {before} → {}", self.name, self.after),
            None => write!(f, "{} = {}", self.name, self.after),
        }
    }
}

/// The values of a variable over the iterations of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// The variable, or the path of its part.
    pub name: String,
    /// The value before the loop changed it.
    pub first: String,
    /// The value after its last change.
    pub last: String,
}

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It has not ended.
    Open,
    /// It returned; the value as text, `None` if the function has none or it is unknown.
    Returned(Option<String>),
    /// An exception, a panic or a long jump left it.
    Unwound,
}

/// A call made by a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The function.
    pub name: String,
    /// Its arguments, as text.
    pub arguments: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Its lines, if it was traced.
    pub lines: Vec<Node>,
}

/// What happened during a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inner {
    /// A call.
    Call(Call),
    /// Something else, as text.
    Remark(String),
}

/// Maximum number of calls and remarks kept for one execution of a line.
const MAX_INNER: usize = 8;

/// A line that was executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The line.
    pub line: Line,
    /// What it changed.
    pub changes: Vec<Change>,
    /// The calls that it made, and remarks, in order.
    pub inner: Vec<Inner>,
    /// The number of calls and remarks left out behind the last one.
    pub more: u64,
}

impl Step {
    /// The beginning of a line.
    fn at(line: Line) -> Self {
        Self {
            line,
            changes: Vec::new(),
            inner: Vec::new(),
            more: 0,
        }
    }

    fn add(&mut self, inner: Inner) {
        match self.inner.len() < MAX_INNER {
            true => self.inner.push(inner),
            false => self.more += 1,
        }
    }
}

/// Iterations of the same lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The line that each iteration begins with.
    pub line: Line,
    /// The last line of its file.
    pub last_line: Line,
    /// The number of iterations.
    pub count: u64,
    /// The first iterations, and the first of each further sequence of lines, with their numbers.
    pub kept: Vec<(u64, Vec<Node>)>,
    /// The last iteration, unless it is kept.
    pub last: Option<(u64, Vec<Node>)>,
    /// What was executed of the loop after its last complete iteration.
    pub rest: Vec<Node>,
    /// The values that its iterations changed.
    pub ranges: Vec<Range>,
}

/// A line, or a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A line.
    Step(Step),
    /// A loop.
    Loop(Loop),
}

impl Node {
    /// Returns the first line.
    fn line(&self) -> Line {
        match self {
            Node::Step(step) => step.line,
            Node::Loop(folded) => folded.line,
        }
    }
}
