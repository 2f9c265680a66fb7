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
    /// It runs, or listens in the group-stop of its process.
    #[default]
    Running,
    /// It runs, and was interrupted: a stop follows.
    Interrupted,
    /// It is in a ptrace stop until it is resumed.
    Stopped,
    /// It is in a ptrace stop for the client, and stays so while others run.
    StoppedForClient,
}

/// A thread.
#[derive(Default)]
pub struct Thread {
    /// Whether it runs.
    pub run: RunState,
    /// Whether it stays stopped until the locations of function breakpoints are known.
    pub awaits_places: bool,
    /// Whether the client has requested a pause.
    pub pausing: bool,
    /// Whether it is in the signal-delivery-stop of a SIGTRAP, which a detach would deliver.
    pub in_sigtrap_stop: bool,
    /// Whether its last resume was a single step of a step plan that still waits for the stop.
    pub is_stepping: bool,
    /// The signal to deliver on resume (0: none).
    pub signal: Signal,
    /// A stop that has not been handled, because another one came first.
    pub deferred: Option<WaitStatus>,
    /// The site whose breakpoint has been handled: a resume from here does not hit it again.
    pub passed_site: Option<LoadAddr>,
    /// Whether its last hit was reported to the client.
    pub is_hit_shown: bool,
    /// Counted passes of breakpoints that continue when signal handlers return.
    pub interrupted_passes: Vec<InterruptedPass>,
    /// The event by which it stopped inside a system call, which still writes its registers at its
    /// end.
    pub syscall_event: Option<WaitStatus>,
    /// The trap of a trampoline that it has executed, until that is handled.
    pub pending_patch_trap: Option<PatchTrap>,
    /// A hit at this site that the program itself has counted, and that stops.
    pub pending_counted_hit: Option<(LoadAddr, BreakpointId)>,
    /// Cached registers of the stopped thread.
    pub registers: Option<RegisterSet>,
    /// Whether these were changed and are not written to the kernel yet.
    pub registers_dirty: bool,
    /// Whether the process was in a group-stop at this thread's last stop: that lasts until
    /// SIGCONT.
    pub group_stop: bool,
    /// The version of `Watches` that its debug registers have; 0: none, as for a new thread.
    pub debug_register_generation: u32,
    /// Debug registers that it has hit and that are not handled yet, a bit each.
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

    /// Records that it has stopped, if that was not known.
    pub fn stop(&mut self) {
        if !self.is_stopped() {
            self.run = RunState::Stopped;
        }
    }

    /// Makes a stopped thread one that the next resume lets run.
    pub fn release(&mut self) {
        if self.is_stopped_for_client() {
            self.run = RunState::Stopped;
        }
    }
}
