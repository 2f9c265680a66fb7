//! Counting of hits while the program is searched for a place in its past.

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use std::collections::BTreeMap;

impl Debugger {
    /// Begins to count the hits of all breakpoints from 0, in a process that no jump was installed in.
    /// A hit whose condition holds is counted and has no other effect: no stop, message or record, and
    /// hit conditions do not matter. The hit whose number is a breakpoint's target stops.
    pub(crate) fn begin_counting(&mut self, targets: BTreeMap<BreakpointId, u64>) {
        self.stops.breakpoints.begin_counting(targets);
    }

    /// Returns how often a breakpoint was hit since counting began, by traps and in the program. After
    /// the stop at a target it includes that hit.
    pub(crate) fn passes(&self, id: BreakpointId) -> u64 {
        self.stops.breakpoints.hits(id) + self.inferior.counted_by_jumps(id)
    }

    /// Ends counting. Returns the passes of each breakpoint; their hit counts are those of before.
    /// The process in which they were counted is still the present one.
    pub(crate) fn end_counting(&mut self) -> BTreeMap<BreakpointId, u64> {
        let ids = self.stops.breakpoints.all.keys();
        let passes = ids.map(|id| (*id, self.passes(*id))).collect();
        self.stops.breakpoints.end_counting();
        passes
    }
}
