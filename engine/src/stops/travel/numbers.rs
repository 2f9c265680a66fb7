//! Hits of breakpoints by their numbers.

use crate::ids::{BreakpointId, HitCondition};

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
    /// Returns them for a pass that ends before so many of the hits until the end.
    pub(super) fn before(self, later: u64) -> Hits {
        Hits {
            until_end: self.until_end.saturating_sub(later),
            ..self
        }
    }

    /// Returns whether its numbers are not known unless the pass begins with the program.
    pub(super) fn are_unknown(&self) -> bool {
        self.passed > self.until_end && !matches!(self.stops, None | Some(HitCondition::Once))
    }

    /// Returns the last hit of the pass that stops, counted from its begin.
    pub(super) fn last(&self) -> Option<u64> {
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

/// A hit of a breakpoint, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberedHit {
    pub breakpoint: BreakpointId,
    /// 1: the first since the recording began.
    pub number: u64,
    /// The hits at the end of the search itself, which no pass counts: 0 or 1.
    pub at_end: u64,
}
