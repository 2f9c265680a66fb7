//! Breakpoints that only count: while the program is searched for a place in its past, their hits
//! are numbered, and only a hit with a wanted number stops.

use super::Breakpoints;
use super::evaluation::Evaluations;
use crate::ids::{BreakpointId, HitCondition};
use std::collections::BTreeMap;

/// Hits are numbered from 1.
const AT_NO_HIT: HitCondition = HitCondition::Exactly(0);

/// What holds while breakpoints only count.
pub(crate) struct Counting {
    /// The number of the hit that stops; the others never stop.
    targets: BTreeMap<BreakpointId, u64>,
    /// What the counted hits must not change.
    former: BTreeMap<BreakpointId, Former>,
    /// The breakpoints of the hits that the debugger has counted, oldest first: the first ones.
    order: Vec<BreakpointId>,
}

/// The order of more hits is not kept.
const MOST_ORDERED: usize = 1 << 10;

struct Former {
    hits: u64,
    evaluations: Evaluations,
}

impl Counting {
    /// Forgets what was counted for a breakpoint before: its options have changed.
    pub(super) fn forget(&mut self, id: BreakpointId) {
        self.former.remove(&id);
    }
}

impl Breakpoints {
    /// Begins to count from 0. From now on a hit whose condition holds has no other effect, unless
    /// its number is the target of its breakpoint. Whatever counted before is ended.
    pub(crate) fn begin_counting(&mut self, targets: BTreeMap<BreakpointId, u64>) {
        self.end_counting();
        let former = self.all.iter_mut().map(|(id, breakpoint)| {
            let former = Former {
                hits: std::mem::take(&mut breakpoint.hits),
                evaluations: std::mem::take(&mut breakpoint.evaluations),
            };
            (*id, former)
        });
        let former = former.collect();
        self.counting = Some(Counting {
            targets,
            former,
            order: Vec::new(),
        });
    }

    /// Ends counting: hit counts and remarks are those of before. Without effect if nothing counts.
    pub(crate) fn end_counting(&mut self) {
        let Some(mut counting) = self.counting.take() else {
            return;
        };
        for (id, breakpoint) in &mut self.all {
            let former = counting.former.remove(id);
            (breakpoint.hits, breakpoint.evaluations) = former.map_or_else(
                || (0, Evaluations::default()),
                |former| (former.hits, former.evaluations),
            );
        }
    }

    /// Notes the order of hits while they are counted.
    pub(super) fn note_order(&mut self, id: BreakpointId) {
        if let Some(counting) = &mut self.counting
            && counting.order.len() < MOST_ORDERED
        {
            counting.order.push(id);
        }
    }

    /// Returns the breakpoints of the hits that were counted, oldest first, without those that the program has counted
    /// itself: all, or the first ones.
    pub(crate) fn counted_order(&self) -> &[BreakpointId] {
        let counting = self.counting.as_ref();
        counting.map_or(&[], |it| it.order.as_slice())
    }

    /// Sets how often a breakpoint was hit.
    pub(crate) fn set_hits(&mut self, id: BreakpointId, hits: u64) {
        if let Some(breakpoint) = self.all.get_mut(&id) {
            breakpoint.hits = hits;
        }
    }

    /// Sets whether log messages and tracepoints tell nothing: in the past, which has told them before.
    pub(crate) fn set_silent(&mut self, is_silent: bool) {
        self.is_silent = is_silent;
    }

    /// Returns whether a hit of a breakpoint only tells something, and is silent.
    pub(crate) fn is_silent(&self, id: BreakpointId) -> bool {
        if !self.is_silent {
            return false;
        }
        let breakpoint = self.all.get(&id);
        breakpoint.is_some_and(|it| it.program.message.is_some() || it.program.trace.is_some())
    }

    /// Returns whether breakpoints only count.
    pub(crate) fn is_counting(&self) -> bool {
        self.counting.is_some()
    }

    /// Returns the hits that have an effect; `None`: all.
    pub(crate) fn effective_hits(&self, id: BreakpointId) -> Option<HitCondition> {
        match &self.counting {
            Some(counting) => {
                let target = counting.targets.get(&id).copied();
                Some(target.map_or(AT_NO_HIT, HitCondition::Exactly))
            }
            None => self.all.get(&id)?.hit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BreakpointOptions;
    use crate::stops::breakpoint::Spec;
    use crate::stops::breakpoint::evaluation::Evaluation;
    use dwarf::LoadAddr;

    const PLACE: LoadAddr = LoadAddr(0x1000);

    fn wanted(hit_condition: &str, log_message: Option<&str>) -> (Spec, BreakpointOptions) {
        let options = BreakpointOptions {
            hit_condition: Some(hit_condition.to_owned()),
            log_message: log_message.map(str::to_owned),
            ..BreakpointOptions::default()
        };
        (Spec::Instruction(PLACE), options)
    }

    #[test]
    fn counts_of_before_are_back_at_the_end() {
        let mut all = Breakpoints::default();
        let (ids, _) = all.replace(Vec::new(), vec![wanted(">= 2", Some("here"))]);
        let id = ids[0];
        assert_eq!((all.count(id), all.count(id)), (1, 2));
        assert!(all.set_evaluation(id, PLACE, Evaluation::InProgram));
        all.begin_counting(BTreeMap::from([(id, 5)]));
        assert_eq!((all.hits(id), all.count(id)), (0, 1));
        assert_eq!(all.effective_hits(id), Some(HitCondition::Exactly(5)));
        assert!(all.message(id).is_none());
        let evaluation = Evaluation::ByDebugger("no room".to_owned());
        assert!(!all.set_evaluation(id, PLACE, evaluation), "not reported");
        // Counting begins again from 0, and what was before it is not lost.
        all.begin_counting(BTreeMap::new());
        assert_eq!((all.hits(id), all.is_counting()), (0, true));
        let stops = all.effective_hits(id).expect("a condition");
        assert!((1..1000).all(|hit| !stops.holds(hit)));
        all.end_counting();
        assert_eq!((all.hits(id), all.is_counting()), (2, false));
        assert_eq!(all.effective_hits(id), Some(HitCondition::AtLeast(2)));
        assert!(all.message(id).is_some());
        assert!(!all.set_evaluation(id, PLACE, Evaluation::InProgram));
    }

    #[test]
    fn counts_of_changed_and_new_breakpoints_are_none() {
        let mut all = Breakpoints::default();
        let (ids, _) = all.replace(Vec::new(), vec![wanted("3", None)]);
        all.count(ids[0]);
        all.begin_counting(BTreeMap::new());
        all.count(ids[0]);
        let (same, _) = all.replace(ids.clone(), vec![wanted("4", None)]);
        let (new, _) = all.replace(Vec::new(), vec![wanted("4", None)]);
        all.count(same[0]);
        all.count(new[0]);
        all.end_counting();
        assert_eq!(same, ids);
        assert_eq!((all.hits(same[0]), all.hits(new[0])), (0, 0));
    }
}
