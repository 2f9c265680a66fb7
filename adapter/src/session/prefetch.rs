//! What editors ask for next is done while they still read what they were told: the variables of
//! the frame that the program has stopped in. It is done by a thread that would only stay awake
//! otherwise, a few variables at a time between two looks at the client, and thrown away with the
//! first request that could change a value.

use crate::protocol::StackFrame;
use crate::requests::Locals;
use crate::server::Inbound;
use crate::session::Session;
use engine::{FrameKey, State, Stop, ThreadId};
use std::time::{Duration, Instant};

/// Variables between two looks at the client.
const STEP: usize = 8;
/// So long at a stop is worked for somebody who may not ask.
const BUDGET: Duration = Duration::from_millis(20);
/// Memory that the program shares with others may be another one later.
const FRESH: Duration = Duration::from_millis(100);
/// The requests that change no value.
const LOOKING: [&str; 6] = [
    "exceptionInfo",
    "scopes",
    "source",
    "stackTrace",
    "threads",
    "variables",
];

/// How far it has come.
#[derive(Debug, Default)]
pub enum Foresight {
    /// Nobody knows what will be asked for, or it was.
    #[default]
    Nothing,
    /// The stack of the thread that has stopped.
    Stack(ThreadId),
    /// Then the variables of a frame in it.
    Frame(FrameKey),
    /// Some of them are read, or all.
    Ready(Ready),
}

/// Variables of a frame.
#[derive(Debug)]
pub struct Ready {
    frame: FrameKey,
    locals: Locals,
    /// When they were begun with.
    at: Instant,
}

impl Foresight {
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

    /// Something came: most make what was read before it doubtful.
    pub fn heard(&mut self, inbound: &Inbound) {
        let changes = match inbound {
            Inbound::Request(request, ..) => !LOOKING.contains(&request.command.as_str()),
            _ => true,
        };
        if changes {
            *self = Self::Nothing;
        }
    }
}

/// Does some of what will be asked for. Whether there was something to do.
pub fn prepare(session: &mut Session) -> bool {
    let mut ready = match std::mem::take(&mut session.foresight) {
        Foresight::Frame(frame) if session.state() == State::Stopped => {
            let at = Instant::now();
            match Locals::of(session, frame) {
                Ok(locals) => Ready { frame, locals, at },
                // What is wrong is said to who asks.
                Err(_) => return true,
            }
        }
        Foresight::Ready(ready) if ready.locals.is_more() && ready.at.elapsed() < BUDGET => ready,
        other => {
            session.foresight = other;
            return false;
        }
    };
    session.foresight = match ready.locals.go_on(session, STEP) {
        Ok(()) => Foresight::Ready(ready),
        Err(_) => Foresight::Nothing,
    };
    true
}

/// What is ready of a frame's variables, for who asks for them.
pub fn locals(session: &mut Session, frame: FrameKey) -> Option<Locals> {
    match std::mem::take(&mut session.foresight) {
        Foresight::Ready(ready) if ready.frame == frame && ready.at.elapsed() < FRESH => {
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
        let mut foresight = Foresight::default();
        foresight.stopped(&stop(true));
        assert!(matches!(foresight, Foresight::Stack(ThreadId(1))));
        foresight.stopped(&stop(false));
        assert!(matches!(foresight, Foresight::Nothing));
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
        let mut foresight = Foresight::default();
        foresight.stopped(&stop);
        let frames = [
            frame(0, None, None),
            frame(1, source(), Some(FrameHint::Subtle)),
            frame(2, source(), None),
            frame(3, source(), None),
        ];
        for (key, frame) in &frames {
            foresight.shown(*key, frame);
        }
        assert!(matches!(foresight, Foresight::Frame(key) if key.level == 2));
    }
}
