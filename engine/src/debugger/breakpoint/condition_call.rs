//! Conditions that call functions of the program. The thread that hit the breakpoint makes the call
//! while all others run; several threads may be in such calls at once, and no stop is reported. A
//! hit costs two stops: the trap, and the return, after which the condition is evaluated again with
//! the result.
//!
//! A thread that must be stopped during such a call gets a grace period, since the call may hold a
//! lock. It is then back at the breakpoint and hits it again when resumed.

use crate::debugger::call::{CallStop, ENDED, PreparedCall, Replay, unwritable};
use crate::debugger::frame::FrameScope;
use crate::debugger::{Debugger, State, Vote};
use crate::expr::{Call, Expression};
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::site::Owner;
use crate::inferior::thread::RegisterCache;
use crate::os::ThreadEvent;
use crate::stops::event::StopReason;
use dwarf::LoadAddr;
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// Grace period for a call whose thread is to be stopped.
pub(crate) const CALL_GRACE: Duration = Duration::from_millis(50);

/// Results of the conditions of the breakpoints at a site.
pub(crate) type ConditionResults = SmallVec<[(BreakpointId, Result<bool, Error>); 1]>;

/// A thread's call for a condition, and the state of the evaluation of its hit.
pub(crate) struct ConditionCall {
    /// The breakpoint's address.
    site: LoadAddr,
    /// Results of the conditions that have been evaluated.
    decided: ConditionResults,
    /// Results of finished calls for the next condition.
    replay: Replay,
    call: Box<PreparedCall>,
    deadline: Instant,
    /// Whether the deadline has passed and the thread is being interrupted.
    late: bool,
}

impl Debugger {
    /// Evaluates the conditions of the breakpoints at a site that a thread has hit. Returns `None`
    /// if a condition calls a function: the thread is prepared to run it, and its return leads to
    /// [`Debugger::on_site`] again.
    pub(crate) fn evaluate_conditions(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        owners: &[Owner],
    ) -> Option<ConditionResults> {
        let before = self
            .calls
            .conditions
            .remove(&thread)
            .filter(|it| it.site == addr);
        let (mut decided, mut replay) = match before {
            Some(before) => (before.decided, before.replay),
            None => Default::default(),
        };
        for owner in owners {
            let Owner::User(id) = *owner else { continue };
            if decided.iter().any(|(known, _)| *known == id) {
                continue;
            }
            let Some(condition) = self.stops.breakpoints.condition(id) else {
                continue;
            };
            let breakpoints = &self.stops.breakpoints;
            let is_exit = breakpoints.exit_at(id, addr).is_some();
            if is_exit || breakpoints.lacks_names_at(id, addr) {
                continue;
            }
            let hidden = self.stops.breakpoints.hidden(id, addr);
            let answer = self.answer_or_call(thread, hidden, &condition, &mut replay);
            match answer {
                Ok(answer) => decided.push((id, answer)),
                Err(call) => {
                    let pending = ConditionCall {
                        site: addr,
                        decided,
                        replay,
                        call,
                        deadline: Instant::now() + self.calls.limit,
                        late: false,
                    };
                    self.calls.conditions.insert(thread, pending);
                    return None;
                }
            }
            replay = Replay::default();
        }
        Some(decided)
    }

    /// Like [`Debugger::evaluate_conditions`], for a thread that cannot make a call now: a
    /// condition that calls a function counts as false.
    pub(crate) fn decide_without_calls(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        owners: &[Owner],
    ) -> ConditionResults {
        let mut decided = ConditionResults::default();
        for owner in owners {
            if let Owner::User(id) = *owner
                && let Some(condition) = self.stops.breakpoints.condition(id)
            {
                let hidden = self.stops.breakpoints.hidden(id, addr);
                let answer = self.in_hit_frame(thread, hidden, |context| condition.decide(context));
                let answer = match answer {
                    Err(Error::Calling) => Ok(false),
                    answer => answer,
                };
                decided.push((id, answer));
            }
        }
        decided
    }

    /// Returns the result of a condition in the frame of a thread. `Err`: the call that the
    /// condition needs first, for which the thread is prepared.
    fn answer_or_call(
        &mut self,
        thread: ThreadId,
        hidden: usize,
        condition: &Expression,
        replay: &mut Replay,
    ) -> Result<Result<bool, Error>, Box<PreparedCall>> {
        let decide = |context: &mut FrameScope<'_>| condition.decide(context);
        let answer = self.replay_in_hit_frame(thread, hidden, replay, decide);
        let reserved = &mut replay.reserved;
        match (answer, replay.wanted.take()) {
            (Err(Error::Calling), Some(call)) => {
                match self.begin_condition_call(thread, call, reserved) {
                    Ok(call) => Err(call),
                    Err(error) => Ok(Err(error)),
                }
            }
            (answer, _) => Ok(answer),
        }
    }

    /// Prepares a thread for a call of a condition, and inserts the trap at its return address.
    fn begin_condition_call(
        &mut self,
        thread: ThreadId,
        call: Call,
        reserved: &mut u64,
    ) -> Result<Box<PreparedCall>, Error> {
        self.begin_trial(thread)?;
        let call = self.prepare_call(thread, call, reserved)?;
        self.count_no_calls();
        let back = call.back.0;
        let caught = self.inferior.sites.get(back);
        if !caught.is_some_and(|site| site.owners().contains(&Owner::ConditionCall)) {
            self.plant_return_trap(back, Owner::ConditionCall);
        }
        match self.send_into(thread, &call) {
            true => Ok(Box::new(call)),
            false => Err(unwritable()),
        }
    }

    /// Returns whether a thread is in a call for a condition.
    pub(crate) fn in_condition_call(&self, thread: ThreadId) -> bool {
        self.calls.conditions.contains_key(&thread)
    }

    /// Handles a stop of a thread in a call for a condition.
    pub(crate) fn on_condition_call_stop(&mut self, thread: ThreadId, status: ThreadEvent) -> Vote {
        let Some(pending) = self.calls.conditions.get(&thread) else {
            return Vote::Stay;
        };
        let (back, is_late, running) = (
            pending.call.back,
            pending.late,
            self.state() == State::Running,
        );
        match self.call_progress(thread, status, back) {
            CallStop::Gone if self.calls_on(thread) => {
                self.calls.conditions.remove(&thread);
                self.drop_call(ENDED);
                Vote::Stay
            }
            CallStop::Gone => {
                self.calls.conditions.remove(&thread);
                match running && self.inferior.thread_mut(thread).is_some() {
                    true => self.resume_or_pause(thread),
                    false => Vote::Stay,
                }
            }
            // The breakpoint was hit in a call of the client's evaluation, which is being aborted.
            CallStop::Settled if self.end_aborted_call(thread) => {
                self.calls.conditions.remove(&thread);
                Vote::Stay
            }
            CallStop::Settled if is_late => {
                self.end_condition_call(thread, Some("had not returned in time"))
            }
            CallStop::Settled => {
                let pausing = self
                    .inferior
                    .thread_mut(thread)
                    .is_some_and(|it| it.pausing);
                if let Some(pending) = self.calls.conditions.get_mut(&thread).filter(|_| pausing) {
                    pending.deadline = pending.deadline.min(Instant::now() + CALL_GRACE);
                }
                Vote::Run
            }
            CallStop::Going(vote) => vote,
            CallStop::Returned => self.end_condition_call(thread, None),
            CallStop::Failed(what) => self.end_condition_call(thread, Some(&what)),
        }
    }

    /// Ends the call of a condition: moves the thread back to the breakpoint, and evaluates the
    /// condition again with the result. `failed`: what the call did instead of returning.
    fn end_condition_call(&mut self, thread: ThreadId, failed: Option<&str>) -> Vote {
        let Some(mut pending) = self.calls.conditions.remove(&thread) else {
            return Vote::Stay;
        };
        let call = &pending.call;
        let value = match failed {
            None => self.call_value(thread, call),
            Some(what) => Err(call.given_up(what)),
        };
        if !self.inferior.set_extended_registers(thread, &call.extended) {
            tracing::debug!(%thread, "the registers cannot be restored after a call");
        }
        call.restore_errno(&mut self.inferior);
        let pausing = match self.inferior.thread_mut(thread) {
            Some(state) => {
                state.registers = RegisterCache::Dirty(call.saved);
                // Accesses of the call to watched data are not reported.
                state.debug.hits = 0;
                state.pausing
            }
            None => return Vote::Stay,
        };
        if self.state() != State::Running && !self.calls_on(thread) {
            // The thread hits the breakpoint again at its next resume.
            return Vote::Stay;
        }
        if pausing {
            return Vote::stop(StopReason::Pause);
        }
        let span = call.span.clone();
        pending.replay.done.insert((span.start, span.end), value);
        let site = pending.site;
        self.calls.conditions.insert(thread, pending);
        self.on_site(thread, site)
    }

    /// Returns the earliest deadline of the conditions' calls that are not being interrupted yet.
    pub(crate) fn condition_call_deadline(&self) -> Option<Instant> {
        let waiting = self.calls.conditions.values().filter(|it| !it.late);
        waiting.map(|it| it.deadline).min()
    }

    /// Interrupts the conditions' calls whose deadline, or `grace` if that is earlier, has passed.
    pub(crate) fn interrupt_late_condition_calls(&mut self, grace: Option<Instant>) {
        if self.calls.conditions.is_empty() {
            return;
        }
        let now = Instant::now();
        for (thread, pending) in &mut self.calls.conditions {
            let due = grace.map_or(pending.deadline, |grace| grace.min(pending.deadline));
            if !pending.late
                && now >= due
                && self
                    .inferior
                    .thread(*thread)
                    .is_some_and(|it| !it.is_stopped())
            {
                pending.late = true;
                self.inferior.interrupt(*thread);
            }
        }
    }
}
