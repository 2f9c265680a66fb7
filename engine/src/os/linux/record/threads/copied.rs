//! The threads of a copy of a process: the kernel copies one, the others are created in the copy.

use super::super::log::State;
use super::super::recorder::Recorder;
use super::super::registers::Registers;
use super::super::signals;
use super::super::tracee::{Stop, Tracee, gone};
use super::outside::outside_call;
use super::preempt::KnownCode;
use super::thread::{Reason, Thread};
use crate::os::linux::copy::{Copies, CopyParent, ProcessCopy};
use crate::os::linux::injection::Injection;
use crate::os::linux::ptrace;
use crate::os::linux::record::scratch;
use dwarf::LoadAddr;
use serde::{Deserialize, Serialize};
use std::io;
use std::rc::Rc;

/// A thread of the program where a copy was made.
#[derive(Clone, Serialize, Deserialize)]
pub struct Copied {
    /// Its id in the program.
    pub thread: i32,
    /// The registers at the start of the call that it waits in.
    pub waits: Option<Registers>,
    /// Its state; `None`: it is the thread that was copied.
    pub state: Option<Rc<State>>,
    /// The signals that it blocks, unless it is the thread that was copied.
    pub mask: u64,
}

impl Recorder {
    /// Copies the stopped program.
    ///
    /// # Errors
    /// The program has ended, or the system has no memory or processes left.
    pub(in super::super) fn copy(&self) -> io::Result<ProcessCopy> {
        let thread = self.running.tracee.thread();
        let at = LoadAddr(scratch::CALL);
        let copy = outside_call(thread, || {
            let copy = self.copies().copy_process(thread, at, CopyParent::OfCopied);
            copy.map_err(|error| io::Error::other(error.to_string()))
        })?;
        self.buffer.unshare(copy.pid())?;
        Ok(copy)
    }

    /// Returns the threads of the program, the running one first.
    pub(in super::super) fn threads_now(&self) -> Vec<Copied> {
        let mut all = vec![Copied {
            thread: self.running.tracee.pid,
            waits: self.running.waiting_call(),
            state: None,
            mask: 0,
        }];
        for (pid, thread) in &self.others {
            let waits = thread.waiting_call();
            let in_kernel = thread.waiting.as_ref().and_then(|it| match &it.reason {
                Reason::Kernel(state) => state.clone(),
                _ => None,
            });
            let now = || {
                let registers = waits.or_else(|| self.registers_of_other(thread))?;
                Some(Rc::new(signals::state_of(&thread.tracee, registers)))
            };
            if let Some(state) = in_kernel.or_else(now) {
                all.push(Copied {
                    thread: *pid,
                    waits,
                    state: Some(state),
                    // The kernel tells it of stopped threads only.
                    mask: (thread.mask).unwrap_or_else(|| {
                        ptrace::blocked_signals(thread.tracee.thread()).unwrap_or(0)
                    }),
                });
            }
        }
        all
    }

    /// Returns the program's registers of a thread that does not run. The debugger may have moved it into its own code,
    /// past a breakpoint where it was interrupted.
    fn registers_of_other(&self, thread: &Thread) -> Option<Registers> {
        let now = thread.tracee.registers().ok()?;
        let place =
            (thread.place).filter(|_| !self.is_of_program(now.pc(), &mut KnownCode::default()));
        Some(place.unwrap_or(now))
    }
}

impl Thread {
    /// Returns the registers at the start of the call that it waits in, as the log has it.
    fn waiting_call(&self) -> Option<Registers> {
        let waiting = self.waiting.as_ref()?;
        let is_logged = !matches!(waiting.reason, Reason::Again);
        is_logged.then_some(waiting.registers)
    }
}

/// Creates a thread in a stopped process, by another thread of it, and gives it a state and the signals that it blocks.
///
/// # Errors
/// The process has ended, or the system has no threads left.
pub fn create(by: &Tracee, (state, mask): (&State, u64), copies: &Copies) -> io::Result<Tracee> {
    let failed = |error| io::Error::other(format!("{error}"));
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_SETTLS;
    let [base, _] = state.registers.bases();
    let arguments = [flags as u64, state.registers.sp(), 0, 0, base, 0];
    let mut injection = Injection::begin(by.thread(), LoadAddr(scratch::CALL)).map_err(failed)?;
    let result = injection.call(libc::SYS_clone, arguments);
    injection.finish();
    let result = result.map_err(failed)?;
    result.ok()?;
    let pid = result.created.ok_or_else(gone)?;
    copies.add(pid);
    let new = by.sibling(pid);
    match new.wait() {
        Stop::Interrupted => {}
        stop => {
            return Err(io::Error::other(format!(
                "a new thread stopped by {stop:?}"
            )));
        }
    }
    signals::restore(new.thread(), state);
    ptrace::set_blocked_signals(new.thread(), mask)?;
    Ok(new)
}
