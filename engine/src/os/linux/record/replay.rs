//! Replays a recording: a copy of a snapshot runs, and the log answers its system calls. The copy has no
//! descriptors, and does nothing to the world.

use super::super::copy::{Copies, CopyParent, ProcessCopy};
use super::super::ptrace;
use super::log::{Effect, Entry, Event, Log, Written};
use super::registers::Registers;
use super::snapshots::Snapshot;
use super::tracee::{Stop, Tracee};
use super::{calls, hash, scratch, signals};
use crate::os::recording::{Difference, Divergence, Place};
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
pub struct Replay<'a> {
    log: &'a Log,
    /// Ends the process.
    _copy: ProcessCopy,
    tracee: Tracee,
    /// The event of the snapshot.
    from: usize,
    next: usize,
    compared: Compared,
}

/// Whether the replay goes on.
enum Step {
    GoOn,
    /// The program ends, or executes another one.
    End,
}

impl<'a> Replay<'a> {
    /// Begins at a snapshot, which stays.
    ///
    /// # Errors
    /// The system has no memory or processes left, or the snapshot was killed.
    pub fn begin(log: &'a Log, snapshot: &Snapshot, copies: &Copies) -> io::Result<Replay<'a>> {
        let at = LoadAddr(scratch::CALL);
        let copy = copies
            .copy_process(snapshot.copy.thread(), at, CopyParent::OfCopied)
            .map_err(|error| io::Error::other(error.to_string()))?;
        ptrace::set_options_for_recording(copy.thread())?;
        let tracee = Tracee::new(copy.pid())?;
        Ok(Replay {
            log,
            _copy: copy,
            tracee,
            from: snapshot.next,
            next: snapshot.next,
            compared: Compared::default(),
        })
    }

    /// Runs to the end of the program, or of the recording. Returns what was compared.
    ///
    /// # Errors
    /// The first difference, or what the system refuses.
    pub fn run(mut self) -> Result<Compared, Divergence> {
        while let Some(event) = self.log.events.get(self.next) {
            if let Effect::Signal {
                is_of_instruction: false,
                ..
            } = event.effect
            {
                // Without an instruction in between.
                self.apply_signal(event)
                    .map_err(|error| self.refused(&error))?;
                self.next += 1;
                continue;
            }
            self.tracee.resume(0);
            let stop = self.tracee.wait();
            match self.on_stop(stop, event)? {
                Step::GoOn => {}
                Step::End => break,
            }
        }
        Ok(self.compared)
    }

    fn on_stop(&mut self, stop: Stop, event: &'a Event) -> Result<Step, Divergence> {
        match stop {
            Stop::Call => self.on_call(event),
            Stop::Signal(libc::SIGSEGV) if matches!(event.effect, Effect::TimeStamp(_)) => {
                let mut registers = self.compare(event)?;
                let found = self.tracee.time_stamp_instruction(registers.pc());
                if let (Effect::TimeStamp(value), Some((len, rcx))) = (&event.effect, found) {
                    registers.complete_time_stamp(*value, len, rcx);
                    registers.write(self.tracee.thread());
                }
                self.next += 1;
                Ok(Step::GoOn)
            }
            Stop::Signal(number) => match &event.effect {
                Effect::Signal { signal, .. } if *signal == number => {
                    self.compare(event)?;
                    self.apply_signal(event)
                        .map_err(|error| self.refused(&error))?;
                    self.next += 1;
                    Ok(Step::GoOn)
                }
                _ => Err(self.diverged(Difference::Stop(format!("it raised signal {number}")))),
            },
            Stop::Exited(_) | Stop::Killed(_) => {
                Err(self.diverged(Difference::Stop("the process has ended".to_owned())))
            }
            // Of nothing that the program does.
            _ => Ok(Step::GoOn),
        }
    }

    fn on_call(&mut self, event: &Event) -> Result<Step, Divergence> {
        let registers = self.compare(event)?;
        let is_end = match self.apply(event, registers) {
            Ok(Applied::Done) => false,
            Ok(Applied::End) => true,
            Ok(Applied::OtherResult(found)) => {
                return Err(self.diverged(Difference::Result(found)));
            }
            Err(error) => return Err(self.refused(&error)),
        };
        if let Some(expected) = event.hash {
            if hash::of(&self.tracee) != expected {
                return Err(self.diverged(Difference::Memory));
            }
            self.compared.hashes += 1;
        }
        self.next += 1;
        Ok(if is_end { Step::End } else { Step::GoOn })
    }

    /// Compares the registers with those of an event.
    fn compare(&mut self, event: &Event) -> Result<Registers, Divergence> {
        let registers = (self.tracee.registers()).map_err(|error| self.refused(&error))?;
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
            return Err(self.diverged(Difference::Registers(Box::new([
                place(&event.entry),
                place(&found),
            ]))));
        }
        self.compared.events += 1;
        Ok(registers)
    }

    fn apply(&self, event: &Event, mut registers: Registers) -> io::Result<Applied> {
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
                return self.map_file(registers, *result, *file);
            }
            Effect::SignalReturn(state) => {
                // The kernel must not make the call: its registers are those of the result.
                let mut state_registers = state.registers;
                state_registers.set_number(-1);
                signals::restore(thread, state);
                state_registers.write(thread);
            }
            Effect::Execute | Effect::Exit => return Ok(Applied::End),
            Effect::Signal { .. } | Effect::TimeStamp(_) => {
                return Err(io::Error::other("a system call where there was none"));
            }
        }
        Ok(Applied::Done)
    }

    /// Lets the kernel execute the system call with other arguments, which the program does not see.
    fn execute(&self, call: Registers, seen: Registers, expected: i64) -> io::Result<Applied> {
        if call != seen {
            call.write(self.tracee.thread());
        }
        self.to_call_end()?;
        let mut after = self.tracee.registers()?;
        if after.result() != expected {
            return Ok(Applied::OtherResult(after.result()));
        }
        if call != seen {
            after.take_arguments(&seen);
            after.write(self.tracee.thread());
        }
        Ok(Applied::Done)
    }

    fn to_call_end(&self) -> io::Result<()> {
        loop {
            self.tracee.resume_to_call_end();
            match self.tracee.wait() {
                Stop::CallEnd => return Ok(()),
                stop if stop.is_end() => return Err(super::tracee::gone()),
                _ => {}
            }
        }
    }

    /// Maps a file that the recorder has kept, by a descriptor that the copy has for a moment.
    fn map_file(&self, before: Registers, expected: i64, file: usize) -> io::Result<Applied> {
        let file = self.log.files.get(file);
        let file = file.ok_or_else(|| io::Error::other("the file was not kept"))?;
        let mut skipped = before;
        skipped.set_number(-1);
        skipped.write(self.tracee.thread());
        self.to_call_end()?;
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
        Ok(Applied::Done)
    }

    fn apply_signal(&self, event: &Event) -> io::Result<()> {
        if let Effect::Signal { frame, state, .. } = &event.effect {
            self.tracee.write(frame.0, &frame.1)?;
            signals::restore(self.tracee.thread(), state);
        }
        Ok(())
    }

    fn write_all(&self, outputs: &[Written]) -> io::Result<()> {
        for (addr, bytes) in outputs {
            self.tracee.write(*addr, bytes)?;
        }
        Ok(())
    }

    fn diverged(&self, difference: Difference) -> Divergence {
        let event = self.log.events.get(self.next);
        Divergence {
            snapshot: self.from,
            event: self.next,
            call: event.map_or_else(String::new, |event| calls::name(event.entry.number)),
            difference,
        }
    }

    fn refused(&self, error: &io::Error) -> Divergence {
        self.diverged(Difference::Stop(error.to_string()))
    }
}

enum Applied {
    Done,
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
