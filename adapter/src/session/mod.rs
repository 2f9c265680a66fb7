//! The state of one client and one debuggee, and what the debuggee's events, the client's responses
//! and reports of other threads do to it. The session's thread owns all of it.

pub mod breakpoints;
pub mod children;
mod client_io;
pub mod core_file;
pub mod debuginfod;
pub mod deferred;
pub mod describe;
pub mod events;
pub mod handles;
pub mod handover;
pub mod history;
pub mod joined;
pub mod main_stop;
pub mod memory_views;
mod news;
pub mod opening;
pub mod prefetch;
pub mod progress;
pub mod settings;
pub mod startup;
pub mod terminal;
pub mod watchable;

use crate::protocol::{InvalidatedEventBody, RUNNING, RequestError};
use crate::server::{self, CancelFlag, Outbox};
use crate::sources::{self, Client, CodeSources, Sources};
use breakpoints::Breakpoints;
use children::Children;
use debuginfod::Debuginfod;
use deferred::Deferred;
use engine::{Debugger, State, ThreadId};
use events::ReportedState;
use handles::Handles;
use history::History;
use joined::Joined;
use main_stop::MainStop;
use memory_views::MemoryViews;
use prefetch::Prefetch;
use progress::Progress;
use settings::ActiveSettings;
use startup::Startup;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use watchable::WatchableData;

pub use news::{News, on_news};

/// The session's queue, for reports of other threads.
pub type Inbox = server::Inbox<News>;

/// The state of the program in which a request or command makes sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequiredState {
    /// Any.
    Always,
    /// There is a process.
    Process,
    /// It is stopped.
    Stopped,
}

/// Everything that changes.
pub struct Session {
    /// The debuggee.
    pub debugger: Debugger,
    /// How the client counts and spells.
    pub client: Client,
    /// Numbers of this stop.
    pub handles: Handles,
    /// Paths.
    pub sources: Sources,
    /// What the client set.
    pub breakpoints: Breakpoints,
    /// What the client may set data breakpoints on.
    pub watchable: WatchableData,
    /// Machine code that the client was told of.
    pub codes: CodeSources,
    /// Memory that the client looks at.
    pub memory_views: MemoryViews,
    /// The settings that hold.
    pub settings: ActiveSettings,
    /// How far launching or attaching has come.
    pub startup: Startup,
    /// What the client was told of the debuggee.
    pub reported: ReportedState,
    /// What happened before the stop.
    pub history: History,
    /// The stop at `main` that the settings ask for.
    pub main_stop: MainStop,
    /// Long work that the client was told of.
    pub progress: Progress,
    /// Processes that are to have sessions of their own.
    pub children: Children,
    /// Debug info that is to come from servers.
    pub debuginfod: Debuginfod,
    /// What the client is going to ask for.
    pub prefetch: Prefetch,
    /// A request has changed a variable: others may show the same memory.
    pub variables_changed: bool,
    /// The way in, for those who report from other threads.
    pub inbox: Inbox,
    outbox: Outbox,
    /// What the program has written of a line that has no end yet.
    joined: RefCell<Joined>,
    current: CancelFlag,
    /// Requests that wait for the end of a call into the program.
    pub deferred: Deferred,
    over: bool,
}

impl Session {
    /// A session that has heard nothing yet.
    pub fn new(debugger: Debugger, inbox: Inbox, outbox: Outbox) -> Self {
        Self {
            debugger,
            client: Client::default(),
            handles: Handles::default(),
            sources: Sources::default(),
            breakpoints: Breakpoints::default(),
            watchable: WatchableData::default(),
            codes: CodeSources::default(),
            memory_views: MemoryViews::default(),
            settings: ActiveSettings::default(),
            startup: Startup::default(),
            reported: ReportedState::default(),
            history: History::default(),
            main_stop: MainStop::default(),
            progress: Progress::default(),
            children: Children::default(),
            debuginfod: Debuginfod::default(),
            prefetch: Prefetch::default(),
            variables_changed: false,
            inbox,
            outbox,
            joined: RefCell::default(),
            current: CancelFlag::default(),
            deferred: Deferred::default(),
            over: false,
        }
    }

    /// The call has stopped before it returned: the evaluation that made it fails. What came behind
    /// is deferred until the client knows of the stop.
    fn call_abandoned(&mut self, why: engine::Error) {
        if let Some((request, _)) = self.deferred.take_evaluation() {
            self.respond(request.seq, &request.command, Err(why.into()));
        }
    }

    /// Asks `rustc` where its sources are, on a thread of its own.
    pub fn look_for_rust(&self) {
        let inbox = self.inbox.clone();
        let look = move || inbox.put(News::RustSources(sources::rust_sources()));
        if let Err(error) = thread::Builder::new().name("rustc".into()).spawn(look) {
            tracing::warn!(%error, "no thread to ask rustc");
        }
    }

    /// Stacks that were shown may have sources now.
    fn found_rust(&mut self, folder: Option<PathBuf>) {
        let tell = folder.is_some() && self.state() == State::Stopped;
        self.sources.found_rust(folder);
        if tell && self.client.invalidated {
            let areas = &["stacks"];
            self.event("invalidated", &InvalidatedEventBody { areas });
        }
    }

    /// The flag by which the request under way can be cancelled.
    pub fn use_flag(&mut self, flag: CancelFlag) {
        self.debugger.set_cancel_flag(CancelFlag::clone(&flag));
        self.current = flag;
    }

    /// Whether a request makes sense in the present state.
    ///
    /// # Errors
    /// It does not; why.
    pub fn check(&self, required: RequiredState) -> Result<(), RequestError> {
        match (required, self.state()) {
            (RequiredState::Always, _)
            | (RequiredState::Process, State::Held | State::Running | State::Stopped) => Ok(()),
            (RequiredState::Stopped, State::Stopped) => Ok(()),
            (RequiredState::Stopped, State::Running) if self.debugger.has_visible_stop() => Ok(()),
            (_, State::NoProcess) => Err(RequestError::NoProcess(
                "there is no program yet; send launch or attach first",
            )),
            (_, State::Ended) => Err(RequestError::NoProcess("the program has ended")),
            (_, State::Held) => Err(RequestError::NotStopped(
                "the program is held at its start until configurationDone",
            )),
            (_, State::Running) => Err(RequestError::NotStopped(RUNNING)),
        }
    }

    /// Where the session stands, for the client.
    pub fn state(&self) -> State {
        self.startup.state_before().unwrap_or(self.debugger.state())
    }

    /// A thread runs on, and in all-stop mode all others with it.
    pub fn runs_on(&mut self, thread: ThreadId) {
        self.codes.forget_lines();
        if self.debugger.is_non_stop() {
            self.handles.forget(thread);
        } else {
            self.handles.clear();
        }
    }

    /// Whether the client has cancelled the request that is being carried out.
    pub fn is_cancelled(&self) -> bool {
        self.current.load(Ordering::Relaxed) || engine::os::asked_to_end().is_some()
    }

    /// Ends the debuggee, or lets it run on without us; `None`: as it began.
    pub fn end_or_detach(&mut self, terminate: Option<bool>) {
        let terminate = terminate.or(self.settings.terminate_debuggee);
        let terminate = terminate.unwrap_or(self.startup.ends_with_session());
        startup::fail(self, RequestError::Cancelled);
        for request in self.deferred.take_all() {
            self.respond(request.seq, &request.command, Err(RequestError::Cancelled));
        }
        self.debuginfod = Debuginfod::default();
        self.children = Children::default();
        if terminate {
            self.debugger.kill();
        } else {
            match self.debugger.detach() {
                Ok(()) if self.debugger.captures_output() => {
                    self.console("The program runs on; what it writes from now on is lost.\n");
                }
                Ok(()) => {}
                Err(error) => tracing::debug!(%error, "nothing to detach from"),
            }
        }
        self.handles.clear();
    }

    /// Whether no request will follow.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// No request will follow.
    pub fn end(&mut self) {
        self.over = true;
    }
}
