//! What all layers speak of: numbers of threads, images, breakpoints and frames, signals, errors, and
//! how a program is to be started. Plain data.

mod breakpoint;
mod code_name;
pub mod error;
mod launch;

pub use breakpoint::{BreakpointOptions, HitCondition};
pub use code_name::CodeName;
pub use launch::{Launch, StdioTarget};

use dwarf::LoadAddr;
use std::fmt;

/// A thread of the debuggee, by the operating system's number (Linux: tid).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub i32);

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A signal number; real-time signals too. 0 is none. The numbers are those of Linux on all
/// machines, so that core files mean the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Signal(pub i32);

#[allow(missing_docs)]
impl Signal {
    pub const INT: Signal = Signal(2);
    pub const QUIT: Signal = Signal(3);
    pub const ILL: Signal = Signal(4);
    pub const TRAP: Signal = Signal(5);
    pub const ABRT: Signal = Signal(6);
    pub const BUS: Signal = Signal(7);
    pub const FPE: Signal = Signal(8);
    pub const KILL: Signal = Signal(9);
    pub const USR1: Signal = Signal(10);
    pub const SEGV: Signal = Signal(11);
    pub const ALRM: Signal = Signal(14);
    pub const TERM: Signal = Signal(15);
    pub const CHLD: Signal = Signal(17);
    pub const CONT: Signal = Signal(18);
    pub const STOP: Signal = Signal(19);
    pub const URG: Signal = Signal(23);
    pub const XCPU: Signal = Signal(24);
    pub const XFSZ: Signal = Signal(25);
    pub const VTALRM: Signal = Signal(26);
    pub const PROF: Signal = Signal(27);
    pub const WINCH: Signal = Signal(28);
    pub const SYS: Signal = Signal(31);
}

/// A signal with the kernel's `siginfo_t`, as far as it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalInfo {
    /// `si_signo`.
    pub signal: Signal,
    /// `si_code`.
    pub code: i32,
    /// `si_addr` of faults.
    pub address: Option<LoadAddr>,
    /// `si_pid` of signals that a process sent.
    pub sender: Option<i32>,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitStatus {
    /// By `exit`, with this status (0 to 255).
    Code(i32),
    /// By a signal.
    Signal(Signal),
    /// It lives on without us.
    Detached,
}

impl ExitStatus {
    /// The number a shell would report: the status, or 128 and the signal.
    pub fn shell_code(self) -> i32 {
        match self {
            ExitStatus::Code(code) => code,
            ExitStatus::Signal(signal) => 128 + signal.0,
            ExitStatus::Detached => 0,
        }
    }
}

/// Which of the debuggee's descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputStream {
    /// 1
    Stdout,
    /// 2
    Stderr,
}

/// An image of the process; the number is not used again in the session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleId(pub u32);

/// A breakpoint's number, good for the session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BreakpointId(pub u32);

impl fmt::Display for BreakpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A frame of a stopped thread: 0 is the innermost. Good until the next resume.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FrameKey {
    /// The thread.
    pub thread: ThreadId,
    /// The level, inlined calls counted.
    pub level: usize,
}
