//! The trace of one call, a request that is not in the specification.

use crate::call_trace::Wanted;
use crate::protocol;
use crate::protocol::RequestError;
use crate::requests::{InThePast, Request};
use crate::session::{RequiredState, Session, call_trace};

/// Runs to a call and through it, and returns its lines, changes and result.
pub enum TraceCall {}

impl Request for TraceCall {
    const COMMAND: &'static str = "stillpoint/traceCall";
    // A trace begins where the program is shown, also in a recording.
    const IN_THE_PAST: InThePast = InThePast::Shown;
    // The text is returned also if the process has ended.
    const WHEN: RequiredState = RequiredState::Always;
    const DEFERRED_DURING_CALL: bool = true;
    const RETRY_AFTER_CALL: bool = true;
    type Arguments = protocol::TraceCallArguments;
    type Body = protocol::TracedCall;

    fn handle(
        session: &mut Session,
        arguments: protocol::TraceCallArguments,
    ) -> Result<protocol::TracedCall, RequestError> {
        let wanted = Wanted::new(
            &arguments.function,
            arguments.hit,
            arguments.condition.as_deref(),
        );
        let wanted = wanted
            .map_err(|mistake| RequestError::Arguments(format!("{}: {mistake}", Self::COMMAND)))?
            .with_bounds(arguments.depth, arguments.limit, arguments.seconds);
        let text = call_trace::run(session, wanted)?;
        Ok(protocol::TracedCall { text })
    }
}
