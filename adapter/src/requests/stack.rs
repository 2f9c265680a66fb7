//! Stacks and scopes.

use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, FrameHint, Scope, ScopesArguments, ScopesResponse, Source, SourceHint,
    StackFrame, StackTraceArguments, StackTraceResponse,
};
use crate::requests::Request;
use crate::requests::execution::thread_id;
use crate::requests::frame_names::name_of;
use crate::session::Session;
use crate::session::handles::ScopeKind;
use crate::sources::MD5;
use engine::{Frame, FrameKind, LoadAddr, SourceFile};
use std::rc::Rc;
use std::sync::Arc;

/// How many more frames a client is told of while the stack's end has not been seen.
const UNSEEN: usize = 20;

/// A part of a thread's stack.
pub enum StackTrace {}

impl Request for StackTrace {
    const COMMAND: &'static str = "stackTrace";
    type Arguments = StackTraceArguments;
    type Body = StackTraceResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_delayed_stack_trace_loading = true;
        capabilities.supports_value_formatting_options = true;
        capabilities.supported_checksum_algorithms = vec![MD5];
    }

    fn handle(
        session: &mut Session,
        arguments: StackTraceArguments,
    ) -> Result<StackTraceResponse, RequestError> {
        let size = |number: Option<i64>| usize::try_from(number.unwrap_or(0)).unwrap_or(0);
        let start = size(arguments.start_frame);
        let levels = Some(size(arguments.levels)).filter(|levels| *levels > 0);
        let thread = thread_id(arguments.thread_id)?;
        let stack = session.debugger.stack(thread, start, levels)?;
        let seen = start.saturating_add(stack.frames.len());
        let frames = stack.frames.into_iter();
        // There the program's own code is what people want to see first.
        let own_first = session.debugger.exception_info(thread, false).is_some();
        let mut last = None;
        let format = arguments.format.unwrap_or_default();
        let modules = match format.module {
            Some(true) => session.debugger.modules(),
            _ => Vec::new(),
        };
        let mut stack_frames = Vec::with_capacity(frames.len());
        for mut frame in frames {
            let is_library = own_first && is_of_a_library(&frame);
            frame.name = name_of(session, &frame, &format, &modules)?;
            let key = frame.key;
            let mut frame = describe_frame(session, frame, &mut last);
            if is_library {
                deemphasize(&mut frame);
            }
            session.foresight.shown(key, &frame);
            stack_frames.push(frame);
        }
        Ok(StackTraceResponse {
            stack_frames,
            total_frames: stack.total.unwrap_or(seen.saturating_add(UNSEEN)),
        })
    }
}

/// Where sources of compilers' own libraries are: Rust's, and headers of C++'s.
const LIBRARIES: [&str; 3] = ["/rustc", "/usr/include", "/usr/lib"];

/// Whether a frame is one of a compiler's own library.
fn is_of_a_library(frame: &Frame) -> bool {
    let place = frame.location.as_ref();
    place.is_some_and(|place| {
        let path = &place.file.path;
        LIBRARIES.iter().any(|folder| path.starts_with(folder))
    })
}

fn deemphasize(frame: &mut StackFrame) {
    frame.presentation_hint = Some(FrameHint::Subtle);
    if let Some(source) = &mut frame.source {
        Rc::make_mut(source).presentation_hint = Some(SourceHint::Deemphasize);
    }
}

/// The source of the frame before, which mostly is that of the next one too.
pub type LastSource = Option<(Arc<SourceFile>, Rc<Source>)>;

pub(super) fn source_of(
    session: &mut Session,
    file: &Arc<SourceFile>,
    last: &mut LastSource,
) -> Rc<Source> {
    if let Some((known, source)) = last
        && Arc::ptr_eq(known, file)
    {
        return Rc::clone(source);
    }
    let source = Rc::new(session.sources.of_file(file, &session.client));
    *last = Some((Arc::clone(file), Rc::clone(&source)));
    source
}

/// A frame as the client sees it: its source, or its machine code where it has none, or where it is
/// of a library of the system whose sources are not on this machine. `last` makes the next one of
/// the same source cheaper.
pub fn describe_frame(session: &mut Session, frame: Frame, last: &mut LastSource) -> StackFrame {
    let id = session.handles.frame_id(frame.key);
    let source = frame
        .location
        .as_ref()
        .map(|location| source_of(session, &location.file, last));
    let is_lost = source.as_ref().is_some_and(|source| {
        let nowhere = Some(SourceHint::Deemphasize);
        source.presentation_hint == nowhere && session.debugger.is_of_the_system(frame.module)
    });
    let location = frame.location.as_ref().filter(|_| !is_lost);
    let is_label = frame.kind == FrameKind::ConsoleCall;
    let (source, line, column) = match location {
        Some(location) => (
            source,
            session.client.line_out(location.line),
            session.sources.column_out(
                &location.file.path,
                location.line,
                location.column,
                &session.client,
            ),
        ),
        None if is_label => (None, 0, 0),
        None => match code_of(session, frame.code) {
            Some((source, line)) => (
                Some(Rc::new(source)),
                session.client.line_out(line),
                session.client.column_out(1),
            ),
            None => (None, 0, 0),
        },
    };
    let is_code = location.is_none();
    let is_gone = frame.kind == FrameKind::TailCall;
    StackFrame {
        id,
        name: match is_gone {
            true => format!("{} [tail call]", frame.name),
            false => frame.name,
        },
        presentation_hint: match is_label {
            true => Some(FrameHint::Label),
            false => (is_code || is_gone).then_some(FrameHint::Subtle),
        },
        source,
        line,
        column,
        can_restart: frame.can_restart,
        instruction_pointer_reference: frame.pc.to_string(),
        module_id: frame.module.map(|module| module.0),
    }
}

/// The machine code that an address is in, as a source, and the line there.
fn code_of(session: &mut Session, addr: LoadAddr) -> Option<(Source, u32)> {
    let (number, line) = match session.codes.known_line(addr) {
        Some(known) => known?,
        None => {
            let found = find_code(session, addr);
            session.codes.keep_line(addr, found);
            found?
        }
    };
    let code = session.codes.piece(number)?.clone();
    Some((session.codes.source(&code)?, line))
}

fn find_code(session: &mut Session, addr: LoadAddr) -> Option<(i64, u32)> {
    let debugger = &session.debugger;
    // Of what no image has, a piece that was shown before: steps should not open another each.
    let shown = session.codes.without_image().find(|code| {
        (code.start..code.end).contains(&addr.0)
            && debugger.line_in(code, addr).is_some_and(|line| {
                debugger
                    .address_of_line(code, line)
                    .is_ok_and(|it| it == addr)
            })
    });
    let code = match shown {
        Some(code) => code.clone(),
        None => debugger.code_at(addr)?,
    };
    let line = debugger.line_in(&code, addr)?;
    Some((session.codes.number(&code)?, line))
}

/// A frame's scopes, with numbers of their own.
pub enum Scopes {}

impl Request for Scopes {
    const COMMAND: &'static str = "scopes";
    type Arguments = ScopesArguments;
    type Body = ScopesResponse;

    fn handle(
        session: &mut Session,
        arguments: ScopesArguments,
    ) -> Result<ScopesResponse, RequestError> {
        let frame = session.handles.frame(arguments.frame_id)?;
        let has_globals = session.debugger.has_globals(frame);
        let has_returned = session.debugger.has_returned(frame);
        let mut scope = |name, presentation_hint, kind| Scope {
            name,
            presentation_hint,
            variables_reference: session.handles.scope_id(frame, kind),
            named_variables: matches!(kind, ScopeKind::Returned).then_some(1),
            expensive: matches!(kind, ScopeKind::Globals | ScopeKind::Registers),
        };
        let mut scopes = vec![scope("Locals", Some("locals"), ScopeKind::Locals)];
        if has_returned {
            let hint = Some("returnValue");
            scopes.push(scope("Return value", hint, ScopeKind::Returned));
        }
        if has_globals {
            scopes.push(scope("Globals", None, ScopeKind::Globals));
        }
        scopes.push(scope("Registers", Some("registers"), ScopeKind::Registers));
        Ok(ScopesResponse { scopes })
    }
}
