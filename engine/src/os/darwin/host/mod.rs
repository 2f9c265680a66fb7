//! What the debugger needs of macOS besides the debuggee.

pub mod own;
mod peer;
pub mod queue;
pub mod server;

pub use peer::{user_of_peer, user_of_unix_peer};
pub use server as host;
