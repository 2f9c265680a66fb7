//! Stops of the recorded program in the code of the buffer, which neither a debugger nor a handler of a
//! signal sees.

use super::super::recorder::Recorder;
use super::super::registers::{RESTART_BY_KERNEL, RESTARTS, Registers};
use super::super::tracee::Tracee;
use super::layout::{self, PASSED, PASSED_END};
use super::shared::Shared;
use super::stub::Entry;
use super::{Buffer, words};
use crate::os::ThreadEvent;
use std::io;

/// What was done about a call of the stub that was interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rewound {
    /// It was none, or has done something.
    No,
    /// The program makes it again.
    Yes,
    /// The program makes it again, and the call raises the signal again.
    RaisesAgain,
}

impl Buffer {
    /// Returns whether a thread is in the code of the buffer.
    pub fn holds(&self, registers: &Registers) -> bool {
        let pc = registers.pc();
        self.shared.is_some() && (layout::CODE.contains(&pc) || self.zones.contain(pc))
    }

    /// Makes the next call stop, since a signal is held.
    pub fn stop_next(&mut self) {
        self.is_passing = true;
        self.enter_by(Entry::Pass);
    }

    /// If a signal, or the recorder (`None`), has interrupted a call of the stub, which has done nothing
    /// yet, moves the thread back to where the program makes it.
    ///
    /// # Errors
    /// The program has ended.
    pub fn rewind(
        &self,
        head: &Tracee,
        registers: &mut Registers,
        signal: Option<i32>,
    ) -> io::Result<Rewound> {
        if self.shared.is_none() || registers.pc() != PASSED_END {
            return Ok(Rewound::No);
        }
        let result = registers.result();
        let is = |code: i32| result == -i64::from(code);
        let raises_again = match signal {
            Some(libc::SIGPIPE) => is(libc::EPIPE),
            Some(libc::SIGXFSZ) => is(libc::EFBIG),
            _ => false,
        };
        let is_interrupted = match signal {
            _ if raises_again => true,
            // The kernel knows how long the call still has to wait.
            None if result == RESTART_BY_KERNEL => false,
            // close(2) has closed the descriptor then.
            _ if is(libc::EINTR) => registers.number() != libc::SYS_close,
            _ => RESTARTS.contains(&result),
        };
        if is_interrupted {
            self.move_back(head, registers)?;
        }
        Ok(match (is_interrupted, raises_again) {
            (false, _) => Rewound::No,
            (true, false) => Rewound::Yes,
            (true, true) => Rewound::RaisesAgain,
        })
    }

    fn move_back(&self, head: &Tracee, registers: &mut Registers) -> io::Result<()> {
        let words = self.shared.as_ref().and_then(Shared::words);
        let words = words.ok_or_else(words::damaged)?;
        registers.repeat_call_at(&words.saved(head)?);
        registers.write(head.thread());
        Ok(())
    }
}

/// Lets a thread execute one instruction of the stub. It does not execute `popfq`: the kernel takes the trap
/// flag for the program's from then on, until the thread is not stepped any more.
pub fn step_on(tracee: &Tracee) {
    /// `popfq`
    const POP_FLAGS: u8 = 0x9d;
    if let Ok(mut registers) = tracee.registers()
        && tracee.read(registers.pc(), 1) == [POP_FLAGS]
        && let Some(flags) = tracee.word(registers.sp())
    {
        registers.pop_flags(flags);
        registers.write(tracee.thread());
    }
    tracee.go(true, 0);
}

impl Recorder {
    /// Returns the registers at a stop for a system call, after what the buffer has to do then.
    pub(in super::super) fn registers_at_call(&mut self) -> io::Result<Registers> {
        let mut registers = self.running.tracee.registers_at_call()?;
        self.interrupt_behind_buffer()?;
        let woken = self.buffer.on_call(
            &self.running.tracee,
            &mut registers,
            &mut self.log,
            &self.patches,
            self.turns.streak.is_going_on(),
        )?;
        self.wake_noted(woken);
        Ok(registers)
    }

    /// At another stop of a thread that leaves the code of the buffer for the debugger: interrupts it again.
    ///
    /// # Errors
    /// The thread is gone.
    pub(in super::super) fn interrupt_behind_buffer(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.buffer.is_leaving) {
            true => self.interrupt(self.running.tracee.thread()),
            false => Ok(()),
        }
    }

    /// At an interrupt outside of a call that is recorded: returns true if the thread is in the code of
    /// the buffer, and goes on. `is_seen`: the debugger waits for the stop, which it gets when the thread
    /// has left that.
    pub(in super::super) fn goes_on_in_buffer(&mut self, is_seen: bool) -> io::Result<bool> {
        let mut registers = self.running.tracee.registers()?;
        if !self.buffer.holds(&registers) {
            return Ok(false);
        }
        let by = is_seen.then_some(libc::SIGTRAP);
        let rewound = (self.buffer).rewind(&self.running.tracee, &mut registers, by)?;
        if rewound != Rewound::No {
            // It is not to be interrupted again and again, for which its time does not count.
            self.buffer.stop_next();
            return Ok(false);
        }
        if is_seen {
            self.buffer.is_leaving = true;
            return self.leave_buffer(registers);
        }
        // A step of the debugger's goes on, too.
        match self.running.is_stepping {
            true => step_on(&self.running.tracee),
            false => self.running.tracee.resume(0),
        }
        Ok(true)
    }

    /// At a trap: returns true if it ends a step in the code of the buffer, and the thread goes on, or
    /// has left that for the debugger.
    pub(in super::super) fn goes_on_through_buffer(
        &mut self,
        registers: Registers,
    ) -> io::Result<bool> {
        let is_inside = self.buffer.holds(&registers);
        if self.buffer.is_leaving {
            if is_inside {
                return self.leave_buffer(registers).map(|_| true);
            }
            self.buffer.is_leaving = false;
            self.report(ThreadEvent::Interrupted);
            return Ok(true);
        }
        if is_inside && self.running.is_stepping {
            step_on(&self.running.tracee);
        }
        Ok(is_inside && self.running.is_stepping)
    }

    /// Lets a thread leave the code of the buffer, by steps. Returns false if it has.
    fn leave_buffer(&mut self, mut registers: Registers) -> io::Result<bool> {
        if registers.pc() != PASSED {
            step_on(&self.running.tracee);
            return Ok(true);
        }
        // The call might block.
        self.buffer
            .move_back(&self.running.tracee, &mut registers)?;
        if std::mem::take(&mut self.buffer.is_leaving) {
            self.report(ThreadEvent::Interrupted);
        }
        Ok(true)
    }

    /// Adds what the program has done without a stop since the last event to the log.
    ///
    /// # Errors
    /// The program has written to the memory of the recorder.
    pub(in super::super) fn keep_records(&mut self) -> io::Result<()> {
        self.buffer.keep(&mut self.log).map(drop)
    }
}
