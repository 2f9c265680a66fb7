//! [`Debugger`]: the whole public face of the engine.

mod images;
mod inspect;
pub(crate) mod look;
mod memory;
mod post_mortem;
mod run;
mod types;
mod waits;

pub use inspect::{LineCode, NamesStatus, SymbolInfo};
pub use look::Evaluated;
pub use memory::Extent;
pub use types::{Granularity, RegisterGroup, State, StepKind, ThreadInfo, Wait};
pub use waits::MutexWait;

use crate::breakpoint::site::{Owner, Sites};
use crate::breakpoint::watch::Watches;
use crate::breakpoint::{
    BreakpointInfo, Breakpoints, FunctionBreakpoint, InstructionBreakpoint, SourceBreakpoint,
};
use crate::disassembly::CodeName;
use crate::displaced::DisplacedPads;
use crate::event::{Event, StopReason};
use crate::exception::{Exceptions, SignalRules};
use crate::ids::BreakpointId;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::ids::{Launch, ModuleId};
use crate::images::indexer::Indexer;
use crate::images::indexer::IndexingProgress;
use crate::images::modules::ModuleInfo;
use crate::images::modules::Modules;
use crate::inspect::value::Value;
use crate::jump_patch::JumpPatches;
use crate::memory::PageCache;
use crate::os::{Backend, OpenStdio, Ready, WaitInterest, WaitStatus, Waker};
use crate::plan::{Reaches, StepFilters};
use crate::process::{FollowFork, Given, Process, ProcessWatch, UnclaimedHandover};
use crate::stack::{TailCalls, ThreadStack};
use dwarf::{LoadAddr, Unwinder};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A debugger of one process. It belongs to the thread that made it (ptrace does), and that
/// thread sleeps nowhere but in [`Debugger::wait`].
pub struct Debugger {
    pub(crate) os: Box<dyn Backend>,
    pub(crate) process: Option<Process>,
    pub(crate) modules: Modules,
    pub(crate) breakpoints: Breakpoints,
    pub(crate) exceptions: Exceptions,
    pub(crate) signal_rules: SignalRules,
    pub(crate) indexer: Indexer,
    /// Some threads wait for the places of function breakpoints.
    pub(crate) holding: bool,
    pub(crate) sites: Sites,
    /// Which functions were chosen for names that mean one of several.
    pub(crate) choices: crate::breakpoint::Choices,
    pub(crate) watches: Watches,
    pub(crate) slots: DisplacedPads,
    pub(crate) detours: JumpPatches,
    pub(crate) unwinder: RefCell<Unwinder>,
    pub(crate) tail_calls: RefCell<TailCalls>,
    /// The thread that goes on next does so alone.
    pub(crate) resume_single_thread: bool,
    /// Which code steps go through, and what was found out of it.
    pub(crate) step_filters: StepFilters,
    pub(crate) reaches: RefCell<Reaches>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) pages: PageCache,
    pub(crate) stacks: FxHashMap<ThreadId, ThreadStack>,
    /// Images whose missing split units were told of.
    pub(crate) told_of_units: HashSet<ModuleId>,
    /// Why stacks ended early, as far as it was told.
    pub(crate) told_of_stacks: HashSet<String>,
    /// Results that expressions can name (`$1`).
    pub(crate) results: Vec<Value>,
    /// The call under way.
    pub(crate) call: Option<crate::call::PendingCall>,
    /// Threads that run functions for conditions of breakpoints.
    pub(crate) asking: FxHashMap<ThreadId, crate::breakpoint::ConditionCall>,
    pub(crate) call_limit: Duration,
    /// Each thread stops by itself, while the others run.
    pub(crate) non_stop: bool,
    pub(crate) replay: RefCell<crate::call::Replay>,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    pub(crate) output_held: bool,
    /// Stops may be ready that no signal tells of any more.
    pub(crate) stops_may_be_ready: bool,
    /// When it was last looked whether the client has something to say.
    client_polled_at: Instant,
    /// What a data breakpoint has just found where it was touched, while it asks its condition.
    pub(crate) watch_value_override: Option<(LoadAddr, Vec<u8>)>,
    /// The thread that was let go last.
    pub(crate) pass: Option<crate::process::LastResume>,
    /// SIGTERM was sent by us: it is no reason to stop.
    pub(crate) terminating: bool,
    /// The session's process is gone.
    pub(crate) over: bool,
    /// What becomes of processes that the debuggee makes.
    pub(crate) follow: FollowFork,
    /// Processes that we launched and let go for a child of theirs; children of ours.
    pub(crate) released: Vec<i32>,
    /// Processes that were detached for another debugger, which may not have them yet.
    pub(crate) given: Vec<Given>,
    /// Processes that were let go for a debugger that has not taken them over.
    pub(crate) lost: Vec<UnclaimedHandover>,
    /// A process that is to be attached to as soon as there is one.
    pub(crate) awaited: Option<ProcessWatch>,
    pub(crate) system_call_at: Option<LoadAddr>,
    /// What a wait inside another operation has learnt and not yet told.
    woken: bool,
    launch: Option<Launch>,
    launched: bool,
    pid: Option<i32>,
}

/// Output is handed on in portions of this many bytes, so that requests come in between.
const OUTPUT_PORTION: usize = 1 << 16;

/// So long events may come one after the other before it is looked whether the client has
/// something to say.
const CLIENT_POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Debugger {
    /// A debugger with no process yet. `os::prepare` must have run before the first thread.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn new() -> Result<Self, Error> {
        Ok(Self::with_backend(crate::os::live_backend()?))
    }

    /// A debugger on a backend, live or not.
    pub(crate) fn with_backend(os: Box<dyn Backend>) -> Self {
        Self {
            os,
            process: None,
            modules: Modules::default(),
            breakpoints: Breakpoints::default(),
            exceptions: Exceptions::default(),
            signal_rules: SignalRules::default(),
            indexer: Indexer::default(),
            holding: false,
            sites: Sites::default(),
            choices: crate::breakpoint::Choices::default(),
            watches: Watches::default(),
            slots: DisplacedPads::default(),
            detours: JumpPatches::default(),
            unwinder: RefCell::new(Unwinder::new()),
            tail_calls: RefCell::default(),
            resume_single_thread: false,
            step_filters: StepFilters::none(),
            reaches: RefCell::default(),
            events: VecDeque::new(),
            pages: PageCache::default(),
            stacks: FxHashMap::default(),
            told_of_units: HashSet::new(),
            told_of_stacks: HashSet::new(),
            results: Vec::new(),
            call: None,
            asking: FxHashMap::default(),
            call_limit: crate::call::CALL_TIMEOUT,
            non_stop: false,
            replay: RefCell::default(),
            cancel: None,
            output_held: false,
            stops_may_be_ready: false,
            client_polled_at: Instant::now(),
            pass: None,
            watch_value_override: None,
            terminating: false,
            over: false,
            follow: FollowFork::default(),
            released: Vec::new(),
            given: Vec::new(),
            lost: Vec::new(),
            awaited: None,
            system_call_at: None,
            woken: false,
            launch: None,
            launched: false,
            pid: None,
        }
    }

    /// Wakes [`Debugger::wait`] from another thread.
    pub fn waker(&self) -> Waker {
        self.os.waker()
    }

    /// Polled between the parts of long operations (stacks, children, expressions), which then
    /// end with [`Error::Cancelled`]; as they do when this process is asked to end.
    pub fn set_cancel_flag(&mut self, flag: Arc<AtomicBool>) {
        self.cancel = Some(flag);
    }

    pub(crate) fn cancelled(&self) -> bool {
        let flag = self.cancel.as_ref();
        flag.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
            || crate::os::asked_to_end().is_some()
    }

    /// Where names and inflated debug info are kept between sessions; `None`, as at first:
    /// nowhere.
    pub fn set_symbol_cache(&mut self, folder: Option<PathBuf>) {
        self.modules.cache = folder;
    }

    /// Which code steps go through rather than stop in; at first they stop wherever there are
    /// lines.
    pub fn set_step_filters(&mut self, filters: StepFilters) {
        self.step_filters = filters;
        self.reaches.borrow_mut().clear();
    }

    /// The image whose names are being read in the background, if there is one.
    pub fn reading_names(&self) -> Option<IndexingProgress> {
        self.indexer.reading()
    }

    /// Reads all names, in the background, of images in which one was searched for.
    fn prepare_wanted_names(&mut self) {
        for loaded in &self.modules.loaded {
            if loaded.module.take_names_wanted() {
                self.indexer.prepare(&loaded.module, || self.os.waker());
            }
        }
    }

    /// Ends the reading that [`Debugger::reading_names`] tells of: what has not been read of the
    /// image stays unknown by name.
    pub fn give_up_reading_names(&mut self) {
        self.indexer.cancel_current();
    }

    // ---- life and death

    /// Starts a program and holds it before its first instruction; takes milliseconds.
    ///
    /// # Errors
    /// It does not exist, is not executable, is for another machine.
    pub fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        self.start(launch, None)
    }

    /// As [`Debugger::launch`], where the files of its standard streams have been opened.
    ///
    /// # Errors
    /// As [`Debugger::launch`].
    pub fn launch_with(&mut self, launch: &Launch, opened: OpenStdio) -> Result<(), Error> {
        self.start(launch, Some(opened))
    }

    fn start(&mut self, launch: &Launch, opened: Option<OpenStdio>) -> Result<(), Error> {
        self.no_process_yet()?;
        let pid = self.os.launch(launch, opened)?;
        self.begin(Process::new(pid, true));
        self.launch = Some(launch.clone());
        self.thread_is_there(ThreadId(pid));
        // The kernel ends a single step from here before the first instruction.
        if let Some(state) = self.thread_mut(ThreadId(pid)) {
            state.syscall_event = Some(WaitStatus::Execed(ThreadId(pid)));
        }
        self.load_initial_modules();
        Ok(())
    }

    /// Takes hold of a launcher ([`crate::os::Launcher`]) waiting in a terminal. When it has
    /// been told to go and has become the program, [`Event::Launched`] follows.
    ///
    /// # Errors
    /// As for [`Debugger::attach`].
    pub fn seize_launcher(&mut self, pid: i32) -> Result<(), Error> {
        self.no_process_yet()?;
        self.os.seize_launcher(pid)?;
        let mut process = Process::new(pid, true);
        process.launcher = true;
        process.state = State::Running;
        self.begin(process);
        if let Some(process) = &mut self.process {
            let thread = process.threads.entry(ThreadId(pid)).or_default();
            thread.announced = true;
        }
        Ok(())
    }

    /// Takes hold of a running process and stops it.
    ///
    /// # Errors
    /// It is gone or not ours; the message says why (uid, ptrace_scope, traced by whom).
    pub fn attach(&mut self, pid: i32) -> Result<(), Error> {
        self.attach_as(pid, false, |_| ())
    }

    /// As [`Debugger::attach`]; `launched`: it dies with us. `mend` is called as soon as the
    /// process is stopped.
    pub(crate) fn attach_as(
        &mut self,
        pid: i32,
        launched: bool,
        mend: impl FnOnce(&mut Debugger),
    ) -> Result<(), Error> {
        self.no_process_yet()?;
        let threads = self.os.attach(pid, launched)?;
        self.begin(Process::new(pid, launched));
        if let Some(process) = &mut self.process {
            for thread in threads {
                process.threads.entry(thread).or_default().announced = true;
            }
        }
        self.stop_all();
        mend(self);
        let alive = self
            .process
            .as_ref()
            .is_some_and(|process| process.state != State::Ended);
        if !alive {
            self.process = None;
            self.events.clear();
            return Err(Error::Attach {
                pid,
                message: "it ended while we attached".into(),
            });
        }
        // What was announced so far is told by `threads`, not by events.
        self.events
            .retain(|event| !matches!(event, Event::ThreadStarted(_) | Event::ThreadExited(_)));
        self.load_initial_modules();
        Ok(())
    }

    pub(crate) fn no_process_yet(&self) -> Result<(), Error> {
        if self.process.is_some() || self.awaited.is_some() {
            return Err(Error::AlreadyStarted);
        }
        Ok(())
    }

    pub(crate) fn begin(&mut self, process: Process) {
        self.forget_former();
        self.launched = process.launched;
        self.pid = Some(process.pid);
        self.over = false;
        self.terminating = false;
        self.system_call_at = None;
        self.process = Some(process);
    }

    /// Forgets what a process before this one has left, but for the breakpoints themselves.
    fn forget_former(&mut self) {
        self.holding = false;
        self.exceptions.start_anew();
        self.sites.forget_all();
        self.slots = DisplacedPads::default();
        self.detours = JumpPatches::default();
        self.modules.clear();
        self.unwinder.borrow_mut().clear();
        self.tail_calls.borrow_mut().clear();
        self.forget_watches();
        for id in self.breakpoints.reset_for_restart() {
            self.events.push_back(Event::BreakpointChanged(id));
        }
        self.clear_stop_state();
    }

    pub(crate) fn thread_is_there(&mut self, thread: ThreadId) {
        if let Some(process) = &mut self.process {
            let state = process.threads.entry(thread).or_default();
            state.stopped = true;
            state.announced = true;
        }
    }

    /// Learns of the images the process has, binds breakpoints in them, and follows the loader.
    pub(crate) fn load_initial_modules(&mut self) {
        let Some((pid, launched)) = self
            .process
            .as_ref()
            .map(|process| (process.pid, process.launched))
        else {
            return;
        };
        self.system_call_at = None;
        let change = {
            let memory = crate::memory::ProcessMemory {
                os: &*self.os,
                patches: &self.sites,
                cache: None,
                known: None,
            };
            self.modules.load_initial(pid, &memory);
            self.modules.refresh(pid, &memory)
        };
        debug_assert!(change.removed.is_empty());
        let infos: Vec<ModuleInfo> = self.modules.loaded.iter().map(|it| it.info()).collect();
        for info in infos {
            self.events.push_back(Event::ModuleLoaded(info));
        }
        self.watch_loader();
        if launched && let Some(entry) = self.modules.entry() {
            // There the loader says where it wants to be watched; static programs have none.
            self.sites.add(entry, Owner::Loader, &*self.os);
        }
        self.flush_module_notes();
        self.bind_all();
    }

    /// Tells of new images, and binds breakpoints in them.
    pub(crate) fn announce_modules(&mut self, ids: &[ModuleId]) {
        for id in ids {
            if let Some(loaded) = self.modules.get(*id) {
                self.events.push_back(Event::ModuleLoaded(loaded.info()));
            }
        }
        if !ids.is_empty() {
            self.bind_in_new(ids);
        }
    }

    pub(crate) fn flush_module_notes(&mut self) {
        for note in std::mem::take(&mut self.modules.notes) {
            self.events.push_back(Event::Note(note));
        }
        for file in dwarf::truncated_files() {
            self.events.push_back(Event::Note(format!(
                "{} was cut short while it was being debugged; what had not been read of it is \
                 lost: restart the program\n",
                file.display()
            )));
        }
    }

    /// Ends the time in [`State::Held`]: lets the program run, or reports a stop
    /// ([`StopReason::Entry`]) where it is.
    ///
    /// # Errors
    /// It is not held.
    pub fn release(&mut self, stop: bool) -> Result<(), Error> {
        match self.state() {
            State::Held => {}
            State::NoProcess | State::Ended => return Err(Error::NoProcess),
            State::Running | State::Stopped => return Err(Error::AlreadyStarted),
        }
        if let Some((thread, signal)) = self.os.core().and_then(|core| core.ending()) {
            let reason = match signal {
                Some(info) => StopReason::Signal {
                    info,
                    ids: Vec::new(),
                },
                None => StopReason::Entry,
            };
            self.report_stop(thread, reason);
            return Ok(());
        }
        if self.launched {
            self.hold_start_for_places();
        }
        let process = self.process.as_ref().ok_or(Error::NoProcess)?;
        let current = process.current;
        let others = process.threads.iter();
        let others: Vec<ThreadId> = others
            .filter(|(thread, state)| **thread != current && state.stopped)
            .map(|(thread, _)| *thread)
            .collect();
        match (stop, self.non_stop) {
            (false, _) => self.resume_all(),
            (true, false) => self.report_stop(current, StopReason::Entry),
            (true, true) => {
                for thread in others.into_iter().chain([current]) {
                    self.report_stop(thread, StopReason::Entry);
                }
            }
        }
        Ok(())
    }

    /// Whether the process was launched by us (else attached to).
    pub fn was_launched(&self) -> bool {
        self.launched
    }

    /// Sleeps until the debuggee did something, the waker was used, `client` can be read or has
    /// ended, or `deadline` passed.
    ///
    /// # Errors
    /// The operating system refuses to wait; the session cannot go on.
    pub fn wait(
        &mut self,
        deadline: Option<Instant>,
        client: Option<BorrowedFd<'_>>,
    ) -> Result<Wait, Error> {
        loop {
            self.stops_may_be_ready = false;
            // A program that always has something to tell does not keep the client from being heard.
            if !self.events.is_empty() && self.client_polled_at.elapsed() >= CLIENT_POLL_INTERVAL {
                let besides = WaitInterest {
                    output: false,
                    client,
                };
                let ready = self.os.wait(Some(Instant::now()), besides)?;
                self.client_polled_at = Instant::now();
                self.remember(ready);
                if ready.client {
                    return Ok(Wait::Client);
                }
            }
            if let Some(event) = self.events.pop_front() {
                return Ok(Wait::Event(event));
            }
            if std::mem::take(&mut self.woken) {
                return Ok(Wait::Woken);
            }
            // A client that reads too slowly slows the program down: its output and its
            // logpoints wait.
            if !self.output_held {
                self.collect_stops();
            }
            if !self.output_held && self.drain_messages() {
                self.stops_may_be_ready = true;
            }
            self.switch_to_child();
            self.finish_if_ended();
            self.check_call();
            self.look_for_process();
            self.reclaim_handovers();
            if self.indexer.poll_events() {
                self.bind_functions();
            }
            if self.holding {
                self.end_hold();
            }
            if dwarf::are_names_wanted() {
                self.prepare_wanted_names();
            }
            self.flush_module_notes();
            if !self.events.is_empty() {
                continue;
            }
            let ended = self
                .process
                .as_ref()
                .and_then(|process| process.ended)
                .map(|(_, patience)| patience)
                .filter(|_| !self.output_held && !self.waits_for_children());
            let until = if self.stops_may_be_ready {
                Some(Instant::now())
            } else {
                let found = self.awaited.as_ref().map(|awaited| awaited.next);
                let lost = self.lost.iter().map(|lost| lost.next).min();
                let said = self.next_drain().filter(|_| !self.output_held);
                [deadline, ended, found, lost, said, self.call_deadline()]
                    .into_iter()
                    .flatten()
                    .min()
            };
            let besides = WaitInterest {
                output: !self.output_held && self.os.output_open(),
                client,
            };
            let ready = self.os.wait(until, besides)?;
            self.client_polled_at = Instant::now();
            self.remember(ready);
            if ready.output {
                self.pump_output(OUTPUT_PORTION);
            }
            if ready.client && self.events.is_empty() {
                return Ok(Wait::Client);
            }
            let idle = !ready.woken && !ready.stops && !ready.output && self.events.is_empty();
            if idle && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Wait::Deadline);
            }
        }
    }

    /// Keeps what a wait has learnt for [`Debugger::wait`] to tell.
    pub(crate) fn remember(&mut self, ready: Ready) {
        self.woken |= ready.woken;
    }

    /// While on, the debuggee's output is left in its pipe (the client reads too slowly).
    pub fn hold_output(&mut self, hold: bool) {
        self.output_held = hold;
    }

    /// Whether somebody may still write what we capture; once we are gone it is thrown away.
    pub fn captures_output(&self) -> bool {
        self.os.output_open()
    }

    /// Where the session stands.
    pub fn state(&self) -> State {
        match &self.process {
            Some(process) => process.state,
            None if self.over => State::Ended,
            None => State::NoProcess,
        }
    }

    /// Process id, once there is one.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// The program's file.
    pub fn program(&self) -> Option<PathBuf> {
        let process = self.process.as_ref()?;
        self.modules
            .program()
            .map(|program| program.module.path().to_path_buf())
            .or_else(|| Some(self.os.executable(process.pid)?.path))
    }

    /// Bytes of an address.
    pub fn pointer_size(&self) -> u32 {
        8
    }

    /// The threads, also while they run; the leader first, of a core file the one that ended the
    /// process.
    pub fn threads(&self) -> Vec<ThreadInfo> {
        let Some(process) = &self.process else {
            return Vec::new();
        };
        let mut threads: Vec<&ThreadId> = process.threads.keys().collect();
        if self.is_post_mortem() {
            threads.sort_by_key(|thread| **thread != process.current);
        }
        threads
            .into_iter()
            .map(|thread| {
                let name = self.os.thread_name(process.pid, *thread);
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

    /// The images.
    pub fn modules(&self) -> Vec<ModuleInfo> {
        self.modules.loaded.iter().map(|it| it.info()).collect()
    }

    // ---- breakpoints (any time, also before there is a process and while it runs)

    /// Replaces the breakpoints of one source. `key` is the client's own spelling of the
    /// path, by which sets are kept apart; `source` is the path to look for in the debug info.
    /// Unchanged places keep their ids.
    pub fn set_source_breakpoints(
        &mut self,
        key: &str,
        source: &Path,
        breakpoints: &[SourceBreakpoint],
    ) -> Vec<BreakpointInfo> {
        self.replace_source_breakpoints(key, source, breakpoints)
    }

    /// Replaces the breakpoints in the text of a piece of machine code; `key` as above.
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

    /// A breakpoint as it stands.
    pub fn breakpoint(&self, id: BreakpointId) -> Option<BreakpointInfo> {
        self.breakpoint_info(id)
    }
}

impl Drop for Debugger {
    /// Nothing of ours stays in a process, whatever ended the session.
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            if process.launched {
                self.kill();
            } else if let Err(error) = self.detach_all() {
                tracing::warn!(%error, "cannot detach");
            }
        }
    }
}
