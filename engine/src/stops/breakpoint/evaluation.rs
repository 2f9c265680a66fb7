//! Whether the program or the debugger evaluates the hits of a breakpoint, at each of its places, and what that
//! costs.

use super::{Breakpoint, Breakpoints};
use crate::ids::BreakpointId;
use dwarf::LoadAddr;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

/// The number of hits that a figure is the median of.
const MEASURED: usize = 9;

/// What evaluates the hits at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Evaluation {
    /// Code in the program.
    InProgram,
    /// The debugger at a trap, and why.
    ByDebugger(String),
}

/// What is known of the places so far.
#[derive(Default)]
pub struct Evaluations {
    places: BTreeMap<LoadAddr, Evaluation>,
    /// How often each reason holds.
    reasons: BTreeMap<String, usize>,
    /// Why the debugger is going to evaluate the hits, if that is known before there are any.
    expected: Option<String>,
    cost: Cost,
}

/// How long the debugger has worked at the last hits. The first ones read debug info, and threads wait for
/// processors, so that the median counts.
#[derive(Default)]
struct Cost {
    hits: usize,
    last: [Duration; MEASURED],
}

impl Cost {
    fn add(&mut self, took: Duration) {
        self.last[self.hits % MEASURED] = took;
        self.hits = self.hits.wrapping_add(1);
    }

    /// Returns the cost of a hit, as users read it.
    fn text(&self) -> String {
        if self.hits < MEASURED {
            return " at each hit".to_owned();
        }
        let mut last = self.last;
        last.sort_unstable();
        match last[MEASURED / 2].as_nanos() {
            nanos @ 0..1_000_000 => format!(", {} µs per hit", nanos.div_ceil(1000)),
            nanos => format!(", {} ms per hit", nanos.div_ceil(1_000_000)),
        }
    }
}

impl Breakpoint {
    /// Notes why the debugger is going to evaluate the hits; `None`: that is not known. Returns whether that is
    /// new.
    pub(crate) fn expect_evaluation(&mut self, why: Option<String>) -> bool {
        let is_new = self.evaluations.expected != why;
        self.evaluations.expected = why;
        is_new && self.evaluations.is_empty()
    }
}

impl Breakpoints {
    /// Returns whether it is known that the debugger evaluates the hits at a place, and not the program.
    pub(crate) fn is_evaluated_by_debugger(&self, id: BreakpointId, at: LoadAddr) -> bool {
        let place = self
            .all
            .get(&id)
            .and_then(|it| it.evaluations.places.get(&at));
        matches!(place, Some(Evaluation::ByDebugger(_)))
    }

    /// Notes how long the debugger has worked at a hit of these breakpoints.
    pub(crate) fn add_cost(&mut self, ids: &[BreakpointId], took: Duration) {
        for id in ids {
            if let Some(breakpoint) = self.all.get_mut(id) {
                breakpoint.evaluations.cost.add(took);
            }
        }
    }
}

impl Evaluations {
    /// Sets what evaluates the hits at a place. Returns whether that is new.
    pub fn set(&mut self, at: LoadAddr, evaluation: Evaluation) -> bool {
        if let Evaluation::ByDebugger(why) = &evaluation {
            *self.reasons.entry(why.clone()).or_default() += 1;
        }
        let before = self.places.insert(at, evaluation.clone());
        if let Some(Evaluation::ByDebugger(why)) = &before
            && let Entry::Occupied(mut count) = self.reasons.entry(why.clone())
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        before != Some(evaluation)
    }

    /// Forgets a place.
    pub fn forget(&mut self, at: LoadAddr) {
        // As if it were evaluated in the program, its reason does not count.
        self.set(at, Evaluation::InProgram);
        self.places.remove(&at);
    }

    /// Returns what evaluates the hits at each place, as far as that is known.
    pub fn places(&self) -> impl Iterator<Item = (LoadAddr, &Evaluation)> {
        self.places.iter().map(|(at, evaluation)| (*at, evaluation))
    }

    /// Returns true until something is known.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns whether all places that were hit are evaluated in the program.
    pub fn all_in_program(&self) -> bool {
        !self.places.is_empty() && self.reasons.is_empty()
    }

    /// Returns a remark for users; `None` if nothing is known yet.
    pub fn remark(&self) -> Option<String> {
        let by_debugger: usize = self.reasons.values().sum();
        let all = self.places.len();
        let frequent = self.reasons.iter().max_by_key(|(_, count)| **count);
        let mut text = format!("evaluated by the debugger{}", self.cost.text());
        let Some((why, count)) = frequent else {
            if all > 0 {
                return Some("evaluated in the program".to_owned());
            }
            let why = self.expected.as_ref()?;
            return Some(format!("{text}: {why}"));
        };
        if by_debugger < all {
            text.push_str(&format!(", at {by_debugger} of {all} places"));
        }
        text.push_str(&format!(": {why}"));
        let others = by_debugger - count;
        if others > 0 {
            text.push_str(&format!("; for other reasons at {others} places"));
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remark_names_the_most_frequent_reason() {
        let mut all = Evaluations::default();
        assert_eq!(all.remark(), None);
        assert!(all.set(LoadAddr(1), Evaluation::InProgram));
        assert!(!all.set(LoadAddr(1), Evaluation::InProgram));
        assert_eq!(all.remark().as_deref(), Some("evaluated in the program"));
        let why = |why: &str| Evaluation::ByDebugger(why.to_owned());
        all.set(LoadAddr(2), why("no room"));
        all.set(LoadAddr(3), why("no room"));
        all.set(LoadAddr(4), why("unknown"));
        let text = "evaluated by the debugger at each hit, at 3 of 4 places: no room; for other \
                    reasons at 1 places";
        assert_eq!(all.remark().as_deref(), Some(text));
        assert!(!all.all_in_program());
        for place in 1..=4 {
            all.set(LoadAddr(place), Evaluation::InProgram);
        }
        assert!(all.all_in_program());
        let mut one = Evaluations::default();
        one.set(LoadAddr(2), why("no room"));
        let text = "evaluated by the debugger at each hit: no room";
        assert_eq!(one.remark().as_deref(), Some(text));
    }

    #[test]
    fn remark_has_the_measured_cost() {
        let mut all = Evaluations {
            expected: Some("no code".to_owned()),
            ..Evaluations::default()
        };
        let text = "evaluated by the debugger at each hit: no code";
        assert_eq!(all.remark().as_deref(), Some(text));
        for micros in [9000, 80, 43, 41, 7000, 40, 42, 60, 44, 39, 41] {
            all.cost.add(Duration::from_micros(micros));
        }
        all.set(LoadAddr(1), Evaluation::ByDebugger("no room".to_owned()));
        let text = "evaluated by the debugger, 42 µs per hit: no room";
        assert_eq!(all.remark().as_deref(), Some(text));
        all.set(LoadAddr(1), Evaluation::InProgram);
        assert_eq!(all.remark().as_deref(), Some("evaluated in the program"));
    }
}
