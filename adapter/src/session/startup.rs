//! From `launch` or `attach` to the first instruction.
//!
//! `initialized` goes out as soon as the program is held. The answer to `launch` follows that
//! to `configurationDone`, as clients written for gdb expect; a client that falls silent waiting
//! for it (debugger-cli) gets it at once. The program is let go after `configurationDone`.

use crate::protocol::RequestError;
use crate::protocol::{ProcessEventStartMethod, Response};
use crate::session::Session;
use crate::session::core_file::Unpacking;
use crate::session::events;
use crate::session::main_stop;
use crate::session::news::LauncherEvent;
use crate::session::opening::Opening;
use crate::session::terminal::Rendezvous;
use engine::{Event, ExitStatus, Signal, State};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A client that sends no request for this long is assumed to wait for the `launch` response before
/// it configures.
const QUIET_PERIOD: Duration = Duration::from_millis(200);
/// A terminal that has not started the program by then never will.
const TERMINAL_TIMEOUT: Duration = Duration::from_secs(30);

/// How far launching or attaching has come.
#[derive(Debug, Default)]
pub struct Startup {
    stage: Stage,
    origin: Origin,
    termination: Termination,
    /// The client sent `configurationDone`.
    configured: bool,
    initialized_sent: bool,
    /// The `launch` or `attach` that waits for its response.
    pending: Option<Pending>,
    last_request: Option<Instant>,
    /// What happened before the client may be told.
    deferred_events: Vec<Event>,
}

#[derive(Debug)]
struct Pending {
    seq: i64,
    command: &'static str,
}

#[derive(Debug, Default)]
enum Stage {
    /// Nothing was started.
    #[default]
    Nothing,
    /// A terminal is to start the program.
    Terminal(Terminal),
    /// The process to attach to does not run yet.
    Awaited,
    /// A core file is being unpacked.
    Core(Unpacking),
    /// Files of the program's standard streams are being opened.
    Opening(Opening),
    /// The program is held.
    Held,
    /// The program was released.
    Released,
}

/// Where the process comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Origin {
    /// This session launched it.
    #[default]
    Launched,
    /// It was found running.
    Attached,
    /// The session of its parent handed it over, which launched the parent.
    ChildOfLaunched,
}

/// The end that the client asked the program for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Termination {
    #[default]
    NotRequested,
    /// The program does not run, or was only just asked.
    Requested,
    /// It runs, and is killed then.
    KillAt(Instant),
}

#[derive(Debug)]
struct Terminal {
    _rendezvous: Rendezvous,
    launcher: Launcher,
    end: LauncherEnd,
}

/// What is known of the process that becomes the program.
#[derive(Debug)]
enum Launcher {
    /// It has not come to the socket.
    Awaited { deadline: Instant },
    /// It is seized. The socket is open for its last message.
    Seized { _socket: UnixStream },
}

/// The end of a launcher that has become no program: both of these, in either order.
#[derive(Debug)]
enum LauncherEnd {
    /// Neither.
    None,
    /// Its socket was closed without a message.
    Closed,
    /// The engine saw it end; why.
    Ended(String),
}

impl Startup {
    /// The client has sent a request.
    pub fn on_request(&mut self) {
        self.last_request = Some(Instant::now());
    }

    /// The client has sent `configurationDone`.
    pub fn configured(&mut self) {
        self.configured = true;
    }

    /// The client asks the program to end. Whether it has done so before.
    pub fn request_termination(&mut self) -> bool {
        let before = self.is_termination_requested();
        if !before {
            self.termination = Termination::Requested;
        }
        before
    }

    /// Whether the client has asked the program to end.
    pub fn is_termination_requested(&self) -> bool {
        self.termination != Termination::NotRequested
    }

    /// Whether there was a launch or attach already.
    pub fn has_begun(&self) -> bool {
        !matches!(self.stage, Stage::Nothing)
    }

    /// The state, as long as the debugger's own does not matter yet.
    pub fn state_before(&self) -> Option<State> {
        match self.stage {
            Stage::Nothing => Some(State::NoProcess),
            Stage::Terminal(_)
            | Stage::Awaited
            | Stage::Core(_)
            | Stage::Opening(_)
            | Stage::Held => Some(State::Held),
            Stage::Released => None,
        }
    }

    /// The response to `launch` or `attach` is due later.
    pub fn respond_later(&mut self, seq: i64, command: &'static str) {
        self.pending = Some(Pending { seq, command });
    }

    /// The request that waits for its response.
    pub fn pending_request(&self) -> Option<i64> {
        self.pending.as_ref().map(|pending| pending.seq)
    }

    /// Whether the debuggee ends with the session where neither client nor settings say.
    pub fn ends_with_session(&self) -> bool {
        self.origin != Origin::Attached
    }

    /// Whether the process to attach to has still to come.
    pub fn is_awaiting(&self) -> bool {
        matches!(self.stage, Stage::Awaited)
    }

    /// The process is held that the session of its parent has handed over, which `launched` the
    /// parent.
    pub fn held_for_parent(&mut self, launched: bool) {
        self.held(true);
        if launched {
            self.origin = Origin::ChildOfLaunched;
        }
    }

    /// Whether the process was found running.
    pub fn was_attached(&self) -> bool {
        self.origin != Origin::Launched
    }

    /// The session goes on with another process; what the client configured stays.
    pub fn begin_again(&mut self) {
        self.stage = Stage::Nothing;
        self.termination = Termination::NotRequested;
        if self.origin == Origin::ChildOfLaunched {
            self.origin = Origin::Attached;
        }
        self.pending = None;
        self.deferred_events.clear();
    }

    /// How it began, for the client.
    pub fn method(&self) -> ProcessEventStartMethod {
        match self.was_attached() {
            true => ProcessEventStartMethod::Attach,
            false => ProcessEventStartMethod::Launch,
        }
    }

    /// The program is held: launched by us, or (`attached`) found running.
    pub fn held(&mut self, attached: bool) {
        self.origin = match attached {
            true => Origin::Attached,
            false => Origin::Launched,
        };
        self.stage = Stage::Held;
    }

    /// The process to attach to is waited for.
    pub fn awaiting(&mut self) {
        self.origin = Origin::Attached;
        self.stage = Stage::Awaited;
    }

    /// A core file has to be unpacked before it can be opened.
    pub fn unpacking(&mut self, unpacking: Unpacking) {
        self.stage = Stage::Core(unpacking);
    }

    /// The core file that is being unpacked.
    pub fn being_unpacked(&self) -> Option<&Unpacking> {
        match &self.stage {
            Stage::Core(unpacking) => Some(unpacking),
            _ => None,
        }
    }

    /// The program is started as soon as the files of its standard streams are open.
    pub fn opening(&mut self, opening: Opening) {
        self.origin = Origin::Launched;
        self.stage = Stage::Opening(opening);
    }

    /// The launch whose files are being opened.
    pub fn being_opened(&self) -> Option<&Opening> {
        match &self.stage {
            Stage::Opening(opening) => Some(opening),
            _ => None,
        }
    }

    /// The client was asked to start the program in a terminal.
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

    /// Something to tell the client as soon as it may be told.
    pub fn note(&mut self, text: String) {
        self.deferred_events.push(Event::Note(text));
    }
}

/// Does what has become possible: sends `initialized`, lets the program go.
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
        session.startup.stage = Stage::Released;
        answer(session);
        if session.debugger.state() == State::Ended {
            return;
        }
        events::announce(session);
        let stop = session.settings.stop_on_entry;
        if session.settings.stop_at_main && !session.settings.no_debug {
            main_stop::arm(session);
        }
        match session.debugger.release(stop) {
            // A core file stops where it is.
            Ok(()) if session.debugger.is_post_mortem() => {}
            Ok(()) if session.startup.was_attached() && !stop => events::continued(session),
            Ok(()) => {}
            Err(error) => session.important_note(&format!("Cannot resume the program: {error}\n")),
        }
    }
}

/// Answers `launch` or `attach`, if that is still due.
pub fn answer(session: &mut Session) {
    if let Some(Pending { seq, command }) = session.startup.pending.take() {
        session.respond(seq, command, Ok(None));
    }
}

/// Answers `launch` or `attach` with an error, if that is still due, and forgets about it.
pub fn fail(session: &mut Session, error: RequestError) {
    if let Some(Pending { seq, command }) = session.startup.pending.take() {
        session.respond(seq, command, Err(error));
        session.startup.stage = Stage::Nothing;
    }
}

/// Kills the program; the client is told of its end.
pub fn kill(session: &mut Session) {
    session.debugger.kill();
    // `kill` leaves no event behind. 9 is SIGKILL wherever there are signals.
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

/// When [`on_deadline`] is due.
pub fn deadline(session: &mut Session) -> Option<Instant> {
    let runs = session.debugger.state() == State::Running;
    let limit = session.settings.terminate_limit;
    let startup = &mut session.startup;
    // The time counts while the program runs.
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
        _ => None,
    }
}

/// The client is quiet, or its terminal is, or the program has not ended in time.
pub fn on_deadline(session: &mut Session) {
    match (&session.startup.stage, session.startup.termination) {
        (Stage::Held, _) => answer(session),
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

/// The client has answered our `runInTerminal`.
pub fn on_response(session: &mut Session, response: &Response) {
    if response.command == "runInTerminal" && !response.success {
        let message = response.message.as_deref().unwrap_or("no reason given");
        fail(
            session,
            RequestError::Start(format!("the client cannot open a terminal: {message}")),
        );
    }
}

/// News from the terminal.
pub fn on_report(session: &mut Session, report: LauncherEvent) {
    let Stage::Terminal(terminal) = &mut session.startup.stage else {
        return;
    };
    match report {
        LauncherEvent::Waiting { pid, socket } => match session.debugger.seize_launcher(pid) {
            Ok(()) => {
                // If it is gone, its end is reported.
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

/// The engine saw the launcher end: launching has failed if it has sent no message either.
fn launcher_ended(session: &mut Session, why: String) {
    let Stage::Terminal(terminal) = &mut session.startup.stage else {
        return;
    };
    match terminal.end {
        LauncherEnd::Closed => fail(session, RequestError::Start(why)),
        LauncherEnd::None | LauncherEnd::Ended(_) => terminal.end = LauncherEnd::Ended(why),
    }
}
