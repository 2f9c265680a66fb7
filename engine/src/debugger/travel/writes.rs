//! The last write to data before now: a search in which only that data is watched.

use super::{Goal, Searched};
use crate::debugger::Debugger;
use crate::ids::error::Error;
use crate::ids::{BreakpointId, BreakpointOptions, ThreadId};
use crate::stops::breakpoint::watch::{
    DataAccess, DataBreakpoint, Watch, WatchMechanism, Watchable,
};
use crate::stops::event::StopReason;
use std::collections::BTreeMap;

/// The watch of a search, and those that it has replaced.
pub(super) struct SearchedData {
    pub id: BreakpointId,
    others: BTreeMap<BreakpointId, Watch>,
}

impl Debugger {
    /// Goes back to the last write that has changed data; the stop is reported once it is found.
    ///
    /// # Errors
    /// As [`Debugger::go_back`]; the data cannot be watched.
    pub fn go_to_last_write(&mut self, thread: ThreadId, data: &Watchable) -> Result<(), Error> {
        let (at, after) = self.begin_of_search(thread)?;
        self.check_searched(data)?;
        let searched = self.watch_alone(data, DataAccess::Write)?;
        self.begin_search(
            thread,
            at,
            after,
            Searched {
                data: Some(searched),
                ..Searched::of(Goal::Write)
            },
        );
        Ok(())
    }

    /// Returns whether the last write to memory is searched, and the one that has led to the end of the search
    /// counts: it was not found before.
    pub(in crate::debugger) fn searches_store(&self) -> bool {
        let Some(searching) = &self.travel.search else {
            return false;
        };
        let was_found = matches!(searching.shown.reason, StopReason::Data(..));
        let counts = self.travel.following.is_some() || !was_found;
        searching.search.goal == Goal::Write && searching.found.is_none() && counts
    }

    /// Checks that writes to data can be searched.
    ///
    /// # Errors
    /// It is too large.
    pub(super) fn check_searched(&self, data: &Watchable) -> Result<(), Error> {
        /// What the debug registers can watch, in bytes.
        const MOST: u64 = 32;
        if data.bytes <= MOST {
            return Ok(());
        }
        Err(Error::NoSuchPast(format!(
            "`{}` has {} bytes; writes to {MOST} at most can be searched: choose a member",
            data.name, data.bytes
        )))
    }

    /// Watches data in place of all other data.
    pub(super) fn watch_alone(
        &mut self,
        data: &Watchable,
        access: DataAccess,
    ) -> Result<SearchedData, Error> {
        let mut data = data.clone();
        // Of a frame that has not begun, too.
        data.scope = None;
        let wanted = DataBreakpoint {
            data,
            access,
            by_steps: false,
            options: BreakpointOptions::default(),
        };
        let others = std::mem::take(&mut self.stops.watches.all);
        let id = self.stops.breakpoints.add_hidden_data(&wanted);
        self.begin_watch(id, &wanted);
        let searched = SearchedData { id, others };
        self.distribute_slots(&[]);
        let watch = self.stops.watches.all.get(&id);
        let is_watched = watch.is_some_and(|it| it.means != WatchMechanism::Nothing);
        if !is_watched {
            self.unwatch(searched);
            self.distribute_slots(&[]);
            let why = format!("`{}` cannot be watched", wanted.data.name);
            return Err(Error::NoSuchPast(why));
        }
        Ok(searched)
    }

    /// Watches what was watched before, once the debug registers are distributed again.
    pub(super) fn unwatch(&mut self, searched: SearchedData) {
        self.stops.breakpoints.remove_hidden_data(searched.id);
        self.stops.watches.all = searched.others;
    }
}
