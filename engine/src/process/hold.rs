//! Threads that wait until the places of function breakpoints are known: a program passes no
//! function that was asked for before it, or the library with the function, was started.

use crate::debugger::{Debugger, State};
use crate::event::Event;
use crate::ids::ThreadId;
use crate::images::indexer::Reading;

impl Debugger {
    /// Keeps a stopped thread where it is as long as places of function breakpoints are looked
    /// for. Calls that the debugger makes run all the same.
    pub(crate) fn hold_for_places(&mut self, thread: ThreadId) {
        if !self.awaits_places() {
            return;
        }
        if let Some(state) = self.thread_mut(thread) {
            state.awaits_places = true;
            self.holding = true;
        }
    }

    /// As [`Debugger::hold_for_places`], all threads of a program that is to be started.
    pub(crate) fn hold_start_for_places(&mut self) {
        let threads = self.process.iter().flat_map(|it| it.threads.keys());
        let threads: Vec<ThreadId> = threads.copied().collect();
        for thread in threads {
            self.hold_for_places(thread);
        }
    }

    fn awaits_places(&self) -> bool {
        !self.terminating && self.breakpoints.await_places(&self.indexer)
    }

    /// Resumes the threads that were held, once nothing is awaited any more.
    pub(crate) fn end_hold(&mut self) {
        if !self.holding || self.awaits_places() {
            return;
        }
        self.holding = false;
        let Some(process) = &mut self.process else {
            return;
        };
        let threads = process.threads.iter_mut();
        let held: Vec<ThreadId> = threads
            .filter_map(|(thread, state)| {
                std::mem::take(&mut state.awaits_places).then_some(*thread)
            })
            .collect();
        for thread in held {
            // Somebody may have stopped everything meanwhile, or one of these does.
            if self.state() == State::Running {
                self.go_on_stepping(thread);
            }
        }
    }

    /// The search for function breakpoints for which threads of the program are held, if there
    /// is one.
    pub fn held_for_functions(&self) -> Option<Reading> {
        self.indexer.awaited_search().filter(|_| self.holding)
    }

    /// Lets the program run although places of function breakpoints are still looked for. They
    /// bind later; the breakpoints say so.
    pub fn stop_waiting_for_functions(&mut self) {
        for id in self.breakpoints.pass_by(&self.indexer) {
            self.rebind(id);
            self.events.push_back(Event::BreakpointChanged(id));
        }
        self.end_hold();
    }
}
