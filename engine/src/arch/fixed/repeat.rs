//! No instruction repeats.

pub use super::super::no_repetitions::*;
