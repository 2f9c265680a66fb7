//! The requests, one file per topic.

mod breakpoints;
mod call_trace;
mod completions;
mod context;
mod data_breakpoints;
mod disassembly;
mod evaluate;
mod exceptions;
mod execution;
mod explain;
mod frame_names;
mod initialize;
mod launch;
mod locations;
mod memory;
mod modules;
mod origin;
mod past;
mod restart;
mod routes;
mod settings;
mod sources;
mod stack;
mod stepping;
mod threads;
mod traces;
mod variables;

pub use breakpoints::*;
pub use call_trace::TraceCall;
pub use completions::*;
pub use context::*;
pub use data_breakpoints::*;
pub use disassembly::*;
pub use evaluate::*;
pub use exceptions::*;
pub use execution::*;
pub use explain::*;
pub use initialize::*;
pub use launch::*;
pub use locations::*;
pub use memory::*;
pub use modules::*;
pub use origin::*;
pub use past::*;
pub use restart::*;
pub use routes::{Effect, InThePast, Request, ResponseTiming, Route, capabilities, find};
pub use settings::SetSettings;
pub use sources::*;
pub use stack::*;
pub use stepping::*;
pub use threads::*;
pub use traces::*;
pub use variables::*;

#[cfg(test)]
mod completeness;
