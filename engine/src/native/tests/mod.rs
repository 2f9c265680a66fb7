//! What the code says, against the interpreter: both look at the same bytes, and the code is run
//! by this process.

mod captured;
mod code;
pub(crate) mod machine;
mod programs;
mod random;
mod refused;
mod scopes;
