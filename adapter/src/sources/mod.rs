//! Sources as the client sees them: line and column numbers, paths, machine code.

mod client;
mod code_sources;
mod columns;
pub mod rust_toolchains;
mod source_map;

pub use client::{Client, Habits, PathFormat};
pub use code_sources::{CodeSources, Flavor};
pub use source_map::*;
