//! What a replay of log messages and tracepoints tells. A pass that has not come to its end is repeated: what
//! it has told is told once, since all passes tell the same in the same order.

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::stops::trace::Record;
use std::collections::BTreeMap;

/// How much this pass has told, and how much of that another one had told before.
#[derive(Default)]
struct Progress {
    passed: usize,
    told: usize,
}

/// What the passes of a replay have told.
#[derive(Default)]
pub(super) struct Told {
    /// Of the text of log messages, in bytes.
    text: Progress,
    /// Of the records of each tracepoint whose client gets all.
    records: BTreeMap<BreakpointId, Progress>,
}

impl Progress {
    /// Passes this much more. Returns how much of it, from its begin, was told before.
    fn pass(&mut self, len: usize) -> usize {
        let known = self.told.saturating_sub(self.passed).min(len);
        self.passed += len;
        self.told = self.told.max(self.passed);
        known
    }
}

impl Told {
    fn begin_pass(&mut self) {
        self.text.passed = 0;
        self.records.values_mut().for_each(|it| it.passed = 0);
    }
}

impl Debugger {
    /// Begins a pass that tells: drops what was recorded and counted in the pass before.
    pub(super) fn begin_telling(&mut self) {
        self.restart_traces();
        let Some(searching) = &mut self.travel.search else {
            return;
        };
        searching.told.begin_pass();
        for id in searching.hits.keys() {
            self.stops.breakpoints.set_hits(*id, 0);
        }
    }
}

impl super::Travel {
    /// Returns the part of the text of log messages that was not told before.
    pub fn untold<'a>(&mut self, text: &'a str) -> &'a str {
        let known = match &mut self.search {
            Some(searching) => searching.told.text.pass(text.len()),
            None => 0,
        };
        text.get(known..).unwrap_or_default()
    }

    /// Drops those records of a tracepoint that were told before.
    pub fn drop_told(&mut self, id: BreakpointId, records: &mut Vec<Record>) {
        if let Some(searching) = &mut self.search {
            let progress = searching.told.records.entry(id).or_default();
            records.drain(..progress.pass(records.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_pass_tells_only_what_is_new() {
        let mut told = Told::default();
        assert_eq!(told.text.pass(3), 0);
        assert_eq!(told.text.pass(4), 0);
        told.begin_pass();
        assert_eq!(told.text.pass(5), 5);
        assert_eq!(told.text.pass(5), 2);
        assert_eq!(told.text.pass(1), 0);
        told.begin_pass();
        assert_eq!(told.text.pass(20), 11);
    }
}
