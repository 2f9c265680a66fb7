//! Threads that wait until function breakpoints are resolved: a program does not pass a function
//! whose breakpoint was set before the program, or the library with the function, started.

use super::{Debugger, State, Vote};
use crate::ids::ThreadId;
use crate::images::indexer::IndexingProgress;
use crate::stops::event::Event;

impl Debugger {
    /// Holds a stopped thread while the locations of function breakpoints are being searched. Calls
    /// that the debugger makes run all the same.
    pub(crate) fn hold_for_places(&mut self, thread: ThreadId) {
        if !self.awaits_places() {
            return;
        }
        if let Some(state) = self.inferior.thread_mut(thread) {
            state.awaits_places = true;
            self.images.holding = true;
        }
    }

    /// Like [`Debugger::hold_for_places`], for all threads of a program that is about to start.
    pub(crate) fn hold_start_for_places(&mut self) {
        let threads = self
            .inferior
            .process
            .iter()
            .flat_map(|it| it.threads.keys());
        let threads: Vec<ThreadId> = threads.copied().collect();
        for thread in threads {
            self.hold_for_places(thread);
        }
    }

    fn awaits_places(&self) -> bool {
        !self.inferior.terminating && self.stops.breakpoints.await_places(&self.images.indexer)
    }

    /// Resumes the held threads once no search is pending.
    pub(crate) fn end_hold(&mut self) {
        if !self.images.holding || self.awaits_places() {
            return;
        }
        self.images.holding = false;
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        let threads = process.threads.iter_mut();
        let held: Vec<ThreadId> = threads
            .filter_map(|(thread, state)| {
                std::mem::take(&mut state.awaits_places).then_some(*thread)
            })
            .collect();
        for thread in held {
            // One of these resumes, or another handler, may have stopped everything.
            if self.state() == State::Running {
                self.carry_out(thread, Vote::Resume);
            }
        }
    }

    /// Returns the progress of the search for function breakpoints that holds threads; `None` if no
    /// thread is held.
    pub fn held_for_functions(&self) -> Option<IndexingProgress> {
        self.images
            .indexer
            .awaited_search()
            .filter(|_| self.images.holding)
    }

    /// Lets the program run although locations of function breakpoints are still being searched.
    /// The breakpoints bind later; their messages say so.
    pub fn stop_waiting_for_functions(&mut self) {
        for id in self.stops.breakpoints.pass_by(&self.images.indexer) {
            self.rebind(id);
            self.emit(Event::BreakpointChanged(id));
        }
        self.end_hold();
    }
}
