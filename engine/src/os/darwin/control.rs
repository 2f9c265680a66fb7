//! Interrupting and resuming threads, by suspension and by replies to exceptions.

use super::exception::{self, Answer};
use super::mach::{KernReturn, Ptrace};
use super::message::Exception;
use super::{DarwinBackend, Platform, signals};
use crate::ids::{Signal, ThreadId};
use crate::os::{Resume, ThreadEvent};

impl<M: Platform> DarwinBackend<M> {
    /// Suspends a thread that runs. Returns false if it is gone.
    pub(super) fn suspend(&mut self, thread: ThreadId) -> bool {
        let Some(state) = self.threads.get_mut(thread) else {
            return false;
        };
        state.is_suspended = self.mach.thread_suspend(state.port).is_ok();
        state.is_suspended
    }

    /// Ends the suspension of a thread.
    pub(super) fn unsuspend(&mut self, thread: ThreadId) {
        if let Some(state) = self.threads.get_mut(thread)
            && std::mem::take(&mut state.is_suspended)
        {
            let _ = self.mach.thread_resume(state.port);
        }
    }

    pub(super) fn interrupt_thread(&mut self, thread: ThreadId) {
        let is_reported = !self.ready.iter().any(|(of, _)| *of == thread);
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        if state.is_stopped() {
            state.is_interrupted = is_reported;
            return;
        }
        if state.is_gone || self.suspend(thread) {
            self.ready.push_back((thread, ThreadEvent::Interrupted));
        }
        // The last one that runs may have created another.
        if !self.threads.iter().any(|(_, it)| it.runs()) {
            self.list_threads();
        }
    }

    /// Takes back the interrupt of a thread that was not collected yet.
    pub(super) fn withdraw_interrupt(&mut self, thread: ThreadId) {
        let interrupt = (thread, ThreadEvent::Interrupted);
        if let Some(at) = self.ready.iter().position(|it| *it == interrupt) {
            self.ready.remove(at);
            self.unsuspend(thread);
        }
    }

    /// Answers an exception.
    pub(super) fn reply(&self, exception: &Exception, result: KernReturn) {
        if let Err(error) = self.mach.mach_msg_send(&exception.reply(result)) {
            // The thread was killed.
            tracing::debug!(%error, "cannot reply to an exception");
        }
    }

    /// Answers the exception of a signal: the thread gets this one instead (0: none).
    pub(super) fn replace_signal(&self, exception: &Exception, signal: Signal) {
        if let Some(task) = self.task.as_ref().filter(|it| it.port == exception.task) {
            let number = signals::to_system(M::SIGNALS, signal);
            let update = Ptrace::ThUpdate(exception.thread, number);
            if let Err(error) = self.mach.ptrace(update, task.pid) {
                tracing::debug!(%error, "cannot replace a signal");
            }
        }
        self.reply(exception, KernReturn::SUCCESS);
    }

    /// Answers the exception that a thread waits in, with the signal that it is to get (0: none).
    /// Without an exception, a signal is sent.
    pub(super) fn answer(&mut self, thread: ThreadId, signal: Signal) {
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        let waits = state.exception.take();
        (state.is_late, state.trap, state.hits) = (false, None, 0);
        let send = |this: &mut Self| {
            if let Some(task) = &mut this.task {
                task.sent.push(signal);
                // At a detach, once nothing is reported any more.
                if !task.is_detaching {
                    let number = signals::to_system(M::SIGNALS, signal);
                    this.mach.kill(task.pid, number);
                }
            }
        };
        let Some((exception, meaning)) = waits else {
            if signal.0 != 0 {
                send(self);
            }
            return;
        };
        match exception::answer(meaning, signal) {
            Answer::Replace(signal) => self.replace_signal(&exception, signal),
            Answer::Handled => self.reply(&exception, KernReturn::SUCCESS),
            Answer::NotHandled => {
                state.passes = true;
                self.reply(&exception, KernReturn::FAILURE);
            }
            Answer::HandledAndSent(_) => {
                send(self);
                self.reply(&exception, KernReturn::SUCCESS);
            }
        }
    }

    /// Resumes a stopped thread with a signal (0: none).
    pub(super) fn go_on(&mut self, thread: ThreadId, how: Resume, signal: Signal) {
        let Some(state) = self.threads.get_mut(thread) else {
            return;
        };
        if !state.is_stopped() {
            return;
        }
        let is_interrupted = std::mem::take(&mut state.is_interrupted);
        if std::mem::take(&mut state.is_late) {
            // What it has stopped for first.
            self.unsuspend(thread);
            return self.report(thread);
        }
        if is_interrupted {
            if self.suspend_once(thread) {
                self.answer(thread, signal);
                self.ready.push_back((thread, ThreadEvent::Interrupted));
            }
            return;
        }
        self.set_stepping(thread, how == Resume::Step);
        self.answer(thread, signal);
        self.unsuspend(thread);
    }

    /// Suspends a thread that may be suspended already.
    pub(super) fn suspend_once(&mut self, thread: ThreadId) -> bool {
        let is_suspended = self.threads.get(thread).is_some_and(|it| it.is_suspended);
        is_suspended || self.suspend(thread)
    }

    /// Lets the threads of a process that was killed run to its end.
    pub(super) fn run_to_end(&mut self, pid: i32) {
        if self.task.as_ref().is_none_or(|task| task.pid != pid) {
            return;
        }
        for thread in self.threads.of(pid) {
            let Some(state) = self.threads.get_mut(thread) else {
                continue;
            };
            if let Some((exception, _)) = state.exception.take() {
                self.reply(&exception, KernReturn::SUCCESS);
            }
            self.unsuspend(thread);
        }
    }
}
