//! What editors ask for next is done while they still read what they were told: the variables of
//! the frame that the program has stopped in. It is done by a thread that would only stay awake
//! otherwise, a few variables at a time between two looks at the client, and thrown away with the
//! first request that could change a value.

use super::describe::Locals;
use crate::protocol::StackFrame;
use crate::session::Session;
use engine::{FrameKey, State, Stop, ThreadId};
use std::time::{Duration, Instant};

/// Variables between two looks at the client.
const VARIABLES_PER_STEP: usize = 8;
/// Time for prefetching per stop: the client may never ask.
const PREFETCH_BUDGET: Duration = Duration::from_millis(20);
/// Maximum age of prefetched values: other processes may write to shared memory.
const MAX_AGE: Duration = Duration::from_millis(100);
/// How far it has come.
#[derive(Debug, Default)]
pub enum Prefetch {
    /// Nobody knows what will be asked for, or it was.
    #[default]
    Nothing,
    /// The stack of the thread that has stopped.
    Stack(ThreadId),
    /// Then the variables of a frame in it.
    Frame(FrameKey),
    /// Some of them are read, or all.
    Ready(PrefetchedLocals),
}

/// Variables of a frame.
#[derive(Debug)]
pub struct PrefetchedLocals {
    frame: FrameKey,
    locals: Locals,
    /// When they were begun with.
    at: Instant,
}

impl Prefetch {
    /// The program has stopped.
    pub fn stopped(&mut self, stop: &Stop) {
        *self = match stop.all {
            true => Self::Stack(stop.thread),
            // Threads that run change what others see.
            false => Self::Nothing,
        };
    }

    /// The client was shown a frame. Editors open the first one that has a source.
    pub fn shown(&mut self, key: FrameKey, frame: &StackFrame) {
        let is_opened = frame.source.is_some() && frame.presentation_hint.is_none();
        if is_opened && matches!(self, Self::Stack(thread) if *thread == key.thread) {
            *self = Self::Frame(key);
        }
    }

    /// What was read before may be wrong now.
    pub fn invalidate(&mut self) {
        *self = Self::Nothing;
    }
}

/// Does some of what will be asked for. Whether there was something to do.
pub fn advance(session: &mut Session) -> bool {
    let mut ready = match std::mem::take(&mut session.prefetch) {
        Prefetch::Frame(frame) if session.state() == State::Stopped => {
            let at = Instant::now();
            match Locals::of(session, frame) {
                Ok(locals) => PrefetchedLocals { frame, locals, at },
                // What is wrong is said to who asks.
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
    session.prefetch = match ready.locals.go_on(session, VARIABLES_PER_STEP) {
        Ok(()) => Prefetch::Ready(ready),
        Err(_) => Prefetch::Nothing,
    };
    true
}

/// What is ready of a frame's variables, for who asks for them.
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
    fn where_threads_run_on_nothing_is_foreseen() {
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
