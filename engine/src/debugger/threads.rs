//! The debugger's state of each thread. Its state as seen through ptrace is in
//! [`crate::inferior::thread`].

use super::Debugger;
use crate::debugger::call::SuspendedCall;
use crate::debugger::unsent::UnsentStop;
use crate::ids::ThreadId;
use crate::stops::breakpoint::RequestedLocation;
use crate::stops::step::{ReturnedFunction, Stepping};
use std::sync::Arc;

/// The step of a thread, its suspended calls, and what its stop shows.
#[derive(Default)]
pub(crate) struct ThreadState {
    /// The step in progress.
    pub step: Option<Stepping>,
    /// Suspended calls for expressions, oldest first: each was made at the stop of the one before.
    pub suspended: Vec<SuspendedCall>,
    /// Number of inlined calls at its pc that are shown as not entered.
    pub hidden_inlined: usize,
    /// The requested location at which it stopped.
    pub requested: RequestedLocation,
    /// The function that it has just been stepped out of.
    pub returned: Option<Arc<ReturnedFunction>>,
    /// Its stop at breakpoints, until the client is sent the event.
    pub unsent: Option<UnsentStop>,
}

impl ThreadState {
    /// Drops what is valid for one stop only.
    pub fn forget_stop(&mut self) {
        self.hidden_inlined = 0;
        self.returned = None;
    }
}

impl Debugger {
    /// Returns the state of a thread; `None` if the process has no such thread.
    pub(crate) fn thread_state(&mut self, thread: ThreadId) -> Option<&mut ThreadState> {
        self.inferior.thread(thread)?;
        Some(self.threads.entry(thread).or_default())
    }
}
