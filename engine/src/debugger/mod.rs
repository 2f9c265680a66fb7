//! [`Debugger`]: the public interface of the engine.

mod argument_passing;
pub(crate) mod breakpoint;
pub(crate) mod call;
mod children;
pub mod disassembly;
mod dispatch;
mod end;
pub(crate) mod exception;
mod fast_breakpoint;
mod find;
pub(crate) mod frame;
mod hold;
mod images;
mod inspect;
mod life;
mod loader;
pub(crate) mod look;
mod memory;
pub(crate) mod outbox;
mod post_mortem;
mod report;
mod run;
pub mod stack;
pub(crate) mod step;
#[cfg(test)]
mod tests;
mod threads;
mod types;
mod waits;
mod world;

pub use crate::inferior::State;
pub(crate) use dispatch::{Shown, Vote};
use find::ProcessWatch;
pub use inspect::{LineCode, NamesStatus, SymbolInfo};
pub use look::Evaluated;
pub use memory::Extent;
pub(crate) use report::OUTPUT_DRAIN_LIMIT;
pub(crate) use threads::ThreadState;
pub use types::{Granularity, RegisterGroup, ResumeScope, StepKind, ThreadInfo, Wait};
pub use waits::MutexWait;

use crate::debugger::stack::{TailCalls, ThreadStack};
use crate::ids::BreakpointId;
use crate::ids::CodeName;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::ids::{Launch, ModuleId};
use crate::images::indexer::Indexer;
use crate::images::indexer::IndexingProgress;
use crate::images::modules::ModuleInfo;
use crate::images::modules::Modules;
use crate::inferior::site::Owner;
use crate::inferior::thread::StopPoint;
use crate::inferior::{Inferior, Process};
use crate::inspect::value::Value;
use crate::os::{Backend, OpenStdio, WaitInterest, WaitStatus, Waker};
use crate::stops::breakpoint::watch::Watches;
use crate::stops::breakpoint::{
    BreakpointInfo, Breakpoints, FunctionBreakpoint, InstructionBreakpoint, SourceBreakpoint,
};
use crate::stops::event::{Event, StopReason};
use crate::stops::exception::{Exceptions, SignalRules};
use crate::stops::step::{Reaches, StepFilters};
use dwarf::Unwinder;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A debugger of one process. It belongs to the thread that created it (as ptrace requires), and
/// that thread blocks only in [`Debugger::wait`].
pub struct Debugger {
    /// The process under control, and everything that reads, writes or resumes it.
    inferior: Inferior,
    /// Its images, and the search for names in them.
    images: Images,
    /// What decides at a stop.
    stops: Stops,
    /// Calls of the program's functions for expressions.
    calls: Calls,
    /// Stacks and values of the present stop.
    views: Views,
    /// Steps, suspended calls and what is shown of each thread.
    threads: FxHashMap<ThreadId, ThreadState>,
    /// A process to attach to as soon as it starts.
    awaited: Option<ProcessWatch>,
    client: ClientLink,
    launch: Option<Launch>,
}

/// The images of the process, and the search for names in them.
#[derive(Default)]
pub(crate) struct Images {
    pub modules: Modules,
    pub indexer: Indexer,
    /// Whether threads wait until locations of function breakpoints are known.
    pub holding: bool,
}

/// What decides at a stop.
pub(crate) struct Stops {
    pub breakpoints: Breakpoints,
    pub exceptions: Exceptions,
    pub signal_rules: SignalRules,
    /// Functions selected by ifunc resolvers.
    pub choices: crate::stops::breakpoint::Choices,
    pub watches: Watches,
    /// The code that steps do not stop in, and the results of matching it.
    pub step_filters: StepFilters,
    pub reaches: RefCell<Reaches>,
}

/// Calls of the program's functions for expressions.
pub(crate) struct Calls {
    /// The call in progress.
    pub pending: Option<crate::debugger::call::PendingCall>,
    /// Threads in calls for conditions of breakpoints.
    pub conditions: FxHashMap<ThreadId, crate::debugger::breakpoint::ConditionCall>,
    pub limit: Duration,
    pub replay: RefCell<crate::debugger::call::Replay>,
}

/// Stacks and values of the present stop.
pub(crate) struct Views {
    pub unwinder: RefCell<Unwinder>,
    pub tail_calls: RefCell<TailCalls>,
    pub stacks: FxHashMap<ThreadId, ThreadStack>,
    /// Images whose missing split units were reported.
    pub reported_units: HashSet<ModuleId>,
    /// Reasons for incomplete stacks that were reported.
    pub reported_stacks: HashSet<String>,
    /// Results that expressions can name (`$1`).
    pub results: Vec<Value>,
    pub cancel: Option<Arc<AtomicBool>>,
}

/// The queue of events for the client, and whether the client keeps up.
pub(crate) struct ClientLink {
    events: VecDeque<Event>,
    /// Whether the debuggee's output waits until the client has read what was sent.
    pub output_held: bool,
    /// When the client was last polled.
    polled_at: Instant,
}

/// Output is passed on in pieces of this many bytes, so that requests are handled in between.
const OUTPUT_PORTION: usize = 1 << 16;

/// How long back-to-back events may be handled before the client is polled.
const CLIENT_POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Debugger {
    /// Creates a debugger without a process. `os::prepare` must have run before the first thread.
    ///
    /// # Errors
    /// No file descriptors are left.
    pub fn new() -> Result<Self, Error> {
        Ok(Self::with_backend(crate::os::live_backend()?))
    }

    /// Creates a debugger on a backend, live or not.
    pub(crate) fn with_backend(os: Box<dyn Backend>) -> Self {
        Self {
            inferior: Inferior::new(os),
            images: Images::default(),
            stops: Stops {
                breakpoints: Breakpoints::default(),
                exceptions: Exceptions::default(),
                signal_rules: SignalRules::default(),
                choices: crate::stops::breakpoint::Choices::default(),
                watches: Watches::default(),
                step_filters: StepFilters::none(),
                reaches: RefCell::default(),
            },
            calls: Calls {
                pending: None,
                conditions: FxHashMap::default(),
                limit: crate::debugger::call::CALL_TIMEOUT,
                replay: RefCell::default(),
            },
            views: Views {
                unwinder: RefCell::new(Unwinder::new()),
                tail_calls: RefCell::default(),
                stacks: FxHashMap::default(),
                reported_units: HashSet::new(),
                reported_stacks: HashSet::new(),
                results: Vec::new(),
                cancel: None,
            },
            threads: FxHashMap::default(),
            awaited: None,
            client: ClientLink {
                events: VecDeque::new(),
                output_held: false,
                polled_at: Instant::now(),
            },
            launch: None,
        }
    }

    /// Returns a handle that wakes [`Debugger::wait`] from another thread.
    pub fn waker(&self) -> Waker {
        self.inferior.os().waker()
    }

    /// Sets a flag that is polled between the parts of long operations (stacks, children,
    /// expressions). Once it is set they end with [`Error::Cancelled`], as they do when this
    /// process has to end.
    pub fn set_cancel_flag(&mut self, flag: Arc<AtomicBool>) {
        self.views.cancel = Some(flag);
    }

    pub(crate) fn cancelled(&self) -> bool {
        let flag = self.views.cancel.as_ref();
        flag.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
            || crate::os::asked_to_end().is_some()
    }

    /// Sets the folder in which name indexes and decompressed debug info are cached between
    /// sessions; `None` (the default): no cache.
    pub fn set_symbol_cache(&mut self, folder: Option<PathBuf>) {
        self.images.modules.cache = folder;
    }

    /// Sets the code that steps do not stop in. By default they stop wherever there are lines.
    pub fn set_step_filters(&mut self, filters: StepFilters) {
        self.stops.step_filters = filters;
        self.stops.reaches.borrow_mut().clear();
    }

    /// Returns the image whose names are being indexed in the background, if there is one.
    pub fn reading_names(&self) -> Option<IndexingProgress> {
        self.images.indexer.reading()
    }

    /// Starts to index images, in the background, in which a name was searched.
    fn prepare_wanted_names(&mut self) {
        for loaded in &self.images.modules.loaded {
            if loaded.module.take_names_wanted() {
                self.images
                    .indexer
                    .prepare(&loaded.module, || self.inferior.os().waker());
            }
        }
    }

    /// Cancels the indexing that [`Debugger::reading_names`] returns: the remaining names of the
    /// image stay unknown.
    pub fn give_up_reading_names(&mut self) {
        self.images.indexer.cancel_current();
    }

    // ---- launch, attach, detach

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
        self.inferior.thread_is_there(ThreadId(pid));
        // In the kernel, a single step from here ends before the first instruction.
        if let Some(state) = self.inferior.thread_mut(ThreadId(pid)) {
            state.point = StopPoint::SystemCall(WaitStatus::Execed(ThreadId(pid)));
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
        self.inferior.seize_launcher(pid)?;
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
        let threads = self.inferior.seize(pid, launched)?;
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
        self.views.unwinder.borrow_mut().clear();
        self.views.tail_calls.borrow_mut().clear();
        self.forget_watches();
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

    /// Ends [`State::Held`]: resumes the program, or (`stop`) reports a stop
    /// ([`StopReason::Entry`]).
    ///
    /// # Errors
    /// The process is not held.
    pub fn release(&mut self, stop: bool) -> Result<(), Error> {
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
        match (stop, self.inferior.non_stop) {
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

    /// Blocks until there is an event, the waker was used, `client` can be read or has ended, or
    /// `deadline` has passed.
    ///
    /// # Errors
    /// The operating system refuses to wait; the session cannot continue.
    pub fn wait(
        &mut self,
        deadline: Option<Instant>,
        client: Option<BorrowedFd<'_>>,
    ) -> Result<Wait, Error> {
        loop {
            self.inferior.stops_may_be_ready = false;
            // A program with constant events must not keep the client from being served.
            if self.has_events() && self.client.polled_at.elapsed() >= CLIENT_POLL_INTERVAL {
                let besides = WaitInterest {
                    output: false,
                    client,
                };
                let ready = self.inferior.wait(Some(Instant::now()), besides)?;
                self.client.polled_at = Instant::now();
                self.inferior.remember(ready);
                if ready.client {
                    return Ok(Wait::Client);
                }
            }
            if let Some(event) = self.next_event() {
                return Ok(Wait::Event(event));
            }
            if std::mem::take(&mut self.inferior.woken) {
                return Ok(Wait::Woken);
            }
            // Backpressure: if the client reads too slowly, the program's output and logpoints
            // wait.
            if !self.client.output_held {
                self.collect_stops();
            }
            if !self.client.output_held && self.drain_messages() {
                self.inferior.stops_may_be_ready = true;
            }
            self.switch_to_child();
            self.finish_if_ended();
            self.check_call();
            self.look_for_process();
            self.inferior.reclaim_handovers();
            if self.images.indexer.poll_events() {
                self.bind_functions();
            }
            if self.images.holding {
                self.end_hold();
            }
            if dwarf::are_names_wanted() {
                self.prepare_wanted_names();
            }
            self.flush_module_notes();
            if self.has_events() {
                continue;
            }
            let ended = self
                .inferior
                .process
                .as_ref()
                .and_then(|process| process.ended)
                .map(|(_, patience)| patience)
                .filter(|_| !self.client.output_held && !self.inferior.waits_for_children());
            let until = if self.inferior.stops_may_be_ready {
                Some(Instant::now())
            } else {
                let found = self.awaited.as_ref().map(|awaited| awaited.next);
                let lost = self
                    .inferior
                    .following
                    .lost
                    .iter()
                    .map(|lost| lost.next)
                    .min();
                let said = self
                    .inferior
                    .next_drain()
                    .filter(|_| !self.client.output_held);
                [deadline, ended, found, lost, said, self.call_deadline()]
                    .into_iter()
                    .flatten()
                    .min()
            };
            let besides = WaitInterest {
                output: !self.client.output_held && self.inferior.os().output_open(),
                client,
            };
            let ready = self.inferior.wait(until, besides)?;
            self.client.polled_at = Instant::now();
            self.inferior.remember(ready);
            if ready.output {
                self.pump_output(OUTPUT_PORTION);
            }
            if ready.client && !self.has_events() {
                return Ok(Wait::Client);
            }
            let idle = !ready.woken && !ready.stops && !ready.output && !self.has_events();
            if idle && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Wait::Deadline);
            }
        }
    }

    /// Stops (true) or continues reading the debuggee's output from its pipe. Reading stops while
    /// the client reads too slowly.
    pub fn hold_output(&mut self, hold: bool) {
        self.client.output_held = hold;
    }

    /// Returns whether a process can still write to the captured streams; after our end, such
    /// output is discarded.
    pub fn captures_output(&self) -> bool {
        self.inferior.os().output_open()
    }

    /// Returns the state of the session.
    pub fn state(&self) -> State {
        self.inferior.state()
    }

    /// Returns the process id; `None` before there is a process.
    pub fn pid(&self) -> Option<i32> {
        self.inferior.pid()
    }

    /// Returns the program's file.
    pub fn program(&self) -> Option<PathBuf> {
        let process = self.inferior.process.as_ref()?;
        self.images
            .modules
            .program()
            .map(|program| program.module.path().to_path_buf())
            .or_else(|| Some(self.inferior.os().executable(process.pid)?.path))
    }

    /// Returns the size of an address in bytes.
    pub fn pointer_size(&self) -> u32 {
        8
    }

    /// Returns the threads, also while they run; the leader first, or for a core file the thread
    /// that ended the process.
    pub fn threads(&self) -> Vec<ThreadInfo> {
        let Some(process) = &self.inferior.process else {
            return Vec::new();
        };
        let mut threads: Vec<&ThreadId> = process.threads.keys().collect();
        if self.is_post_mortem() {
            threads.sort_by_key(|thread| **thread != process.current);
        }
        threads
            .into_iter()
            .map(|thread| {
                let name = self.inferior.os().thread_name(process.pid, *thread);
                ThreadInfo {
                    id: *thread,
                    name: if name.is_empty() {
                        format!("thread {thread}")
                    } else {
                        name
                    },
                }
            })
            .collect()
    }

    /// Returns the images.
    pub fn modules(&self) -> Vec<ModuleInfo> {
        self.images
            .modules
            .loaded
            .iter()
            .map(|it| it.info())
            .collect()
    }

    // ---- breakpoints (at any time, also without a process and while it runs)

    /// Replaces the breakpoints of one source. `key` is the client's spelling of the path and
    /// identifies the set; `source` is the path to look up in the debug info. Unchanged breakpoints
    /// keep their ids.
    pub fn set_source_breakpoints(
        &mut self,
        key: &str,
        source: &Path,
        breakpoints: &[SourceBreakpoint],
    ) -> Vec<BreakpointInfo> {
        self.replace_source_breakpoints(key, source, breakpoints)
    }

    /// Replaces the breakpoints in the disassembly of a piece of code; `key` as above.
    pub fn set_code_breakpoints(
        &mut self,
        key: &str,
        code: &CodeName,
        breakpoints: &[SourceBreakpoint],
    ) -> Vec<BreakpointInfo> {
        self.replace_code_breakpoints(key, code, breakpoints)
    }

    /// Replaces the function breakpoints.
    pub fn set_function_breakpoints(
        &mut self,
        breakpoints: &[FunctionBreakpoint],
    ) -> Vec<BreakpointInfo> {
        self.replace_function_breakpoints(breakpoints)
    }

    /// Replaces the breakpoints on instructions.
    pub fn set_instruction_breakpoints(
        &mut self,
        breakpoints: &[InstructionBreakpoint],
    ) -> Vec<BreakpointInfo> {
        self.replace_instruction_breakpoints(breakpoints)
    }

    /// Returns the state of a breakpoint.
    pub fn breakpoint(&self, id: BreakpointId) -> Option<BreakpointInfo> {
        self.breakpoint_info(id)
    }
}

impl Drop for Debugger {
    /// Removes all instrumentation from the process, for any end of the session.
    fn drop(&mut self) {
        if let Some(process) = &self.inferior.process {
            if process.launched {
                self.kill();
            } else if let Err(error) = self.detach_all() {
                tracing::warn!(%error, "cannot detach");
            }
        }
    }
}
