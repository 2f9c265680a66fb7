//! Threads that are stopped at the start of a system call: threads that wait, and threads whose call was answered before
//! another thread ran. Such a thread cannot make the call that copies the process. It leaves its own call first, which
//! the kernel skips, and is brought to the start of a call again afterwards.

use super::super::registers::Registers;
use super::super::scratch;
use super::super::tracee::{Stop, Tracee, gone, stop_of};
use crate::ids::{Signal, ThreadId};
use crate::os::linux::ptrace;
use crate::os::linux_abi::signal;
use std::io;

/// The instruction by which a thread comes to its call again. Its own one may be a jump of the recorder's by now.
const CALL: [u8; 2] = [0x0f, 0x05];

/// Acts while a stopped thread is outside of the system call that it is about to make, with the registers that it has
/// at its start. Afterwards it is about to make the call again, or to leave it, if it was answered. A thread that is not
/// in a call stays where it is.
/// The other threads of the process are stopped.
///
/// # Errors
/// The thread ends, or `act` fails.
pub fn outside_call<T>(thread: ThreadId, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let registers = Registers::read(thread).ok_or_else(gone)?;
    let stop = ptrace::signal_info(thread);
    let info = stop.and_then(|stop| signal::decode_info(&stop));
    let is_filtered = info.is_some_and(|info| info.code >> 8 == libc::PTRACE_EVENT_SECCOMP);
    if !is_filtered {
        return act();
    }
    let tracee = Tracee::new(thread.0)?;
    let mask = ptrace::blocked_signals(thread)?;
    ptrace::set_blocked_signals(thread, u64::MAX)?;
    let mut missed = Missed::default();
    let mut left = registers;
    left.answer(0);
    left.write(thread);
    missed.run(thread, Stop::CallEnd)?;
    registers.write(thread);
    let outcome = act();
    let room = tracee.read(scratch::ROOM, CALL.len());
    tracee.write(scratch::ROOM, &CALL)?;
    let mut again = registers;
    if registers.number() < 0 {
        // A call that was answered has no number. Any call stops at its start.
        again.set_number(libc::SYS_gettid);
    }
    again.make_call_at(scratch::ROOM);
    again.write(thread);
    let came = missed.run(thread, Stop::Call);
    tracee.write(scratch::ROOM, &room)?;
    came?;
    registers.write(thread);
    ptrace::set_blocked_signals(thread, mask)?;
    missed.report_again(thread);
    outcome
}

/// Stops that nothing has awaited.
#[derive(Default)]
struct Missed {
    is_interrupted: bool,
    /// SIGSTOP has arrived, which cannot be blocked.
    is_sent_stop: bool,
}

impl Missed {
    /// Lets a thread that blocks all signals run to the start or the end of a system call.
    fn run(&mut self, thread: ThreadId, wanted: Stop) -> io::Result<()> {
        loop {
            match wanted {
                Stop::CallEnd => ptrace::resume_to_call(thread)?,
                _ => ptrace::resume(thread, false, Signal(0))?,
            }
            match stop_of(thread.0) {
                stop if stop == wanted => return Ok(()),
                stop if stop.is_end() => return Err(gone()),
                Stop::Signal(libc::SIGSTOP) => self.is_sent_stop = true,
                Stop::Interrupted | Stop::Group(_) => self.is_interrupted = true,
                _ => {}
            }
        }
    }

    /// Lets the thread stop for them at its next resume.
    fn report_again(&self, thread: ThreadId) {
        if self.is_interrupted {
            // It may be gone.
            let _ = ptrace::interrupt(thread);
        }
        if self.is_sent_stop {
            // SAFETY: integers only.
            unsafe { libc::syscall(libc::SYS_tkill, thread.0, libc::SIGSTOP) };
        }
    }
}
