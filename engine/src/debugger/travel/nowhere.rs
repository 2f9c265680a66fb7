//! Ways back that lead nowhere: the place is shown again that they began at, with the reason that it had.

use super::search::Searched;
use super::{Goal, ShownStop};
use crate::debugger::dispatch::Shown;
use crate::debugger::{Debugger, State, Vote};
use crate::ids::{BreakpointId, ThreadId};
use crate::os::KeptFor;
use crate::stops::event::{Event, StopReason};
use std::collections::BTreeMap;

/// The place that a way back began at, which is shown again by more than the end of its search.
pub(super) enum Begun {
    /// The program itself, which is shown by this stop.
    Head(ShownStop),
    /// A place in the past, as a kept replay.
    Past(Box<PastPlace>),
}

/// A place in the past.
pub(super) struct PastPlace {
    thread: ThreadId,
    /// The index of the next event.
    event: usize,
    shown: ShownStop,
    /// The hits of breakpoints until there.
    hits: BTreeMap<BreakpointId, u64>,
    /// The index of a snapshot before it.
    after: Option<usize>,
}

impl Debugger {
    /// Keeps the place that is shown, from which a way back begins that passes through other places. If it cannot be
    /// kept, the program itself is shown should the way lead nowhere.
    pub(super) fn keep_begin(&mut self, thread: ThreadId) {
        self.forget_begin();
        let is_kept = self.travel.head.is_some()
            && match self.inferior.keep_replay(KeptFor::Begin) {
                Ok(()) => true,
                Err(why) => {
                    tracing::debug!(%why, "the place where a way back begins is not kept");
                    false
                }
            };
        if !is_kept {
            let shown = self.shown_by_stop(thread);
            self.travel.begun = Some(Begun::Head(shown));
            return;
        }
        let ids: Vec<BreakpointId> = self.stops.breakpoints.all.keys().copied().collect();
        let hits = ids.into_iter().map(|id| (id, self.passes(id))).collect();
        self.travel.begun = Some(Begun::Past(Box::new(PastPlace {
            thread,
            event: self.inferior.os().next_event(),
            shown: self.shown_by_stop(thread),
            hits,
            after: self.travel.after,
        })));
    }

    /// Shows the program itself, where a way begins that may lead behind the place that is shown. Returns its thread: it
    /// may not have the one of the past any more.
    pub(super) fn leave_for_search(&mut self, thread: ThreadId) -> ThreadId {
        self.keep_begin(thread);
        self.return_to_head();
        let is_there = self.inferior.thread(thread).is_some();
        let other = self.current_thread().filter(|_| !is_there);
        other.unwrap_or(thread)
    }

    /// Forgets the place that a way back began at.
    pub(super) fn forget_begin(&mut self) {
        self.travel.begun = None;
        self.inferior.os_mut().end_kept_replay(KeptFor::Begin);
    }

    /// Returns why a replay was not shown, or was not like the recording, if that has happened: the way that needed it
    /// has then ended where it began, or in the present. Of several, the last one.
    pub fn divergence(&self) -> Option<&str> {
        self.travel.divergence.as_deref()
    }

    /// Gives up a replay that cannot be made.
    pub(super) fn cannot_show(&mut self, why: &dyn std::fmt::Display) -> Vote {
        self.diverge(&format!("the past cannot be shown: {why}"))
    }

    /// Gives up a replay that is not like the recording, or that cannot be made.
    pub(super) fn diverge(&mut self, why: &str) -> Vote {
        self.travel.divergence = Some(why.to_owned());
        self.fail_replay(why)
    }

    /// Gives up a way back, and says why: the place is shown that it began at.
    pub(super) fn fail_replay(&mut self, why: &str) -> Vote {
        self.emit(Event::Note(format!("{why}\n")));
        if self.tells() {
            // What this pass has recorded is a part, or too much.
            self.restart_traces();
            let text = "Tracepoints have recorded nothing: the replay has failed.\n";
            self.emit(Event::Note(text.to_owned()));
        }
        self.travel.writing = None;
        let before = if self.travel.search.is_some() {
            self.abandon_search()
        } else if self.travel.begun.is_none() {
            self.restore_hits();
            self.show_head()
        } else {
            None
        };
        let (thread, before) = self.show_begin_again(before);
        self.inferior.set_state(State::Running);
        self.report_again(thread, before)
    }

    /// Shows the place that a way back began at, if that is not `before`, which is shown already. Returns its thread,
    /// if it is another one, and what the stop there shows.
    pub(in crate::debugger) fn show_begin_again(
        &mut self,
        before: Option<ShownStop>,
    ) -> (Option<ThreadId>, Option<ShownStop>) {
        let Some(begun) = self.travel.begun.take() else {
            return (None, before);
        };
        self.restore_hits();
        let head = self.travel.head.as_ref().map(|head| head.thread);
        let before = self.show_head().or(before);
        let thread = head.or_else(|| self.current_thread());
        let place = match begun {
            Begun::Head(shown) => return (thread, Some(shown)),
            Begun::Past(place) => place,
        };
        if let (Some(thread), Some(before)) = (thread, before) {
            self.show_stop_again(thread, before);
        }
        match self.show_past_place(&place) {
            Ok(()) => (Some(place.thread), Some(place.shown)),
            Err(why) => {
                let note = format!("the place in the past cannot be shown again: {why}\n");
                self.emit(Event::Note(note));
                (thread, thread.map(|thread| self.shown_by_stop(thread)))
            }
        }
    }

    /// Shows a kept place while the program itself is shown.
    fn show_past_place(&mut self, place: &PastPlace) -> Result<(), String> {
        self.inferior.set_state(State::Stopped);
        let thread = self.current_thread().ok_or("the program has ended")?;
        let (at, _) = self.begin_of_search(thread).map_err(|it| it.to_string())?;
        let passed = place.after.unwrap_or_default();
        self.set_up_search(thread, at, passed, Searched::of(Goal::Event(place.event)));
        if let Err(why) = self.show_kept_place(KeptFor::Begin) {
            self.abandon_search();
            return Err(why);
        }
        self.finish_search(BTreeMap::new());
        for (id, hits) in &place.hits {
            self.stops.breakpoints.set_hits(*id, *hits);
        }
        self.inferior.os_mut().end_kept_replay(KeptFor::Begin);
        Ok(())
    }

    /// Reports the stop by a request that has ended a way back. The place keeps the reason that it had; what the next
    /// resume does must be clear, if it ends the program.
    pub(in crate::debugger) fn report_interrupt(
        &mut self,
        thread: ThreadId,
        before: Option<ShownStop>,
    ) {
        match before {
            Some(ShownStop {
                reason: StopReason::Exiting(_) | StopReason::EndOfRecording(_),
                ..
            })
            | None => self.carry_out(thread, stop_again(before)),
            Some(before) => {
                self.carry_out(thread, Vote::stop(StopReason::Pause));
                if self.state() == State::Stopped {
                    self.show_stop_again(thread, before);
                }
            }
        }
    }

    /// Reports a stop once more, as it was. Returns what is left to do with the thread that is handled.
    pub(super) fn report_again(
        &mut self,
        thread: Option<ThreadId>,
        before: Option<ShownStop>,
    ) -> Vote {
        let vote = stop_again(before);
        match thread {
            None => vote,
            Some(thread) => {
                self.carry_out(thread, vote);
                Vote::Stay
            }
        }
    }
}

/// Returns the vote to report a stop once more, as it was.
pub(super) fn stop_again(before: Option<ShownStop>) -> Vote {
    match before {
        None => Vote::stop(StopReason::Pause),
        Some(before) => {
            let shown = Shown {
                hidden: Some(before.hidden_inlined),
                requested: Some(before.requested),
                ..Shown::default()
            };
            Vote::Stop(before.reason, shown)
        }
    }
}
