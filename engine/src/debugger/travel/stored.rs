//! Recordings in files: opened, they are debugged like a program that has come to its end, and cannot run on.

use super::{Debugger, Vote};
use crate::ids::error::Error;
use crate::inferior::Process;
use crate::os::{SaveTo, Saved};
use crate::stops::event::{Event, StopReason};
use std::path::Path;

impl Debugger {
    /// Opens a recording of a file and holds it where it ends until [`Debugger::release`], which reports why it
    /// ends there. `program` is the program's file, if it has moved. The calling thread must be the one that
    /// debugs. Cost: its log and one image of the program are read.
    ///
    /// # Errors
    /// The file is no recording, damaged, or of another kind of machine; there is a process already.
    pub fn open_recording(&mut self, path: &Path, program: Option<&Path>) -> Result<(), Error> {
        self.no_process_yet()?;
        let opened = self.inferior.os_mut().open_recording(path, program);
        let pid = opened.map_err(|why| {
            let path = path.display();
            Error::Unsupported(format!("cannot replay {path}: the file {why}"))
        })?;
        // Replays are of one thread at a time.
        self.inferior.non_stop = false;
        self.begin(Process::new(pid, true));
        for thread in self.inferior.os().stored_threads() {
            self.inferior.add_stopped_thread(thread);
        }
        let running = self.inferior.os().running_thread();
        if let (Some(process), Some(running)) = (&mut self.inferior.process, running) {
            process.current = running;
        }
        self.load_initial_modules();
        // The initial images are reported by `modules`.
        self.keep_events(|event| !matches!(event, Event::ModuleLoaded(_)));
        Ok(())
    }

    /// Returns whether the process is where the recording of a file ends, or in its past.
    pub fn is_recording_stored(&self) -> bool {
        self.inferior.os().stored_end().is_some()
    }

    /// Writes the recording of the program to a file, up to where it is stopped. Cost: the memory of some
    /// snapshots is read and compressed, about 1 s for each 200 MB.
    ///
    /// # Errors
    /// The program is not stopped or not recorded; the file cannot be written, or would be too large.
    pub fn save_recording(&mut self, to: &SaveTo) -> Result<Saved, Error> {
        self.stopped()?;
        self.settle_change();
        if let Some(thread) = self.current_thread() {
            self.inferior.write_registers(thread);
        }
        let saved = self.inferior.os_mut().save_recording(to);
        saved.map_err(Error::Unsupported)
    }

    /// Keeps where the recorded program ends, for [`Debugger::save_ended_recording`]. Cost: a copy of the process for
    /// each signal that may end it.
    pub fn keep_end_of_recording(&mut self) {
        self.inferior.os_mut().keep_end_of_recording();
    }

    /// Writes the recording of the program to a file after it has ended or was killed. Cost: as
    /// [`Debugger::save_recording`].
    ///
    /// # Errors
    /// The program was not recorded; the file cannot be written, or would be too large.
    pub fn save_ended_recording(&mut self, to: &SaveTo) -> Result<Saved, Error> {
        let saved = self.inferior.os_mut().save_ended_recording(to);
        saved.map_err(Error::Unsupported)
    }

    /// Returns the vote on a thread that was resumed where the recording ends.
    pub(super) fn on_stored_end(&mut self) -> Vote {
        self.cancel_steps();
        let why = self.inferior.os().stored_end().unwrap_or_default();
        Vote::stop(StopReason::EndOfRecording(why))
    }
}
