//! Loops: where a new pass of one begins on the line that a step is to leave. A person sees the
//! line again there, as if another line had been shown in between.

use super::Region;
use dwarf::LoadAddr;
use rustc_hash::FxHashSet;

/// What an address in a region is to the line that is to be left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// In the middle of the line, of what it calls inline, or of no line.
    Line,
    /// A statement of the line begins.
    Statement,
    /// Another line, at a place where no step ends.
    Elsewhere,
}

/// The addresses from the target of a backward jump to the jump itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loop {
    first: LoadAddr,
    last: LoadAddr,
}

impl Loop {
    /// Whether an address is in it.
    pub fn holds(self, addr: LoadAddr) -> bool {
        (self.first..=self.last).contains(&addr)
    }

    fn is_in(self, other: Loop) -> bool {
        other.holds(self.first) && other.holds(self.last)
    }
}

/// No more pairs of an address and a loop are followed; a function with more is left as if it had
/// no loops.
const MAX_STATES: usize = 4 * super::MOST;

/// How the loops of a region lead back to its line.
#[derive(Default)]
pub struct Passes {
    /// Statements of the line that are reached only by a new pass.
    pub statements: Vec<LoadAddr>,
    /// Instructions that jump backward, to be followed one at a time: what they lead to is also
    /// reached without them.
    pub jumps: Vec<LoadAddr>,
    /// The addresses of the region, with the loop that has begun again on the way there.
    states: FxHashSet<(LoadAddr, Option<Loop>)>,
    /// The loops in which a pass is to be seen.
    seen: FxHashSet<Loop>,
}

impl Passes {
    /// The loop that has begun again on the way to an address of the region, where all ways
    /// agree.
    pub fn begun_at(&self, addr: LoadAddr) -> Option<Loop> {
        let mut states = self.states.iter().filter(|(at, _)| *at == addr);
        match (states.next(), states.next()) {
            (Some((_, begun)), None) => *begun,
            _ => None,
        }
    }

    /// What has begun again once `from` has led to `to`, if that is a backward jump.
    pub fn begun_by(begun: Option<Loop>, from: LoadAddr, to: LoadAddr) -> Option<Loop> {
        let last = Loop {
            first: to,
            last: from,
        };
        match begun {
            _ if to > from => begun,
            // The outer one has what the inner one has.
            Some(begun) if last.is_in(begun) => Some(begun),
            _ => Some(last),
        }
    }

    /// Whether a pass is to be seen at a statement of the line, with `begun` on the way there.
    pub fn is_seen(&self, begun: Option<Loop>, statement: LoadAddr) -> bool {
        begun.is_some_and(|it| it.holds(statement) && self.seen.contains(&it))
    }
}

impl Region {
    /// Finds the passes, `begun` being the loop that has begun again before `from`. `joined`:
    /// whether two addresses are in one range of their function (a compiler puts cold code
    /// elsewhere, which makes no loop).
    pub fn find_passes(
        &mut self,
        from: LoadAddr,
        begun: Option<Loop>,
        joined: impl Fn(LoadAddr, LoadAddr) -> bool,
        part: impl Fn(LoadAddr) -> Part,
    ) {
        let edges = &self.edges;
        let is_back = |edge: &&(LoadAddr, LoadAddr)| edge.1 <= edge.0 && joined(edge.0, edge.1);
        let mut loops: Vec<Loop> = Vec::new();
        for (last, first) in edges.iter().filter(is_back).copied() {
            loops.push(Loop { first, last });
        }
        loops.extend(begun);
        if loops.is_empty() {
            return;
        }
        let inside = self.instructions.iter().copied();
        let inside = inside.filter(|at| loops.iter().any(|it| it.holds(*at)));
        let parts: Vec<(LoadAddr, Part)> = inside.map(|at| (at, part(at))).collect();
        let any = |of: Loop, wanted: Part| {
            let mut parts = parts.iter().filter(|(at, _)| of.holds(*at));
            parts.any(|(_, part)| *part == wanted)
        };
        // A loop on one line is one line, unless nothing comes after it.
        let is_endless = self.exits.is_empty()
            && self.returns.is_empty()
            && self.jumps.is_empty()
            && self.unclear.is_empty();
        let mut passes = Passes::default();
        let seen = loops.iter().copied();
        let seen = seen.filter(|it| any(*it, Part::Statement));
        let seen = seen.filter(|it| is_endless || any(*it, Part::Elsewhere));
        passes.seen = seen.collect();
        if passes.seen.is_empty() {
            return;
        }
        let statements: FxHashSet<LoadAddr> = parts
            .iter()
            .filter(|(_, part)| *part == Part::Statement)
            .map(|(at, _)| *at)
            .collect();
        if !self.follow(from, begun, &joined, &statements, &mut passes) {
            return;
        }
        // The beginning is passed, too, but not come to.
        let is_passed = |at: &LoadAddr| {
            let mut states = passes.states.iter();
            states.any(|state| state.0 == *at && *state != (from, begun))
        };
        if passes.statements.iter().any(is_passed) {
            passes.statements.clear();
            passes.jumps = edges.iter().filter(is_back).map(|edge| edge.0).collect();
            passes.jumps.sort_unstable();
            passes.jumps.dedup();
            // From now on each loop is known when it begins.
            let all: Vec<LoadAddr> = passes.states.iter().map(|(at, _)| *at).collect();
            passes.states = all.into_iter().map(|at| (at, begun)).collect();
        }
        self.exits.extend(&passes.statements);
        self.unclear.extend(&passes.jumps);
        self.passes = passes;
    }

    /// Whether code of other lines is in a loop.
    pub fn leaves_line(&self, of: Loop, part: impl Fn(LoadAddr) -> Part) -> bool {
        let mut inside = self.instructions.iter().filter(|at| of.holds(**at));
        inside.any(|at| part(*at) == Part::Elsewhere)
    }

    /// Follows all ways from an address to the statements where a pass is seen; false: they are
    /// too many.
    fn follow(
        &self,
        from: LoadAddr,
        begun: Option<Loop>,
        joined: &impl Fn(LoadAddr, LoadAddr) -> bool,
        statements: &FxHashSet<LoadAddr>,
        passes: &mut Passes,
    ) -> bool {
        let mut edges = self.edges.clone();
        edges.sort_unstable();
        let mut todo = vec![(from, begun)];
        while let Some(state) = todo.pop() {
            if !passes.states.insert(state) {
                continue;
            }
            if passes.states.len() > MAX_STATES {
                return false;
            }
            let (at, begun) = state;
            let first = edges.partition_point(|(source, _)| *source < at);
            let ours = edges.iter().skip(first).take_while(|edge| edge.0 == at);
            for (_, to) in ours.copied() {
                let begun = match joined(at, to) {
                    true => Passes::begun_by(begun, at, to),
                    false => begun,
                };
                if statements.contains(&to) && passes.is_seen(begun, to) {
                    if !passes.statements.contains(&to) {
                        passes.statements.push(to);
                    }
                } else if self.instructions.binary_search(&to).is_ok() {
                    todo.push((to, begun));
                }
            }
        }
        true
    }
}
