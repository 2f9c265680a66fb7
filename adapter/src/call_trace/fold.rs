//! Folds the lines of an activation as they are executed: a jump back to a line that was executed
//! already begins another iteration of a loop. Nested loops are folded inside their iterations, so
//! the size of the result depends on the code and not on how long it ran.

use super::{Change, Inner, Line, Loop, Node, Range, Step};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

/// The first iterations that are kept whatever they execute.
const FIRST_ITERATIONS: u64 = 2;
/// Loops of at most so many iterations keep all of them, unless they are in a loop or contain one:
/// the text of nested loops would be the product of their iterations.
const SHORT_LOOP: u64 = 8;
/// Maximum number of iterations kept because no earlier one executed the same lines.
const MAX_OTHER_PATHS: usize = 6;
/// Maximum number of variables whose range a loop keeps.
const MAX_RANGES: usize = 32;

/// The lines of an activation so far.
#[derive(Debug, Default)]
pub struct Folder {
    base: Vec<Node>,
    /// The loops that the line being executed may be in, outermost first.
    loops: Vec<OpenLoop>,
    /// The line being executed.
    open: Option<Step>,
}

/// A loop that may go on.
#[derive(Debug)]
struct OpenLoop {
    folded: Loop,
    /// The lines of complete iterations.
    lines: HashSet<Line>,
    /// The sequences of lines of complete iterations.
    paths: HashSet<u64>,
    nesting: Nesting,
    /// Iterations that are kept only if the loop remains short.
    while_short: Vec<(u64, Vec<Node>)>,
    current: Vec<Node>,
}

/// Whether a loop is nested, as far as is known.
#[derive(Debug, PartialEq, Eq)]
enum Nesting {
    /// It is in no loop and contains none.
    None,
    /// It is in an iteration of a loop, or contains one.
    Nested,
}

/// Where the line that begins was executed before.
enum Jump {
    /// It begins another iteration of this loop.
    Again(usize),
    /// It is at this position of the nodes in this loop, or outside of all loops (`None`).
    Back(Option<usize>, usize),
    /// It was not executed before.
    Forward,
}

impl Folder {
    /// Returns the line being executed.
    pub fn line(&self) -> Option<Line> {
        self.open.as_ref().map(|step| step.line)
    }

    /// Begins a line, after the one before it has changed variables.
    pub fn begin(&mut self, line: Line, changes: Vec<Change>) {
        self.close(changes);
        match self.jump_to(line) {
            Jump::Again(at) => {
                self.leave_loops_inside(at + 1);
                if let Some(open) = self.loops.get_mut(at) {
                    open.complete();
                }
            }
            Jump::Back(context, at) => {
                self.leave_loops_inside(context.map_or(0, |it| it + 1));
                let nodes = self.nodes();
                let first = nodes.split_off(at.min(nodes.len()));
                // What follows a loop is in its last, incomplete iteration until it is known better.
                let is_inside = |open: &OpenLoop| open.lines.contains(&line);
                let nesting = match self.loops.last().is_some_and(is_inside) {
                    true => Nesting::Nested,
                    false => Nesting::None,
                };
                self.loops.push(OpenLoop::new(line, first, nesting));
            }
            Jump::Forward => {}
        }
        self.open = Some(Step::at(line));
    }

    /// Adds a call or a remark to the line being executed.
    pub fn add(&mut self, inner: Inner) {
        if let Some(step) = &mut self.open {
            step.add(inner);
        }
    }

    /// Ends the activation; the last line has changed variables.
    pub fn finish(mut self, changes: Vec<Change>) -> Vec<Node> {
        self.close(changes);
        self.leave_loops_inside(0);
        self.base
    }

    fn close(&mut self, changes: Vec<Change>) {
        let Some(mut step) = self.open.take() else {
            return;
        };
        step.changes = changes;
        self.nodes().push(Node::Step(step));
    }

    /// The nodes of the innermost loop's iteration, or those outside of all loops.
    fn nodes(&mut self) -> &mut Vec<Node> {
        match self.loops.last_mut() {
            Some(open) => &mut open.current,
            None => &mut self.base,
        }
    }

    fn jump_to(&self, line: Line) -> Jump {
        let position = |nodes: &[Node]| nodes.iter().position(|node| node.line() == line);
        for (at, open) in self.loops.iter().enumerate().rev() {
            if open.folded.line == line {
                return Jump::Again(at);
            }
            if let Some(found) = position(&open.current) {
                return Jump::Back(Some(at), found);
            }
        }
        position(&self.base).map_or(Jump::Forward, |found| Jump::Back(None, found))
    }

    /// Ends all loops but the `kept` outermost ones.
    fn leave_loops_inside(&mut self, kept: usize) {
        while self.loops.len() > kept {
            if let Some(open) = self.loops.pop() {
                let after = open.finish();
                self.nodes().extend(after);
            }
        }
    }
}

impl OpenLoop {
    /// A loop whose first iteration executed `first`.
    fn new(line: Line, first: Vec<Node>, nesting: Nesting) -> Self {
        let mut open = Self {
            folded: Loop {
                line,
                last_line: line,
                count: 0,
                kept: Vec::new(),
                last: None,
                rest: Vec::new(),
                ranges: Vec::new(),
            },
            lines: HashSet::default(),
            paths: HashSet::default(),
            nesting,
            while_short: Vec::new(),
            current: first,
        };
        open.complete();
        open
    }

    /// Ends the current iteration: a new one begins.
    fn complete(&mut self) {
        let nodes = std::mem::take(&mut self.current);
        self.folded.count += 1;
        let number = self.folded.count;
        note_ranges(&mut self.folded.ranges, &nodes);
        let is_new = self.paths.len() <= MAX_OTHER_PATHS && self.paths.insert(path_of(&nodes));
        for_lines(&nodes, &mut |line| {
            if line.file == self.folded.line.file {
                self.folded.last_line = self.folded.last_line.max(line);
            }
            self.lines.insert(line);
        });
        let former = self.folded.last.take();
        if nodes.iter().any(|node| matches!(node, Node::Loop(_))) {
            self.nesting = Nesting::Nested;
        }
        match number <= SHORT_LOOP && self.nesting == Nesting::None {
            true => self.while_short.extend(former),
            false => self.while_short.clear(),
        }
        if number <= FIRST_ITERATIONS || is_new {
            self.folded.kept.push((number, nodes));
        } else {
            self.folded.last = Some((number, nodes));
        }
    }

    /// Returns the loop and what was executed after it: lines that no complete iteration had.
    fn finish(mut self) -> Vec<Node> {
        let mut nodes = std::mem::take(&mut self.current);
        let is_after = |node: &Node| !self.lines.contains(&node.line());
        let after = nodes.iter().position(is_after).unwrap_or(nodes.len());
        let after = nodes.split_off(after);
        match nodes.len() > 1 && self.paths.contains(&path_of(&nodes)) {
            true => {
                self.current = nodes;
                self.complete();
            }
            false => {
                note_ranges(&mut self.folded.ranges, &nodes);
                self.folded.rest = nodes;
            }
        }
        self.folded.kept.append(&mut self.while_short);
        self.folded.kept.sort_by_key(|(number, _)| *number);
        let mut all = vec![Node::Loop(self.folded)];
        all.extend(after);
        all
    }
}

/// Identifies the lines that nodes execute, regardless of how often inner loops run.
pub(super) fn path_of(nodes: &[Node]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for node in nodes {
        (node.line(), matches!(node, Node::Loop(_))).hash(&mut hasher);
    }
    hasher.finish()
}

/// Calls `found` with each line of the nodes and their loops.
fn for_lines(nodes: &[Node], found: &mut dyn FnMut(Line)) {
    for node in nodes {
        match node {
            Node::Step(step) => found(step.line),
            Node::Loop(inner) => {
                let kept = inner.kept.iter().chain(&inner.last);
                kept.for_each(|(_, nodes)| for_lines(nodes, found));
                for_lines(&inner.rest, found);
            }
        }
    }
}

fn note_range(ranges: &mut Vec<Range>, change: &Change) {
    let has_room = ranges.len() < MAX_RANGES;
    match ranges.iter_mut().find(|range| range.name == change.name) {
        Some(range) => range.last.clone_from(&change.after),
        None if has_room => ranges.push(Range {
            name: change.name.clone(),
            first: change
                .before
                .clone()
                .unwrap_or_else(|| change.after.clone()),
            last: change.after.clone(),
        }),
        None => {}
    }
}

fn note_ranges(ranges: &mut Vec<Range>, nodes: &[Node]) {
    for node in nodes {
        match node {
            Node::Step(step) => {
                let changes = step.changes.iter();
                changes.for_each(|change| note_range(ranges, change));
            }
            Node::Loop(inner) => {
                for range in &inner.ranges {
                    note_range(
                        ranges,
                        &Change {
                            name: range.name.clone(),
                            before: Some(range.first.clone()),
                            after: range.last.clone(),
                        },
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
