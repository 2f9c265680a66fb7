//! All there is to say of a stop, in one answer, and the stacks of all threads in another: ours,
//! not the specification's.

use crate::context;
use crate::protocol;
use crate::protocol::RequestError;
use crate::requests::Request;
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

/// Tells the stacks of one thread or of all.
pub enum Stacks {}

impl Request for Stacks {
    const COMMAND: &'static str = "stillpoint/stacks";
    type Arguments = protocol::StacksArguments;
    type Body = protocol::Stacks;

    fn handle(
        session: &mut Session,
        arguments: protocol::StacksArguments,
    ) -> Result<protocol::Stacks, RequestError> {
        context::gather_stacks(session, &arguments)
    }
}
