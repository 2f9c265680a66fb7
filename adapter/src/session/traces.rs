//! Tracepoints that are in no set of breakpoints, and what all of them have recorded.

use crate::protocol::{
    CheckTraceArguments, CheckedTrace, FunctionSource, RequestError, Trace, TraceRecords, Traces,
    TracesArguments,
};
use crate::session::Session;
use crate::session::breakpoints::debug_info_path;
use crate::session::describe::{self, record, trace};
use engine::{BreakpointId, Record, TracePlace};

/// The event with what all tracepoints have recorded at the end.
const EVENT: &str = "stillpoint/traces";
/// The event with records of a tracepoint that keeps all.
const RECORDS: &str = "stillpoint/records";
/// Number of rows and of records if the client names none.
const DEFAULT: i64 = 20;
/// Maximum number of rows of a table.
const MAX_ROWS: i64 = 16_384;
/// Maximum number of records of a tracepoint in one answer: those of a timeline.
const MAX_RECORDS: i64 = 200_000;

/// Sets a tracepoint at `FILE:LINE` or on a function. A wrong query, or a location without code, is no
/// error: the tracepoint says why it cannot be hit.
///
/// # Errors
/// The location is empty.
pub fn add(session: &mut Session, location: &str, query: String) -> Result<Trace, RequestError> {
    let location = location.trim();
    if location.is_empty() {
        let text = "`location` is missing: FILE:LINE or a function";
        return Err(RequestError::Arguments(text.to_owned()));
    }
    let place = TracePlace::parse(location, |file| debug_info_path(session, file));
    let id = session.debugger.add_tracepoint(place, query.clone());
    if let Some(trace) = trace(session, id, 0, 0) {
        return Ok(trace);
    }
    let info = session.debugger.breakpoint(id);
    Ok(Trace {
        id: i64::from(id.0),
        query,
        reason: info.as_ref().and_then(describe::breakpoints::reason),
        message: info.and_then(|info| info.message),
        ..Trace::default()
    })
}

/// Removes a tracepoint that was set by [`add`].
///
/// # Errors
/// There is no such tracepoint.
pub fn remove(session: &mut Session, id: i64) -> Result<(), RequestError> {
    let known = u32::try_from(id).ok().map(BreakpointId);
    match known.is_some_and(|id| session.debugger.remove_tracepoint(id)) {
        true => Ok(()),
        false => Err(no_trace(id)),
    }
}

/// Returns what tracepoints have recorded.
///
/// # Errors
/// There is no tracepoint of the wanted number.
pub fn read(
    session: &mut Session,
    arguments: &TracesArguments,
) -> Result<Vec<Trace>, RequestError> {
    let number = |given: Option<i64>, most: i64| given.unwrap_or(DEFAULT).clamp(0, most) as usize;
    let rows = number(arguments.rows, MAX_ROWS);
    let records = number(arguments.records, MAX_RECORDS);
    let ids = match arguments.id {
        None => session.debugger.traces(),
        Some(id) => vec![BreakpointId(u32::try_from(id).map_err(|_| no_trace(id))?)],
    };
    if arguments.at_end == Some(true) {
        session.traces_at_end = Some((rows, records));
    }
    let mut traces = Vec::new();
    for id in ids {
        traces.extend(trace(session, id, rows, records));
    }
    match arguments.id {
        Some(id) if traces.is_empty() => Err(no_trace(id)),
        _ => Ok(traces),
    }
}

/// Sends records of a tracepoint whose client gets all.
pub fn report_records(session: &mut Session, id: BreakpointId, records: Vec<Record>) {
    let records = TraceRecords {
        id: i64::from(id.0),
        records: records.into_iter().map(record).collect(),
    };
    session.event(RECORDS, &records);
}

/// Sends what all tracepoints have recorded, if the client has asked for it, once.
pub fn report_at_end(session: &mut Session) {
    let Some((rows, records)) = session.traces_at_end.take() else {
        return;
    };
    let ids = session.debugger.traces().into_iter();
    let traces = ids.filter_map(|id| trace(session, id, rows, records));
    let traces = traces.collect();
    session.event(EVENT, &Traces { traces });
}

/// Returns what is wrong with a query at a line.
pub fn check(session: &mut Session, arguments: CheckTraceArguments) -> CheckedTrace {
    let source = debug_info_path(session, &arguments.path);
    let line = session.client.line_in(arguments.line);
    CheckedTrace {
        message: session.debugger.check_trace(&source, line, arguments.query),
    }
}

/// Returns where a function is.
pub fn function_source(session: &mut Session, name: &str) -> FunctionSource {
    match session.debugger.function_source(name.trim()) {
        Some((path, line, _)) => FunctionSource {
            path: session.sources.of(&path, &session.client).path,
            line: Some(session.client.line_out(line)),
        },
        None => FunctionSource::default(),
    }
}

fn no_trace(id: i64) -> RequestError {
    RequestError::Other(format!("there is no tracepoint {id}"))
}
