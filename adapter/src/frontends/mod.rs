//! The program's commands: each is a client of our own server, or serves one.

pub mod dap;
pub mod demo;
pub mod mcp;
pub mod run;
