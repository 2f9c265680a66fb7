//! Searches in the past of a recorded program, as decisions.
//!
//! There is no clock: a place in the past is known as the last of something before another place. So a
//! replay runs from a snapshot to the end of the search, and what was passed on the way is only
//! counted; another replay from the same snapshot stops at the last that was counted. If there was
//! none, a replay begins earlier.

mod numbers;

pub(crate) use numbers::{Hits, NumberedHit};

use crate::ids::BreakpointId;
use crate::inferior::Mark;
use std::collections::BTreeMap;

/// So many passes of the instruction of the end before it, a replay is kept.
const NEAR: u64 = 16;
/// So many times as many before it, another one is kept first. If nothing is found from there, so many times
/// as many again.
const FARTHER: u64 = 64;
/// After so many changes of watched data, each of which is a trap, a pass begins near the end. If a breakpoint was hit
/// so often, replays are kept before its last hit: those before that are often searched next.
const HOT: u64 = 256;

/// What is searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// The last stop: at a breakpoint, an exception or watched data.
    Stop,
    /// The end of the last step: a statement is passed before it, and from there the program steps
    /// forward.
    Step,
    /// The instruction before: the program steps to it from the last statement that is passed before it.
    Instruction,
    /// The last statement of the caller.
    Caller,
    /// The last change of watched data.
    Write,
    /// The last instruction that may have set a register.
    Setter,
    /// The event of the recording of this index.
    Event(usize),
    /// A hit of a breakpoint by its number since the recording began.
    Hit(NumberedHit),
    /// Nothing: log messages and tracepoints are evaluated from the start on.
    Tell,
}

impl Goal {
    /// Returns whether statements are searched, and not stops.
    pub fn is_statement(self) -> bool {
        matches!(
            self,
            Goal::Step | Goal::Instruction | Goal::Caller | Goal::Setter
        )
    }
}

/// What a pass of the search does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Counts how often the instruction of the end is passed, which is one place of many.
    Near,
    /// Stops at this pass of that instruction, so that other passes begin closer to the end.
    Approach(Kept, u64),
    /// Stops at this hit of the only breakpoint that is hit, to keep the place.
    Before(Kept, BreakpointId, u64),
    /// Counts what is passed until the end.
    Count,
    /// Stops at the last of what was counted.
    Last(Awaited),
    /// Finds the order in which statements were passed last: those so far.
    Order(Awaited, Vec<BreakpointId>),
    /// Stops at a pass of a statement, to step from there.
    Anchor(BreakpointId, u64),
    /// Counts the steps from there to the end.
    Steps(Steps),
    /// Steps again from there: the steps that are left.
    StepsAgain(u32),
    /// Stops where the function returns that was called there.
    Return,
    /// Shows again where it has run on from: it does not return before the end.
    Called,
}

/// The steps that have ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Steps {
    all: u32,
    /// Those up to the last one that has led where a step back may lead.
    wanted: u32,
}

/// Where a step has led, seen from the frame that a step back over begins in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Led {
    /// To that frame.
    Own,
    /// To a frame that has called it.
    Outer,
    /// To another one, where no step back over leads.
    Deeper,
}

/// Where the replay of a pass begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// At a snapshot, by its index.
    Snapshot(usize),
    /// At a replay that is kept before the place where searches begin.
    Kept(Kept),
}

/// A replay that is kept. The farther one is the earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    Far,
    Near,
}

/// Which kept replays a place is behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Behind {
    pub far: bool,
    pub near: bool,
}

/// Stops that are awaited; the last of them is the one that is searched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Awaited {
    /// The numbers of the hits of breakpoints.
    pub targets: BTreeMap<BreakpointId, u64>,
    /// The number of the last stop that is not at a breakpoint; 0: there is none.
    pub other: u64,
}

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Begin a replay for the phase, from the snapshot.
    Replay,
    /// Keep the place that is shown, and begin a replay for the phase there.
    Keep(Kept),
    /// Begin again from where the steps have begun.
    ReplaySteps,
    /// Show again the call that the function was entered by.
    ShowCall,
    /// There is nothing before the end of the search: the recording begins.
    Begin,
    /// The end of the search is what is searched.
    End,
    /// The breakpoint was hit only so often until the end of the search.
    Fewer(u64),
    /// What one replay has counted, another has not.
    Lost,
    /// The replay of log messages has ended: show again what was shown.
    Told,
    /// The place that is shown is the one.
    Found,
    /// Keep the place that is shown, and step from it.
    Step,
    /// Make another step.
    StepOn,
    /// Run on.
    Run,
}

/// A search.
#[derive(Debug)]
pub(crate) struct Search {
    pub goal: Goal,
    /// Where it ends: the place that it has begun at.
    pub end: Mark,
    pub phase: Phase,
    /// The index of the snapshot that passes begin at, or behind.
    pub first: usize,
    /// The kept replay that passes begin at; `None`: they begin at the snapshot.
    base: Option<Kept>,
    /// The kept replays before the end.
    behind: Behind,
    /// Those that this search has made.
    made: Behind,
    /// By how many snapshots the next pass begins earlier.
    stride: usize,
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
    /// The hits of breakpoints from the first snapshot to the end.
    counted: BTreeMap<BreakpointId, u64>,
}

impl Search {
    /// Begins a search from a place that is behind the snapshot `after` and these kept replays. `approaches`:
    /// the instruction of the end can be counted, to keep others.
    pub fn new(goal: Goal, end: Mark, after: usize, behind: Behind, approaches: bool) -> Search {
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
            base: match behind {
                Behind { near: true, .. } => Some(Kept::Near),
                Behind { far: true, .. } => Some(Kept::Far),
                _ => None,
            },
            behind,
            made: Behind::default(),
            from_snapshot: 0,
            far: NEAR * FARTHER,
            stride: 1,
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

    /// Returns the hits of a breakpoint from the begin of the passes to the end, if it was counted.
    pub fn counted(&self, id: BreakpointId) -> Option<u64> {
        self.counted.get(&id).copied()
    }

    /// Begins a pass.
    pub fn begin_pass(&mut self) {
        self.others = 0;
    }

    /// Nothing was found: the begin of the recording is shown.
    pub fn begin_at_start(&mut self) {
        self.first = 0;
        self.base = None;
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
                let anchor = anchor(order, line);
                let number = anchor.and_then(|id| Some((id, self.counted(id)?)));
                match number {
                    Some((id, number)) => {
                        self.phase = Phase::Anchor(id, number);
                        Next::Replay
                    }
                    // All are of one line: it may have begun before.
                    None => self.earlier(),
                }
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
        let is_begin = self.first == 0 && self.base.is_none();
        if self.goal == Goal::Stop && !is_begin && hits.values().any(Hits::are_unknown) {
            self.begin_at_start();
            return Next::Replay;
        }
        let counted = hits.iter().map(|(id, hits)| (*id, hits.passed));
        self.counted = counted.collect();
        let last = |(id, hits): (&BreakpointId, &Hits)| {
            let last = hits.last()?.checked_sub(self.skipped)?;
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

    /// Nothing was found in this pass: begins an earlier one.
    fn earlier(&mut self) -> Next {
        self.phase = Phase::Count;
        match self.base {
            // It may have been passed between the kept replays, or the end has come too close to the near one.
            Some(Kept::Near) => {
                self.base = self.behind.far.then_some(Kept::Far);
                if self.approaches && !self.made.near {
                    self.phase = Phase::Near;
                }
            }
            Some(Kept::Far) => {
                self.base = None;
                self.behind.far = false;
                if self.made.far {
                    self.far = self.far.saturating_mul(FARTHER);
                    self.phase = self.approaching(self.from_snapshot);
                } else if self.approaches {
                    self.made.near = false;
                    self.phase = Phase::Near;
                }
            }
            None if self.first == 0 => return Next::Begin,
            None => {
                self.first -= self.stride.min(self.first);
                self.stride *= 2;
            }
        }
        Next::Replay
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
