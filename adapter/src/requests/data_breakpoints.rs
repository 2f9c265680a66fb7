//! The requests for data breakpoints.

use super::breakpoints::{SOFTWARE, address, non_blank, switched_off};
use super::variables::child_named;
use crate::protocol::RequestError;
use crate::protocol::{
    BreakpointsResponse, Capabilities, DataAccessType, DataBreakpointInfoArguments,
    DataBreakpointInfoResponse, SetDataBreakpointsArguments,
};
use crate::requests::{InThePast, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::describe::described;
use engine::{BreakpointOptions, DataAccess, FrameKey, Purpose, Watchable};

/// Returns whether and how an expression or variable can be watched.
pub enum DataBreakpointInfo {}

impl Request for DataBreakpointInfo {
    const COMMAND: &'static str = "dataBreakpointInfo";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    const WHEN: RequiredState = RequiredState::Process;
    type Arguments = DataBreakpointInfoArguments;
    type Body = DataBreakpointInfoResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_data_breakpoints = true;
        capabilities.supports_data_breakpoint_bytes = true;
    }

    fn handle(
        session: &mut Session,
        arguments: DataBreakpointInfoArguments,
    ) -> Result<DataBreakpointInfoResponse, RequestError> {
        let by_steps = arguments.mode.as_deref() == Some(SOFTWARE);
        let data = match find(session, &arguments) {
            Ok(data) => data,
            Err(error @ (RequestError::StaleId(_) | RequestError::Cancelled)) => return Err(error),
            Err(error) => {
                return Ok(DataBreakpointInfoResponse {
                    data_id: None,
                    description: error.to_string(),
                    access_types: Vec::new(),
                    can_persist: None,
                });
            }
        };
        let frame = data.scope.as_ref();
        let frame = frame.map(|it| format!(" of {}:{:#x}", it.thread, it.cfa));
        let mode = if by_steps { " by steps" } else { "" };
        let data_id = format!(
            "{}/{} {}{}{mode}",
            data.addr,
            data.bytes,
            data.name,
            frame.unwrap_or_default()
        );
        let description = match data.bytes {
            1 => format!("{} (1 byte at {})", data.name, data.addr),
            bytes => format!("{} ({bytes} bytes at {})", data.name, data.addr),
        };
        let mut access_types = vec![DataAccessType::Write];
        if !by_steps {
            access_types.extend([DataAccessType::ReadWrite, DataAccessType::Read]);
        }
        session.watchable.insert(data_id.clone(), data, by_steps);
        Ok(DataBreakpointInfoResponse {
            data_id: Some(data_id),
            description,
            access_types,
            can_persist: Some(false),
        })
    }
}

/// Returns what an expression or a variable names, to be watched.
///
/// # Errors
/// It cannot be evaluated, or is not in memory.
pub fn find(
    session: &mut Session,
    arguments: &DataBreakpointInfoArguments,
) -> Result<Watchable, RequestError> {
    let name = arguments.name.trim();
    let bytes = arguments.bytes;
    if arguments.as_address == Some(true) {
        let addr = address(name)
            .ok_or_else(|| RequestError::Arguments(format!("`{name}` is not an address")))?;
        return Ok(session.debugger.watchable_at(addr, bytes.unwrap_or(1))?);
    }
    if let Some(reference) = arguments.variables_reference.filter(|it| *it != 0) {
        let container = session.handles.container(reference)?;
        let (frame, expression, value) = child_named(session, container, name)?;
        let name = expression.as_deref().unwrap_or(name);
        return Ok(session.debugger.watchable(frame, name, &value, bytes)?);
    }
    let frame: Option<FrameKey> = arguments
        .frame_id
        .filter(|id| *id != 0)
        .map(|id| session.handles.frame(id))
        .transpose()?;
    let found = session.debugger.evaluate(frame, name, Purpose::Look)?;
    let name = found.expression;
    Ok(session
        .debugger
        .watchable(frame, &name, &found.value, bytes)?)
}

/// Replaces the data breakpoints.
pub enum SetDataBreakpoints {}

impl Request for SetDataBreakpoints {
    const COMMAND: &'static str = "setDataBreakpoints";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = SetDataBreakpointsArguments;
    type Body = BreakpointsResponse;

    fn handle(
        session: &mut Session,
        arguments: SetDataBreakpointsArguments,
    ) -> Result<BreakpointsResponse, RequestError> {
        if session.settings.no_debug {
            return Ok(switched_off(arguments.breakpoints.len()));
        }
        let mut wanted = Vec::new();
        // For each requested breakpoint: its index among the valid ones, or the error.
        let mut places = Vec::new();
        for breakpoint in arguments.breakpoints {
            let Some((data, by_steps)) = data_of(session, &breakpoint.data_id) else {
                places.push(Err(format!(
                    "unknown or outdated data id `{}`",
                    breakpoint.data_id
                )));
                continue;
            };
            places.push(Ok(wanted.len()));
            wanted.push(engine::DataBreakpoint {
                data,
                access: match breakpoint.access_type {
                    None | Some(DataAccessType::Write) => DataAccess::Write,
                    Some(DataAccessType::Read) => DataAccess::Read,
                    Some(DataAccessType::ReadWrite) => DataAccess::ReadWrite,
                },
                by_steps,
                options: BreakpointOptions {
                    condition: non_blank(breakpoint.condition),
                    hit_condition: non_blank(breakpoint.hit_condition),
                    ..BreakpointOptions::default()
                },
            });
        }
        let infos = session.debugger.set_data_breakpoints(&wanted);
        let mut answer = described(session, &infos);
        answer.breakpoints = places
            .into_iter()
            .map(|place| match place {
                Ok(index) => answer.breakpoints.get(index).cloned().unwrap_or_default(),
                Err(message) => super::breakpoints::failed(message),
            })
            .collect();
        Ok(answer)
    }
}

fn data_of(session: &mut Session, id: &str) -> Option<(Watchable, bool)> {
    if let Some(known) = session.watchable.get(id) {
        return Some(known.clone());
    }
    // A data id with nothing but an address is valid in later sessions.
    let (addr, bytes) = id.split_once(' ')?.0.split_once('/')?;
    let named_so = id.split_once(' ')?.1 == addr;
    let data = session
        .debugger
        .watchable_at(address(addr)?, bytes.parse().ok()?);
    data.ok().filter(|_| named_so).map(|data| (data, false))
}
