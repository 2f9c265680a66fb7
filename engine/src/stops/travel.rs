//! Searches in the past of a recorded program, as decisions.
//!
//! There is no clock: a place in the past is known as the last of something before another place. So a
//! replay runs from a snapshot to the end of the search, and what was passed on the way is only
//! counted; another replay from the same snapshot stops at the last that was counted. If there was
//! none, a replay begins earlier.

use crate::ids::{BreakpointId, HitCondition};
use crate::inferior::Mark;
use dwarf::LoadAddr;
use std::collections::{BTreeMap, VecDeque};

/// The number of passed rows that are remembered.
const RECENT: usize = 1 << 12;

/// What is searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// The last stop: at a breakpoint, an exception or watched data.
    Stop,
    /// The end of the last step: a row of the line table is passed before it, and from there the program
    /// steps forward.
    Step,
    /// The row of the caller that was passed last.
    Caller,
}

/// What a pass of the search does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Counts what is passed until the end.
    Count,
    /// Stops at the last of what was counted.
    Last(Awaited),
    /// Stops at the passed row with this number, to step from there.
    Anchor(u64),
    /// Counts the steps from there to the end.
    Steps {
        /// The number of the passed row.
        anchor: u64,
        /// Steps that have ended before the end.
        made: u32,
    },
    /// Like `Anchor`, to make a number of steps.
    AnchorAgain {
        /// The number of the passed row.
        anchor: u64,
        /// The steps.
        steps: u32,
    },
    /// Makes steps.
    StepsAgain {
        /// Those that are left.
        left: u32,
    },
}

/// Stops that are awaited; the last of them is the one that is searched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Awaited {
    /// The numbers of the hits of breakpoints.
    pub targets: BTreeMap<BreakpointId, u64>,
    /// The number of the last stop that is not at a breakpoint; 0: there is none.
    pub other: u64,
}

/// The hits of a breakpoint in a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hits {
    /// The number in the pass.
    pub passed: u64,
    /// The number until the end of the search, those before the pass included.
    pub until_end: u64,
    /// Those that stop.
    pub stops: Option<HitCondition>,
}

impl Hits {
    /// Returns whether its numbers are not known unless the pass begins with the program.
    fn are_unknown(&self) -> bool {
        self.passed > self.until_end && !matches!(self.stops, None | Some(HitCondition::Once))
    }

    /// Returns the last hit of the pass that stops, counted from its begin.
    fn last(&self) -> Option<u64> {
        // A breakpoint that was set later has the numbers that it would have.
        let before = self.until_end.saturating_sub(self.passed);
        let stops = |nth: &u64| match self.stops {
            None | Some(HitCondition::Once) => true,
            Some(condition) => condition.holds(before + *nth),
        };
        /// More hits are not looked through.
        const MOST: u64 = 1 << 24;
        let first = self.passed.saturating_sub(MOST) + 1;
        (first..=self.passed).rev().find(stops)
    }
}

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Begin a replay for the phase.
    Replay,
    /// There is nothing before the end of the search: the recording begins.
    Begin,
    /// The place that is shown is the one.
    Found,
    /// Step on.
    Step,
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
    /// The index of the snapshot that passes begin at.
    pub first: usize,
    /// By how many snapshots the next pass begins earlier.
    stride: usize,
    /// Rows or stops passed in this pass.
    passed: u64,
    /// The last rows passed, with their numbers.
    recent: VecDeque<(u64, LoadAddr)>,
    /// The hits of breakpoints from the first snapshot to the end.
    counted: BTreeMap<BreakpointId, u64>,
}

impl Search {
    /// Begins a search from a place that is behind the snapshot `after`.
    pub fn new(goal: Goal, end: Mark, after: usize) -> Search {
        Search {
            goal,
            end,
            phase: Phase::Count,
            first: after,
            stride: 1,
            passed: 0,
            recent: VecDeque::new(),
            counted: BTreeMap::new(),
        }
    }

    /// Returns the hits of a breakpoint from the begin of the passes to the end, if it was counted.
    pub fn counted(&self, id: BreakpointId) -> Option<u64> {
        self.counted.get(&id).copied()
    }

    /// Begins a pass.
    pub fn begin_pass(&mut self) {
        self.passed = 0;
    }

    /// Returns the numbers of the hits at which breakpoints stop in this pass.
    pub fn targets(&self) -> BTreeMap<BreakpointId, u64> {
        match &self.phase {
            Phase::Last(awaited) => awaited.targets.clone(),
            _ => BTreeMap::new(),
        }
    }

    /// Returns whether rows are counted in this pass.
    pub fn counts_rows(&self) -> bool {
        self.goal != Goal::Stop
            && matches!(
                self.phase,
                Phase::Count | Phase::Anchor(_) | Phase::AnchorAgain { .. } | Phase::Last(_)
            )
    }

    /// Notes a passed row. Returns what to do.
    pub fn on_row(&mut self, addr: LoadAddr) -> Next {
        self.passed += 1;
        match self.phase {
            Phase::Count => {
                if self.recent.len() == RECENT {
                    self.recent.pop_front();
                }
                self.recent.push_back((self.passed, addr));
                Next::Run
            }
            Phase::Last(Awaited { other, .. }) if other == self.passed => Next::Found,
            Phase::Anchor(anchor) if anchor == self.passed => {
                self.phase = Phase::Steps { anchor, made: 0 };
                Next::Step
            }
            Phase::AnchorAgain { anchor, steps } if anchor == self.passed => match steps {
                0 => Next::Found,
                _ => {
                    self.phase = Phase::StepsAgain { left: steps };
                    Next::Step
                }
            },
            _ => Next::Run,
        }
    }

    /// Notes a stop, at these breakpoints if at any. Returns what to do.
    pub fn on_stop(&mut self, breakpoints: &[BreakpointId]) -> Next {
        match &mut self.phase {
            Phase::Count if self.goal == Goal::Stop && breakpoints.is_empty() => {
                self.passed += 1;
                Next::Run
            }
            Phase::Last(awaited) if self.goal == Goal::Stop => {
                let before = awaited.clone();
                for id in breakpoints {
                    awaited.targets.remove(id);
                }
                if breakpoints.is_empty() {
                    self.passed += 1;
                    if awaited.other == self.passed {
                        awaited.other = 0;
                    }
                }
                let is_last = *awaited == Awaited::default() && before != *awaited;
                if is_last { Next::Found } else { Next::Run }
            }
            Phase::Steps { made, .. } => {
                *made += 1;
                Next::Step
            }
            Phase::StepsAgain { left } => {
                *left = left.saturating_sub(1);
                if *left == 0 { Next::Found } else { Next::Step }
            }
            _ => Next::Run,
        }
    }

    /// The replay has come to the end of the search. `hits`: of the breakpoints that stop, in this
    /// pass. `line`: tells apart the lines of rows.
    pub fn at_end(
        &mut self,
        hits: &BTreeMap<BreakpointId, Hits>,
        line: impl Fn(LoadAddr) -> u64,
    ) -> Next {
        match self.phase {
            Phase::Count => {}
            // It has stepped up to the end.
            Phase::Steps { anchor, made } => {
                self.phase = Phase::AnchorAgain {
                    anchor,
                    steps: made,
                };
                return Next::Replay;
            }
            // It has missed what was counted before.
            _ => return Next::Begin,
        }
        if self.goal == Goal::Stop && self.first > 0 && hits.values().any(Hits::are_unknown) {
            self.first = 0;
            return Next::Replay;
        }
        let counted = hits.iter().map(|(id, hits)| (*id, hits.passed));
        self.counted = counted.collect();
        let found = match self.goal {
            Goal::Stop => {
                let last = |(id, hits): (&BreakpointId, &Hits)| Some((*id, hits.last()?));
                let awaited = Awaited {
                    targets: hits.iter().filter_map(last).collect(),
                    other: self.passed,
                };
                (awaited != Awaited::default()).then_some(Phase::Last(awaited))
            }
            Goal::Caller => (self.passed > 0).then(|| {
                Phase::Last(Awaited {
                    other: self.passed,
                    ..Awaited::default()
                })
            }),
            Goal::Step => self.anchor(line).map(Phase::Anchor),
        };
        match found {
            Some(phase) => {
                self.phase = phase;
                Next::Replay
            }
            None => self.earlier(),
        }
    }

    /// Returns the number of the row that the steps begin at: the last one of another line than the last
    /// row, so that the line of the last row begins on the way.
    fn anchor(&self, line: impl Fn(LoadAddr) -> u64) -> Option<u64> {
        let (_, last) = self.recent.back()?;
        let last = line(*last);
        let mut rows = self.recent.iter().rev();
        let other = rows.find(|(_, addr)| line(*addr) != last);
        let oldest = self.recent.front().filter(|(number, _)| {
            // What was before cannot help.
            self.first == 0 || *number > 1
        });
        other.or(oldest).map(|(number, _)| *number)
    }

    /// Counts again from an earlier snapshot.
    fn earlier(&mut self) -> Next {
        if self.first == 0 {
            return Next::Begin;
        }
        self.first -= self.stride.min(self.first);
        self.stride *= 2;
        self.recent.clear();
        Next::Replay
    }
}
