//! The end of a search: its place is shown, or the place again at which it has begun.

use super::search::Searching;
use super::{Goal, Head, ShownStop};
use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use std::collections::BTreeMap;

impl Debugger {
    /// The place that is shown is the one that was searched, where breakpoints were passed so often since
    /// the passes have begun.
    pub(super) fn finish_search(&mut self, passes: BTreeMap<BreakpointId, u64>) {
        // Their code counts for the search.
        self.inferior.end_all_jumps();
        let Some(searching) = self.travel.search.take() else {
            return;
        };
        let Searching {
            search,
            origin,
            thread,
            shown,
            hits,
            hits_there,
            later,
            searched,
            ..
        } = *searching;
        for (id, passed) in later.iter().flatten() {
            let before = hits.get(id).copied().unwrap_or(0);
            (self.stops.breakpoints).set_hits(*id, before.saturating_sub(*passed));
        }
        for (id, passed) in passes {
            let at = match search.goal {
                // Its pass began with the recording, and has numbered the hits of all.
                Goal::Hit(_) => passed,
                _ => {
                    let before = hits.get(&id).copied().unwrap_or(0);
                    let counted = search.counted(id).unwrap_or(passed);
                    before.saturating_sub(counted).saturating_add(passed)
                }
            };
            self.stops.breakpoints.set_hits(id, at);
        }
        if let Some(origin) = &origin {
            self.inferior.add_sites_of(origin);
        }
        if let Some(aside) = origin
            && self.travel.head.is_none()
        {
            self.travel.head = Some(Head {
                aside,
                at: search.end,
                thread,
                shown,
                hits: hits_there,
            });
        }
        self.set_frame_places(&[]);
        if let Some(data) = searched.data {
            self.unwatch(data);
        }
        self.distribute_slots(&[]);
        self.clear_search_end();
        self.stops.breakpoints.set_silent(true);
        self.inferior.os_mut().pause_before(None);
        self.inferior.os_mut().end_aside();
        self.travel.after = Some(search.first);
        self.travel.behind = search.behind();
        if self.travel.writing.is_none() {
            self.forget_begin();
        }
    }

    /// A pass has not come to the end of the search: returns whether it can be repeated without the words by which it
    /// was elsewhere.
    pub(super) fn compares_less(&mut self) -> bool {
        /// More words than functions leave uninitialised at a place by chance.
        const MOST: usize = 32;
        let words = std::mem::take(&mut self.travel.other_words);
        if words.is_empty() || self.travel.not_compared.len() + words.len() > MOST {
            return false;
        }
        self.travel.not_compared.extend(words);
        true
    }

    /// A pass was not like the recording: returns whether it is repeated, since a place that it has missed may be found
    /// then.
    pub(super) fn may_repeat_pass(&self) -> bool {
        let state = self.recording().unwrap_or_default();
        let is_repeatable = state.divergence.is_some_and(|it| it.is_repeatable);
        self.travel.search.is_some() && is_repeatable
    }

    /// Shows the place again at which the search has begun. Returns what the stop there shows.
    pub(in crate::debugger) fn abandon_search(&mut self) -> Option<ShownStop> {
        let searching = self.travel.search.take()?;
        if let Some(following) = &mut self.travel.following {
            following.is_abandoned = true;
        }
        if let Some(writing) = &mut self.travel.writing {
            writing.is_abandoned = true;
        }
        self.stops.breakpoints.end_counting();
        for (id, hits) in &searching.hits_there {
            self.stops.breakpoints.set_hits(*id, *hits);
        }
        self.set_frame_places(&[]);
        self.clear_search_end();
        self.cancel_steps();
        if let Some(data) = searching.searched.data {
            self.unwatch(data);
        }
        self.distribute_slots(&[]);
        if let Some(origin) = searching.origin {
            let is_head = self.travel.head.is_none();
            self.inferior.restore_aside(origin, is_head);
            self.stops.breakpoints.set_silent(!is_head);
            self.views.stacks.clear();
        }
        Some(searching.shown)
    }
}
