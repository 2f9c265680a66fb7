//! Replays a recording: a copy of a snapshot runs, and the log answers its system calls. The copy has no
//! descriptors, and does nothing to the world.

use super::super::copy::{Copies, CopyParent, ProcessCopy};
use super::super::ptrace;
use super::buffer::{Arrival, Refill};
use super::calls::{Class, Special};
use super::log::{Effect, Entry, Event, Log, Written};
use super::patches::{self, Patches};
use super::registers::Registers;
use super::snapshots::Snapshot;
use super::tracee::{Stop, Tracee};
use super::{buffer, calls, hash, scratch, signals};
use crate::ids::{Signal, ThreadId};
use crate::os::recording::{Difference, Divergence, Place};
use crate::os::{Resume, ThreadEvent};
use dwarf::LoadAddr;
use std::io;
use std::os::fd::AsRawFd;

/// What a replay has compared.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Compared {
    /// Events at which all registers were compared.
    pub events: usize,
    /// Events after which all writable memory was compared.
    pub hashes: usize,
}

/// A replay from a snapshot.
pub struct Replay {
    /// Ends the process.
    _copy: ProcessCopy,
    pub tracee: Tracee,
    refill: Refill,
    /// The debugger's patches in it.
    pub patches: Patches,
    /// The event of the snapshot.
    from: usize,
    /// The next event.
    pub next: usize,
    compared: Compared,
    /// The event before which it stops.
    pause_at: Option<usize>,
    /// Whether the debugger has resumed it for one instruction.
    is_stepping: bool,
    /// Whether it was interrupted in the stub of the buffer, and leaves that before it is seen.
    is_leaving: bool,
    /// Whether it stops when memory was mapped.
    pub sees_mappings: bool,
    /// Whether it does not follow the log.
    is_trial: bool,
}

/// What a replay does after a stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replayed {
    /// It runs on.
    GoesOn,
    /// It is stopped, as a debugger sees it.
    Seen(ThreadEvent),
    /// It is stopped, and has mapped memory.
    Mapped,
    /// It is stopped before the event that it was to stop at.
    Reached,
    /// The program ends or executes another one, or the recording ends.
    End,
}

impl Replay {
    /// Begins at a snapshot, which stays.
    ///
    /// # Errors
    /// The system has no memory or processes left, or the snapshot was killed.
    pub fn begin(snapshot: &Snapshot, copies: &Copies) -> io::Result<Replay> {
        let mut replay = Replay::of(snapshot.copy.thread(), snapshot.next, copies)?;
        replay.refill = Refill::begin(&replay.tracee)?;
        patches::remove(&snapshot.patches, &replay.tracee);
        Ok(replay)
    }

    /// Makes a copy of it where it is stopped.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub fn copy(&self, copies: &Copies) -> io::Result<Replay> {
        let mut copy = Replay::of(self.tracee.thread(), self.next, copies)?;
        copy.pause_at = self.pause_at;
        copy.sees_mappings = self.sees_mappings;
        copy.refill = self.refill.clone();
        copy.patches = self.patches.copy();
        Ok(copy)
    }

    /// Makes a copy of a stopped thread's process that does not follow the log.
    ///
    /// # Errors
    /// The system has no memory or processes left.
    pub fn trial(thread: ThreadId, next: usize, copies: &Copies) -> io::Result<Replay> {
        let mut trial = Replay::of(thread, next, copies)?;
        trial.is_trial = true;
        buffer::pass(&trial.tracee);
        Ok(trial)
    }

    /// Begins as a copy of a stopped thread's process, before the event `next`.
    fn of(thread: ThreadId, next: usize, copies: &Copies) -> io::Result<Replay> {
        let at = LoadAddr(scratch::CALL);
        let copy = copies
            .copy_process(thread, at, CopyParent::OfCopied)
            .map_err(|error| io::Error::other(error.to_string()))?;
        ptrace::set_options_for_recording(copy.thread())?;
        let tracee = Tracee::new(copy.pid())?;
        Ok(Replay {
            _copy: copy,
            tracee,
            refill: Refill::default(),
            patches: Patches::default(),
            from: next,
            next,
            compared: Compared::default(),
            pause_at: None,
            is_stepping: false,
            is_leaving: false,
            sees_mappings: false,
            is_trial: false,
        })
    }

    /// Makes it stop before an event.
    pub fn pause_at(&mut self, event: Option<usize>) {
        self.pause_at = event;
    }

    /// Runs to the end of the program, or of the recording. Returns what was compared.
    ///
    /// # Errors
    /// The first difference, or what the system refuses.
    pub fn run_to_end(mut self, log: &Log) -> Result<Compared, Divergence> {
        if self.next >= log.events.len() {
            return Ok(self.compared);
        }
        self.pause_at = Some(log.events.len());
        let mut outcome = self.resume(log, Resume::Continue, 0)?;
        loop {
            outcome = match outcome {
                Replayed::GoesOn => {
                    let stop = self.tracee.wait();
                    self.on_stop(log, stop)?
                }
                Replayed::Reached | Replayed::End => return Ok(self.compared),
                Replayed::Seen(ThreadEvent::Signal(signal)) => {
                    let text = format!("it raised signal {}", signal.0);
                    return Err(self.diverged(log, Difference::Stop(text)));
                }
                // Of nothing that the program does.
                Replayed::Seen(_) | Replayed::Mapped => self.resume(log, Resume::Continue, 0)?,
            };
        }
    }

    /// Resumes it. What is due without an instruction in between, is done first.
    ///
    /// # Errors
    /// The system refuses something.
    pub fn resume(&mut self, log: &Log, how: Resume, signal: i32) -> Result<Replayed, Divergence> {
        self.is_stepping = how == Resume::Step;
        if !self.is_trial
            && let Some(outcome) = self.settle(log)?
        {
            return Ok(outcome);
        }
        self.tracee.go(self.is_stepping, signal);
        Ok(Replayed::GoesOn)
    }

    /// Enters the handlers of signals that were delivered here, and puts in the records before the next
    /// event. Returns what stops the replay here.
    fn settle(&mut self, log: &Log) -> Result<Option<Replayed>, Divergence> {
        loop {
            if self.pause_at == Some(self.next) && !self.is_in_own_call() {
                self.pause_at = None;
                return Ok(Some(Replayed::Reached));
            }
            let event = log.events.get(self.next);
            let Some(Effect::Signal {
                is_of_instruction: false,
                ..
            }) = event.map(|event| &event.effect)
            else {
                let ready = (self.refill).fill(&self.tracee, log, self.next, &self.patches);
                ready.map_err(|error| self.refused(log, &error))?;
                return Ok(None);
            };
            if self.is_in_own_call() {
                return Ok(None);
            }
            self.apply_signal(log)?;
            if self.is_stepping {
                return Ok(Some(Replayed::Seen(ThreadEvent::Signal(Signal::TRAP))));
            }
        }
    }

    /// Returns whether the debugger makes it execute a system call of its own.
    fn is_in_own_call(&self) -> bool {
        let registers = self.tracee.registers();
        registers.is_ok_and(|registers| registers.pc() == scratch::CALL)
    }

    /// Handles a stop of its process.
    ///
    /// # Errors
    /// The first difference to the recording, or what the system refuses.
    pub fn on_stop(&mut self, log: &Log, stop: Stop) -> Result<Replayed, Divergence> {
        if self.is_trial {
            return Ok(self.on_trial_stop(stop));
        }
        let event = log.events.get(self.next);
        match (stop, event.map(|event| &event.effect)) {
            (Stop::Call, _) => self.on_call(log),
            (Stop::Signal(libc::SIGSEGV), Some(Effect::TimeStamp(value))) => {
                let mut registers = self.compare_here(log)?;
                if let Some((len, rcx)) = self.tracee.time_stamp_instruction(registers.pc()) {
                    registers.complete_time_stamp(*value, len, rcx);
                    registers.write(self.tracee.thread());
                }
                self.next += 1;
                self.go_on(log, false)
            }
            (Stop::Signal(number), Some(Effect::Signal { signal, .. }))
                if *signal == number && (number != libc::SIGTRAP || self.is_at_event(log)) =>
            {
                self.compare_here(log)?;
                self.apply_signal(log)?;
                self.go_on(log, false)
            }
            (Stop::Exited(_) | Stop::Killed(_), _) => {
                let text = "the process has ended".to_owned();
                Err(self.diverged(log, Difference::Stop(text)))
            }
            (Stop::Signal(libc::SIGTRAP), _)
                if (self.is_stepping || self.is_leaving) && self.is_in_buffer() =>
            {
                buffer::step_on(&self.tracee);
                Ok(Replayed::GoesOn)
            }
            (Stop::Signal(libc::SIGTRAP), _) if std::mem::take(&mut self.is_leaving) => {
                Ok(Replayed::Seen(ThreadEvent::Interrupted))
            }
            (Stop::Interrupted, _) if self.is_in_buffer() => {
                self.is_leaving = true;
                buffer::step_on(&self.tracee);
                Ok(Replayed::GoesOn)
            }
            (Stop::Signal(_) | Stop::Interrupted | Stop::Group(_), _) => Ok(match stop.seen() {
                Some(event) => Replayed::Seen(event),
                None => Replayed::GoesOn,
            }),
            _ => {
                self.tracee.go(self.is_stepping, 0);
                Ok(Replayed::GoesOn)
            }
        }
    }

    /// Handles a stop of a process that does not follow the log: only calls that concern its memory are
    /// made.
    fn on_trial_stop(&mut self, stop: Stop) -> Replayed {
        let killed = Replayed::Seen(ThreadEvent::Signal(Signal(libc::SIGKILL)));
        match stop {
            Stop::Call => {
                let Ok(mut registers) = self.tracee.registers() else {
                    return killed;
                };
                let row = calls::row(registers.number());
                match row.map(|row| &row.class) {
                    Some(Class::Special(Special::Exit)) => {
                        // The function that was called does not return.
                        return Replayed::Seen(ThreadEvent::Signal(Signal(libc::SIGSYS)));
                    }
                    Some(
                        Class::Repeat
                        | Class::Own(..)
                        | Class::Special(Special::Map | Special::Advise),
                    ) => {
                        if self.tracee.leave_call().is_err() {
                            return killed;
                        }
                    }
                    _ => {
                        registers.answer(-i64::from(libc::ENOSYS));
                        registers.write(self.tracee.thread());
                        if self.is_stepping && self.tracee.leave_call().is_err() {
                            return killed;
                        }
                    }
                }
                if self.is_stepping {
                    return Replayed::Seen(ThreadEvent::Signal(Signal::TRAP));
                }
                self.tracee.go(false, 0);
                Replayed::GoesOn
            }
            Stop::Exited(_) | Stop::Killed(_) => killed,
            Stop::Signal(_) | Stop::Interrupted | Stop::Group(_) => match stop.seen() {
                Some(event) => Replayed::Seen(event),
                None => Replayed::GoesOn,
            },
            _ => {
                self.tracee.go(self.is_stepping, 0);
                Replayed::GoesOn
            }
        }
    }

    /// Runs on behind an event. `is_answered`: the kernel still has to skip its system call.
    fn go_on(&mut self, log: &Log, is_answered: bool) -> Result<Replayed, Divergence> {
        let paused = self.settle(log)?;
        if self.is_stepping || paused.is_some() {
            if is_answered {
                self.tracee
                    .leave_call()
                    .map_err(|error| self.refused(log, &error))?;
            }
            return Ok(paused.unwrap_or(Replayed::Seen(ThreadEvent::Signal(Signal::TRAP))));
        }
        self.tracee.go(false, 0);
        Ok(Replayed::GoesOn)
    }

    /// Returns whether its thread is in the code of the buffer.
    fn is_in_buffer(&self) -> bool {
        let registers = self.tracee.registers();
        registers.is_ok_and(|registers| self.refill.holds(registers.pc()))
    }

    /// Returns whether its registers are those of the next event.
    fn is_at_event(&self, log: &Log) -> bool {
        let registers = self.tracee.registers().ok();
        let event = log.events.get(self.next);
        registers
            .zip(event)
            .is_some_and(|(registers, event)| Entry::of(&registers).pc == event.entry.pc)
    }

    fn on_call(&mut self, log: &Log) -> Result<Replayed, Divergence> {
        if std::mem::take(&mut self.is_leaving) {
            let interrupted = ptrace::interrupt(self.tracee.thread());
            interrupted.map_err(|error| self.refused(log, &error))?;
        }
        let arrival = (self.refill).on_call(&self.tracee, log, self.next, &self.patches);
        match arrival.map_err(|error| self.refused(log, &error))? {
            Arrival::AtEvent => {}
            Arrival::Answered => return self.go_on(log, true),
        }
        let registers = self.tracee.registers_at_call();
        let registers = registers.map_err(|error| self.refused(log, &error))?;
        let registers = self.compare(log, registers)?;
        let Some(event) = log.events.get(self.next) else {
            return Ok(Replayed::End);
        };
        let is_answered = match self.apply(log, event, registers) {
            Ok(Applied::Answered) => true,
            Ok(Applied::Executed) => false,
            Ok(Applied::End) => {
                self.next += 1;
                return Ok(Replayed::End);
            }
            Ok(Applied::OtherResult(found)) => {
                return Err(self.diverged(log, Difference::Result(found)));
            }
            Err(error) => return Err(self.refused(log, &error)),
        };
        if let Some(expected) = event.hash {
            if hash::of(&self.tracee) != expected {
                return Err(self.diverged(log, Difference::Memory));
            }
            self.compared.hashes += 1;
        }
        self.next += 1;
        if !is_answered && self.sees_mappings && !self.is_stepping {
            return Ok(Replayed::Mapped);
        }
        self.go_on(log, is_answered)
    }

    /// Compares the registers that the thread has with those of the next event.
    fn compare_here(&mut self, log: &Log) -> Result<Registers, Divergence> {
        let registers = self.tracee.registers();
        let registers = registers.map_err(|error| self.refused(log, &error))?;
        self.compare(log, registers)
    }

    /// Compares registers with those of the next event.
    fn compare(&mut self, log: &Log, registers: Registers) -> Result<Registers, Divergence> {
        let Some(event) = log.events.get(self.next) else {
            return Ok(registers);
        };
        if !self.refill.is_at_end(&self.tracee) {
            let text = "it was reached after fewer system calls".to_owned();
            return Err(self.diverged(log, Difference::Stop(text)));
        }
        let found = Entry::of(&registers);
        let is_time_stamp = matches!(event.effect, Effect::TimeStamp(_) | Effect::Signal { .. });
        let is_same = match is_time_stamp {
            // Which call the thread has made last, does not matter.
            true => {
                Entry {
                    number: event.entry.number,
                    ..found
                } == event.entry
            }
            false => found == event.entry,
        };
        if !is_same {
            let places = Box::new([place(&event.entry), place(&found)]);
            return Err(self.diverged(log, Difference::Registers(places)));
        }
        self.compared.events += 1;
        Ok(registers)
    }

    fn apply(&self, log: &Log, event: &Event, mut registers: Registers) -> io::Result<Applied> {
        let thread = self.tracee.thread();
        match &event.effect {
            Effect::Call {
                result,
                outputs,
                bases,
            } => {
                self.write_all(outputs)?;
                registers.answer(*result);
                if let Some(bases) = bases {
                    registers.set_bases(*bases);
                }
                registers.write(thread);
            }
            Effect::Interrupted {
                repeated_as,
                outputs,
            } => {
                self.write_all(outputs)?;
                registers.repeat_call(*repeated_as);
                registers.write(thread);
            }
            Effect::Repeat { result } => return self.execute(registers, registers, *result),
            Effect::Map { result } => {
                let mut fixed = registers;
                fixed.set_argument(0, *result as u64);
                fixed.set_argument(3, fixed_flags(registers.arguments()[3]));
                return self.execute(fixed, registers, *result);
            }
            Effect::MapFile { result, file } => {
                return self.map_file(log, registers, *result, *file);
            }
            Effect::SignalReturn(state) => {
                signals::restore(thread, state);
            }
            Effect::Execute | Effect::Exit => return Ok(Applied::End),
            Effect::Signal { .. } | Effect::TimeStamp(_) => {
                return Err(io::Error::other("a system call where there was none"));
            }
        }
        Ok(Applied::Answered)
    }

    /// Lets the kernel execute the system call with other arguments, which the program does not see.
    fn execute(&self, call: Registers, seen: Registers, expected: i64) -> io::Result<Applied> {
        if call != seen {
            call.write(self.tracee.thread());
        }
        self.tracee.leave_call()?;
        let mut after = self.tracee.registers()?;
        if after.result() != expected {
            return Ok(Applied::OtherResult(after.result()));
        }
        if call != seen {
            after.take_arguments(&seen);
            after.write(self.tracee.thread());
        }
        Ok(Applied::Executed)
    }

    /// Maps a file that the recorder has kept, by a descriptor that the copy has for a moment.
    fn map_file(
        &self,
        log: &Log,
        before: Registers,
        expected: i64,
        file: usize,
    ) -> io::Result<Applied> {
        let file = log.files.get(file);
        let file = file.ok_or_else(|| io::Error::other("the file was not kept"))?;
        let mut skipped = before;
        skipped.set_number(-1);
        skipped.write(self.tracee.thread());
        self.tracee.leave_call()?;
        let path = format!("/proc/{}/fd/{}\0", std::process::id(), file.as_raw_fd());
        self.tracee.write(scratch::ROOM, path.as_bytes())?;
        let access = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
        let [descriptor] =
            (self.tracee).inject([(libc::SYS_open, [scratch::ROOM, access, 0, 0, 0, 0])])?;
        if descriptor < 0 {
            return Err(io::Error::from_raw_os_error(-descriptor as i32));
        }
        let [_, len, access, flags, _, offset] = before.arguments();
        let flags = fixed_flags(flags);
        let map = [
            expected as u64,
            len,
            access,
            flags,
            descriptor as u64,
            offset,
        ];
        let close = [descriptor as u64, 0, 0, 0, 0, 0];
        let [mapped, _] = self
            .tracee
            .inject([(libc::SYS_mmap, map), (libc::SYS_close, close)])?;
        self.tracee.write(scratch::ROOM, &vec![0; path.len()])?;
        if mapped != expected {
            return Ok(Applied::OtherResult(mapped));
        }
        let mut after = before;
        after.answer(expected);
        after.write(self.tracee.thread());
        Ok(Applied::Executed)
    }

    /// Enters the handler of a signal.
    fn apply_signal(&mut self, log: &Log) -> Result<(), Divergence> {
        let event = log.events.get(self.next);
        if let Some(Effect::Signal { frame, state, .. }) = event.map(|event| &event.effect) {
            let written = self.tracee.write(frame.0, &frame.1);
            written.map_err(|error| self.refused(log, &error))?;
            signals::restore(self.tracee.thread(), state);
        }
        self.next += 1;
        Ok(())
    }

    fn write_all(&self, outputs: &[Written]) -> io::Result<()> {
        for (addr, bytes) in outputs {
            self.tracee.write(*addr, bytes)?;
        }
        Ok(())
    }

    fn diverged(&self, log: &Log, difference: Difference) -> Divergence {
        let event = log.events.get(self.next);
        Divergence {
            snapshot: self.from,
            event: self.next,
            call: event.map_or_else(String::new, |event| calls::name(event.entry.number)),
            difference,
        }
    }

    fn refused(&self, log: &Log, error: &io::Error) -> Divergence {
        self.diverged(log, Difference::Stop(error.to_string()))
    }
}

enum Applied {
    /// The kernel still has to skip the call.
    Answered,
    /// The kernel has made the call.
    Executed,
    End,
    /// The kernel has returned this.
    OtherResult(i64),
}

/// Returns the flags of a mapping at exactly the address that it had.
fn fixed_flags(flags: u64) -> u64 {
    flags & !(libc::MAP_FIXED_NOREPLACE as u64) | libc::MAP_FIXED as u64
}

fn place(entry: &Entry) -> Place {
    Place {
        call: calls::name(entry.number),
        pc: entry.pc,
        sp: entry.sp,
        arguments: entry.arguments,
    }
}
