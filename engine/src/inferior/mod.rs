//! The debuggee: stops of its threads arrive here, are classified and dispatched, and its threads
//! are resumed. The submodules contain the handlers.

mod children;
pub(crate) mod displaced;
mod end;
mod find;
mod group_stop;
mod hold;
mod life;
mod loader;
mod pass;
mod registers;
mod resume;
pub(crate) mod site;
mod stop;
#[cfg(test)]
mod tests;
pub(crate) mod thread;
mod trap;

use crate::debugger::{Debugger, State};
use crate::event::{Event, StopReason};
use crate::ids::{ExitStatus, Signal, ThreadId};
use crate::images::modules::announce::Announcements;
use crate::inferior::displaced::DisplacedPads;
use crate::inferior::site::Sites;
use crate::inferior::thread::Thread;
use crate::jump_patch::JumpPatches;
use crate::memory::PageCache;
use crate::os::{Backend, Resume, WaitStatus};
pub(crate) use children::{Child, Following};
pub use children::{Follow, FollowFork, Handover};
use dwarf::LoadAddr;
pub use pass::InterruptedPass;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};
pub(crate) use trap::{SI_KERNEL, SigtrapKind, StopCause};

/// Maximum time for threads to stop. After it, a stop is reported without the threads that still
/// run.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait for the rest of the output of a process that has ended, before its end is
/// reported.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum number of bytes of output passed to the client before a stop is reported.
pub(crate) const OUTPUT_DRAIN_LIMIT: usize = 1 << 20;

/// How long stops are collected in one pass, so that the inbox is served in between.
const COLLECT_BUDGET: Duration = Duration::from_millis(1);
/// If a thread stops within this time of its last resume, its next stop is awaited by spinning:
/// sleeping costs two wake-ups, one on either side.
const SPIN_IF_STOPPED_WITHIN: Duration = Duration::from_micros(100);
/// How long to spin.
const SPIN_FOR: Duration = Duration::from_micros(50);

/// The last resume of a thread whose stop was not reported.
#[derive(Clone, Copy)]
pub(crate) struct LastResume {
    thread: ThreadId,
    at: Instant,
    /// Whether the stop came within `SPIN_IF_STOPPED_WITHIN` of the resume before it.
    is_quick: bool,
}

/// The process under control: everything that reads, writes, stops or resumes it.
pub(crate) struct Inferior {
    pub os: Box<dyn Backend>,
    pub process: Option<Process>,
    /// Traps and jumps in the program's code.
    pub sites: Sites,
    /// Copies of covered instructions.
    pub pads: DisplacedPads,
    pub jumps: JumpPatches,
    /// Memory that was read since the last resume.
    pub pages: PageCache,
    /// Address and bytes of the access that triggered a watchpoint, while its condition is
    /// evaluated: reads see these bytes and not a later change.
    pub overlay: Option<(LoadAddr, Vec<u8>)>,
    pub events: VecDeque<Event>,
    /// Processes that the debuggee creates, and those that were handed over.
    pub following: Following,
    /// Whether each thread stops by itself while the others run.
    pub non_stop: bool,
    /// Whether the next resume is for a single thread.
    pub resume_single_thread: bool,
    /// The last resume of a thread.
    pub last_resume: Option<LastResume>,
    /// Whether stops may be ready without a further SIGCHLD.
    pub stops_may_be_ready: bool,
    /// Whether a wait inside another operation has seen the waker.
    pub woken: bool,
    /// Whether we sent SIGTERM: it does not stop the program then.
    pub terminating: bool,
    /// Whether the process of the session is gone.
    pub over: bool,
    pub launched: bool,
    pub pid: Option<i32>,
    pub system_call_at: Option<LoadAddr>,
}

impl Inferior {
    /// Creates the control of a process that is launched or attached to later.
    pub fn new(os: Box<dyn Backend>) -> Self {
        Self {
            os,
            process: None,
            sites: Sites::default(),
            pads: DisplacedPads::default(),
            jumps: JumpPatches::default(),
            pages: PageCache::default(),
            overlay: None,
            events: VecDeque::new(),
            following: Following::default(),
            non_stop: false,
            resume_single_thread: false,
            last_resume: None,
            stops_may_be_ready: false,
            woken: false,
            terminating: false,
            over: false,
            launched: false,
            pid: None,
            system_call_at: None,
        }
    }
}

/// The debuggee.
pub struct Process {
    pub pid: i32,
    pub launched: bool,
    pub state: State,
    pub threads: BTreeMap<ThreadId, Thread>,
    /// Processes that the debuggee created and that are still traced.
    pub children: BTreeMap<i32, Child>,
    /// Stops of threads and children whose creation has not been reported yet.
    pub unclaimed_stops: BTreeMap<ThreadId, WaitStatus>,
    /// Threads that were seen, and may have ended, before the kernel reported their creation.
    pub unannounced_threads: BTreeSet<ThreadId>,
    /// The thread of the last stop.
    pub current: ThreadId,
    /// Whether it is a launcher that has not executed the program yet.
    pub launcher: bool,
    /// How and when the process ended; its output may be incomplete.
    pub ended: Option<(ExitStatus, Instant)>,
    /// Sites in the dynamic loader.
    pub loader_sites: Vec<LoadAddr>,
    /// Whether functions of its program have been called for expressions.
    pub has_called: bool,
    /// How the loader has called the function at these sites.
    pub announcements: Announcements,
    /// Whether the note about the present group-stop was sent: one is enough.
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
            unclaimed_stops: BTreeMap::new(),
            unannounced_threads: BTreeSet::new(),
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

/// Returns whether a signal is fatal by default and therefore reported as a stop.
pub(crate) fn is_fatal_signal(signal: Signal) -> bool {
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
    /// Handles the stops that are ready, for a limited time, so that the inbox is served in
    /// between.
    pub(crate) fn collect_stops(&mut self) {
        let began = Instant::now();
        while began.elapsed() < COLLECT_BUDGET {
            if !self.inferior.events.is_empty() || self.is_child_due() {
                return;
            }
            let stop = self
                .inferior
                .os
                .next_stop()
                .or_else(|| self.spin_for_next_stop());
            let Some((thread, status)) = stop else {
                return;
            };
            let pass = self
                .inferior
                .last_resume
                .filter(|pass| pass.thread == thread);
            let is_quick = pass.is_some_and(|pass| pass.at.elapsed() < SPIN_IF_STOPPED_WITHIN);
            self.on_stop(thread, status);
            let went_on = self.thread_mut(thread).is_some_and(|it| !it.stopped);
            self.inferior.last_resume = went_on.then(|| LastResume {
                thread,
                at: Instant::now(),
                is_quick,
            });
        }
        // More stops may be ready, and no further SIGCHLD will announce them.
        self.inferior.stops_may_be_ready = true;
    }

    /// Spins for the next stop of a thread that stops again and again in quick succession. Returns
    /// `None` if no such thread stops in time.
    fn spin_for_next_stop(&mut self) -> Option<(ThreadId, WaitStatus)> {
        let pass = self.inferior.last_resume.filter(|pass| pass.is_quick)?;
        let status = self.inferior.os.spin_for_stop(pass.thread, SPIN_FOR);
        if status.is_none() {
            self.inferior.last_resume = None;
        }
        Some((pass.thread, status?))
    }

    /// Handles one stop: resumes the thread unless there is something to report.
    fn on_stop(&mut self, thread: ThreadId, status: WaitStatus) {
        tracing::trace!(%thread, ?status, "stop");
        if matches!(status, WaitStatus::Exited(_) | WaitStatus::Killed(_)) {
            let left = self
                .inferior
                .following
                .released
                .iter()
                .position(|pid| *pid == thread.0);
            if let Some(index) = left {
                self.inferior.following.released.swap_remove(index);
                self.inferior.os.end_duty(thread.0);
            }
        }
        let Some(process) = &mut self.inferior.process else {
            self.inferior.os.resume(thread, Resume::Continue, Signal(0));
            return;
        };
        if !process.threads.contains_key(&thread) {
            self.on_unknown_thread(thread, status);
            return;
        }
        if process.launcher && !matches!(status, WaitStatus::Execed(_)) {
            self.on_launcher(thread, status);
            return;
        }
        let is_called = self.calls_on(thread);
        if is_called {
            // These were read while everything was stopped.
            self.inferior.pages.clear();
            self.views.stacks.remove(&thread);
        }
        if self.in_condition_call(thread) {
            self.on_condition_call_stop(thread, status);
            return;
        }
        if is_called {
            self.on_call_stop(thread, status);
            return;
        }
        if self.handle_bookkeeping_stop(thread, status) {
            // A bookkeeping stop: nothing to report.
            if self.state() == State::Running {
                self.resume_or_pause(thread);
            }
            return;
        }
        if self.state() != State::Running {
            // A late stop after the last report: deferred to the next resume.
            self.defer(thread, status);
            return;
        }
        self.dispatch_stop(thread, status);
    }

    /// Resumes a thread that has nothing to report, or reports a pause if the client has requested
    /// one.
    pub(crate) fn resume_or_pause(&mut self, thread: ThreadId) {
        let pausing = self
            .thread_mut(thread)
            .is_some_and(|state| state.stopped && state.pausing);
        if pausing {
            self.report_stop(thread, StopReason::Pause);
        } else {
            self.resume_step(thread);
        }
    }

    /// Handles stops that are bookkeeping (new thread or process, exec, exit, our own interrupt,
    /// group-stop), in any state. Returns true if there is nothing to report; the thread is then
    /// stopped, or gone. Returns false if `dispatch_stop` has to decide.
    pub(crate) fn handle_bookkeeping_stop(&mut self, thread: ThreadId, status: WaitStatus) -> bool {
        match status {
            WaitStatus::Exited(_) | WaitStatus::Killed(_) => {
                self.thread_ended(thread, status);
                // The thread is gone: nothing to resume or to dispatch.
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
            self.inferior.os.keep_system_call(thread);
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
            state.syscall_event = within.then_some(status);
            state.registers = None;
            state.pending_counted_hit = None;
            state.pending_patch_trap = None;
            state.in_sigtrap_stop = trapped;
        }
        self.note_group_stop(thread, status);
    }

    /// Keeps a stop that cannot be reported now for the next resume. A breakpoint hit is not kept:
    /// the pc goes back to the site, and the breakpoint is hit again.
    fn defer(&mut self, thread: ThreadId, status: WaitStatus) {
        if status == WaitStatus::Signal(Signal(libc::SIGTRAP))
            && let Some(trap) = self.classify_sigtrap(thread)
        {
            match trap {
                // Recorded with the thread.
                SigtrapKind::Counted(..) => return,
                SigtrapKind::Site(addr) | SigtrapKind::Stale(addr) => {
                    self.set_pc(thread, addr);
                    return;
                }
                SigtrapKind::Step | SigtrapKind::Access if !self.has_accessed(thread) => return,
                SigtrapKind::Step | SigtrapKind::Access => {}
                SigtrapKind::ProgramTrap | SigtrapKind::UserSigtrap => {}
            }
        }
        if let WaitStatus::Signal(signal) = status
            && self.is_condition_fault(thread, signal)
        {
            // The condition is evaluated again.
            self.user_registers(thread);
            return;
        }
        if let Some(state) = self.thread_mut(thread) {
            state.deferred = Some(status);
        }
    }

    /// Dispatches a stop that may have to be reported; the debuggee is running.
    pub(crate) fn dispatch_stop(&mut self, thread: ThreadId, status: WaitStatus) {
        let signal = match self.classify_stop(thread, status) {
            Some(StopCause::Site(addr)) => return self.on_site(thread, addr),
            Some(StopCause::Counted(addr, id)) => return self.on_counted_hit(thread, addr, id),
            Some(kind @ (StopCause::Step | StopCause::Access)) => {
                return self.on_step_or_watch_trap(thread, kind == StopCause::Step);
            }
            Some(StopCause::ProgramTrap) => return self.report_stop(thread, StopReason::Trap),
            Some(StopCause::Signal(signal)) => signal,
            None => return,
        };
        self.on_signal(thread, signal);
    }

    pub(crate) fn thread_mut(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        self.inferior.process.as_mut()?.threads.get_mut(&thread)
    }

    pub(crate) fn set_state(&mut self, state: State) {
        if let Some(process) = &mut self.inferior.process
            && process.state != State::Ended
        {
            process.state = state;
        }
    }

    /// Returns the memory of the process; reads are cached while everything is stopped.
    pub(crate) fn memory(&self) -> crate::memory::ProcessMemory<'_> {
        let stopped = matches!(self.state(), State::Stopped);
        crate::memory::ProcessMemory {
            os: &*self.inferior.os,
            patches: &self.inferior.sites,
            cache: stopped.then_some(&self.inferior.pages),
            known: self.inferior.overlay.as_ref(),
        }
    }
}
