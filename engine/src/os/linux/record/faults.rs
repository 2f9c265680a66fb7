//! SIGSEGV, by which instructions that read the time-stamp counter stop. The kernel forces it on a thread that blocks
//! or ignores it: the program's action for the signal is gone then, and the signal is unblocked. Both are given back.

use super::super::ptrace;
use super::scratch;
use super::tracee::Tracee;
use std::io;

/// `struct sigaction` of the kernel: the handler, flags, the restorer, the mask.
const ACTION_BYTES: usize = 32;
const SIGNAL: u64 = libc::SIGSEGV as u64;
const BIT: u64 = 1 << (libc::SIGSEGV - 1);
/// The size of a set of signals.
const SET_BYTES: u64 = 8;

/// What the program does about SIGSEGV.
#[derive(Clone, Default)]
pub struct FaultAction(Vec<u8>);

impl FaultAction {
    /// Returns that of a stopped process.
    ///
    /// # Errors
    /// The process has ended.
    pub fn of(tracee: &Tracee) -> io::Result<FaultAction> {
        let arguments = [SIGNAL, 0, scratch::ROOM, SET_BYTES, 0, 0];
        let action = in_room(tracee, |tracee| {
            tracee.inject([(libc::SYS_rt_sigaction, arguments)])?;
            Ok(tracee.read(scratch::ROOM, ACTION_BYTES))
        });
        action.map(FaultAction)
    }

    /// Notes that the program has made a system call.
    pub fn note_call(&mut self, tracee: &Tracee, number: i64, arguments: &[u64; 6], result: i64) {
        let [signal, action, ..] = *arguments;
        if number == libc::SYS_rt_sigaction && signal == SIGNAL && action != 0 && result == 0 {
            self.0 = tracee.read(action, ACTION_BYTES);
        }
    }

    /// Gives the action, and the mask, back to a thread that the signal has stopped for an instruction that reads the
    /// counter. `is_blocked`: whether it has blocked the signal.
    ///
    /// # Errors
    /// The process has ended.
    pub fn give_back(&self, tracee: &Tracee, is_blocked: bool) -> io::Result<()> {
        let handler = self.0.get(..8).and_then(|it| it.try_into().ok());
        let handler = handler.map_or(libc::SIG_DFL as u64, u64::from_le_bytes);
        let is_ignored = handler == libc::SIG_IGN as u64;
        if is_blocked || is_ignored {
            if handler != libc::SIG_DFL as u64 {
                in_room(tracee, |tracee| {
                    tracee.write(scratch::ROOM, &self.0)?;
                    let arguments = [SIGNAL, scratch::ROOM, 0, SET_BYTES, 0, 0];
                    tracee.inject([(libc::SYS_rt_sigaction, arguments)])
                })?;
            }
            if is_blocked {
                let mask = ptrace::blocked_signals(tracee.thread())?;
                ptrace::set_blocked_signals(tracee.thread(), mask | BIT)?;
            }
        }
        Ok(())
    }
}

/// Returns whether a stopped thread blocks the signal.
pub fn is_blocked(tracee: &Tracee) -> bool {
    ptrace::blocked_signals(tracee.thread()).is_ok_and(|mask| mask & BIT != 0)
}

/// Acts with the recorder's memory in a process, whose content is as before then.
fn in_room<T>(tracee: &Tracee, act: impl FnOnce(&Tracee) -> io::Result<T>) -> io::Result<T> {
    let before = tracee.read(scratch::ROOM, ACTION_BYTES);
    let outcome = act(tracee);
    tracee.write(scratch::ROOM, &before)?;
    outcome
}
