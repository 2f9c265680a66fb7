//! The stopped world: code that threads may be executing is changed only while none of them runs.

use super::Inferior;

/// Proof that no thread of the process runs. [`Inferior::stopped_world`] alone makes it; it is valid
/// for the action that it was made for.
pub(crate) struct StoppedWorld(());

impl Inferior {
    /// Returns the proof that no thread runs; `None` if one could not be stopped, because it waits
    /// in the kernel.
    pub(crate) fn stopped_world(&self) -> Option<StoppedWorld> {
        self.running_threads()
            .is_empty()
            .then_some(StoppedWorld(()))
    }
}
