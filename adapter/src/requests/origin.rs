//! The origin of a value in a recording: requests that are not in the specification.

use super::past::{NoArguments, go, index};
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
        go(session, arguments.frame_id, |session, thread| {
            past::go_to_origin(session, thread, &data)
        })
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
        let number = index(arguments.number)?;
        go(session, None, |session, thread| {
            past::go_to_hop(session, thread, number)
        })
    }
}
