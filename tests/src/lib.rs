//! Black-box tests of Stillpoint: they drive the built binary like an editor.
//!
//! [`DapClient`] starts the adapter and checks every message that it sends, [`Fixture`] compiles
//! the small programs of `tests/fixtures` on demand and knows their lines by name, [`run`] walks
//! a table of steps, [`lines`] compares bound breakpoints with LLVM's line tables, [`Agent`] is a client of `stillpoint mcp`, and [`process`] looks at processes from outside.
//!
//! ```no_run
//! use stillpoint_tests::{DapClient, Fixture};
//!
//! let program = Fixture::of("c/loop.c");
//! let mut client = DapClient::stopped_at(&program, "body");
//! assert_eq!(client.locals()["i"], "0");
//! client.disconnect();
//! ```
//!
//! Every wait is for a message or for the end of a process, lasts as long as something happens
//! ([`patience`]), and prints the whole transcript if it fails.

mod agent;
mod binary;
mod client;
mod core;
pub mod fixture;
pub mod lines;
mod machine;
pub mod oracle;
pub mod patience;
pub mod process;
mod schema;
pub mod signatures;
mod steps;
pub mod stress;

pub use agent::{Agent, assert_contains, line_of};
pub use binary::{command, repository, stillpoint, target_directory};
pub use client::{DapClient, Server, Terminal};
pub use core::{core_of, core_of_program};
pub use fixture::{Compiler, Fixture, Flags, RUST_RELEASES, foreign_executable};
pub use machine::{MACHINE, Machine, has_libcxx};
pub use steps::{Step, matrix, run, run_with};
