//! All there is to say of a stop, in one answer: ours, not the specification's.

use crate::context;
use crate::error::RequestError;
use crate::protocol;
use crate::routes::Request;
use crate::session::Session;

/// Tells why, where and with which variables the program is stopped.
pub enum Context {}

impl Request for Context {
    const COMMAND: &'static str = "stillpoint/context";
    type Arguments = protocol::ContextArguments;
    type Body = protocol::Context;

    fn handle(
        session: &mut Session,
        arguments: protocol::ContextArguments,
    ) -> Result<protocol::Context, RequestError> {
        context::gather(session, &arguments)
    }
}
