//! The debuggee once more, breakpoints as they are.

use crate::protocol::RequestError;
use crate::protocol::{Capabilities, RestartArguments};
use crate::requests::launch::Beginning;
use crate::requests::{Request, ResponseTiming};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::events;
use crate::session::startup;

/// Ends the program and starts it again, or lets go of it and attaches again; the settings are
/// the client's newest, or those it began with.
pub enum Restart {}

impl Request for Restart {
    const COMMAND: &'static str = "restart";
    const WHEN: RequiredState = RequiredState::Always;
    const RESPONSE: ResponseTiming = ResponseTiming::AfterConfiguration;
    type Arguments = RestartArguments;
    type Body = ();

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_restart_request = true;
    }

    fn handle(session: &mut Session, arguments: RestartArguments) -> Result<(), RequestError> {
        if !session.startup.has_begun() {
            return Err(RequestError::NoProcess(
                "there is no program yet; send launch or attach first",
            ));
        }
        let settings = match arguments.arguments {
            Some(settings) => settings,
            None => session.settings.raw.clone(),
        };
        // Mistakes in the settings cost nothing.
        let attached = session.startup.was_attached();
        let beginning = match attached {
            true => Beginning::of_attach(session, settings)?,
            false => Beginning::of_launch(session, settings)?,
        };
        end_former(session, !attached);
        started(beginning.carry_out(session), session)
    }
}

/// The process before is no more, or none of ours; the session is as before it.
fn end_former(session: &mut Session, kill: bool) {
    // Whoever still waits for the start has it.
    startup::answer(session);
    if session.debugger.has_visible_stop() {
        // Else VS Code keeps its reason as that of the next process.
        events::continued(session);
    }
    session.end_or_detach(Some(kill));
    events::forget_process(session);
    session.startup.begin_again();
}

/// Without a program there is nothing more to come.
fn started(result: Result<(), RequestError>, session: &mut Session) -> Result<(), RequestError> {
    if result.is_err() {
        session.event("terminated", &());
    }
    result
}
