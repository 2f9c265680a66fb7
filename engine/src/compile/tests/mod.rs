//! Compiled conditions, compared with the interpreter: both read the same bytes, and this process
//! runs the code.

mod captured;
mod code;
pub(crate) mod machine;
mod programs;
mod random;
mod refused;
mod scopes;
