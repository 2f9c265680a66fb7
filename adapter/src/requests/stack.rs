//! Stacks and scopes.

use crate::protocol::RequestError;
use crate::protocol::{
    Capabilities, FrameHint, Scope, ScopesArguments, ScopesResponse, SourceHint, StackFrame,
    StackTraceArguments, StackTraceResponse,
};
use crate::requests::frame_names::name_of;
use crate::requests::{Effect, Request};
use crate::session::Session;
use crate::session::describe::describe_frame;
use crate::session::handles::ScopeKind;
use crate::session::handles::thread_id;
use crate::sources::MD5;
use std::borrow::Cow;
use std::rc::Rc;

/// Number of further frames reported while the end of the stack is not known.
const ASSUMED_FRAMES: usize = 20;

/// Returns a part of a thread's stack.
pub enum StackTrace {}

impl Request for StackTrace {
    const COMMAND: &'static str = "stackTrace";
    const EFFECT: Effect = Effect::Reads;
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
        // A breakpoint or a step in a library: the user wants to see the library.
        let shows_top = session.history.stopped_on_purpose(thread);
        let mut last = None;
        let format = arguments.format.unwrap_or_default();
        let modules = match format.module {
            Some(true) => session.debugger.modules(),
            _ => Vec::new(),
        };
        let mut stack_frames = Vec::with_capacity(frames.len());
        for mut frame in frames {
            let is_library = frame.location.is_some()
                && session.debugger.is_library(&frame)
                && !(shows_top && frame.key.level == 0);
            frame.name = name_of(session, &frame, &format, &modules)?;
            let key = frame.key;
            let mut frame = describe_frame(session, frame, &mut last);
            if is_library {
                deemphasize(&mut frame);
            }
            session.prefetch.shown(key, &frame);
            stack_frames.push(frame);
        }
        Ok(StackTraceResponse {
            stack_frames,
            total_frames: stack.total.unwrap_or(seen.saturating_add(ASSUMED_FRAMES)),
        })
    }
}

fn deemphasize(frame: &mut StackFrame) {
    frame.presentation_hint = Some(FrameHint::Subtle);
    if let Some(source) = &mut frame.source {
        Rc::make_mut(source).presentation_hint = Some(SourceHint::Deemphasize);
    }
}

/// Returns a frame's scopes.
pub enum Scopes {}

impl Request for Scopes {
    const COMMAND: &'static str = "scopes";
    const EFFECT: Effect = Effect::Reads;
    type Arguments = ScopesArguments;
    type Body = ScopesResponse;

    fn handle(
        session: &mut Session,
        arguments: ScopesArguments,
    ) -> Result<ScopesResponse, RequestError> {
        let frame = session.handles.frame(arguments.frame_id)?;
        let has_globals = session.debugger.has_globals(frame);
        let has_returned = session.debugger.has_returned(frame);
        let mut scope = |name, hint: Option<&'static str>, kind| Scope {
            name: Cow::Borrowed(name),
            presentation_hint: hint.map(Cow::Borrowed),
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
