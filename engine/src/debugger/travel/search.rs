//! A search in the past, carried out: each pass is a replay from a snapshot to the end of the search.

use super::rows::Rows;
use super::{Head, Travel};
use crate::debugger::{Debugger, Granularity, ResumeScope, State, StepKind, Vote};
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::site::Owner;
use crate::inferior::{Aside, Mark};
use crate::stops::event::{Event, StopReason};
use crate::stops::travel::{Goal, Hits, Next, Phase, Search};
use dwarf::LoadAddr;
use std::collections::BTreeMap;

/// A search that is carried out.
pub(super) struct Searching {
    pub search: Search,
    /// What was shown when it began.
    origin: Option<Aside>,
    /// The reason of the stop there.
    reason: StopReason,
    thread: ThreadId,
    rows: Rows,
    steps: (StepKind, Granularity),
    /// The hits of breakpoints until the end of the search.
    hits: BTreeMap<BreakpointId, u64>,
}

impl Travel {
    fn search(&mut self) -> Option<&mut Search> {
        Some(&mut self.search.as_mut()?.search)
    }
}

impl Debugger {
    /// Begins a search from the place that is shown, which is behind the snapshot `after`.
    pub(super) fn begin_search(
        &mut self,
        thread: ThreadId,
        goal: Goal,
        steps: (StepKind, Granularity),
        rows: Rows,
        at: Mark,
        after: usize,
    ) {
        let reason = self.present_reason().unwrap_or(StopReason::Pause);
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        let hits = ids.into_iter().map(|id| (id, self.passes(id)));
        let searching = Searching {
            search: Search::new(goal, at, after),
            origin: None,
            reason,
            thread,
            rows,
            steps,
            hits: hits.collect(),
        };
        self.cancel_steps();
        self.clear_stop_state();
        self.travel.search = Some(Box::new(searching));
        let vote = self.begin_pass();
        self.carry_out(thread, vote);
    }

    /// Begins a replay for the phase of the search. Returns the vote on its thread.
    fn begin_pass(&mut self) -> Vote {
        self.stops.breakpoints.end_counting();
        let Some(searching) = &mut self.travel.search else {
            return Vote::Stay;
        };
        searching.search.begin_pass();
        let event = searching.search.end.event;
        let begun = self
            .inferior
            .begin_replay(searching.search.first, Some(event));
        match begun {
            Ok(aside) => drop(searching.origin.get_or_insert(aside)),
            Err(why) => {
                let why = format!("the past cannot be shown: {why}");
                return self.fail_replay(&why);
            }
        }
        if searching.search.counts_rows() {
            for addr in searching.rows.addresses() {
                self.inferior.add_site_later(addr, Owner::Row);
            }
        }
        let targets = searching.search.targets();
        self.begin_counting(targets);
        self.inferior.set_state(State::Running);
        tracing::debug!(?self.travel.search, "a replay begins");
        Vote::Run
    }

    /// The replay has come to the end of the search.
    pub(super) fn on_end_of_pass(&mut self, thread: ThreadId) -> Vote {
        self.cancel_step(thread);
        let passes = self.end_counting();
        let Some(searching) = &mut self.travel.search else {
            return Vote::Stay;
        };
        let breakpoints = &self.stops.breakpoints;
        let stopping = passes.into_iter().filter(|(id, passed)| {
            *passed > 0 && breakpoints.message(*id).is_none() && breakpoints.trace(*id).is_none()
        });
        let hits = stopping.map(|(id, passed)| {
            let hits = Hits {
                passed,
                until_end: searching.hits.get(&id).copied().unwrap_or(0),
                stops: breakpoints.effective_hits(id),
            };
            (id, hits)
        });
        let hits = hits.collect();
        let rows = &searching.rows;
        let next = searching.search.at_end(&hits, |addr| rows.line(addr));
        self.go_on(next)
    }

    /// Returns the vote on a passed row.
    pub(in crate::debugger) fn on_row(&mut self, thread: ThreadId, addr: LoadAddr) -> Vote {
        let registers = self.inferior.registers(thread);
        let Some((searching, registers)) = self.travel.search.as_mut().zip(registers) else {
            return Vote::Resume;
        };
        if !searching.rows.is_in_frame(addr, &registers) {
            return Vote::Resume;
        }
        let next = searching.search.on_row(addr);
        self.go_on(next)
    }

    /// Returns the vote instead of that to report a stop, while something is searched.
    pub(in crate::debugger) fn searched_stop(&mut self, reason: &StopReason) -> Option<Vote> {
        let search = self.travel.search()?;
        let next = match reason {
            StopReason::Breakpoint(ids) | StopReason::BreakpointError(ids, _) => {
                search.on_stop(ids)
            }
            StopReason::Data(ids, _) => search.on_stop(ids),
            _ => search.on_stop(&[]),
        };
        match next {
            Next::Found => {
                self.finish_search();
                None
            }
            next => Some(self.go_on(next)),
        }
    }

    fn go_on(&mut self, next: Next) -> Vote {
        match next {
            Next::Run => Vote::Resume,
            Next::Replay => self.begin_pass(),
            Next::Begin => self.show_begin(),
            Next::Found => {
                self.finish_search();
                Vote::stop(StopReason::Step)
            }
            Next::Step => self.step_in_search(),
        }
    }

    /// Makes a step of the search.
    fn step_in_search(&mut self) -> Vote {
        let Some(searching) = &self.travel.search else {
            return Vote::Stay;
        };
        let (thread, (kind, granularity)) = (searching.thread, searching.steps);
        self.inferior.remove_sites_of(Owner::Row);
        self.cancel_steps();
        self.clear_stop_state();
        if let Some(registers) = self.inferior.registers(thread)
            && let Some(state) = self.inferior.thread_mut(thread)
        {
            // It is not hit again.
            state.passed_site = Some(registers.pc());
        }
        self.inferior.set_state(State::Stopped);
        match self.step(thread, kind, granularity, ResumeScope::All) {
            Ok(()) => Vote::Stay,
            Err(error) => self.fail_replay(&format!("the past cannot be shown: {error}")),
        }
    }

    /// There is nothing before the end of the search: shows the begin of the recording.
    fn show_begin(&mut self) -> Vote {
        let is_known = self.travel.search().is_some_and(|search| {
            search.first = 0;
            search.phase == Phase::Count
        });
        self.stops.breakpoints.end_counting();
        if !is_known {
            return self.fail_replay("what was counted in one replay was not in another");
        }
        match self.inferior.begin_replay(0, None) {
            Ok(_) => {
                self.finish_search();
                self.inferior.set_state(State::Running);
                self.emit(Event::Note("The recording begins here.\n".to_owned()));
                Vote::stop(StopReason::Entry)
            }
            Err(why) => self.fail_replay(&format!("the past cannot be shown: {why}")),
        }
    }

    /// The place that is shown is the one that was searched.
    fn finish_search(&mut self) {
        let passes = self.end_counting();
        let Some(searching) = self.travel.search.take() else {
            return;
        };
        let Searching {
            search,
            origin,
            reason,
            hits,
            ..
        } = *searching;
        for (id, passed) in passes {
            let before = hits.get(&id).copied().unwrap_or(0);
            let counted = search.counted(id).unwrap_or(passed);
            let at = before.saturating_sub(counted).saturating_add(passed);
            self.stops.breakpoints.set_hits(id, at);
        }
        if let Some(aside) = origin
            && self.travel.head.is_none()
        {
            self.travel.head = Some(Head {
                aside,
                at: search.end,
                reason,
            });
        }
        self.inferior.remove_sites_of(Owner::Row);
        self.inferior.remove_sites_of(Owner::End);
        self.inferior.os_mut().pause_before(None);
        self.inferior.os_mut().end_aside();
        self.travel.after = Some(search.first);
    }

    /// Shows the place again at which the search has begun.
    pub(in crate::debugger) fn abandon_search(&mut self) {
        let Some(searching) = self.travel.search.take() else {
            return;
        };
        self.stops.breakpoints.end_counting();
        self.cancel_steps();
        if let Some(origin) = searching.origin {
            let is_head = self.travel.head.is_none();
            self.inferior.restore_aside(origin, is_head);
            self.views.stacks.clear();
        }
    }
}

impl std::fmt::Debug for Searching {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.search.fmt(formatter)
    }
}
