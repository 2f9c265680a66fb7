//! Fast breakpoints: which breakpoints get a jump to code in the debuggee, when they lose it, and
//! what that code logs and counts. The jumps themselves: [`crate::inferior::jump_patch`].

mod calls;
mod changes;
mod count_all;
mod drain;
mod expected;
mod install;
mod served;

pub(crate) use expected::why_outside;
