//! The file of the setting `record`: the recording is written to it where the program ends, or the session.

use super::Session;
use crate::files::recordings::{self, MOST_MEGABYTES};
use crate::protocol::OutputCategory;
use engine::State;
use engine::os::recording::SaveTo;
use std::path::PathBuf;

/// Sets the file for the program that was just launched.
pub fn set(session: &mut Session, path: Option<PathBuf>) {
    if path.is_some() {
        session.debugger.keep_end_of_recording();
    }
    session.recording_file = path;
}

/// Writes the recording, if the program is stopped: it is about to be killed.
pub fn write_of_stopped(session: &mut Session) {
    if session.state() == State::Stopped {
        write(session);
    }
}

/// Writes the recording of the program that has ended, unless it was written before.
pub fn write_of_ended(session: &mut Session) {
    write(session);
}

fn write(session: &mut Session) {
    let Some(path) = session.recording_file.take() else {
        return;
    };
    let to = SaveTo {
        path,
        limit: MOST_MEGABYTES << 20,
    };
    let saved = match session.state() {
        State::Stopped => session.debugger.save_recording(&to),
        _ => session.debugger.save_ended_recording(&to),
    };
    match saved {
        Ok(saved) => session.console(&format!(
            "The recording: {}.\n",
            recordings::written(&to.path, &saved)
        )),
        Err(error) => session.output(
            OutputCategory::Important,
            format!("The recording is not kept: {error}.\n"),
        ),
    }
}
