//! Control of the debuggee: its threads, their stops and registers, and the traps and jumps in its
//! code. Stops are taken from the kernel and classified here; `crate::debugger::dispatch` handles
//! them.

mod children;
mod control;
pub(crate) mod debug_registers;
pub(crate) mod displaced;
mod exclusive;
mod group_stop;
mod handover;
pub(crate) mod jump_patch;
mod life;
pub(crate) mod own_time;
mod pass;
mod past;
mod registers;
mod resume;
mod safety;
pub(crate) mod site;
pub(crate) mod thread;
mod trap;
mod travel;
mod world;

use crate::arch::Arch;
use crate::ids::{ExitStatus, Signal, ThreadId};
use crate::images::modules::announce::Announcements;
use crate::inferior::displaced::DisplacedPads;
use crate::inferior::jump_patch::JumpPatches;
use crate::inferior::site::Sites;
use crate::inferior::thread::{RegisterCache, StopPoint, Thread};
use crate::memory::{PageCache, PatchedCode};
use crate::os::{Backend, KeptFor, Patience, Ready, ThreadEvent};
pub(crate) use children::{Child, Following};
pub use children::{Follow, FollowFork};
use debug_registers::DebugRegisters;
use dwarf::LoadAddr;
pub use handover::Handover;
use own_time::OwnTime;
pub use pass::InterruptedPass;
pub(crate) use past::{KeptProcess, NotKept, ProcessAside};
pub(crate) use resume::{Resumed, RunAs};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};
pub(crate) use trap::{SigtrapKind, StopCause};
pub(crate) use travel::{Aside, AtMark, Mark, ReplayFrom};
pub(crate) use world::StoppedWorld;

/// How long to wait for more output of a process that has ended, before its end is reported.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(300);
/// How long to wait if there always is more: of a process that it has left behind.
const OUTPUT_LIMIT: Duration = Duration::from_secs(3);
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
    /// Whether the stop before this resume came within `SPIN_IF_STOPPED_WITHIN` of the resume
    /// before that.
    is_quick: bool,
}

/// The state of the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No process was launched or attached to.
    NoProcess,
    /// Launched or attached, held until [`Debugger::release`](crate::Debugger::release).
    Held,
    /// At least one thread runs.
    Running,
    /// All threads are stopped.
    Stopped,
    /// The process has ended, or was detached.
    Ended,
}

/// The process under control: everything that reads, writes, stops or resumes it.
pub(crate) struct Inferior {
    /// The instruction set of the program.
    pub arch: Arch,
    os: Box<dyn Backend>,
    pub process: Option<Process>,
    /// Traps and jumps in the program's code.
    pub sites: Sites,
    /// Copies of instructions under traps, for displaced stepping.
    pub pads: DisplacedPads,
    pub jumps: JumpPatches,
    pub debug_registers: DebugRegisters,
    /// Whether every resume of the program is a single step: a software watchpoint compares its
    /// data after each.
    pub single_stepping: bool,
    /// Memory that was read while all threads are stopped.
    pages: PageCache,
    /// The number of changes so far: a thread has run, or the debugger has changed memory or
    /// registers.
    changes: u64,
    /// The number of the last change that was not of one thread.
    changed: u64,
    /// Address and bytes of the access that triggered a watchpoint, while its condition is
    /// evaluated: reads see these bytes and not a later change.
    pub overlay: Option<(LoadAddr, Vec<u8>)>,
    /// Notices for the client, oldest first.
    pub notices: Vec<Notice>,
    /// Stops that were taken from the kernel before their thread was known.
    pub ready: VecDeque<(ThreadId, ThreadEvent)>,
    /// Threads that have ended since this was last emptied.
    pub ended: Vec<ThreadId>,
    /// What to do with processes that the debuggee creates, and those that were handed over.
    pub following: Following,
    /// Whether a stop stops only its thread (non-stop mode).
    pub non_stop: bool,
    /// The resume after the last stop; `None` if that stop was not followed by a resume.
    pub last_resume: Option<LastResume>,
    /// When the stop that is being handled was found.
    pub arrived: Instant,
    /// The program's own time.
    pub own_time: OwnTime,
    /// Whether stops may be ready without a further SIGCHLD.
    pub stops_may_be_ready: bool,
    /// Whether a wait inside another operation has seen the waker.
    pub woken: bool,
    /// Whether the debugger has sent SIGTERM: that signal is delivered without a reported stop.
    pub terminating: bool,
    /// Whether the session's process has ended or was detached.
    pub over: bool,
    pub launched: bool,
    pub pid: Option<i32>,
    pub system_call_at: Option<LoadAddr>,
    /// Sites of a replay whose memory is not mapped yet.
    missing: Vec<(LoadAddr, site::Owner)>,
    /// What is known of kept copies of replays.
    kept: BTreeMap<KeptFor, travel::Kept>,
    /// Memory of the debugger's that replays have copied.
    copied: travel::Copied,
    /// The thread whose process is shown as a copy that functions are called in.
    trial: Option<travel::Trial>,
}

impl Inferior {
    /// Creates the control of a process that is launched or attached to later.
    pub fn new(os: Box<dyn Backend>) -> Self {
        Self {
            arch: Arch::HOST,
            os,
            process: None,
            sites: Sites::default(),
            pads: DisplacedPads::default(),
            jumps: JumpPatches::default(),
            debug_registers: DebugRegisters::default(),
            single_stepping: false,
            pages: PageCache::default(),
            changes: 0,
            changed: 0,
            overlay: None,
            notices: Vec::new(),
            ready: VecDeque::new(),
            ended: Vec::new(),
            following: Following::default(),
            non_stop: false,
            last_resume: None,
            arrived: Instant::now(),
            own_time: OwnTime::default(),
            stops_may_be_ready: false,
            woken: false,
            terminating: false,
            over: false,
            launched: false,
            pid: None,
            system_call_at: None,
            missing: Vec::new(),
            kept: Default::default(),
            copied: travel::Copied::default(),
            trial: None,
        }
    }
}

/// The end of a process, which is reported after its output.
#[derive(Clone, Copy)]
pub struct ProcessEnd {
    pub status: ExitStatus,
    /// When to stop waiting for the rest of its output.
    pub patience: Instant,
    /// When to stop in any case.
    limit: Instant,
}

impl ProcessEnd {
    pub fn new(status: ExitStatus) -> Self {
        let now = Instant::now();
        Self {
            status,
            patience: now + OUTPUT_TIMEOUT,
            limit: now + OUTPUT_LIMIT,
        }
    }

    /// Notes that there was output.
    pub fn renew(&mut self) {
        self.patience = self.limit.min(Instant::now() + OUTPUT_TIMEOUT);
    }

    /// Notes that output waits for a slow client.
    pub fn hold(&mut self) {
        *self = Self::new(self.status);
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
    pub unclaimed_stops: BTreeMap<ThreadId, ThreadEvent>,
    /// Threads that were seen, and may have ended, before the kernel reported their creation.
    pub unannounced_threads: BTreeSet<ThreadId>,
    /// The thread of the last stop.
    pub current: ThreadId,
    /// Whether it is a launcher that has not executed the program yet.
    pub launcher: bool,
    /// How the process ended, until that is reported.
    pub end: Option<ProcessEnd>,
    /// The program's entry, if it is to stop there.
    pub first_stop: Option<LoadAddr>,
    /// Sites in the dynamic loader.
    pub loader_sites: Vec<LoadAddr>,
    /// The address to which functions called for expressions return, once there was such a call.
    pub call_return: Option<LoadAddr>,
    /// The call sites from which the loader has called the function at these sites.
    pub announcements: Announcements,
    /// Whether the client was notified of the present group-stop: one notice is enough.
    pub is_group_stop_reported: bool,
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
            end: None,
            first_stop: None,
            loader_sites: Vec::new(),
            call_return: None,
            announcements: Announcements::default(),
            is_group_stop_reported: false,
        }
    }
}

/// Returns whether a signal is fatal by default and therefore reported as a stop.
pub(crate) fn is_fatal_signal(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::SEGV
            | Signal::BUS
            | Signal::ILL
            | Signal::FPE
            | Signal::ABRT
            | Signal::SYS
            | Signal::TRAP
    )
}

/// Something that happened to the process, for the client.
#[derive(Debug)]
pub(crate) enum Notice {
    ThreadStarted(ThreadId),
    ThreadExited(ThreadId),
    /// A child is held for another debugger.
    ChildHeld {
        pid: i32,
        program: PathBuf,
    },
    /// A text for the console; ends with a newline.
    Remark(String),
}

/// What a stop means for the state of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// Bookkeeping: the thread is stopped, or has ended, and there is nothing to report.
    Bookkeeping,
    /// The process has executed another program; the number is the thread's former one.
    Exec(ThreadId),
    /// The stop may have to be reported.
    Stop,
}

impl Inferior {
    /// Returns the next stop of any thread, if one is ready.
    pub(crate) fn next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        let ready = self.ready.pop_front();
        ready.or_else(|| self.os.next_stop())
    }

    /// Returns the stop of one thread, if it is ready. This is cheaper than [`Self::next_stop`],
    /// for which the kernel walks over all threads.
    pub(crate) fn poll_stop(&mut self, thread: ThreadId) -> Option<ThreadEvent> {
        let ready = self.ready.iter().position(|(it, _)| *it == thread);
        match ready.and_then(|index| self.ready.remove(index)) {
            Some((_, status)) => Some(status),
            None => self.os.stop_of(thread, Patience::None),
        }
    }

    /// Spins for the next stop of a thread that stops again and again in quick succession. Returns
    /// `None` if no such thread stops in time.
    pub(crate) fn spin_for_next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        let last = self.last_resume.filter(|last| last.is_quick)?;
        let status = self.os.stop_of(last.thread, Patience::Spin(SPIN_FOR));
        if status.is_none() {
            self.last_resume = None;
        }
        Some((last.thread, status?))
    }

    /// Returns whether a thread's stop came shortly after its last resume.
    pub(crate) fn has_stopped_quickly(&self, thread: ThreadId) -> bool {
        let last = self.last_resume.filter(|last| last.thread == thread);
        last.is_some_and(|last| last.at.elapsed() < SPIN_IF_STOPPED_WITHIN)
    }

    /// Records that the stop of a thread was handled: `is_quick` as returned by
    /// [`Self::has_stopped_quickly`] before.
    pub(crate) fn note_handled(&mut self, thread: ThreadId, is_quick: bool) {
        let is_resumed = self.thread(thread).is_some_and(|it| !it.is_stopped());
        self.last_resume = is_resumed.then(|| LastResume {
            thread,
            at: Instant::now(),
            is_quick,
        });
    }

    /// Updates the state of the process for a stop of one of its threads (new thread or process,
    /// exec, exit, our own interrupt, group-stop). Nothing is resumed.
    pub(crate) fn absorb(&mut self, thread: ThreadId, status: ThreadEvent) -> Arrival {
        // It may have written to memory since the stops of other threads were handled.
        self.note_change_of(thread);
        if status.is_end() {
            self.thread_ended(thread, status);
            return Arrival::Bookkeeping;
        }
        self.mark_stopped(thread, status);
        match status {
            ThreadEvent::Execed(former) => return Arrival::Exec(former),
            ThreadEvent::Created(new) => self.on_clone(new),
            ThreadEvent::Forked(child) => self.expect_child(child, Child::Fork),
            ThreadEvent::Vforked(child) => self.expect_child(child, Child::Vfork),
            ThreadEvent::Interrupted
            | ThreadEvent::GroupStop(_)
            | ThreadEvent::Replayed(_)
            | ThreadEvent::Other => {}
            ThreadEvent::Signal(_)
            | ThreadEvent::Exiting(_)
            | ThreadEvent::Exited(_)
            | ThreadEvent::Killed(_) => {
                return Arrival::Stop;
            }
        }
        Arrival::Bookkeeping
    }

    fn mark_stopped(&mut self, thread: ThreadId, status: ThreadEvent) {
        let trapped = status == ThreadEvent::Signal(Signal::TRAP);
        if !trapped && matches!(status, ThreadEvent::Interrupted | ThreadEvent::Signal(_)) {
            self.os.keep_system_call(thread);
        }
        let within = matches!(
            status,
            ThreadEvent::Created(_)
                | ThreadEvent::Forked(_)
                | ThreadEvent::Vforked(_)
                | ThreadEvent::Execed(_)
        );
        if let Some(state) = self.thread_mut(thread) {
            state.stop();
            state.point = match within {
                true => StopPoint::SystemCall(status),
                false if trapped => StopPoint::Sigtrap,
                false => StopPoint::Plain,
            };
            state.registers = RegisterCache::Unread;
            state.has_left_sequence = false;
            state.pending_counted_hit = None;
            state.pending_patch_trap = None;
        }
        self.note_group_stop(thread, status);
    }

    /// Keeps a stop that cannot be reported now for the next resume. A breakpoint hit is not kept:
    /// the pc goes back to the site, and the breakpoint is hit again.
    pub(crate) fn defer(&mut self, thread: ThreadId, status: ThreadEvent) {
        if status == ThreadEvent::Signal(Signal::TRAP)
            && let Some(trap) = self.classify_sigtrap(thread)
        {
            match trap {
                // `Thread::pending_counted_hit` has it.
                SigtrapKind::Counted(..) => return,
                SigtrapKind::Site(addr) | SigtrapKind::Stale(addr) => {
                    self.rewind_to_site(thread, addr);
                    return;
                }
                // The step was cancelled, or continues.
                SigtrapKind::Step | SigtrapKind::Access if !self.is_awaited_trap(thread) => return,
                SigtrapKind::Step | SigtrapKind::Access => {}
                SigtrapKind::ProgramTrap | SigtrapKind::Signal => {}
            }
        }
        if let ThreadEvent::Signal(signal) = status
            && self.is_condition_fault(thread, signal)
        {
            // The thread goes back to the site: its next resume hits the breakpoint again.
            self.normalize(thread);
            return;
        }
        if let Some(state) = self.thread_mut(thread) {
            state.deferred = Some(status);
        }
    }

    /// Returns whether the trap of a single step or a debug register is still to be handled.
    fn is_awaited_trap(&self, thread: ThreadId) -> bool {
        let state = self.thread(thread);
        let has_hit = state.is_some_and(|it| it.debug.hits != 0);
        has_hit || self.single_stepping || state.is_some_and(|it| it.is_stepping)
    }

    /// Returns a thread of the process.
    pub(crate) fn thread(&self, thread: ThreadId) -> Option<&Thread> {
        self.process.as_ref()?.threads.get(&thread)
    }

    pub(crate) fn thread_mut(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        self.process.as_mut()?.threads.get_mut(&thread)
    }

    /// Returns the threads that are not in a ptrace stop.
    pub(crate) fn running_threads(&self) -> Vec<ThreadId> {
        let threads = self.process.iter().flat_map(|it| &it.threads);
        let running = threads.filter(|(_, state)| !state.is_stopped());
        running.map(|(thread, _)| *thread).collect()
    }

    /// Returns the state of the session.
    pub(crate) fn state(&self) -> State {
        match &self.process {
            Some(process) => process.state,
            None if self.over => State::Ended,
            None => State::NoProcess,
        }
    }

    pub(crate) fn set_state(&mut self, state: State) {
        if let Some(process) = &mut self.process
            && process.state != State::Ended
        {
            process.state = state;
        }
    }

    /// Returns the process id; `None` before there is a process.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// Returns whether the process lives on if the debugger is killed: it was attached to.
    pub(crate) fn survives_debugger(&self) -> bool {
        self.process.as_ref().is_some_and(|it| !it.launched)
    }

    /// Returns the memory of the process; reads are cached while all threads are stopped.
    pub(crate) fn memory(&self) -> crate::memory::ProcessMemory<'_> {
        let stopped = self.state() == State::Stopped;
        crate::memory::ProcessMemory {
            os: &*self.os,
            patches: &self.sites,
            cache: stopped.then(|| self.pages.at(self.changes)),
            known: self.overlay.as_ref(),
        }
    }

    /// Puts the program's own code in the place of patches, in bytes that were read at an address.
    pub(crate) fn hide_patches(&self, addr: LoadAddr, bytes: &mut [u8]) {
        self.sites.hide(addr, bytes);
        self.os.hide_jumps(addr, bytes);
    }

    /// Writes memory as the program would. Returns the number of bytes written before the first
    /// that could not be.
    pub(crate) fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> usize {
        self.note_change();
        self.pages.count_write();
        self.sites.write(addr, bytes, &*self.os)
    }

    /// Returns the number of writes to memory by the debugger so far, without traps and jumps.
    pub(crate) fn writes(&self) -> u64 {
        self.pages.writes()
    }

    /// Returns a number that increases whenever the stack of a thread may be another one: the thread
    /// has run, or the debugger has changed its registers or the memory. What other threads do
    /// meanwhile does not count.
    pub(crate) fn changes_of(&self, thread: ThreadId) -> u64 {
        let own = self.thread(thread).map_or(0, |state| state.changed);
        own.max(self.changed)
    }

    /// Records that what was read from the process may be out of date.
    pub(crate) fn note_change(&mut self) {
        self.changes += 1;
        self.changed = self.changes;
    }

    /// Records that a thread has run or runs from now on, or that its registers were changed:
    /// memory, its registers and its stack may be out of date.
    pub(crate) fn note_change_of(&mut self, thread: ThreadId) {
        self.changes += 1;
        let changes = self.changes;
        if let Some(state) = self.thread_mut(thread) {
            state.changed = changes;
        }
    }

    /// Keeps the result of a wait inside another operation for [`Debugger::wait`] to return.
    ///
    /// [`Debugger::wait`]: crate::Debugger::wait
    pub(crate) fn remember(&mut self, ready: Ready) {
        self.woken |= ready.woken;
    }

    /// Adds a stopped thread without a notice of its creation.
    pub(crate) fn add_stopped_thread(&mut self, thread: ThreadId) {
        if let Some(process) = &mut self.process {
            let state = process.threads.entry(thread).or_default();
            state.stop();
            state.announced = true;
        }
    }

    /// Returns whether a thread is stopped for the client, and not only for the debugger's own
    /// work.
    pub(crate) fn is_visible_stop(&self, thread: ThreadId) -> bool {
        let Some(process) = &self.process else {
            return false;
        };
        let all = process.state == State::Stopped;
        let state = process.threads.get(&thread);
        state.is_some_and(|state| state.is_stopped() && (all || state.is_stopped_for_client()))
    }
}
