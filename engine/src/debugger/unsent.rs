//! Stops whose events still wait in the queue. Requests are handled before it is empty (see
//! `Debugger::wait`), so the client may remove a breakpoint and get the response while a stop there
//! is queued. For the client the program runs on then: the stop is withdrawn.

use super::{Debugger, ResumeScope, State};
use crate::ids::{BreakpointId, ThreadId};
use crate::inferior::site::Owner;
use crate::stops::event::{Stop, StopReason};

/// What has to be known of a stop at breakpoints to withdraw it.
pub(crate) struct UnsentStop {
    /// The threads that were stopped already when it came.
    already_stopped: Vec<ThreadId>,
    /// The owners of the site that were evaluated.
    evaluated: Vec<Owner>,
    /// The reason without the breakpoints. Not `None` if the client waits for a stop: of a step or a
    /// call that this stop has ended, or of a pause.
    awaited: Option<StopReason>,
}

impl Debugger {
    /// Records a stop that is about to be queued, if it is at breakpoints. `ends_call`: it has
    /// suspended a call.
    pub(super) fn note_unsent_stop(
        &mut self,
        thread: ThreadId,
        reason: &StopReason,
        ends_call: bool,
    ) {
        let known = |id: &BreakpointId| self.stops.breakpoints.all.contains_key(id);
        let unsent = match breakpoints_of(reason) {
            // A data breakpoint that its frame has ended is gone already; its end is news.
            Some(ids) if !ids.is_empty() && ids.iter().all(known) => {
                let step_ends = match self.inferior.non_stop {
                    true => self
                        .threads
                        .get(&thread)
                        .is_some_and(|it| it.step.is_some()),
                    false => self.threads.values().any(|state| state.step.is_some()),
                };
                let threads = self.inferior.process.iter().flat_map(|it| &it.threads);
                let stopped = threads.filter(|(id, state)| **id != thread && state.is_stopped());
                Some(UnsentStop {
                    already_stopped: stopped.map(|(id, _)| *id).collect(),
                    evaluated: self.owners_at_pc(thread),
                    awaited: match (step_ends, ends_call) {
                        (true, _) => Some(StopReason::Step),
                        (false, true) => Some(StopReason::Pause),
                        (false, false) => None,
                    },
                })
            }
            _ => None,
        };
        if let Some(state) = self.thread_state(thread) {
            state.unsent = unsent;
        }
    }

    /// Records that the client waits for a stop of a thread; of any if `wanted` is not a thread of
    /// the debuggee.
    pub(super) fn await_unsent_stops(&mut self, wanted: ThreadId) {
        let all = !self.inferior.non_stop || self.inferior.thread(wanted).is_none();
        for (thread, state) in &mut self.threads {
            if (all || *thread == wanted)
                && let Some(unsent) = &mut state.unsent
            {
                unsent.awaited.get_or_insert(StopReason::Pause);
            }
        }
    }

    /// Returns a stop as it is to be sent to the client: without the breakpoints that the client has
    /// removed since. `None` if it was withdrawn; its threads run again.
    pub(super) fn confirm_stop(&mut self, mut stop: Stop) -> Option<Stop> {
        let state = self.threads.get_mut(&stop.thread);
        let Some(unsent) = state.and_then(|state| state.unsent.take()) else {
            return Some(stop);
        };
        let Some(ids) = breakpoints_of_mut(&mut stop.reason) else {
            return Some(stop);
        };
        ids.retain(|id| self.stops.breakpoints.all.contains_key(id));
        if !ids.is_empty() {
            return Some(stop);
        }
        if let Some(reason) = unsent.awaited {
            stop.reason = reason;
            return Some(stop);
        }
        if self.calls.pending.is_some() {
            // The client has found the thread stopped, and has it call a function.
            stop.reason = StopReason::Pause;
            return Some(stop);
        }
        self.withdraw(stop.thread, &unsent);
        None
    }

    /// Resumes the threads that a stop has stopped.
    fn withdraw(&mut self, thread: ThreadId, unsent: &UnsentStop) {
        tracing::debug!(%thread, "stop withdrawn: its breakpoints were removed");
        let owners = self.owners_at_pc(thread);
        if let Some(state) = self.inferior.thread_mut(thread) {
            // A breakpoint set since is hit now. Those that were evaluated have counted this hit.
            if !owners.iter().any(|owner| unsent.evaluated.contains(owner)) {
                state.passed_site = None;
            }
            state.is_hit_shown = false;
        }
        if self.inferior.non_stop {
            if self.inferior.is_visible_stop(thread) {
                self.resume_from_stop(thread, ResumeScope::One);
            }
        } else if self.state() == State::Stopped {
            self.resume_where(|other| !unsent.already_stopped.contains(&other));
        }
    }

    fn owners_at_pc(&mut self, thread: ThreadId) -> Vec<Owner> {
        let pc = self.inferior.normalize(thread).map(|it| it.pc());
        pc.map_or_else(Vec::new, |pc| self.owners_at(pc))
    }
}

/// Returns the breakpoints that a stop is due to; `None` if it has another reason.
fn breakpoints_of(reason: &StopReason) -> Option<&Vec<BreakpointId>> {
    match reason {
        StopReason::Breakpoint(ids)
        | StopReason::BreakpointError(ids, _)
        | StopReason::Data(ids, _) => Some(ids),
        _ => None,
    }
}

fn breakpoints_of_mut(reason: &mut StopReason) -> Option<&mut Vec<BreakpointId>> {
    match reason {
        StopReason::Breakpoint(ids)
        | StopReason::BreakpointError(ids, _)
        | StopReason::Data(ids, _) => Some(ids),
        _ => None,
    }
}
