//! Records a program: each system call is a stop, and an event of the log. What else stops it is seen by
//! a debugger, and the program waits to be resumed.

use super::super::copy::Copies;
use super::super::procfs;
use super::buffer::Buffer;
use super::call::Call;
use super::ending::Ending;
use super::family::Family;
use super::faults::FaultAction;
use super::log::{Effect, Log, Written};
use super::patches::Patches;
use super::processor::Processors;
use super::replay::Replay;
use super::snapshots::{Moment, Snapshot, Snapshots};
use super::threads::files::poll;
use super::threads::names::Names;
use super::threads::outside::outside_call;
use super::threads::thread::Thread;
use super::threads::turns::Turns;
use super::tracee::{self, Stop, Tracee};
use super::{borrowed, hash, start, timer};
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
/// Hashing takes a third of the time at most.
const HASH_SHARE: u32 = 2;

/// The recorder of one process.
pub struct Recorder {
    /// The id of the process, and of its first thread.
    pub(super) pid: i32,
    /// The thread that runs, or is at an event.
    pub(super) running: Box<Thread>,
    /// The other threads, by their ids.
    pub(super) others: BTreeMap<i32, Box<Thread>>,
    pub(super) turns: Turns,
    pub(super) process: OwnedFd,
    pub(super) log: Log,
    pub(super) buffer: Buffer,
    pub(super) snapshots: Snapshots,
    pub(super) family: Family,
    pub(super) fault_action: FaultAction,
    /// What a child has left in the memory of the program.
    pub(super) given_back: Vec<Written>,
    copies: Copies,
    pub(super) begun: Instant,
    faults: u64,
    hashes: HashEvents,
    hash_due: Instant,
    /// Why the recording has ended before the program; `None`: it goes on.
    pub(super) ended: Option<String>,
    pub(super) end: Option<ProgramEnd>,
    starts: usize,
    /// The debugger's patches in the program.
    pub(super) patches: Patches,
    /// What the debugger is to see next, of which threads.
    pub(super) seen: VecDeque<(i32, ThreadEvent)>,
    /// The code with which the stopped program is about to exit.
    pub(super) exiting: Option<i32>,
    /// The program has just been executed: it has not returned from execve(2) for the debugger.
    pub(super) is_at_start: bool,
    /// Whether the program stops for the debugger before it exits, and has not yet done so.
    pub(super) stops_before_exit: bool,
    /// The names of threads that have ended.
    pub(super) names: Names,
    /// Where the program may end, if that is to be kept.
    pub(super) ending: Option<Ending>,
    pub(super) keeps_ending: bool,
    /// Threads of the program, once the recording has ended, and those of them that execute one
    /// instruction.
    pub(super) threads: BTreeMap<i32, bool>,
}

/// A finished recording.
pub struct Recorded {
    /// The id of the process.
    pub process: i32,
    pub log: Log,
    pub snapshots: Snapshots,
    pub ended_early: Option<String>,
    pub end: ProgramEnd,
    /// Where the program was before its end.
    pub ending: Option<Ending>,
    pub duration: Duration,
    /// The names of threads that have ended.
    pub names: Names,
    pub copies: Copies,
}

impl Recorder {
    /// Begins with a program that [`start::start`] has started. `chaos`: the seed of random slices.
    ///
    /// # Errors
    /// The system refuses a snapshot.
    pub fn new(
        head: Tracee,
        hashes: HashEvents,
        processors: Processors,
        chaos: Option<u64>,
    ) -> io::Result<Recorder> {
        let mut log = Log::default();
        log.running = head.pid;
        let mut recorder = Recorder::with(head, log, hashes, processors)?;
        if let Some(seed) = chaos {
            recorder.turns.scheduler.begin_chaos(seed);
        }
        recorder.program_begins()?;
        Ok(recorder)
    }

    /// Begins with a program that [`Running`](super::running::Running) has prepared, with its threads, the first of
    /// which runs first, and with these patches of the debugger: the program's bytes under them. If the system
    /// refuses a snapshot, the recording has ended.
    ///
    /// # Errors
    /// The program has ended.
    pub fn at_stop(
        process: Tracee,
        threads: Vec<Thread>,
        processors: Processors,
        patches: &[(LoadAddr, Vec<u8>)],
    ) -> io::Result<Recorder> {
        let log = Log::default();
        let mut recorder = Recorder::with(process, log, HashEvents::Never, processors)?;
        for (addr, original) in patches {
            recorder.patches.set(addr.0, Some(original));
        }
        recorder.take_threads(threads);
        recorder.is_at_start = false;
        recorder.serve_debugger();
        if let Err(error) = recorder.program_begins() {
            recorder.ended = Some(error.to_string());
            let others = std::mem::take(&mut recorder.others).into_keys();
            let all = others.chain([recorder.running.tracee.pid]);
            recorder.threads.extend(all.map(|pid| (pid, false)));
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
            running: Box::new(Thread::new(head)),
            others: BTreeMap::new(),
            turns: Turns::new(Instant::now()),
            process,
            log,
            buffer: Buffer::default(),
            snapshots: Snapshots::default(),
            family: Family::on(processors, patches.clone()),
            fault_action: FaultAction::default(),
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
            names: Names::default(),
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
                None if self.turns.is_stepping => {
                    (self.execute_slice()).or_else(|error| self.unless_killed(error))?;
                    None
                }
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
            process: self.pid,
            log: self.log,
            snapshots: self.snapshots,
            ended_early: self.ended,
            ending: self.ending,
            end: self.end.unwrap_or(ProgramEnd::Killed(libc::SIGKILL)),
            duration: duration.unwrap_or_default(),
            names: self.names,
            copies: self.copies,
        })
    }

    /// Waits for the next stop of any tracee, as long as no thread of the program can run for that time at
    /// most; `None`: look at what is due.
    fn next_stop(&self) -> io::Result<Option<(i32, Stop)>> {
        if !self.turns.is_idle {
            return match self.can_others_stop() {
                true => tracee::stop_or_tick(-1),
                false => self.next_stop_of_running(),
            };
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

    /// Returns whether another tracee than the running thread may stop, as far as is known. Each thread of each
    /// snapshot is a tracee, too.
    fn can_others_stop(&self) -> bool {
        let in_kernel = || self.others.values().any(|thread| thread.is_in_kernel());
        self.ended.is_some()
            || self.end.is_some()
            || self.turns.is_exiting
            || self.turns.parked.is_some()
            || !self.family.is_empty()
            || in_kernel()
    }

    /// Waits for the running thread alone, which takes the kernel less time than to look at all tracees. The
    /// others are looked at when a signal has ended the wait.
    fn next_stop_of_running(&self) -> io::Result<Option<(i32, Stop)>> {
        match tracee::stop_or_tick(self.running.tracee.pid) {
            Ok(Some(stop)) => Ok(Some(stop)),
            // Its end may have been taken already.
            Ok(None) | Err(_) => tracee::poll_stop(-1),
        }
    }

    /// Handles a stop of any tracee. Returns what a debugger of the program sees of it: the thread then
    /// waits for [`Recorder::resume`], unless it has ended.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn on_stop(&mut self, pid: i32, stop: Stop) -> io::Result<Option<(ThreadId, ThreadEvent)>> {
        let (pid, stop) = match self.unpark(Some((pid, stop))) {
            Ok(Some(stopped)) => stopped,
            Ok(None) => return Ok(self.take_seen()),
            Err(error) => {
                self.unless_killed(error)?;
                return Ok(self.take_seen());
            }
        };
        let thread = ThreadId(pid);
        if self.ended.is_none() && pid == self.pid && stop.is_end() {
            self.has_ended(stop);
            return Ok(stop.seen().map(|event| (thread, event)));
        }
        if self.ended.is_none() && (self.others.contains_key(&pid) || self.is_running_thread(pid)) {
            let handled = match self.is_running_thread(pid) {
                // The process ends; that of its first thread follows.
                true if stop.is_end() => {
                    self.turns.is_exiting = true;
                    Ok(())
                }
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

    pub(super) fn is_running_thread(&self, pid: i32) -> bool {
        self.running.tracee.pid == pid
    }

    /// Lets the program run on: to the end of the system call that it is in, or for an instruction, if it
    /// is stepped.
    pub(super) fn run(&mut self) {
        self.keep_interrupt();
        if !self.park() {
            self.show_waiters();
        }
        if self.running.call.is_some() {
            self.running.tracee.resume_to_call_end();
        } else if !self.is_slice_stepped() {
            self.running.tracee.go(self.running.is_stepping, 0);
        }
    }

    /// Interrupts the running thread again if it was interrupted and has not stopped for that: any stop takes the
    /// interrupt from the kernel.
    pub(super) fn keep_interrupt(&self) {
        if self.running.is_interrupted {
            // It may be gone.
            let _ = ptrace::interrupt(self.running.tracee.thread());
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
                self.running.restore_mask();
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
                    // A replay that began in code of the debugger would not be at a place of the program.
                    if self.snapshots.is_due(self.begun.elapsed()) && self.is_in_program_code()? {
                        self.take_snapshot(Moment::Interrupt)?;
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
                let birth = self.running.call.as_ref().and_then(Call::birth);
                self.family.created(pid, birth);
                self.run();
            }
            Stop::Execed => self.on_exec()?,
            Stop::Other | Stop::Exited(_) | Stop::Killed(_) | Stop::Late => self.run(),
        }
        Ok(())
    }

    /// Returns whether the running thread is in code of the program, not of the debugger.
    fn is_in_program_code(&self) -> io::Result<bool> {
        let pc = self.running.tracee.registers()?.pc();
        Ok(self.is_of_program(pc, &mut Default::default()))
    }

    /// Passes an error on unless the process was killed: its end is reported.
    pub(super) fn unless_killed(&self, error: io::Error) -> io::Result<()> {
        let pid = self.running.tracee.pid;
        match procfs::is_zombie(pid) || procfs::status(pid, "State").is_none() {
            true => Ok(()),
            false => Err(error),
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
        self.running.boundary = None;
        self.running.held.clear();
        self.program_begins()?;
        self.is_at_start = true;
        self.report(ThreadEvent::Execed(self.running.tracee.thread()));
        Ok(())
    }

    /// The recording of a program begins here.
    fn program_begins(&mut self) -> io::Result<()> {
        self.note_names();
        let running = &self.running.tracee;
        self.fault_action = outside_call(running.thread(), || FaultAction::of(running))?;
        self.log.segments.forget_jumps();
        // In chaos each call is a stop, since slices end there.
        self.buffer = match self.turns.scheduler.is_chaos() {
            true => Buffer::without_calls(&self.running.tracee)?,
            false => Buffer::prepare(&self.running.tracee, &self.process)?,
        };
        if self.has_threads() {
            self.buffer.expect_threads(&self.running.tracee)?;
        }
        self.take_snapshot(Moment::Start)
    }

    /// Takes a snapshot of the stopped program. One that is no start may fail.
    pub(super) fn take_snapshot(&mut self, moment: Moment) -> io::Result<()> {
        let begun = Instant::now();
        let copy = self.copy();
        let now = self.begun.elapsed();
        let copy = match copy {
            Ok(copy) => copy,
            Err(error) if moment == Moment::Start => return Err(error),
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
            moment,
            now,
            begun.elapsed(),
            since,
        );
        Ok(())
    }

    /// Returns the snapshots of the program that runs now, oldest first.
    pub fn snapshots_of_program(&self) -> impl Iterator<Item = &Snapshot> {
        let all = &self.snapshots.all;
        let start = all.iter().rposition(|it| it.is_start()).unwrap_or(0);
        all.iter().skip(start)
    }

    /// Returns the stack pointers of the threads that do not run.
    pub fn other_stacks(&self) -> Vec<u64> {
        self.others
            .values()
            .filter_map(|thread| thread.sp())
            .collect()
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
        // The debugger may have changed their registers.
        for thread in self.others.values_mut() {
            thread.place = None;
        }
        self.take_snapshot(Moment::Start)
    }

    /// Adds the hash of the state after the last event if it is due.
    pub(super) fn hash_last(&mut self, now: Instant) {
        if now >= self.hash_due {
            self.hash_end();
        }
    }

    /// Adds the hash of the state after the last event, which is the end: what of memory is not like the program's then,
    /// was changed by something that is in no log.
    pub(super) fn hash_end(&mut self) {
        if self.hashes == HashEvents::Never {
            return;
        }
        let now = Instant::now();
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
