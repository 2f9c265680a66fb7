//! Searches in the past of a recorded program, as decisions.
//!
//! There is no clock: a place in the past is known as the last of something before another place. So a
//! replay runs from a snapshot to the end of the search, and what was passed on the way is only
//! counted; another replay from the same snapshot stops at the last that was counted. If there was
//! none, a replay begins earlier. It ends where the one before began, if that is at an event: a replay
//! stops there at no cost. Another place it would have to look for all the time.

mod earlier;
mod numbers;
mod pass;

pub(crate) use numbers::{Hits, NumberedHit};
pub(crate) use pass::{Awaited, Behind, From, Goal, Kept, Led, Next, Phase, Steps};

use crate::ids::BreakpointId;
use crate::inferior::Mark;
use crate::os::SnapshotPlace;
use std::collections::BTreeMap;

/// So many passes of the instruction of the end before it, a replay is kept.
const NEAR: u64 = 8;
/// So many times as many before it, another one is kept first. If nothing is found from there, so many times
/// as many again.
const FARTHER: u64 = 64;
/// After so many changes of watched data, each of which is a trap, a pass begins near the end. If a breakpoint was hit
/// so often, replays are kept before its last hit: those before that are often searched next.
const HOT: u64 = 256;

/// A search.
#[derive(Debug)]
pub(crate) struct Search {
    pub goal: Goal,
    /// Where it ends: the place that it has begun at.
    pub end: Mark,
    pub phase: Phase,
    /// The index of the snapshot that passes begin at, or behind.
    pub first: usize,
    /// That of the first pass.
    after: usize,
    /// The kept replay that passes begin at; `None`: they begin at the snapshot.
    base: Option<Kept>,
    /// The kept replays before the end.
    behind: Behind,
    /// Those that this search has made.
    made: Behind,
    /// The snapshots of the recording.
    snapshots: Vec<SnapshotPlace>,
    /// Whether a pass that begins earlier may end where the one before began.
    may_divide: bool,
    /// The index of the snapshot that the passes end at; `None`: they end where the search does.
    until: Option<usize>,
    /// The hits between that snapshot and the end of the search.
    later: BTreeMap<BreakpointId, u64>,
    /// Whether the instruction of the end can be counted.
    approaches: bool,
    /// How often it is passed from the snapshot to the end, if that was counted.
    from_snapshot: u64,
    /// So many of these passes before the end, the farther replay is kept.
    far: u64,
    /// Whether steps by instructions go into calls: it is not known where the function returns.
    goes_into_calls: bool,
    /// So many of the last hits are not what is searched: they were found before.
    skipped: u64,
    /// Stops in this pass that are not at breakpoints.
    others: u64,
    /// The hits of breakpoints in the last pass that has counted them.
    counted: BTreeMap<BreakpointId, u64>,
}

impl Search {
    /// Begins a search in a recording with these snapshots, from a place that is behind the one of the index `after`
    /// and these kept replays. `approaches`: the instruction of the end can be counted, to keep others.
    pub fn new(
        goal: Goal,
        end: Mark,
        (snapshots, after): (Vec<SnapshotPlace>, usize),
        behind: Behind,
        approaches: bool,
    ) -> Search {
        Search {
            goal,
            end,
            phase: match goal {
                Goal::Hit(hit) => Phase::Last(Awaited {
                    targets: BTreeMap::from([(hit.breakpoint, hit.number)]),
                    other: 0,
                }),
                _ if approaches && !behind.near && goal.is_statement() => Phase::Near,
                _ => Phase::Count,
            },
            first: after,
            after,
            base: match behind {
                Behind { near: true, .. } => Some(Kept::Near),
                Behind { far: true, .. } => Some(Kept::Far),
                _ => None,
            },
            behind,
            made: Behind::default(),
            from_snapshot: 0,
            far: NEAR * FARTHER,
            snapshots,
            may_divide: matches!(goal, Goal::Stop | Goal::Write),
            until: None,
            later: BTreeMap::new(),
            approaches,
            goes_into_calls: false,
            skipped: 0,
            others: 0,
            counted: BTreeMap::new(),
        }
    }

    /// Looks for what is before the last hit, which was found before.
    pub fn skip_last(&mut self) {
        self.skipped = 1;
    }

    /// Returns the hits of a breakpoint from the begin of the passes to the end of the search, if it was counted.
    pub fn counted(&self, id: BreakpointId) -> Option<u64> {
        Some(*self.counted.get(&id)? + self.later_hits(id))
    }

    fn later_hits(&self, id: BreakpointId) -> u64 {
        self.later.get(&id).copied().unwrap_or(0)
    }

    /// All passes end where the search does.
    pub fn keep_undivided(&mut self) {
        self.may_divide = false;
    }

    /// Returns the index of the event that passes end before; `None`: they end where the search does.
    pub fn until(&self) -> Option<usize> {
        Some(self.snapshots.get(self.until?)?.next)
    }

    /// The replay that is shown runs to where the search ends.
    pub fn run_to_end(&mut self) {
        self.until = None;
    }

    /// Begins a pass.
    pub fn begin_pass(&mut self) {
        self.others = 0;
    }

    /// Nothing was found: the begin of the recording is shown.
    pub fn begin_at_start(&mut self) {
        self.first = 0;
        self.base = None;
        self.until = None;
        self.later.clear();
    }

    /// Returns where the replay of the pass begins.
    pub fn from(&self) -> From {
        match self.base {
            Some(kept) => From::Kept(kept),
            None => From::Snapshot(self.first),
        }
    }

    /// Returns the kept replays that the place that was found is behind.
    pub fn behind(&self) -> Behind {
        match self.base {
            Some(Kept::Near) => self.behind,
            Some(Kept::Far) => Behind {
                near: false,
                ..self.behind
            },
            None => Behind::default(),
        }
    }

    /// Returns whether the program makes steps.
    pub fn is_stepping(&self) -> bool {
        matches!(self.phase, Phase::Steps(_) | Phase::StepsAgain(_))
    }

    /// Returns whether steps by instructions go into calls.
    pub fn goes_into_calls(&self) -> bool {
        self.goes_into_calls
    }

    /// The steps by instructions have led to a call that returns to the end: looks for the last instruction of
    /// what it calls.
    pub fn seek_return(&mut self) {
        self.phase = Phase::Return;
    }

    /// Returns whether it runs on, or has, from the place that was found to where a function returns.
    pub fn has_run_on(&self) -> bool {
        matches!(self.phase, Phase::Return | Phase::Called)
    }

    /// Returns whether the pass counts the instruction of the end, and not what is searched.
    pub fn approaches(&self) -> bool {
        matches!(self.phase, Phase::Near | Phase::Approach(..))
    }

    /// Returns the numbers of the hits at which breakpoints stop in this pass.
    pub fn targets(&self) -> BTreeMap<BreakpointId, u64> {
        match &self.phase {
            Phase::Last(awaited) | Phase::Order(awaited, _) => awaited.targets.clone(),
            Phase::Anchor(id, number) | Phase::Before(_, id, number) => {
                BTreeMap::from([(*id, *number)])
            }
            _ => BTreeMap::new(),
        }
    }

    /// Returns whether the pass has to count a statement.
    pub fn counts(&self, statement: BreakpointId) -> bool {
        match &self.phase {
            Phase::Last(awaited) | Phase::Order(awaited, _) => {
                awaited.targets.contains_key(&statement)
            }
            Phase::Anchor(id, _) => *id == statement,
            Phase::Count => true,
            Phase::Near
            | Phase::Approach(..)
            | Phase::Before(..)
            | Phase::Steps(_)
            | Phase::StepsAgain(_)
            | Phase::Return
            | Phase::Called => false,
        }
    }

    /// Returns the number of the pass of the instruction of the end at which this pass stops.
    pub fn target_near(&self) -> Option<u64> {
        match self.phase {
            Phase::Approach(_, number) => Some(number),
            _ => None,
        }
    }

    /// Notes a stop, at these breakpoints if at any. `led`: where, if it is the end of a step. `line` tells apart
    /// the lines of statements; `None`: the breakpoint is none. Returns what to do.
    pub fn on_stop(
        &mut self,
        breakpoints: &[BreakpointId],
        led: Led,
        line: impl Fn(BreakpointId) -> Option<u64>,
    ) -> Next {
        match &mut self.phase {
            Phase::Approach(kept, _) if !breakpoints.is_empty() => {
                let kept = *kept;
                self.has_approached(kept);
                Next::Keep(kept)
            }
            Phase::Near | Phase::Approach(..) => Next::Run,
            Phase::Before(kept, id, _) if breakpoints.contains(id) => {
                let kept = *kept;
                self.is_kept(kept);
                self.phase = Phase::Count;
                Next::Keep(kept)
            }
            Phase::Before(..) => Next::Run,
            Phase::Count => {
                self.others += u64::from(breakpoints.is_empty());
                Next::Run
            }
            Phase::Last(awaited) => {
                let before = awaited.clone();
                for id in breakpoints {
                    awaited.targets.remove(id);
                }
                if breakpoints.is_empty() {
                    self.others += 1;
                    if awaited.other == self.others {
                        awaited.other = 0;
                    }
                }
                let is_last = *awaited == Awaited::default() && before != *awaited;
                match (is_last, self.goal) {
                    (false, _) => Next::Run,
                    (true, Goal::Instruction) => {
                        self.phase = Phase::Steps(Steps::default());
                        Next::Step
                    }
                    (true, _) => Next::Found,
                }
            }
            Phase::Order(awaited, order) => {
                for id in breakpoints {
                    if awaited.targets.remove(id).is_some() {
                        order.push(*id);
                    }
                }
                if !awaited.targets.is_empty() {
                    return Next::Run;
                }
                let order = std::mem::take(order);
                self.begin_at_anchor(&order, line)
            }
            Phase::Anchor(id, _) if breakpoints.contains(id) => {
                self.phase = Phase::Steps(Steps::default());
                Next::Step
            }
            Phase::Anchor(..) => Next::Run,
            Phase::Called => Next::Found,
            Phase::Return if breakpoints.is_empty() => Next::Run,
            Phase::Return => Next::Found,
            Phase::Steps(made) => {
                made.all += 1;
                if led != Led::Deeper {
                    made.wanted = made.all;
                }
                Next::StepOn
            }
            Phase::StepsAgain(left) => {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    Next::Found
                } else {
                    Next::StepOn
                }
            }
        }
    }

    /// The pass that has counted statements knows the order of its hits: no other one is needed for that. Returns what to
    /// do, if these are all hits, oldest first, and the next pass would have found their order.
    pub fn skip_order(
        &mut self,
        hits: &[BreakpointId],
        line: impl Fn(BreakpointId) -> Option<u64>,
    ) -> Option<Next> {
        let Phase::Order(awaited, _) = &self.phase else {
            return None;
        };
        let mut order: Vec<BreakpointId> = Vec::new();
        for (id, passed) in &awaited.targets {
            let known = hits.iter().filter(|it| *it == id).count();
            if known as u64 != *passed {
                return None;
            }
        }
        for id in hits.iter().rev() {
            if awaited.targets.contains_key(id) && !order.contains(id) {
                order.push(*id);
            }
        }
        order.reverse();
        Some(self.begin_at_anchor(&order, line))
    }

    /// Statements were passed last in this order: the next pass leads to where the steps begin.
    fn begin_at_anchor(
        &mut self,
        order: &[BreakpointId],
        line: impl Fn(BreakpointId) -> Option<u64>,
    ) -> Next {
        let anchor = anchor(order, line);
        match anchor.and_then(|id| Some((id, self.counted(id)?))) {
            Some((id, number)) => {
                self.phase = Phase::Anchor(id, number);
                Next::Replay
            }
            // All are of one line: it may have begun before.
            None => self.earlier(),
        }
    }

    /// The replay has come to the end of the search. `hits`: of the breakpoints that stop, or the
    /// statements, in this pass.
    pub fn at_end(&mut self, hits: &BTreeMap<BreakpointId, Hits>) -> Next {
        match self.phase {
            _ if self.goal == Goal::Tell => return Next::Told,
            // A pass of such a search ends before.
            _ if matches!(self.goal, Goal::Event(_)) => return Next::Lost,
            Phase::Last(_) if let Goal::Hit(wanted) = self.goal => {
                let passed = hits.get(&wanted.breakpoint).map_or(0, |hits| hits.passed);
                let all = passed + wanted.at_end;
                return match all == wanted.number {
                    true => Next::End,
                    false => Next::Fewer(all),
                };
            }
            Phase::Near => {
                let passes = hits.values().map(|hits| hits.passed).max().unwrap_or(0);
                self.phase = self.approaching(passes);
                return Next::Replay;
            }
            Phase::Count => {}
            Phase::Steps(made) => {
                self.phase = Phase::StepsAgain(made.wanted);
                return Next::ReplaySteps;
            }
            Phase::Return if matches!(self.goal, Goal::Setter | Goal::Write) => {
                self.phase = Phase::Called;
                return Next::ShowCall;
            }
            Phase::Return => {
                self.goes_into_calls = true;
                self.phase = Phase::Steps(Steps::default());
                return Next::ReplaySteps;
            }
            _ => return Next::Lost,
        }
        let is_begin = self.first == 0 && self.base.is_none() && self.until.is_none();
        let until_end_of_pass = |(id, hits): (&BreakpointId, &Hits)| {
            let later = self.later_hits(*id);
            (*id, hits.before(later))
        };
        let hits: BTreeMap<BreakpointId, Hits> = hits.iter().map(until_end_of_pass).collect();
        if self.goal == Goal::Stop && !is_begin && hits.values().any(Hits::are_unknown) {
            self.begin_at_start();
            return Next::Replay;
        }
        let counted = hits.iter().map(|(id, hits)| (*id, hits.passed));
        self.counted = counted.collect();
        let skipped = self.skipped.saturating_sub(self.later.values().sum());
        let last = |(id, hits): (&BreakpointId, &Hits)| {
            let last = hits.last()?.checked_sub(skipped)?;
            (last != 0).then_some((*id, last))
        };
        let awaited = Awaited {
            targets: hits.iter().filter_map(last).collect(),
            other: match self.goal {
                Goal::Stop => self.others,
                Goal::Step
                | Goal::Instruction
                | Goal::Caller
                | Goal::Write
                | Goal::Setter
                | Goal::Event(_)
                | Goal::Hit(_)
                | Goal::Tell => 0,
            },
        };
        if awaited == Awaited::default() {
            return self.earlier();
        }
        if let Some(phase) = self.closer(&awaited) {
            self.phase = phase;
            return Next::Replay;
        }
        self.phase = match self.goal {
            Goal::Step => Phase::Order(awaited, Vec::new()),
            Goal::Stop
            | Goal::Instruction
            | Goal::Caller
            | Goal::Write
            | Goal::Setter
            | Goal::Event(_)
            | Goal::Hit(_)
            | Goal::Tell => Phase::Last(awaited),
        };
        Next::Replay
    }

    /// Returns the phase that leads closer to the end, whose instruction the pass has passed so often, or that
    /// counts from where passes begin, if that is close.
    fn approaching(&mut self, passes: u64) -> Phase {
        let before = |distance: u64| passes.checked_sub(distance).filter(|it| *it > distance);
        if self.base.is_none() {
            self.from_snapshot = passes;
            if let Some(number) = before(self.far) {
                return Phase::Approach(Kept::Far, number);
            }
        }
        match before(NEAR) {
            Some(number) if !self.made.near => Phase::Approach(Kept::Near, number),
            _ => Phase::Count,
        }
    }

    /// Returns the phase that leads closer to the last stop, if a breakpoint is hit often before it, and nothing else
    /// stops.
    fn closer(&self, awaited: &Awaited) -> Option<Phase> {
        let mut targets = awaited.targets.iter();
        let (id, last) = targets.next()?;
        if self.goal != Goal::Stop || targets.next().is_some() || awaited.other != 0 || *last < HOT
        {
            return None;
        }
        let far = last.checked_sub(NEAR * FARTHER).filter(|it| *it > 0);
        match (self.base, far) {
            (None, Some(number)) if !self.made.far => Some(Phase::Before(Kept::Far, *id, number)),
            (None | Some(Kept::Far), _) if !self.made.near => {
                Some(Phase::Before(Kept::Near, *id, last - NEAR))
            }
            _ => None,
        }
    }

    /// The replay that is shown is kept.
    fn is_kept(&mut self, kept: Kept) {
        self.base = Some(kept);
        match kept {
            Kept::Far => {
                self.behind.far = true;
                self.made.far = true;
            }
            Kept::Near => {
                self.behind.near = true;
                self.made.near = true;
            }
        }
    }

    /// The replay that is shown is kept, some passes of the instruction of the end before it.
    fn has_approached(&mut self, kept: Kept) {
        self.is_kept(kept);
        self.phase = match kept {
            Kept::Far if !self.made.near => Phase::Near,
            Kept::Far | Kept::Near => Phase::Count,
        };
    }

    /// Watched data was changed so often in this pass: returns whether to begin near the end first, as each
    /// change is a trap. The caller then knows an instruction that is passed often.
    pub fn is_too_hot(&mut self, changes: u64) -> bool {
        let is_hot = changes >= HOT && self.phase == Phase::Count && self.base != Some(Kept::Near);
        if is_hot && !self.made.near {
            self.approaches = true;
            self.phase = Phase::Near;
            return true;
        }
        false
    }
}

/// Returns the statement that the steps begin at: the last one of another line than the last statement,
/// so that the line of that begins on the way.
fn anchor(
    order: &[BreakpointId],
    line: impl Fn(BreakpointId) -> Option<u64>,
) -> Option<BreakpointId> {
    let last = line(*order.last()?);
    let mut others = order.iter().rev();
    others.find(|id| line(**id) != last).copied()
}

#[cfg(test)]
mod tests;
