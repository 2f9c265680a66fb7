//! Core files: inspected like a stopped process that never runs.

use super::Debugger;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::Process;
use crate::os::{Core, CoreFile};
use crate::stops::event::Event;
use std::path::Path;

impl Debugger {
    /// Opens a core file and holds it until [`Debugger::release`], which reports why the process
    /// ended. `program` is the program's file, if it is not to be searched; missing files and files
    /// of another build are reported by [`Event::Note`].
    ///
    /// # Errors
    /// It is not a core file, or one of another architecture; it has to be unpacked first
    /// ([`CoreFile::unpack`]); there is a process already.
    pub fn open_core(&mut self, file: CoreFile, program: Option<&Path>) -> Result<(), Error> {
        self.no_process_yet()?;
        let core = Core::read(file, program)?;
        let mut process = Process::new(core.pid(), false);
        let threads: Vec<ThreadId> = core.threads().collect();
        process.current = threads.first().copied().unwrap_or(process.current);
        for note in core.notes() {
            self.emit(Event::Note(note.clone()));
        }
        let os = crate::os::core_backend(core, self.inferior.os().waker())?;
        self.inferior.replace_backend(os);
        // No other thread can run.
        self.inferior.non_stop = false;
        self.begin(process);
        for thread in threads {
            self.inferior.add_stopped_thread(thread);
        }
        self.load_initial_modules();
        // The initial images are reported by `modules`.
        self.keep_events(|event| !matches!(event, Event::ModuleLoaded(_)));
        Ok(())
    }

    /// Closes a core file, so that a live process may follow.
    pub(crate) fn close_core(&mut self) {
        self.inferior.process = None;
        self.clear_stop_state();
        self.drop_events();
        self.inferior.over = true;
        match crate::os::live_backend_woken_by(self.inferior.os().waker()) {
            Ok(os) => self.inferior.replace_backend(os),
            Err(error) => tracing::warn!(%error, "no process can follow"),
        }
    }

    /// Returns whether the process is a core file.
    pub fn is_post_mortem(&self) -> bool {
        self.inferior.os().core().is_some()
    }

    /// # Errors
    /// The process is a core file, or a past stop is shown.
    pub fn can_run(&self) -> Result<(), Error> {
        match self.is_post_mortem() {
            true => Err(Error::PostMortem("the program has ended and cannot be run")),
            false if self.is_in_past() => Err(Error::InThePast("it cannot be run")),
            false => Ok(()),
        }
    }

    /// # Errors
    /// The process is a core file, or a past stop is shown: `what` says what cannot be done.
    pub(crate) fn can_change(&self, what: &'static str) -> Result<(), Error> {
        match self.is_post_mortem() {
            true => Err(Error::PostMortem(what)),
            false if self.is_in_past() => Err(Error::InThePast(what)),
            false => Ok(()),
        }
    }
}
