//! Recording on processors where it is not supported: nothing is recorded, and there are no replays.

use super::super::thread_state::SIGNAL_BYTES;
use crate::ids::error::Error;
use crate::ids::{Launch, Signal, ThreadId};
use crate::os::recording::{self, HashEvents, Report, SaveTo};
use crate::os::{MappedFile, Patience, Resume, ThreadEvent};
use dwarf::LoadAddr;
use std::io;
use std::path::Path;
use std::time::Instant;

/// # Errors
/// Always.
pub fn record(launch: &Launch, _: HashEvents, _: Option<&SaveTo>) -> Result<Report, Error> {
    Err(recording::refusal(launch))
}

/// # Errors
/// Always.
pub fn install_filter() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// # Errors
/// Always.
pub(super) fn begin(_: i32, _chaos: Option<u64>) -> io::Result<Recording> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns why a program is not recorded.
pub(super) fn failure(launch: &Launch, _: &io::Error) -> Error {
    recording::refusal(launch)
}

/// What a recorded program did: there is none.
pub(super) enum RunLog {}

/// The recording of a program: there is none.
pub(super) enum Recording {}

impl Recording {
    pub fn actual(&self, _: ThreadId) -> ThreadId {
        match *self {}
    }

    pub fn has_seen(&self) -> bool {
        match *self {}
    }

    pub fn signal_info(&self) -> Option<[u8; SIGNAL_BYTES]> {
        match *self {}
    }

    pub fn is_going_on(&self) -> bool {
        match *self {}
    }

    pub fn is_replay_shown(&self) -> bool {
        match *self {}
    }

    pub fn into_log(self) -> Option<RunLog> {
        match self {}
    }

    pub fn is_stored(&self) -> bool {
        match *self {}
    }

    pub fn stored_program(&self) -> Option<MappedFile> {
        match *self {}
    }

    pub fn stored_file(&self, _: &Path) -> Option<MappedFile> {
        match *self {}
    }

    pub fn stored_auxiliary(&self, _: u64) -> Option<u64> {
        match *self {}
    }

    pub fn name_of(&self, _: ThreadId) -> Option<&str> {
        match *self {}
    }

    pub fn note_patch(&self, _: LoadAddr, _: Option<&[u8]>) {
        match *self {}
    }

    pub fn next_tick(&mut self, _: Instant) -> Option<Instant> {
        match *self {}
    }

    pub fn next_stop(&mut self) -> Option<(ThreadId, ThreadEvent)> {
        match *self {}
    }

    pub fn stop_of(&mut self, _: ThreadId, _: Patience) -> Option<ThreadEvent> {
        match *self {}
    }

    pub fn resume(&mut self, _: ThreadId, _: Resume, _: Signal) {
        match *self {}
    }

    /// # Errors
    /// Never: there is no value.
    pub fn interrupt(&mut self, _: ThreadId) -> io::Result<()> {
        match *self {}
    }
}
