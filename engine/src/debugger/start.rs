//! The start of control: launch, attach, the images that are there, and the release of a process
//! that is held.

use super::{Debugger, State, Vote};
use crate::ids::error::Error;
use crate::ids::{Launch, ModuleId, ThreadId};
use crate::images::modules::ModuleInfo;
use crate::inferior::Process;
use crate::inferior::site::Owner;
use crate::inferior::thread::StopPoint;
use crate::os::{OpenStdio, SeizeAs, ThreadEvent};
use crate::stops::event::{Event, StopReason};

/// Where a process that is held stops first ([`Debugger::release`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FirstStop {
    /// At whatever stops it.
    #[default]
    None,
    /// Where it is held.
    AtOnce,
    /// Before the first instruction of the program itself: the libraries that it is linked with are loaded then,
    /// and their constructors have run. Where it is held, if it has come that far, or has no such libraries.
    WithLibraries,
}

impl Debugger {
    /// Starts a program and holds it before its first instruction; takes milliseconds.
    ///
    /// # Errors
    /// It does not exist, is not executable, is for another machine.
    pub fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        self.start(launch, None)
    }

    /// Starts a program like [`Debugger::launch`], with the files of its standard streams already
    /// open.
    ///
    /// # Errors
    /// As [`Debugger::launch`].
    pub fn launch_with(&mut self, launch: &Launch, opened: OpenStdio) -> Result<(), Error> {
        self.start(launch, Some(opened))
    }

    fn start(&mut self, launch: &Launch, opened: Option<OpenStdio>) -> Result<(), Error> {
        self.no_process_yet()?;
        let pid = self.inferior.launch(launch, opened)?;
        self.begin(Process::new(pid, true));
        self.launch = Some(launch.clone());
        self.inferior.add_stopped_thread(ThreadId(pid));
        // In the kernel, a single step from here ends before the first instruction.
        if let Some(state) = self.inferior.thread_mut(ThreadId(pid)) {
            state.point = StopPoint::SystemCall(ThreadEvent::Execed(ThreadId(pid)));
        }
        self.load_initial_modules();
        Ok(())
    }

    /// Seizes a launcher ([`crate::os::Launcher`]) waiting in a terminal. [`Event::Launched`]
    /// follows when it was released and has executed the program.
    ///
    /// # Errors
    /// As for [`Debugger::attach`].
    pub fn seize_launcher(&mut self, pid: i32) -> Result<(), Error> {
        self.no_process_yet()?;
        self.inferior.seize(pid, SeizeAs::Launcher)?;
        let mut process = Process::new(pid, true);
        process.launcher = true;
        process.state = State::Running;
        self.begin(process);
        if let Some(process) = &mut self.inferior.process {
            let thread = process.threads.entry(ThreadId(pid)).or_default();
            thread.announced = true;
        }
        Ok(())
    }

    /// Seizes a running process and stops it.
    ///
    /// # Errors
    /// It has ended or may not be traced; the message names the cause (uid, ptrace_scope, another
    /// tracer).
    pub fn attach(&mut self, pid: i32) -> Result<(), Error> {
        self.attach_as(pid, false, |_| ())
    }

    /// Attaches like [`Debugger::attach`]; `launched`: the process is killed with the debugger.
    /// `mend` is called as soon as the process is stopped.
    pub(crate) fn attach_as(
        &mut self,
        pid: i32,
        launched: bool,
        mend: impl FnOnce(&mut Debugger),
    ) -> Result<(), Error> {
        self.no_process_yet()?;
        let role = match launched {
            true => SeizeAs::Launched,
            false => SeizeAs::Attached,
        };
        let threads = self.inferior.seize(pid, role)?;
        self.begin(Process::new(pid, launched));
        if let Some(process) = &mut self.inferior.process {
            for thread in threads {
                process.threads.entry(thread).or_default().announced = true;
            }
        }
        self.stop_all();
        mend(self);
        let alive = self
            .inferior
            .process
            .as_ref()
            .is_some_and(|process| process.state != State::Ended);
        if !alive {
            self.inferior.process = None;
            self.drop_events();
            return Err(Error::Attach {
                pid,
                message: "process exited during attach".into(),
            });
        }
        // Threads so far are reported by `threads`, not by events.
        self.keep_events(|event| {
            !matches!(event, Event::ThreadStarted(_) | Event::ThreadExited(_))
        });
        self.load_initial_modules();
        Ok(())
    }

    pub(crate) fn no_process_yet(&self) -> Result<(), Error> {
        if self.inferior.process.is_some() || self.awaited.is_some() {
            return Err(Error::AlreadyStarted);
        }
        Ok(())
    }

    pub(crate) fn begin(&mut self, process: Process) {
        self.forget_former();
        self.inferior.begin(process);
    }

    /// Drops the state of an earlier process, except the breakpoints themselves.
    fn forget_former(&mut self) {
        self.images.holding = false;
        self.stops.exceptions.start_anew();
        self.threads.clear();
        self.calls.conditions.clear();
        self.inferior.forget_former();
        self.images.modules.clear();
        self.forget_watches();
        self.restart_traces();
        self.restart_past();
        for id in self.stops.breakpoints.reset_for_restart() {
            self.emit(Event::BreakpointChanged(id));
        }
        self.clear_stop_state();
    }

    /// Finds the images of the process, binds breakpoints in them, and watches the loader.
    pub(crate) fn load_initial_modules(&mut self) {
        let Some((pid, launched)) = self
            .inferior
            .process
            .as_ref()
            .map(|process| (process.pid, process.launched))
        else {
            return;
        };
        self.inferior.system_call_at = None;
        let change = {
            let memory =
                crate::memory::ProcessMemory::uncached(self.inferior.os(), &self.inferior.sites);
            self.images.modules.load_initial(pid, &memory);
            self.images.modules.refresh(pid, &memory)
        };
        self.inferior.arch = self.images.modules.arch();
        debug_assert!(change.removed.is_empty());
        let infos: Vec<ModuleInfo> = self
            .images
            .modules
            .loaded
            .iter()
            .map(|it| it.info())
            .collect();
        for info in infos {
            self.emit(Event::ModuleLoaded(info));
        }
        self.watch_loader();
        if launched && let Some(entry) = self.images.modules.entry() {
            // At the entry, the loader provides the address to watch; static programs have no
            // loader.
            self.inferior.add_site(entry, Owner::Loader);
        }
        self.flush_module_notes();
        let ids: Vec<ModuleId> = self.images.modules.loaded.iter().map(|it| it.id).collect();
        self.watch_thread_starts(&ids);
        self.bind_all();
    }

    /// Reports new images, and binds breakpoints in them.
    pub(crate) fn announce_modules(&mut self, ids: &[ModuleId]) {
        for id in ids {
            if let Some(loaded) = self.images.modules.get(*id) {
                self.emit(Event::ModuleLoaded(loaded.info()));
            }
        }
        if !ids.is_empty() {
            self.watch_thread_starts(ids);
            self.bind_in_new(ids);
        }
    }

    pub(crate) fn flush_module_notes(&mut self) {
        for note in std::mem::take(&mut self.images.modules.notes) {
            self.emit(Event::Note(note));
        }
        for file in dwarf::truncated_files() {
            self.emit(Event::Note(format!(
                "{} was truncated while in use; debug info not read yet is lost. Restart the \
                 program.\n",
                file.display()
            )));
        }
    }

    /// Ends [`State::Held`]: resumes the program, or reports its first stop ([`StopReason::Entry`]).
    ///
    /// # Errors
    /// The process is not held.
    pub fn release(&mut self, first: FirstStop) -> Result<(), Error> {
        match self.state() {
            State::Held => {}
            State::NoProcess | State::Ended => return Err(Error::NoProcess),
            State::Running | State::Stopped => return Err(Error::AlreadyStarted),
        }
        if let Some((thread, signal)) = self.inferior.os().core().and_then(|core| core.ending()) {
            let reason = match signal {
                Some(info) => StopReason::Signal {
                    info,
                    ids: Vec::new(),
                },
                None => StopReason::Entry,
            };
            self.carry_out(thread, Vote::stop(reason));
            return Ok(());
        }
        if self.inferior.launched {
            self.hold_start_for_places();
        }
        let process = self.inferior.process.as_ref().ok_or(Error::NoProcess)?;
        let current = process.current;
        let others = process.threads.iter();
        let others: Vec<ThreadId> = others
            .filter(|(thread, state)| **thread != current && state.is_stopped())
            .map(|(thread, _)| *thread)
            .collect();
        let entry = self.images.modules.entry();
        let later = entry.filter(|entry| {
            first == FirstStop::WithLibraries
                && self.inferior.launched
                && self.inferior.registers(current).map(|it| it.pc()) != Some(*entry)
        });
        if let Some(process) = &mut self.inferior.process {
            process.first_stop = later;
        }
        let stops_here = first != FirstStop::None && later.is_none();
        match (stops_here, self.inferior.non_stop) {
            (false, _) => self.resume_all(),
            (true, false) => self.carry_out(current, Vote::stop(StopReason::Entry)),
            (true, true) => {
                for thread in others.into_iter().chain([current]) {
                    self.carry_out(thread, Vote::stop(StopReason::Entry));
                }
            }
        }
        Ok(())
    }

    /// Returns whether we launched the process; otherwise it was attached to.
    pub fn was_launched(&self) -> bool {
        self.inferior.launched
    }
}
