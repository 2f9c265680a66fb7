//! The requests, by what they are about.

mod breakpoints;
mod completions;
mod context;
mod data_breakpoints;
mod evaluate;
mod exceptions;
mod execution;
mod initialize;
mod launch;
mod locations;
mod modules;
mod restart;
pub mod settings;
mod sources;
mod stack;
mod stepping;
mod threads;
mod variables;

pub use breakpoints::*;
pub use completions::*;
pub use context::*;
pub use data_breakpoints::*;
pub use evaluate::*;
pub use exceptions::*;
pub use execution::*;
pub use initialize::*;
pub use launch::*;
pub use locations::*;
pub use modules::*;
pub use restart::*;
pub use settings::SetSettings;
pub use sources::*;
pub use stack::*;
pub use stepping::*;
pub use threads::*;
pub use variables::*;
