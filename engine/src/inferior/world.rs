//! Proof of a stopped world: jumps and their springboards are written only while no thread runs.

use super::Inferior;

/// Proof that no thread of the process runs. Only [`Inferior::stopped_world`] creates it; it is
/// valid until a thread is resumed.
pub(crate) struct StoppedWorld(());

impl Inferior {
    /// Returns the proof that no thread runs; `None` if one runs, such as one that is blocked in
    /// the kernel and could not be stopped.
    pub(crate) fn stopped_world(&self) -> Option<StoppedWorld> {
        self.running_threads()
            .is_empty()
            .then_some(StoppedWorld(()))
    }
}
