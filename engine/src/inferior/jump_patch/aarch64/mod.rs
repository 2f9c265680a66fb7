//! Jumps of aarch64: a `b` replaces any one instruction, so that no other control flow needs to be
//! known.

#[cfg(test)]
mod recover_tests;
pub(super) mod trampoline;
#[cfg(test)]
mod trampoline_tests;
pub(super) mod window;
