//! Why the program is stopped or hangs, and where a value is: requests that are not in the
//! specification.

use crate::context;
use crate::protocol;
use crate::protocol::RequestError;
use crate::requests::{InThePast, Request};
use crate::session::Session;

/// Explains the stop, and what the threads wait for.
pub enum Explain {}

impl Request for Explain {
    const COMMAND: &'static str = "stillpoint/explain";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = protocol::ExplainArguments;
    type Body = protocol::Explanation;

    fn handle(
        session: &mut Session,
        arguments: protocol::ExplainArguments,
    ) -> Result<protocol::Explanation, RequestError> {
        context::explain::explain(session, &arguments)
    }
}

/// Searches the values in reach of a frame.
pub enum Search {}

impl Request for Search {
    const COMMAND: &'static str = "stillpoint/search";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = protocol::SearchArguments;
    type Body = protocol::SearchResult;

    fn handle(
        session: &mut Session,
        arguments: protocol::SearchArguments,
    ) -> Result<protocol::SearchResult, RequestError> {
        context::search::search(session, &arguments)
    }
}
