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
use std::path::Path;
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
            let place = frame.location.as_ref();
            let is_library = own_first && place.is_some_and(|it| is_library_source(&it.file.path));
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

/// Folders with sources of the compilers' own libraries: Rust's with the crates that it is built with, and
/// headers of C++'s.
const LIBRARIES: [&str; 4] = ["/rustc", "/rust/deps", "/usr/include", "/usr/lib"];
/// Where rustup installs the sources of Rust's library (component `rust-src`). rustc records these
/// paths, not `/rustc/<hash>`, for generic functions that it compiles into the program.
const RUST_SOURCES: &str = "lib/rustlib/src";

/// Returns true if a source is part of a compiler's library.
fn is_library_source(path: &Path) -> bool {
    LIBRARIES.iter().any(|folder| path.starts_with(folder))
        || path
            .ancestors()
            .any(|folder| folder.ends_with(RUST_SOURCES))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_compilers_libraries() {
        let is_library = |path: &str| is_library_source(Path::new(path));
        assert!(is_library("/rustc/59807616/library/std/src/panicking.rs"));
        assert!(is_library(
            "/home/a/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/option.rs"
        ));
        assert!(is_library("/usr/include/c++/12/bits/stl_vector.h"));
        assert!(!is_library("/home/a/lib/rustlib/main.rs"));
        assert!(!is_library("src/main.rs"));
    }
}
