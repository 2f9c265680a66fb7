//! A process that a core file is left of: it is looked at as a stopped one is, and never runs.

use super::Debugger;
use crate::event::Event;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::os::{Core, CoreFile};
use crate::process::Process;
use std::path::Path;

impl Debugger {
    /// Opens what a process has left, and holds it until [`Debugger::release`], which reports why
    /// it ended. `program` is the program's file where it is not to be looked for; what is not
    /// here, or is another build, is told by [`Event::Note`].
    ///
    /// # Errors
    /// It is no core file, or one of another machine's; it has to be unpacked first
    /// ([`CoreFile::unpack`]); there is a process already.
    pub fn open_core(&mut self, file: CoreFile, program: Option<&Path>) -> Result<(), Error> {
        self.no_process_yet()?;
        let core = Core::read(file, program)?;
        let mut process = Process::new(core.pid(), false);
        let threads: Vec<ThreadId> = core.threads().collect();
        process.current = threads.first().copied().unwrap_or(process.current);
        for note in core.notes() {
            self.events.push_back(Event::Note(note.clone()));
        }
        self.os = crate::os::core_backend(core, self.os.waker())?;
        // Nothing runs beside a stopped thread.
        self.non_stop = false;
        self.begin(process);
        for thread in threads {
            self.thread_is_there(thread);
        }
        self.load_initial_modules();
        // What is there from the start is told by `modules`.
        self.events
            .retain(|event| !matches!(event, Event::ModuleLoaded(_)));
        Ok(())
    }

    /// Puts a core file away: what follows may be a live process.
    pub(crate) fn close_core(&mut self) {
        self.process = None;
        self.clear_stop_state();
        self.events.clear();
        self.over = true;
        match crate::os::native_woken_by(self.os.waker()) {
            Ok(os) => self.os = os,
            Err(error) => tracing::warn!(%error, "no process can follow"),
        }
    }

    /// Whether the process is a core file.
    pub fn is_post_mortem(&self) -> bool {
        self.os.core().is_some()
    }

    /// # Errors
    /// The process is a core file.
    pub fn can_run(&self) -> Result<(), Error> {
        match self.is_post_mortem() {
            true => Err(Error::PostMortem("the program has ended and cannot be run")),
            false => Ok(()),
        }
    }
}
