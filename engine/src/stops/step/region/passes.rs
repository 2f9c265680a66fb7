//! Loops: where a new pass begins on the line that a step has to leave. The step ends there, as if
//! another line had been shown in between.

use super::Region;
use dwarf::LoadAddr;
use rustc_hash::{FxHashMap, FxHashSet};

/// The kind of an address in a region, relative to the line to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Inside the line, a call inlined into it, or code without a line.
    Line,
    /// The beginning of a statement of the line.
    Statement,
    /// Another line, at an address where no step ends.
    Elsewhere,
}

/// A loop, identified by its backward jump and the target of that jump.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Loop {
    first: LoadAddr,
    last: LoadAddr,
}

/// Maximum number of ways to follow; a function with more is left as if it had no loops.
const MAX_STATES: usize = 4 * super::MAX_INSTRUCTIONS;

/// What a step has passed before an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Way {
    /// The loop that has begun a new pass.
    begun: Option<Loop>,
    /// The loops of [`Passes::seen`] whose code of other lines was passed, as bits.
    left: u64,
}

/// All loops are taken as left: what was passed is not known.
const LEFT: u64 = u64::MAX;

/// How the loops of a region return to its line.
#[derive(Default)]
pub struct Passes {
    /// Statements of the line that are reached only in a new pass.
    pub statements: Vec<LoadAddr>,
    /// Backward jumps to single-step: their targets are also reached without them.
    pub jumps: Vec<LoadAddr>,
    /// The addresses of the region, with the loop that has begun a new pass on the way there.
    states: FxHashSet<(LoadAddr, Option<Loop>)>,
    /// The instructions of each loop: those from which the jump is reached without passing its
    /// target.
    bodies: FxHashMap<Loop, FxHashSet<LoadAddr>>,
    /// The loops whose new passes end the step, after code of other lines in them.
    seen: Vec<Loop>,
}

impl Passes {
    /// Returns the loop that has begun a new pass on the way to an address of the region, if that
    /// is the same on all ways.
    pub fn begun_at(&self, addr: LoadAddr) -> Option<Loop> {
        let mut states = self.states.iter().filter(|(at, _)| *at == addr);
        match (states.next(), states.next()) {
            (Some((_, begun)), None) => *begun,
            _ => None,
        }
    }

    /// Returns the loop that has begun a new pass after a move from `from` to `to`, if that is a
    /// backward jump.
    fn begun_by(&self, begun: Option<Loop>, from: LoadAddr, to: LoadAddr) -> Option<Loop> {
        let last = Loop {
            first: to,
            last: from,
        };
        if to > from || !self.bodies.contains_key(&last) {
            return begun;
        }
        // The outer loop contains the inner one.
        let is_in = |outer: &Loop| self.holds(*outer, to) && self.holds(*outer, from);
        Some(begun.filter(is_in).unwrap_or(last))
    }

    fn holds(&self, of: Loop, addr: LoadAddr) -> bool {
        let body = self.bodies.get(&of);
        body.is_some_and(|body| body.contains(&addr))
    }

    /// Returns whether a pass ends the step at a statement of the line on this way.
    fn is_seen(&self, way: Way, statement: LoadAddr) -> bool {
        let Some(begun) = way.begun.filter(|it| self.holds(*it, statement)) else {
            return false;
        };
        let index = self.seen.iter().position(|it| *it == begun);
        index.is_some_and(|index| way.left & bit(index) != 0)
    }

    /// Returns the bits of some of the loops of [`Self::seen`].
    fn bits_of(&self, which: impl Fn(&Loop) -> bool) -> u64 {
        let loops = self.seen.iter().enumerate();
        let wanted = loops.filter(|(_, it)| which(it));
        wanted.fold(0, |bits, (index, _)| bits | bit(index))
    }
}

/// Returns the bit of a loop of [`Passes::seen`]. The last ones share a bit: a step may end early in
/// functions with more loops than bits.
fn bit(index: usize) -> u64 {
    1 << index.min(63)
}

impl Region {
    /// Finds the passes of a step that continues at `from`; `begun` is the loop that has begun a new
    /// pass before, `is_first` whether the step begins here. `joined` returns whether two addresses
    /// are in one range of their function (compilers move cold code elsewhere, which makes no loop).
    pub fn find_passes(
        &mut self,
        from: LoadAddr,
        (begun, is_first): (Option<Loop>, bool),
        joined: impl Fn(LoadAddr, LoadAddr) -> bool,
        part: impl Fn(LoadAddr) -> Part,
    ) {
        if !self.unclear.is_empty() || self.edges.iter().any(|edge| edge.1 <= edge.0) {
            self.edges.sort_unstable_by_key(|(from, to)| (*to, *from));
        }
        let edges = &self.edges;
        let is_back = |edge: &&(LoadAddr, LoadAddr)| edge.1 <= edge.0 && joined(edge.0, edge.1);
        let mut loops: Vec<Loop> = Vec::new();
        for (last, first) in edges.iter().filter(is_back).copied() {
            loops.push(Loop { first, last });
        }
        if loops.is_empty() {
            return;
        }
        let mut passes = Passes::default();
        for each in loops.iter().copied().chain(begun) {
            if let Some(body) = self.body_of(each) {
                passes.bodies.insert(each, body);
            }
        }
        let parts: FxHashMap<LoadAddr, Part> = passes
            .bodies
            .values()
            .flatten()
            .map(|at| (*at, part(*at)))
            .collect();
        let any = |body: &FxHashSet<LoadAddr>, wanted: Part| {
            body.iter().any(|at| parts.get(at) == Some(&wanted))
        };
        // A loop within one line is not left, unless no other line follows.
        let is_endless = self.exits.is_empty()
            && self.returns.is_empty()
            && self.jumps.is_empty()
            && self.unclear.is_empty();
        let seen = passes.bodies.iter().filter(|(_, body)| {
            let is_left = is_endless || any(body, Part::Elsewhere);
            is_left && any(body, Part::Statement)
        });
        passes.seen = seen.map(|(it, _)| *it).collect();
        if passes.seen.is_empty() {
            return;
        }
        passes.seen.sort_unstable();
        let is_one_line = |it: &Loop| !any(&passes.bodies[it], Part::Elsewhere);
        let left = match is_first {
            true => passes.bits_of(is_one_line),
            false => LEFT,
        };
        if !self.follow(from, Way { begun, left }, &joined, &parts, &mut passes) {
            return;
        }
        // The beginning is passed, too, but not reached from another instruction.
        let is_ambiguous = |passes: &Passes| {
            let mut states = passes.states.iter();
            states.any(|state| passes.statements.contains(&state.0) && *state != (from, begun))
        };
        // A statement that ends the step only on some ways ends it on all.
        if left != LEFT && is_ambiguous(&passes) {
            let way = Way { begun, left: LEFT };
            if !self.follow(from, way, &joined, &parts, &mut passes) {
                return;
            }
        }
        if is_ambiguous(&passes) {
            passes.statements.clear();
            passes.jumps = edges.iter().filter(is_back).map(|edge| edge.0).collect();
            passes.jumps.sort_unstable();
            passes.jumps.dedup();
            // From now on, the beginning of each loop is known.
            let all: Vec<LoadAddr> = passes.states.iter().map(|(at, _)| *at).collect();
            passes.states = all.into_iter().map(|at| (at, begun)).collect();
        }
        self.exits.extend(&passes.statements);
        self.unclear.extend(&passes.jumps);
        self.passes = passes;
    }

    /// Returns which loop has begun a new pass after a move from one instruction of the region to
    /// another, and whether the pass ends the step there. The move may be one that is known only at
    /// run time, so that the region does not contain it yet.
    pub fn jumped(
        &self,
        from: LoadAddr,
        to: LoadAddr,
        part: impl Fn(LoadAddr) -> Part,
    ) -> (Option<Loop>, bool) {
        let before = self.passes.begun_at(from);
        let begun = self.passes.begun_by(before, from, to);
        if part(to) != Part::Statement {
            return (begun, false);
        }
        if self.passes.is_seen(Way { begun, left: LEFT }, to) {
            return (begun, true);
        }
        let last = Loop {
            first: to,
            last: from,
        };
        let body = self.body_of(last).filter(|_| to <= from);
        match body {
            Some(body) => {
                let is_left = body.iter().any(|at| part(*at) == Part::Elsewhere);
                (begun.or(Some(last)), is_left)
            }
            None => (begun, false),
        }
    }

    /// Returns the instructions of a loop; `None`: its beginning does not lead to its end.
    fn body_of(&self, of: Loop) -> Option<FxHashSet<LoadAddr>> {
        let mut body = FxHashSet::from_iter([of.first]);
        let mut todo = vec![of.last];
        let mut is_closed = of.first == of.last;
        while let Some(at) = todo.pop() {
            if !body.insert(at) {
                continue;
            }
            // The edges are sorted by their targets.
            let first = self.edges.partition_point(|(_, to)| *to < at);
            let before = self.edges.iter().skip(first);
            for (from, _) in before.take_while(|(_, to)| *to == at) {
                is_closed |= *from == of.first;
                todo.push(*from);
            }
        }
        is_closed.then_some(body)
    }

    /// Follows all ways from an address to the statements at which a pass ends the step. Returns
    /// false if there are too many.
    fn follow(
        &self,
        from: LoadAddr,
        way: Way,
        joined: &impl Fn(LoadAddr, LoadAddr) -> bool,
        parts: &FxHashMap<LoadAddr, Part>,
        passes: &mut Passes,
    ) -> bool {
        passes.states.clear();
        passes.statements.clear();
        let mut edges = self.edges.clone();
        edges.sort_unstable();
        let mut followed = FxHashSet::default();
        let mut todo = vec![(from, way)];
        while let Some((at, way)) = todo.pop() {
            if !followed.insert((at, way)) {
                continue;
            }
            if followed.len() > MAX_STATES {
                return false;
            }
            passes.states.insert((at, way.begun));
            let first = edges.partition_point(|(source, _)| *source < at);
            let ours = edges.iter().skip(first).take_while(|edge| edge.0 == at);
            for (_, to) in ours.copied() {
                let mut way = way;
                if joined(at, to) {
                    way.begun = passes.begun_by(way.begun, at, to);
                }
                let part = parts.get(&to);
                if part == Some(&Part::Elsewhere) {
                    way.left |= passes.bits_of(|it| passes.holds(*it, to));
                }
                if part == Some(&Part::Statement) && passes.is_seen(way, to) {
                    if !passes.statements.contains(&to) {
                        passes.statements.push(to);
                    }
                } else if self.instructions.binary_search(&to).is_ok() {
                    todo.push((to, way));
                }
            }
        }
        true
    }
}
