//! Stopping and resuming all threads.

use super::{Debugger, ResumeScope, State};
use crate::debugger::breakpoint::CALL_GRACE;
use crate::debugger::dispatch::Vote;
use crate::ids::ThreadId;
use crate::inferior::StoppedWorld;
use crate::os::{WaitInterest, end_of_wait};
use std::time::{Duration, Instant};

/// Maximum time for threads to stop. After it, a stop is reported although some threads still run.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time as long as threads do stop. Thousands take seconds.
const MOST_STOPS: Duration = Duration::from_secs(30);
/// If more threads than this still run after a pass, and under a quarter stopped in it, sleep for
/// `STOP_POLL_INTERVAL` before the next pass.
const MANY_THREADS: usize = 64;
/// The time between two passes over many running threads.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(1);

impl Debugger {
    /// Interrupts all running threads and waits until they stop, at most for `STOP_TIMEOUT`. In a
    /// state other than [`State::Running`], their stops are deferred.
    pub(crate) fn stop_all(&mut self) {
        let begun = Instant::now();
        let patience = begun + STOP_TIMEOUT;
        loop {
            let running = self.inferior.running_threads();
            if running.is_empty() {
                return;
            }
            if Instant::now() >= end_of_wait(begun, MOST_STOPS) {
                tracing::error!("threads that were stopped run again");
                return;
            }
            self.interrupt_late_condition_calls(Some(begun + CALL_GRACE));
            let until = match self.condition_call_deadline() {
                Some(_) => begun + CALL_GRACE,
                None => patience,
            };
            for thread in &running {
                let in_condition_call = self.in_condition_call(*thread);
                if !in_condition_call {
                    self.inferior.interrupt(*thread);
                }
            }
            // Poll each thread by its id: for a wait on any thread, the kernel walks over all of
            // them.
            let (all, mut stopped) = (running.len(), 0);
            for thread in running {
                if let Some(status) = self.inferior.poll_stop(thread) {
                    self.on_stop(thread, status);
                    stopped += 1;
                }
            }
            if all - stopped > MANY_THREADS && stopped < all / 4 && Instant::now() < patience {
                // A wake-up per stop would take longer than the threads need to stop.
                std::thread::sleep(STOP_POLL_INTERVAL);
                continue;
            }
            if stopped > 0 {
                continue;
            }
            match self.inferior.next_stop() {
                Some((thread, status)) => self.on_stop(thread, status),
                None if Instant::now() >= patience => {
                    tracing::warn!("cannot stop some threads: blocked in the kernel");
                    return;
                }
                None => match self.inferior.wait(Some(until), WaitInterest::default()) {
                    Ok(ready) => self.inferior.remember(ready),
                    Err(error) => {
                        tracing::error!(%error, "cannot wait for threads to stop");
                        return;
                    }
                },
            }
        }
    }

    /// Stops the world, runs an action, and resumes the threads that ran and those created since.
    /// `thread` must be stopped already and stays so. The action gets `None` if a thread could not
    /// be stopped. Reports no stop of its own; a deferred stop of another thread is handled instead
    /// of resuming it.
    pub(crate) fn with_world_stopped<T>(
        &mut self,
        thread: ThreadId,
        act: impl FnOnce(&mut Self, Option<&StoppedWorld>) -> T,
    ) -> T {
        let stopped = |this: &Self| -> Vec<ThreadId> {
            let threads = this.inferior.process.iter().flat_map(|it| &it.threads);
            let stopped = threads.filter(|(_, state)| state.is_stopped());
            stopped.map(|(thread, _)| *thread).collect()
        };
        let before = stopped(self);
        let state_before = self.state();
        self.inferior.set_state(State::Stopped);
        self.stop_all();
        self.inferior.own_time.stop();
        let world = self.inferior.stopped_world();
        let result = act(self, world.as_ref());
        self.inferior.set_state(state_before);
        // Includes threads that were created during the action.
        for other in stopped(self) {
            if other != thread && !before.contains(&other) {
                let vote = self.deferred_vote(other);
                self.carry_out(other, vote);
            }
        }
        result
    }

    /// Resumes a thread from a reported stop; in all-stop mode also all others if `scope` says so.
    pub(crate) fn resume_from_stop(&mut self, thread: ThreadId, scope: ResumeScope) {
        if !self.is_searching() {
            self.settle_change();
            self.await_head();
        }
        if !self.inferior.non_stop {
            self.resume_where(|other| scope == ResumeScope::All || other == thread);
            return;
        }
        self.forget_stop_of(thread);
        let Some(state) = self.inferior.thread_mut(thread) else {
            return;
        };
        state.release();
        let vote = self.deferred_vote(thread);
        self.carry_out(thread, vote);
    }

    /// Resumes all stopped threads.
    pub(crate) fn resume_all(&mut self) {
        self.resume_where(|_| true);
    }

    /// Resumes the wanted threads that are stopped. Deferred stops are handled first; one that is
    /// reported stops all threads again.
    pub(crate) fn resume_where(&mut self, wanted: impl Fn(ThreadId) -> bool) {
        self.clear_stop_state();
        self.inferior.set_state(State::Running);
        let Some(process) = &mut self.inferior.process else {
            return;
        };
        let threads = process.threads.keys().copied();
        let threads: Vec<ThreadId> = threads.filter(|thread| wanted(*thread)).collect();
        for state in process.threads.values_mut() {
            state.release();
        }
        for thread in &threads {
            if self
                .inferior
                .thread_mut(*thread)
                .is_some_and(|state| state.is_stopped() && state.deferred.is_some())
            {
                let vote = self.deferred_vote(*thread);
                self.carry_out(*thread, vote);
                if self.state() != State::Running {
                    return;
                }
            }
        }
        self.refresh_watches();
        for thread in threads {
            self.carry_out(thread, Vote::Resume);
            if self.state() != State::Running {
                return;
            }
        }
    }

    /// Returns the vote on the deferred stop of a thread; without one, [`Vote::Resume`].
    fn deferred_vote(&mut self, thread: ThreadId) -> Vote {
        let deferred = self
            .inferior
            .thread_mut(thread)
            .and_then(|it| it.deferred.take());
        match deferred {
            Some(status) => self.classify(thread, status),
            None => Vote::Resume,
        }
    }
}
