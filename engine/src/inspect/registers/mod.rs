//! Registers as values: parts of general ones, and those in the kernel's XSAVE area.

pub(crate) mod parts;
pub(crate) mod xsave;
