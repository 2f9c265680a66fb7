//! Traces one call: runs to it, steps through it line by line without the client, and returns one
//! text. What the steps mean is decided in [`crate::call_trace`]; this module makes them, at the
//! stops that the engine reports, so that requests are handled in between.

mod end;
mod inside;
mod observe;

use crate::call_trace::{Line, Pass, Position, Recorder, Wanted};
use crate::protocol::RequestError;
use crate::session::{Session, debuginfod, events, own_breakpoints};
use engine::{
    BreakpointInfo, BreakpointOptions, Event, FunctionBreakpoint, Objects, ProblemKind,
    ResumeScope, SourceFile, State, StepKind, Stop, StopReason, ThreadId,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of lines that a trace executes.
const MAX_LINES: u64 = 200_000;
/// Time from the end of the call's thread to that of the process.
const PROCESS_END_TIMEOUT: Duration = Duration::from_millis(100);
/// The end of a trace that has taken [`Wanted::seconds`].
const TIME_IS_UP: &str = "the call has taken the time that the trace has; `seconds` gives it more";

/// The state of a session's trace.
#[derive(Debug, Default)]
pub enum CallTrace {
    /// There is none.
    #[default]
    None,
    /// It waits for the call, or steps through it.
    Running(Box<Running>),
    /// It has ended: its text, or why it cannot begin, for the request that is repeated.
    Ended(Result<String, String>),
}

/// A trace in progress.
#[derive(Debug)]
pub struct Running {
    wanted: Wanted,
    /// The breakpoint on the function.
    breakpoint: BreakpointInfo,
    /// The thread to resume once the debug info is searched for the function. The program is
    /// stopped until then, so that a wrong name changes nothing.
    held: Option<ThreadId>,
    /// Why it is to end at the next stop.
    ending: Option<&'static str>,
    /// The call, once it has begun.
    inside: Option<Inside>,
}

/// A call that is being traced.
#[derive(Debug)]
struct Inside {
    thread: ThreadId,
    /// How calls are stepped: into them, so that they are listed, or over them.
    calls: StepKind,
    /// Whether the function has debug info: only then does a return differ from an exception.
    has_info: bool,
    recorder: Recorder,
    /// When the time of the trace is up.
    time_is_up: Instant,
    /// The first lines of the text.
    head: Vec<String>,
    /// Targets of the arguments, as they were at the beginning.
    targets: Vec<observe::Watched>,
    /// The files of lines, by number.
    files: Vec<Arc<SourceFile>>,
    /// The numbers of objects in values.
    objects: Objects,
    /// A call that is not traced, and is to return.
    pending: Option<Pending>,
    /// The activations that a library has called, by their frames: they return to code that is not
    /// stepped through, so that the return is not seen.
    from_libraries: HashSet<u64>,
    /// Whether the present stop continues the line: after a call that it made.
    continues: bool,
    /// The last exception or panic.
    thrown: Option<String>,
    /// Whether the program or the compiler declares the `iter` of a line.
    written: HashMap<Line, bool>,
    /// Variables that a line may have moved, by their frame: what tells their own value.
    moved: HashMap<(u64, String), Option<u64>>,
    /// The source of lines that were executed in Rust.
    sources: HashMap<Line, Option<Arc<str>>>,
    /// When the thread ended.
    thread_ended: Option<Instant>,
}

/// A call that is not traced.
#[derive(Debug)]
struct Pending {
    position: Position,
    frame: crate::call_trace::Frame,
    /// Whether it is recorded; otherwise it only leads back to the traced call.
    is_recorded: bool,
}

impl CallTrace {
    /// Returns true while a trace is in progress: the program is not the client's to inspect.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }

    /// Returns true if the request that waits for the trace can be repeated.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Ended(_))
    }

    /// Drops the text of a trace whose request was answered otherwise.
    pub fn forget_result(&mut self) {
        if self.has_ended() {
            *self = Self::None;
        }
    }
}

impl Inside {
    /// Returns a line with the number of its file.
    fn line(&mut self, place: Option<&engine::SourceLocation>) -> Line {
        let Some(place) = place else {
            return Line { file: 0, number: 0 };
        };
        let is_it = |file: &Arc<SourceFile>| Arc::ptr_eq(file, &place.file) || *file == place.file;
        let known = self.files.iter().position(is_it);
        let file = known.unwrap_or_else(|| {
            self.files.push(Arc::clone(&place.file));
            self.files.len() - 1
        });
        Line {
            file: u32::try_from(file).unwrap_or(u32::MAX),
            number: place.line,
        }
    }
}

/// Begins a trace, or returns the text of the one that has ended since.
///
/// # Errors
/// [`RequestError::Calling`]: it is in progress; repeat the request when it has ended. Otherwise it
/// cannot begin.
pub fn run(session: &mut Session, wanted: Wanted) -> Result<String, RequestError> {
    match std::mem::take(&mut session.call_trace) {
        CallTrace::Ended(text) => return text.map_err(RequestError::Other),
        running @ CallTrace::Running(_) => {
            session.call_trace = running;
            return Err(RequestError::Other(
                "another call is being traced; wait for it, or pause the program".to_owned(),
            ));
        }
        CallTrace::None => {}
    }
    begin(session, wanted)?;
    match std::mem::take(&mut session.call_trace) {
        CallTrace::Ended(text) => text.map_err(RequestError::Other),
        running => {
            session.call_trace = running;
            Err(RequestError::Calling)
        }
    }
}

fn begin(session: &mut Session, wanted: Wanted) -> Result<(), RequestError> {
    // The copy of a past stop cannot run. A replay can: the trace begins at the place that it shows.
    session.debugger.put_past_aside();
    let was_stopped = match session.state() {
        State::Stopped => true,
        // What is held runs after `configurationDone`.
        State::Running | State::Held => false,
        State::Ended => return Err(RequestError::Ended),
        State::NoProcess => return Err(RequestError::NoProcess),
    };
    session.debugger.can_run()?;
    if session.settings.no_debug {
        let text = "breakpoints are disabled (`noDebug`), so no call can be traced";
        return Err(RequestError::Other(text.to_owned()));
    }
    if session.debugger.is_non_stop() {
        let text = "cannot trace a call in non-stop mode; launch without `nonStop`";
        return Err(RequestError::Other(text.to_owned()));
    }
    let (condition, hit_condition) = match &wanted.pass {
        Pass::Next => (None, None),
        Pass::Hit(number) => (None, Some(number.to_string())),
        Pass::If(condition) => (Some(condition.clone()), None),
    };
    let function = FunctionBreakpoint {
        name: wanted.function.clone(),
        options: BreakpointOptions {
            condition,
            hit_condition,
            counts_passes: true,
            ..BreakpointOptions::default()
        },
    };
    let set = own_breakpoints::set_traced(session, Some(function));
    let breakpoint = match set {
        Some(info) if !info.failed => info,
        failed => {
            own_breakpoints::set_traced(session, None);
            let why = failed.and_then(|info| info.message);
            let why = why.unwrap_or_else(|| "no breakpoint can be set on it".to_owned());
            return Err(RequestError::Other(why));
        }
    };
    session.call_trace = CallTrace::Running(Box::new(Running {
        wanted,
        breakpoint,
        held: session.debugger.current_thread().filter(|_| was_stopped),
        ending: None,
        inside: None,
    }));
    go_on_held(session);
    Ok(())
}

/// Begins a trace that waits for its function to be found, or ends it: there is no such function.
fn go_on_held(session: &mut Session) {
    let CallTrace::Running(running) = &mut session.call_trace else {
        return;
    };
    let info = session.debugger.breakpoint(running.breakpoint.id);
    let info = info.unwrap_or_else(|| running.breakpoint.clone());
    match (info.verified, info.problem) {
        (false, Some(ProblemKind::Searching)) => return,
        (false, Some(ProblemKind::NotFound))
            if running.held.is_some() && !session.debugger.awaits_libraries() =>
        {
            let why = info.message.unwrap_or_default();
            let why = why.trim_start_matches("pending: ").to_owned();
            return end_held(session, why);
        }
        _ => {}
    }
    if let Some(thread) = running.held.take()
        && let CallTrace::Running(running) = std::mem::take(&mut session.call_trace)
    {
        resume_held(session, running, thread);
    }
}

/// Ends a trace for which the program has not been resumed.
fn end_held(session: &mut Session, why: String) {
    own_breakpoints::set_traced(session, None);
    session.call_trace = CallTrace::Ended(Err(why));
}

/// Resumes the program up to the call, unless the thread is at its beginning.
fn resume_held(session: &mut Session, mut running: Box<Running>, thread: ThreadId) {
    let at_beginning = running.wanted.pass == Pass::Next
        && (session.debugger).is_at_breakpoint(thread, running.breakpoint.id);
    debuginfod::before_resume(session);
    session.prefetch.invalidate();
    session.report_continued();
    session.codes.forget_lines();
    session.handles.clear();
    let flow = match at_beginning {
        true => inside::begin(session, &mut running, thread),
        false => match session.debugger.resume(thread, ResumeScope::All) {
            Ok(_) => Flow::Goes,
            Err(error) => Flow::Ends(error.to_string()),
        },
    };
    match flow {
        Flow::Goes => session.call_trace = CallTrace::Running(running),
        Flow::Ends(why) => {
            end::end(session, *running, &why);
            let stop = Stop {
                thread,
                all: true,
                reason: StopReason::Step,
                abandoned: None,
            };
            events::report(session, Event::Stopped(stop));
        }
    }
}

/// Whether a trace goes on after a stop.
enum Flow {
    /// The program runs to the next stop.
    Goes,
    /// The trace ends here, for this reason; empty: the call has ended.
    Ends(String),
}

/// Makes a trace end at the next stop, because of a request of the client.
pub fn end_soon(session: &mut Session, why: &'static str) {
    match &mut session.call_trace {
        CallTrace::Running(running) if running.held.is_some() => end_held(session, why.to_owned()),
        CallTrace::Running(running) => running.ending = Some(why),
        CallTrace::None | CallTrace::Ended(_) => {}
    }
}

/// Interrupts a trace whose request the client has cancelled.
pub fn check_cancelled(session: &mut Session) {
    if session.call_trace.is_running() && session.deferred.is_cancelled() {
        end_soon(session, "cancelled");
    }
    // One that has not begun has ended at once.
    if session.call_trace.is_running() && session.deferred.is_cancelled() {
        interrupt(session);
    }
}

/// Returns when the time of a trace is up, or that of a thread's end to become that of the process.
pub fn deadline(session: &Session) -> Option<Instant> {
    let CallTrace::Running(running) = &session.call_trace else {
        return None;
    };
    let inside = running.inside.as_ref()?;
    match inside.thread_ended {
        Some(at) => Some(at + PROCESS_END_TIMEOUT),
        None => Some(inside.time_is_up).filter(|_| running.ending.is_none()),
    }
}

/// Ends or interrupts a trace whose time is up. Returns true if it has ended.
pub fn check_time(session: &mut Session) -> bool {
    if deadline(session).is_none_or(|due| Instant::now() < due) {
        return false;
    }
    match std::mem::take(&mut session.call_trace) {
        CallTrace::Running(running) if has_lost_thread(&running) => {
            end::end(session, *running, "its thread ended; the program runs");
            true
        }
        running => {
            session.call_trace = running;
            end_soon(session, TIME_IS_UP);
            interrupt(session);
            false
        }
    }
}

fn has_lost_thread(running: &Running) -> bool {
    let inside = running.inside.as_ref();
    inside.is_some_and(|inside| inside.thread_ended.is_some())
}

/// Records that the thread of a call has ended. If the process ends, too, that is reported next.
fn note_thread_end(session: &mut Session) {
    if let CallTrace::Running(running) = &mut session.call_trace
        && let Some(inside) = &mut running.inside
    {
        inside.thread_ended = Some(Instant::now());
    }
}

fn interrupt(session: &mut Session) {
    if let Some(thread) = session.debugger.threads().first() {
        // Without a process there is nothing to interrupt.
        let _ = session.debugger.interrupt(thread.id);
    }
}

/// Handles an event of the engine while a trace may be in progress. Returns the event for the client.
pub fn on_event(session: &mut Session, event: Event) -> Option<Event> {
    let CallTrace::Running(running) = &session.call_trace else {
        return Some(event);
    };
    let thread = running.inside.as_ref().map(|inside| inside.thread);
    let why = match event {
        Event::Stopped(stop) => return on_stop(session, stop),
        Event::Exited(status) => format!("the process ended: {}", end::status(status)),
        Event::ThreadExited(ended) if thread == Some(ended) => {
            note_thread_end(session);
            return Some(event);
        }
        Event::BreakpointChanged(id) if id == running.breakpoint.id => {
            go_on_held(session);
            return None;
        }
        Event::Exec if thread.is_some() => "the process replaced its program; it runs".to_owned(),
        Event::Followed { .. } => "the debugger follows a child process, which runs".to_owned(),
        event => return Some(event),
    };
    if let CallTrace::Running(running) = std::mem::take(&mut session.call_trace) {
        end::end(session, *running, &why);
    }
    Some(event)
}

fn on_stop(session: &mut Session, stop: Stop) -> Option<Event> {
    let CallTrace::Running(mut running) = std::mem::take(&mut session.call_trace) else {
        return Some(Event::Stopped(stop));
    };
    let (reason, is_own) = without_own(session, stop.reason);
    let thread = stop.thread;
    let flow = match (running.ending, running.inside.as_ref()) {
        (Some(why), _) => Flow::Ends(why.to_owned()),
        (None, None) => match &reason {
            StopReason::Breakpoint(_) if is_own => inside::begin(session, &mut running, thread),
            reason => Flow::Ends(end::reason(session, thread, reason)),
        },
        (None, Some(inside)) if inside.thread != thread => {
            let what = end::reason(session, thread, &reason);
            Flow::Ends(format!("another thread stopped: {what}"))
        }
        (None, Some(_)) => match &reason {
            StopReason::Step => inside::advance(session, &mut running),
            StopReason::Exception { ids, .. } if is_own && ids.is_empty() => {
                inside::on_throw(session, &mut running)
            }
            reason => Flow::Ends(end::reason(session, thread, reason)),
        },
    };
    match flow {
        Flow::Goes => {
            session.call_trace = CallTrace::Running(running);
            None
        }
        Flow::Ends(why) => {
            end::end(session, *running, &why);
            let reason = match reason {
                StopReason::Breakpoint(ids) if ids.is_empty() => StopReason::Step,
                reason => reason,
            };
            Some(Event::Stopped(Stop { reason, ..stop }))
        }
    }
}

/// Removes the session's own breakpoints from a reason. Returns whether one of them was hit.
fn without_own(session: &Session, mut reason: StopReason) -> (StopReason, bool) {
    let (StopReason::Breakpoint(ids)
    | StopReason::BreakpointError(ids, _)
    | StopReason::Exception { ids, .. }) = &mut reason
    else {
        return (reason, false);
    };
    let all = ids.len();
    ids.retain(|id| !session.own_breakpoints.has(*id));
    let is_own = ids.len() < all;
    (reason, is_own)
}
