//! Replays on processors where programs cannot be recorded: there are none.

use super::LinuxBackend;
use super::record::Recording;
use crate::os::Recordings;

impl LinuxBackend {
    /// Records from now on: never, as there is no recording.
    pub(super) fn record_by(&mut self, recording: Recording) {
        match recording {}
    }
}

impl Recordings for LinuxBackend {}
