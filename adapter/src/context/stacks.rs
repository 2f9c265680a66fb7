//! Stacks of one thread or of all, for `stillpoint/stacks`.

use super::stack::{self, Style};
use super::{MAX_FRAMES, wait_of};
use crate::protocol::RequestError;
use crate::protocol::{ContextThread, Stacks, StacksArguments};
use crate::session::Session;
use crate::session::handles::thread_id;

/// Default and maximum number of frames per thread.
const DEFAULT_AND_MAX_LEVELS: (usize, usize) = (20, 1000);
/// Maximum number of threads.
const MAX_THREADS: usize = 512;

/// Returns the stacks of one thread or of all.
///
/// # Errors
/// Not stopped, no such thread, or cancelled.
pub fn gather_stacks(
    session: &mut Session,
    arguments: &StacksArguments,
) -> Result<Stacks, RequestError> {
    session.history.begin_reply();
    let mut threads = session.debugger.threads();
    if let Some(id) = arguments.thread_id {
        let id = thread_id(id)?;
        // An unknown thread is an error.
        session.debugger.stack(id, 0, Some(1))?;
        threads.retain(|thread| thread.id == id);
    }
    let omitted = threads.len().saturating_sub(MAX_THREADS) as u64;
    let mut listed = Vec::new();
    for thread in threads.into_iter().take(MAX_THREADS) {
        if session.is_cancelled() {
            return Err(RequestError::Cancelled);
        }
        listed.push(ContextThread {
            thread_id: thread.id.0.into(),
            waits_for: wait_of(session, thread.id, arguments.addresses),
            name: thread.name,
            ..of_thread(session, thread.id, arguments)
        });
    }
    Ok(Stacks {
        threads: listed,
        omitted,
    })
}

/// Returns the frames of a thread; none while it runs (in non-stop mode).
fn of_thread(
    session: &mut Session,
    thread: engine::ThreadId,
    arguments: &StacksArguments,
) -> ContextThread {
    let number = |number: i64| usize::try_from(number).unwrap_or(0);
    let levels = arguments
        .levels
        .map_or(DEFAULT_AND_MAX_LEVELS.0, number)
        .min(DEFAULT_AND_MAX_LEVELS.1);
    let style = Style::of(arguments.addresses);
    if levels == 0 {
        let stack = session.debugger.stack(thread, 0, Some(MAX_FRAMES.1));
        let frames = stack.map(|stack| stack.frames).unwrap_or_default();
        let shown = stack::shown(session, &frames).cloned();
        return ContextThread {
            frame: shown.map(|frame| stack::entry(session, &frame, style)),
            ..ContextThread::default()
        };
    }
    let start = arguments.start_frame.map_or(0, number);
    let Ok(stack) = session.debugger.stack(thread, start, Some(levels)) else {
        return ContextThread::default();
    };
    let end = start.saturating_add(stack.frames.len());
    let frames = match arguments.folded {
        true => {
            let shown = stack::shown(session, &stack.frames);
            let level = shown.map(|frame| frame.key.level);
            stack::fold(session, &stack.frames, level, style)
        }
        false => {
            let frames = stack.frames.iter();
            frames
                .map(|frame| stack::entry(session, frame, style))
                .collect()
        }
    };
    ContextThread {
        stack: frames,
        has_more: stack.total.is_none_or(|total| total > end),
        ..ContextThread::default()
    }
}
