//! A search in the past, carried out: each pass is a replay from a snapshot to the end of the search.

use super::ShownStop;
use super::nowhere::stop_again;
use super::reported::Reported;
use super::rows::Row;
use super::steps::StepFrame;
use super::writes::SearchedData;
use crate::arch::watch::MAX_SLOTS;
use crate::debugger::dispatch::Shown;
use crate::debugger::{Debugger, Granularity, State, StepKind, Vote};
use crate::ids::error::Error;
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::site::Owner;
use crate::inferior::{Aside, Mark, ReplayFrom};
use crate::os::KeptFor;
use crate::stops::breakpoint::frame_places::FramePlace;
use crate::stops::breakpoint::watch::WatchMechanism;
use crate::stops::event::{Event, StopReason};
use crate::stops::travel::{Behind, From, Goal, Hits, Kept, Led, Next, Search};
use std::collections::BTreeMap;

/// What is searched, and what is counted for that.
pub(super) struct Searched {
    pub goal: Goal,
    /// Rows of the line table that may be passed.
    pub rows: Vec<Row>,
    /// The instruction of the end in its frame.
    pub near: Option<FramePlace>,
    /// How the program steps.
    pub steps: (StepKind, Granularity),
    /// The frame that it begins in, for a step over.
    pub frame: Option<StepFrame>,
    /// The data that is watched.
    pub data: Option<SearchedData>,
    /// Whether the last hit was found before.
    pub skips_last: bool,
}

impl Searched {
    /// Returns a search for stops, or for something that is still to be added.
    pub fn of(goal: Goal) -> Searched {
        Searched {
            goal,
            rows: Vec::new(),
            near: None,
            steps: (StepKind::Over, Granularity::Line),
            frame: None,
            data: None,
            skips_last: false,
        }
    }
}

/// A search that is carried out.
pub(super) struct Searching {
    pub search: Search,
    /// What was shown when it began.
    pub origin: Option<Aside>,
    /// What the stop there shows.
    pub shown: ShownStop,
    pub thread: ThreadId,
    pub searched: Searched,
    /// The inlined calls that begin where the last step has ended, and that are not entered yet.
    pub hidden: usize,
    /// Whether the step that is made leaves a frame.
    pub is_step_out: bool,
    /// The breakpoints that count the rows.
    row_ids: Vec<BreakpointId>,
    /// The breakpoint that counts the instruction of the end.
    near_id: Option<BreakpointId>,
    /// The hits of breakpoints until the end of the search, without one there.
    pub hits: BTreeMap<BreakpointId, u64>,
    /// Those with one there.
    pub hits_there: BTreeMap<BreakpointId, u64>,
    /// The stop that was found, while the hits between it and the end are counted.
    pub found: Option<(StopReason, Shown)>,
    /// Those hits, once they are counted.
    pub later: Option<BTreeMap<BreakpointId, u64>>,
    /// What its passes have reported, if it reports log messages and records.
    pub reported: Reported,
}

/// Returns what tells apart the line of a row, by the breakpoint that counts it.
fn line_of(rows: &[Row], ids: &[BreakpointId], id: BreakpointId) -> Option<u64> {
    Some(rows.get(ids.iter().position(|row| *row == id)?)?.line)
}

fn kept_for(kept: Kept) -> KeptFor {
    match kept {
        Kept::Far => KeptFor::Far,
        Kept::Near => KeptFor::Near,
    }
}

impl Debugger {
    /// Begins a search from the place that is shown, which is behind the snapshot `after`.
    pub(super) fn begin_search(
        &mut self,
        thread: ThreadId,
        at: Mark,
        after: usize,
        searched: Searched,
    ) {
        self.set_up_search(thread, at, after, searched);
        let vote = self.begin_pass();
        self.carry_out(thread, vote);
    }

    /// Prepares a search from the place that is shown.
    pub(super) fn set_up_search(
        &mut self,
        thread: ThreadId,
        at: Mark,
        after: usize,
        searched: Searched,
    ) {
        let shown = self.shown_by_stop(thread);
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        let hits_there = ids.into_iter().map(|id| (id, self.passes(id)));
        let hits_there: BTreeMap<_, _> = hits_there.collect();
        let mut hits = hits_there.clone();
        for (id, own) in self.hits_of_stop(thread, &shown.reason) {
            hits.entry(id).and_modify(|it| *it = it.saturating_sub(own));
        }
        let snapshots = self.recording().unwrap_or_default().snapshots;
        let mut searching = Searching {
            search: Search::new(
                searched.goal,
                at,
                (snapshots, after),
                self.travel.behind,
                searched.near.is_some(),
            ),
            near_id: None,
            origin: None,
            shown,
            thread,
            searched,
            hidden: 0,
            is_step_out: false,
            row_ids: Vec::new(),
            hits,
            hits_there,
            found: None,
            later: None,
            reported: Reported::default(),
        };
        // A step over the call that a pass ends behind is not compared: it may have changed data.
        let watches = self.stops.watches.all.values();
        if watches
            .map(|it| it.means)
            .any(|it| it == WatchMechanism::Steps)
        {
            searching.search.keep_undivided();
        }
        if searching.searched.skips_last {
            searching.search.skip_last();
        }
        self.cancel_steps();
        self.clear_stop_state();
        self.travel.search = Some(Box::new(searching));
    }

    /// Shows a kept replay as the place that is searched.
    ///
    /// # Errors
    /// There is none, or the system has no memory or processes left.
    pub(super) fn show_kept_place(&mut self, kept: KeptFor) -> Result<(), String> {
        let replay = ReplayFrom::Kept(kept);
        let aside = self.inferior.begin_replay(replay, None, |_| true)?;
        if let Some(searching) = &mut self.travel.search {
            searching.origin.get_or_insert(aside);
        }
        self.refresh_watches();
        self.inferior.set_state(State::Running);
        Ok(())
    }

    /// Begins a replay for the phase of the search. Returns the vote on its thread.
    pub(super) fn begin_pass(&mut self) -> Vote {
        self.stops.breakpoints.end_counting();
        let Some(searching) = &mut self.travel.search else {
            return Vote::Stay;
        };
        searching.search.begin_pass();
        self.travel.other_words.clear();
        let event = match searching.search.goal {
            Goal::Event(event) => event,
            _ => {
                let end = searching.search.end.event;
                searching.search.until().unwrap_or(end)
            }
        };
        // At statements, breakpoints would be in the way: a jump serves one owner.
        let search = &searching.search;
        let (is_statement, near) = (search.goal.is_statement(), searching.near_id);
        let keeps = |owner| match owner {
            Owner::User(id) => !is_statement || near == Some(id),
            _ => true,
        };
        let from = match searching.search.from() {
            From::Snapshot(index) => ReplayFrom::Snapshot(index),
            From::Kept(kept) => ReplayFrom::Kept(kept_for(kept)),
        };
        let begun = self.inferior.begin_replay(from, Some(event), keeps);
        match begun {
            Ok(aside) => drop(searching.origin.get_or_insert(aside)),
            Err(why) => {
                return self.cannot_show(&why);
            }
        }
        self.clear_search_end();
        self.place_statements();
        self.watch_in_pass();
        let searching = self.travel.search.as_ref();
        let mut targets = searching.map(|it| it.search.targets()).unwrap_or_default();
        if let Some(searching) = searching {
            let near = searching.near_id.zip(searching.search.target_near());
            targets.extend(near);
        }
        match self.tells() {
            true => {
                self.begin_reporting();
                self.stops.breakpoints.set_silent(false);
            }
            false => self.begin_counting(targets),
        }
        self.inferior.set_state(State::Running);
        tracing::debug!(search = ?self.travel.search, "a replay begins");
        Vote::Run
    }

    /// Watches data in the passes that count its changes, and in no others: each is a trap.
    fn watch_in_pass(&mut self) {
        let searching = self.travel.search.as_ref();
        let is_quiet =
            searching.is_some_and(|it| it.search.approaches() || it.search.goal.is_statement());
        match is_quiet {
            true => {
                self.inferior.debug_registers.set([None; MAX_SLOTS]);
                self.inferior.single_stepping = false;
            }
            false => self.distribute_slots(&[]),
        }
        self.refresh_watches();
    }

    /// Returns the vote on a thread of a search that has changed watched data: if that happens often, the
    /// search begins anew near its end.
    pub(in crate::debugger) fn searched_change(&mut self, thread: ThreadId) -> Option<Vote> {
        self.travel.search.as_ref()?;
        let ids: Vec<BreakpointId> = self.stops.watches.all.keys().copied().collect();
        let changes = ids.into_iter().map(|id| self.passes(id)).max()?;
        let addr = self.inferior.registers(thread)?.pc();
        let searching = self.travel.search.as_mut()?;
        if !searching.search.is_too_hot(changes) {
            return None;
        }
        searching.searched.near = Some(FramePlace { addr, frame: None });
        Some(self.begin_pass())
    }

    /// Lets breakpoints count the statements that the phase needs, or the instruction near the end.
    fn place_statements(&mut self) {
        let Some(searching) = self.travel.search.as_deref_mut() else {
            return;
        };
        let approaches = searching.search.approaches();
        let is_new = match approaches {
            true => searching.near_id.is_none(),
            false => searching.row_ids.is_empty(),
        };
        let places: Vec<FramePlace> = match approaches {
            true => searching.searched.near.into_iter().collect(),
            false => searching
                .searched
                .rows
                .iter()
                .map(|row| row.place)
                .collect(),
        };
        if is_new && !places.is_empty() {
            let lists: Vec<Vec<FramePlace>> = places.iter().map(|place| vec![*place]).collect();
            let ids = self.set_frame_places(&lists);
            let Some(searching) = self.travel.search.as_deref_mut() else {
                return;
            };
            (searching.near_id, searching.row_ids) = match approaches {
                true => (ids.first().copied(), Vec::new()),
                false => (None, ids),
            };
        }
        let Some(searching) = self.travel.search.as_deref() else {
            return;
        };
        let ids = match approaches {
            true => searching.near_id.into_iter().collect(),
            false => searching.row_ids.clone(),
        };
        let counts = |id: &BreakpointId| approaches || searching.search.counts(*id);
        let wanted = ids.into_iter().zip(places).filter(|(id, _)| counts(id));
        for (id, place) in wanted.collect::<Vec<_>>() {
            self.inferior.add_site_later(place.addr, Owner::User(id));
        }
    }

    /// The replay has come to the end of the search.
    pub(super) fn on_end_of_pass(&mut self, thread: ThreadId) -> Vote {
        self.cancel_step(thread);
        if self.tells() {
            return self.end_telling();
        }
        let found = self.travel.search.as_mut().and_then(|it| it.found.take());
        if let Some((reason, shown)) = found {
            return self.on_later_counted(reason, shown);
        }
        let order = self.stops.breakpoints.counted_order().to_vec();
        let passes = self.end_counting();
        let Some(searching) = &mut self.travel.search else {
            return Vote::Stay;
        };
        let breakpoints = &self.stops.breakpoints;
        let (goal, data) = (searching.search.goal, searching.searched.data.as_ref());
        let data = data.map(|data| data.id);
        let (approaches, near) = (searching.search.approaches(), searching.near_id);
        let counted = passes.into_iter().filter(|(id, passed)| {
            let is_wanted = match goal {
                _ if approaches => near == Some(*id),
                Goal::Write => data == Some(*id),
                Goal::Hit(wanted) => wanted.breakpoint == *id,
                Goal::Stop
                | Goal::Step
                | Goal::Instruction
                | Goal::Caller
                | Goal::Setter
                | Goal::Event(_)
                | Goal::Tell => breakpoints.is_hidden(*id) == goal.is_statement(),
            };
            let is_silent = breakpoints.message(*id).is_some() || breakpoints.trace(*id).is_some();
            // A log message that is gone to tells nothing.
            let is_gone_to = matches!(goal, Goal::Hit(_));
            *passed > 0 && is_wanted && (is_gone_to || !is_silent)
        });
        let hits = counted.map(|(id, passed)| {
            let hits = Hits {
                passed,
                until_end: searching.hits.get(&id).copied().unwrap_or(0),
                stops: breakpoints.effective_hits(id),
            };
            (id, hits)
        });
        let hits = hits.collect();
        tracing::debug!(?hits, "a pass has ended");
        let next = searching.search.at_end(&hits);
        let Searching {
            search,
            searched,
            row_ids,
            ..
        } = searching.as_mut();
        let line = |id| line_of(&searched.rows, row_ids, id);
        let next = search.skip_order(&order, line).unwrap_or(next);
        self.go_on(next)
    }

    /// Returns the vote instead of that to report a stop, while something is searched.
    pub(super) fn searched_stop(
        &mut self,
        thread: ThreadId,
        reason: &StopReason,
        shown: &Shown,
    ) -> Option<Vote> {
        let ids = match reason {
            StopReason::Breakpoint(ids)
            | StopReason::BreakpointError(ids, _)
            | StopReason::Data(ids, _) => ids.as_slice(),
            _ => &[],
        };
        let searching = self.travel.search.as_deref_mut()?;
        if searching.found.is_some() {
            return Some(Vote::Resume);
        }
        let hidden = shown.hidden.unwrap_or(0);
        searching.hidden = if searching.search.is_stepping() {
            hidden
        } else {
            0
        };
        let is_step_out = searching.is_step_out;
        let led = match self.step_led(thread, hidden) {
            Led::Outer if is_step_out => Led::Deeper,
            led => led,
        };
        let searching = self.travel.search.as_deref_mut()?;
        let (rows, row_ids) = (&searching.searched.rows, &searching.row_ids);
        let line = |id| line_of(rows, row_ids, id);
        let next = searching.search.on_stop(ids, led, line);
        let goal = searching.search.goal;
        match (next, goal) {
            (Next::Found, Goal::Stop | Goal::Step | Goal::Instruction | Goal::Hit(_)) => {
                Some(self.on_found(thread, reason.clone(), shown.clone()))
            }
            (Next::Found, Goal::Write) => {
                let reason = match reason {
                    StopReason::Data(_, what) => StopReason::Data(Vec::new(), what.clone()),
                    _ => StopReason::Step,
                };
                Some(self.on_found(thread, reason, Shown::default()))
            }
            (next, _) => Some(self.go_on(next)),
        }
    }

    pub(super) fn go_on(&mut self, next: Next) -> Vote {
        match next {
            Next::Run => Vote::Resume,
            Next::Replay => self.begin_pass(),
            Next::ReplaySteps => {
                self.stops.breakpoints.end_counting();
                self.set_frame_places(&[]);
                let from = ReplayFrom::Kept(KeptFor::Steps);
                match self.inferior.begin_replay(from, None, |_| true) {
                    Ok(_) => {
                        self.await_end_of_steps();
                        self.begin_steps()
                    }
                    Err(why) => self.cannot_show(&why),
                }
            }
            Next::Keep(kept) => {
                self.stops.breakpoints.end_counting();
                self.set_frame_places(&[]);
                if let Some(searching) = &mut self.travel.search {
                    searching.near_id = None;
                }
                self.clear_search_end();
                if let Err(why) = self.inferior.keep_replay(kept_for(kept)) {
                    return self.cannot_show(&why);
                }
                self.begin_pass()
            }
            Next::Begin if self.travel.following.is_some() || self.travel.writing.is_some() => {
                let before = self.abandon_search();
                if let Some(following) = &mut self.travel.following {
                    following.is_nothing_found = true;
                }
                if let Some(writing) = &mut self.travel.writing {
                    writing.is_nothing_found = true;
                }
                self.inferior.set_state(State::Running);
                stop_again(before)
            }
            Next::ShowCall => match self.show_kept_place(KeptFor::Steps) {
                Ok(()) => {
                    self.clear_search_end();
                    self.go_on(Next::Found)
                }
                Err(why) => self.cannot_show(&why),
            },
            Next::Begin => self.show_begin(),
            Next::Told => self.end_telling(),
            Next::End => {
                let before = self.abandon_search();
                self.forget_begin();
                self.inferior.set_state(State::Running);
                stop_again(before)
            }
            Next::Fewer(hits) => {
                let times = match hits {
                    1 => "once".to_owned(),
                    hits => format!("{hits} times"),
                };
                self.fail_replay(&format!(
                    "the breakpoint was hit {times} since the recording began"
                ))
            }
            Next::Lost => self.diverge("what was counted in one replay was not in another"),
            Next::Found => {
                let shown = Shown {
                    hidden: Some(self.inlined_not_entered()),
                    ..Shown::default()
                };
                let thread = self.travel.search.as_ref().map(|it| it.thread);
                thread.map_or(Vote::Stay, |thread| {
                    self.on_found(thread, StopReason::Step, shown)
                })
            }
            Next::Step => {
                self.stops.breakpoints.end_counting();
                self.set_frame_places(&[]);
                if let Err(why) = self.inferior.keep_replay(KeptFor::Steps) {
                    return self.cannot_show(&why);
                }
                self.begin_steps()
            }
            Next::StepOn => self.step_in_search(),
        }
    }

    /// Returns whether the replay is for log messages and tracepoints.
    pub(super) fn tells(&self) -> bool {
        let searching = self.travel.search.as_ref();
        searching.is_some_and(|it| it.search.goal == Goal::Tell)
    }

    /// The replay of log messages and tracepoints has ended: shows again what was shown before.
    fn end_telling(&mut self) -> Vote {
        self.drain_all_messages();
        let before = self.abandon_search();
        self.inferior.set_state(State::Running);
        stop_again(before)
    }

    /// Runs the recording once more from its begin to the place that is shown: log messages and
    /// tracepoints report what they would have reported then. The stop at that place is then reported again.
    ///
    /// # Errors
    /// As [`Debugger::go_back`].
    pub fn tell_past(&mut self, thread: ThreadId) -> Result<(), Error> {
        let (at, _) = self.begin_of_search(thread)?;
        self.travel.behind = Behind::default();
        self.begin_search(thread, at, 0, Searched::of(Goal::Tell));
        Ok(())
    }

    /// There is nothing before the end of the search: shows the begin of the recording.
    fn show_begin(&mut self) -> Vote {
        self.stops.breakpoints.end_counting();
        self.clear_search_end();
        if let Some(searching) = &mut self.travel.search {
            searching.search.begin_at_start();
        }
        match self
            .inferior
            .begin_replay(ReplayFrom::Snapshot(0), None, |_| true)
        {
            Ok(_) => {
                self.inferior.set_state(State::Running);
                self.emit(Event::Note("The recording begins here.\n".to_owned()));
                let thread = self.travel.search.as_ref().map(|it| it.thread);
                let found = (StopReason::Entry, Shown::default());
                thread.map_or(Vote::Stay, |thread| self.on_found(thread, found.0, found.1))
            }
            Err(why) => self.cannot_show(&why),
        }
    }
}

impl std::fmt::Debug for Searching {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.search.fmt(formatter)
    }
}
