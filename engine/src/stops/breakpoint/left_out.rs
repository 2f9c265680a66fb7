//! Functions that a tracepoint on many functions leaves out: only the debugger could evaluate their
//! hits, which would slow the program down a thousandfold.

use super::evaluation::Evaluation;
use super::{Breakpoint, Search};
use dwarf::LoadAddr;
use std::collections::BTreeMap;

/// A tracepoint with more functions than this leaves some out.
const MANY: usize = 16;

/// The functions, by their entries, and why the program cannot evaluate their hits.
#[derive(Default)]
pub(crate) struct LeftOut(BTreeMap<LoadAddr, String>);

impl LeftOut {
    /// Returns whether the function at an entry is left out.
    pub(crate) fn contains(&self, entry: LoadAddr) -> bool {
        self.0.contains_key(&entry)
    }

    /// Returns whether none is.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets them: the images have changed.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns a remark for users. `others`: how many functions are traced.
    pub(super) fn remark(&self, others: usize) -> Option<String> {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for why in self.0.values() {
            *reasons.entry(why).or_default() += 1;
        }
        let (why, _) = reasons.into_iter().max_by_key(|(_, count)| *count)?;
        let (out, all) = (self.0.len(), self.0.len() + others);
        Some(format!(
            "{out} of {all} functions left out, which would take some 10 µs a hit: {why}; \
             `with traps` includes them"
        ))
    }
}

impl Breakpoint {
    /// Returns whether functions that only the debugger can evaluate are left out.
    pub(crate) fn leaves_out(&self) -> bool {
        let query = self.program.trace.as_ref();
        let wants_all = query.is_none_or(|query| query.with_traps);
        let all = self.bound.len() + self.left_out.0.len();
        matches!(self.search, Search::Functions(_)) && !wants_all && all > MANY
    }

    /// Returns the entries of functions to leave out, as far as that is known: none before the program
    /// evaluates one, since it is the query then that it cannot evaluate. `is_lasting`: whether the
    /// obstacle at an entry is permanent.
    pub(crate) fn to_leave_out(
        &self,
        is_lasting: impl Fn(LoadAddr) -> bool,
    ) -> Vec<(LoadAddr, String)> {
        let mut all = self.evaluations.places();
        if !self.leaves_out() || !all.any(|(_, it)| *it == Evaluation::InProgram) {
            return Vec::new();
        }
        let by_debugger = self.evaluations.places().filter_map(|(at, it)| match it {
            Evaluation::ByDebugger(why) => Some((at, why.clone())),
            Evaluation::InProgram => None,
        });
        by_debugger.filter(|(at, _)| is_lasting(*at)).collect()
    }

    /// Leaves a function out.
    pub(crate) fn leave_out(&mut self, entry: LoadAddr, why: String) {
        self.bound.retain(|bound| bound.addr != entry);
        self.exits.retain(|_, exit| exit.entry != entry);
        self.evaluations.forget(entry);
        self.left_out.0.insert(entry, why);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BoundLocation, BreakpointOptions, Spec};
    use super::*;
    use crate::ids::ModuleId;
    use dwarf::Language;

    fn traced(query: &str, name: &str, places: u64) -> Breakpoint {
        let options = BreakpointOptions {
            trace: Some(query.to_owned()),
            ..BreakpointOptions::default()
        };
        let mut breakpoint = Breakpoint::new(Spec::Function(name.to_owned()), options);
        breakpoint.bound = (1..=places)
            .map(|addr| BoundLocation {
                addr: LoadAddr(addr),
                module: ModuleId(0),
                source: None,
                language: Language::C,
                hidden: 0,
                shown: None,
            })
            .collect();
        breakpoint
    }

    fn slow() -> Evaluation {
        Evaluation::ByDebugger("no room".to_owned())
    }

    #[test]
    fn slow_functions_of_many_are_left_out_once_one_is_fast() {
        let mut all = traced("count()", "/f/", 20);
        all.evaluations.set(LoadAddr(1), slow());
        all.evaluations.set(LoadAddr(2), slow());
        assert!(all.to_leave_out(|_| true).is_empty());
        all.evaluations.set(LoadAddr(3), Evaluation::InProgram);
        let out = all.to_leave_out(|addr| addr == LoadAddr(2));
        assert_eq!(out, [(LoadAddr(2), "no room".to_owned())]);
        all.leave_out(LoadAddr(2), "no room".to_owned());
        assert!(all.left_out.contains(LoadAddr(2)) && all.bound.len() == 19);
        let text = "1 of 20 functions left out, which would take some 10 µs a hit: no room; `with \
                    traps` includes them";
        assert_eq!(all.left_out.remark(all.bound.len()).as_deref(), Some(text));
        assert!(all.leaves_out());
    }

    #[test]
    fn few_functions_and_wanted_ones_trap() {
        for (query, name, places) in [
            ("count()", "/f/", 16),
            ("count() with traps", "/f/", 200),
            ("count()", "f", 200),
        ] {
            let mut all = traced(query, name, places);
            all.evaluations.set(LoadAddr(1), slow());
            all.evaluations.set(LoadAddr(2), Evaluation::InProgram);
            assert!(all.to_leave_out(|_| true).is_empty(), "{query} {name}");
        }
    }
}
