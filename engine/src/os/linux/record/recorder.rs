//! Records a program: each system call is a stop, and an event of the log. What else stops it is seen by
//! a debugger, and the program waits to be resumed.

use super::super::copy::{Copies, CopyParent};
use super::super::procfs;
use super::buffer::Buffer;
use super::call::Call;
use super::calls::Waits;
use super::ending::Ending;
use super::family::{Birth, Family, complete_time_stamp};
use super::log::{Effect, Log, Written};
use super::patches::Patches;
use super::processor::Processors;
use super::replay::Replay;
use super::snapshots::{Snapshot, Snapshots};
use super::threads::files::poll;
use super::threads::thread::Thread;
use super::threads::turns::Turns;
use super::tracee::{self, Stop, Tracee};
use super::{borrowed, hash, scratch, start, timer};
use crate::ids::{Signal, ThreadId};
use crate::os::linux::ptrace;
use crate::os::recording::{HashEvents, ProgramEnd};
use crate::os::{Resume, ThreadEvent};
use dwarf::LoadAddr;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The most programs that a process may execute one after the other in a recording.
const MOST_STARTS: usize = 64;
/// How often the files that threads wait for are looked at, while no thread can run.
const IDLE_LOOK: Duration = Duration::from_millis(2);
/// Hashing takes a third of the time at most.
const HASH_SHARE: u32 = 2;

/// The recorder of one process.
pub struct Recorder {
    /// The id of the process, and of its first thread.
    pub(super) pid: i32,
    /// The thread that runs, or is at an event.
    pub(super) running: Thread,
    /// The other threads, by their ids.
    pub(super) others: BTreeMap<i32, Thread>,
    pub(super) turns: Turns,
    pub(super) process: OwnedFd,
    pub(super) log: Log,
    pub(super) buffer: Buffer,
    pub(super) snapshots: Snapshots,
    pub(super) family: Family,
    /// What a child has left in the memory of the program.
    pub(super) given_back: Vec<Written>,
    copies: Copies,
    pub(super) begun: Instant,
    faults: u64,
    hashes: HashEvents,
    hash_due: Instant,
    /// Why the recording has ended before the program; `None`: it goes on.
    pub(super) ended: Option<String>,
    end: Option<ProgramEnd>,
    starts: usize,
    /// The debugger's patches in the program.
    pub(super) patches: Patches,
    /// What the debugger is to see next, of which threads.
    pub(super) seen: VecDeque<(i32, ThreadEvent)>,
    /// The code with which the stopped program is about to exit.
    pub(super) exiting: Option<i32>,
    /// The program has just been executed: it has not returned from execve(2) for the debugger.
    is_at_start: bool,
    /// Whether the program stops for the debugger before it exits, and has not yet done so.
    pub(super) stops_before_exit: bool,
    /// Whether threads are recorded.
    pub(super) records_threads: bool,
    /// Where the program may end, if that is to be kept.
    pub(super) ending: Option<Ending>,
    pub(super) keeps_ending: bool,
    /// Threads of the program, once the recording has ended, and those of them that execute one
    /// instruction.
    threads: BTreeMap<i32, bool>,
}

/// A finished recording.
pub struct Recorded {
    pub log: Log,
    pub snapshots: Snapshots,
    pub ended_early: Option<String>,
    pub end: ProgramEnd,
    /// Where the program was before its end.
    pub ending: Option<Ending>,
    pub duration: Duration,
    pub copies: Copies,
}

impl Recorder {
    /// Begins with a program that [`start::start`] has started.
    ///
    /// # Errors
    /// The system refuses a snapshot.
    pub fn new(head: Tracee, hashes: HashEvents, processors: Processors) -> io::Result<Recorder> {
        let mut log = Log::default();
        log.running = head.pid;
        let mut recorder = Recorder::with(head, log, hashes, processors)?;
        recorder.program_begins()?;
        Ok(recorder)
    }

    /// Begins with a program that [`running::prepare`](super::running::prepare) has prepared, and that has
    /// these patches of the debugger: the program's bytes under them. If the system
    /// refuses a snapshot, the recording has ended.
    ///
    /// # Errors
    /// The program has ended.
    pub fn at_stop(
        head: Tracee,
        processors: Processors,
        patches: &[(LoadAddr, Vec<u8>)],
    ) -> io::Result<Recorder> {
        let mut log = Log::default();
        log.running = head.pid;
        let mut recorder = Recorder::with(head, log, HashEvents::Never, processors)?;
        for (addr, original) in patches {
            recorder.patches.set(addr.0, Some(original));
        }
        recorder.is_at_start = false;
        recorder.serve_debugger();
        if let Err(error) = recorder.program_begins() {
            recorder.ended = Some(error.to_string());
            recorder.threads.insert(recorder.pid, false);
        }
        Ok(recorder)
    }

    /// Stops before the program exits.
    pub fn serve_debugger(&mut self) {
        self.stops_before_exit = true;
    }

    /// Begins with a stopped process, a log of what it has done, and no snapshots.
    ///
    /// # Errors
    /// The process has ended.
    pub(super) fn with(
        head: Tracee,
        log: Log,
        hashes: HashEvents,
        processors: Processors,
    ) -> io::Result<Recorder> {
        let process = super::super::copy::open_process(head.pid)?;
        let pid = head.pid;
        let patches = Patches::default();
        Ok(Recorder {
            pid,
            running: Thread::new(head),
            others: BTreeMap::new(),
            turns: Turns::new(Instant::now()),
            process,
            log,
            buffer: Buffer::default(),
            snapshots: Snapshots::default(),
            family: Family::on(processors, patches.clone()),
            given_back: Vec::new(),
            copies: Copies::default(),
            begun: Instant::now(),
            faults: 0,
            hashes,
            hash_due: Instant::now(),
            ended: None,
            end: None,
            starts: 0,
            patches,
            seen: VecDeque::new(),
            exiting: None,
            is_at_start: true,
            stops_before_exit: false,
            records_threads: true,
            ending: None,
            keeps_ending: false,
            threads: BTreeMap::new(),
        })
    }

    /// Records until the program and the processes that it has started have ended.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn run_to_end(mut self) -> io::Result<Recorded> {
        let _timer = timer::Ticks::start()?;
        let _children = timer::ends_of_children()?;
        let mut duration = None;
        self.resume(self.running.tracee.thread(), Resume::Continue, Signal(0))?;
        while self.end.is_none() || !self.family.is_empty() {
            let seen = match self.take_seen() {
                Some(seen) => Some(seen),
                None => match self.next_stop()? {
                    Some((pid, stop)) => self.on_stop(pid, stop)?,
                    None => {
                        self.on_tick()?;
                        None
                    }
                },
            };
            if let Some((_, event)) = seen {
                self.keep_ending(event);
            }
            match seen {
                Some((thread, ThreadEvent::Signal(signal))) => {
                    self.resume(thread, Resume::Continue, signal)?;
                }
                Some((thread, ThreadEvent::GroupStop(_))) if ptrace::listen(thread).is_ok() => {}
                Some((thread, event)) if !event.is_end() => {
                    self.resume(thread, Resume::Continue, Signal(0))?;
                }
                _ => {}
            }
            if self.end.is_some() && duration.is_none() {
                duration = Some(self.begun.elapsed());
            }
        }
        Ok(Recorded {
            log: self.log,
            snapshots: self.snapshots,
            ended_early: self.ended,
            ending: self.ending,
            end: self.end.unwrap_or(ProgramEnd::Killed(libc::SIGKILL)),
            duration: duration.unwrap_or_default(),
            copies: self.copies,
        })
    }

    /// Waits for the next stop of any tracee, as long as no thread of the program can run for that time at
    /// most; `None`: look at what is due.
    fn next_stop(&self) -> io::Result<Option<(i32, Stop)>> {
        if !self.turns.is_idle {
            return tracee::next_stop();
        }
        if let Some(stop) = tracee::poll_stop(-1)? {
            return Ok(Some(stop));
        }
        let (until, mut files) = self.idle_until();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        poll(
            &mut files,
            left.map_or(timer::INTERVAL, |left| left.min(timer::INTERVAL)),
        );
        Ok(None)
    }

    /// Handles a stop of any tracee. Returns what a debugger of the program sees of it: the thread then
    /// waits for [`Recorder::resume`], unless it has ended.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn on_stop(&mut self, pid: i32, stop: Stop) -> io::Result<Option<(ThreadId, ThreadEvent)>> {
        let thread = ThreadId(pid);
        if self.ended.is_none() && pid == self.pid && stop.is_end() {
            self.has_ended(stop);
            return Ok(stop.seen().map(|event| (thread, event)));
        }
        if self.ended.is_none() && (self.others.contains_key(&pid) || self.is_running_thread(pid)) {
            let handled = match self.is_running_thread(pid) {
                // The process ends; that of its first thread follows.
                true if stop.is_end() => Ok(()),
                true => self.on_running_stop(stop),
                false => self.on_other_stop(pid, stop),
            };
            // The process may be killed at any stop; its end follows.
            handled.or_else(|error| self.unless_killed(error))?;
            return Ok(self.take_seen());
        }
        if self.copies.absorb_stop(pid, stop.is_end()) {
            return Ok(None);
        }
        if self.ended.is_some() && self.is_of_head(pid) {
            return Ok(self.on_free_stop(pid, stop).map(|event| (thread, event)));
        }
        if stop == Stop::Call && self.family.gives_back(pid) {
            let child = Tracee::new(pid)?;
            self.given_back = borrowed::give_back(&child, &self.running.tracee)?;
        }
        self.family.on_stop(pid, stop);
        Ok(None)
    }

    fn is_running_thread(&self, pid: i32) -> bool {
        self.running.tracee.pid == pid
    }

    /// Returns a thread of the program.
    pub(super) fn thread_mut(&mut self, pid: i32) -> Option<&mut Thread> {
        match self.is_running_thread(pid) {
            true => Some(&mut self.running),
            false => self.others.get_mut(&pid),
        }
    }

    /// Returns what the debugger is to see next, without a stop of the kernel.
    pub fn take_seen(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        let (pid, _) = *self.seen.front()?;
        Some((ThreadId(pid), self.take_seen_of(pid)?))
    }

    /// Returns what the debugger is to see next of a thread.
    pub fn take_seen_of(&mut self, pid: i32) -> Option<ThreadEvent> {
        let nth = self.seen.iter().position(|(of, _)| *of == pid)?;
        let (_, event) = self.seen.remove(nth)?;
        if !event.is_end()
            && let Some(thread) = self.thread_mut(pid)
        {
            thread.is_stopped = true;
            thread.signal = match event {
                ThreadEvent::Signal(signal) => Some(signal.0),
                _ => None,
            };
        }
        self.exiting = match event {
            ThreadEvent::Exiting(code) => Some(code),
            _ => None,
        };
        Some(event)
    }

    /// Shows the debugger a stop of the program.
    pub(super) fn report(&mut self, event: ThreadEvent) {
        self.report_of(self.running.tracee.pid, event);
    }

    /// Shows the debugger a stop of a thread, which does not run from now on.
    pub(super) fn report_of(&mut self, pid: i32, event: ThreadEvent) {
        if !event.is_end() {
            self.turns.scheduler.hold(pid);
        }
        self.seen.push_back((pid, event));
    }

    /// Resumes a thread of the program from a stop that the debugger has seen, with a signal (0: none).
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn resume(&mut self, thread: ThreadId, how: Resume, signal: Signal) -> io::Result<()> {
        let is_step = how == Resume::Step;
        if self.ended.is_some() {
            self.threads.insert(thread.0, is_step);
            let _ = ptrace::resume(thread, is_step, signal);
            return Ok(());
        }
        self.turns.scheduler.release(thread.0);
        let Some(resumed) = self.thread_mut(thread.0) else {
            return Ok(());
        };
        resumed.is_stopped = false;
        resumed.is_stepping = is_step;
        let reported = resumed.signal.take();
        let waits = resumed.waiting.is_some();
        self.exiting = None;
        if waits || !self.is_running_thread(thread.0) {
            // It runs when it is its turn.
            return Ok(());
        }
        if std::mem::take(&mut self.is_at_start) && is_step {
            // The debugger steps out of execve(2); the recorder has done that.
            self.report(ThreadEvent::Signal(Signal::TRAP));
            return Ok(());
        }
        if signal.0 != 0 {
            return self
                .deliver(signal.0)
                .or_else(|error| self.unless_killed(error));
        }
        if let Some(reported) = reported {
            self.suppress(reported);
        }
        if !self.patches.is_empty() {
            self.running.resumed_at = self.running.tracee.registers()?.pc();
        }
        (self.buffer).note_restored(&self.running.tracee, &self.patches, &mut self.log);
        self.run();
        Ok(())
    }

    /// Interrupts the program for the debugger; [`ThreadEvent::Interrupted`] follows.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn interrupt(&mut self, thread: ThreadId) -> io::Result<()> {
        let is_running = self.is_running_thread(thread.0);
        let Some(interrupted) = self.thread_mut(thread.0) else {
            return ptrace::interrupt(thread);
        };
        let in_kernel = interrupted.is_in_kernel();
        if in_kernel || is_running && interrupted.waiting.is_none() && !interrupted.is_stopped {
            interrupted.is_interrupting = true;
            interrupted.is_interrupted = true;
            return ptrace::interrupt(thread);
        }
        // The kernel has stopped it already.
        self.report_of(thread.0, ThreadEvent::Interrupted);
        Ok(())
    }

    /// Lets another thread run if the running one waits for the debugger, and others do not.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn pump(&mut self) -> io::Result<()> {
        if self.ended.is_some() || self.end.is_some() || !self.seen.is_empty() {
            return Ok(());
        }
        let is_stopped = self.running.is_stopped && self.running.waiting.is_none();
        if is_stopped {
            self.look_for_woken();
        }
        let result = match is_stopped {
            true if self.turns.scheduler.has_ready() => self.park_stopped(),
            true => Ok(()),
            false if self.turns.is_idle => self.wake_due(),
            false => Ok(()),
        };
        result.or_else(|error| self.unless_killed(error))
    }

    /// Lets the program run on: to the end of the system call that it is in, or for an instruction, if it
    /// is stepped.
    pub(super) fn run(&mut self) {
        self.show_waiters();
        match self.running.call {
            Some(_) => self.running.tracee.resume_to_call_end(),
            None => self.running.tracee.go(self.running.is_stepping, 0),
        }
    }

    /// Lets the program run on behind a system call, which ends a step. `is_answered`: the kernel still
    /// has to skip it.
    pub(super) fn go_on_behind_call(&mut self, is_answered: bool) -> io::Result<()> {
        match self.running.is_stepping {
            true => {
                if is_answered {
                    self.running.tracee.leave_call()?;
                }
                self.report(ThreadEvent::Signal(Signal::TRAP));
            }
            false => self.run_on()?,
        }
        Ok(())
    }

    /// Lets the program run on behind an instruction that the recorder has completed, which ends a step.
    pub(super) fn go_on_behind_instruction(&mut self) {
        match self.running.is_stepping {
            true => self.report(ThreadEvent::Signal(Signal::TRAP)),
            false => self.run(),
        }
    }

    pub(super) fn on_running_stop(&mut self, stop: Stop) -> io::Result<()> {
        match stop {
            Stop::Call => {
                let registers = self.registers_at_call()?;
                self.on_call(registers)?;
            }
            Stop::CallEnd => self.on_call_end()?,
            Stop::Signal(signal) => self.on_signal(signal)?,
            Stop::Group(signal) => self.report(ThreadEvent::GroupStop(Signal(signal))),
            Stop::Interrupted => {
                let is_interrupting = std::mem::take(&mut self.running.is_interrupting);
                self.running.is_interrupted = false;
                if ptrace::has_signal_of_instruction(self.running.tracee.thread()) {
                    // It is delivered before another instruction executes, and seen instead.
                    self.run();
                    return Ok(());
                }
                if self.running.call.is_none() {
                    if self.goes_on_in_buffer(is_interrupting)? {
                        return Ok(());
                    }
                    self.look_for_woken();
                    if self.snapshots.is_due(self.begun.elapsed()) {
                        self.take_snapshot(false)?;
                    }
                    let is_over = self.turns.takes_interrupt();
                    if !is_interrupting && (is_over || self.holds_signals()) {
                        return self.preempt();
                    }
                }
                match is_interrupting {
                    true => self.report(ThreadEvent::Interrupted),
                    false => self.run(),
                }
            }
            Stop::CreatedThread(pid) => {
                self.thread_is_born(pid)?;
                self.report(ThreadEvent::Created(ThreadId(pid)));
                self.report_of(pid, ThreadEvent::Interrupted);
            }
            Stop::Created(pid) => {
                self.buffer.pass(pid);
                let birth = self.running.call.as_ref().and_then(Call::birth);
                self.family.created(pid, birth);
                self.run();
            }
            Stop::Execed => self.on_exec()?,
            Stop::Other | Stop::Exited(_) | Stop::Killed(_) => self.run(),
        }
        Ok(())
    }

    /// Returns whether a thread is one of the program.
    fn is_of_head(&self, pid: i32) -> bool {
        pid == self.pid
            || self.threads.contains_key(&pid)
            || procfs::status_number(pid, "Tgid") == Some(self.pid)
    }

    /// Handles a stop of a thread of the program after the end of the recording. Returns what the debugger
    /// sees of it.
    fn on_free_stop(&mut self, pid: i32, stop: Stop) -> Option<ThreadEvent> {
        let thread = ThreadId(pid);
        let is_stepping = *self.threads.entry(pid).or_default();
        let run = |signal| drop(ptrace::resume(thread, is_stepping, Signal(signal)));
        match stop {
            Stop::Exited(_) | Stop::Killed(_) => {
                self.threads.remove(&pid);
                if pid == self.pid {
                    self.has_ended(stop);
                }
            }
            Stop::Created(child) => {
                let birth = Birth {
                    call: None,
                    borrows: false,
                };
                self.family.created(child, Some(birth));
                run(0);
            }
            Stop::CreatedThread(new) => {
                self.threads.insert(new, false);
            }
            Stop::Signal(libc::SIGSEGV) if complete_time_stamp(pid) => {
                if is_stepping {
                    return Some(ThreadEvent::Signal(Signal::TRAP));
                }
                run(0);
                return None;
            }
            Stop::Execed => return Some(ThreadEvent::Execed(thread)),
            Stop::Call | Stop::CallEnd | Stop::Other => run(0),
            Stop::Signal(_) | Stop::Group(_) | Stop::Interrupted => {}
        }
        stop.seen()
    }

    /// The program has ended while the recorder waited for something else.
    pub(super) fn has_ended(&mut self, stop: Stop) {
        match stop {
            Stop::Exited(code) => self.end = Some(ProgramEnd::Exited(code)),
            Stop::Killed(signal) => self.end = Some(ProgramEnd::Killed(signal)),
            _ => {}
        }
    }

    /// Passes an error on unless the process was killed: its end is reported.
    fn unless_killed(&self, error: io::Error) -> io::Result<()> {
        let pid = self.running.tracee.pid;
        match procfs::is_zombie(pid) || procfs::status(pid, "State").is_none() {
            true => Ok(()),
            false => Err(error),
        }
    }

    /// Returns whether the program runs and is recorded.
    pub fn is_running(&self) -> bool {
        let waits = || self.others.values().any(|thread| !thread.is_stopped);
        let runs = !self.running.is_stopped || self.turns.is_idle && waits();
        self.ended.is_none() && self.end.is_none() && runs
    }

    /// Returns when to look again: at `tick`, or earlier while no thread can run.
    pub fn next_look(&self, now: Instant, tick: Instant) -> Instant {
        if !self.turns.is_idle {
            return tick;
        }
        let (until, files) = self.idle_until();
        let look = match files.is_empty() {
            true => tick,
            // They are not among the descriptors that the debugger waits for.
            false => now + IDLE_LOOK,
        };
        until.map_or(look, |until| until.min(look)).max(now)
    }

    /// Interrupts the program for a snapshot, if one is due, or for another thread to run.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn on_tick(&mut self) -> io::Result<()> {
        if self.ended.is_some() || self.end.is_some() {
            return Ok(());
        }
        if self.has_threads() {
            self.wake_due().or_else(|error| self.unless_killed(error))?;
        }
        if self.running.is_stopped || self.turns.is_idle || !self.seen.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let is_over = self.has_threads()
            && (self.turns.scheduler.is_over(now)
                || self.turns.scheduler.is_long(now)
                    && self.buffer.has_woken(&self.running.tracee));
        let interrupts = match &self.running.call {
            None => is_over || self.holds_signals() || self.snapshots.is_due(self.begun.elapsed()),
            Some(call) if is_over => match call.waits {
                Waits::Never => false,
                // It writes no memory.
                Waits::Kernel | Waits::Output(_) => return self.leave_in_kernel(),
                _ => true,
            },
            Some(_) => false,
        };
        if interrupts {
            self.turns.is_interrupted |= is_over;
            self.running.is_interrupted = true;
            let _ = ptrace::interrupt(self.running.tracee.thread());
        }
        Ok(())
    }

    /// Ends the recording at a stop of the program, which runs on.
    pub(super) fn end_recording(&mut self, reason: String) {
        self.look_for_woken();
        self.send_held();
        self.buffer.pass(self.running.tracee.pid);
        self.ended = Some(reason);
        self.running.call = None;
        self.family.processors().set_for(self.running.tracee.pid);
        let is_stepping = self.running.is_stepping;
        self.threads.insert(self.running.tracee.pid, is_stepping);
        self.running.tracee.go(is_stepping, 0);
        self.release_others();
    }

    /// Lets the other threads run on after the end of the recording.
    fn release_others(&mut self) {
        for (pid, thread) in std::mem::take(&mut self.others) {
            self.family.processors().set_for(pid);
            self.threads.insert(pid, thread.is_stepping);
            thread.release(self.pid);
        }
    }

    fn on_exec(&mut self) -> io::Result<()> {
        let Some(call) = self.running.call.take() else {
            return Err(io::Error::other("a program was executed without a call"));
        };
        self.log.push(call.entry, Effect::Execute);
        self.starts += 1;
        self.running.tracee = Tracee::new(self.pid)?;
        if self.starts > MOST_STARTS {
            self.end_recording(format!("it has executed {MOST_STARTS} programs"));
            return Ok(());
        }
        start::prepare(&self.running.tracee)?;
        self.patches.clear();
        self.program_begins()?;
        self.is_at_start = true;
        self.report(ThreadEvent::Execed(self.running.tracee.thread()));
        Ok(())
    }

    /// The recording of a program begins here.
    fn program_begins(&mut self) -> io::Result<()> {
        self.running.boundary = None;
        self.running.held.clear();
        self.log.segments.forget_jumps();
        self.buffer = Buffer::prepare(&self.running.tracee)?;
        self.take_snapshot(true)
    }

    /// Takes a snapshot of the stopped program. One that is no start may fail.
    pub(super) fn take_snapshot(&mut self, is_start: bool) -> io::Result<()> {
        let begun = Instant::now();
        let at = LoadAddr(scratch::CALL);
        let copy = self
            .copies
            .copy_process(self.running.tracee.thread(), at, CopyParent::OfCopied);
        let now = self.begun.elapsed();
        let copy = match copy {
            Ok(copy) => copy,
            Err(error) if is_start => return Err(io::Error::other(error.to_string())),
            Err(error) => {
                tracing::info!(%error, "no snapshot");
                self.snapshots.delay(now);
                return Ok(());
            }
        };
        ptrace::set_options_for_recording(copy.thread())?;
        let faults = faults(self.pid);
        let since = faults.saturating_sub(self.faults);
        self.faults = faults;
        let next = self.log.events.len();
        self.snapshots.add(
            copy,
            self.patches.now(),
            self.threads_now(),
            next,
            is_start,
            now,
            begun.elapsed(),
            since,
        );
        Ok(())
    }

    /// Returns the snapshots of the program that runs now, oldest first.
    pub fn snapshots_of_program(&self) -> impl Iterator<Item = &Snapshot> {
        let all = &self.snapshots.all;
        let start = all.iter().rposition(|it| it.is_start).unwrap_or(0);
        all.iter().skip(start)
    }

    /// Returns the stack pointers of the threads that do not run.
    pub fn other_stacks(&self) -> Vec<u64> {
        self.others.values().filter_map(Thread::sp).collect()
    }

    /// Returns the copies that it makes.
    pub fn copies(&self) -> &Copies {
        &self.copies
    }

    /// Begins a replay from one of these snapshots, by its index.
    ///
    /// # Errors
    /// There is no such snapshot, or the system has no memory or processes left.
    pub fn replay(&self, snapshot: usize) -> io::Result<Replay> {
        let snapshot = self.snapshots_of_program().nth(snapshot);
        let snapshot = snapshot.ok_or_else(|| io::Error::other("there is no such snapshot"))?;
        Replay::begin(snapshot, &self.copies)
    }

    /// Ends the recording since the system has refused something; the program runs on.
    pub fn fail(&mut self, error: &io::Error) {
        tracing::warn!(%error, "the recording ends");
        if self.ended.is_none() {
            self.end_recording(error.to_string());
        }
    }

    /// Begins the recording anew, at a stop of the program that the debugger has changed: no replay would
    /// do that.
    ///
    /// # Errors
    /// The system refuses a snapshot.
    pub fn restart(&mut self) -> io::Result<()> {
        if self.ended.is_some() || self.running.call.is_some() {
            return Ok(());
        }
        if self.running.waiting.is_some() {
            let reason = "the program was changed while all its threads waited";
            self.end_recording(reason.to_owned());
            return Ok(());
        }
        self.snapshots.all.clear();
        self.log.clear();
        self.running.boundary = None;
        self.take_snapshot(true)
    }

    /// Adds the hash of the state after the last event if it is due.
    pub(super) fn hash_last(&mut self, now: Instant) {
        if self.hashes == HashEvents::Never || now < self.hash_due {
            return;
        }
        let hash = hash::of(&self.running.tracee, &self.other_stacks());
        let end = Instant::now();
        self.hash_due = end + (end - now) * HASH_SHARE;
        if let Some(event) = self.log.events.last_mut() {
            event.hash = Some(hash);
        }
    }
}

/// Returns the number of page faults of a process without input.
fn faults(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the name: state, ppid, pgrp, session, tty, tpgid, flags, minflt.
    let fields = stat.rsplit_once(')').map_or("", |it| it.1);
    let faults = fields.split_ascii_whitespace().nth(7);
    faults.and_then(|it| it.parse().ok()).unwrap_or(0)
}
