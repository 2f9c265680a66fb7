//! The requests that start and end a session.

use crate::config::{
    self, AttachSettings, CommonPlan, Console, CorePlan, LaunchPlan, LaunchSettings, ReplayPlan,
    ResolvedSettings, Settings, Target,
};
use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, DisconnectArguments, NoArguments, RawSettings, RunInTerminalRequestArguments,
    TerminateArguments,
};
use crate::requests::{Effect, InThePast, Request, ResponseTiming};
use crate::server::TOKEN_VARIABLE;
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::core_file;
use crate::session::debuginfod::Debuginfod;
use crate::session::guests;
use crate::session::handover;
use crate::session::opening;
use crate::session::recording_file;
use crate::session::startup;
use crate::session::terminal::{Rendezvous, command_line};
use crate::session::{breakpoints, settings};
use engine::{ExitStatus, State};
use std::path::PathBuf;

/// Launches a program and holds it at its start.
pub enum Launch {}

impl Request for Launch {
    const COMMAND: &'static str = "launch";
    const WHEN: RequiredState = RequiredState::Always;
    const RESPONSE: ResponseTiming = ResponseTiming::AfterConfiguration;
    type Arguments = RawSettings;
    type Body = ();

    fn handle(session: &mut Session, settings: RawSettings) -> Result<(), RequestError> {
        check_not_started(session)?;
        StartPlan::of_launch(session, settings)?.carry_out(session)
    }
}

/// Attaches to a running process.
pub enum Attach {}

impl Request for Attach {
    const COMMAND: &'static str = "attach";
    const WHEN: RequiredState = RequiredState::Always;
    const RESPONSE: ResponseTiming = ResponseTiming::AfterConfiguration;
    type Arguments = RawSettings;
    type Body = ();

    fn handle(session: &mut Session, settings: RawSettings) -> Result<(), RequestError> {
        check_not_started(session)?;
        StartPlan::of_attach(session, settings)?.carry_out(session)
    }
}

fn check_not_started(session: &Session) -> Result<(), RequestError> {
    match session.startup.has_begun() {
        true => Err(engine::Error::AlreadyStarted.into()),
        false => Ok(()),
    }
}

/// A `launch` or an `attach` with its settings.
pub(super) struct StartPlan {
    of: StartKind,
    common: CommonPlan,
    live: ResolvedSettings,
    no_debug: bool,
    notes: Vec<String>,
}

enum StartKind {
    Program(LaunchPlan, Console),
    Process {
        target: Target,
        wait_for: bool,
    },
    /// Handed over by the parent's session, on this socket.
    Child(PathBuf),
    Core {
        plan: CorePlan,
        attached: bool,
    },
    Recording(ReplayPlan),
}

impl StartPlan {
    /// Parses the settings, and keeps them for a restart; starts nothing yet.
    pub(super) fn of_launch(session: &mut Session, raw: RawSettings) -> Result<Self, RequestError> {
        let settings = config::read::<LaunchSettings>(raw.clone()).map_err(launch_error)?;
        let Settings {
            own,
            common,
            live,
            notes,
        } = settings;
        let directory = std::env::current_dir().map_err(|error| {
            RequestError::Start(format!("cannot determine the working directory: {error}"))
        })?;
        own.check_recording(&common).map_err(launch_error)?;
        let replay = own.replay(&common, &directory).map_err(launch_error)?;
        let of = match (replay, own.core(&common, &directory)) {
            (Some(plan), _) => StartKind::Recording(plan),
            (None, Some(plan)) => StartKind::Core {
                plan,
                attached: false,
            },
            (None, None) => {
                // The token is not for the debuggee.
                let environment = std::env::vars_os().filter(|(name, _)| name != TOKEN_VARIABLE);
                let plan = own.plan(&directory, environment);
                StartKind::Program(plan.map_err(launch_error)?, own.console)
            }
        };
        let common = common.plan().map_err(launch_error)?;
        let live = live.plan().map_err(launch_error)?;
        session.settings.raw = raw;
        Ok(Self {
            of,
            common,
            live,
            no_debug: own.no_debug,
            notes,
        })
    }

    /// Like [`StartPlan::of_launch`].
    pub(super) fn of_attach(session: &mut Session, raw: RawSettings) -> Result<Self, RequestError> {
        let settings = config::read::<AttachSettings>(raw.clone()).map_err(attach_error)?;
        let Settings {
            own,
            common,
            live,
            notes,
        } = settings;
        let wait_for = own.wait_for;
        let of = match (own.target(&common).map_err(attach_error)?, own.handover) {
            (_, Some(socket)) => StartKind::Child(socket),
            (Target::Core(plan), None) => StartKind::Core {
                plan,
                attached: true,
            },
            (target, None) => StartKind::Process { target, wait_for },
        };
        let common = common.plan().map_err(attach_error)?;
        let live = live.plan().map_err(attach_error)?;
        session.settings.raw = raw;
        Ok(Self {
            of,
            common,
            live,
            no_debug: false,
            notes,
        })
    }

    /// Launches the program, attaches to the process, or starts to wait for it.
    pub(super) fn carry_out(self, session: &mut Session) -> Result<(), RequestError> {
        let Self {
            of,
            common,
            live,
            no_debug,
            notes,
        } = self;
        let settings = &mut session.settings;
        settings.first_stop = common.first_stop;
        settings.stop_at_main = matches!(&of, StartKind::Program(plan, _) if plan.stop_at_main);
        settings.no_debug = no_debug;
        settings.terminate_debuggee = common.terminate_debuggee;
        session.debuginfod = Debuginfod::new(common.debuginfod && !no_debug);
        session.children.timeout = common.following.patience;
        let debugger = &mut session.debugger;
        debugger.set_follow_fork(common.following.follow);
        debugger.set_non_stop(common.non_stop);
        let kept = common.symbol_cache.private_folder();
        let kept = kept.unwrap_or_else(|warning| {
            session.startup.note(warning);
            None
        });
        debugger.set_symbol_cache(kept);
        let source_map = settings::apply(session, live);
        if common.join
            && let Err(error) = guests::admit(session)
        {
            session.startup.note(format!("nothing can join: {error}"));
        }
        match of {
            StartKind::Program(plan, console) => launch(session, &plan, console)?,
            StartKind::Process { target, wait_for } => attach(session, target, wait_for)?,
            StartKind::Child(socket) => {
                handover::request_handover(socket, session.inbox.clone())
                    .map_err(|error| attach_error(error.to_string()))?;
                session.startup.awaiting();
            }
            StartKind::Core { plan, attached } => core_file::open(session, plan, attached)?,
            StartKind::Recording(plan) => {
                let program = plan.program.as_deref();
                session.debugger.open_recording(&plan.recording, program)?;
                session.startup.held(false);
            }
        }
        for note in notes {
            session.startup.note(note);
        }
        session.sources.set_map(source_map);
        breakpoints::restore(session);
        Ok(())
    }
}

fn launch_error(mistake: String) -> RequestError {
    RequestError::Start(format!("launch: {mistake}"))
}

fn attach_error(mistake: String) -> RequestError {
    RequestError::Start(format!("attach: {mistake}"))
}

fn launch(session: &mut Session, plan: &LaunchPlan, console: Console) -> Result<(), RequestError> {
    if let Some(seed) = plan.launch.chaos {
        let note = format!("Chaos with seed {seed}: threads run for short random slices.\n");
        session.startup.note(note);
    }
    session.recording_file = None;
    session.sources.add_root(&plan.launch.cwd);
    match terminal_kind(session, console) {
        Some(kind) => launch_in_terminal(session, plan, kind)?,
        None => opening::launch(session, &plan.launch)?,
    }
    recording_file::set(session, plan.recording.clone());
    Ok(())
}

/// Returns the kind of terminal to request from the client; `None`: no terminal.
fn terminal_kind(session: &mut Session, console: Console) -> Option<&'static str> {
    let kind = match console {
        Console::Internal => return None,
        Console::Integrated => "integrated",
        Console::External => "external",
    };
    if !session.client.run_in_terminal {
        let note = "No terminal support in this editor (`runInTerminal`): output is shown here.\n";
        session.startup.note(note.to_owned());
        return None;
    }
    Some(kind)
}

fn launch_in_terminal(
    session: &mut Session,
    plan: &LaunchPlan,
    kind: &'static str,
) -> Result<(), RequestError> {
    let failed = |error| RequestError::Start(format!("cannot prepare the terminal: {error}"));
    let launch = &plan.launch;
    // In a terminal, only the user of the terminal would see this error.
    launch.check_program()?;
    let rendezvous = Rendezvous::open(session.inbox.clone()).map_err(failed)?;
    let program = launch.program.file_name().unwrap_or_default();
    let arguments = RunInTerminalRequestArguments {
        kind,
        title: program.to_string_lossy().into_owned(),
        cwd: launch.cwd.to_string_lossy().into_owned(),
        args: command_line(&rendezvous.path(), launch).map_err(failed)?,
        env: plan.env_changes.clone(),
    };
    session.send_reverse_request("runInTerminal", &arguments);
    session.startup.in_terminal(rendezvous);
    Ok(())
}

fn attach(session: &mut Session, target: Target, wait_for: bool) -> Result<(), RequestError> {
    let pid = match target {
        Target::Core(core) => return core_file::open(session, core, true),
        Target::Pid(pid) => pid,
        Target::Program(program) if wait_for => {
            session.debugger.attach_when_started(&program)?;
            session.startup.awaiting();
            session.console(&format!("Waiting for `{program}` to start\n"));
            return Ok(());
        }
        Target::Program(program) => find_single_process(session, &program)?,
    };
    session.debugger.attach(pid)?;
    session.startup.held(true);
    Ok(())
}

/// Returns the only process that runs a program.
fn find_single_process(session: &Session, program: &str) -> Result<i32, RequestError> {
    const MAX_LISTED_PROCESSES: usize = 10;
    let found = session.debugger.processes_named(program);
    let failed = |message: String| Err(attach_error(message));
    match found.as_slice() {
        [(pid, _)] => Ok(*pid),
        [] => failed(format!(
            "no process matches `{program}`; start it, or set `waitFor`"
        )),
        several => {
            let listed = several.iter().take(MAX_LISTED_PROCESSES);
            let mut listed: Vec<String> = listed
                .map(|(pid, path)| format!("{pid} ({})", path.display()))
                .collect();
            if several.len() > MAX_LISTED_PROCESSES {
                listed.push("…".to_owned());
            }
            failed(format!(
                "`{program}` matches {} processes; set `pid` to one of: {}",
                several.len(),
                listed.join(", ")
            ))
        }
    }
}

/// Marks the client's configuration as complete; the program may run.
pub enum ConfigurationDone {}

impl Request for ConfigurationDone {
    const COMMAND: &'static str = "configurationDone";
    const EFFECT: Effect = Effect::Runs;
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = NoArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_configuration_done_request = true;
    }

    fn handle(session: &mut Session, _: NoArguments) -> Result<(), RequestError> {
        // `startup::advance` does the rest, after the response.
        session.startup.configured();
        Ok(())
    }
}

/// Ends the session. The debuggee is terminated or detached before the response.
pub enum Disconnect {}

impl Request for Disconnect {
    const COMMAND: &'static str = "disconnect";
    const IN_THE_PAST: InThePast = InThePast::Leaves;
    const BEFORE_INITIALIZE: bool = true;
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = DisconnectArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.support_terminate_debuggee = true;
    }

    fn handle(session: &mut Session, arguments: DisconnectArguments) -> Result<(), RequestError> {
        session.end_or_detach(arguments.terminate_debuggee);
        session.end();
        Ok(())
    }
}

/// Sends SIGTERM to the debuggee; a second request, or the timeout, kills it.
pub enum Terminate {}

impl Request for Terminate {
    const COMMAND: &'static str = "terminate";
    const IN_THE_PAST: InThePast = InThePast::Leaves;
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = TerminateArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_terminate_request = true;
    }

    fn handle(session: &mut Session, _: TerminateArguments) -> Result<(), RequestError> {
        let asked_before = session.startup.request_termination();
        match session.state() {
            State::NoProcess | State::Ended => return Ok(()),
            // A core file has no process to end.
            _ if session.debugger.is_post_mortem() => {
                session.end_or_detach(None);
                startup::exited(session, ExitStatus::Detached);
            }
            // That of a recording never runs.
            _ if session.debugger.is_recording_stored() => {
                session.end_or_detach(Some(true));
                startup::exited(session, ExitStatus::Detached);
            }
            State::Running | State::Stopped if !asked_before => {
                session.debugger.terminate()?;
                session.handles.clear();
            }
            State::Held | State::Running | State::Stopped => startup::kill(session),
        }
        Ok(())
    }
}
