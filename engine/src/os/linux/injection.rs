//! System calls that a stopped thread is made to execute, one by one, whose state is then as it was.
//!
//! This is what `Inferior::inject_syscall` does for the debugger's own calls, without its bookkeeping:
//! for threads that nothing else knows, and for calls that create processes.

use super::super::linux_abi::signal;
use super::super::registers::RegisterSet;
use super::super::thread_state::SIGNAL_BYTES;
use super::super::{Patience, ThreadEvent};
use super::refuge::Refuge;
use super::{ptrace, registers};
use crate::arch::Arch;
use crate::ids::{Signal, ThreadId};
use dwarf::LoadAddr;
use std::io;
use std::ops::Range;

/// A failure of an injected system call. What the call itself returned is not one.
#[derive(Debug)]
pub enum InjectionError {
    /// The thread has ended, with this event, which is not reported again; `None`: it was gone.
    Ended(Option<ThreadEvent>),
    /// The thread could not execute the instruction.
    NotExecuted(io::Error),
}

impl std::fmt::Display for InjectionError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            InjectionError::Ended(_) => formatter.write_str("the thread has ended"),
            InjectionError::NotExecuted(error) => {
                write!(formatter, "the thread cannot make a system call: {error}")
            }
        }
    }
}

impl std::error::Error for InjectionError {}

/// The result of an injected system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallResult {
    /// What it returned: an error as a negative number.
    pub value: i64,
    /// The pid of the process that it created, as the tracer sees it.
    pub created: Option<i32>,
}

impl CallResult {
    /// Returns the value.
    ///
    /// # Errors
    /// The error that the call returned.
    pub fn ok(self) -> io::Result<i64> {
        match self.value {
            code @ -4095..=-1 => Err(io::Error::from_raw_os_error(-code as i32)),
            value => Ok(value),
        }
    }
}

/// A stopped thread that is made to execute system calls. [`Injection::finish`] restores its state.
pub struct Injection<'a> {
    thread: ThreadId,
    /// The address of a system call instruction.
    instruction: LoadAddr,
    before: RegisterSet,
    mask: u64,
    /// The description of the stop.
    stop: Option<[u8; SIGNAL_BYTES]>,
    /// SIGSTOP has arrived, which cannot be blocked.
    was_sent_stop: bool,
    /// A stop has been taken that the tracer waits for.
    was_interrupted: bool,
    /// If there is one, the thread makes the calls there, and not at `instruction`.
    refuge: Option<Refuge<'a>>,
}

impl<'a> Injection<'a> {
    /// Begins with a thread that is stopped outside of a system call, or in one that will be
    /// restarted. Until the end it blocks all signals.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn begin(thread: ThreadId, instruction: LoadAddr) -> Result<Injection<'a>, InjectionError> {
        Self::begin_in(None, thread, instruction)
    }

    /// Like [`Injection::begin`], in a refuge if there is one: the thread is restored also if we are killed. One that
    /// was stopped by a signal is not brought there.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn begin_in(
        refuge: Option<Refuge<'a>>,
        thread: ThreadId,
        instruction: LoadAddr,
    ) -> Result<Injection<'a>, InjectionError> {
        let gone = InjectionError::Ended(None);
        let Some(before) = registers::read(thread) else {
            return Err(gone);
        };
        let stop = ptrace::signal_info(thread);
        let Ok(mask) = ptrace::blocked_signals(thread) else {
            return Err(gone);
        };
        let mut injection = Injection {
            thread,
            instruction,
            before,
            mask,
            stop,
            was_sent_stop: false,
            was_interrupted: false,
            refuge: None,
        };
        injection.refuge = refuge.filter(|_| injection.was_stopped_without_signal());
        if let Some(refuge) = &injection.refuge {
            refuge.enter(thread, &before, mask);
            registers::write(thread, &refuge.waiting(&before));
        }
        if ptrace::set_blocked_signals(thread, u64::MAX).is_err() {
            refuge.inspect(Refuge::leave);
            return Err(gone);
        }
        Ok(injection)
    }

    /// Returns the registers that the thread had.
    pub fn registers(&self) -> &RegisterSet {
        &self.before
    }

    /// Returns the signals that the thread blocked.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Executes a system call.
    ///
    /// # Errors
    /// The thread ends, or cannot execute the instruction.
    pub fn call(
        &mut self,
        number: libc::c_long,
        arguments: [u64; 6],
    ) -> Result<CallResult, InjectionError> {
        let instruction = match &self.refuge {
            Some(refuge) => refuge.instruction_for(number),
            None => self.instruction,
        };
        let set = self
            .before
            .for_call_alone(number as u64, arguments, instruction);
        if !registers::write(self.thread, &set) {
            return Err(InjectionError::Ended(None));
        }
        let created = self.execute()?;
        let Some(after) = registers::read(self.thread) else {
            return Err(InjectionError::Ended(None));
        };
        let behind = instruction + Arch::HOST.system_call_instruction().len() as u64;
        if after.pc() != behind {
            return Err(self.not_executed(Signal::TRAP));
        }
        let value = after.system_call_result();
        Ok(CallResult { value, created })
    }

    /// Executes the thread's own instructions as long as it is in a range of code, `most` at most: they are no
    /// system calls that wait. Returns whether it has left.
    ///
    /// # Errors
    /// The thread ends, or an instruction faults.
    #[allow(dead_code, reason = "only some machines record")]
    pub fn leave(&mut self, range: &Range<LoadAddr>, most: usize) -> Result<bool, InjectionError> {
        for _ in 0..most {
            if !range.contains(&self.before.pc()) {
                return Ok(true);
            }
            self.execute()?;
            let after = registers::read(self.thread);
            self.before = after.ok_or(InjectionError::Ended(None))?;
        }
        Ok(!range.contains(&self.before.pc()))
    }

    /// Executes an instruction; in a refuge, which a thread does not leave, up to the end of the system call. Returns
    /// the process that it has created, if it is a call that does.
    fn execute(&mut self) -> Result<Option<i32>, InjectionError> {
        /// What a stop at the start or the end of a system call is reported as.
        const CALL: Signal = Signal(libc::SIGTRAP | 0x80);
        let mut created = None;
        let mut has_begun = false;
        loop {
            let resumed = match self.refuge {
                Some(_) => ptrace::resume_to_call(self.thread),
                None => ptrace::resume(self.thread, true, Signal(0)),
            };
            if resumed.is_err() {
                // It was killed, and its end follows.
                tracing::debug!(thread = %self.thread, "cannot resume for a system call");
            }
            let stop = ptrace::stop_of(self.thread, Patience::UntilStopped);
            match stop {
                None => return Err(InjectionError::Ended(None)),
                Some(ThreadEvent::Exited(_) | ThreadEvent::Killed(_)) => {
                    return Err(InjectionError::Ended(stop));
                }
                Some(ThreadEvent::Created(ThreadId(pid)) | ThreadEvent::Forked(pid)) => {
                    created = Some(pid);
                }
                Some(ThreadEvent::Signal(Signal::TRAP)) => return Ok(created),
                Some(ThreadEvent::Signal(CALL)) if self.refuge.is_some() => {
                    if has_begun {
                        return Ok(created);
                    }
                    has_begun = true;
                }
                Some(ThreadEvent::Signal(Signal(libc::SIGSTOP))) => self.was_sent_stop = true,
                // Others are blocked: it is a fault of the instruction.
                Some(ThreadEvent::Signal(signal)) => return Err(self.not_executed(signal)),
                Some(ThreadEvent::Interrupted | ThreadEvent::GroupStop(_)) => {
                    self.was_interrupted = true;
                }
                Some(
                    ThreadEvent::Vforked(_)
                    | ThreadEvent::Execed(_)
                    | ThreadEvent::Replayed(_)
                    | ThreadEvent::Exiting(_)
                    | ThreadEvent::Other,
                ) => {}
            }
        }
    }

    fn not_executed(&self, signal: Signal) -> InjectionError {
        InjectionError::NotExecuted(io::Error::other(format!(
            "there is no system call instruction at {}: it raised signal {}",
            self.instruction, signal.0
        )))
    }

    /// Restores the thread: its registers, the signals that it blocks, and what its stop is. A signal
    /// that has arrived meanwhile is still pending. One that the thread was stopped with is delivered
    /// by the next resume only.
    pub fn finish(self) {
        if self.refuge.is_some() {
            // If we are killed behind this, the kernel restarts a call that the thread was in.
            let _ = ptrace::interrupt(self.thread);
        } else {
            registers::write(self.thread, &self.before);
        }
        let _ = ptrace::set_blocked_signals(self.thread, self.mask);
        if let Some(refuge) = &self.refuge {
            registers::write(self.thread, &self.before);
            self.stop_without_signal();
            refuge.leave();
        } else if self.was_stopped_without_signal() {
            self.stop_without_signal();
        }
        if let Some(stop) = &self.stop {
            ptrace::set_signal_info(self.thread, stop);
        }
        if self.was_interrupted {
            // It is reported at the next resume.
            let _ = ptrace::interrupt(self.thread);
        }
        if self.was_sent_stop {
            // SAFETY: integers only.
            unsafe { libc::syscall(libc::SYS_tkill, self.thread.0, libc::SIGSTOP) };
        }
    }

    /// Returns whether the thread's first stop was an interrupt, or one of its whole process.
    fn was_stopped_without_signal(&self) -> bool {
        let info = self.stop.and_then(|raw| signal::decode_info(&raw));
        info.is_some_and(|info| info.code >> 8 == libc::PTRACE_EVENT_STOP)
    }

    /// Brings the thread back into such a stop: the system call has ended with SIGTRAP. PTRACE_LISTEN
    /// needs it, and a process that is attached would get that signal if the tracer died.
    fn stop_without_signal(&self) {
        // The kernel stops it before it executes anything or gets a signal.
        if ptrace::interrupt(self.thread).is_ok()
            && ptrace::resume(self.thread, false, Signal(0)).is_ok()
        {
            let stop = ptrace::stop_of(self.thread, Patience::UntilStopped);
            tracing::debug!(thread = %self.thread, ?stop, "stopped without a signal again");
        }
    }
}
