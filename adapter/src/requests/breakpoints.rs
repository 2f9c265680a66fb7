//! The requests for breakpoints on lines, functions and instructions.

use crate::protocol::RequestError;
use crate::protocol::{
    Breakpoint, BreakpointMode, BreakpointReason, BreakpointsResponse, Capabilities,
    InstructionBreakpoint, SetBreakpointsArguments, SetFunctionBreakpointsArguments,
    SetInstructionBreakpointsArguments, Source, SourceBreakpoint,
};
use crate::requests::Request;
use crate::requests::memory::{moved, referred};
use crate::requests::sources::{TOO_MUCH_CODE, unknown_source};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::breakpoints::set_source;
use crate::session::describe::described;
use crate::session::own_breakpoints;
use engine::{BreakpointOptions, CodeName, LoadAddr};
use std::path::Path;

/// The mode of breakpoints that use debug registers.
const HARDWARE: &str = "hardware";
/// The mode of breakpoints that do not.
pub(super) const SOFTWARE: &str = "software";

const MODES: [BreakpointMode; 2] = [
    BreakpointMode {
        mode: SOFTWARE,
        label: "Software",
        description: "A trap instruction in code; single steps for data (slow). No limit on their \
                      number",
        applies_to: &["source", "instruction", "data"],
    },
    BreakpointMode {
        mode: HARDWARE,
        label: "Hardware",
        description: "Uses one of the processor's four debug registers; the code is not changed",
        applies_to: &["source", "instruction", "data"],
    },
];

/// Replaces the breakpoints of one source.
pub enum SetBreakpoints {}

impl Request for SetBreakpoints {
    const COMMAND: &'static str = "setBreakpoints";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = SetBreakpointsArguments;
    type Body = BreakpointsResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_conditional_breakpoints = true;
        capabilities.supports_hit_conditional_breakpoints = true;
        capabilities.supports_log_points = true;
        capabilities.breakpoint_modes = MODES.to_vec();
    }

    fn handle(
        session: &mut Session,
        arguments: SetBreakpointsArguments,
    ) -> Result<BreakpointsResponse, RequestError> {
        let code = session.codes.code_of_source(&arguments.source);
        let key = match &code {
            Some(code) => key_of_code(session, code)?,
            None => match arguments.source.source_reference {
                // The client has sent the breakpoints of an earlier session.
                Some(number @ 1..) => {
                    let count = arguments.breakpoints.as_ref().map(Vec::len);
                    let count = count.or(arguments.lines.as_ref().map(Vec::len));
                    return Ok(of_unknown_source(number, count.unwrap_or(0)));
                }
                _ => key_of(arguments.source, Self::COMMAND)?,
            },
        };
        let local = session.client.path_in(&key);
        let wanted: Vec<_> = match (arguments.breakpoints, arguments.lines) {
            (Some(breakpoints), _) => breakpoints
                .into_iter()
                .map(|breakpoint| wanted(session, &local, breakpoint))
                .collect(),
            (None, lines) => lines
                .unwrap_or_default()
                .into_iter()
                .map(|line| engine::SourceBreakpoint {
                    line: session.client.line_in(line),
                    column: None,
                    options: BreakpointOptions::default(),
                })
                .collect(),
        };
        if session.settings.no_debug {
            return Ok(switched_off(wanted.len()));
        }
        let infos = match &code {
            Some(code) => session.debugger.set_code_breakpoints(&key, code, &wanted),
            None => set_source(session, &key, &wanted),
        };
        session.breakpoints.keep(&infos, key, code, wanted);
        Ok(described(session, &infos))
    }
}

fn wanted(
    session: &mut Session,
    local: &Path,
    breakpoint: SourceBreakpoint,
) -> engine::SourceBreakpoint {
    let Session {
        sources, client, ..
    } = session;
    let line = client.line_in(breakpoint.line);
    let log_message = non_blank(breakpoint.log_message);
    let given = breakpoint.trace.map(|trace| trace.query);
    let (trace, log_message) = match given {
        None => trace_instead(log_message),
        given => (given, log_message),
    };
    engine::SourceBreakpoint {
        line,
        column: client
            .given_column(breakpoint.column)
            .map(|column| sources.column_in(local, line, column, client)),
        options: BreakpointOptions {
            condition: non_blank(breakpoint.condition),
            hit_condition: non_blank(breakpoint.hit_condition),
            log_message,
            trace,
            hardware: breakpoint.mode.as_deref() == Some(HARDWARE),
            ..BreakpointOptions::default()
        },
    }
}

/// Returns the query of a tracepoint if the log message of a breakpoint on a line, or the condition of
/// one on a function, is nothing but `{:trace QUERY}`, else the text itself: for clients that can send
/// nothing else. No expression begins with a single colon.
fn trace_instead(text: Option<String>) -> (Option<String>, Option<String>) {
    let query = text.as_deref().and_then(|text| {
        let query = text.trim().strip_prefix("{:trace")?.strip_suffix('}')?;
        (query.is_empty() || query.starts_with(char::is_whitespace)).then_some(query)
    });
    match query {
        Some(query) => (Some(query.to_owned()), None),
        None => (None, text),
    }
}

/// Returns the text unless it is blank: editors send blank texts for empty fields.
pub(super) fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Returns a key for the breakpoints in machine code, which cannot be a path.
fn key_of_code(session: &mut Session, code: &CodeName) -> Result<String, RequestError> {
    let number = session.codes.number(code);
    let number = number.ok_or_else(|| RequestError::Other(TOO_MUCH_CODE.to_owned()))?;
    Ok(format!("\0{number}"))
}

/// Returns the client's path of a source.
pub(super) fn key_of(source: Source, command: &str) -> Result<String, RequestError> {
    if let Some(number @ 1..) = source.source_reference {
        return Err(unknown_source(number));
    }
    source
        .path
        .or(source.name)
        .ok_or_else(|| RequestError::Arguments(format!("{command}: `source.path` is missing")))
}

/// Returns a breakpoint that cannot be hit.
pub(super) fn failed(message: String) -> Breakpoint {
    Breakpoint {
        message: Some(message),
        reason: Some(BreakpointReason::Failed),
        ..Breakpoint::default()
    }
}

pub(super) fn switched_off(count: usize) -> BreakpointsResponse {
    let breakpoint = failed("breakpoints are disabled (`noDebug`)".to_owned());
    BreakpointsResponse {
        breakpoints: vec![breakpoint; count],
    }
}

/// Returns the breakpoints of an unknown source.
fn of_unknown_source(number: i64, count: usize) -> BreakpointsResponse {
    let breakpoint = failed(unknown_source(number).to_string());
    BreakpointsResponse {
        breakpoints: vec![breakpoint; count],
    }
}

/// Replaces the function breakpoints.
pub enum SetFunctionBreakpoints {}

impl Request for SetFunctionBreakpoints {
    const COMMAND: &'static str = "setFunctionBreakpoints";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = SetFunctionBreakpointsArguments;
    type Body = BreakpointsResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_function_breakpoints = true;
    }

    fn handle(
        session: &mut Session,
        arguments: SetFunctionBreakpointsArguments,
    ) -> Result<BreakpointsResponse, RequestError> {
        let wanted: Vec<_> = arguments
            .breakpoints
            .into_iter()
            .map(|breakpoint| {
                let (trace, condition) = trace_instead(non_blank(breakpoint.condition));
                engine::FunctionBreakpoint {
                    name: breakpoint.name,
                    options: BreakpointOptions {
                        condition,
                        hit_condition: non_blank(breakpoint.hit_condition),
                        trace,
                        ..BreakpointOptions::default()
                    },
                }
            })
            .collect();
        if session.settings.no_debug {
            return Ok(switched_off(wanted.len()));
        }
        let infos = own_breakpoints::set_functions(session, wanted);
        Ok(described(session, &infos))
    }
}

/// Replaces the instruction breakpoints.
pub enum SetInstructionBreakpoints {}

impl Request for SetInstructionBreakpoints {
    const COMMAND: &'static str = "setInstructionBreakpoints";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = SetInstructionBreakpointsArguments;
    type Body = BreakpointsResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_instruction_breakpoints = true;
    }

    fn handle(
        session: &mut Session,
        arguments: SetInstructionBreakpointsArguments,
    ) -> Result<BreakpointsResponse, RequestError> {
        let wanted: Vec<_> = arguments
            .breakpoints
            .into_iter()
            .map(|breakpoint| at_instruction(session, breakpoint))
            .collect::<Result<_, _>>()?;
        if session.settings.no_debug {
            return Ok(switched_off(wanted.len()));
        }
        let infos = session.debugger.set_instruction_breakpoints(&wanted);
        session.breakpoints.keep_instructions(&infos);
        Ok(described(session, &infos))
    }
}

fn at_instruction(
    session: &mut Session,
    breakpoint: InstructionBreakpoint,
) -> Result<engine::InstructionBreakpoint, RequestError> {
    let reference = &breakpoint.instruction_reference;
    let base = referred(session, "instructionReference", reference)?;
    Ok(engine::InstructionBreakpoint {
        address: moved(base, breakpoint.offset.unwrap_or(0))?,
        options: BreakpointOptions {
            condition: non_blank(breakpoint.condition),
            hit_condition: non_blank(breakpoint.hit_condition),
            hardware: breakpoint.mode.as_deref() == Some(HARDWARE),
            ..BreakpointOptions::default()
        },
    })
}

/// Parses an address of a client: decimal, or hexadecimal after `0x`; also followed by the symbol,
/// as values show it (`0x401136 <main+4>`).
pub(super) fn address(text: &str) -> Option<LoadAddr> {
    let text = text.trim();
    let text = match text.split_once('<') {
        Some((number, symbol)) if symbol.ends_with('>') => number.trim_end(),
        _ => text,
    };
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.ok().map(LoadAddr)
}
