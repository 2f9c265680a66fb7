//! The origin of a value in a recording: requests that are not in the specification.

use super::past::{NoArguments, index};
use crate::protocol::{self, DataBreakpointInfoArguments, RequestError};
use crate::requests::data_breakpoints;
use crate::requests::{Effect, Request};
use crate::session::describe::origin;
use crate::session::{Session, past};

/// Goes to the origin of the value of a variable or another expression.
pub enum Origin {}

impl Request for Origin {
    const COMMAND: &'static str = "stillpoint/origin";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = DataBreakpointInfoArguments;
    type Body = ();

    fn handle(
        session: &mut Session,
        arguments: DataBreakpointInfoArguments,
    ) -> Result<(), RequestError> {
        let data = data_breakpoints::find(session, &arguments)?;
        let frame = arguments.frame_id.filter(|id| *id != 0);
        let thread = match frame {
            Some(id) => Some(session.handles.frame(id)?.thread),
            None => session.debugger.current_thread(),
        };
        past::go_to_origin(session, thread.ok_or(engine::Error::NotStopped)?, &data)?;
        // For clients this request is no resume.
        session.report_continued();
        Ok(())
    }
}

/// Returns the places on the way to the origin that was found last.
pub enum OriginHops {}

impl Request for OriginHops {
    const COMMAND: &'static str = "stillpoint/originHops";
    const EFFECT: Effect = Effect::Reads;
    type Arguments = NoArguments;
    type Body = protocol::OriginHops;

    fn handle(session: &mut Session, _: NoArguments) -> Result<protocol::OriginHops, RequestError> {
        origin(session)
    }
}

/// Goes to one of them.
pub enum VisitHop {}

impl Request for VisitHop {
    const COMMAND: &'static str = "stillpoint/visitHop";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = protocol::VisitHopArguments;
    type Body = ();

    fn handle(
        session: &mut Session,
        arguments: protocol::VisitHopArguments,
    ) -> Result<(), RequestError> {
        let thread = session.debugger.current_thread();
        let thread = thread.ok_or(engine::Error::NotStopped)?;
        past::go_to_hop(session, thread, index(arguments.number)?)?;
        // For clients this request is no resume.
        session.report_continued();
        Ok(())
    }
}
