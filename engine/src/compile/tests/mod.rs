//! Compiled conditions, compared with the interpreter: both read the same bytes, and this process
//! runs the code.

mod captured;
mod cpp;
// The code of one set, in its assembly.
#[cfg(target_arch = "x86_64")]
mod code;
pub(crate) mod machine;
mod programs;
pub(crate) mod random;
mod reads;
mod refused;
mod rust;
#[cfg(target_arch = "x86_64")]
mod scopes;
