//! Slices that end after a number of instructions: the running thread executes them one by one.

use super::super::recorder::Recorder;
use super::super::tracee::Stop;
use super::preempt::KnownCode;
use crate::arch::{Arch, Flow, Instruction};
use crate::os::linux::{machine, ptrace};
use dwarf::LoadAddr;
use std::io;

/// Longer than any instruction.
const LONGEST: usize = 16;
/// `si_code` in the description of a signal.
const CODE: std::ops::Range<usize> = 8..12;
/// A single step has raised it, behind an instruction.
const TRAP_TRACE: i32 = 2;
/// A single step has raised it, at the end of a system call that the thread was in.
const TRAP_BRKPT: i32 = 1;

/// What a trap is of the steps that are made here.
enum Step {
    /// An instruction was executed.
    Executed,
    /// The thread has left the call that it was in.
    LeftCall,
    /// None: the program or the debugger has raised it.
    None,
}

impl Recorder {
    /// Returns whether the running thread, which is about to run on, executes the instructions of its slice one by
    /// one: [`Recorder::execute_slice`] is due.
    pub(in super::super) fn is_slice_stepped(&mut self) -> bool {
        let is_counted = self.turns.scheduler.instructions() != 0;
        self.turns.is_stepping =
            is_counted && !self.running.is_stepping && self.turns.scheduler.has_ready();
        self.turns.is_stepping
    }

    /// The running thread has ended while it executed an instruction.
    pub(super) fn on_end_of_running(&mut self, stop: Stop) -> io::Result<()> {
        let pid = self.running.tracee.pid;
        let seen = self.on_stop(pid, stop)?;
        let seen = seen.map(|(thread, event)| (thread.0, event));
        self.seen.extend(seen);
        Ok(())
    }

    /// Lets the running thread execute the instructions of its slice, and then another thread run. A system call
    /// ends that before.
    ///
    /// # Errors
    /// The system refuses what it has allowed before.
    pub(in super::super) fn execute_slice(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.turns.is_stepping) {
            return Ok(());
        }
        let mut known = KnownCode::default();
        let mut was_inside = false;
        while self.turns.scheduler.instructions() != 0 {
            let registers = self.running.tracee.registers()?;
            // Code of the debugger counts as the one instruction that it stands for: so a seed has its slices with
            // breakpoints, too.
            let is_inside = !self.is_of_program(registers.pc(), &mut known);
            if std::mem::replace(&mut was_inside, is_inside) && !is_inside {
                self.turns.scheduler.executed();
                continue;
            }
            let counts = !is_inside && !self.patches.has(registers.pc());
            let code = self.running.tracee.read(registers.pc(), LONGEST);
            let instruction = Arch::HOST.decode(&code, LoadAddr(registers.pc()));
            // A call is an event. A trap stops for the debugger: it is no instruction of the program's.
            let is_stop = |flow: Flow| matches!(flow, Flow::SystemCall | Flow::Interrupt);
            let instruction = instruction.filter(|it| !is_stop(it.flow));
            let Some(instruction) = instruction.filter(|_| !self.buffer.holds(&registers)) else {
                self.running.tracee.go(false, 0);
                return Ok(());
            };
            match self.execute(&instruction)? {
                Stop::Signal(libc::SIGTRAP) => match self.step_of(&instruction)? {
                    Step::Executed if counts => self.turns.scheduler.executed(),
                    Step::Executed | Step::LeftCall => {}
                    Step::None => return self.on_running_stop(Stop::Signal(libc::SIGTRAP)),
                },
                stop if stop.is_end() => return self.on_end_of_running(stop),
                stop => return self.on_running_stop(stop),
            }
        }
        self.preempt()
    }

    /// Lets the running thread execute an instruction, which is no system call.
    pub(super) fn execute(&mut self, instruction: &Instruction) -> io::Result<Stop> {
        match instruction.can_be_stepped() {
            false => self.run_past(&instruction.next()),
            true => {
                self.running.tracee.step(0);
                Ok(self.running.tracee.wait())
            }
        }
    }

    /// Returns the step that a trap of the running thread is.
    fn step_of(&self, instruction: &Instruction) -> io::Result<Step> {
        let thread = self.running.tracee.thread();
        if machine::triggered_watchpoints(thread).unwrap_or(0) != 0 {
            return Ok(Step::None);
        }
        if !instruction.can_be_stepped() {
            let is_behind = self.running.tracee.registers()?.pc() == instruction.next().0;
            return Ok(match is_behind {
                true => Step::Executed,
                false => Step::None,
            });
        }
        let info = ptrace::signal_info(thread);
        let code = info.and_then(|info| info.get(CODE)?.try_into().ok());
        Ok(match code.map(i32::from_le_bytes) {
            Some(TRAP_TRACE) => Step::Executed,
            Some(TRAP_BRKPT) => Step::LeftCall,
            _ => Step::None,
        })
    }
}
