//! Tracepoints: requests that are not in the specification.

use crate::protocol::{
    AddTraceArguments, CheckTraceArguments, CheckedTrace, FunctionSource, FunctionSourceArguments,
    RemoveTraceArguments, RequestError, Trace, Traces, TracesArguments,
};
use crate::requests::{Effect, Request};
use crate::session::{RequiredState, Session, traces};

/// Sets a tracepoint that is in no set of breakpoints.
pub enum AddTrace {}

impl Request for AddTrace {
    const COMMAND: &'static str = "stillpoint/addTrace";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = AddTraceArguments;
    type Body = Trace;

    fn handle(session: &mut Session, arguments: AddTraceArguments) -> Result<Trace, RequestError> {
        traces::add(session, &arguments.location, arguments.query)
    }
}

/// Removes a tracepoint, and what it has recorded.
pub enum RemoveTrace {}

impl Request for RemoveTrace {
    const COMMAND: &'static str = "stillpoint/removeTrace";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = RemoveTraceArguments;
    type Body = ();

    fn handle(session: &mut Session, arguments: RemoveTraceArguments) -> Result<(), RequestError> {
        traces::remove(session, arguments.id)
    }
}

/// Returns what tracepoints have recorded, also while the program runs and after its end.
pub enum ReadTraces {}

impl Request for ReadTraces {
    const COMMAND: &'static str = "stillpoint/traces";
    const WHEN: RequiredState = RequiredState::Always;
    const EFFECT: Effect = Effect::Reads;
    type Arguments = TracesArguments;
    type Body = Traces;

    fn handle(session: &mut Session, arguments: TracesArguments) -> Result<Traces, RequestError> {
        let traces = traces::read(session, &arguments)?;
        Ok(Traces { traces })
    }
}

/// Returns what is wrong with a query at a line, before a tracepoint is set.
pub enum CheckTrace {}

impl Request for CheckTrace {
    const COMMAND: &'static str = "stillpoint/checkTrace";
    const WHEN: RequiredState = RequiredState::Process;
    const EFFECT: Effect = Effect::Reads;
    type Arguments = CheckTraceArguments;
    type Body = CheckedTrace;

    fn handle(
        session: &mut Session,
        arguments: CheckTraceArguments,
    ) -> Result<CheckedTrace, RequestError> {
        Ok(traces::check(session, arguments))
    }
}

/// Returns where a function is, for the names in a stack.
pub enum FindFunction {}

impl Request for FindFunction {
    const COMMAND: &'static str = "stillpoint/functionSource";
    const WHEN: RequiredState = RequiredState::Always;
    const EFFECT: Effect = Effect::Reads;
    type Arguments = FunctionSourceArguments;
    type Body = FunctionSource;

    fn handle(
        session: &mut Session,
        arguments: FunctionSourceArguments,
    ) -> Result<FunctionSource, RequestError> {
        Ok(traces::function_source(session, &arguments.name))
    }
}
