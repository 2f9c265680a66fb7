//! The process: what its threads did, what that means, and letting them go on. Here is where a
//! stop comes in; the rooms below have what may follow from it.

mod children;
mod end;
mod find;
mod group_stop;
mod hold;
mod life;
mod loader;
mod pass;
mod registers;
mod resume;
mod stop;
#[cfg(test)]
mod tests;
mod trap;

use crate::debugger::{Debugger, State};
use crate::event::StopReason;
use crate::ids::{ExitStatus, Signal, ThreadId};
use crate::images::modules::announce::Announcements;
use crate::os::{Resume, WaitStatus};
use crate::thread::Thread;
pub(crate) use children::{Child, Given, Lost};
pub use children::{Follow, FollowFork, Handover};
use dwarf::LoadAddr;
pub(crate) use find::Awaited;
pub use pass::InterruptedPass;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
pub(crate) use trap::{Found, SI_KERNEL, Trap};

/// How long threads may take to stop before the others are reported without them.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// How long output of a process that has ended may stay away before that is reported.
const OUTPUT_PATIENCE: Duration = Duration::from_millis(300);
/// Output handed on before a stop is reported, at most.
pub(crate) const OUTPUT_BURST: usize = 1 << 20;

/// How long stops are collected before others have their turn.
const COLLECTING: Duration = Duration::from_millis(1);
/// Who stops again so soon after it was let go is waited for awake the next time: it takes the
/// system as long to wake two threads, one on either side.
const QUICK: Duration = Duration::from_micros(100);
/// So long.
const LINGERING: Duration = Duration::from_micros(50);

/// A thread has stopped for nobody and was let go.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    thread: ThreadId,
    at: Instant,
    /// It had been let go only a moment before.
    is_quick: bool,
}

/// The debuggee.
pub struct Process {
    pub pid: i32,
    pub launched: bool,
    pub state: State,
    pub threads: BTreeMap<ThreadId, Thread>,
    /// Processes that came from it and are in our hands still.
    pub children: BTreeMap<i32, Child>,
    /// Stops of threads and children that nobody has announced yet.
    pub early: BTreeMap<ThreadId, WaitStatus>,
    /// Threads that were met, and may have ended, before who made them has told of them.
    pub untold: BTreeSet<ThreadId>,
    /// The thread of the last stop.
    pub current: ThreadId,
    /// A launcher that has not become the program yet.
    pub launcher: bool,
    /// It has ended; its output may still come.
    pub ended: Option<(ExitStatus, Instant)>,
    /// Where the dynamic loader is watched.
    pub loader_sites: Vec<LoadAddr>,
    /// Functions of its program have been called for expressions.
    pub has_called: bool,
    /// How it has called the function that is watched there.
    pub announcements: Announcements,
    /// The user was told that a signal keeps it stopped.
    pub told_of_group_stop: bool,
}

impl Process {
    pub fn new(pid: i32, launched: bool) -> Self {
        Self {
            pid,
            launched,
            state: State::Held,
            threads: BTreeMap::new(),
            children: BTreeMap::new(),
            early: BTreeMap::new(),
            untold: BTreeSet::new(),
            current: ThreadId(pid),
            launcher: false,
            ended: None,
            loader_sites: Vec::new(),
            has_called: false,
            announcements: Announcements::default(),
            told_of_group_stop: false,
        }
    }
}

/// Signals that stop the program by themselves: it is about to die of them, or would be.
pub(crate) fn stops(signal: Signal) -> bool {
    matches!(
        signal.0,
        libc::SIGSEGV
            | libc::SIGBUS
            | libc::SIGILL
            | libc::SIGFPE
            | libc::SIGABRT
            | libc::SIGSYS
            | libc::SIGTRAP
    )
}

impl Debugger {
    /// Collects what is ready, up to a bound, so that the inbox is never starved.
    pub(crate) fn collect_stops(&mut self) {
        let began = Instant::now();
        while began.elapsed() < COLLECTING {
            if !self.events.is_empty() || self.is_child_due() {
                return;
            }
            let stop = self.os.next_stop().or_else(|| self.linger());
            let Some((thread, status)) = stop else {
                return;
            };
            let pass = self.pass.filter(|pass| pass.thread == thread);
            let is_quick = pass.is_some_and(|pass| pass.at.elapsed() < QUICK);
            self.on_stop(thread, status);
            let went_on = self.thread_mut(thread).is_some_and(|it| !it.stopped);
            self.pass = went_on.then(|| Pass {
                thread,
                at: Instant::now(),
                is_quick,
            });
        }
        // More may be ready, and no SIGCHLD will tell of it again.
        self.more_stops = true;
    }

    /// The next stop of a thread that stops and goes on again and again: a moment is waited for
    /// that, awake.
    fn linger(&mut self) -> Option<(ThreadId, WaitStatus)> {
        let pass = self.pass.filter(|pass| pass.is_quick)?;
        let status = self.os.stop_within(pass.thread, LINGERING);
        if status.is_none() {
            self.pass = None;
        }
        Some((pass.thread, status?))
    }

    /// Deals with one stop; lets the thread go on unless there is something to report.
    fn on_stop(&mut self, thread: ThreadId, status: WaitStatus) {
        tracing::trace!(%thread, ?status, "stop");
        if matches!(status, WaitStatus::Exited(_) | WaitStatus::Killed(_)) {
            let left = self.released.iter().position(|pid| *pid == thread.0);
            if let Some(index) = left {
                self.released.swap_remove(index);
                self.os.end_duty(thread.0);
            }
        }
        let Some(process) = &mut self.process else {
            self.os.resume(thread, Resume::Continue, Signal(0));
            return;
        };
        if !process.threads.contains_key(&thread) {
            self.on_stranger(thread, status);
            return;
        }
        if process.launcher && !matches!(status, WaitStatus::Execed(_)) {
            self.on_launcher(thread, status);
            return;
        }
        let is_called = self.calls_on(thread);
        if is_called {
            // Read while everything else was stopped.
            self.pages.clear();
            self.stacks.remove(&thread);
        }
        if self.is_asking(thread) {
            self.on_asking_stop(thread, status);
            return;
        }
        if is_called {
            self.on_call_stop(thread, status);
            return;
        }
        if self.settle(thread, status) {
            // Settled without a need to report.
            if self.state() == State::Running {
                self.go_on_settled(thread);
            }
            return;
        }
        if self.state() != State::Running {
            // A straggler of the last stop: kept for the next resume.
            self.defer(thread, status);
            return;
        }
        self.judge(thread, status);
    }

    /// A thread has nothing to report, but may be one that the client wants stopped.
    pub(crate) fn go_on_settled(&mut self, thread: ThreadId) {
        let pausing = self
            .thread_mut(thread)
            .is_some_and(|state| state.stopped && state.pausing);
        if pausing {
            self.report(thread, StopReason::Pause);
        } else {
            self.go_on_stepping(thread);
        }
    }

    /// The bookkeeping kinds of stops, in any state. True: the thread has nothing to report
    /// and is stopped; false: it did something that needs judging, or is gone.
    pub(crate) fn settle(&mut self, thread: ThreadId, status: WaitStatus) -> bool {
        match status {
            WaitStatus::Exited(_) | WaitStatus::Killed(_) => {
                self.thread_ended(thread, status);
                // Gone: nothing to resume, nothing to judge.
                return true;
            }
            WaitStatus::Execed(former) => {
                self.mark_stopped(thread, status);
                self.on_exec(thread, former);
                return true;
            }
            _ => {}
        }
        self.mark_stopped(thread, status);
        match status {
            WaitStatus::Cloned(new) => {
                self.on_clone(new);
                true
            }
            WaitStatus::Forked(child) => {
                self.expect_child(child, Child::Fork);
                true
            }
            WaitStatus::Vforked(child) => {
                self.expect_child(child, Child::Vfork);
                true
            }
            WaitStatus::Interrupted | WaitStatus::GroupStop(_) | WaitStatus::Other => true,
            _ => false,
        }
    }

    fn mark_stopped(&mut self, thread: ThreadId, status: WaitStatus) {
        let trapped = status == WaitStatus::Signal(Signal(libc::SIGTRAP));
        if !trapped && matches!(status, WaitStatus::Interrupted | WaitStatus::Signal(_)) {
            self.os.keep_system_call(thread);
        }
        let within = matches!(
            status,
            WaitStatus::Cloned(_)
                | WaitStatus::Forked(_)
                | WaitStatus::Vforked(_)
                | WaitStatus::Execed(_)
        );
        if let Some(state) = self.thread_mut(thread) {
            state.stopped = true;
            state.interrupted = false;
            state.within = within.then_some(status);
            state.registers = None;
            state.counted = None;
            state.trap = None;
            state.trapped = trapped;
        }
        self.note_group_stop(thread, status);
    }

    /// Keeps a stop for the next resume; a breakpoint that was hit will simply be hit again.
    fn defer(&mut self, thread: ThreadId, status: WaitStatus) {
        if status == WaitStatus::Signal(Signal(libc::SIGTRAP))
            && let Some(trap) = self.trap_kind(thread)
        {
            match trap {
                // Kept with the thread.
                Trap::Counted(..) => return,
                Trap::Site(addr) | Trap::Stale(addr) => {
                    self.set_pc(thread, addr);
                    return;
                }
                Trap::Step | Trap::Access if !self.has_accessed(thread) => return,
                Trap::Step | Trap::Access => {}
                Trap::Own | Trap::Sent => {}
            }
        }
        if let WaitStatus::Signal(signal) = status
            && self.is_fault_of_question(thread, signal)
        {
            // It will be asked again.
            self.registers_of(thread);
            return;
        }
        if let Some(state) = self.thread_mut(thread) {
            state.deferred = Some(status);
        }
    }

    /// A stop that may have to be reported; the program is running.
    pub(crate) fn judge(&mut self, thread: ThreadId, status: WaitStatus) {
        let signal = match self.found(thread, status) {
            Some(Found::Site(addr)) => return self.on_site(thread, addr),
            Some(Found::Counted(addr, id)) => return self.on_counted(thread, addr, id),
            Some(kind @ (Found::Step | Found::Access)) => {
                return self.on_trace(thread, kind == Found::Step);
            }
            Some(Found::Own) => return self.report(thread, StopReason::Trap),
            Some(Found::Signal(signal)) => signal,
            None => return,
        };
        self.on_signal(thread, signal);
    }

    pub(crate) fn thread_mut(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        self.process.as_mut()?.threads.get_mut(&thread)
    }

    pub(crate) fn set_state(&mut self, state: State) {
        if let Some(process) = &mut self.process
            && process.state != State::Ended
        {
            process.state = state;
        }
    }

    /// The process's memory; cached while everything is stopped.
    pub(crate) fn memory(&self) -> crate::memory::ProcessMemory<'_> {
        let stopped = matches!(self.state(), State::Stopped);
        crate::memory::ProcessMemory {
            os: &*self.os,
            patches: &self.sites,
            cache: stopped.then_some(&self.pages),
            known: self.touched.as_ref(),
        }
    }
}
