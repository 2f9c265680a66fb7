//! What a search in the past is for, what its passes do, and what follows.

use super::NumberedHit;
use crate::ids::BreakpointId;
use std::collections::BTreeMap;

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
    pub(super) all: u32,
    /// Those up to the last one that has led where a step back may lead.
    pub(super) wanted: u32,
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
