//! Jumps of x86-64, which may be longer than the instruction at the site.

mod around;
mod count_all;
pub(super) mod coverage;
pub(super) mod function_code;
mod jump_table;
pub(super) mod layout;
pub(super) mod springboard;
mod trace;
mod trace_call;
mod trace_path;
mod trace_since;
#[cfg(test)]
mod trace_tests;
pub(super) mod trampoline;
#[cfg(test)]
mod trampoline_tests;
pub(super) mod window;
