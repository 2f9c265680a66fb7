//! From `launch` or `attach` to the first instruction.
//!
//! `initialized` is sent as soon as the program is held. The response to `launch` follows that to
//! `configurationDone`, as clients written for gdb expect; a client that sends nothing because it
//! waits for the response (debugger-cli) gets it earlier. The program is released after
//! `configurationDone`, and after its debug info was fetched, if `debuginfod` fetches it.

use crate::protocol::RequestError;
use crate::protocol::{ProcessEventStartMethod, Response};
use crate::session::Session;
use crate::session::core_file::Unpacking;
use crate::session::debuginfod::MAX_HOLD;
use crate::session::events;
use crate::session::opening::Opening;
use crate::session::own_breakpoints;
use crate::session::reports::LauncherEvent;
use crate::session::terminal::Rendezvous;
use engine::{Event, ExitStatus, FirstStop, Signal, State};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A client that sends no request for this long is assumed to wait for the `launch` response before
/// it configures.
const QUIET_PERIOD: Duration = Duration::from_millis(200);
/// Timeout for a terminal to start the program.
const TERMINAL_TIMEOUT: Duration = Duration::from_secs(30);

/// The state of the launch or attach.
#[derive(Debug, Default)]
pub struct Startup {
    stage: Stage,
    origin: Origin,
    termination: Termination,
    /// Whether the client has sent `configurationDone`.
    configured: bool,
    initialized_sent: bool,
    /// The `launch` or `attach` that waits for its response.
    pending: Option<Pending>,
    last_request: Option<Instant>,
    /// Events that are reported once the program is held.
    deferred_events: Vec<Event>,
}

#[derive(Debug)]
struct Pending {
    seq: i64,
    command: &'static str,
}

#[derive(Debug, Default)]
enum Stage {
    /// No launch or attach.
    #[default]
    Nothing,
    /// The client's terminal has been requested to start the program.
    Terminal(Terminal),
    /// The process to attach to does not exist yet.
    Awaited,
    /// A core file is being unpacked.
    Core(Unpacking),
    /// Files of the program's standard streams are being opened.
    Opening(Opening),
    /// The program is held.
    Held,
    /// The program is held for its debug info, which is being fetched; at most until this time.
    Fetching { until: Instant },
    /// The program has been released.
    Released,
}

/// The origin of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Origin {
    /// This session launched it.
    #[default]
    Launched,
    /// It was running before.
    Attached,
    /// The session of its parent, which launched the parent, has handed it over.
    ChildOfLaunched,
}

/// The state of the client's request to terminate the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Termination {
    #[default]
    NotRequested,
    /// SIGTERM was sent, but the program is not running, or the timeout has not begun.
    Requested,
    /// The program runs, and is killed at this time.
    KillAt(Instant),
}

#[derive(Debug)]
struct Terminal {
    _rendezvous: Rendezvous,
    launcher: Launcher,
    end: LauncherEnd,
}

/// The process that becomes the program.
#[derive(Debug)]
enum Launcher {
    /// It has not connected to the socket.
    Awaited { deadline: Instant },
    /// It is seized. The socket stays open for its last message.
    Seized { _socket: UnixStream },
}

/// The end of a launcher that has not become the program: both of these, in either order.
#[derive(Debug)]
enum LauncherEnd {
    /// Neither.
    None,
    /// Its socket was closed without a message.
    Closed,
    /// The engine has reported its end; why.
    Ended(String),
}

impl Startup {
    /// Records the time of a request.
    pub fn on_request(&mut self) {
        self.last_request = Some(Instant::now());
    }

    /// Records `configurationDone`.
    pub fn configured(&mut self) {
        self.configured = true;
    }

    /// Records that the client requests the program's end. Returns whether it did so before.
    pub fn request_termination(&mut self) -> bool {
        let before = self.is_termination_requested();
        if !before {
            self.termination = Termination::Requested;
        }
        before
    }

    /// Returns true if the client has requested the program's end.
    pub fn is_termination_requested(&self) -> bool {
        self.termination != Termination::NotRequested
    }

    /// Returns true after a launch or attach.
    pub fn has_begun(&self) -> bool {
        !matches!(self.stage, Stage::Nothing)
    }

    /// Returns the state until the program is released; `None`: the debugger's own state applies.
    pub fn state_before(&self) -> Option<State> {
        match self.stage {
            Stage::Nothing => Some(State::NoProcess),
            Stage::Terminal(_)
            | Stage::Awaited
            | Stage::Core(_)
            | Stage::Opening(_)
            | Stage::Held
            | Stage::Fetching { .. } => Some(State::Held),
            Stage::Released => None,
        }
    }

    /// Defers the response to `launch` or `attach`.
    pub fn respond_later(&mut self, seq: i64, command: &'static str) {
        self.pending = Some(Pending { seq, command });
    }

    /// Returns the number of the request that waits for its response.
    pub fn pending_request(&self) -> Option<i64> {
        self.pending.as_ref().map(|pending| pending.seq)
    }

    /// Returns whether the debuggee ends with the session by default.
    pub fn ends_with_session(&self) -> bool {
        self.origin != Origin::Attached
    }

    /// Returns true while the process to attach to is waited for.
    pub fn is_awaiting(&self) -> bool {
        matches!(self.stage, Stage::Awaited)
    }

    /// Records that the process handed over by its parent's session is held; `launched`: that
    /// session launched the parent.
    pub fn held_for_parent(&mut self, launched: bool) {
        self.held(true);
        if launched {
            self.origin = Origin::ChildOfLaunched;
        }
    }

    /// Returns true if the process was attached to.
    pub fn was_attached(&self) -> bool {
        self.origin != Origin::Launched
    }

    /// Resets the state for another process; the client's configuration stays.
    pub fn prepare_restart(&mut self) {
        self.stage = Stage::Nothing;
        self.termination = Termination::NotRequested;
        if self.origin == Origin::ChildOfLaunched {
            self.origin = Origin::Attached;
        }
        self.pending = None;
        self.deferred_events.clear();
    }

    /// Returns how the session began, for the client.
    pub fn method(&self) -> ProcessEventStartMethod {
        match self.was_attached() {
            true => ProcessEventStartMethod::Attach,
            false => ProcessEventStartMethod::Launch,
        }
    }

    /// Records that the program is held, after a launch or (`attached`) an attach.
    pub fn held(&mut self, attached: bool) {
        self.origin = match attached {
            true => Origin::Attached,
            false => Origin::Launched,
        };
        self.stage = Stage::Held;
    }

    /// Records that the process to attach to is waited for.
    pub fn awaiting(&mut self) {
        self.origin = Origin::Attached;
        self.stage = Stage::Awaited;
    }

    /// Records that a core file is unpacked before it is opened.
    pub fn unpacking(&mut self, unpacking: Unpacking) {
        self.stage = Stage::Core(unpacking);
    }

    /// Returns the core file that is being unpacked.
    pub fn being_unpacked(&self) -> Option<&Unpacking> {
        match &self.stage {
            Stage::Core(unpacking) => Some(unpacking),
            _ => None,
        }
    }

    /// Records that the program is launched once the files of its standard streams are open.
    pub fn opening(&mut self, opening: Opening) {
        self.origin = Origin::Launched;
        self.stage = Stage::Opening(opening);
    }

    /// Returns the launch whose files are being opened.
    pub fn being_opened(&self) -> Option<&Opening> {
        match &self.stage {
            Stage::Opening(opening) => Some(opening),
            _ => None,
        }
    }

    /// Records that the client was requested to start the program in a terminal.
    pub fn in_terminal(&mut self, rendezvous: Rendezvous) {
        self.origin = Origin::Launched;
        self.stage = Stage::Terminal(Terminal {
            _rendezvous: rendezvous,
            launcher: Launcher::Awaited {
                deadline: Instant::now() + TERMINAL_TIMEOUT,
            },
            end: LauncherEnd::None,
        });
    }

    /// Adds a note for the client, printed once the program is held.
    pub fn note(&mut self, text: String) {
        self.deferred_events.push(Event::Note(text));
    }
}

/// Takes the next steps that are possible: sends `initialized`, releases the program.
pub fn advance(session: &mut Session) {
    if !matches!(session.startup.stage, Stage::Held) {
        return;
    }
    if !session.startup.initialized_sent {
        session.startup.initialized_sent = true;
        session.startup.on_request();
        session.event("initialized", &());
    }
    for event in std::mem::take(&mut session.startup.deferred_events) {
        on_event(session, event);
    }
    if session.startup.configured {
        answer(session);
        let until = Instant::now() + MAX_HOLD;
        session.startup.stage = Stage::Fetching { until };
        if session.debugger.state() != State::Ended {
            events::announce(session);
        }
        release_if_ready(session);
    }
}

/// Releases the program after the client's configuration, unless it waits for its debug info.
pub fn release_if_ready(session: &mut Session) {
    let Stage::Fetching { until } = session.startup.stage else {
        return;
    };
    if is_held_for_debug_info(session) {
        if Instant::now() < until {
            return;
        }
        session.console(&format!(
            "The program starts without its debug info: it has not arrived within {} s. Breakpoints \
             bind when it arrives.\n",
            MAX_HOLD.as_secs()
        ));
    }
    session.startup.stage = Stage::Released;
    if session.debugger.state() != State::Held {
        return;
    }
    let first = session.settings.first_stop;
    if session.settings.stop_at_main && !session.settings.no_debug {
        own_breakpoints::arm_main(session);
    }
    match session.debugger.release(first) {
        // A core file stops where it is.
        Ok(()) if session.debugger.is_post_mortem() => {}
        Ok(()) if session.startup.was_attached() && first == FirstStop::None => {
            session.report_continued()
        }
        Ok(()) => {}
        Err(error) => session.important_note(&format!("Cannot resume the program: {error}\n")),
    }
}

/// Returns true while the start of a launched program waits for its debug info. A stop at its entry
/// needs none, and a process that was attached to is not kept from its work.
fn is_held_for_debug_info(session: &Session) -> bool {
    session.debuginfod.is_program_awaited()
        && !session.startup.was_attached()
        && session.settings.first_stop != FirstStop::AtOnce
        && session.debugger.state() == State::Held
}

/// Sends the response to `launch` or `attach`, if it is due.
pub fn answer(session: &mut Session) {
    if let Some(Pending { seq, command }) = session.startup.pending.take() {
        session.respond(seq, command, Ok(None));
    }
}

/// Sends an error as the response to `launch` or `attach`, if it is due, and resets the state.
pub fn fail(session: &mut Session, error: RequestError) {
    if let Some(Pending { seq, command }) = session.startup.pending.take() {
        if command == "restart" {
            // The former process has ended, and there is no other.
            session.event("terminated", &());
        }
        session.respond(seq, command, Err(error));
        session.startup.stage = Stage::Nothing;
    }
}

/// Kills the program and reports its end.
pub fn kill(session: &mut Session) {
    session.debugger.kill();
    // `kill` causes no event. 9 is SIGKILL on every system with signals.
    exited(session, ExitStatus::Signal(Signal(9)));
}

/// Reports the end of the debuggee, after the response to its launch or attach.
pub fn exited(session: &mut Session, status: ExitStatus) {
    answer(session);
    events::exited(session, status);
}

/// Completes a launch or attach whose process is held now, or that has failed.
pub fn finish(session: &mut Session, started: Result<(), RequestError>) {
    match started {
        Ok(()) => advance(session),
        Err(error) => fail(session, error),
    }
}

/// Returns when [`on_deadline`] is due.
pub fn deadline(session: &mut Session) -> Option<Instant> {
    let runs = session.debugger.state() == State::Running;
    let limit = session.settings.terminate_limit;
    let startup = &mut session.startup;
    // Only time during which the program runs counts.
    startup.termination = match startup.termination {
        Termination::KillAt(_) if !runs => Termination::Requested,
        Termination::Requested if runs && matches!(startup.stage, Stage::Released) => {
            Termination::KillAt(Instant::now() + limit)
        }
        other => other,
    };
    match (&startup.stage, startup.termination) {
        (Stage::Released, Termination::KillAt(due)) => Some(due),
        (Stage::Terminal(terminal), _) => match terminal.launcher {
            Launcher::Awaited { deadline } => Some(deadline),
            Launcher::Seized { .. } => None,
        },
        (Stage::Held, _) if startup.pending.is_some() => {
            startup.last_request.map(|at| at + QUIET_PERIOD)
        }
        (Stage::Fetching { until }, _) => Some(*until),
        _ => None,
    }
}

/// Handles a timeout: of a client that waits for the response, of a terminal, of a program that
/// does not terminate.
pub fn on_deadline(session: &mut Session) {
    match (&session.startup.stage, session.startup.termination) {
        (Stage::Held, _) => answer(session),
        (Stage::Fetching { .. }, _) => release_if_ready(session),
        (Stage::Terminal(_), _) => fail(
            session,
            RequestError::Start("the terminal did not start the program".to_owned()),
        ),
        (Stage::Released, Termination::KillAt(_)) => {
            let text = format!(
                "Killed: no exit within {} s of SIGTERM (`terminateTimeout`)\n",
                session.settings.terminate_limit.as_secs_f32()
            );
            session.important_note(&text);
            kill(session);
        }
        _ => {}
    }
}

/// Handles the response to `runInTerminal`.
pub fn on_response(session: &mut Session, response: &Response) {
    if response.command == "runInTerminal" && !response.success {
        let message = response.message.as_deref().unwrap_or("no reason given");
        fail(
            session,
            RequestError::Start(format!("the client cannot open a terminal: {message}")),
        );
    }
}

/// Handles a report of the launcher in a terminal.
pub fn on_report(session: &mut Session, report: LauncherEvent) {
    let Stage::Terminal(terminal) = &mut session.startup.stage else {
        return;
    };
    match report {
        LauncherEvent::Waiting { pid, socket } => match session.debugger.seize_launcher(pid) {
            Ok(()) => {
                // Fails if it has ended, which is reported.
                let _ = (&socket).write_all(b"g");
                terminal.launcher = Launcher::Seized { _socket: socket };
            }
            Err(error) => fail(session, RequestError::Start(error.to_string())),
        },
        LauncherEvent::Gone {
            failure: Some(failure),
        } => fail(session, RequestError::Start(failure)),
        LauncherEvent::Gone { failure: None } => {
            match std::mem::replace(&mut terminal.end, LauncherEnd::Closed) {
                LauncherEnd::Ended(why) => fail(session, RequestError::Start(why)),
                LauncherEnd::None | LauncherEnd::Closed => {}
            }
        }
    }
}

/// Handles an event of the engine: reports it to the client, unless it is part of the start.
pub fn on_event(session: &mut Session, event: Event) {
    match during_start(session, event) {
        Some(Event::Exited(status)) => exited(session, status),
        Some(event) => events::report(session, event),
        None => {}
    }
}

/// Handles an event that is part of the start; returns any other.
fn during_start(session: &mut Session, event: Event) -> Option<Event> {
    let on_its_way = matches!(session.startup.stage, Stage::Terminal(_) | Stage::Awaited);
    if session.startup.initialized_sent && !on_its_way {
        return Some(event);
    }
    match event {
        Event::Attached => {
            session.startup.held(true);
            advance(session);
            return None;
        }
        Event::AttachFailed(error) => {
            fail(session, error.into());
            return None;
        }
        _ => {}
    }
    let Stage::Terminal(_) = session.startup.stage else {
        session.startup.deferred_events.push(event);
        return None;
    };
    match event {
        Event::Launched => {
            session.startup.stage = Stage::Held;
            advance(session);
        }
        Event::LaunchFailed(why) => {
            launcher_ended(session, why);
        }
        Event::Exited(_) => {
            let why = "the program exited before it was started".to_owned();
            launcher_ended(session, why);
        }
        other => session.startup.deferred_events.push(other),
    }
    None
}

/// Handles the end of the launcher: the launch has failed if it has sent no message either.
fn launcher_ended(session: &mut Session, why: String) {
    let Stage::Terminal(terminal) = &mut session.startup.stage else {
        return;
    };
    match terminal.end {
        LauncherEnd::Closed => fail(session, RequestError::Start(why)),
        LauncherEnd::None | LauncherEnd::Ended(_) => terminal.end = LauncherEnd::Ended(why),
    }
}
