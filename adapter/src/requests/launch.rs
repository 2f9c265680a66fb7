//! The beginning and the end of the debuggee.

use crate::children::Following;
use crate::config::{self, AttachSettings, Console, LaunchPlan, LaunchSettings, Target};
use crate::core_file::{self, CorePlan};
use crate::debuginfod::Debuginfod;
use crate::error::RequestError;
use crate::events;
use crate::handover;
use crate::protocol::{
    Capabilities, DisconnectArguments, NoArguments, RawSettings, RunInTerminalRequestArguments,
    TerminateArguments,
};
use crate::requests::breakpoints;
use crate::routes::{Answer, Request, When};
use crate::session::Session;
use crate::source_map::SourceMap;
use crate::startup;
use crate::terminal::{Rendezvous, command_line};
use engine::{ExitStatus, Signal, SignalRule, State, StepFilters};

/// Starts a program and holds it.
pub enum Launch {}

impl Request for Launch {
    const COMMAND: &'static str = "launch";
    const WHEN: When = When::Always;
    const ANSWER: Answer = Answer::AfterConfiguration;
    type Arguments = RawSettings;
    type Body = ();

    fn handle(session: &mut Session, settings: RawSettings) -> Result<(), RequestError> {
        only_once(session)?;
        let plan = LaunchRequest::read(session, settings)?;
        plan.carry_out(session)
    }
}

/// What a `launch` comes to.
pub(super) struct LaunchRequest {
    settings: LaunchSettings,
    plan: Plan,
    following: Following,
    signals: Vec<(Signal, SignalRule)>,
    filters: StepFilters,
    notes: Vec<String>,
}

enum Plan {
    Program(LaunchPlan),
    Core(CorePlan),
}

impl LaunchRequest {
    /// Reads the settings, and keeps them for a restart; nothing has happened yet.
    pub(super) fn read(session: &mut Session, raw: RawSettings) -> Result<Self, RequestError> {
        let (settings, notes) =
            config::read::<LaunchSettings>(raw.clone(), LaunchSettings::KEYS).map_err(in_launch)?;
        let directory = std::env::current_dir()
            .map_err(|error| RequestError::Start(format!("no working directory: {error}")))?;
        let plan = match settings.core(&directory) {
            Some(core) => Plan::Core(core),
            None => Plan::Program(
                settings
                    .plan(&directory, std::env::vars_os())
                    .map_err(in_launch)?,
            ),
        };
        let following = settings.following().map_err(in_launch)?;
        let signals = settings.signals.rules().map_err(in_launch)?;
        let filters = settings.step_filters().map_err(in_launch)?;
        session.startup.settings = raw;
        Ok(Self {
            settings,
            plan,
            following,
            signals,
            filters,
            notes,
        })
    }

    /// Starts the program.
    pub(super) fn carry_out(self, session: &mut Session) -> Result<(), RequestError> {
        let Self {
            settings,
            plan,
            following,
            signals,
            filters,
            notes,
        } = self;
        follow(session, following);
        session.startup.stop_on_entry = settings.stop_on_entry;
        session.startup.no_debug = settings.no_debug;
        session.debuginfod = Debuginfod::new(settings.debuginfod && !settings.no_debug);
        session.startup.terminate_debuggee = settings.terminate_debuggee;
        session.startup.terminate_limit = settings.terminate_limit();
        session.debugger.set_non_stop(settings.non_stop);
        if let Some(limit) = settings.call_limit() {
            session.debugger.set_call_limit(limit);
        }
        session.debugger.set_step_filters(filters);
        session
            .debugger
            .set_symbol_cache(settings.symbol_cache.clone().folder());
        session.debugger.set_signal_rules(&signals);
        let source_map = match plan {
            Plan::Core(core) => {
                core_file::open(session, core, false)?;
                settings.source_map()
            }
            Plan::Program(plan) => {
                match terminal_kind(session, settings.console) {
                    Some(kind) => launch_in_terminal(session, &plan, kind)?,
                    None => {
                        session.debugger.launch(&plan.launch)?;
                        session.startup.held(false);
                    }
                }
                plan.source_map
            }
        };
        use_settings(session, source_map, notes);
        Ok(())
    }
}

fn in_launch(mistake: String) -> RequestError {
    RequestError::Start(format!("launch: {mistake}"))
}

fn only_once(session: &Session) -> Result<(), RequestError> {
    match session.startup.has_begun() {
        true => Err(engine::Error::AlreadyStarted.into()),
        false => Ok(()),
    }
}

fn use_settings(session: &mut Session, map: SourceMap, notes: Vec<String>) {
    for note in notes {
        session.startup.note(note);
    }
    session.sources.set_map(map);
    breakpoints::set_again(session);
}

/// The kind of terminal to ask the client for.
fn terminal_kind(session: &mut Session, console: Console) -> Option<&'static str> {
    let kind = match console {
        Console::Internal => return None,
        Console::Integrated => "integrated",
        Console::External => "external",
    };
    if !session.client.run_in_terminal {
        let note = "This editor offers no terminal; the program's output comes here.\n";
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
    let failed = |error| RequestError::Start(format!("no way into a terminal: {error}"));
    let launch = &plan.launch;
    // The terminal could only say so to itself.
    if !launch.program.exists() {
        let program = launch.program.clone();
        let message = "there is no such file".to_owned();
        return Err(engine::Error::Launch { program, message }.into());
    }
    let rendezvous = Rendezvous::open(session.inbox.clone()).map_err(failed)?;
    let program = launch.program.file_name().unwrap_or_default();
    let arguments = RunInTerminalRequestArguments {
        kind,
        title: program.to_string_lossy().into_owned(),
        cwd: launch.cwd.to_string_lossy().into_owned(),
        args: command_line(&rendezvous.path(), launch).map_err(failed)?,
        env: plan.env_changes.clone(),
    };
    session.ask("runInTerminal", &arguments);
    session.startup.in_terminal(rendezvous);
    Ok(())
}

/// Takes hold of a running process.
pub enum Attach {}

impl Request for Attach {
    const COMMAND: &'static str = "attach";
    const WHEN: When = When::Always;
    const ANSWER: Answer = Answer::AfterConfiguration;
    type Arguments = RawSettings;
    type Body = ();

    fn handle(session: &mut Session, settings: RawSettings) -> Result<(), RequestError> {
        only_once(session)?;
        AttachRequest::read(session, settings)?.carry_out(session)
    }
}

/// What an `attach` comes to.
pub(super) struct AttachRequest {
    settings: AttachSettings,
    target: Target,
    following: Following,
    signals: Vec<(Signal, SignalRule)>,
    filters: StepFilters,
    notes: Vec<String>,
}

impl AttachRequest {
    /// Reads the settings, and keeps them for a restart; nothing has happened yet.
    pub(super) fn read(session: &mut Session, raw: RawSettings) -> Result<Self, RequestError> {
        let in_attach = |mistake| RequestError::Start(format!("attach: {mistake}"));
        let (settings, notes) =
            config::read::<AttachSettings>(raw.clone(), AttachSettings::KEYS).map_err(in_attach)?;
        let target = settings.target().map_err(in_attach)?;
        let following = settings.following().map_err(in_attach)?;
        let signals = settings.signals.rules().map_err(in_attach)?;
        let filters = settings.step_filters().map_err(in_attach)?;
        session.startup.settings = raw;
        Ok(Self {
            settings,
            target,
            following,
            signals,
            filters,
            notes,
        })
    }

    /// Takes hold of the process, or begins to wait for it.
    pub(super) fn carry_out(self, session: &mut Session) -> Result<(), RequestError> {
        let settings = self.settings;
        session.debugger.set_non_stop(settings.non_stop);
        follow(session, self.following);
        if let Some(limit) = settings.call_limit() {
            session.debugger.set_call_limit(limit);
        }
        session.debugger.set_step_filters(self.filters);
        session
            .debugger
            .set_symbol_cache(settings.symbol_cache.clone().folder());
        session.debugger.set_signal_rules(&self.signals);
        match &settings.handover {
            Some(socket) => {
                handover::ask(socket.clone(), session.inbox.clone())
                    .map_err(|error| RequestError::Start(format!("attach: {error}")))?;
                session.startup.awaiting();
            }
            None => begin_attach(session, self.target, settings.wait_for)?,
        }
        session.debuginfod = Debuginfod::new(settings.debuginfod);
        session.startup.stop_on_entry = settings.stop_on_entry;
        session.startup.terminate_debuggee = settings.terminate_debuggee;
        session.startup.terminate_limit = settings.terminate_limit();
        use_settings(session, settings.source_map(), self.notes);
        Ok(())
    }
}

fn follow(session: &mut Session, following: Following) {
    session.debugger.set_follow_fork(following.follow);
    session.children.patience = following.patience;
}

fn begin_attach(session: &mut Session, target: Target, wait_for: bool) -> Result<(), RequestError> {
    let pid = match target {
        Target::Core(core) => return core_file::open(session, core, true),
        Target::Pid(pid) => pid,
        Target::Program(program) if wait_for => {
            session.debugger.attach_when_started(&program)?;
            session.startup.awaiting();
            session.console(&format!("Waiting for `{program}` to be started\n"));
            return Ok(());
        }
        Target::Program(program) => the_only_one(session, &program)?,
    };
    session.debugger.attach(pid)?;
    session.startup.held(true);
    Ok(())
}

/// The one process that runs a program.
fn the_only_one(session: &Session, program: &str) -> Result<i32, RequestError> {
    const MOST: usize = 10;
    let found = session.debugger.processes_named(program);
    let failed = |message: String| Err(RequestError::Start(format!("attach: {message}")));
    match found.as_slice() {
        [(pid, _)] => Ok(*pid),
        [] => failed(format!(
            "no process runs `{program}`; start it, or set `waitFor` to attach when it is started"
        )),
        several => {
            let listed = several.iter().take(MOST);
            let mut listed: Vec<String> = listed
                .map(|(pid, path)| format!("{pid} ({})", path.display()))
                .collect();
            if several.len() > MOST {
                listed.push("…".to_owned());
            }
            failed(format!(
                "{} processes run `{program}`; say by `pid` which: {}",
                several.len(),
                listed.join(", ")
            ))
        }
    }
}

/// The client has set its breakpoints: the program may go.
pub enum ConfigurationDone {}

impl Request for ConfigurationDone {
    const COMMAND: &'static str = "configurationDone";
    const WHEN: When = When::Always;
    type Arguments = NoArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_configuration_done_request = true;
    }

    fn handle(session: &mut Session, _: NoArguments) -> Result<(), RequestError> {
        // `startup::advance` does the rest, after the answer.
        session.startup.configured = true;
        Ok(())
    }
}

/// The session's end. The debuggee's fate is settled before the answer.
pub enum Disconnect {}

impl Request for Disconnect {
    const COMMAND: &'static str = "disconnect";
    const WHEN: When = When::Always;
    type Arguments = DisconnectArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.support_terminate_debuggee = true;
    }

    fn handle(session: &mut Session, arguments: DisconnectArguments) -> Result<(), RequestError> {
        session.let_go(arguments.terminate_debuggee);
        session.end();
        Ok(())
    }
}

/// Asks the program to end; asked again, or if it takes too long, ends it.
pub enum Terminate {}

impl Request for Terminate {
    const COMMAND: &'static str = "terminate";
    const WHEN: When = When::Always;
    type Arguments = TerminateArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_terminate_request = true;
    }

    fn handle(session: &mut Session, _: TerminateArguments) -> Result<(), RequestError> {
        let asked_before = std::mem::replace(&mut session.startup.terminate_sent, true);
        match session.state() {
            State::NoProcess | State::Ended => return Ok(()),
            // Nothing of it is there to be ended.
            _ if session.debugger.is_post_mortem() => {
                session.let_go(None);
                events::exited(session, ExitStatus::Detached);
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
