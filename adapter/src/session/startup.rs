//! From `launch` or `attach` to the first instruction.
//!
//! `initialized` goes out as soon as the program is held. The answer to `launch` follows that
//! to `configurationDone`, as clients written for gdb expect; a client that falls silent waiting
//! for it (debugger-cli) gets it at once. The program is let go after `configurationDone`.

use crate::protocol::RequestError;
use crate::protocol::{ProcessEventStartMethod, RawSettings, Response};
use crate::session::Session;
use crate::session::core_file::Unpacking;
use crate::session::events;
use crate::session::main_stop;
use crate::session::opening::Opening;
use crate::session::terminal::{Rendezvous, Report};
use engine::{Event, ExitStatus, Signal, State};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// After so long without a request a client is taken to wait for the launch answer.
const SILENCE: Duration = Duration::from_millis(200);
/// A terminal that has not started the program after so long never will.
const TERMINAL_PATIENCE: Duration = Duration::from_secs(30);

/// How far launching or attaching has come.
#[derive(Debug, Default)]
pub struct Startup {
    stage: Stage,
    /// The client sent `initialize`.
    pub introduced: bool,
    /// The client sent `configurationDone`.
    pub configured: bool,
    /// Stop at the first instruction.
    pub stop_on_entry: bool,
    /// Stop at the program's `main`.
    pub stop_at_main: bool,
    /// Breakpoints do nothing.
    pub no_debug: bool,
    /// Steps by statements are finer than those by lines.
    pub statement_steps: bool,
    /// What `disconnect` does where it does not say.
    pub terminate_debuggee: Option<bool>,
    /// How long the program may take to end when it is asked to.
    pub terminate_limit: Duration,
    /// The client asked the program to end.
    pub terminate_sent: bool,
    /// The settings it began with.
    pub settings: RawSettings,
    /// When a program that was asked to end is killed; counts while it runs.
    kill_at: Option<Instant>,
    attached: bool,
    /// The process comes from one that another session launched.
    parent_launched: bool,
    initialized_sent: bool,
    answer: Option<(i64, &'static str)>,
    last_heard: Option<Instant>,
    /// What happened before the client may be told.
    early: Vec<Event>,
}

#[derive(Debug, Default)]
enum Stage {
    /// Nothing was started.
    #[default]
    Nothing,
    /// A terminal is to start the program.
    Terminal(Terminal),
    /// The process to attach to is to be started by somebody.
    Awaited,
    /// A core file is being unpacked.
    Core(Unpacking),
    /// Files of the program's standard streams are being opened.
    Opening(Opening),
    /// The program is held.
    Held,
    /// The program was let go.
    Going,
}

#[derive(Debug)]
struct Terminal {
    _rendezvous: Rendezvous,
    deadline: Instant,
    /// Where the launcher waits for the word to go; kept open for its last words.
    socket: Option<UnixStream>,
    /// The engine saw the launcher end.
    ended: Option<String>,
    /// The launcher's socket was closed.
    closed: bool,
}

impl Startup {
    /// Notes that the client is not silent.
    pub fn heard(&mut self) {
        self.last_heard = Some(Instant::now());
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
            Stage::Going => None,
        }
    }

    /// The answer to `launch` or `attach` is due later.
    pub fn answer_later(&mut self, seq: i64, command: &'static str) {
        self.answer = Some((seq, command));
    }

    /// The request that waits for its answer.
    pub fn awaited(&self) -> Option<i64> {
        self.answer.map(|(seq, _)| seq)
    }

    /// Whether the debuggee ends with the session.
    pub fn ends_with_us(&self) -> bool {
        let launched = !self.attached || self.parent_launched;
        self.terminate_debuggee.unwrap_or(launched)
    }

    /// Whether the process to attach to has still to come.
    pub fn is_awaiting(&self) -> bool {
        matches!(self.stage, Stage::Awaited)
    }

    /// The process is held that the session of its parent has handed over.
    pub fn held_for_parent(&mut self, launched: bool) {
        self.held(true);
        self.parent_launched = launched;
        // A restart has to attach to it as to any other.
        self.settings.0.remove("__handover");
    }

    /// Whether the process was found running.
    pub fn was_attached(&self) -> bool {
        self.attached
    }

    /// The session goes on with another process; what the client configured stays.
    pub fn begin_again(&mut self) {
        self.stage = Stage::Nothing;
        self.terminate_sent = false;
        self.kill_at = None;
        self.parent_launched = false;
        self.answer = None;
        self.early.clear();
    }

    /// How it began, for the client.
    pub fn method(&self) -> ProcessEventStartMethod {
        match self.attached {
            true => ProcessEventStartMethod::Attach,
            false => ProcessEventStartMethod::Launch,
        }
    }

    /// The program is held: launched by us, or (`attached`) found running.
    pub fn held(&mut self, attached: bool) {
        self.attached = attached;
        self.stage = Stage::Held;
    }

    /// The process to attach to is waited for.
    pub fn awaiting(&mut self) {
        self.attached = true;
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
        self.attached = false;
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
        self.attached = false;
        self.stage = Stage::Terminal(Terminal {
            _rendezvous: rendezvous,
            deadline: Instant::now() + TERMINAL_PATIENCE,
            socket: None,
            ended: None,
            closed: false,
        });
    }

    /// Something to tell the client as soon as it may be told.
    pub fn note(&mut self, text: String) {
        self.early.push(Event::Note(text));
    }
}

/// Does what has become possible: sends `initialized`, lets the program go.
pub fn advance(session: &mut Session) {
    if !matches!(session.startup.stage, Stage::Held) {
        return;
    }
    if !session.startup.initialized_sent {
        session.startup.initialized_sent = true;
        session.startup.heard();
        session.event("initialized", &());
    }
    for event in std::mem::take(&mut session.startup.early) {
        events::on_event(session, event);
    }
    if session.startup.configured {
        session.startup.stage = Stage::Going;
        answer(session);
        if session.debugger.state() == State::Ended {
            return;
        }
        events::announce(session);
        let stop = session.startup.stop_on_entry;
        if session.startup.stop_at_main && !session.startup.no_debug {
            main_stop::arm(session);
        }
        match session.debugger.release(stop) {
            // A core file stops where it is.
            Ok(()) if session.debugger.is_post_mortem() => {}
            Ok(()) if session.startup.attached && !stop => events::continued(session),
            Ok(()) => {}
            Err(error) => session.important(&format!("The program cannot be let go: {error}\n")),
        }
    }
}

/// Answers `launch` or `attach`, if that is still due.
pub fn answer(session: &mut Session) {
    if let Some((seq, command)) = session.startup.answer.take() {
        session.respond(seq, command, Ok(None));
    }
}

/// Answers `launch` or `attach` with an error, if that is still due, and forgets about it.
pub fn fail(session: &mut Session, error: RequestError) {
    if let Some((seq, command)) = session.startup.answer.take() {
        session.respond(seq, command, Err(error));
        session.startup.stage = Stage::Nothing;
    }
}

/// Kills the program; the client is told of its end.
pub fn kill(session: &mut Session) {
    session.debugger.kill();
    // `kill` leaves no event behind. 9 is SIGKILL wherever there are signals.
    events::exited(session, ExitStatus::Signal(Signal(9)));
}

/// When [`on_deadline`] is due.
pub fn deadline(session: &mut Session) -> Option<Instant> {
    let ending = session.startup.terminate_sent && session.debugger.state() == State::Running;
    let startup = &mut session.startup;
    if !ending {
        startup.kill_at = None;
    }
    match &startup.stage {
        Stage::Going if ending => {
            let limit = startup.terminate_limit;
            Some(
                *startup
                    .kill_at
                    .get_or_insert_with(|| Instant::now() + limit),
            )
        }
        Stage::Terminal(terminal) if terminal.socket.is_none() => Some(terminal.deadline),
        Stage::Held if startup.answer.is_some() => startup.last_heard.map(|heard| heard + SILENCE),
        _ => None,
    }
}

/// The client is silent, or its terminal is.
pub fn on_deadline(session: &mut Session) {
    match session.startup.stage {
        Stage::Held => answer(session),
        Stage::Terminal(_) => fail(
            session,
            RequestError::Start("the terminal did not start the program".to_owned()),
        ),
        Stage::Going if session.startup.kill_at.is_some() => {
            let text = format!(
                "The program has not ended within {} s of SIGTERM (`terminateTimeout`): killed\n",
                session.startup.terminate_limit.as_secs_f32()
            );
            session.important(&text);
            kill(session);
        }
        Stage::Nothing | Stage::Awaited | Stage::Core(_) | Stage::Opening(_) | Stage::Going => {}
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
pub fn on_report(session: &mut Session, report: Report) {
    let Stage::Terminal(terminal) = &mut session.startup.stage else {
        return;
    };
    match report {
        Report::Waiting { pid, socket } => match session.debugger.seize_launcher(pid) {
            Ok(()) => {
                // If it is gone, its end is reported.
                let _ = (&socket).write_all(b"g");
                terminal.socket = Some(socket);
            }
            Err(error) => fail(session, RequestError::Start(error.to_string())),
        },
        Report::Gone {
            failure: Some(failure),
        } => fail(session, RequestError::Start(failure)),
        Report::Gone { failure: None } => {
            terminal.closed = true;
            launcher_ended(session);
        }
    }
}

/// The debugger's own news of the launcher; `None` if the event is for others.
pub fn on_event(session: &mut Session, event: Event) -> Option<Event> {
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
    let Stage::Terminal(terminal) = &mut session.startup.stage else {
        session.startup.early.push(event);
        return None;
    };
    match event {
        Event::Launched => {
            session.startup.stage = Stage::Held;
            advance(session);
        }
        Event::LaunchFailed(why) => {
            terminal.ended = Some(why);
            launcher_ended(session);
        }
        Event::Exited(_) => {
            terminal.ended = Some("the program ended before it was started".to_owned());
            launcher_ended(session);
        }
        other => session.startup.early.push(other),
    }
    None
}

/// Once the launcher has ended and said nothing by its socket, launching has failed.
fn launcher_ended(session: &mut Session) {
    if let Stage::Terminal(terminal) = &mut session.startup.stage
        && terminal.closed
        && let Some(why) = terminal.ended.take()
    {
        fail(session, RequestError::Start(why));
    }
}
