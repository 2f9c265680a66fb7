//! The state of a thread of the debuggee, as seen through ptrace.

use crate::ids::BreakpointId;
use crate::ids::Signal;
use crate::inferior::InterruptedPass;
use crate::inferior::jump_patch::PatchTrap;
use crate::os::{RegisterSet, WaitStatus};
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

/// A thread of the debuggee.
#[derive(Default)]
pub struct Thread {
    /// Whether it runs.
    pub run: RunState,
    /// Whether it stays stopped until the locations of function breakpoints are known.
    pub awaits_places: bool,
    /// Whether the client has requested a pause.
    pub pausing: bool,
    /// Whether it is in the signal-delivery-stop of a SIGTRAP, which the kernel would deliver if
    /// the debugger died.
    pub in_sigtrap_stop: bool,
    /// Whether its last resume was a single step for a step of the client, not for a watchpoint.
    pub is_stepping: bool,
    /// The signal to deliver on resume (0: none).
    pub signal: Signal,
    /// A stop that has not been handled, because another one came first.
    pub deferred: Option<WaitStatus>,
    /// The site whose hit has been handled: a resume from there does not hit it again.
    pub passed_site: Option<LoadAddr>,
    /// Whether its last hit was reported to the client.
    pub is_hit_shown: bool,
    /// Hits that have been counted, whose instruction is executed when a signal handler returns.
    pub interrupted_passes: Vec<InterruptedPass>,
    /// The event that stopped it inside a system call. The kernel still writes registers at the end
    /// of the call.
    pub syscall_event: Option<WaitStatus>,
    /// The trap of a trampoline that it has executed and that is not handled yet.
    pub pending_patch_trap: Option<PatchTrap>,
    /// The site and the breakpoint of a hit that the program has counted, and that stops.
    pub pending_counted_hit: Option<(LoadAddr, BreakpointId)>,
    /// Cached registers of the stopped thread.
    pub registers: Option<RegisterSet>,
    /// Whether `registers` has changes that are not written to the kernel yet.
    pub registers_dirty: bool,
    /// Whether the process was in a group-stop at this thread's last stop. A group-stop lasts until
    /// SIGCONT.
    pub group_stop: bool,
    /// The generation of `DebugRegisters` that its debug registers have; 0: they are clear, as in a
    /// new thread.
    pub debug_register_generation: u32,
    /// Mask of the debug registers that it has hit and that are not handled yet.
    pub debug_register_hits: u8,
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
