//! The hits that breakpoints have at a place in the past, as their hit conditions need them: those until the
//! end of the search, without those between the place and the end.

use crate::debugger::dispatch::Shown;
use crate::debugger::{Debugger, State, Vote};
use crate::ids::{BreakpointId, HitCondition, ThreadId};
use crate::inferior::ReplayFrom;
use crate::os::KeptFor;
use crate::stops::event::StopReason;
use std::collections::BTreeMap;

impl Debugger {
    /// Returns the hits of breakpoints that have happened where a thread has stopped.
    pub(super) fn hits_of_stop(
        &mut self,
        thread: ThreadId,
        reason: &StopReason,
    ) -> BTreeMap<BreakpointId, u64> {
        let pc = self.inferior.registers(thread).map(|it| it.pc());
        let state = self.inferior.thread_mut(thread);
        let passed = state.and_then(|state| state.passed_site);
        let Some(pc) = pc.filter(|_| passed == pc) else {
            return BTreeMap::new();
        };
        let owners = self.owners_at(pc);
        let decided = self.decide_without_calls(thread, pc, &owners);
        self.begin_counting(BTreeMap::new());
        self.evaluate_breakpoints(thread, pc, &owners, decided);
        let mut hits = self.end_counting();
        if let StopReason::Data(ids, _) = reason {
            for id in ids {
                hits.insert(*id, 1);
            }
        }
        hits
    }

    /// Returns whether the number of a hit decides whether a breakpoint stops.
    fn has_hit_conditions(&self) -> bool {
        let breakpoints = &self.stops.breakpoints;
        let mut ids = breakpoints.all.keys();
        ids.any(|id| {
            let hits = breakpoints.effective_hits(*id);
            !matches!(hits, None | Some(HitCondition::Once))
        })
    }

    /// The shown place is the one that was searched. Returns the vote to report it: breakpoints get the hits
    /// that they have there first, which another replay counts if they matter.
    pub(super) fn on_found(&mut self, thread: ThreadId, reason: StopReason, shown: Shown) -> Vote {
        if let Some(vote) = self.run_to_return(thread) {
            return vote;
        }
        let search = self.travel.search.as_ref();
        let reason = match search.is_some_and(|it| it.search.goal.is_statement()) {
            true => StopReason::Step,
            false => reason,
        };
        let counted = self.end_counting();
        // A search that began where the recording begins has nothing to count.
        if !self.has_hit_conditions() || self.is_at_end(thread) {
            self.finish_search(counted);
            return Vote::Stop(reason, shown);
        }
        self.set_frame_places(&[]);
        self.clear_search_end();
        self.cancel_steps();
        let replay = ReplayFrom::Kept(KeptFor::Steps);
        let begun = (self.inferior.keep_replay(KeptFor::Steps))
            .and_then(|()| self.inferior.begin_replay(replay, None, |_| true));
        if let Err(why) = begun {
            return self.cannot_show(&why);
        }
        let Some(searching) = &mut self.travel.search else {
            return Vote::Stay;
        };
        searching.found = Some((reason, shown));
        let end = searching.search.end;
        if let Some(origin) = &searching.origin {
            self.inferior.add_sites_of(origin);
        }
        self.refresh_watches();
        self.pause_at(&end);
        self.mark_passed(thread);
        self.begin_counting(BTreeMap::new());
        self.inferior.set_state(State::Running);
        Vote::Run
    }

    /// A replay has come from the place that was found to the end of the search.
    pub(super) fn on_later_counted(&mut self, reason: StopReason, shown: Shown) -> Vote {
        let later = self.end_counting();
        self.clear_search_end();
        if let Some(searching) = &mut self.travel.search {
            searching.later = Some(later);
        }
        let replay = ReplayFrom::Kept(KeptFor::Steps);
        if let Err(why) = self.inferior.begin_replay(replay, None, |_| true) {
            return self.cannot_show(&why);
        }
        self.refresh_watches();
        self.finish_search(BTreeMap::new());
        self.inferior.set_state(State::Running);
        Vote::Stop(reason, shown)
    }

    /// The thread does not hit the breakpoints at its place again.
    pub(in crate::debugger) fn mark_passed(&mut self, thread: ThreadId) {
        if let Some(registers) = self.inferior.registers(thread)
            && let Some(state) = self.inferior.thread_mut(thread)
        {
            state.passed_site = Some(registers.pc());
        }
    }
}
