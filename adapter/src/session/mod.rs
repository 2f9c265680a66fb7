//! The state of one client and one debuggee, and its changes by the debuggee's events, the client's
//! responses and reports of other threads. The session thread owns all of it.

pub mod breakpoints;
pub mod call_trace;
pub mod children;
mod client_io;
pub mod core_file;
pub mod debuginfod;
pub mod deferred;
pub mod describe;
mod ending;
pub mod events;
pub mod guests;
pub mod handles;
pub mod handover;
pub mod history;
pub mod memory_views;

pub mod opening;
pub mod output_joiner;
pub mod own_breakpoints;
pub mod past;
pub mod prefetch;
pub mod progress;
pub mod recording_file;
pub mod reports;
pub mod settings;
pub mod startup;
pub mod terminal;
pub mod traces;
pub mod watchable;
pub mod work;

use crate::protocol::{InvalidatedEventBody, RequestError};
use crate::server::{CancelFlag, Outbox};
use crate::sources::{self, Client, CodeSources, Sources};
use breakpoints::Breakpoints;
use call_trace::CallTrace;
use children::Children;
use debuginfod::Debuginfod;
use deferred::Deferred;
use engine::{Debugger, Signal, State, ThreadId};
use events::ReportedState;
use guests::Guests;
use handles::Handles;
use history::History;
use memory_views::MemoryViews;
use output_joiner::OutputJoiner;
use own_breakpoints::OwnBreakpoints;
use prefetch::Prefetch;
use progress::Progress;
use reports::{Inbox, Report};
use settings::ActiveSettings;
use startup::Startup;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use watchable::WatchableData;

/// The state of the session in which a request or command is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequiredState {
    /// Any state.
    Always,
    /// With a process.
    Process,
    /// With a stopped process.
    Stopped,
}

/// The state of a session.
pub struct Session {
    /// The debuggee.
    pub debugger: Debugger,
    /// The client's conventions and capabilities.
    pub client: Client,
    /// The ids of the current stop.
    pub handles: Handles,
    /// Paths and sources.
    pub sources: Sources,
    /// The client's breakpoints.
    pub breakpoints: Breakpoints,
    /// Data that the client may watch.
    pub watchable: WatchableData,
    /// Machine code that was sent to the client.
    pub codes: CodeSources,
    /// Memory shown in the client.
    pub memory_views: MemoryViews,
    /// The current settings.
    pub settings: ActiveSettings,
    /// The state of the launch or attach.
    pub startup: Startup,
    /// What has been reported of the debuggee.
    pub reported: ReportedState,
    /// Earlier stops, output and variables.
    pub history: History,
    /// Breakpoints of the session itself.
    pub own_breakpoints: OwnBreakpoints,
    /// The call that is being traced.
    pub call_trace: CallTrace,
    /// With how many rows and records the client wants to be sent traces at the end.
    pub traces_at_end: Option<(usize, usize)>,
    /// Long work in progress.
    pub progress: Progress,
    /// Child processes on offer to sessions of their own.
    pub children: Children,
    /// Debug info from servers.
    pub debuginfod: Debuginfod,
    /// Variables read before the client requests them.
    pub prefetch: Prefetch,
    /// Whether a request has changed a variable: others may share its memory.
    pub variables_changed: bool,
    /// Where the recording is to be written.
    pub recording_file: Option<PathBuf>,
    /// What was sent to the client about past stops.
    pub past: past::ReportedPast,
    /// Clients that look on.
    pub guests: Guests,
    /// The queue for reports of other threads.
    pub inbox: Inbox,
    outbox: Outbox,
    /// Output of an incomplete line.
    joined: OutputJoiner,
    current: CancelFlag,
    /// Requests deferred to the end of an inferior call.
    pub deferred: Deferred,
    /// Whose session it is.
    pub user: User,
    over: bool,
}

/// Whose session it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum User {
    /// An editor or another program.
    Client,
    /// A command of this program in a terminal or a script. What it has started and ends, it ends as a terminal
    /// does: with the program's process group.
    Command,
    /// Such a command, which ends the session itself when this process gets a signal to end.
    CommandToItsEnd,
}

impl Session {
    /// Creates a session before its first message.
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
            own_breakpoints: OwnBreakpoints::default(),
            call_trace: CallTrace::default(),
            traces_at_end: None,
            progress: Progress::default(),
            children: Children::default(),
            recording_file: None,
            past: past::ReportedPast::default(),
            guests: Guests::default(),
            debuginfod: Debuginfod::default(),
            prefetch: Prefetch::default(),
            variables_changed: false,
            inbox,
            outbox,
            joined: OutputJoiner::default(),
            current: CancelFlag::default(),
            deferred: Deferred::default(),
            over: false,
            user: User::Client,
        }
    }

    /// Handles a call that stopped before it returned: the evaluation that made it fails. Later
    /// requests stay deferred until the stop is reported.
    fn call_abandoned(&mut self, why: engine::Error) {
        if let Some((request, _)) = self.deferred.take_evaluation() {
            self.respond(request.seq, &request.command, Err(why.into()));
        }
    }

    /// Runs `rustc` to find the sources of the standard library, on a thread of its own.
    pub fn find_rust_sources(&self) {
        let inbox = self.inbox.clone();
        let look = move || inbox.put(Report::RustSources(sources::rust_toolchains::in_use()));
        if let Err(error) = thread::Builder::new().name("rustc".into()).spawn(look) {
            tracing::warn!(%error, "cannot start a thread to run rustc");
        }
    }

    /// Sets the folder of these sources; frames that the client shows may have sources now.
    pub fn on_rust_sources(&mut self, folder: Option<PathBuf>) {
        let shows_frames = folder.is_some() && self.state() == State::Stopped;
        self.sources.set_rust_sources(folder);
        if shows_frames && self.client.invalidated {
            let areas = &["stacks"];
            self.event("invalidated", &InvalidatedEventBody { areas });
        }
    }

    /// Sets the cancel flag of the current request.
    pub fn use_flag(&mut self, flag: CancelFlag) {
        self.debugger.set_cancel_flag(CancelFlag::clone(&flag));
        self.current = flag;
    }

    /// Checks that a request is allowed in the current state.
    ///
    /// # Errors
    /// The request is not allowed; the error says why.
    pub fn check(&self, required: RequiredState) -> Result<(), RequestError> {
        match (required, self.state()) {
            (RequiredState::Always, _)
            | (RequiredState::Process, State::Held | State::Running | State::Stopped) => Ok(()),
            (RequiredState::Stopped, State::Stopped) => Ok(()),
            (RequiredState::Stopped, State::Running) if self.debugger.has_visible_stop() => Ok(()),
            (_, State::NoProcess) => Err(RequestError::NoProcess),
            (_, State::Ended) => Err(RequestError::Ended),
            (_, State::Held) => Err(RequestError::Held),
            (_, State::Running) => Err(RequestError::Running),
        }
    }

    /// Returns the state of the session for the client.
    pub fn state(&self) -> State {
        self.startup.state_before().unwrap_or(self.debugger.state())
    }

    /// Records that a thread resumes; in all-stop mode, all others do, too.
    pub fn forget_thread_stop(&mut self, thread: ThreadId) {
        self.codes.forget_lines();
        if self.debugger.is_non_stop() {
            self.handles.forget(thread);
        } else {
            self.handles.clear();
        }
    }

    /// Returns true if the client has cancelled the current request.
    pub fn is_cancelled(&self) -> bool {
        self.current.load(Ordering::Relaxed) || self.must_end().is_some()
    }

    /// Returns the signal by which this process is to end, unless the client ends the session then.
    pub fn must_end(&self) -> Option<Signal> {
        engine::os::end_signal().filter(|_| self.user != User::CommandToItsEnd)
    }

    /// Returns true if the session handles no more requests.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Marks the session as over: it handles no more requests.
    pub fn end(&mut self) {
        self.over = true;
    }
}
