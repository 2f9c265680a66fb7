//! The `restart` request; breakpoints stay set.

use crate::protocol::RequestError;
use crate::protocol::{Capabilities, RestartArguments};
use crate::requests::launch::StartPlan;
use crate::requests::{InThePast, Request, ResponseTiming};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::events;
use crate::session::startup;

/// Ends the debuggee and launches it again, or detaches and attaches again. The settings are the
/// client's newest, or those of the start.
pub enum Restart {}

impl Request for Restart {
    const COMMAND: &'static str = "restart";
    const IN_THE_PAST: InThePast = InThePast::Leaves;
    const WHEN: RequiredState = RequiredState::Always;
    const RESPONSE: ResponseTiming = ResponseTiming::AfterConfiguration;
    type Arguments = RestartArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_restart_request = true;
    }

    fn handle(session: &mut Session, arguments: RestartArguments) -> Result<(), RequestError> {
        if !session.startup.has_begun() {
            return Err(RequestError::NoProcess);
        }
        let settings = match arguments.arguments {
            Some(settings) => settings,
            None => session.settings.raw.clone(),
        };
        // Invalid settings are found before the former process ends.
        let attached = session.startup.was_attached();
        let beginning = match attached {
            true => StartPlan::of_attach(session, settings)?,
            false => StartPlan::of_launch(session, settings)?,
        };
        end_previous(session, !attached);
        started(beginning.carry_out(session), session)
    }
}

/// Ends the former process, or its session; resets the session to the state before it.
fn end_previous(session: &mut Session, kill: bool) {
    // The client may still wait for the response to the launch or attach.
    startup::answer(session);
    if session.debugger.has_visible_stop() {
        // Without the event, VS Code shows the former stop's reason for the new process.
        session.report_continued();
    }
    session.end_or_detach(Some(kill));
    events::forget_process(session);
    session.startup.prepare_restart();
}

/// Ends the session if the restart failed: there is no debuggee.
fn started(result: Result<(), RequestError>, session: &mut Session) -> Result<(), RequestError> {
    if result.is_err() {
        session.event("terminated", &());
    }
    result
}
