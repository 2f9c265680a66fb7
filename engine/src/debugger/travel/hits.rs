//! Hits by their numbers: one is gone to, and breakpoints get those that they have at a place in the past, as
//! their hit conditions need them: those until the end of the search, without those between the place and the
//! end.

use super::search::Searched;
use crate::debugger::dispatch::Shown;
use crate::debugger::{Debugger, State, Vote};
use crate::ids::error::Error;
use crate::ids::{BreakpointId, HitCondition, ThreadId};
use crate::inferior::ReplayFrom;
use crate::os::KeptFor;
use crate::stops::breakpoint::Spec;
use crate::stops::event::StopReason;
use crate::stops::travel::{Goal, NumberedHit};
use std::collections::BTreeMap;

/// A breakpoint whose hits can be gone to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BreakpointPlace {
    /// Its number.
    pub id: BreakpointId,
    /// What it is set on: `FILE:LINE`, a function, an address, or the name of data.
    pub place: String,
}

impl Debugger {
    /// Goes to a hit of a breakpoint by its number (1: the first since the recording began), before or behind
    /// the shown place; the stop is reported once it is found. Hits are counted whose condition holds. Cost: the
    /// recording runs once from its begin up to there.
    ///
    /// # Errors
    /// As [`Debugger::go_back`]; there is no such breakpoint. That it was hit less often is a note, and the
    /// place stays that is shown.
    pub fn go_to_hit(
        &mut self,
        thread: ThreadId,
        breakpoint: BreakpointId,
        number: u64,
    ) -> Result<(), Error> {
        let fail = |why: &str| Err(Error::NoSuchPast(why.to_owned()));
        if number == 0 {
            return fail("there is no hit 0: hits are numbered from 1 on");
        }
        let breakpoints = &self.stops.breakpoints;
        if !breakpoints.all.contains_key(&breakpoint) || breakpoints.is_hidden(breakpoint) {
            return fail("there is no such breakpoint");
        }
        // What a search refuses, it has to refuse before another place is shown.
        self.begin_of_search(thread)?;
        // It may be behind the shown place.
        let thread = self.leave_for_search(thread);
        let (at, _) = self.begin_of_search(thread)?;
        let shown = self.shown_by_stop(thread);
        let there = self.hits_of_stop(thread, &shown.reason);
        self.travel.behind = Default::default();
        let goal = Goal::Hit(NumberedHit {
            breakpoint,
            number,
            at_end: there.get(&breakpoint).copied().unwrap_or(0).min(1),
        });
        self.begin_search(thread, at, 0, Searched::of(goal));
        Ok(())
    }

    /// Returns the breakpoints of the client, in the order in which they were set, without exceptions.
    pub fn breakpoint_places(&self) -> Vec<BreakpointPlace> {
        let all = self.stops.breakpoints.all.iter();
        let places = all.filter_map(|(id, breakpoint)| {
            let place = match &breakpoint.spec {
                Spec::Line { source, line, .. } => format!("{}:{line}", source.display()),
                Spec::Function(name) => name.clone(),
                Spec::Instruction(address) => address.to_string(),
                Spec::Code(code, line) => format!("{}:{line}", code.label()),
                Spec::Data(data) => data.name.clone(),
                Spec::FramePlaces => return None,
            };
            let is_shown = breakpoint.mark.is_none() && !self.stops.breakpoints.is_hidden(*id);
            is_shown.then_some(BreakpointPlace { id: *id, place })
        });
        places.collect()
    }

    /// Returns the breakpoints that the shown stop is at.
    pub fn breakpoints_of_stop(&self) -> Vec<BreakpointId> {
        match self.present_reason() {
            Some(
                StopReason::Breakpoint(ids)
                | StopReason::BreakpointError(ids, _)
                | StopReason::Data(ids, _),
            ) => ids,
            _ => Vec::new(),
        }
    }

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
        // What the program has counted itself was before.
        let breakpoints = &mut self.stops.breakpoints;
        let ids = breakpoints.all.keys();
        let mut hits: BTreeMap<_, _> = ids.map(|id| (*id, breakpoints.hits(*id))).collect();
        breakpoints.end_counting();
        if let StopReason::Data(ids, _) = reason {
            for id in ids {
                hits.insert(*id, 1);
            }
        }
        hits
    }

    /// Counts the hits of breakpoints in code at the stop of the program itself, which is shown again: the replay that
    /// has run there has not, and a change of watched data there may be one that nothing watches any more.
    pub(super) fn count_hits_of_stop(&mut self, thread: ThreadId, reason: &StopReason) {
        let hits = self.hits_of_stop(thread, reason);
        for (id, own) in hits {
            if !self.stops.watches.all.contains_key(&id) {
                let hits = self.stops.breakpoints.hits(id);
                self.stops.breakpoints.set_hits(id, hits + own);
            }
        }
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
        self.note_write(&reason);
        if let Some(searching) = &mut self.travel.search {
            searching.search.run_to_end();
        }
        let runs_on = self.run_to_return(thread);
        if let Some(vote) = runs_on.or_else(|| self.run_out_of_call(thread)) {
            return vote;
        }
        let search = self.travel.search.as_ref();
        let is_numbered = search.is_some_and(|it| matches!(it.search.goal, Goal::Hit(_)));
        let reason = match search.is_some_and(|it| it.search.goal.is_statement()) {
            true => StopReason::Step,
            false => reason,
        };
        let counted = self.end_counting();
        // A search that began where the recording begins has nothing to count.
        if is_numbered || !self.has_hit_conditions() || self.is_at_end(thread) {
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
