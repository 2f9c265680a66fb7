//! The steps through a traced call: what a stop belongs to, and how the program goes on.

use super::observe::{self, Reading, Targets};
use super::{Flow, Inside, MAX_LINES, Pending, Running, TIME_IS_UP};
use crate::call_trace::{Frame, Outcome, Position, Recorder, Relation};
use crate::session::{Session, own_breakpoints};
use engine::{FrameKey, FrameKind, Granularity, Objects, ResumeScope, StepKind, ThreadId};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Frames searched for the one that threw an exception.
const MAX_FRAMES: usize = 16;

/// Begins to trace the call whose function a thread has entered.
pub(super) fn begin(session: &mut Session, running: &mut Running, thread: ThreadId) -> Flow {
    // Recursive calls would hit it, too.
    own_breakpoints::set_traced(session, None);
    own_breakpoints::watch_throws(session);
    let Some((position, top)) = here(session, thread) else {
        return Flow::Ends("the stack cannot be unwound".to_owned());
    };
    let mut objects = Objects::default();
    let arguments = observe::arguments(session, &mut objects, top.key, Targets::Whole);
    let frame = Frame {
        name: top.name.clone(),
        arguments,
    };
    let targets = observe::targets(session, &mut objects, top.key);
    let mut head = vec![observe::heading(session, &top)];
    if !frame.arguments.is_empty() {
        head.push(format!("arguments: {}", frame.arguments));
    }
    let has_info = top.kind != FrameKind::NoDebugInfo;
    let calls = match session.debugger.is_library(&top) {
        // Filters do not apply to a step that begins in what they hide: it would enter everything.
        true => StepKind::Over,
        false => StepKind::Into,
    };
    running.inside = Some(Inside {
        thread,
        calls,
        has_info,
        recorder: Recorder::new(position, frame),
        time_is_up: Instant::now() + Duration::from_secs(running.wanted.seconds),
        head,
        targets,
        files: Vec::new(),
        objects,
        pending: None,
        from_libraries: HashSet::new(),
        continues: false,
        thrown: None,
        thread_ended: None,
        written: HashMap::new(),
        moved: HashMap::new(),
        sources: HashMap::new(),
    });
    advance(session, running)
}

/// Returns the innermost activation of a thread and its frame.
fn here(session: &mut Session, thread: ThreadId) -> Option<(Position, engine::Frame)> {
    let activation = session.debugger.activation(thread).ok()??;
    let stack = session.debugger.stack(thread, 0, Some(1)).ok()?;
    let position = Position {
        frame: activation.frame.0,
        levels: activation.levels,
    };
    Some((position, stack.frames.into_iter().next()?))
}

/// Handles the end of a step.
pub(super) fn advance(session: &mut Session, running: &mut Running) -> Flow {
    let depth = running.wanted.depth;
    let Some(inside) = &mut running.inside else {
        return Flow::Goes;
    };
    let thread = inside.thread;
    let Some((position, top)) = here(session, thread) else {
        return Flow::Ends("the stack cannot be unwound".to_owned());
    };
    if let Some(pending) = inside.pending.take() {
        if !position.is_caller_of(pending.position) {
            // Caught inside it: it goes on.
            inside.pending = Some(pending);
            return step_out(session, thread);
        }
        inside.continues = true;
        if pending.is_recorded {
            let outcome = outcome(session, inside, &[pending.position], position);
            inside.recorder.add_call(pending.frame, outcome);
        }
    }
    let relation = inside.recorder.relation(position);
    if let Relation::Left(count) = relation {
        let mut left = inside.recorder.positions();
        left.truncate(count);
        for at in 0..left.len() {
            let outcome = outcome(session, inside, &left[at..], position);
            inside.recorder.leave(outcome);
        }
        if inside.recorder.depth() == 0 {
            return Flow::Ends(String::new());
        }
        inside.continues = true;
    }
    match inside.recorder.relation(position) {
        Relation::Callee if inside.continues => {
            // Back in a library that the traced function has called.
            inside.pending = Some(Pending {
                position,
                frame: Frame::default(),
                is_recorded: false,
            });
            return step_out(session, thread);
        }
        Relation::Callee => {
            if is_called_by_library(session, thread) {
                inside.from_libraries.insert(position.frame);
            }
            let frame = Frame {
                name: top.name.clone(),
                arguments: called_with(session, inside, top.key),
            };
            if inside.recorder.depth() > depth || session.debugger.is_library(&top) {
                inside.pending = Some(Pending {
                    position,
                    frame,
                    is_recorded: true,
                });
                return step_out(session, thread);
            }
            inside.recorder.enter(position, frame);
        }
        Relation::Same | Relation::Left(_) => {}
    }
    if top.name != inside.recorder.function() && !inside.recorder.function().is_empty() {
        let arguments = called_with(session, inside, top.key);
        inside.recorder.replace_function(Frame {
            name: top.name.clone(),
            arguments,
        });
    }
    let line = inside.line(top.location.as_ref());
    let is_begun = inside.recorder.line() == Some(line);
    if !(std::mem::take(&mut inside.continues) && is_begun) {
        begin_line(session, inside, (&top, position), line);
        if inside.recorder.lines() >= MAX_LINES {
            return Flow::Ends(format!("{MAX_LINES} lines were executed"));
        }
        if Instant::now() >= inside.time_is_up {
            return Flow::Ends(TIME_IS_UP.to_owned());
        }
    }
    step(session, thread, inside.calls)
}

fn begin_line(
    session: &mut Session,
    inside: &mut Inside,
    (top, position): (&engine::Frame, Position),
    line: crate::call_trace::Line,
) {
    let mut locals = session.debugger.locals(top.key).unwrap_or_default();
    locals.retain(|named| named.name != "iter" || observe::is_written(session, inside, named));
    if top.language == Some(engine::Language::Rust) {
        observe::note_moves(session, inside, position.frame, &locals);
    }
    let seen = locals
        .iter()
        .map(|named| observe::seen(session, inside, named))
        .collect();
    let Inside {
        recorder,
        objects,
        moved,
        ..
    } = inside;
    let mut reading = Reading { session, objects };
    recorder.begin_line(line, seen, |index, former| {
        let named = locals.get(index)?;
        let key = (position.frame, named.name.clone());
        match moved.get(&key) {
            Some(own) => reading.snapshot_of_moved(named, former, *own),
            None => reading.snapshot(named, former),
        }
    });
}

/// Handles an exception or a panic that is about to unwind the stack.
pub(super) fn on_throw(session: &mut Session, running: &mut Running) -> Flow {
    let Some(inside) = &mut running.inside else {
        return Flow::Goes;
    };
    let thread = inside.thread;
    let info = session.debugger.exception_info(thread, false);
    let what = info.map_or_else(|| "an exception".to_owned(), |info| info.text);
    let frames = session.debugger.stack(thread, 0, Some(MAX_FRAMES));
    let frames = frames.map(|stack| stack.frames).unwrap_or_default();
    let mut own = frames
        .iter()
        .filter(|frame| !session.debugger.is_library(frame));
    let place = own.next().map(observe::place);
    let text = match place {
        Some(place) => format!("{what} (in {place})"),
        None => what,
    };
    inside.recorder.remark(text.clone());
    inside.thrown = Some(text);
    inside.continues = true;
    step_out(session, thread)
}

/// Returns whether a library has called the innermost function.
fn is_called_by_library(session: &mut Session, thread: ThreadId) -> bool {
    let stack = session.debugger.stack(thread, 0, Some(2));
    let caller = stack.ok().and_then(|stack| stack.frames.into_iter().nth(1));
    caller.is_some_and(|caller| session.debugger.is_library(&caller))
}

/// Returns the arguments of a function that the traced one calls.
fn called_with(session: &mut Session, inside: &mut Inside, frame: FrameKey) -> String {
    observe::arguments(session, &mut inside.objects, frame, Targets::Numbers)
}

/// Returns how the first of the activations in `left` has ended; the thread has left all of them, and
/// is at `now`.
fn outcome(
    session: &mut Session,
    inside: &mut Inside,
    left: &[Position],
    now: Position,
) -> Outcome {
    let (Some(first), Some(last)) = (left.first(), left.last()) else {
        return Outcome::Unwound;
    };
    // An inlined call leaves its code, and has no value. The last machine frame is the one that may
    // have returned here.
    if first.frame == now.frame {
        return Outcome::Returned(None);
    }
    if first.frame != last.frame {
        return Outcome::Unwound;
    }
    let is_from_library = inside.from_libraries.remove(&first.frame);
    if !session.debugger.is_returned(inside.thread) {
        let may_have_returned = is_from_library && inside.thrown.is_none();
        return match inside.has_info && !may_have_returned {
            true => Outcome::Unwound,
            // Nothing is known of its result.
            false => Outcome::Returned(None),
        };
    }
    Outcome::Returned(match first.levels {
        1 => observe::returned(session, &mut inside.objects, inside.thread),
        _ => None,
    })
}

fn step(session: &mut Session, thread: ThreadId, calls: StepKind) -> Flow {
    let stepped = session
        .debugger
        .step_or_return(thread, calls, ResumeScope::All);
    flow(stepped)
}

fn step_out(session: &mut Session, thread: ThreadId) -> Flow {
    let stepped = session
        .debugger
        .step(thread, StepKind::Out, Granularity::Line, ResumeScope::All);
    flow(stepped)
}

fn flow(stepped: Result<(), engine::Error>) -> Flow {
    match stepped {
        Ok(()) => Flow::Goes,
        Err(error) => Flow::Ends(error.to_string()),
    }
}
