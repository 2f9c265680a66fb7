//! Prefetch: reads the variables of the frame of a stop before the client requests them. The
//! session thread does so while it would otherwise spin, a few variables at a time between two
//! polls of the client. The first request that could change a value drops the result.

use super::describe::Locals;
use crate::protocol::StackFrame;
use crate::session::Session;
use engine::{FrameKey, State, Stop, ThreadId};
use std::time::{Duration, Instant};

/// Number of variables read between two polls of the client.
const VARIABLES_PER_STEP: usize = 8;
/// Time limit per stop: the client may never request them.
const PREFETCH_BUDGET: Duration = Duration::from_millis(20);
/// Maximum age of prefetched values: other processes may write to shared memory.
const MAX_AGE: Duration = Duration::from_millis(100);
/// The state of the prefetch.
#[derive(Debug, Default)]
pub enum Prefetch {
    /// Nothing to read: the next request is unknown, or it has arrived.
    #[default]
    Nothing,
    /// Next is the stack of the stopped thread.
    Stack(ThreadId),
    /// Next are the variables of a frame.
    Frame(FrameKey),
    /// Some or all variables are read.
    Ready(PrefetchedLocals),
}

/// The variables of a frame.
#[derive(Debug)]
pub struct PrefetchedLocals {
    frame: FrameKey,
    locals: Locals,
    /// When the first one was read.
    at: Instant,
}

impl Prefetch {
    /// Starts with the stack of a stop's thread.
    pub fn stopped(&mut self, stop: &Stop) {
        *self = match stop.all {
            true => Self::Stack(stop.thread),
            // Running threads may change the variables.
            false => Self::Nothing,
        };
    }

    /// Starts with a frame that was sent to the client, if editors would open it: the first with a
    /// source.
    pub fn shown(&mut self, key: FrameKey, frame: &StackFrame) {
        let is_opened = frame.source.is_some() && frame.presentation_hint.is_none();
        if is_opened && matches!(self, Self::Stack(thread) if *thread == key.thread) {
            *self = Self::Frame(key);
        }
    }

    /// Drops all values: they may have changed.
    pub fn invalidate(&mut self) {
        *self = Self::Nothing;
    }
}

/// Reads the next part. Returns false if there is nothing to read.
pub fn advance(session: &mut Session) -> bool {
    let mut ready = match std::mem::take(&mut session.prefetch) {
        Prefetch::Frame(frame) if session.state() == State::Stopped => {
            let at = Instant::now();
            match Locals::of(session, frame) {
                Ok(locals) => PrefetchedLocals { frame, locals, at },
                // The request will report the error.
                Err(_) => return true,
            }
        }
        Prefetch::Ready(ready)
            if ready.locals.is_more() && ready.at.elapsed() < PREFETCH_BUDGET =>
        {
            ready
        }
        other => {
            session.prefetch = other;
            return false;
        }
    };
    session.prefetch = match ready.locals.read_more(session, VARIABLES_PER_STEP) {
        Ok(()) => Prefetch::Ready(ready),
        Err(_) => Prefetch::Nothing,
    };
    true
}

/// Takes the prefetched variables of a frame; `None` if there are none, or they are too old.
pub fn locals(session: &mut Session, frame: FrameKey) -> Option<Locals> {
    match std::mem::take(&mut session.prefetch) {
        Prefetch::Ready(ready) if ready.frame == frame && ready.at.elapsed() < MAX_AGE => {
            Some(ready.locals)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{FrameHint, Source};
    use engine::StopReason;
    use std::rc::Rc;

    #[test]
    fn running_threads_prevent_prefetch() {
        let stop = |all| Stop {
            thread: ThreadId(1),
            all,
            reason: StopReason::Step,
            abandoned: None,
        };
        let mut prefetch = Prefetch::default();
        prefetch.stopped(&stop(true));
        assert!(matches!(prefetch, Prefetch::Stack(ThreadId(1))));
        prefetch.stopped(&stop(false));
        assert!(matches!(prefetch, Prefetch::Nothing));
    }

    #[test]
    fn the_frame_that_is_opened_is_the_first_with_a_source() {
        let frame = |level, source, presentation_hint| {
            let key = FrameKey {
                thread: ThreadId(1),
                level,
            };
            let frame = StackFrame {
                source,
                presentation_hint,
                ..StackFrame::default()
            };
            (key, frame)
        };
        let source = || Some(Rc::new(Source::default()));
        let stop = Stop {
            thread: ThreadId(1),
            all: true,
            reason: StopReason::Step,
            abandoned: None,
        };
        let mut prefetch = Prefetch::default();
        prefetch.stopped(&stop);
        let frames = [
            frame(0, None, None),
            frame(1, source(), Some(FrameHint::Subtle)),
            frame(2, source(), None),
            frame(3, source(), None),
        ];
        for (key, frame) in &frames {
            prefetch.shown(*key, frame);
        }
        assert!(matches!(prefetch, Prefetch::Frame(key) if key.level == 2));
    }
}
