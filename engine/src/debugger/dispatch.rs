//! Dispatch of stops: each stop is classified, its handler returns a [`Vote`], and
//! [`Debugger::carry_out`] executes that. A handler does not itself resume the thread or report its
//! stop.

use super::{Debugger, State};
use crate::debugger::breakpoint::ConditionResults;
use crate::ids::{BreakpointId, Signal, ThreadId};
use crate::inferior::site::Owner;
use crate::inferior::{Arrival, Resumed, RunAs, StopCause};
use crate::os::{Resume, ThreadEvent};
use crate::stops::breakpoint::RequestedLocation;
use crate::stops::event::{Event, StopReason};
use crate::stops::fold::fold;
use crate::stops::step::ReturnedFunction;
use dwarf::LoadAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long stops are handled in one pass, so that requests are handled in between.
const COLLECT_BUDGET: Duration = Duration::from_millis(1);

/// What a handler of a stop decides for the thread.
pub(crate) enum Vote {
    /// Leave the thread as it is.
    Stay,
    /// Run it.
    Run,
    /// Resume it as its step requires: run it or single-step it. Without a step, run it.
    Resume,
    /// Report its stop.
    Stop(StopReason, Shown),
}

impl Vote {
    /// Returns the vote to report a stop that is shown by default rules.
    pub fn stop(reason: StopReason) -> Self {
        Vote::Stop(reason, Shown::default())
    }
}

/// What a reported stop shows, where that differs from the default.
#[derive(Clone, Default)]
pub(crate) struct Shown {
    /// Number of inlined calls at the pc that are shown as not entered.
    pub hidden: Option<usize>,
    /// The requested location.
    pub requested: Option<RequestedLocation>,
    /// The function that the thread has just been stepped out of.
    pub returned: Option<Arc<ReturnedFunction>>,
}

impl Debugger {
    /// Handles the stops that are ready, for at most `COLLECT_BUDGET`.
    pub(crate) fn collect_stops(&mut self) {
        let began = Instant::now();
        while began.elapsed() < COLLECT_BUDGET {
            if self.has_events() || self.inferior.is_child_due() {
                return;
            }
            let stop = self.inferior.next_stop();
            let Some((thread, status)) = stop.or_else(|| self.inferior.spin_for_next_stop()) else {
                return;
            };
            let is_quick = self.inferior.has_stopped_quickly(thread);
            self.on_stop(thread, status);
            self.inferior.note_handled(thread, is_quick);
        }
        // More stops may be ready, and no further SIGCHLD will announce them.
        self.inferior.stops_may_be_ready = true;
    }

    /// Handles one stop.
    pub(crate) fn on_stop(&mut self, thread: ThreadId, status: ThreadEvent) {
        tracing::trace!(%thread, ?status, "stop");
        self.inferior.arrived = Instant::now();
        let process = self.inferior.process.as_ref();
        if process.is_some_and(|it| it.threads.len() == 1) {
            self.inferior.own_time.stop();
        }
        self.inferior.sync_threads();
        let vote = self.vote(thread, status);
        self.carry_out(thread, vote);
        self.forget_ended_threads();
    }

    /// Carries out a vote, and the votes on stops that come up while the thread is resumed. Only
    /// this method resumes a thread of the program from a handled stop, or reports the stop.
    pub(crate) fn carry_out(&mut self, thread: ThreadId, mut vote: Vote) {
        loop {
            let how = match vote {
                Vote::Stay => return,
                Vote::Stop(reason, shown) => match self.stop_of_replay(thread, &reason, &shown) {
                    Some(instead) => {
                        vote = instead;
                        continue;
                    }
                    None => {
                        let next = self.follow_on(thread);
                        if let Some(next) = next.or_else(|| self.write_on(thread)) {
                            vote = next;
                            continue;
                        }
                        let reason = self.reason_shown(thread, reason);
                        return self.report_stop(thread, reason, shown);
                    }
                },
                Vote::Run => Resume::Continue,
                Vote::Resume => self.next_move(thread),
            };
            if let Some(ended) = self.end_returned_call(thread) {
                vote = ended;
                continue;
            }
            let runs = self.runs_as(thread);
            if runs == RunAs::Program {
                self.inferior.end_trial();
            }
            // A replay that has just begun may not have the thread yet. Which one runs, the recording says.
            let thread = self.inferior.thread_of_replay(thread);
            if self.is_searching() {
                // One that steps is resumed for itself, as its step says.
                let threads = &self.threads;
                let steps = |it: &ThreadId| threads.get(it).is_some_and(|it| it.step.is_some());
                self.inferior.resume_rest(|it| *it != thread && !steps(it));
            }
            vote = match self.inferior.resume(thread, how, runs) {
                Resumed::Done => return,
                Resumed::Stop(cause) => self.decide(thread, cause),
                Resumed::Status(status) => self.classify(thread, status),
                Resumed::InPlace(step) => {
                    let status = self.with_world_stopped(thread, |this, _| {
                        this.inferior.step_in_place(thread, step)
                    });
                    match status {
                        Some(ThreadEvent::Signal(signal)) if signal == Signal::TRAP => {
                            self.inferior.note_sigtrap(thread);
                            self.inferior.normalize(thread);
                            self.on_step_or_watch_trap(thread, step.how == Resume::Step)
                        }
                        Some(status) => self.vote(thread, status),
                        None => Vote::Stay,
                    }
                }
            };
        }
    }

    /// Returns what a thread would execute if it were resumed.
    fn runs_as(&self, thread: ThreadId) -> RunAs {
        if self.calls_on(thread) {
            RunAs::Call
        } else if self.in_condition_call(thread) {
            RunAs::ConditionCall
        } else {
            RunAs::Program
        }
    }

    /// Returns the vote on a stop.
    fn vote(&mut self, thread: ThreadId, status: ThreadEvent) -> Vote {
        if status.is_end() {
            self.inferior.forget_released(thread);
        }
        let Some(process) = &mut self.inferior.process else {
            self.inferior.pass_on(thread, ThreadEvent::Other);
            return Vote::Stay;
        };
        if !process.threads.contains_key(&thread) {
            self.inferior.on_unknown_thread(thread, status);
            return Vote::Stay;
        }
        if process.launcher && !matches!(status, ThreadEvent::Execed(_)) {
            self.on_launcher(thread, status);
            return Vote::Stay;
        }
        if let ThreadEvent::Exiting(code) = status {
            self.inferior.absorb(thread, status);
            return Vote::stop(StopReason::Exiting(code));
        }
        if let ThreadEvent::Replayed(stop) = status {
            self.inferior.absorb(thread, status);
            if self.state() != State::Running {
                // All threads are being stopped: what the search does next, is decided when they are resumed.
                self.inferior.defer(thread, status);
                return Vote::Stay;
            }
            return self.on_replay_stop(thread, stop);
        }
        let is_called = self.calls_on(thread);
        if self.in_condition_call(thread) {
            return self.on_condition_call_stop(thread, status);
        }
        if is_called {
            return self.on_call_stop(thread, status);
        }
        if self.is_bookkeeping(thread, status) {
            return match self.state() {
                State::Running => self.resume_or_pause(thread),
                _ => {
                    self.inferior.normalize_if_needed(thread);
                    Vote::Stay
                }
            };
        }
        if self.state() != State::Running {
            // The stop came after another one was reported: deferred to the next resume.
            self.inferior.defer(thread, status);
            self.inferior.normalize_if_needed(thread);
            return Vote::Stay;
        }
        self.classify(thread, status)
    }

    /// Returns the vote on a stop with nothing to report: a pause, if the client has requested one.
    pub(crate) fn resume_or_pause(&self, thread: ThreadId) -> Vote {
        let state = self.inferior.thread(thread);
        match state.is_some_and(|state| state.is_stopped() && state.pausing) {
            true => Vote::stop(StopReason::Pause),
            false => Vote::Resume,
        }
    }

    /// Handles a stop that is bookkeeping, in any state. Returns true if there is nothing to
    /// report; the thread is then stopped, or gone. Returns false if the stop has to be classified.
    pub(crate) fn is_bookkeeping(&mut self, thread: ThreadId, status: ThreadEvent) -> bool {
        let arrival = self.inferior.absorb(thread, status);
        if let Arrival::Exec(former) = arrival {
            self.on_exec(thread, former);
        }
        self.forget_ended_threads();
        arrival != Arrival::Stop
    }

    /// Returns the vote on a stop that may have to be reported.
    pub(crate) fn classify(&mut self, thread: ThreadId, status: ThreadEvent) -> Vote {
        if let ThreadEvent::Replayed(stop) = status {
            return self.on_replay_stop(thread, stop);
        }
        match self.inferior.classify_stop(thread, status) {
            Some(cause) => self.decide(thread, cause),
            None => Vote::Stay,
        }
    }

    /// Returns the vote on the cause of a stop.
    fn decide(&mut self, thread: ThreadId, cause: StopCause) -> Vote {
        let vote = match self.give_back_repetitions(thread) {
            true => self.on_repeated(thread),
            false => self.decide_cause(thread, cause),
        };
        if matches!(vote, Vote::Resume) {
            self.repeat_up_to_end(thread);
        }
        vote
    }

    /// Returns the vote on a thread that has made the repetitions of the instruction of the end before it.
    fn on_repeated(&mut self, thread: ThreadId) -> Vote {
        let is_replay = self.is_in_replay();
        let vote = self.on_end_site(thread);
        // Another process may be shown now, whose thread has not passed this site.
        if !is_replay || vote.is_none() {
            self.mark_passed(thread);
        }
        vote.unwrap_or(Vote::Resume)
    }

    fn decide_cause(&mut self, thread: ThreadId, cause: StopCause) -> Vote {
        match cause {
            StopCause::Site(addr) => self.on_site(thread, addr),
            StopCause::Counted(addr, id) => self.on_counted_hit(thread, addr, id),
            StopCause::Step | StopCause::Access => {
                let vote = self.on_step_or_watch_trap(thread, cause == StopCause::Step);
                let instead = match cause {
                    StopCause::Access => self.searched_change(thread),
                    _ => None,
                };
                instead.unwrap_or(vote)
            }
            StopCause::ProgramTrap => Vote::stop(StopReason::Trap),
            StopCause::Signal(signal) => self.on_signal(thread, signal),
            StopCause::Nothing => Vote::Run,
        }
    }

    /// Marks a site as hit, so that the next resume moves the thread past it. Handles the sites in
    /// the loader and in ifunc resolvers.
    pub(crate) fn mark_site_passed(&mut self, thread: ThreadId, addr: LoadAddr, owners: &[Owner]) {
        if let Some(state) = self.inferior.thread_mut(thread) {
            state.passed_site = Some(addr);
            state.is_hit_shown = false;
        }
        // In the past, the images are those of the program.
        if owners.contains(&Owner::Loader) && !self.is_in_replay() {
            self.on_loader(thread, addr);
            self.hold_for_places(thread);
        }
        let of_chooser = |owner: &Owner| matches!(owner, Owner::Chooser | Owner::Chosen);
        if owners.iter().any(of_chooser) {
            self.on_chooser(thread, addr, owners);
        }
    }

    /// Handles a thread that has hit a site: evaluates each of its owners.
    pub(crate) fn on_site(&mut self, thread: ThreadId, addr: LoadAddr) -> Vote {
        let owners = self.owners_at(addr);
        if owners.contains(&Owner::Suspended)
            && let Some(vote) = self.on_suspended_site(thread, addr)
        {
            return vote;
        }
        let already_counted = self.is_back_at_passed(thread);
        let is_replay = self.is_in_replay();
        if owners.contains(&Owner::End)
            && let Some(vote) = self.on_end_site(thread)
        {
            // Another process may be shown now, whose thread has not passed this site.
            if !is_replay {
                self.mark_site_passed(thread, addr, &owners);
            }
            return vote;
        }
        let decided = match already_counted {
            true => Some(ConditionResults::default()),
            false => self.evaluate_conditions(thread, addr, &owners),
        };
        let Some(decided) = decided else {
            // A condition calls a function of the program first.
            return Vote::Run;
        };
        self.mark_site_passed(thread, addr, &owners);
        let ended = self.end_scopes(thread, &owners);
        let exception = match owners.contains(&Owner::Exception) && !already_counted {
            true => self.evaluate_exceptions(thread, addr),
            false => None,
        };
        let breakpoint = match already_counted {
            true => None,
            false => self.evaluate_breakpoints(thread, addr, &owners, decided),
        };
        let (reason, left_out) = fold(ended, exception, breakpoint);
        for text in left_out {
            self.emit(Event::Note(format!("{text}\n")));
        }
        let is_first =
            self.inferior.process.as_mut().is_some_and(|process| {
                process.first_stop.take_if(|entry| *entry == addr).is_some()
            });
        if let Some(reason) = reason.or_else(|| is_first.then_some(StopReason::Entry)) {
            return Vote::stop(reason);
        }
        let of_a_step = |owner: &Owner| matches!(owner, Owner::Step(_));
        if owners.iter().any(of_a_step) {
            self.take_step_over(thread, &owners);
            if let Some(vote) = self.on_step_site(thread, addr) {
                return vote;
            }
        }
        if self.count_non_stopping_hit(thread, addr, &owners)
            && !self.inferior.non_stop
            && self.state() != State::Running
            && !self.calls_on(thread)
        {
            // Another handler has stopped the world.
            return Vote::Stay;
        }
        Vote::Resume
    }

    /// Handles a hit that the program itself has counted, and that stops or logs.
    pub(crate) fn on_counted_hit(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        id: BreakpointId,
    ) -> Vote {
        self.mark_site_passed(thread, addr, &[]);
        if !self.stops.breakpoints.stop_at_counted(id) {
            return Vote::Resume;
        }
        self.disable_if_once(id);
        match self.stops.breakpoints.message(id) {
            Some(message) => {
                let hidden = self.stops.breakpoints.hidden(id, addr);
                self.emit_log_message(thread, hidden, &message);
                Vote::Resume
            }
            None => Vote::stop(StopReason::Breakpoint(vec![id])),
        }
    }
}
