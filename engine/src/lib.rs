//! The engine owns the debuggee: processes and threads, breakpoints, stepping, stacks, values
//! and expressions. It knows neither DAP nor JSON; [`Debugger`] is its whole public face.
//!
//! Everything that changes has one owner, the thread that made the [`Debugger`]. Only
//! `os` talks to the operating system.

pub(crate) mod arch;
mod compile;
pub mod debugger;
pub mod expr;

mod ids;
mod images;
mod inferior;
mod inspect;
mod memory;
pub mod os;
mod stops;

pub use debugger::disassembly::{Disassembled, Flavor, Listing, Wanted};
pub use debugger::past::PastStop;
pub use debugger::stack::{Frame, FrameKind, Stack};
pub use debugger::start::FirstStop;
pub use debugger::step::{Activation, GotoTarget};
pub use debugger::trace::TracePlace;
pub use debugger::travel::{Backward, BreakpointPlace, Hop, HopKind, Origin};
pub use debugger::{
    Debugger, Evaluated, Extent, Granularity, LineCode, MutexWait, NamesStatus, RegisterGroup,
    ResumeScope, State, StepKind, SymbolInfo, ThreadInfo, Wait, Waiting,
};
pub use dwarf::{
    Language, LoadAddr, SourceFile, SourceLocation, SymbolKind, SymbolStatus, finish_cache_writes,
    open_regular, read_regular,
};
pub use expr::Purpose;
pub use ids::error::Error;
pub use ids::{
    BreakpointId, CodeName, ExitStatus, FrameKey, Launch, ModuleId, OutputStream, Signal,
    SignalInfo, StdioTarget, ThreadId,
};
pub use images::indexer::IndexingProgress;
pub use images::modules::ModuleInfo;
pub use inferior::jump_patch::Coverage;
pub use inferior::{Follow, FollowFork, Handover};
pub use inspect::value::{
    Child, ChildBatch, ChildFilter, Limits, Named, Numbers, Objects, Pointees, Presentation, Value,
};
pub use inspect::{language, value, visualize};
pub use os::{CoreFile, Mapping, OpenStdio, RecordingState, Waker};
pub use stops::breakpoint::watch::{DataAccess, DataBreakpoint, WatchScope, Watchable};
pub use stops::breakpoint::{
    BreakpointInfo, BreakpointOptions, FunctionBreakpoint, InstructionBreakpoint, ProblemKind,
    ResolvedLocation, SourceBreakpoint, recorded_checksum,
};
pub use stops::event::{Event, Stop, StopReason};
pub use stops::exception::{ExceptionBreakpoint, ExceptionFilter, ExceptionInfo, SignalRule};
pub use stops::past::{Motion, Way};
pub use stops::step::{StepFilters, StepTarget};
pub use stops::trace::{
    Cell, ColumnKind, Histogram, KeyKind, Number, PATH_SEPARATOR, Rate, Record, Row,
    STACK_SEPARATOR, TableReport, TraceReport,
};
