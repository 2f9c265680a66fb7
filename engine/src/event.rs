//! What the debuggee did, in the engine's own words.

use crate::exception::Exception;
use crate::ids::BreakpointId;
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::ids::{ExitStatus, OutputStream, SignalInfo, ThreadId};
use crate::images::modules::ModuleInfo;
use crate::inspect::value::Value;
use std::path::PathBuf;

/// Something that a client may want to know.
#[derive(Clone, Debug)]
pub enum Event {
    /// A call into the program has ended: the evaluation that wanted it can be asked for again.
    CallEnded,
    /// The program that was started in a terminal has reached its first instruction and is
    /// held there (see `Debugger::seize_launcher`).
    Launched,
    /// The program that was to be started in a terminal ended before it was started.
    LaunchFailed(String),
    /// The process that was waited for has been attached to and is held (see
    /// `Debugger::attach_when_started`).
    Attached,
    /// It could not be attached to; nobody waits any more.
    AttachFailed(Error),
    /// A thread exists now.
    ThreadStarted(ThreadId),
    /// A thread has ended.
    ThreadExited(ThreadId),
    /// An image was loaded, or more is known of one (`Debugger::use_debug_file`).
    ModuleLoaded(ModuleInfo),
    /// An image was unloaded.
    ModuleUnloaded(ModuleId),
    /// A breakpoint was bound, or lost its last location.
    BreakpointChanged(BreakpointId),
    /// A breakpoint is no more, for this reason.
    BreakpointRemoved(BreakpointId, String),
    /// The debuggee wrote to its console.
    Output {
        /// Which descriptor.
        stream: OutputStream,
        /// What it wrote; cut anywhere, also inside a character.
        bytes: Vec<u8>,
    },
    /// Logpoints were hit: their texts, values filled in; each ends with a newline.
    Log(String),
    /// A remark for the user's console; ends with a newline.
    Note(String),
    /// All threads are stopped, or in non-stop mode one.
    Stopped(Stop),
    /// A process that the debuggee made is the debuggee now; threads and modules are announced
    /// anew.
    Followed {
        /// The one before, which runs on without us.
        parent: i32,
    },
    /// A process that the debuggee made is held for a debugger of its own:
    /// `Debugger::hand_over` or `Debugger::release_child` is due.
    ChildHeld {
        /// The process.
        pid: i32,
        /// What it runs.
        program: PathBuf,
    },
    /// The process replaced its program (`execve`); modules and threads were announced anew.
    Exec,
    /// The process is gone; the last event of a session.
    Exited(ExitStatus),
}

/// A stop that is shown.
#[derive(Clone, Debug)]
pub struct Stop {
    /// The thread that caused it.
    pub thread: ThreadId,
    /// Whether all others are stopped with it.
    pub all: bool,
    /// Why.
    pub reason: StopReason,
    /// The error of the evaluation whose call has stopped here before it returned: nothing more
    /// comes of it, and no [`Event::CallEnded`] follows.
    pub abandoned: Option<Error>,
}

/// Why a thread stopped.
#[derive(Clone, Debug)]
pub enum StopReason {
    /// Before its first instruction, or right after attaching.
    Entry,
    /// At breakpoints that all say stop.
    Breakpoint(Vec<BreakpointId>),
    /// At breakpoints one of which could not decide; the text says why.
    BreakpointError(Vec<BreakpointId>, String),
    /// Watched data was accessed, or is gone: the data breakpoints, behind them breakpoints in
    /// the code where that led; and what happened (`x: 4 -> 5`).
    Data(Vec<BreakpointId>, String),
    /// A step is done.
    Step,
    /// It was moved to another line.
    Goto,
    /// A frame of it was restarted.
    Restart,
    /// The client asked.
    Pause,
    /// A function called for an expression that had stopped before it returned has ended; the
    /// thread is where it was before the call.
    CallEnded {
        /// The function.
        name: String,
        /// What it returned, or what happened instead.
        outcome: Result<Value, Error>,
    },
    /// A signal is about to be delivered, or discarded.
    Signal {
        /// Which.
        info: SignalInfo,
        /// The filters that wanted to know of it.
        ids: Vec<BreakpointId>,
    },
    /// An exception, a panic, or what a sanitizer has found.
    Exception {
        /// The filters that wanted to know of it.
        ids: Vec<BreakpointId>,
        /// What; see [`crate::Debugger::exception_info`].
        exception: Exception,
    },
    /// A trap instruction of the program itself.
    Trap,
}
