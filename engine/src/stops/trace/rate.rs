//! Hits over the time since the tracepoint was set.

use crate::inferior::jump_patch::spans;
use crate::os::nanoseconds_per_tick;
use std::collections::BTreeMap;

/// How many hits there were in each interval of time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rate {
    /// By spans of time.
    counts: BTreeMap<u32, u64>,
    /// The time up to which intervals are shown, in ticks.
    until: u64,
}

impl Rate {
    /// Adds a hit this many ticks after the start.
    pub(super) fn add(&mut self, ticks: u64) {
        self.add_span(spans::span(ticks), 1);
    }

    /// Adds hits of a span.
    pub(super) fn add_span(&mut self, span: u32, count: u64) {
        let counted = self.counts.entry(span).or_default();
        *counted = counted.saturating_add(count);
    }

    pub(super) fn merge(&mut self, other: &Rate) {
        for (span, count) in &other.counts {
            self.add_span(*span, *count);
        }
    }

    /// Returns the start of the last span with hits, in ticks.
    pub(super) fn last(&self) -> Option<u64> {
        let last = self.counts.keys().next_back();
        last.map(|span| spans::times(*span).start)
    }

    /// Sets the time up to which intervals are shown, in ticks.
    pub(super) fn show_until(&mut self, ticks: u64) {
        self.until = ticks;
    }

    /// Returns intervals of one length from the start on, at most 64: when each begins and ends, in
    /// nanoseconds, and the number of hits in it.
    pub fn intervals(&self) -> Vec<(f64, f64, u64)> {
        let counts = self.counts.iter().map(|(span, count)| (*span, *count));
        let (all, length) = spans::intervals(counts, self.until);
        let length = length as f64 * nanoseconds_per_tick();
        let bounds = (0..all.len()).map(|at| (at as f64 * length, (at + 1) as f64 * length));
        bounds
            .zip(all)
            .map(|((from, to), count)| (from, to, count))
            .collect()
    }
}
