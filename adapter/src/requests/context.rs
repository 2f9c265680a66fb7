//! The summary of a stop, and the stacks of all threads: requests that are not in the
//! specification.

use crate::context;
use crate::protocol;
use crate::protocol::RequestError;
use crate::requests::{InThePast, Request};
use crate::session::Session;

/// Returns why, where and with which variables the program has stopped.
pub enum Context {}

impl Request for Context {
    const COMMAND: &'static str = "stillpoint/context";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = protocol::ContextArguments;
    type Body = protocol::Context;

    fn handle(
        session: &mut Session,
        arguments: protocol::ContextArguments,
    ) -> Result<protocol::Context, RequestError> {
        context::gather(session, &arguments)
    }
}

/// Returns the stacks of one thread or of all.
pub enum Stacks {}

impl Request for Stacks {
    const COMMAND: &'static str = "stillpoint/stacks";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = protocol::StacksArguments;
    type Body = protocol::Stacks;

    fn handle(
        session: &mut Session,
        arguments: protocol::StacksArguments,
    ) -> Result<protocol::Stacks, RequestError> {
        context::gather_stacks(session, &arguments)
    }
}
