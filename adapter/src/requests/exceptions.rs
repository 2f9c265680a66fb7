//! The requests for exception filters, and for the details of an exception.

use super::breakpoints::{non_blank, switched_off};
use crate::protocol::RequestError;
use crate::protocol::{
    Breakpoint, BreakpointReason, BreakpointsResponse, Capabilities, ExceptionBreakMode,
    ExceptionBreakpointsFilter, ExceptionDetails, ExceptionInfoArguments, ExceptionInfoResponse,
    ExceptionOptions, SetExceptionBreakpointsArguments,
};
use crate::requests::{Effect, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::describe::described;
use crate::session::handles::thread_id;
use crate::session::own_breakpoints;
use engine::{ExceptionBreakpoint, ExceptionFilter, Frame, Signal, ThreadId};
use std::fmt::Write;

/// Maximum number of frames in the text of a stack.
const MAX_FRAMES: usize = 256;

/// The offered filters: id, label, description, description of the condition.
const FILTERS: [(ExceptionFilter, &str, &str, &str, &str); 6] = [
    (
        ExceptionFilter::CppThrow,
        "cpp_throw",
        "C++: on throw",
        "Stops where a C++ exception is thrown or rethrown",
        TYPES_HELP,
    ),
    (
        ExceptionFilter::CppCatch,
        "cpp_catch",
        "C++: on catch",
        "Stops where a C++ exception is caught",
        TYPES_HELP,
    ),
    (
        ExceptionFilter::CppUncaught,
        "cpp_uncaught",
        "C++: uncaught",
        "Stops where an uncaught C++ exception ends the program",
        TYPES_HELP,
    ),
    (
        ExceptionFilter::RustPanic,
        "rust_panic",
        "Rust: on panic",
        "Stops where a panic begins to unwind",
        "Text of the message (* stands for anything), or an expression with $exception",
    ),
    (
        ExceptionFilter::Sanitizer,
        "sanitizer",
        "Sanitizer reports",
        "Stops where AddressSanitizer, ThreadSanitizer or another one reports an error",
        "Text of the summary (* stands for anything)",
    ),
    (
        ExceptionFilter::Signals,
        "signals",
        "Signals",
        "Stops at all signals except SIGCHLD, timers and similar ones; fatal signals always stop",
        "Names (SIGUSR1, SIGRT*), or an expression with $exception, the number",
    ),
];
const TYPES_HELP: &str = "Types (std::runtime_error, my::*; without * also types derived from it), or \
                     an expression with $exception";

/// Returns the filter with an id: an offered one, any signal's name, or the name of another
/// debugger's filter.
fn filter(id: &str) -> Option<ExceptionFilter> {
    if let Some((filter, ..)) = FILTERS.iter().find(|(_, offered, ..)| *offered == id) {
        return Some(*filter);
    }
    match id {
        "uncaught" => Some(ExceptionFilter::Uncaught),
        "throw" => Some(ExceptionFilter::CppThrow),
        "rethrow" => Some(ExceptionFilter::CppRethrow),
        "catch" => Some(ExceptionFilter::CppCatch),
        _ if id.starts_with("SIG") => Signal::named(id).map(ExceptionFilter::Signal),
        _ => None,
    }
}

/// Replaces the exception filters.
pub enum SetExceptionBreakpoints {}

impl Request for SetExceptionBreakpoints {
    const COMMAND: &'static str = "setExceptionBreakpoints";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = SetExceptionBreakpointsArguments;
    type Body = BreakpointsResponse;

    fn advertise(capabilities: &mut Capabilities) {
        let offered = FILTERS.iter();
        capabilities.exception_breakpoint_filters = offered
            .map(
                |&(ref filter, id, label, description, condition)| ExceptionBreakpointsFilter {
                    filter: id.into(),
                    label: label.into(),
                    description: description.into(),
                    default: ExceptionFilter::DEFAULT.contains(filter),
                    supports_condition: true,
                    condition_description: condition.into(),
                },
            )
            .collect();
        capabilities.supports_exception_filter_options = true;
        capabilities.supports_exception_options = true;
    }

    fn handle(
        session: &mut Session,
        arguments: SetExceptionBreakpointsArguments,
    ) -> Result<BreakpointsResponse, RequestError> {
        let filters = arguments.filters.into_iter().map(|id| (id, None));
        let with_options = arguments.filter_options.into_iter();
        let with_options =
            with_options.map(|option| (option.filter_id, non_blank(option.condition)));
        let mut wanted: Vec<Result<ExceptionBreakpoint, String>> = filters
            .chain(with_options)
            .map(|(id, condition)| {
                let filter = filter(&id).ok_or_else(|| unknown(&id))?;
                Ok(ExceptionBreakpoint { filter, condition })
            })
            .collect();
        wanted.extend(arguments.exception_options.into_iter().map(of_options));
        if session.settings.no_debug {
            return Ok(switched_off(wanted.len()));
        }
        let known: Vec<ExceptionBreakpoint> = wanted.iter().flatten().cloned().collect();
        let infos = own_breakpoints::set_exceptions(session, known);
        let mut set = described(session, &infos).breakpoints.into_iter();
        let breakpoints = wanted.into_iter().map(|wanted| match wanted {
            Ok(_) => set.next().unwrap_or_default(),
            Err(message) => Breakpoint {
                message: Some(message),
                reason: Some(BreakpointReason::Failed),
                ..Breakpoint::default()
            },
        });
        Ok(BreakpointsResponse {
            breakpoints: breakpoints.collect(),
        })
    }
}

fn unknown(id: &str) -> String {
    let ids: Vec<&str> = FILTERS.iter().map(|(_, id, ..)| *id).collect();
    format!(
        "unknown exception filter `{id}`; expected {}, or the name of a signal (SIGUSR1)",
        ids.join(", ")
    )
}

/// Converts exception options: types are in the last part of the path; the parts before it only
/// group them.
fn of_options(options: ExceptionOptions) -> Result<ExceptionBreakpoint, String> {
    let filter = match options.break_mode.as_str() {
        "always" => ExceptionFilter::CppThrow,
        "unhandled" | "userUnhandled" => ExceptionFilter::CppUncaught,
        "never" => return Err("never: the program does not stop for it".to_owned()),
        other => return Err(format!("`breakMode`: unknown value `{other}`")),
    };
    let last = options.path.last();
    if last.is_some_and(|segment| segment.negate) {
        return Err("`negate` is not supported; name the types to stop for".to_owned());
    }
    let names = last.map(|segment| segment.names.join(", "));
    Ok(ExceptionBreakpoint {
        filter,
        condition: non_blank(names),
    })
}

/// Returns the exception that a thread stopped for.
pub enum ExceptionInfo {}

impl Request for ExceptionInfo {
    const COMMAND: &'static str = "exceptionInfo";
    const EFFECT: Effect = Effect::Reads;
    type Arguments = ExceptionInfoArguments;
    type Body = ExceptionInfoResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_exception_info_request = true;
    }

    fn handle(
        session: &mut Session,
        arguments: ExceptionInfoArguments,
    ) -> Result<ExceptionInfoResponse, RequestError> {
        let thread = thread_id(arguments.thread_id)?;
        let Some(info) = session.debugger.exception_info(thread, true) else {
            return Err(RequestError::Other(format!(
                "thread {thread} is not stopped for an exception or a signal"
            )));
        };
        let full_type_name = info.type_name.clone();
        Ok(ExceptionInfoResponse {
            exception_id: info.id,
            description: Some(info.text),
            break_mode: match info.unhandled {
                true => ExceptionBreakMode::Unhandled,
                false => ExceptionBreakMode::Always,
            },
            details: ExceptionDetails {
                message: info.message,
                type_name: info.type_name,
                full_type_name,
                evaluate_name: info.expression,
                stack_trace: Some(stack_text(session, thread)?),
            },
        })
    }
}

/// Formats a stack as text. A run of frames of libraries is one line, so that the program's own frames are near the
/// top.
fn stack_text(session: &mut Session, thread: ThreadId) -> Result<String, RequestError> {
    let stack = session.debugger.stack(thread, 0, Some(MAX_FRAMES))?;
    let is_library = |frame: &Frame| session.debugger.is_library(frame);
    let has_own = stack.frames.iter().any(|frame| !is_library(frame));
    let alike = |one: &Frame, other: &Frame| has_own && is_library(one) && is_library(other);
    let runs: Vec<&[Frame]> = stack.frames.chunk_by(alike).collect();
    let mut text = String::new();
    for run in runs {
        if let [first, .., _] = run {
            let (level, count) = (first.key.level, run.len());
            let _ = writeln!(
                text,
                "#{level} {} … ({count} frames of libraries)",
                first.name
            );
            continue;
        }
        for frame in run {
            let _ = write!(text, "#{} {}", frame.key.level, frame.name);
            let _ = match &frame.location {
                Some(place) => {
                    let path = session.sources.of(&place.file.path, &session.client).path;
                    let path = path.unwrap_or_default();
                    writeln!(text, " at {path}:{}", session.client.line_out(place.line))
                }
                None => writeln!(text, " ({})", frame.pc),
            };
        }
    }
    if stack.frames.len() == MAX_FRAMES && stack.total.is_none_or(|total| total > MAX_FRAMES) {
        text.push_str("…\n");
    }
    Ok(text)
}
