//! The requests that resume, step and pause.

use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, ContinueResponse, StepArguments, StepInArguments, SteppingGranularity,
    ThreadArguments,
};
use crate::requests::stepping::step_into_target;
use crate::requests::{Effect, InThePast, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::call_trace;
use crate::session::debuginfod;
use crate::session::handles::thread_id;
use crate::session::past;
use engine::{FirstStop, Granularity, ResumeScope, State, StepKind, Way};

/// Resumes all threads; in non-stop mode, the thread in the arguments.
pub enum Continue {}

impl Request for Continue {
    const COMMAND: &'static str = "continue";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = ThreadArguments;
    type Body = ContinueResponse;

    fn handle(
        session: &mut Session,
        arguments: ThreadArguments,
    ) -> Result<ContinueResponse, RequestError> {
        if session.debugger.is_in_past() {
            past::go(session, Way::Forward)?;
            return Ok(ContinueResponse {
                all_threads_continued: true,
            });
        }
        session.debugger.can_run()?;
        debuginfod::before_resume(session);
        past::leave(session);
        let thread = thread_id(arguments.thread_id)?;
        let scope = resume_scope(arguments.single_thread);
        let all_threads_continued = session.debugger.resume(thread, scope)?;
        match all_threads_continued {
            true => session.handles.clear(),
            false => session.forget_thread_stop(thread),
        }
        Ok(ContinueResponse {
            all_threads_continued,
        })
    }
}

/// Pauses all threads; in non-stop mode, the thread in the arguments.
pub enum Pause {}

impl Request for Pause {
    const COMMAND: &'static str = "pause";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    const WHEN: RequiredState = RequiredState::Process;
    type Arguments = ThreadArguments;
    type Body = ();

    fn handle(session: &mut Session, arguments: ThreadArguments) -> Result<(), RequestError> {
        match session.state() {
            State::Held => session.settings.first_stop = FirstStop::AtOnce,
            _ => {
                let thread = thread_id(arguments.thread_id)?;
                call_trace::end_soon(session, "paused");
                session.debugger.interrupt(thread)?;
            }
        }
        Ok(())
    }
}

/// Returns the threads to resume for a request's `singleThread`.
pub fn resume_scope(single_thread: Option<bool>) -> ResumeScope {
    match single_thread {
        Some(true) => ResumeScope::One,
        Some(false) | None => ResumeScope::All,
    }
}

fn step(
    session: &mut Session,
    kind: StepKind,
    arguments: StepArguments,
) -> Result<(), RequestError> {
    let granularity = granularity(session, arguments.granularity);
    let thread = thread_id(arguments.thread_id)?;
    if session.debugger.is_in_past() {
        return past::go(session, Way::StepForward(thread));
    }
    session.debugger.can_run()?;
    debuginfod::before_resume(session);
    past::leave(session);
    let scope = resume_scope(arguments.single_thread);
    let folders = session.sources.mapped();
    session.debugger.set_mapped_sources(folders);
    session.debugger.step(thread, kind, granularity, scope)?;
    session.forget_thread_stop(thread);
    Ok(())
}

/// Returns the granularity of a step.
pub fn granularity(session: &Session, wanted: Option<SteppingGranularity>) -> Granularity {
    match wanted {
        Some(SteppingGranularity::Instruction) => Granularity::Instruction,
        // Clients send `statement` where they mean a line.
        Some(SteppingGranularity::Statement) if session.settings.statement_steps => {
            Granularity::Statement
        }
        Some(SteppingGranularity::Line | SteppingGranularity::Statement) | None => {
            Granularity::Line
        }
    }
}

/// Steps over calls.
pub enum Next {}

impl Request for Next {
    const COMMAND: &'static str = "next";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = StepArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_stepping_granularity = true;
        capabilities.supports_single_thread_execution_requests = true;
    }

    fn handle(session: &mut Session, arguments: StepArguments) -> Result<(), RequestError> {
        step(session, StepKind::Over, arguments)
    }
}

/// Steps into calls.
pub enum StepIn {}

impl Request for StepIn {
    const COMMAND: &'static str = "stepIn";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = StepInArguments;
    type Body = ();

    fn handle(session: &mut Session, arguments: StepInArguments) -> Result<(), RequestError> {
        let StepInArguments {
            thread_id,
            granularity,
            target_id,
            single_thread,
        } = arguments;
        match target_id {
            Some(target) => step_into_target(session, target, resume_scope(single_thread)),
            None => {
                let arguments = StepArguments {
                    thread_id,
                    granularity,
                    single_thread,
                };
                step(session, StepKind::Into, arguments)
            }
        }
    }
}

/// Steps out to the caller.
pub enum StepOut {}

impl Request for StepOut {
    const COMMAND: &'static str = "stepOut";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = StepArguments;
    type Body = ();

    fn handle(session: &mut Session, arguments: StepArguments) -> Result<(), RequestError> {
        step(session, StepKind::Out, arguments)
    }
}
