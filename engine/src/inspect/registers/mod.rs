//! Registers as values: parts of general ones, and extended ones.

pub(crate) mod extended;
pub(crate) mod parts;
