//! Records a program: each system call is a stop, and an event of the log.

use super::super::copy::{Copies, CopyParent};
use super::super::procfs;
use super::calls::{self, Class, Plan, Special};
use super::family::{Birth, Family};
use super::log::{Effect, Entry, Log, Written, read_outputs};
use super::processor::Processors;
use super::registers::Registers;
use super::signals::Held;
use super::snapshots::Snapshots;
use super::tracee::{self, Stop, Tracee};
use super::{borrowed, hash, mapping, own, scratch, start, timer};
use crate::os::linux::ptrace;
use crate::os::recording::{HashEvents, ProgramEnd};
use dwarf::LoadAddr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The most memory that a log takes: 1 GiB.
const MOST_BYTES: usize = 1 << 30;
/// The most programs that a process may execute one after the other in a recording.
const MOST_STARTS: usize = 64;
/// Hashing takes a third of the time at most.
const HASH_SHARE: u32 = 2;

/// The internal results of interrupted calls: ERESTARTSYS to ERESTART_RESTARTBLOCK.
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;
const RESTART_BY_KERNEL: i64 = -516;

/// What follows of a system call when it ends.
enum Kind {
    Log(Plan),
    /// Its outputs are not known: it has to fail.
    LogIfFailed,
    Repeat,
    Map,
    MapFile(File),
    Processors,
    SignalReturn,
    /// `birth`: its arguments are others than the program's.
    Fork {
        plan: Plan,
        birth: Option<Box<Birth>>,
    },
    Execute,
}

/// A system call that the program is in.
struct Call {
    entry: Entry,
    before: Registers,
    kind: Kind,
}

/// The recorder of one process.
pub struct Recorder {
    pub(super) head: Tracee,
    pub(super) process: OwnedFd,
    pub(super) log: Log,
    pub(super) snapshots: Snapshots,
    pub(super) held: Vec<Held>,
    /// The registers when the program has last been resumed at the end of a call.
    pub(super) boundary: Option<Registers>,
    call: Option<Call>,
    /// Where an interrupted call will write if it is continued.
    interrupted: Plan,
    family: Family,
    /// What a child has left in the memory of the program.
    given_back: Vec<Written>,
    copies: Copies,
    begun: Instant,
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
                let birth = match &self.call {
                    Some(Call {
                        kind: Kind::Fork { birth, .. },
                        ..
                    }) => birth.as_deref().copied(),
                    _ => None,
                };
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

    fn on_call(&mut self, registers: Registers) -> io::Result<()> {
        let number = registers.number();
        let entry = Entry::of(&registers);
        if !registers.is_long_mode() {
            self.end_recording("it executes 32-bit code".to_owned());
            return Ok(());
        }
        if self.log.bytes() > MOST_BYTES {
            self.end_recording("the log has reached 1 GiB".to_owned());
            return Ok(());
        }
        if self.deliver_before(registers) {
            return Ok(());
        }
        let Some(row) = calls::row(number) else {
            self.end_recording(format!(
                "it makes system call {number}, which is not listed"
            ));
            return Ok(());
        };
        let arguments = registers.arguments();
        let kind = match row.class {
            Class::Answer(result) => return self.answer(registers, result, Vec::new()),
            Class::Own(call, outputs) => match own::answer(call, &arguments, self.head.pid) {
                Some((result, written)) if self.write_all(&written) => {
                    return self.answer(registers, result, written);
                }
                _ => Kind::Log(self.plan(outputs, &arguments)),
            },
            Class::Refuse(reason) => {
                self.end_recording(format!("it calls {}: {reason}", row.name));
                return Ok(());
            }
            Class::Log(outputs) => Kind::Log(self.plan(outputs, &arguments)),
            Class::LogBy(outputs) => match outputs(&arguments) {
                Some(outputs) => Kind::Log(self.plan(outputs, &arguments)),
                None => Kind::LogIfFailed,
            },
            Class::Repeat => Kind::Repeat,
            Class::Special(Special::Map) => match mapping::of(&arguments) {
                Ok(mapping::Mapped::Anonymous) => Kind::Map,
                Ok(mapping::Mapped::File(descriptor)) => {
                    match mapping::file(&self.process, descriptor) {
                        Some(file) => Kind::MapFile(file),
                        // The call will fail, too.
                        None => Kind::Log(Plan::default()),
                    }
                }
                Err(reason) => {
                    self.end_recording(reason.to_owned());
                    return Ok(());
                }
            },
            Class::Special(Special::Advise) => match mapping::advice(arguments[2]) {
                mapping::Advice::Answer(result) => {
                    return self.answer(registers, result, Vec::new());
                }
                mapping::Advice::Log => Kind::Log(Plan::default()),
                mapping::Advice::Repeat => Kind::Repeat,
            },
            Class::Special(Special::Fork) => match self.fork(&registers) {
                Some(kind) => kind,
                None => return Ok(()),
            },
            Class::Special(Special::SetProcessors) => match self.is_own(arguments[0]) {
                true => return self.answer(registers, 0, Vec::new()),
                false => Kind::Log(Plan::default()),
            },
            Class::Special(Special::Processors) => Kind::Processors,
            Class::Special(Special::Execute) => Kind::Execute,
            Class::Special(Special::SignalReturn) => Kind::SignalReturn,
            Class::Special(Special::Restart) => Kind::Log(self.interrupted.clone()),
            Class::Special(Special::Exit) => {
                self.log.push(entry, Effect::Exit);
                self.hash_last(Instant::now());
                self.resume(0);
                return Ok(());
            }
        };
        self.call = Some(Call {
            entry,
            before: registers,
            kind,
        });
        self.head.resume_to_call_end();
        Ok(())
    }

    /// Returns whether an argument stands for the program's thread.
    fn is_own(&self, pid: u64) -> bool {
        pid as i32 == 0 || pid as i32 == self.head.pid
    }

    fn plan(&self, outputs: &[calls::Output], arguments: &[u64; 6]) -> Plan {
        let read = |addr: u64, bytes: &mut [u8]| self.head.read_into(addr, bytes);
        Plan::of(outputs, arguments, &read)
    }

    /// Writes what a call would write. Returns false if the program has given a wrong address.
    fn write_all(&self, written: &[Written]) -> bool {
        let mut all = written.iter();
        all.all(|(addr, bytes)| self.head.write(*addr, bytes).is_ok())
    }

    /// Answers a system call instead of the kernel.
    fn answer(
        &mut self,
        mut registers: Registers,
        result: i64,
        written: Vec<Written>,
    ) -> io::Result<()> {
        let entry = Entry::of(&registers);
        self.log.push(entry, call_of(result, written.into()));
        registers.answer(result);
        registers.write(self.head.thread());
        self.boundary = Some(registers);
        self.resume(0);
        Ok(())
    }

    /// Returns how the creation of a process is recorded; `None`: the recording has ended. The new
    /// process never shares the memory of the recorded one, which would change without a log.
    fn fork(&mut self, before: &Registers) -> Option<Kind> {
        const UNTRACED: u64 = 0x0080_0000;
        let mut changed = *before;
        let mut plan = Plan::default();
        let mut borrows = false;
        match before.number() {
            libc::SYS_fork => {}
            libc::SYS_vfork => {
                borrows = true;
                changed.set_number(libc::SYS_clone);
                changed.set_argument(0, (libc::CLONE_VFORK | libc::SIGCHLD) as u64);
                for nth in 1..6 {
                    changed.set_argument(nth, 0);
                }
            }
            _ => {
                let flags = before.arguments()[0];
                let has = |flag: i32| flags & flag as u32 as u64 != 0;
                if has(libc::CLONE_VM) && !has(libc::CLONE_VFORK) || has(libc::CLONE_THREAD) {
                    self.end_recording("it starts a thread".to_owned());
                    return None;
                }
                if has(libc::CLONE_PARENT_SETTID) || has(libc::CLONE_PIDFD) {
                    let output = [calls::Output::Buffer(2, calls::Length::Bytes(4))];
                    plan = self.plan(&output, &before.arguments());
                }
                borrows = has(libc::CLONE_VM);
                let shared = (libc::CLONE_VM | libc::CLONE_SIGHAND) as u64;
                changed.set_argument(0, flags & !(shared | UNTRACED));
            }
        }
        let is_changed = changed != *before;
        if is_changed {
            changed.write(self.head.thread());
        }
        let birth = is_changed.then(|| {
            Box::new(Birth {
                call: *before,
                borrows,
            })
        });
        Some(Kind::Fork { plan, birth })
    }

    fn on_call_end(&mut self) -> io::Result<()> {
        let mut after = self.head.registers()?;
        let Some(call) = self.call.take() else {
            self.resume(0);
            return Ok(());
        };
        let result = after.result();
        let is_interrupted = RESTARTS.contains(&result);
        let effect = match call.kind {
            Kind::Log(plan) => {
                let Ok(written) = plan.written(result) else {
                    self.end_recording(format!(
                        "{} writes too much",
                        calls::name(call.entry.number)
                    ));
                    return Ok(());
                };
                let outputs = read_outputs(&self.head, written);
                match is_interrupted {
                    true => {
                        self.interrupted = plan;
                        interrupted(result, call.entry.number, outputs)
                    }
                    false => Effect::Call {
                        result,
                        outputs,
                        bases: (after.bases() != call.before.bases()).then(|| after.bases()),
                    },
                }
            }
            Kind::LogIfFailed if is_interrupted => {
                interrupted(result, call.entry.number, Box::default())
            }
            Kind::LogIfFailed if result >= 0 => {
                let [first, second, ..] = call.entry.arguments;
                let name = calls::name(call.entry.number);
                self.end_recording(format!(
                    "it calls {name}({first:#x}, {second:#x}), whose outputs are not listed"
                ));
                return Ok(());
            }
            Kind::LogIfFailed | Kind::Execute => call_of(result, Box::default()),
            Kind::Processors => {
                let [thread, _, addr, ..] = call.entry.arguments;
                let len = usize::try_from(result).unwrap_or(0);
                let bits = self.family.processors().bits();
                if let Some(bits) = bits.get(..len).filter(|_| self.is_own(thread)) {
                    self.head.write(addr, bits)?;
                }
                call_of(result, read_outputs(&self.head, vec![(addr, len)]))
            }
            Kind::Repeat => Effect::Repeat { result },
            Kind::Map if result < 0 && result > -4096 => call_of(result, Box::default()),
            Kind::MapFile(_) if result < 0 && result > -4096 => call_of(result, Box::default()),
            Kind::Map => Effect::Map { result },
            Kind::MapFile(file) => Effect::MapFile {
                result,
                file: self.log.keep(file)?,
            },
            Kind::SignalReturn => Effect::SignalReturn(Box::new(self.state(after))),
            Kind::Fork { plan, birth } => {
                if birth.is_some() {
                    after.take_arguments(&call.before);
                    after.write(self.head.thread());
                }
                match is_interrupted {
                    // A signal has come before the process was created.
                    true => interrupted(result, call.entry.number, Box::default()),
                    false => {
                        let written = plan.written(result).unwrap_or_default();
                        let mut outputs = std::mem::take(&mut self.given_back);
                        outputs.extend(read_outputs(&self.head, written));
                        call_of(result, outputs.into_boxed_slice())
                    }
                }
            }
        };
        self.log.push(call.entry, effect);
        self.boundary = Some(after);
        if !is_interrupted {
            let now = Instant::now();
            self.hash_last(now);
            if self.snapshots.is_due(now - self.begun) {
                self.take_snapshot(false)?;
            }
        }
        self.resume(0);
        Ok(())
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
    fn take_snapshot(&mut self, is_start: bool) -> io::Result<()> {
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
    fn hash_last(&mut self, now: Instant) {
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

/// Returns the effect of a call that only has a result and outputs.
fn call_of(result: i64, outputs: Box<[Written]>) -> Effect {
    Effect::Call {
        result,
        outputs,
        bases: None,
    }
}

fn interrupted(result: i64, number: i64, outputs: Box<[Written]>) -> Effect {
    let repeated_as = match result {
        RESTART_BY_KERNEL => libc::SYS_restart_syscall,
        _ => number,
    };
    Effect::Interrupted {
        repeated_as,
        outputs,
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
