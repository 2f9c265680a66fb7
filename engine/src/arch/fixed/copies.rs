//! No copies are followed.

pub use super::super::no_copies::*;
