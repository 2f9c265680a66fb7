//! The requests for step-in targets, `goto` and `restartFrame`.

use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, GotoArguments, GotoTarget, GotoTargetsArguments, GotoTargetsResponse,
    RestartFrameArguments, StepInTarget, StepInTargetsArguments, StepInTargetsResponse,
};
use crate::requests::breakpoints::key_of;
use crate::requests::{InThePast, Request};
use crate::session::Session;
use crate::session::breakpoints::debug_info_path;
use crate::session::debuginfod;
use crate::session::handles::thread_id;
use engine::ResumeScope;
use std::path::PathBuf;

/// Returns the calls in a frame's line.
pub enum StepInTargets {}

impl Request for StepInTargets {
    const COMMAND: &'static str = "stepInTargets";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = StepInTargetsArguments;
    type Body = StepInTargetsResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_step_in_targets_request = true;
    }

    fn handle(
        session: &mut Session,
        arguments: StepInTargetsArguments,
    ) -> Result<StepInTargetsResponse, RequestError> {
        let frame = session.handles.frame(arguments.frame_id)?;
        let found = session.debugger.step_targets(frame)?;
        let targets = found.into_iter().map(|target| {
            let place = target.location.clone();
            let column = |place| session.sources.known_column_out(place, &session.client);
            StepInTarget {
                label: target.name.clone(),
                column: place.as_ref().and_then(column),
                line: place.map(|place| session.client.line_out(place.line)),
                id: session.handles.step_target_id(target),
            }
        });
        Ok(StepInTargetsResponse {
            targets: targets.collect(),
        })
    }
}

/// Steps into a target of `stepInTargets`.
///
/// # Errors
/// The id is from an earlier stop, or the thread is not stopped.
pub fn step_into_target(
    session: &mut Session,
    id: i64,
    scope: ResumeScope,
) -> Result<(), RequestError> {
    let target = session.handles.step_target(id)?;
    debuginfod::before_resume(session);
    session
        .debugger
        .set_mapped_sources(session.sources.mapped());
    session.debugger.step_into(&target, scope)?;
    session.forget_thread_stop(target.thread);
    Ok(())
}

/// Returns the addresses of a line in the functions on the threads' stacks.
pub enum GotoTargets {}

impl Request for GotoTargets {
    const COMMAND: &'static str = "gotoTargets";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = GotoTargetsArguments;
    type Body = GotoTargetsResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_goto_targets_request = true;
    }

    fn handle(
        session: &mut Session,
        arguments: GotoTargetsArguments,
    ) -> Result<GotoTargetsResponse, RequestError> {
        let line = session.client.line_in(arguments.line);
        let (path, found) = match session.codes.code_of_source(&arguments.source) {
            Some(code) => {
                let found = session.debugger.goto_targets_in_code(&code, line)?;
                (PathBuf::new(), found)
            }
            None => {
                let key = key_of(arguments.source, Self::COMMAND)?;
                let path = debug_info_path(session, &key);
                let found = session.debugger.goto_targets(&path, line)?;
                (path, found)
            }
        };
        let targets = found.into_iter().map(|target| GotoTarget {
            label: format!("{}: line {}", target.function, target.line),
            line: session.client.line_out(target.line),
            column: (target.column > 0).then(|| {
                let Session {
                    sources, client, ..
                } = session;
                sources.column_out(&path, target.line, target.column, client)
            }),
            instruction_pointer_reference: target.addr.to_string(),
            id: session.handles.goto_target_id(target),
        });
        Ok(GotoTargetsResponse {
            targets: targets.collect(),
        })
    }
}

/// Moves a thread's pc without running the code between.
pub enum Goto {}

impl Request for Goto {
    const COMMAND: &'static str = "goto";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = GotoArguments;
    type Body = ();

    fn handle(session: &mut Session, arguments: GotoArguments) -> Result<(), RequestError> {
        let target = session.handles.goto_target(arguments.target_id)?;
        let thread = thread_id(arguments.thread_id)?;
        session.debugger.goto(thread, &target)?;
        session.forget_thread_stop(thread);
        Ok(())
    }
}

/// Moves a thread to the start of a frame's function.
pub enum RestartFrame {}

impl Request for RestartFrame {
    const COMMAND: &'static str = "restartFrame";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = RestartFrameArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_restart_frame = true;
    }

    fn handle(session: &mut Session, arguments: RestartFrameArguments) -> Result<(), RequestError> {
        let frame = session.handles.frame(arguments.frame_id)?;
        session.debugger.restart_frame(frame)?;
        session.forget_thread_stop(frame.thread);
        Ok(())
    }
}
