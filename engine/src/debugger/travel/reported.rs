//! Which log messages and records of tracepoints a replay has reported. A pass that does not reach its end is
//! repeated. All passes report the same in the same order, so the client gets only what no earlier pass reported.

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::stops::trace::Record;
use std::collections::BTreeMap;

/// The progress of this pass, and of the pass that came furthest.
#[derive(Default)]
struct Progress {
    passed: usize,
    reported: usize,
}

/// What the passes of a replay have reported.
#[derive(Default)]
pub(super) struct Reported {
    /// Of the text of log messages, in bytes.
    text: Progress,
    /// Of the records of each tracepoint whose client gets all.
    records: BTreeMap<BreakpointId, Progress>,
}

impl Progress {
    /// Advances this pass by `len`. Returns how much of that, from its start, an earlier pass has reported.
    fn pass(&mut self, len: usize) -> usize {
        let known = self.reported.saturating_sub(self.passed).min(len);
        self.passed += len;
        self.reported = self.reported.max(self.passed);
        known
    }
}

impl Reported {
    fn begin_pass(&mut self) {
        self.text.passed = 0;
        self.records.values_mut().for_each(|it| it.passed = 0);
    }
}

impl Debugger {
    /// Starts a pass that reports: drops the records and counts of the pass before.
    pub(super) fn begin_reporting(&mut self) {
        self.restart_traces();
        let Some(searching) = &mut self.travel.search else {
            return;
        };
        searching.reported.begin_pass();
        for id in searching.hits.keys() {
            self.stops.breakpoints.set_hits(*id, 0);
        }
    }
}

impl super::Travel {
    /// Returns the part of the text of log messages that no earlier pass has reported.
    pub fn unreported<'a>(&mut self, text: &'a str) -> &'a str {
        let known = match &mut self.search {
            Some(searching) => searching.reported.text.pass(text.len()),
            None => 0,
        };
        text.get(known..).unwrap_or_default()
    }

    /// Drops the records of a tracepoint that an earlier pass has reported.
    pub fn drop_reported(&mut self, id: BreakpointId, records: &mut Vec<Record>) {
        if let Some(searching) = &mut self.search {
            let progress = searching.reported.records.entry(id).or_default();
            records.drain(..progress.pass(records.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_pass_reports_only_what_is_new() {
        let mut reported = Reported::default();
        assert_eq!(reported.text.pass(3), 0);
        assert_eq!(reported.text.pass(4), 0);
        reported.begin_pass();
        assert_eq!(reported.text.pass(5), 5);
        assert_eq!(reported.text.pass(5), 2);
        assert_eq!(reported.text.pass(1), 0);
        reported.begin_pass();
        assert_eq!(reported.text.pass(20), 11);
    }
}
