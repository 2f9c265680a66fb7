//! What events have done, done again: to memory, registers and mappings, after the place was compared.

use super::super::calls;
use super::super::log::{Effect, Entry, Event, Log, Written};
use super::super::registers::Registers;
use super::super::{hash, scratch, signals};
use super::{Replay, Replayed};
use crate::os::recording::{Difference, Divergence, Place};
use std::io;
use std::os::fd::AsRawFd;

impl Replay {
    /// The running thread waits in its call from now on: the kernel skips the call, and the thread can be copied.
    pub(super) fn leave_waiting(&mut self, registers: Registers) -> io::Result<()> {
        let mut seen = registers;
        seen.set_number(-1);
        seen.write(self.running.tracee.thread());
        self.running.tracee.leave_call()?;
        seen.write(self.running.tracee.thread());
        self.running.waits = Some(registers);
        Ok(())
    }

    /// The call that the running thread waits in has ended.
    pub(super) fn end_wait(&mut self, log: &Log) -> Result<Option<Replayed>, Divergence> {
        let (Some(registers), Some(event)) = (self.running.waits.take(), log.events.get(self.next))
        else {
            return Ok(None);
        };
        let registers = self.compare(log, registers)?;
        match self.apply(log, event, registers) {
            Ok(Applied::Answered | Applied::Executed) => {}
            Ok(Applied::End) => {
                self.compare_hash(log)?;
                self.next += 1;
                return Ok(Some(Replayed::End));
            }
            Ok(Applied::OtherResult(found)) => {
                return Err(self.diverged(log, Difference::Result(found)));
            }
            Err(error) => return Err(self.refused(log, &error)),
        }
        self.compare_hash(log)?;
        self.next += 1;
        Ok(None)
    }

    pub(super) fn compare_hash(&mut self, log: &Log) -> Result<(), Divergence> {
        let Some(expected) = log.events.get(self.next).and_then(|event| event.hash) else {
            return Ok(());
        };
        if hash::of(&self.running.tracee, &self.other_stacks()) != expected {
            return Err(self.diverged(log, Difference::Memory));
        }
        self.compared.hashes += 1;
        Ok(())
    }

    /// Compares the registers that the thread has with those of the next event.
    pub(super) fn compare_here(&mut self, log: &Log) -> Result<Registers, Divergence> {
        let registers = self.running.tracee.registers();
        let registers = registers.map_err(|error| self.refused(log, &error))?;
        self.compare(log, registers)
    }

    /// Returns that the next event was reached before calls that the recorded program has made first.
    pub(super) fn too_early(&self, log: &Log) -> Divergence {
        let awaited = self.refill.awaited(&self.running.tracee);
        let awaited = awaited.map_or("another".to_owned(), |it| calls::name(it.into()));
        let registers = self.running.tracee.registers();
        let here = registers.map_or(String::new(), |it| {
            format!(", and not {} at {:#x}", calls::name(it.number()), it.pc())
        });
        let text = format!("it was reached after fewer system calls: {awaited} is next{here}");
        self.diverged(log, Difference::Stop(text))
    }

    /// Compares registers with those of the next event.
    pub(super) fn compare(
        &mut self,
        log: &Log,
        registers: Registers,
    ) -> Result<Registers, Divergence> {
        let Some(event) = log.events.get(self.next) else {
            return Ok(registers);
        };
        if !self.refill.is_at_end(&self.running.tracee) {
            return Err(self.too_early(log));
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

    pub(super) fn apply(
        &self,
        log: &Log,
        event: &Event,
        mut registers: Registers,
    ) -> io::Result<Applied> {
        let thread = self.running.tracee.thread();
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
            Effect::Repeat { result } => {
                return self.execute(moved_to(registers, *result), registers, *result);
            }
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
            Effect::Signal { .. }
            | Effect::TimeStamp(_)
            | Effect::Preempt(_)
            | Effect::Wait
            | Effect::Thread { .. }
            | Effect::ThreadExit { .. } => {
                return Err(io::Error::other("a system call where there was none"));
            }
        }
        Ok(Applied::Answered)
    }

    /// Lets the kernel execute the system call with other arguments, which the program does not see.
    pub(super) fn execute(
        &self,
        call: Registers,
        seen: Registers,
        expected: i64,
    ) -> io::Result<Applied> {
        if call != seen {
            call.write(self.running.tracee.thread());
        }
        self.running.tracee.leave_call()?;
        let mut after = self.running.tracee.registers()?;
        if after.result() != expected {
            return Ok(Applied::OtherResult(after.result()));
        }
        if call != seen {
            after.take_arguments(&seen);
            after.write(self.running.tracee.thread());
        }
        Ok(Applied::Executed)
    }

    /// Maps a file that the recorder has kept, by a descriptor that the copy has for a moment.
    pub(super) fn map_file(
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
        skipped.write(self.running.tracee.thread());
        self.running.tracee.leave_call()?;
        let path = format!("/proc/{}/fd/{}\0", std::process::id(), file.as_raw_fd());
        self.running.tracee.write(scratch::ROOM, path.as_bytes())?;
        let access = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
        let [descriptor] = (self.running.tracee)
            .inject([(libc::SYS_open, [scratch::ROOM, access, 0, 0, 0, 0])])?;
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
            .running
            .tracee
            .inject([(libc::SYS_mmap, map), (libc::SYS_close, close)])?;
        self.running
            .tracee
            .write(scratch::ROOM, &vec![0; path.len()])?;
        if mapped != expected {
            return Ok(Applied::OtherResult(mapped));
        }
        let mut after = before;
        after.answer(expected);
        after.write(self.running.tracee.thread());
        Ok(Applied::Executed)
    }

    /// Enters the handler of a signal.
    pub(super) fn apply_signal(&mut self, log: &Log) -> Result<(), Divergence> {
        let event = log.events.get(self.next);
        if let Some(Effect::Signal { frame, state, .. }) = event.map(|event| &event.effect) {
            let written = self.running.tracee.write(frame.0, &frame.1);
            written.map_err(|error| self.refused(log, &error))?;
            signals::restore(self.running.tracee.thread(), state);
        }
        self.next += 1;
        Ok(())
    }

    pub(super) fn write_all(&self, outputs: &[Written]) -> io::Result<()> {
        for (addr, bytes) in outputs {
            self.running.tracee.write(*addr, bytes)?;
        }
        Ok(())
    }
}

pub(super) enum Applied {
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

/// Returns the registers of mremap(2) so that it moves memory to where it did; those of other calls as they
/// are. Where it has room, may be different in a process that was made of an image.
fn moved_to(mut registers: Registers, result: i64) -> Registers {
    let [old, _, _, flags, ..] = registers.arguments();
    let may_move = flags & libc::MREMAP_MAYMOVE as u64 != 0;
    if registers.number() == libc::SYS_mremap && may_move && result > 0 && result as u64 != old {
        registers.set_argument(3, flags | libc::MREMAP_FIXED as u64);
        registers.set_argument(4, result as u64);
    }
    registers
}

fn place(entry: &Entry) -> Place {
    Place {
        call: calls::name(entry.number),
        pc: entry.pc,
        sp: entry.sp,
        arguments: entry.arguments,
    }
}
