//! Records a call: which activation a stop belongs to, and what each line has changed.

use super::differences::{Snapshot, differences, shown};
use super::fold::Folder;
use super::{Call, Change, Inner, Line, Node, Outcome};
use std::cmp::Ordering;

/// Maximum number of nodes of a traced callee; a longer one is recorded without its lines.
const MAX_CALLEE_NODES: usize = 400;

/// Maximum number of parts of one variable that a line names; if more differ, it shows the variable.
const MAX_PARTS: usize = 4;

/// The activation of a stop: stacks grow down, so that a callee's frame is lower. Inlined calls share
/// the frame of their caller and have more levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The canonical frame address.
    pub frame: u64,
    /// The number of levels that the machine frame shows.
    pub levels: usize,
}

impl Position {
    /// Returns whether this is the activation of a caller of another one, direct or not.
    pub fn is_caller_of(self, other: Self) -> bool {
        self.age(other) == Ordering::Greater
    }

    /// Compares by age: a caller is greater than its callee.
    fn age(self, other: Self) -> Ordering {
        self.frame
            .cmp(&other.frame)
            .then(other.levels.cmp(&self.levels))
    }
}

/// A function with its arguments, as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: String,
}

/// The relation of a stop to the activations being traced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// The innermost one.
    Same,
    /// A call made by it, directly or not.
    Callee,
    /// This number of them have ended.
    Left(usize),
}

/// A variable at a stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// Whether it is a parameter, which has a value from the beginning.
    pub is_parameter: bool,
    /// The line of its declaration.
    pub declared: Option<Line>,
    /// A number that differs if the value does, for a value that its own bytes determine; such a
    /// value is formatted only if the number differs.
    pub print: Option<u64>,
}

/// A variable since the activation began.
#[derive(Debug)]
struct Known {
    seen: Seen,
    value: Option<Snapshot>,
    /// Whether the program has given it a value; before that, it has what the stack had.
    is_set: bool,
    /// The last line at which it was in scope, by the number of lines before.
    visible_at: u64,
}

/// An activation being traced.
#[derive(Debug)]
struct Open {
    position: Position,
    frame: Frame,
    folder: Folder,
    variables: Vec<Known>,
    /// The number of lines executed.
    lines: u64,
}

/// The call so far.
#[derive(Debug)]
pub struct Recorder {
    /// The activations being traced, the call itself first.
    open: Vec<Open>,
    /// The number of lines executed.
    lines: u64,
    ended: Option<(Vec<Node>, Outcome)>,
}

impl Recorder {
    /// Begins the record of a call.
    pub fn new(position: Position, frame: Frame) -> Self {
        let mut recorder = Self {
            open: Vec::new(),
            lines: 0,
            ended: None,
        };
        recorder.enter(position, frame);
        recorder
    }

    /// Returns the positions of the activations that are traced, innermost first.
    pub fn positions(&self) -> Vec<Position> {
        self.open.iter().rev().map(|open| open.position).collect()
    }

    /// Returns the number of lines executed.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns how many calls are being traced: 1 for the call itself.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the line that the innermost activation executes.
    pub fn line(&self) -> Option<Line> {
        self.open.last().and_then(|open| open.folder.line())
    }

    /// Returns what a stop at a position means.
    pub fn relation(&self, position: Position) -> Relation {
        let ended = |open: &&Open| open.position.age(position) == Ordering::Less;
        match self.open.iter().rev().take_while(ended).count() {
            0 => match self.open.last() {
                Some(open) if open.position.age(position) == Ordering::Greater => Relation::Callee,
                _ => Relation::Same,
            },
            left => Relation::Left(left),
        }
    }

    /// Enters a call that is traced.
    pub fn enter(&mut self, position: Position, frame: Frame) {
        self.open.push(Open {
            position,
            frame,
            folder: Folder::default(),
            variables: Vec::new(),
            lines: 0,
        });
    }

    /// Returns the name of the innermost function.
    pub fn function(&self) -> &str {
        self.open.last().map_or("", |open| open.frame.name.as_str())
    }

    /// Records that the innermost activation has become that of another function, by a tail call.
    pub fn replace_function(&mut self, frame: Frame) {
        if let Some(open) = self.open.last_mut() {
            open.folder.add(Inner::Remark(format!(
                "continues in {}({}), a tail call",
                frame.name, frame.arguments
            )));
            open.frame.name = frame.name;
        }
    }

    /// Adds a call that is not traced to the line being executed.
    pub fn add_call(&mut self, frame: Frame, outcome: Outcome) {
        self.add(Inner::Call(Call {
            name: frame.name,
            arguments: frame.arguments,
            outcome,
            lines: Vec::new(),
        }));
    }

    /// Adds a remark to the line being executed.
    pub fn remark(&mut self, text: String) {
        self.add(Inner::Remark(text));
    }

    fn add(&mut self, inner: Inner) {
        if let Some(open) = self.open.last_mut() {
            open.folder.add(inner);
        }
    }

    /// Begins a line of the innermost activation, where these variables are visible. `read` formats
    /// the one at an index; `None`: it has no value, or the given former one.
    pub fn begin_line(
        &mut self,
        line: Line,
        seen: Vec<Seen>,
        read: impl FnMut(usize, Option<&Snapshot>) -> Option<Snapshot>,
    ) {
        self.lines += 1;
        if let Some(open) = self.open.last_mut() {
            let changes = open.observe(seen, read);
            open.folder.begin(line, changes);
        }
    }

    /// Ends the innermost activation.
    pub fn leave(&mut self, outcome: Outcome) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let mut lines = open.folder.finish(Vec::new());
        if self.open.is_empty() {
            self.ended = Some((lines, outcome));
            return;
        }
        if weight(&lines) > MAX_CALLEE_NODES {
            lines.clear();
        }
        self.add(Inner::Call(Call {
            name: open.frame.name,
            arguments: open.frame.arguments,
            outcome,
            lines,
        }));
    }

    /// Returns the lines of the call and how it ended; calls that have not ended stay open.
    pub fn finish(mut self) -> (Vec<Node>, Outcome) {
        while !self.open.is_empty() {
            self.leave(Outcome::Open);
        }
        self.ended.unwrap_or((Vec::new(), Outcome::Open))
    }
}

impl Open {
    /// Returns what the line being executed has changed.
    fn observe(
        &mut self,
        seen: Vec<Seen>,
        mut read: impl FnMut(usize, Option<&Snapshot>) -> Option<Snapshot>,
    ) -> Vec<Change> {
        let executed = self.folder.line();
        self.lines += 1;
        let now = self.lines;
        let mut changes = Vec::new();
        for (index, seen) in seen.into_iter().enumerate() {
            let is_it = |known: &Known| known.seen.name == seen.name;
            let at = match self.variables.get(index).is_some_and(is_it) {
                true => Some(index),
                false => self.variables.iter().position(is_it),
            };
            let known = at.and_then(|at| self.variables.get_mut(at));
            // Another one of the name, or one that was out of scope, may have anything.
            let stays = |known: &&mut Known| {
                known.seen.declared == seen.declared && known.visible_at + 1 == now
            };
            let Some(known) = known.filter(stays) else {
                // It comes into scope: in Rust, when its declaration has run.
                let value = read(index, None);
                let is_begun = executed.is_some() && seen.declared == executed;
                if let Some(value) = value.as_ref().filter(|_| is_begun) {
                    changes.push(set(&seen.name, value));
                }
                let known = Known {
                    is_set: (seen.is_parameter || is_begun) && value.is_some(),
                    seen,
                    value,
                    visible_at: now,
                };
                match at.and_then(|at| self.variables.get_mut(at)) {
                    Some(other) => *other = known,
                    None => self.variables.push(known),
                }
                continue;
            };
            let is_begun = executed.is_some() && seen.declared == executed && !known.is_set;
            let is_same = seen.print.is_some() && seen.print == known.seen.print;
            known.seen.print = seen.print;
            known.visible_at = now;
            let value = match is_same {
                true => None,
                false => read(index, known.value.as_ref()),
            };
            if known.is_set {
                if let (Some(before), Some(value)) = (&known.value, &value) {
                    changes.extend(differences(&seen.name, before, value, MAX_PARTS));
                }
            } else if let Some(value) = value.as_ref().or(known.value.as_ref())
                && (is_begun || known.value.as_ref() != Some(value))
            {
                known.is_set = true;
                changes.push(set(&seen.name, value));
            }
            known.value = value.or(known.value.take());
        }
        changes
    }
}

/// The change of a variable that had no value.
fn set(name: &str, value: &Snapshot) -> Change {
    Change {
        name: name.to_owned(),
        before: None,
        after: shown(&value.text),
    }
}

/// Returns the number of lines and loops that nodes contain.
fn weight(nodes: &[Node]) -> usize {
    let of = |node: &Node| match node {
        Node::Step(step) => {
            let inner = step.inner.iter();
            let calls = inner.map(|inner| match inner {
                Inner::Call(call) => 1 + weight(&call.lines),
                Inner::Remark(_) => 1,
            });
            1 + calls.sum::<usize>()
        }
        Node::Loop(folded) => {
            let kept = folded.kept.iter().chain(&folded.last);
            1 + kept.map(|(_, nodes)| weight(nodes)).sum::<usize>() + weight(&folded.rest)
        }
    };
    nodes.iter().map(of).sum()
}

#[cfg(test)]
mod tests;
