//! Records a program: each system call is a stop, and an event of the log.

use super::super::copy::{Copies, CopyParent};
use super::super::procfs;
use super::call::Call;
use super::calls::Plan;
use super::family::Family;
use super::log::{Effect, Log, Written};
use super::processor::Processors;
use super::registers::Registers;
use super::signals::Held;
use super::snapshots::Snapshots;
use super::tracee::{self, Stop, Tracee};
use super::{borrowed, hash, scratch, start, timer};
use crate::os::linux::ptrace;
use crate::os::recording::{HashEvents, ProgramEnd};
use dwarf::LoadAddr;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The most programs that a process may execute one after the other in a recording.
const MOST_STARTS: usize = 64;
/// Hashing takes a third of the time at most.
const HASH_SHARE: u32 = 2;

/// The recorder of one process.
pub struct Recorder {
    pub(super) head: Tracee,
    pub(super) process: OwnedFd,
    pub(super) log: Log,
    pub(super) snapshots: Snapshots,
    pub(super) held: Vec<Held>,
    /// The registers when the program has last been resumed at the end of a call.
    pub(super) boundary: Option<Registers>,
    pub(super) call: Option<Call>,
    /// Where an interrupted call will write if it is continued.
    pub(super) interrupted: Plan,
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
}

/// A finished recording.
pub struct Recorded {
    pub log: Log,
    pub snapshots: Snapshots,
    pub ended_early: Option<String>,
    pub end: ProgramEnd,
    pub duration: Duration,
    pub copies: Copies,
}

impl Recorder {
    /// Begins with a program that [`start::start`] has started.
    ///
    /// # Errors
    /// The system refuses a snapshot.
    pub fn new(head: Tracee, hashes: HashEvents, processors: Processors) -> io::Result<Recorder> {
        let process = super::super::copy::open_process(head.pid)?;
        let mut recorder = Recorder {
            head,
            process,
            log: Log::default(),
            snapshots: Snapshots::default(),
            held: Vec::new(),
            boundary: None,
            call: None,
            interrupted: Plan::default(),
            family: Family::on(processors),
            given_back: Vec::new(),
            copies: Copies::default(),
            begun: Instant::now(),
            faults: 0,
            hashes,
            hash_due: Instant::now(),
            ended: None,
            end: None,
            starts: 0,
        };
        recorder.program_begins()?;
        Ok(recorder)
    }

    /// Records until the program and the processes that it has started have ended.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub fn run(mut self) -> io::Result<Recorded> {
        let _timer = timer::Ticks::start()?;
        let mut duration = None;
        self.resume(0);
        while self.end.is_none() || !self.family.is_empty() {
            let Some((pid, stop)) = tracee::next_stop()? else {
                self.on_tick();
                continue;
            };
            if pid == self.head.pid {
                self.on_stop(stop)?;
                if self.end.is_some() && duration.is_none() {
                    duration = Some(self.begun.elapsed());
                }
            } else if !self.copies.absorb_stop(pid, stop.is_end()) {
                if stop == Stop::Call && self.family.gives_back(pid) {
                    let child = Tracee::new(pid)?;
                    self.given_back = borrowed::give_back(&child, &self.head)?;
                }
                self.family.on_stop(pid, stop);
            }
        }
        Ok(Recorded {
            log: self.log,
            snapshots: self.snapshots,
            ended_early: self.ended,
            end: self.end.unwrap_or(ProgramEnd::Killed(libc::SIGKILL)),
            duration: duration.unwrap_or_default(),
            copies: self.copies,
        })
    }

    /// Lets the program run on outside of a system call.
    pub(super) fn resume(&self, signal: i32) {
        self.head.resume(signal);
    }

    fn on_stop(&mut self, stop: Stop) -> io::Result<()> {
        match stop {
            Stop::Exited(_) | Stop::Killed(_) => self.has_ended(stop),
            _ if self.ended.is_some() => self.family.on_stop(self.head.pid, stop),
            Stop::Call => {
                // The process may be killed at any stop; its end follows.
                let registers = self.head.registers();
                registers
                    .and_then(|registers| self.on_call(registers))
                    .or_else(|e| self.unless_killed(e))?;
            }
            Stop::CallEnd => self.on_call_end().or_else(|e| self.unless_killed(e))?,
            Stop::Signal(signal) => self.on_signal(signal).or_else(|e| self.unless_killed(e))?,
            Stop::Group => {
                if ptrace::listen(self.head.thread()).is_err() {
                    self.go_on();
                }
            }
            Stop::Interrupted => {
                if self.call.is_none() && self.snapshots.is_due(self.begun.elapsed()) {
                    self.take_snapshot(false)
                        .or_else(|e| self.unless_killed(e))?;
                }
                self.go_on();
            }
            Stop::Created(pid) => {
                let birth = self.call.as_ref().and_then(Call::birth);
                self.family.created(pid, birth);
                self.go_on();
            }
            Stop::Execed => self.on_exec().or_else(|e| self.unless_killed(e))?,
            Stop::Other => self.go_on(),
        }
        Ok(())
    }

    /// The program has ended while the recorder waited for something else.
    pub(super) fn has_ended(&mut self, stop: Stop) {
        self.family.on_stop(self.head.pid, stop);
        match stop {
            Stop::Exited(code) => self.end = Some(ProgramEnd::Exited(code)),
            Stop::Killed(signal) => self.end = Some(ProgramEnd::Killed(signal)),
            _ => {}
        }
    }

    /// Passes an error on unless the process was killed: its end is reported.
    fn unless_killed(&self, error: io::Error) -> io::Result<()> {
        match procfs::is_zombie(self.head.pid) || procfs::status(self.head.pid, "State").is_none() {
            true => Ok(()),
            false => Err(error),
        }
    }

    fn go_on(&self) {
        match self.call {
            Some(_) => self.head.resume_to_call_end(),
            None => self.resume(0),
        }
    }

    fn on_tick(&mut self) {
        if self.ended.is_none()
            && self.call.is_none()
            && self.snapshots.is_due(self.begun.elapsed())
        {
            let _ = ptrace::interrupt(self.head.thread());
        }
    }

    /// Ends the recording at a stop of the program, which runs on.
    pub(super) fn end_recording(&mut self, reason: String) {
        self.send_held();
        self.ended = Some(reason);
        self.call = None;
        self.family.adopt(self.head.pid);
    }

    fn on_exec(&mut self) -> io::Result<()> {
        let Some(call) = self.call.take() else {
            return Err(io::Error::other("a program was executed without a call"));
        };
        self.log.push(call.entry, Effect::Execute);
        self.starts += 1;
        self.head = Tracee::new(self.head.pid)?;
        if self.starts > MOST_STARTS {
            self.end_recording(format!("it has executed {MOST_STARTS} programs"));
            return Ok(());
        }
        start::prepare(&self.head)?;
        self.program_begins()?;
        self.resume(0);
        Ok(())
    }

    /// The program is at its first instruction.
    fn program_begins(&mut self) -> io::Result<()> {
        self.boundary = None;
        self.held.clear();
        self.take_snapshot(true)
    }

    /// Takes a snapshot of the stopped program. One that is no start may fail.
    pub(super) fn take_snapshot(&mut self, is_start: bool) -> io::Result<()> {
        let begun = Instant::now();
        let at = LoadAddr(scratch::CALL);
        let copy = self
            .copies
            .copy_process(self.head.thread(), at, CopyParent::OfCopied);
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
        let faults = faults(self.head.pid);
        let since = faults.saturating_sub(self.faults);
        self.faults = faults;
        let next = self.log.events.len();
        self.snapshots
            .add(copy, next, is_start, now, begun.elapsed(), since);
        Ok(())
    }

    /// Adds the hash of the state after the last event if it is due.
    pub(super) fn hash_last(&mut self, now: Instant) {
        if self.hashes == HashEvents::Never || now < self.hash_due {
            return;
        }
        let hash = hash::of(&self.head);
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
