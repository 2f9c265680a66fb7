//! Children that another debugger takes over.
//!
//! A process cannot have two tracers, so it is handed over like this: all instrumentation is
//! removed from its memory; at its pc it gets an instruction that jumps to itself, and it is
//! detached; the other debugger seizes and stops it and restores the program's bytes
//! ([`Handover`]). No signal is sent, so neither the program nor its parent can notice it.

use super::Inferior;
use super::children::CHILD_STOP_TIMEOUT;
use crate::arch::{SPIN_LOOP, SPIN_LOOP_BYTES};
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::os::{Duty, RegisterSet, Resume, SystemCall, ThreadEvent};
use dwarf::LoadAddr;
use std::time::{Duration, Instant};

/// A process that was detached for another debugger: it jumps in place until that debugger seizes
/// it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handover {
    /// The process.
    pub pid: i32,
    /// Address of the jump.
    pub at: LoadAddr,
    /// The program's bytes at that address.
    pub original: [u8; SPIN_LOOP_BYTES],
    /// Whether it comes from a program that we launched, and dies with its debugger.
    pub launched: bool,
}

/// A process that was handed over; the other debugger has not confirmed it yet.
pub struct Given {
    handover: Handover,
    /// The pid of the other debugger.
    to: i32,
}

impl Given {
    fn duty(&self) -> Duty {
        Duty::RestoreCode {
            at: self.handover.at,
            bytes: SPIN_LOOP,
            original: self.handover.original,
            launched: self.handover.launched,
            to: self.to,
        }
    }
}

/// A process that no debugger has taken over.
pub struct UnclaimedHandover {
    pub handover: Handover,
    /// Time of the next attempt to restore its bytes.
    pub next: Instant,
    /// Time of the last attempt.
    last: Instant,
}

/// Interval of attempts on a process that another tracer still has.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

impl Inferior {
    /// Prepares to end the session with its processes left alive, including those being handed
    /// over.
    pub(crate) fn spare_given(&mut self) {
        for given in &mut self.following.given {
            if std::mem::take(&mut given.handover.launched) {
                self.os.set_duty(given.handover.pid, Some(given.duty()));
            }
        }
    }

    /// Allows another debugger to trace a child: with Yama, only ancestors may trace a process, and
    /// a tracer that it names itself.
    fn allow_tracer(&mut self, child: ThreadId, to: i32, registers: &RegisterSet) {
        let at = registers.pc();
        self.write_code(child.0, at, self.arch.system_call_instruction());
        let call = registers.for_system_call(SystemCall::AllowTracer { pid: to }, at);
        self.os.set_registers(child, &call);
        self.os.resume(child, Resume::Step, Signal(0));
        self.os.wait_for_stop(child);
        self.os
            .set_registers(child, &registers.outside_system_call());
    }

    fn write_code(&self, pid: i32, at: LoadAddr, bytes: &[u8]) {
        let addresses = (0..).map(|offset| at + offset);
        let writes: Vec<_> = addresses.zip(bytes.iter().copied()).collect();
        self.os.write_memory_of(pid, &writes);
    }

    /// Restores the bytes of processes that no debugger has taken over, if an attempt is due.
    pub(crate) fn reclaim_handovers(&mut self) {
        let now = Instant::now();
        for mut lost in std::mem::take(&mut self.following.lost) {
            if lost.next <= now {
                let Handover {
                    pid, at, original, ..
                } = lost.handover;
                let mended = self.os.restore_code(pid, at, &SPIN_LOOP, &original);
                if mended || now >= lost.last {
                    self.os.set_duty(pid, None);
                    continue;
                }
                lost.next = now + RETRY_INTERVAL;
            }
            self.following.lost.push(lost);
        }
    }

    /// Detaches a held child for the debugger whose pid is `to`.
    ///
    /// # Errors
    /// The child has ended or is not held.
    pub(crate) fn hand_over(&mut self, pid: i32, to: i32) -> Result<Handover, Error> {
        let gone = || Error::Attach {
            pid,
            message: "it has exited or was detached".into(),
        };
        let mut signal = self.held_child(pid).ok_or_else(gone)?;
        let child = ThreadId(pid);
        let launched = self.process.as_ref().is_some_and(|it| it.launched);
        // Leave the `execve` or `fork` stop that it may be in.
        self.os.interrupt(child);
        self.os.resume(child, Resume::Continue, Signal(0));
        let registers = match self.os.wait_for_stop(child) {
            Some(ThreadEvent::Exited(_) | ThreadEvent::Killed(_)) | None => None,
            Some(status) => {
                if let ThreadEvent::Signal(one) = status {
                    signal = one;
                }
                self.os.registers(child)
            }
        };
        let Some(registers) = registers else {
            self.set_child(child, None);
            return Err(gone());
        };
        let (at, mut original) = (registers.pc(), [0; SPIN_LOOP_BYTES]);
        if self.os.read_memory_of(pid, at, &mut original) != original.len() {
            self.detach_child(child, signal);
            return Err(gone());
        }
        let handover = Handover {
            pid,
            at,
            original,
            launched,
        };
        let given = Given {
            handover: handover.clone(),
            to,
        };
        self.allow_tracer(child, to, &registers);
        // Before it jumps in place: if the debugger were killed, it would do so forever.
        self.os.set_duty(pid, Some(given.duty()));
        self.following.given.push(given);
        self.write_code(pid, at, &SPIN_LOOP);
        self.detach_child(child, signal);
        Ok(handover)
    }

    /// Notes that the other debugger has taken over a process.
    pub(crate) fn taken_over(&mut self, pid: i32) {
        self.following
            .given
            .retain(|given| given.handover.pid != pid);
        self.os.set_duty(pid, None);
    }

    /// Takes back a process that the other debugger has not taken over. It runs on untraced, once
    /// that debugger has detached from it or ended.
    pub(crate) fn take_back(&mut self, pid: i32) {
        let given = self.following.given.iter();
        let Some(index) = given.map(|it| it.handover.pid).position(|it| it == pid) else {
            self.release_child(pid);
            return;
        };
        self.following.lost.push(UnclaimedHandover {
            handover: self.following.given.swap_remove(index).handover,
            next: Instant::now(),
            last: Instant::now() + CHILD_STOP_TIMEOUT,
        });
        self.reclaim_handovers();
    }
}
