//! A thread of the debuggee, as far as ptrace is concerned.

use crate::breakpoint::AskedPlace;
use crate::call::SuspendedCall;
use crate::detour::DetourTrap;
use crate::ids::BreakpointId;
use crate::ids::Signal;
use crate::os::{RegisterSet, WaitStatus};
use crate::plan::{Returning, Stepping};
use crate::process::InterruptedPass;
use dwarf::LoadAddr;

/// A thread.
#[derive(Default)]
pub struct Thread {
    /// It waits for us to let it go on.
    pub stopped: bool,
    /// It is stopped for the client, and stays so while others run.
    pub held: bool,
    /// It stays stopped until the places of function breakpoints are known.
    pub awaits_places: bool,
    /// The client wants it stopped.
    pub pausing: bool,
    /// It is stopped with a SIGTRAP, which it would be told of if we let go of it.
    pub trapped: bool,
    /// We asked it to stop and have not seen it do so.
    pub interrupted: bool,
    /// What it is to be told when it goes on (0: nothing).
    pub signal: Signal,
    /// A stop that has not been looked at, because another one came first.
    pub deferred: Option<WaitStatus>,
    /// The breakpoint at this address has been dealt with: going on from here does not hit it.
    pub passed: Option<LoadAddr>,
    /// Its last hit was shown to the client.
    pub is_hit_shown: bool,
    /// Passes of breakpoints that were counted, and go on when handlers of signals return.
    pub interrupted_passes: Vec<InterruptedPass>,
    /// It has told of this in the middle of a system call, which writes to its registers at its end.
    pub within: Option<WaitStatus>,
    /// It ran into this trap of a trampoline, and nobody has dealt with that yet.
    pub trap: Option<DetourTrap>,
    /// A hit at this site that the program itself has counted, and found to be one to stop at.
    pub counted: Option<(LoadAddr, BreakpointId)>,
    /// Registers of the stopped thread, once read.
    pub registers: Option<RegisterSet>,
    /// They were changed and the kernel does not know it yet.
    pub unwritten: bool,
    /// The whole process was stopped by a signal (group-stop) when this one was last heard of:
    /// it stays so until SIGCONT ends that.
    pub group_stop: bool,
    /// Inlined calls at its very place that are not shown as entered.
    pub hidden: usize,
    /// The place that was asked for where it stopped.
    pub asked: AskedPlace,
    /// The function that it has just been stepped out of.
    pub returned: Option<Returning>,
    /// The step under way.
    pub step: Option<Stepping>,
    /// The state of `Watches` that its debug registers are set to; 0: none, as at birth.
    pub armed: u32,
    /// Calls for expressions that have stopped before they returned, the last one last: each
    /// was made where the one before it had stopped.
    pub suspended: Vec<SuspendedCall>,
    /// Debug registers that it has hit and that nobody has looked at yet, a bit each.
    pub accessed: u8,
    /// Its birth was announced.
    pub announced: bool,
}
