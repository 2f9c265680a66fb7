//! Breakpoints: the client's sets, and how breakpoints stand.

use crate::protocol::RequestError;
use crate::protocol::{
    Breakpoint, BreakpointEventBody, BreakpointMode, BreakpointReason, BreakpointsResponse,
    Capabilities, InstructionBreakpoint, SetBreakpointsArguments, SetFunctionBreakpointsArguments,
    SetInstructionBreakpointsArguments, Source, SourceBreakpoint,
};
use crate::requests::memory::{moved, referred};
use crate::requests::sources::{TOO_MUCH_CODE, unknown_source};
use crate::requests::{Request, When};
use crate::session::Session;
use crate::session::main_stop;
use crate::sources::checksums_of;
use engine::{
    BreakpointId, BreakpointInfo, BreakpointOptions, BreakpointPlace, CodeName, LoadAddr,
};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The mode in which breakpoints take the processor's debug registers.
const HARDWARE: &str = "hardware";
/// The mode in which they do not.
pub(super) const SOFTWARE: &str = "software";

const MODES: [BreakpointMode; 2] = [
    BreakpointMode {
        mode: SOFTWARE,
        label: "Software",
        description: "In code by a trap instruction, on data by single steps (slow); as many as \
                      one likes",
        applies_to: &["source", "instruction", "data"],
    },
    BreakpointMode {
        mode: HARDWARE,
        label: "Hardware",
        description: "By the processor's debug registers, of which there are four; the code is \
                      not written to",
        applies_to: &["source", "instruction", "data"],
    },
];

/// What the client set. Sets are kept by path exactly as it was spelled: debugger-cli has two
/// spellings of one file, and each `setBreakpoints` replaces its own set only.
#[derive(Debug, Default)]
pub struct Breakpoints {
    sources: HashMap<String, Vec<engine::SourceBreakpoint>>,
    /// Those in machine code, by the keys of their sets.
    codes: HashMap<String, (CodeName, Vec<engine::SourceBreakpoint>)>,
    asked: HashMap<BreakpointId, Asked>,
    instructions: HashSet<BreakpointId>,
}

/// Where the client wanted a breakpoint.
#[derive(Clone, Debug)]
struct Asked {
    path: String,
    line: u32,
    /// It named a column; if not, editors would take one in the answer for a second place.
    by_column: bool,
    /// In machine code; `path` is the key of the set then.
    code: Option<CodeName>,
}

impl Breakpoints {
    /// The reason of a stop at breakpoints of one place: the most familiar one.
    pub fn reason(&self, ids: &[BreakpointId]) -> &'static str {
        if ids.iter().any(|id| self.asked.contains_key(id)) {
            "breakpoint"
        } else if ids.iter().all(|id| self.instructions.contains(id)) {
            "instruction breakpoint"
        } else {
            "function breakpoint"
        }
    }
}

/// Replaces the breakpoints of one source.
pub enum SetBreakpoints {}

impl Request for SetBreakpoints {
    const COMMAND: &'static str = "setBreakpoints";
    const WHEN: When = When::Always;
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
        let code = session.codes.meant(&arguments.source);
        let key = match &code {
            Some(code) => key_of_code(session, code)?,
            None => match arguments.source.source_reference {
                // A client that comes back with the breakpoints of an earlier session.
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
        if session.startup.no_debug {
            return Ok(switched_off(wanted.len()));
        }
        let infos = match &code {
            Some(code) => session.debugger.set_code_breakpoints(&key, code, &wanted),
            None => set_source(session, &key, &wanted),
        };
        let breakpoints = &mut session.breakpoints;
        for (info, wanted) in infos.iter().zip(&wanted) {
            let asked = Asked {
                path: key.clone(),
                line: wanted.line,
                by_column: wanted.column.is_some(),
                code: code.clone(),
            };
            breakpoints.asked.insert(info.id, asked);
        }
        match code {
            Some(code) => drop(breakpoints.codes.insert(key, (code, wanted))),
            None => drop(breakpoints.sources.insert(key, wanted)),
        }
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
    engine::SourceBreakpoint {
        line,
        column: client
            .given_column(breakpoint.column)
            .map(|column| sources.column_in(local, line, column, client)),
        options: BreakpointOptions {
            condition: given(breakpoint.condition),
            hit_condition: given(breakpoint.hit_condition),
            log_message: given(breakpoint.log_message),
            hardware: breakpoint.mode.as_deref() == Some(HARDWARE),
        },
    }
}

/// Editors send empty texts for fields left empty.
pub(super) fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// A key that no path is.
fn key_of_code(session: &mut Session, code: &CodeName) -> Result<String, RequestError> {
    let number = session.codes.number(code);
    let number = number.ok_or_else(|| RequestError::Other(TOO_MUCH_CODE.to_owned()))?;
    Ok(format!("\0{number}"))
}

/// The client's spelling of a source's path.
pub(super) fn key_of(source: Source, command: &str) -> Result<String, RequestError> {
    if let Some(number @ 1..) = source.source_reference {
        return Err(unknown_source(number));
    }
    source
        .path
        .or(source.name)
        .ok_or_else(|| RequestError::Arguments(format!("{command}: `source.path` is missing")))
}

/// The path in the debug info of a client's spelling.
pub(super) fn debug_info_path(session: &Session, key: &str) -> PathBuf {
    let local = session.client.path_in(key);
    session.sources.to_debug_info(&local)
}

fn set_source(
    session: &mut Session,
    key: &str,
    wanted: &[engine::SourceBreakpoint],
) -> Vec<BreakpointInfo> {
    let source = debug_info_path(session, key);
    session
        .debugger
        .set_source_breakpoints(key, &source, wanted)
}

/// Sets everything once more: the launch settings have come, and may move or forbid it.
pub fn set_again(session: &mut Session) {
    let off = session.startup.no_debug;
    if off {
        session.debugger.set_function_breakpoints(&[]);
        session.debugger.set_instruction_breakpoints(&[]);
        session.debugger.set_data_breakpoints(&[]);
        session.debugger.set_exception_breakpoints(&[]);
        for (key, (code, _)) in &session.breakpoints.codes {
            session.debugger.set_code_breakpoints(key, code, &[]);
        }
    }
    if off || !session.sources.map().is_empty() {
        let sets = std::mem::take(&mut session.breakpoints.sources);
        for (key, wanted) in &sets {
            set_source(session, key, if off { &[] } else { wanted });
        }
        session.breakpoints.sources = sets;
    }
}

/// Sets those on lines once more, because the source map is another one; the client is told of
/// each.
pub fn move_sources(session: &mut Session) {
    if session.startup.no_debug {
        return;
    }
    let sets = std::mem::take(&mut session.breakpoints.sources);
    let mut infos = Vec::new();
    for (key, wanted) in &sets {
        infos.extend(set_source(session, key, wanted));
    }
    session.breakpoints.sources = sets;
    for breakpoint in described(session, &infos).breakpoints {
        let reason = "changed";
        session.event("breakpoint", &BreakpointEventBody { reason, breakpoint });
    }
}

/// A breakpoint that will never be hit.
pub(super) fn failed(message: String) -> Breakpoint {
    Breakpoint {
        message: Some(message),
        reason: Some(BreakpointReason::Failed),
        ..Breakpoint::default()
    }
}

pub(super) fn switched_off(count: usize) -> BreakpointsResponse {
    let breakpoint = failed("the program runs without debugging (noDebug)".to_owned());
    BreakpointsResponse {
        breakpoints: vec![breakpoint; count],
    }
}

/// Breakpoints in a source that nobody knows.
fn of_unknown_source(number: i64, count: usize) -> BreakpointsResponse {
    let breakpoint = failed(unknown_source(number).to_string());
    BreakpointsResponse {
        breakpoints: vec![breakpoint; count],
    }
}

/// Replaces the breakpoints on functions.
pub enum SetFunctionBreakpoints {}

impl Request for SetFunctionBreakpoints {
    const COMMAND: &'static str = "setFunctionBreakpoints";
    const WHEN: When = When::Always;
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
            .map(|breakpoint| engine::FunctionBreakpoint {
                name: breakpoint.name,
                options: BreakpointOptions {
                    condition: given(breakpoint.condition),
                    hit_condition: given(breakpoint.hit_condition),
                    ..BreakpointOptions::default()
                },
            })
            .collect();
        if session.startup.no_debug {
            return Ok(switched_off(wanted.len()));
        }
        let infos = main_stop::set_functions(session, wanted);
        Ok(described(session, &infos))
    }
}

/// Replaces the breakpoints on instructions.
pub enum SetInstructionBreakpoints {}

impl Request for SetInstructionBreakpoints {
    const COMMAND: &'static str = "setInstructionBreakpoints";
    const WHEN: When = When::Always;
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
        if session.startup.no_debug {
            return Ok(switched_off(wanted.len()));
        }
        let infos = session.debugger.set_instruction_breakpoints(&wanted);
        session.breakpoints.instructions = infos.iter().map(|info| info.id).collect();
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
            condition: given(breakpoint.condition),
            hit_condition: given(breakpoint.hit_condition),
            hardware: breakpoint.mode.as_deref() == Some(HARDWARE),
            ..BreakpointOptions::default()
        },
    })
}

/// An address as clients spell it: decimal, or hexadecimal behind `0x`; also with the symbol behind
/// it, as values show it (`0x401136 <main+4>`).
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

pub(super) fn described(session: &mut Session, infos: &[BreakpointInfo]) -> BreakpointsResponse {
    let breakpoints = infos
        .iter()
        .map(|info| describe_breakpoint(session, info))
        .collect();
    BreakpointsResponse { breakpoints }
}

/// A breakpoint as the client sees it.
pub fn describe_breakpoint(session: &mut Session, info: &BreakpointInfo) -> Breakpoint {
    let asked = session.breakpoints.asked.get(&info.id).cloned();
    let mut breakpoint = Breakpoint {
        id: Some(info.id.0),
        verified: info.verified,
        message: info.message.clone(),
        ..Breakpoint::default()
    };
    if !info.verified {
        breakpoint.reason = Some(match info.failed {
            true => BreakpointReason::Failed,
            false => BreakpointReason::Pending,
        });
    }
    let code = asked.as_ref().and_then(|asked| asked.code.as_ref());
    if let (Some(code), Some(asked)) = (code, &asked) {
        let address = info.place.as_ref().map(|place| place.address.to_string());
        breakpoint.instruction_reference = address;
        breakpoint.source = session.codes.source(code);
        breakpoint.line = Some(session.client.line_out(asked.line));
        return breakpoint;
    }
    match &info.place {
        Some(place) => {
            at_place(session, &mut breakpoint, place, asked.as_ref());
            let file = session.debugger.breakpoint_source(info.id);
            if let (Some(source), Some(file)) = (&mut breakpoint.source, file) {
                source.checksums = checksums_of(&file);
            }
            if info.verified && asked.is_some() {
                tell_of_changes(session, &mut breakpoint, info.id);
            }
        }
        None => {
            if let Some(asked) = asked {
                breakpoint.source = Some(as_spelled(session, &asked.path));
                breakpoint.line = Some(session.client.line_out(asked.line));
            }
        }
    }
    breakpoint
}

/// Says so where the source on this machine is not what was compiled.
fn tell_of_changes(session: &mut Session, breakpoint: &mut Breakpoint, id: BreakpointId) {
    let path = breakpoint.source.as_ref().and_then(|it| it.path.as_ref());
    let Some(local) = path.map(|path| session.client.path_in(path)) else {
        return;
    };
    if let Some(change) = session.debugger.source_changed(id, &local) {
        breakpoint.message = Some(match breakpoint.message.take() {
            Some(message) => format!("{message}; {change}"),
            None => change,
        });
    }
}

fn at_place(
    session: &mut Session,
    breakpoint: &mut Breakpoint,
    place: &BreakpointPlace,
    asked: Option<&Asked>,
) {
    breakpoint.instruction_reference = Some(place.address.to_string());
    let Some((path, line, column)) = &place.source else {
        return;
    };
    // Where the client's own spelling leads to the same file, it knows the file by that.
    let own = asked.filter(|asked| {
        let wanted = session.client.path_in(&asked.path);
        wanted.is_absolute() && wanted.file_name() == path.file_name()
    });
    breakpoint.source = Some(match own {
        Some(asked) => {
            let spelling = session.client.path_in(&asked.path);
            session.sources.learn(path, &spelling);
            as_spelled(session, &asked.path)
        }
        None => session.sources.of(path, &session.client),
    });
    breakpoint.line = Some(session.client.line_out(*line));
    let by_column = asked.is_none_or(|asked| asked.by_column);
    breakpoint.column = (by_column && *column > 0).then(|| {
        let Session {
            sources, client, ..
        } = session;
        sources.column_out(path, *line, *column, client)
    });
}

fn as_spelled(session: &Session, path: &str) -> Source {
    Source {
        name: session
            .client
            .path_in(path)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned()),
        path: Some(path.to_owned()),
        ..Source::default()
    }
}
