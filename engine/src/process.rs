//! The process: what its threads did, what that means, and letting them go on.

use crate::arch::x86_64::BREAKPOINT;
use crate::breakpoint::site::Owner;
use crate::debugger::{Debugger, State};
use crate::displaced::{Origin, Over, REGION};
use crate::error::Error;
use crate::event::{Event, ExitStatus, Signal, Stop, StopReason, ThreadId};
use crate::os::{RegisterSet, Resume, SystemCall, WaitStatus};
use crate::plan::Stepping;
use crate::thread::Thread;
use dwarf::LoadAddr;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long threads may take to stop before the others are reported without them.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// How long output of a process that has ended may stay away before that is reported.
const OUTPUT_PATIENCE: Duration = Duration::from_millis(300);
/// Output handed on before a stop is reported, at most.
const OUTPUT_BURST: usize = 1 << 20;

/// A process that shares the debuggee's memory or has a copy of it, until we let it go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// It has a copy.
    Fork,
    /// It shares the memory until it execs.
    Vfork,
}

/// The debuggee.
pub struct Process {
    pub pid: i32,
    pub launched: bool,
    pub state: State,
    pub threads: BTreeMap<ThreadId, Thread>,
    /// Children on their way out of our hands.
    pub children: BTreeMap<i32, Child>,
    /// Stops of threads and children that nobody has announced yet.
    pub early: BTreeMap<ThreadId, WaitStatus>,
    /// The step under way.
    pub stepping: Option<Stepping>,
    /// The thread of the last stop.
    pub current: ThreadId,
    /// A launcher that has not become the program yet.
    pub launcher: bool,
    /// It has ended; its output may still come.
    pub ended: Option<(ExitStatus, Instant)>,
    /// Where the dynamic loader is watched.
    pub loader_sites: Vec<LoadAddr>,
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
            stepping: None,
            current: ThreadId(pid),
            launcher: false,
            ended: None,
            loader_sites: Vec::new(),
        }
    }
}

/// Signals that stop the program by themselves: it is about to die of them, or would be.
fn stops(signal: Signal) -> bool {
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
        for _ in 0..256 {
            if !self.events.is_empty() {
                return;
            }
            match self.os.next_stop() {
                Some((thread, status)) => self.on_stop(thread, status),
                None => return,
            }
        }
        // More may be ready, and no SIGCHLD will tell of it again.
        self.more_stops = true;
    }

    /// Deals with one stop; lets the thread go on unless there is something to report.
    fn on_stop(&mut self, thread: ThreadId, status: WaitStatus) {
        tracing::trace!(%thread, ?status, "stop");
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
        if self.settle(thread, status) {
            // Settled without a need to report.
            if self.state() == State::Running {
                self.go_on(thread, Resume::Continue);
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

    /// The bookkeeping kinds of stops, in any state. True: the thread has nothing to report
    /// and is stopped; false: it did something that needs judging, or is gone.
    fn settle(&mut self, thread: ThreadId, status: WaitStatus) -> bool {
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
                self.adopt(new);
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
            WaitStatus::Interrupted | WaitStatus::Other => true,
            WaitStatus::GroupStop(_) => {
                // A stopped process stays stopped (SIGCONT ends it); only our own stops
                // take it out of that.
                if self.state() == State::Running {
                    if let Some(state) = self.thread_mut(thread) {
                        state.stopped = false;
                    }
                    self.os.listen(thread);
                }
                true
            }
            _ => false,
        }
    }

    fn mark_stopped(&mut self, thread: ThreadId, status: WaitStatus) {
        if let Some(state) = self.thread_mut(thread) {
            state.stopped = true;
            state.interrupted = false;
            state.registers = None;
            state.trapped = status == WaitStatus::Signal(Signal(libc::SIGTRAP));
        }
    }

    /// Keeps a stop for the next resume; a breakpoint that was hit will simply be hit again.
    fn defer(&mut self, thread: ThreadId, status: WaitStatus) {
        if status == WaitStatus::Signal(Signal(libc::SIGTRAP))
            && let Some(trap) = self.trap_kind(thread)
        {
            match trap {
                Trap::Site(addr) | Trap::Stale(addr) => {
                    self.set_pc(thread, addr);
                    return;
                }
                Trap::Step => return,
                Trap::Own | Trap::Sent => {}
            }
        }
        if let Some(state) = self.thread_mut(thread) {
            state.deferred = Some(status);
        }
    }

    /// A stop that may have to be reported; the program is running.
    fn judge(&mut self, thread: ThreadId, status: WaitStatus) {
        let WaitStatus::Signal(signal) = status else {
            self.go_on(thread, Resume::Continue);
            return;
        };
        if signal.0 == libc::SIGTRAP {
            match self.trap_kind(thread) {
                Some(Trap::Site(addr)) => {
                    self.set_pc(thread, addr);
                    self.on_site(thread, addr);
                    return;
                }
                Some(Trap::Stale(addr)) => {
                    self.set_pc(thread, addr);
                    self.go_on(thread, Resume::Continue);
                    return;
                }
                Some(Trap::Step) => {
                    self.on_single_step(thread);
                    return;
                }
                Some(Trap::Own) => {
                    self.report(thread, StopReason::Trap);
                    return;
                }
                Some(Trap::Sent) => {}
                None => return,
            }
        }
        if let Some(state) = self.thread_mut(thread) {
            state.signal = signal;
        }
        let sent_by_us = self.terminating && signal.0 == libc::SIGTERM;
        if stops(signal) && !sent_by_us {
            let info = self
                .os
                .signal_info(thread)
                .unwrap_or(crate::event::SignalInfo {
                    signal,
                    code: 0,
                    address: None,
                    sender: None,
                });
            self.report(thread, StopReason::Signal(info));
        } else {
            self.signal_while_stepping(thread);
        }
    }

    // ---- traps

    /// What a SIGTRAP means; `None` if the thread is gone.
    fn trap_kind(&mut self, thread: ThreadId) -> Option<Trap> {
        // x86-64 reports int3 with SI_KERNEL; a single step with TRAP_TRACE, but one that went
        // past a system call with TRAP_BRKPT (`user_single_step_report`).
        const SI_KERNEL: i32 = 0x80;
        let info = self.os.signal_info(thread)?;
        let pc = self.registers_of(thread)?.pc();
        Some(match info.code {
            SI_KERNEL => {
                let trap = pc - 1;
                let mut byte = [0];
                if self.sites.get(trap).is_some() {
                    Trap::Site(trap)
                } else if self.os.read_memory(trap, &mut byte) == 1 && byte[0] != BREAKPOINT {
                    // Ours, but removed since it was hit.
                    Trap::Stale(trap)
                } else {
                    Trap::Own
                }
            }
            code if code > 0 => Trap::Step,
            _ => Trap::Sent,
        })
    }

    /// A thread ran into one of our traps.
    fn on_site(&mut self, thread: ThreadId, addr: LoadAddr) {
        let owners: Vec<Owner> = self
            .sites
            .get(addr)
            .map(|site| site.owners().to_vec())
            .unwrap_or_default();
        if let Some(state) = self.thread_mut(thread) {
            state.passed = Some(addr);
        }
        if owners.contains(&Owner::Loader) {
            self.on_loader(addr);
        }
        if let Some(reason) = self.ask_breakpoints(thread, addr, &owners) {
            self.report(thread, reason);
            return;
        }
        if owners.contains(&Owner::Step) && self.on_step_site(thread, addr) {
            return;
        }
        self.go_on_stepping(thread);
    }

    // ---- life and death of threads

    fn adopt(&mut self, new: ThreadId) {
        let Some(process) = &mut self.process else {
            return;
        };
        let early = process.early.remove(&new);
        let running = process.state == State::Running;
        let thread = process.threads.entry(new).or_default();
        if !thread.announced {
            thread.announced = true;
            self.events.push_back(Event::ThreadStarted(new));
        }
        if let Some(status) = early {
            if running {
                self.on_stop(new, status);
            } else {
                self.settle(new, status);
            }
        }
    }

    /// A stop of a thread that we do not know: its parent's word of it is still to come.
    fn on_stranger(&mut self, thread: ThreadId, status: WaitStatus) {
        let Some(process) = &mut self.process else {
            return;
        };
        if let Some(kind) = process.children.get(&thread.0).copied() {
            self.on_child(thread, kind, status);
            return;
        }
        if matches!(status, WaitStatus::Exited(_) | WaitStatus::Killed(_)) {
            process.early.remove(&thread);
            return;
        }
        if self.os.process_of(thread) == Some(process.pid) {
            self.adopt(thread);
            self.on_stop(thread, status);
            return;
        }
        process.early.insert(thread, status);
    }

    fn expect_child(&mut self, child: i32, kind: Child) {
        let Some(process) = &mut self.process else {
            return;
        };
        process.children.insert(child, kind);
        if let Some(status) = process.early.remove(&ThreadId(child)) {
            self.on_child(ThreadId(child), kind, status);
        }
    }

    /// A child process is let go as soon as none of our traps can harm it.
    fn on_child(&mut self, child: ThreadId, kind: Child, status: WaitStatus) {
        let forget = |debugger: &mut Debugger| {
            if let Some(process) = &mut debugger.process {
                process.children.remove(&child.0);
            }
        };
        match (kind, status) {
            (_, WaitStatus::Exited(_) | WaitStatus::Killed(_)) => forget(self),
            (Child::Fork, _) => {
                self.os.write_memory_of(child.0, &self.sites.originals());
                let signal = match status {
                    WaitStatus::Signal(signal) => signal,
                    _ => Signal(0),
                };
                self.os.detach(child, signal);
                forget(self);
            }
            (Child::Vfork, WaitStatus::Execed(_)) => {
                self.os.detach(child, Signal(0));
                forget(self);
            }
            (Child::Vfork, WaitStatus::Signal(signal)) => {
                // It runs on our program's memory: past our traps, like a thread.
                let registers = self.os.registers(child);
                let site = registers.map(|registers| registers.pc() - 1);
                match (
                    registers,
                    site.filter(|site| self.sites.get(*site).is_some()),
                ) {
                    (Some(mut registers), Some(site)) if signal.0 == libc::SIGTRAP => {
                        registers.set_pc(site);
                        self.over_in_child(child, site, registers);
                    }
                    _ => self.os.resume(child, Resume::Continue, signal),
                }
            }
            (Child::Vfork, WaitStatus::Forked(grandchild)) => {
                self.expect_child(grandchild, Child::Fork);
                self.os.resume(child, Resume::Continue, Signal(0));
            }
            (Child::Vfork, WaitStatus::Vforked(grandchild)) => {
                self.expect_child(grandchild, Child::Vfork);
                self.os.resume(child, Resume::Continue, Signal(0));
            }
            (Child::Vfork, _) => self.os.resume(child, Resume::Continue, Signal(0)),
        }
    }

    fn over_in_child(&mut self, child: ThreadId, site: LoadAddr, registers: RegisterSet) {
        match self.way_over(child, site, &registers) {
            Some(registers) => {
                self.os.set_registers(child, &registers);
                self.os.resume(child, Resume::Continue, Signal(0));
            }
            None => {
                self.os.set_registers(child, &registers);
                self.sites.lift(site, &*self.os);
                self.os.resume(child, Resume::Step, Signal(0));
                self.os.await_stop(child);
                self.sites.plant(site, &*self.os);
                self.os.resume(child, Resume::Continue, Signal(0));
            }
        }
    }

    fn thread_ended(&mut self, thread: ThreadId, status: WaitStatus) {
        let Some(process) = &mut self.process else {
            return;
        };
        process.threads.remove(&thread);
        if process
            .stepping
            .as_ref()
            .is_some_and(|step| step.thread == thread)
        {
            self.cancel_step();
        }
        let Some(process) = &mut self.process else {
            return;
        };
        self.events.push_back(Event::ThreadExited(thread));
        if thread.0 == process.pid {
            let status = match status {
                WaitStatus::Killed(signal) => ExitStatus::Signal(signal),
                WaitStatus::Exited(code) => ExitStatus::Code(code),
                _ => return,
            };
            process.threads.clear();
            process.state = State::Ended;
            process.ended = Some((status, Instant::now() + OUTPUT_PATIENCE));
            self.sites.forget_all();
        }
    }

    /// Once the output of a process that has ended is complete, its end is reported.
    pub(crate) fn finish_if_ended(&mut self) {
        let open = self.os.output_open();
        let Some(process) = &mut self.process else {
            return;
        };
        if let Some((status, patience)) = process.ended
            && (!open || Instant::now() >= patience)
        {
            process.ended = None;
            self.events.push_back(Event::Exited(status));
            self.process = None;
            self.forget_stop();
            self.over = true;
        }
    }

    /// Hands on what the debuggee wrote.
    pub(crate) fn pump_output(&mut self, most: usize) {
        let mut total = 0;
        while total < most
            && let Some((stream, bytes)) = self.os.read_output()
        {
            total += bytes.len();
            if let Some(process) = &mut self.process
                && let Some((_, patience)) = &mut process.ended
            {
                *patience = Instant::now() + OUTPUT_PATIENCE;
            }
            self.events.push_back(Event::Output { stream, bytes });
        }
    }

    /// The process replaced its program: all other threads are gone, all addresses are new.
    fn on_exec(&mut self, thread: ThreadId, former: ThreadId) {
        let Some(process) = &mut self.process else {
            return;
        };
        let was_launcher = std::mem::take(&mut process.launcher);
        process.stepping = None;
        process.loader_sites.clear();
        let gone: Vec<ThreadId> = process
            .threads
            .keys()
            .copied()
            .filter(|other| *other != thread)
            .collect();
        for other in gone {
            process.threads.remove(&other);
            if other != former {
                self.events.push_back(Event::ThreadExited(other));
            }
        }
        if former != thread && !was_launcher {
            self.events.push_back(Event::ThreadExited(former));
        }
        let pid = process.pid;
        if was_launcher {
            process.state = State::Held;
        }
        self.sites.forget_all();
        self.slots = Default::default();
        self.forget_stop();
        if let Err(error) = self.os.open_memory(pid) {
            self.events.push_back(Event::Note(format!("{error}\n")));
        }
        for loaded in self.modules.clear() {
            self.events.push_back(Event::ModuleUnloaded(loaded.id));
        }
        self.breakpoints.unbind_all();
        if was_launcher {
            self.load_initial_modules();
            self.events.push_back(Event::Launched);
        } else {
            self.events.push_back(Event::Exec);
            self.load_initial_modules();
        }
    }

    fn on_launcher(&mut self, thread: ThreadId, status: WaitStatus) {
        match status {
            WaitStatus::Exited(_) | WaitStatus::Killed(_) => {
                self.process = None;
                self.events.push_back(Event::LaunchFailed(
                    "the terminal's launcher ended before it became the program".into(),
                ));
            }
            WaitStatus::Cloned(new) | WaitStatus::Execed(new) => {
                self.adopt(new);
                self.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Forked(child) => {
                self.expect_child(child, Child::Fork);
                self.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Vforked(child) => {
                self.expect_child(child, Child::Vfork);
                self.os.resume(thread, Resume::Continue, Signal(0));
            }
            WaitStatus::Signal(signal) => self.os.resume(thread, Resume::Continue, signal),
            _ => self.os.resume(thread, Resume::Continue, Signal(0)),
        }
    }

    // ---- going on

    /// Lets one stopped thread go on: over the breakpoint it has passed, with its signal.
    pub(crate) fn go_on(&mut self, thread: ThreadId, how: Resume) {
        let Some(state) = self.thread_mut(thread) else {
            return;
        };
        if !state.stopped {
            return;
        }
        let mut signal = std::mem::take(&mut state.signal);
        let passed = state.passed.take();
        let registers = state.registers.take();
        let unwritten = std::mem::take(&mut state.unwritten);
        state.stopped = false;
        if let (Some(addr), Some(registers)) = (passed, registers)
            && registers.pc() == addr
            && self.sites.get(addr).is_some()
        {
            match self.way_over(thread, addr, &registers) {
                Some(over) => {
                    // Gone if this fails; its end is on the way.
                    self.os.set_registers(thread, &over);
                    // A signal may have come while the way was prepared.
                    if let Some(state) = self.thread_mut(thread)
                        && signal.0 == 0
                    {
                        signal = std::mem::take(&mut state.signal);
                    }
                    if how == Resume::Step && !self.slots.holds(over.pc()) {
                        // An emulated call is the whole step.
                        if let Some(state) = self.thread_mut(thread) {
                            state.stopped = true;
                        }
                        self.on_single_step(thread);
                        return;
                    }
                }
                None => {
                    self.os.set_registers(thread, &registers);
                    self.step_in_place(thread, addr, how, signal);
                    return;
                }
            }
        } else if let (true, Some(registers)) = (unwritten, registers) {
            self.os.set_registers(thread, &registers);
        }
        self.os.resume(thread, how, signal);
    }

    /// The registers that take a thread over the instruction under a site without lifting it.
    fn way_over(
        &mut self,
        thread: ThreadId,
        site: LoadAddr,
        registers: &RegisterSet,
    ) -> Option<RegisterSet> {
        let pid = self.process.as_ref()?.pid;
        for _ in 0..2 {
            let os = &*self.os;
            let memory = crate::memory::ProcessMemory {
                os,
                sites: &self.sites,
                cache: None,
            };
            match self
                .slots
                .over(site, registers, &memory, os, || os.mappings(pid))
            {
                Over::Go(registers) => return Some(registers),
                Over::Impossible => return None,
                Over::NeedsRegion(addr) => {
                    let call = SystemCall::MapCode { addr, len: REGION };
                    match self.system_call(thread, call) {
                        Some(result) if result as u64 == addr.0 => self.slots.add_region(addr),
                        result => {
                            tracing::info!(?result, "no memory for displaced stepping");
                            self.slots.refuse();
                        }
                    }
                }
            }
        }
        None
    }

    /// Makes a stopped thread do a system call; its registers are as before afterwards.
    fn system_call(&mut self, thread: ThreadId, call: SystemCall) -> Option<i64> {
        self.write_registers(thread);
        let instruction = self.system_call_instruction()?;
        let before = self.os.registers(thread)?;
        let set = before.for_system_call(call, instruction);
        let mut result = None;
        // A signal may come first: it is kept for later, and the call tried again.
        for _ in 0..8 {
            if !self.os.set_registers(thread, &set) {
                break;
            }
            self.os.resume(thread, Resume::Step, Signal(0));
            match self.os.await_stop(thread)? {
                WaitStatus::Signal(Signal(libc::SIGTRAP)) => {
                    if let Some(state) = self.thread_mut(thread) {
                        state.trapped = true;
                    }
                    result = self
                        .os
                        .registers(thread)
                        .map(|set| set.system_call_result());
                    break;
                }
                WaitStatus::Signal(signal) => {
                    if let Some(state) = self.thread_mut(thread) {
                        state.signal = signal;
                    }
                }
                status @ (WaitStatus::Exited(_) | WaitStatus::Killed(_)) => {
                    self.thread_ended(thread, status);
                    return None;
                }
                _ => {}
            }
        }
        self.os.set_registers(thread, &before);
        result
    }

    /// A `syscall` instruction of the program's own: the vdso always has one.
    fn system_call_instruction(&mut self) -> Option<LoadAddr> {
        if self.system_call_at.is_none() {
            let vdso = self
                .modules
                .loaded
                .iter()
                .find(|loaded| loaded.module.path().as_os_str() == "linux-vdso.so.1")?;
            let (start, len) = (vdso.range.start, vdso.range.end - vdso.range.start);
            let mut bytes = vec![0; len.min(1 << 16) as usize];
            let read = self.os.read_memory(start, &mut bytes);
            bytes.truncate(read);
            let offset = bytes.windows(2).position(|pair| pair == [0x0f, 0x05])?;
            self.system_call_at = Some(start + offset as u64);
        }
        self.system_call_at
    }

    /// The slow way over a breakpoint: everybody else is stopped while it is lifted.
    fn step_in_place(&mut self, thread: ThreadId, addr: LoadAddr, how: Resume, signal: Signal) {
        let running: Vec<ThreadId> = self.running_threads();
        if let Some(state) = self.thread_mut(thread) {
            state.stopped = true;
        }
        let state_before = self.state();
        self.set_state(State::Stopped);
        self.stop_all();
        self.sites.lift(addr, &*self.os);
        self.os.resume(thread, Resume::Step, signal);
        let status = self.os.await_stop(thread);
        self.sites.plant(addr, &*self.os);
        self.set_state(state_before);
        if let Some(state) = self.thread_mut(thread) {
            state.registers = None;
        }
        for other in running {
            if other != thread {
                match self
                    .thread_mut(other)
                    .and_then(|state| state.deferred.take())
                {
                    Some(status) => self.judge(other, status),
                    None => self.go_on(other, Resume::Continue),
                }
            }
        }
        match status {
            Some(WaitStatus::Signal(Signal(libc::SIGTRAP))) if how == Resume::Step => {
                self.on_single_step(thread);
            }
            Some(WaitStatus::Signal(Signal(libc::SIGTRAP))) => self.go_on(thread, how),
            Some(status) => self.on_stop(thread, status),
            None => {}
        }
    }

    /// Lets all stopped threads go on; deferred stops are judged first, and may stop
    /// everything again at once.
    pub(crate) fn go_on_all(&mut self) {
        self.forget_stop();
        self.set_state(State::Running);
        let threads: Vec<ThreadId> = match &self.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return,
        };
        for thread in &threads {
            let deferred = self
                .thread_mut(*thread)
                .filter(|state| state.stopped)
                .and_then(|state| state.deferred.take());
            if let Some(status) = deferred {
                self.judge(*thread, status);
                if self.state() != State::Running {
                    return;
                }
            }
        }
        for thread in threads {
            self.go_on_stepping(thread);
            if self.state() != State::Running {
                return;
            }
        }
    }

    // ---- stopping

    /// Stops all threads and reports why.
    pub(crate) fn report(&mut self, thread: ThreadId, reason: StopReason) {
        self.set_state(State::Stopped);
        self.cancel_step();
        self.stop_all();
        self.forget_stop();
        if !self.output_held {
            self.pump_output(OUTPUT_BURST);
        }
        // Going on from here does not hit a breakpoint that is here.
        let pc = self.registers_of(thread).map(|registers| registers.pc());
        if let Some(state) = self.thread_mut(thread) {
            state.passed = pc;
        }
        if self
            .process
            .as_ref()
            .is_some_and(|process| !process.launched)
        {
            self.park_all();
        }
        if let Some(process) = &mut self.process
            && process.state == State::Stopped
        {
            process.current = thread;
            self.events
                .push_back(Event::Stopped(Stop { thread, reason }));
        }
    }

    /// Makes the stopped threads of a process that outlives us fit to go on should we be killed
    /// now: none is about to be told of a SIGTRAP of ours, none stands before (or inside) one
    /// of our traps.
    fn park_all(&mut self) {
        let threads: Vec<ThreadId> = match &self.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return,
        };
        for thread in threads {
            let Some(state) = self.thread_mut(thread) else {
                continue;
            };
            if !state.stopped || state.deferred.is_some() || state.signal.0 != 0 {
                continue;
            }
            let Some(registers) = self.registers_of(thread) else {
                continue;
            };
            let site = registers.pc();
            let mut refuge = None;
            if self.sites.get(site).is_some() && self.make_slot(thread, site, &registers) {
                // An indirect call has no copy: there the guardian must be quick.
                refuge = self.slots.refuge(site, &registers);
            }
            self.end_trap_stop(thread);
            match refuge {
                Some(refuge) => {
                    self.os.set_registers(thread, &refuge);
                    if let Some(state) = self.thread_mut(thread) {
                        state.unwritten = true;
                    }
                }
                None => self.write_registers(thread),
            }
        }
    }

    /// Takes a thread out of the stop in which it is about to be told of a SIGTRAP.
    fn end_trap_stop(&mut self, thread: ThreadId) {
        let trapped = self
            .thread_mut(thread)
            .is_some_and(|state| std::mem::take(&mut state.trapped));
        if !trapped {
            return;
        }
        self.write_registers(thread);
        // An interrupt that is pending ends the signal's stop before any instruction.
        self.os.interrupt(thread);
        self.os.resume(thread, Resume::Continue, Signal(0));
        match self.os.await_stop(thread) {
            Some(WaitStatus::Interrupted) | None => {}
            Some(status @ (WaitStatus::Exited(_) | WaitStatus::Killed(_))) => {
                self.thread_ended(thread, status);
            }
            Some(status) => self.defer(thread, status),
        }
    }

    /// Makes a copy of what the trap at `site` covers, if that can be done without side effects.
    fn make_slot(&mut self, thread: ThreadId, site: LoadAddr, registers: &RegisterSet) -> bool {
        let memory = self.memory();
        let indirect = crate::arch::x86_64::read(&memory, site).is_none_or(|instruction| {
            crate::arch::x86_64::is_call(&instruction)
                && crate::arch::x86_64::relocate(&instruction, site).is_none()
        });
        !indirect && self.way_over(thread, site, registers).is_some()
    }

    fn running_threads(&self) -> Vec<ThreadId> {
        self.process.as_ref().map_or_else(Vec::new, |process| {
            process
                .threads
                .iter()
                .filter(|(_, state)| !state.stopped)
                .map(|(thread, _)| *thread)
                .collect()
        })
    }

    /// Interrupts all running threads and collects them. What they did meanwhile is kept.
    pub(crate) fn stop_all(&mut self) {
        let patience = Instant::now() + STOP_PATIENCE;
        loop {
            let running = self.running_threads();
            if running.is_empty() {
                return;
            }
            for thread in running {
                if let Some(state) = self.thread_mut(thread)
                    && !state.interrupted
                {
                    state.interrupted = true;
                    self.os.interrupt(thread);
                }
            }
            match self.os.next_stop() {
                Some((thread, status)) => self.on_stop(thread, status),
                None if Instant::now() >= patience => {
                    tracing::warn!("some threads cannot be stopped (they wait in the kernel)");
                    return;
                }
                None => match self.os.wait(Some(patience), false) {
                    Ok(ready) => self.remember(ready),
                    Err(error) => {
                        tracing::error!(%error, "cannot wait for threads to stop");
                        return;
                    }
                },
            }
        }
    }

    // ---- registers of stopped threads

    /// The registers of a stopped thread as the program sees them: never in one of our slots.
    pub(crate) fn registers_of(&mut self, thread: ThreadId) -> Option<RegisterSet> {
        let state = self.process.as_ref()?.threads.get(&thread)?;
        if !state.stopped {
            return None;
        }
        if let Some(registers) = state.registers {
            return Some(registers);
        }
        let mut registers = self.os.registers(thread)?;
        let mut passed = None;
        // At most a handful of instructions are in a slot.
        for _ in 0..8 {
            match self.slots.origin(registers.pc()) {
                None => break,
                Some(Origin::Before(site)) => {
                    registers.set_pc(site);
                    self.os.set_registers(thread, &registers);
                    passed = Some(site);
                    break;
                }
                Some(Origin::Behind(next)) => {
                    registers.set_pc(next);
                    self.os.set_registers(thread, &registers);
                    break;
                }
                Some(Origin::Inside) => {
                    self.os.resume(thread, Resume::Step, Signal(0));
                    match self.os.await_stop(thread)? {
                        WaitStatus::Signal(Signal(libc::SIGTRAP)) => {}
                        status => self.defer(thread, status),
                    }
                    registers = self.os.registers(thread)?;
                }
            }
        }
        let state = self.thread_mut(thread)?;
        if passed.is_some() {
            state.passed = passed;
        }
        state.registers = Some(registers);
        Some(registers)
    }

    /// Changes the registers of a stopped thread.
    pub(crate) fn set_registers_of(&mut self, thread: ThreadId, registers: RegisterSet) -> bool {
        if !self.os.set_registers(thread, &registers) {
            return false;
        }
        if let Some(state) = self.thread_mut(thread) {
            state.registers = Some(registers);
            state.unwritten = false;
        }
        true
    }

    /// Moves a stopped thread; told to the kernel no earlier than it must be.
    fn set_pc(&mut self, thread: ThreadId, pc: LoadAddr) {
        if let Some(mut registers) = self.registers_of(thread) {
            registers.set_pc(pc);
            if let Some(state) = self.thread_mut(thread) {
                state.registers = Some(registers);
                state.unwritten = true;
            }
        }
    }

    /// Tells the kernel of registers that it does not know yet.
    fn write_registers(&mut self, thread: ThreadId) {
        if let Some(state) = self.thread_mut(thread)
            && std::mem::take(&mut state.unwritten)
            && let Some(registers) = state.registers
        {
            self.os.set_registers(thread, &registers);
        }
    }

    /// Takes everything of ours out of the stopped process.
    pub(crate) fn clean_process(&mut self) {
        self.cancel_step();
        self.sites.remove_all(&*self.os);
        let threads: Vec<ThreadId> = match &self.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return,
        };
        let mut in_slot = false;
        for thread in &threads {
            // Reading the registers takes a thread out of its slot.
            in_slot |= self
                .registers_of(*thread)
                .is_none_or(|registers| self.slots.holds(registers.pc()));
        }
        if in_slot {
            // Somebody may still need the slots: they stay, harmless, in the process.
            return;
        }
        for region in self.slots.regions() {
            if let Some(thread) = threads.first() {
                let call = SystemCall::Unmap {
                    addr: region,
                    len: REGION,
                };
                self.system_call(*thread, call);
            }
        }
        self.slots = Default::default();
    }

    /// Lets all threads go on without us.
    pub(crate) fn detach_all(&mut self) -> Result<(), Error> {
        self.set_state(State::Stopped);
        self.stop_all();
        self.clean_process();
        let threads: Vec<ThreadId> = match &self.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => return Err(Error::NoProcess),
        };
        for thread in threads {
            self.write_registers(thread);
        }
        let Some(process) = self.process.take() else {
            return Err(Error::NoProcess);
        };
        for (thread, state) in process.threads {
            let mut signal = state.signal;
            if let Some(WaitStatus::Signal(deferred)) = state.deferred
                && deferred.0 != libc::SIGTRAP
            {
                signal = deferred;
            }
            self.os.detach(thread, signal);
        }
        for (child, _) in process.children {
            self.os.detach(ThreadId(child), Signal(0));
        }
        self.forget_stop();
        self.over = true;
        Ok(())
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

    /// Reads the loader's list anew and follows it.
    fn on_loader(&mut self, addr: LoadAddr) {
        let change = {
            let memory = crate::memory::ProcessMemory {
                os: &*self.os,
                sites: &self.sites,
                cache: None,
            };
            self.modules.refresh(&memory)
        };
        for loaded in change.removed {
            self.sites.forget_in(loaded.range.start, loaded.range.end);
            self.slots.forget_in(loaded.range.start, loaded.range.end);
            self.events.push_back(Event::ModuleUnloaded(loaded.id));
            self.unwinder.borrow_mut().clear();
            self.unbind_module(&loaded);
        }
        for id in change.added {
            self.announce_module(id);
        }
        self.flush_module_notes();
        // At the program's entry the loader itself can say where it wants to be watched.
        if self.modules.entry() == Some(addr) {
            self.watch_loader();
            self.sites.remove(addr, Owner::Loader, &*self.os);
        }
    }

    /// Plants the traps by which we follow the loader.
    pub(crate) fn watch_loader(&mut self) {
        let memory = crate::memory::ProcessMemory {
            os: &*self.os,
            sites: &self.sites,
            cache: None,
        };
        let addr = self.modules.loader_breakpoint(&memory);
        let Some(process) = &mut self.process else {
            return;
        };
        if let Some(addr) = addr
            && !process.loader_sites.contains(&addr)
            && self.sites.add(addr, Owner::Loader, &*self.os)
        {
            process.loader_sites.push(addr);
        }
    }

    /// The process's memory; cached while everything is stopped.
    pub(crate) fn memory(&self) -> crate::memory::ProcessMemory<'_> {
        let stopped = matches!(self.state(), State::Stopped);
        crate::memory::ProcessMemory {
            os: &*self.os,
            sites: &self.sites,
            cache: stopped.then_some(&self.pages),
        }
    }
}

/// What a SIGTRAP means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trap {
    /// One of our sites was hit.
    Site(LoadAddr),
    /// A site of ours was hit that is no more.
    Stale(LoadAddr),
    /// A single step is done.
    Step,
    /// The program has a trap instruction of its own.
    Own,
    /// Somebody sent the signal.
    Sent,
}
