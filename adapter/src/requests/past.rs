//! Steps back, and past stops: the latter are requests that are not in the specification.

use crate::context;
use crate::protocol;
use crate::protocol::{
    DataBreakpointInfoArguments, RequestError, StepBackArguments, StepBackKind, ThreadArguments,
};
use crate::requests::data_breakpoints;
use crate::requests::execution::granularity;
use crate::requests::{Effect, InThePast, Request};
use crate::session::handles::thread_id;
use crate::session::{Session, past};
use engine::{Backward, BreakpointId, StepKind, ThreadId};
use serde::{Deserialize, Serialize};

/// Goes back to where a thread's last step began.
pub enum StepBack {}

impl Request for StepBack {
    const COMMAND: &'static str = "stepBack";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = StepBackArguments;
    type Body = ();

    fn handle(session: &mut Session, arguments: StepBackArguments) -> Result<(), RequestError> {
        let thread = thread_id(arguments.thread_id)?;
        let granularity = granularity(session, arguments.granularity);
        let kind = match arguments.kind {
            None | Some(StepBackKind::Over) => StepKind::Over,
            Some(StepBackKind::Into) => StepKind::Into,
            Some(StepBackKind::Out) => StepKind::Out,
        };
        past::go_back(session, thread, Backward::Step(kind, granularity))
    }
}

/// Goes back to the stop before.
pub enum ReverseContinue {}

impl Request for ReverseContinue {
    const COMMAND: &'static str = "reverseContinue";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = ThreadArguments;
    type Body = ();

    fn handle(session: &mut Session, arguments: ThreadArguments) -> Result<(), RequestError> {
        let thread = thread_id(arguments.thread_id)?;
        past::go_back(session, thread, Backward::Continue)
    }
}

/// Goes back to the last change of a variable or another value.
pub enum LastWrite {}

impl Request for LastWrite {
    const COMMAND: &'static str = "stillpoint/lastWrite";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = DataBreakpointInfoArguments;
    type Body = ();

    fn handle(
        session: &mut Session,
        arguments: DataBreakpointInfoArguments,
    ) -> Result<(), RequestError> {
        let data = data_breakpoints::find(session, &arguments)?;
        go(session, arguments.frame_id, |session, thread| {
            past::go_to_last_write(session, thread, &data)
        })
    }
}

/// Lets log messages and tracepoints tell what they would have told since the start of the program.
pub enum Replay {}

impl Request for Replay {
    const COMMAND: &'static str = "stillpoint/replay";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = NoArguments;
    type Body = ();

    fn handle(session: &mut Session, _: NoArguments) -> Result<(), RequestError> {
        let thread = session.debugger.current_thread();
        past::replay(session, thread.ok_or(engine::Error::NotStopped)?)?;
        // For clients this request is no resume.
        session.report_continued();
        Ok(())
    }
}

/// Arguments of `stillpoint/pastStops`: none.
#[derive(Serialize, Deserialize)]
pub struct NoArguments {}

/// Returns the stops that can be shown.
pub enum PastStops {}

impl Request for PastStops {
    const COMMAND: &'static str = "stillpoint/pastStops";
    const EFFECT: Effect = Effect::Reads;
    type Arguments = NoArguments;
    type Body = protocol::PastStops;

    fn handle(session: &mut Session, _: NoArguments) -> Result<protocol::PastStops, RequestError> {
        past::keep(session);
        let stops = context::past::list(session);
        let recording = context::past::recording(session);
        Ok(protocol::PastStops { stops, recording })
    }
}

/// Shows a stop.
pub enum VisitStop {}

impl Request for VisitStop {
    const COMMAND: &'static str = "stillpoint/visitStop";
    const IN_THE_PAST: InThePast = InThePast::Shown;
    type Arguments = protocol::VisitStopArguments;
    type Body = ();

    fn handle(
        session: &mut Session,
        arguments: protocol::VisitStopArguments,
    ) -> Result<(), RequestError> {
        let number = arguments.number.map(|number| number.unsigned_abs());
        past::visit(session, number)
    }
}

/// Returns system calls of the recording.
pub enum SystemCalls {}

impl Request for SystemCalls {
    const COMMAND: &'static str = "stillpoint/systemCalls";
    const EFFECT: Effect = Effect::Reads;
    type Arguments = protocol::SystemCallsArguments;
    type Body = protocol::SystemCalls;

    fn handle(
        session: &mut Session,
        arguments: protocol::SystemCallsArguments,
    ) -> Result<protocol::SystemCalls, RequestError> {
        /// So many are returned if the client asks for no number.
        const USUAL: i64 = 20;
        /// So many at most.
        const MOST: i64 = 200;
        let from = arguments.from.map(index).transpose()?;
        let count = arguments.count.unwrap_or(USUAL).clamp(0, MOST);
        context::past::calls(session, from, count as usize)
    }
}

/// Goes to behind a system call of the recording.
pub enum VisitCall {}

impl Request for VisitCall {
    const COMMAND: &'static str = "stillpoint/visitCall";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = protocol::VisitCallArguments;
    type Body = ();

    fn handle(
        session: &mut Session,
        arguments: protocol::VisitCallArguments,
    ) -> Result<(), RequestError> {
        let number = index(arguments.number)?;
        go(session, None, |session, thread| {
            past::go_to_call(session, thread, number)
        })
    }
}

/// Goes to a hit of a breakpoint.
pub enum VisitHit {}

impl Request for VisitHit {
    const COMMAND: &'static str = "stillpoint/visitHit";
    const EFFECT: Effect = Effect::Runs;
    type Arguments = protocol::VisitHitArguments;
    type Body = ();

    fn handle(
        session: &mut Session,
        arguments: protocol::VisitHitArguments,
    ) -> Result<(), RequestError> {
        let breakpoint = match arguments.breakpoint_id {
            // No breakpoint has a number that is none.
            Some(id) => BreakpointId(u32::try_from(id).unwrap_or(0)),
            None => past::breakpoint_at(session, "")?,
        };
        let number = index(arguments.number)?;
        go(session, None, |session, thread| {
            past::go_to_hit(session, thread, breakpoint, number as u64)
        })
    }
}

/// Goes elsewhere in the recording, from the thread of a frame, or from the current one.
///
/// # Errors
/// The frame is gone, no thread is stopped, or `way` refuses.
pub fn go(
    session: &mut Session,
    frame: Option<i64>,
    way: impl FnOnce(&mut Session, ThreadId) -> Result<(), RequestError>,
) -> Result<(), RequestError> {
    let thread = match frame.filter(|id| *id != 0) {
        Some(id) => Some(session.handles.frame(id)?.thread),
        None => session.debugger.current_thread(),
    };
    way(session, thread.ok_or(engine::Error::NotStopped)?)?;
    // For clients this request is no resume.
    session.report_continued();
    Ok(())
}

/// Returns a number of what is counted from 1 on.
///
/// # Errors
/// It is smaller.
pub fn index(number: i64) -> Result<usize, RequestError> {
    let index = usize::try_from(number).ok().filter(|it| *it > 0);
    index.ok_or_else(|| RequestError::Other(format!("{number} is no number: they begin with 1")))
}

/// Returns what differs between two stops.
pub enum PastChanges {}

impl Request for PastChanges {
    const COMMAND: &'static str = "stillpoint/pastChanges";
    const EFFECT: Effect = Effect::Reads;
    type Arguments = protocol::PastChangesArguments;
    type Body = protocol::PastChanges;

    fn handle(
        session: &mut Session,
        arguments: protocol::PastChangesArguments,
    ) -> Result<protocol::PastChanges, RequestError> {
        let to = arguments.to.map(i64::unsigned_abs);
        context::past::changes(session, arguments.from.unsigned_abs(), to)
    }
}
