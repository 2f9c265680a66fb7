//! What the debugger keeps about each thread, besides what the inferior knows.

use super::Debugger;
use crate::debugger::call::SuspendedCall;
use crate::ids::ThreadId;
use crate::stops::breakpoint::AskedPlace;
use crate::stops::step::{ReturnedFunction, Stepping};

/// The step of a thread, its suspended calls, and what its stop shows.
#[derive(Default)]
pub(crate) struct ThreadState {
    /// The step in progress.
    pub step: Option<Stepping>,
    /// Suspended calls for expressions, in the order in which they were made: each was made where
    /// the one before it had stopped.
    pub suspended: Vec<SuspendedCall>,
    /// Number of inlined calls at its pc that are not shown as entered.
    pub hidden_inlined: usize,
    /// The requested location at which it stopped.
    pub asked: AskedPlace,
    /// The function that it has just been stepped out of.
    pub returned: Option<ReturnedFunction>,
}

impl ThreadState {
    /// Drops what is valid for one stop only.
    pub fn forget_stop(&mut self) {
        self.hidden_inlined = 0;
        self.returned = None;
    }
}

impl Debugger {
    /// Returns the state of a thread of the process.
    pub(crate) fn thread_state(&mut self, thread: ThreadId) -> Option<&mut ThreadState> {
        self.inferior.thread(thread)?;
        Some(self.threads.entry(thread).or_default())
    }
}
