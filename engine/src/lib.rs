//! The engine owns the debuggee: processes and threads, breakpoints, stepping, stacks, values
//! and expressions. It knows neither DAP nor JSON; [`Debugger`] is its whole public face.
//!
//! Everything that changes has one owner, the thread that made the [`Debugger`]. Only
//! `os` talks to the operating system.

mod arch;
mod body;
pub mod breakpoint;
mod call;
pub mod debugger;
mod detour;
mod disassembly;
mod displaced;
pub mod error;
pub mod eval;
pub mod event;
pub mod exception;
mod frame;
mod hand_over;
mod indexer;
pub mod language;
mod memory;
mod modules;
mod native;
pub mod os;
mod plan;
mod process;
pub mod stack;
mod thread;
mod tls;
pub mod value;
pub mod visualize;

pub use breakpoint::watch::{DataAccess, DataBreakpoint, WatchScope, Watchable};
pub use breakpoint::{
    BreakpointId, BreakpointInfo, BreakpointOptions, BreakpointPlace, FunctionBreakpoint,
    InstructionBreakpoint, SourceBreakpoint, recorded_checksum,
};
pub use debugger::{
    Debugger, Evaluated, Extent, Granularity, Launch, LineCode, ModuleId, ModuleInfo, MutexWait,
    NamesStatus, Reading, RegisterGroup, State, StdioTarget, StepKind, SymbolInfo, ThreadInfo,
    Wait,
};
pub use detour::Coverage;
pub use disassembly::{CodeName, Disassembled, Flavor, Listing, Wanted};
pub use dwarf::{
    Language, LoadAddr, SourceFile, SourceLocation, SymbolKind, SymbolStatus, finish_keeping,
    open_regular, read_regular,
};
pub use error::Error;
pub use eval::Purpose;
pub use event::{Event, ExitStatus, OutputStream, Signal, SignalInfo, Stop, StopReason, ThreadId};
pub use exception::{ExceptionBreakpoint, ExceptionFilter, ExceptionInfo, SignalRule};
pub use os::{CoreFile, Mapping, OpenStdio, Waker};
pub use plan::{GotoTarget, StepFilters, StepTarget};
pub use process::{Follow, FollowFork, Handover};
pub use stack::{Frame, FrameKey, FrameKind, Stack};
pub use value::{Child, Limits, Named, Next, Numbers, Objects, Presentation, Value, Which};
