//! The state of a thread of the debuggee, as seen through ptrace.

use super::InterruptedPass;
use super::jump_patch::PatchTrap;
use crate::ids::BreakpointId;
use crate::ids::Signal;
use crate::os::{RegisterSet, ThreadEvent};
use dwarf::LoadAddr;

/// Whether a thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RunState {
    /// It runs, or is in the group-stop of its process (PTRACE_LISTEN).
    #[default]
    Running,
    /// It runs, and was interrupted: a stop follows.
    Interrupted,
    /// It is in a ptrace stop until it is resumed.
    Stopped,
    /// It is in a ptrace stop for the client, and stays so while others run.
    StoppedForClient,
}

/// The place in the kernel at which a thread has stopped, as far as it matters to the next resume.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StopPoint {
    /// A place without consequences.
    #[default]
    Plain,
    /// The signal-delivery-stop of a SIGTRAP, which the kernel would deliver if the debugger died.
    Sigtrap,
    /// Inside a system call, at this event. The kernel still writes registers at the end of the
    /// call.
    SystemCall(ThreadEvent),
}

/// The general-purpose registers of a stopped thread.
#[derive(Clone, Copy, Default)]
pub enum RegisterCache {
    /// Not read, or not normalized yet.
    #[default]
    Unread,
    /// As the kernel has them.
    Clean(RegisterSet),
    /// Changed, and not written to the kernel yet.
    Dirty(RegisterSet),
}

impl RegisterCache {
    /// Returns the registers, if they are known.
    pub fn get(&self) -> Option<RegisterSet> {
        match self {
            RegisterCache::Unread => None,
            RegisterCache::Clean(registers) | RegisterCache::Dirty(registers) => Some(*registers),
        }
    }

    /// Returns the registers that are to be written to the kernel, and records that they are.
    pub fn take_dirty(&mut self) -> Option<RegisterSet> {
        let RegisterCache::Dirty(registers) = *self else {
            return None;
        };
        *self = RegisterCache::Clean(registers);
        Some(registers)
    }
}

/// The debug registers of a thread.
#[derive(Clone, Copy, Default)]
pub struct ThreadDebugRegisters {
    /// The generation of `DebugRegisters` that they have; 0: they are clear, as in a new thread.
    pub generation: u32,
    /// Mask of those that the thread has hit and that are not handled yet.
    pub hits: u8,
    /// Whether the thread runs without them until its next stop.
    pub rests: bool,
}

/// A thread of the debuggee.
#[derive(Default)]
pub struct Thread {
    /// Whether it runs.
    pub run: RunState,
    /// Where it has stopped.
    pub point: StopPoint,
    /// Whether it stays stopped until the locations of function breakpoints are known.
    pub awaits_places: bool,
    /// Whether the client has requested a pause.
    pub pausing: bool,
    /// Whether its last resume was a single step for a step of the client, not for a watchpoint.
    pub is_stepping: bool,
    /// The signal to deliver on resume (0: none).
    pub signal: Signal,
    /// A stop that has not been handled, because another one came first.
    pub deferred: Option<ThreadEvent>,
    /// The site whose hit has been handled: a resume from there does not hit it again.
    pub passed_site: Option<LoadAddr>,
    /// Whether it has executed an exclusive sequence in a pad since its last resume.
    pub has_left_sequence: bool,
    /// Whether its last hit was reported to the client.
    pub is_hit_shown: bool,
    /// Hits that have been counted, whose instruction is executed when a signal handler returns.
    pub interrupted_passes: Vec<InterruptedPass>,
    /// The trap of a trampoline that it has executed and that is not handled yet.
    pub pending_patch_trap: Option<PatchTrap>,
    /// The site and the breakpoint of a hit that the program has counted, and that stops.
    pub pending_counted_hit: Option<(LoadAddr, BreakpointId)>,
    /// Its registers while it is stopped.
    pub registers: RegisterCache,
    /// Whether the process was in a group-stop at this thread's last stop. A group-stop lasts until
    /// SIGCONT.
    pub group_stop: bool,
    /// The number of its last change ([`super::Inferior::changes_of`]).
    pub changed: u64,
    /// Its debug registers.
    pub debug: ThreadDebugRegisters,
    /// Whether its creation was reported to the client.
    pub announced: bool,
}

impl Thread {
    /// Returns whether it is in a ptrace stop.
    pub fn is_stopped(&self) -> bool {
        matches!(self.run, RunState::Stopped | RunState::StoppedForClient)
    }

    /// Returns whether it is stopped for the client; it stays so while others run.
    pub fn is_stopped_for_client(&self) -> bool {
        self.run == RunState::StoppedForClient
    }

    /// Records that it has stopped; one that is stopped for the client stays so.
    pub fn stop(&mut self) {
        if !self.is_stopped() {
            self.run = RunState::Stopped;
        }
    }

    /// Allows the next resume to run it if it is stopped for the client.
    pub fn release(&mut self) {
        if self.is_stopped_for_client() {
            self.run = RunState::Stopped;
        }
    }
}
