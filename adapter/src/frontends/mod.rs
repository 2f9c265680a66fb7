//! The commands of `stillpoint`: each is a client of the DAP server, or serves one.

pub mod advice;
pub mod dap;
pub mod demo;
pub mod mcp;
pub mod record;
pub mod run;
pub mod setup;
