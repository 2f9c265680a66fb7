//! Stacks of one thread or of all, for `stillpoint/stacks`.

use super::stack::{self, Style};
use super::{MAX_FRAMES, deep, wait_of};
use crate::protocol::RequestError;
use crate::protocol::{ContextFrame, ContextThread, Stacks, StacksArguments};
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
    // Without a place to begin at, a deep stack is summed up. Stacks of all threads are not read to their ends.
    if arguments.thread_id.is_some() && arguments.start_frame.is_none() {
        return whole(session, thread, levels, arguments).unwrap_or_default();
    }
    let from = arguments.start_frame.unwrap_or(0);
    let start = match usize::try_from(from) {
        Ok(start) => start,
        Err(_) => {
            let read = stack::read(session, thread);
            let count = read.map_or(0, |(frames, _)| frames.len());
            count.saturating_sub(usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX))
        }
    };
    let Ok(stack) = session.debugger.stack(thread, start, Some(levels)) else {
        return ContextThread::default();
    };
    let end = start.saturating_add(stack.frames.len());
    ContextThread {
        stack: match arguments.folded {
            true => summary(session, &stack.frames, arguments),
            false => (stack.frames.iter())
                .map(|frame| stack::entry(session, frame, style))
                .collect(),
        },
        has_more: stack.total.is_none_or(|total| total > end),
        ..ContextThread::default()
    }
}

/// Returns the innermost frames of a thread; of a deep recursion also the rounds and the outermost frames.
fn whole(
    session: &mut Session,
    thread: engine::ThreadId,
    levels: usize,
    arguments: &StacksArguments,
) -> Option<ContextThread> {
    let (frames, is_whole) = stack::read(session, thread).ok()?;
    let has_more = frames.len() > levels || !is_whole;
    let is_deep = frames.len() > deep::DEEP;
    let shown = match is_deep {
        true => &frames[..],
        false => &frames[..levels.min(frames.len())],
    };
    let mut entries = summary(session, shown, arguments);
    if is_deep {
        stack::keep_levels(&mut entries, levels);
    }
    Some(ContextThread {
        stack: entries,
        has_more,
        depth: match is_deep && is_whole {
            true => frames.len() as u64,
            false => 0,
        },
        ..ContextThread::default()
    })
}

fn summary(
    session: &mut Session,
    frames: &[engine::Frame],
    arguments: &StacksArguments,
) -> Vec<ContextFrame> {
    let style = Style::of(arguments.addresses);
    match arguments.folded {
        true => {
            let level = stack::shown(session, frames).map(|frame| frame.key.level);
            stack::fold(session, frames, level, style)
        }
        false => stack::in_parts(session, frames, style),
    }
}
