//! Events of a recording: the place of one is shown, and those of two runs are compared.

use super::search::Searched;
use super::{Debugger, Goal};
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::os::{RecordedCall, RunDifference};
use std::path::Path;

impl Debugger {
    /// Compares the system calls of the recording with those of another one: of a file, or of the program that
    /// was recorded before in this session. Returns the number of calls that are the same, and the first
    /// difference. Cost: both logs are looked through.
    ///
    /// # Errors
    /// The program is not recorded, there is no such recording, or it cannot be read.
    pub fn difference_of_runs(
        &self,
        file: Option<&Path>,
    ) -> Result<(usize, Option<RunDifference>), Error> {
        let difference = self.inferior.os().difference_of_runs(file);
        difference.map_err(Error::NoSuchPast)
    }

    /// Returns system calls of the recording, from the one of a number (1: the first) on, so many at most. Cost:
    /// the log before them is looked through.
    pub fn recorded_calls(&mut self, from: usize, most: usize) -> Vec<RecordedCall> {
        self.inferior.os_mut().recorded_calls(from, most)
    }

    /// Returns the number of system calls of the recording before the shown place; of those that were made without
    /// a stop since the last call with one, none in the past.
    pub fn calls_before_shown(&mut self) -> usize {
        self.inferior.os_mut().calls_before_shown()
    }

    /// Goes to behind the system call of a number (1: the first); the stop is reported once it is found.
    ///
    /// # Errors
    /// As [`Debugger::go_to_event`]; there is no such call, or its place is not recorded.
    pub fn go_to_call(&mut self, thread: ThreadId, number: usize) -> Result<(), Error> {
        // What a search refuses, it has to refuse before another place is shown.
        self.begin_of_search(thread)?;
        let found = match number {
            0 => None,
            _ => self.recorded_calls(number, 1).pop(),
        };
        let call = found.ok_or_else(|| {
            Error::NoSuchPast(format!("the recording has no system call {number}"))
        })?;
        let event = call.event + 1;
        let state = self.recording().unwrap_or_default();
        let is_recorded = state.snapshots.iter().any(|it| it.next < event);
        if event > state.events || !is_recorded {
            let why = format!("the place behind system call {number} is not recorded");
            return Err(Error::NoSuchPast(why));
        }
        // It may be behind the shown place, in the past too.
        let thread = self.leave_for_search(thread);
        self.go_to_event(thread, event)
    }

    /// Goes to behind the event before the one of this index, which must not be behind the shown place; the stop is
    /// reported once it is found.
    ///
    /// # Errors
    /// The thread is not stopped, the program is not recorded (any more), or the event is behind the shown place.
    pub fn go_to_event(&mut self, thread: ThreadId, event: usize) -> Result<(), Error> {
        let (at, after) = self.begin_of_search(thread)?;
        let state = self.recording().unwrap_or_default();
        let passed = state.snapshots.partition_point(|it| it.next < event);
        let Some(snapshot) = passed.checked_sub(1).filter(|_| event <= at.event) else {
            let why = "it is behind the shown place, or before the start of the program";
            return Err(Error::NoSuchPast(why.to_owned()));
        };
        let after = after.min(snapshot);
        self.travel.behind = Default::default();
        self.begin_search(thread, at, after, Searched::of(Goal::Event(event)));
        Ok(())
    }

    /// Returns whether the replay of a search has come to the event that the pass ends before.
    pub(super) fn is_at_end_of_pass(&self) -> bool {
        let until = self.travel.search.as_ref().and_then(|it| it.search.until());
        until == Some(self.inferior.os().next_event())
    }

    /// Returns whether the replay of a search has come to the event that is searched.
    pub(super) fn is_at_searched_event(&self) -> bool {
        let goal = self.travel.search.as_ref().map(|it| it.search.goal);
        matches!(goal, Some(Goal::Event(event)) if self.inferior.os().next_event() == event)
    }
}
