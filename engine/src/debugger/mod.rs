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
pub mod past;
mod post_mortem;
mod report;
mod run;
mod search_end;
pub mod stack;
pub mod start;
pub(crate) mod step;
#[cfg(test)]
mod tests;
mod threads;
pub mod trace;
pub mod travel;
mod types;
mod unsent;
mod wait;
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
pub use waits::{MutexWait, Waiting};

use crate::arch::{Arch, MAX_INSTRUCTION_BYTES};
use crate::debugger::stack::ThreadStack;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::ids::{Launch, ModuleId};
use crate::images::derived::Derived;
use crate::images::indexer::Indexer;
use crate::images::indexer::IndexingProgress;
use crate::images::modules::ModuleInfo;
use crate::images::modules::Modules;
use crate::images::tail_calls::TailCalls;
use crate::inferior::Inferior;
use crate::inspect::value::Value;
use crate::os::{Backend, Waker};
use crate::stops::breakpoint::Breakpoints;
use crate::stops::breakpoint::watch::Watches;
use crate::stops::event::Event;
use crate::stops::exception::{Exceptions, SignalRules};
use crate::stops::search_end::SearchEnd;
use crate::stops::step::{Reaches, StepFilters};
use dwarf::{LoadAddr, Unwinder};
use rustc_hash::FxHashMap;
use std::collections::{HashSet, VecDeque};
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trace::Traces;

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
    /// What tracepoints have recorded.
    traces: Traces,
    /// The stops so far.
    past: past::Past,
    /// What is shown of a recording.
    travel: travel::Travel,
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
    /// Where a search in the program's past ends.
    pub search_end: Option<SearchEnd>,
    /// The code that steps do not stop in, and the results of matching it.
    pub step_filters: StepFilters,
    pub reaches: Derived<Reaches>,
}

/// Calls of the program's functions for expressions.
pub(crate) struct Calls {
    /// The call in progress.
    pub pending: Option<crate::debugger::call::PendingCall>,
    /// Threads in calls for conditions of breakpoints.
    pub conditions: FxHashMap<ThreadId, crate::debugger::breakpoint::ConditionCall>,
    pub limit: Duration,
    /// The progress of the client's evaluation.
    pub replay: crate::debugger::call::Replay,
}

/// Stacks and values of the present stop.
pub(crate) struct Views {
    pub unwinder: Derived<Unwinder>,
    pub tail_calls: Derived<TailCalls>,
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

impl Debugger {
    /// Creates a debugger without a process. `os::prepare` must have run before the first thread.
    ///
    /// # Errors
    /// No file descriptors are left, or no thread can be started.
    pub fn new() -> Result<Self, Error> {
        dwarf::start_threads().map_err(|error| Error::Os {
            call: "clone",
            errno: error.raw_os_error().unwrap_or(0),
            message: format!("{error}; the user may run too many processes (`ulimit -u`)"),
        })?;
        // The first call reads the decoder's tables; the program starts meanwhile.
        let code = [0; MAX_INSTRUCTION_BYTES];
        rayon::spawn(move || _ = black_box(Arch::HOST.decode(&code, LoadAddr(0))));
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
                search_end: None,
                step_filters: StepFilters::none(),
                reaches: Derived::default(),
            },
            calls: Calls {
                pending: None,
                conditions: FxHashMap::default(),
                limit: crate::debugger::call::CALL_TIMEOUT,
                replay: Default::default(),
            },
            views: Views {
                unwinder: Derived::default(),
                tail_calls: Derived::default(),
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
            traces: Traces::default(),
            past: past::Past::default(),
            travel: travel::Travel::default(),
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
            || crate::os::end_signal().is_some()
    }

    /// Sets the folder in which name indexes and decompressed debug info are cached between
    /// sessions; `None` (the default): no cache.
    pub fn set_symbol_cache(&mut self, folder: Option<PathBuf>) {
        self.images.modules.cache = folder;
    }

    /// Sets the code that steps do not stop in. By default they stop wherever there are lines.
    pub fn set_step_filters(&mut self, filters: StepFilters) {
        self.stops.step_filters = filters;
        self.stops.reaches = Derived::default();
    }

    /// Sets the folders of the debug info whose sources the user has elsewhere: steps stop in them like in sources on
    /// this machine.
    pub fn set_mapped_sources(&mut self, folders: Vec<PathBuf>) {
        if self.stops.step_filters.set_mapped(folders) {
            self.stops.reaches = Derived::default();
        }
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
        // Ids are used again once they have been counted to the end.
        let first = match self.is_post_mortem() {
            true => process.current,
            false => ThreadId(process.pid),
        };
        threads.sort_by_key(|thread| **thread != first);
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
}

impl Drop for Debugger {
    /// Removes all instrumentation from the process, for any end of the session.
    fn drop(&mut self) {
        self.put_past_aside();
        if let Some(process) = &self.inferior.process {
            if process.launched {
                self.kill();
            } else if let Err(error) = self.detach_all() {
                tracing::warn!(%error, "cannot detach");
            }
        }
    }
}
