//! Events of the debuggee, in the engine's terms.

use crate::ids::BreakpointId;
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::ids::{ExitStatus, OutputStream, SignalInfo, ThreadId};
use crate::images::modules::ModuleInfo;
use crate::inspect::value::Value;
use crate::stops::exception::Exception;
use crate::stops::trace::Record;
use std::path::PathBuf;

/// An event for the client.
#[derive(Clone, Debug)]
pub enum Event {
    /// A call into the program has ended: the evaluation that needs it can be requested again.
    CallEnded,
    /// The program launched in a terminal has reached its first instruction and is held there (see
    /// `Debugger::seize_launcher`).
    Launched,
    /// The program to be launched in a terminal ended before its start.
    LaunchFailed(String),
    /// The awaited process was attached to and is held (see `Debugger::attach_when_started`).
    Attached,
    /// The attach to the awaited process failed; the wait has ended.
    AttachFailed(Error),
    /// A thread was created.
    ThreadStarted(ThreadId),
    /// A thread has ended.
    ThreadExited(ThreadId),
    /// An image was loaded, or more of its debug info is known (`Debugger::use_debug_file`).
    ModuleLoaded(ModuleInfo),
    /// An image was unloaded.
    ModuleUnloaded(ModuleId),
    /// A breakpoint was bound, or lost its last location.
    BreakpointChanged(BreakpointId),
    /// A breakpoint was removed, for this reason.
    BreakpointRemoved(BreakpointId, String),
    /// The debuggee wrote to its console.
    Output {
        /// The descriptor.
        stream: OutputStream,
        /// The output; it may be split inside a character.
        bytes: Vec<u8>,
    },
    /// Log messages of breakpoints, values filled in; each ends with a newline.
    Log(String),
    /// Records of a tracepoint whose client gets all, oldest first.
    Records(BreakpointId, Vec<Record>),
    /// A remark for the user's console; ends with a newline.
    Note(String),
    /// All threads are stopped; in non-stop mode, one.
    Stopped(Stop),
    /// A child of the debuggee is the debuggee now; its threads and modules are reported again.
    Followed {
        /// The former debuggee, which runs on untraced.
        parent: i32,
    },
    /// A child of the debuggee is held for another debugger, until `Debugger::argument_passing` or
    /// `Debugger::release_child`.
    ChildHeld {
        /// The process.
        pid: i32,
        /// Its program.
        program: PathBuf,
    },
    /// The process replaced its program (`execve`); its modules and threads were reported again.
    Exec,
    /// The process is gone; the last event of a session.
    Exited(ExitStatus),
}

/// A reported stop.
#[derive(Clone, Debug)]
pub struct Stop {
    /// The thread that caused it.
    pub thread: ThreadId,
    /// Whether all other threads are stopped, too.
    pub all: bool,
    /// The reason.
    pub reason: StopReason,
    /// The error of the evaluation whose call was suspended by this stop: it has ended, and no
    /// [`Event::CallEnded`] follows.
    pub abandoned: Option<Error>,
}

/// The reason of a stop.
#[derive(Clone, Debug)]
pub enum StopReason {
    /// Before its first instruction, or right after attaching.
    Entry,
    /// At breakpoints that stop.
    Breakpoint(Vec<BreakpointId>),
    /// At breakpoints, one of which could not be evaluated; the text says why.
    BreakpointError(Vec<BreakpointId>, String),
    /// Watched data was accessed or has ended: the data breakpoints, followed by breakpoints in the
    /// code at the pc; and a description (`x: 4 -> 5`).
    Data(Vec<BreakpointId>, String),
    /// A step has ended.
    Step,
    /// The thread was moved to another line.
    Goto,
    /// A frame of the thread was restarted.
    Restart,
    /// A pause requested by the client.
    Pause,
    /// A suspended function that was called for an expression has ended; the thread's state from
    /// before the call is restored.
    CallEnded {
        /// The name of the function.
        name: String,
        /// Its result, or why there is none.
        outcome: Result<Value, Error>,
    },
    /// A signal is about to be delivered or discarded.
    Signal {
        /// The signal.
        info: SignalInfo,
        /// The filters that match it.
        ids: Vec<BreakpointId>,
    },
    /// An exception, a panic, or a sanitizer report.
    Exception {
        /// The filters that match it.
        ids: Vec<BreakpointId>,
        /// The exception; see [`crate::Debugger::exception_info`].
        exception: Exception,
    },
    /// A trap instruction of the program itself.
    Trap,
    /// The program is recorded, and about to exit with this code: it can go back.
    Exiting(i32),
    /// The recording of a file ends here; why, if no other stop says that.
    EndOfRecording(String),
    /// Another stop is shown ([`crate::Debugger::visit`]).
    Visit {
        /// The number of the stop.
        number: u64,
        /// Whether it is the present one: the program can run on from there.
        is_present: bool,
    },
}
