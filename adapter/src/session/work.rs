//! Long work, as its progress is reported.

use std::time::Instant;

/// Work in progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// A description; unique among the work in progress.
    pub title: String,
    /// Its start.
    pub began: Instant,
    /// Progress in percent, if known.
    pub percentage: Option<u32>,
    /// Whether the client may cancel it.
    pub cancellable: bool,
}
