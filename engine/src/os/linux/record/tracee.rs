//! A traced process under the filter: its memory, its stops, system calls that it is made to execute.

use super::super::injection::Injection;
use super::super::stop_wait::{self, NoStatus};
use super::super::{memory, procfs, ptrace};
use super::registers::Registers;
use super::scratch;
use crate::ids::{Signal, ThreadId};
use crate::os::ThreadEvent;
use crate::os::thread_state::SIGNAL_BYTES;
use dwarf::LoadAddr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Where the code is in the description of a signal, and that of the end of a step.
const CODE_OF_SIGNAL: usize = 8;
const TRAP_TRACE: i32 = 2;

/// A stop or the end of a traced thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It is about to make a system call.
    Call,
    /// It has made one.
    CallEnd,
    /// A signal is about to be delivered.
    Signal(i32),
    /// Its whole process is stopped by this signal.
    Group(i32),
    /// It was interrupted, or has just been created.
    Interrupted,
    /// It has created a process.
    Created(i32),
    /// It has created a thread.
    CreatedThread(i32),
    /// It executes another program.
    Execed,
    /// It has exited with this code.
    Exited(i32),
    /// A signal has ended it.
    Killed(i32),
    /// It does not stop: the wait for it is over ([`stop_wait`]). It is taken for a thread that has ended.
    Late,
    /// Another stop that only needs a resume.
    Other,
}

impl Stop {
    fn decode(pid: i32, status: i32) -> Stop {
        if libc::WIFEXITED(status) {
            return Stop::Exited(libc::WEXITSTATUS(status));
        }
        if libc::WIFSIGNALED(status) {
            return Stop::Killed(libc::WTERMSIG(status));
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            0 if signal == libc::SIGTRAP | 0x80 => Stop::CallEnd,
            0 => Stop::Signal(signal),
            libc::PTRACE_EVENT_SECCOMP => Stop::Call,
            libc::PTRACE_EVENT_STOP => match signal {
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => {
                    Stop::Group(signal)
                }
                _ => Stop::Interrupted,
            },
            libc::PTRACE_EVENT_CLONE => {
                let new = ptrace::event_message(pid) as i32;
                // Without the flag of a thread, clone(2) creates a process.
                match procfs::status_number(new, "Tgid") {
                    Some(process) if process == new => Stop::Created(new),
                    _ => Stop::CreatedThread(new),
                }
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
                Stop::Created(ptrace::event_message(pid) as i32)
            }
            libc::PTRACE_EVENT_EXEC => Stop::Execed,
            _ => Stop::Other,
        }
    }

    /// Returns whether the thread has ended, or does not stop.
    pub fn is_end(self) -> bool {
        matches!(self, Stop::Exited(_) | Stop::Killed(_) | Stop::Late)
    }

    /// Returns what a debugger sees of it; `None`: nothing.
    pub fn seen(self) -> Option<ThreadEvent> {
        Some(match self {
            Stop::Exited(code) => ThreadEvent::Exited(code),
            Stop::Killed(signal) => ThreadEvent::Killed(Signal(signal)),
            Stop::Signal(signal) => ThreadEvent::Signal(Signal(signal)),
            Stop::Group(signal) => ThreadEvent::GroupStop(Signal(signal)),
            Stop::Interrupted => ThreadEvent::Interrupted,
            Stop::CreatedThread(new) => ThreadEvent::Created(ThreadId(new)),
            Stop::Call
            | Stop::CallEnd
            | Stop::Created(_)
            | Stop::Execed
            | Stop::Late
            | Stop::Other => return None,
        })
    }
}

/// Waits for the next stop of a tracee (−1: of any) as long as no signal ends the wait: `None`.
///
/// # Errors
/// There is no such tracee.
pub fn stop_or_tick(pid: i32) -> io::Result<Option<(i32, Stop)>> {
    let status = ptrace::wait_for_status(pid)?;
    Ok(status.map(|(pid, status)| (pid, Stop::decode(pid, status))))
}

/// Waits for the next stop of a thread that is about to stop. Killed: it is gone.
pub fn stop_of(pid: i32) -> Stop {
    match stop_wait::next_status(pid) {
        Ok(status) => Stop::decode(pid, status),
        Err(NoStatus::Gone) => Stop::Killed(libc::SIGKILL),
        Err(NoStatus::Late) => Stop::Late,
    }
}

/// Returns a stop of a tracee (−1: of any) that is there already.
///
/// # Errors
/// There is no such tracee.
pub fn poll_stop(pid: i32) -> io::Result<Option<(i32, Stop)>> {
    let status = ptrace::poll_status(pid)?;
    Ok(status.map(|(pid, status)| (pid, Stop::decode(pid, status))))
}

/// Returns a stop of a tracee that is there already, but not its end, which stays to be waited for.
pub fn poll_stop_but_end(pid: i32) -> Option<Stop> {
    ptrace::poll_stopped(pid).map(|status| Stop::decode(pid, status))
}

/// Returns the end of a thread that a wait for something else has collected, once: nothing reports it again.
pub fn take_end(pid: i32) -> Option<Stop> {
    stop_wait::take_end(pid).map(|status| Stop::decode(pid, status))
}

/// A traced thread of a process.
pub struct Tracee {
    /// Its id, which is that of the process for the first thread.
    pub pid: i32,
    memory: Rc<File>,
}

impl Tracee {
    /// # Errors
    /// The process is gone.
    pub fn new(pid: i32) -> io::Result<Tracee> {
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))?;
        Ok(Tracee {
            pid,
            memory: Rc::new(memory),
        })
    }

    /// Returns another thread of its process.
    pub fn sibling(&self, pid: i32) -> Tracee {
        Tracee {
            pid,
            memory: self.memory.clone(),
        }
    }

    pub fn thread(&self) -> ThreadId {
        ThreadId(self.pid)
    }

    /// Returns the registers.
    ///
    /// # Errors
    /// The process is gone.
    pub fn registers(&self) -> io::Result<Registers> {
        Registers::read(self.thread()).ok_or_else(gone)
    }

    /// Returns the registers at the start of a system call, where a step of the debugger leaves no trace.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn registers_at_call(&self) -> io::Result<Registers> {
        let mut registers = self.registers()?;
        if registers.hide_step() {
            registers.write(self.thread());
        }
        Ok(registers)
    }

    /// Reads memory despite its protection; shorter at the end of what is mapped.
    pub fn read(&self, addr: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let read = self.read_into(addr, &mut bytes);
        bytes.truncate(read);
        bytes
    }

    /// Reads memory despite its protection; returns the number of bytes.
    pub fn read_into(&self, addr: u64, bytes: &mut [u8]) -> usize {
        memory::transfer(bytes.len(), |done| {
            let from = addr.wrapping_add(done as u64);
            self.memory.read_at(&mut bytes[done..], from)
        })
    }

    /// Reads a word; `None` if nothing is mapped there.
    pub fn word(&self, addr: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read_into(addr, &mut bytes) == 8).then(|| u64::from_le_bytes(bytes))
    }

    /// Writes memory despite its protection.
    ///
    /// # Errors
    /// Not all of it is mapped.
    pub fn write(&self, addr: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(bytes, addr)
    }

    /// Lets the thread run to its next stop, with a signal (0: none).
    pub fn resume(&self, signal: i32) {
        let _ = ptrace::resume(self.thread(), false, Signal(signal));
    }

    /// Lets the thread execute an instruction, or enter the handler of a signal.
    pub fn step(&self, signal: i32) {
        let _ = ptrace::resume(self.thread(), true, Signal(signal));
    }

    /// Lets the thread run, or execute an instruction, with a signal (0: none).
    pub fn go(&self, is_step: bool, signal: i32) {
        let _ = ptrace::resume(self.thread(), is_step, Signal(signal));
    }

    /// Lets the thread run to the end of its system call.
    pub fn resume_to_call_end(&self) {
        let _ = ptrace::resume_to_call(self.thread());
    }

    /// Waits for its next stop; killed if it is gone.
    pub fn wait(&self) -> Stop {
        stop_of(self.pid)
    }

    /// Makes the stopped thread execute system calls of the recorder, one after the other; its state
    /// is then as before. Returns the results.
    ///
    /// # Errors
    /// The process ends.
    pub fn inject<const N: usize>(
        &self,
        calls: [(libc::c_long, [u64; 6]); N],
    ) -> io::Result<[i64; N]> {
        let ended = |error| io::Error::other(format!("{error}"));
        let mut injection =
            Injection::begin(self.thread(), LoadAddr(scratch::CALL)).map_err(ended)?;
        let mut results = [0; N];
        for (result, (number, arguments)) in results.iter_mut().zip(calls) {
            *result = injection.call(number, arguments).map_err(ended)?.value;
        }
        injection.finish();
        Ok(results)
    }

    /// Completes an instruction that reads the time-stamp counter, of this length, at the SIGSEGV that it has raised. The
    /// stop is the end of a step from now on, also for who asks the kernel.
    pub fn complete_time_stamp(&self, mut registers: Registers, value: u64, len: u64, rcx: bool) {
        registers.complete_time_stamp(value, len, rcx);
        registers.write(self.thread());
        let mut info = [0; SIGNAL_BYTES];
        for (at, word) in [(0, libc::SIGTRAP), (CODE_OF_SIGNAL, TRAP_TRACE)] {
            info[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        ptrace::set_signal_info(self.thread(), &info);
    }

    /// Returns the instruction that reads the time-stamp counter at an address: its length, and
    /// whether it also reads the number of the processor.
    pub fn time_stamp_instruction(&self, pc: u64) -> Option<(u64, bool)> {
        match *self.read(pc, 3) {
            [0x0f, 0x31, ..] => Some((2, false)),
            [0x0f, 0x01, 0xf9] => Some((3, true)),
            _ => None,
        }
    }

    /// Lets a thread whose system call is answered leave the call.
    ///
    /// # Errors
    /// The process is gone.
    pub fn leave_call(&self) -> io::Result<()> {
        loop {
            self.resume_to_call_end();
            match self.wait() {
                Stop::CallEnd => return Ok(()),
                stop if stop.is_end() => return Err(gone()),
                _ => {}
            }
        }
    }

    /// Returns whether a signal waits for the thread that is not in this set; `None`: that it does not block.
    pub fn has_pending_signal(&self, blocked: Option<u64>) -> bool {
        let mask = |name| {
            let text = procfs::status(self.pid, name);
            text.and_then(|text| u64::from_str_radix(&text, 16).ok())
                .unwrap_or(0)
        };
        let pending = mask("SigPnd") | mask("ShdPnd");
        pending != 0 && pending & !blocked.unwrap_or_else(|| mask("SigBlk")) != 0
    }

    /// Returns whether the program has a handler for a signal.
    pub fn catches(&self, signal: i32) -> bool {
        let mask = procfs::status(self.pid, "SigCgt");
        let mask = mask.and_then(|mask| u64::from_str_radix(&mask, 16).ok());
        mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
    }
}

pub fn gone() -> io::Error {
    io::Error::other("the process has ended, or does not stop")
}
