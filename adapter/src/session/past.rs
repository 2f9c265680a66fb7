//! Past stops of the session: when they are kept, and what is sent to the client when one is shown.

use super::Session;
use crate::protocol::RequestError;
use crate::protocol::{CapabilitiesEventBody, ChangedCapabilities};
use engine::{
    Backward, BreakpointId, Debugger, Motion, PastStop, StepKind, StopReason, ThreadId, Watchable,
    Way,
};
use std::time::{Duration, Instant};

/// How the description of a stop in the past of a recorded program begins.
pub const IN_THE_PAST: &str = "In the past: ";

/// How long a client sends nothing once it has shown a stop.
const QUIET: Duration = Duration::from_millis(20);

/// What was sent to the client about past stops.
#[derive(Debug, Default)]
pub struct ReportedPast {
    /// Whether the capability to step back is announced.
    is_announced: bool,
    /// Whether a note has said what a past stop is.
    is_explained: bool,
    /// Whether a note has said how to return from the past of a recorded program.
    is_replay_explained: bool,
}

/// Returns when to keep the present stop: once there was nothing to do for a while, as requests for a stop
/// follow each other. `None`: it is kept, or not wanted.
pub fn deadline(session: &Session, quiet_since: Instant) -> Option<Instant> {
    let wanted = session.settings.past_stops && session.debugger.is_stop_to_be_kept();
    wanted.then(|| quiet_since + QUIET)
}

/// Keeps the present stop for later, if past stops are wanted. To be called while nothing else is to be
/// done.
pub fn keep(session: &mut Session) {
    if session.settings.past_stops {
        session.debugger.keep_stop();
    }
}

/// Keeps the present stop before the program is resumed, unless the stop was too short to be seen.
pub fn leave(session: &mut Session) {
    if session.settings.past_stops {
        session.debugger.keep_stop_before_resume();
    }
}

/// Goes to a neighbor of the stop that is shown.
///
/// # Errors
/// There is none in that direction; the error says what to do instead.
pub fn go(session: &mut Session, way: Way) -> Result<(), RequestError> {
    let folders = session.sources.mapped();
    session.debugger.set_mapped_sources(folders);
    session.debugger.go(way)?;
    forget_shown(session);
    Ok(())
}

/// Goes back: in the recording, unless there is none or it has ended, or else to a past stop. The stop is reported
/// once it is found.
///
/// # Errors
/// The thread is not stopped, the recording has ended, or no past stop is there; the error says what to
/// do instead.
pub fn go_back(session: &mut Session, thread: ThreadId, way: Backward) -> Result<(), RequestError> {
    let debugger = &session.debugger;
    // Without past stops, the error says why the recording has ended.
    if debugger.is_recording() || debugger.is_recorded() && !debugger.has_past() {
        session.debugger.go_back(thread, way)?;
        forget_shown(session);
        return Ok(());
    }
    match way {
        Backward::Continue => go(session, Way::Back),
        Backward::Step(StepKind::Out, _) => Err(RequestError::Other(
            "past stops do not lead out of a function backwards; set `record` to true in the launch \
             settings"
                .to_owned(),
        )),
        Backward::Step(..) => go(session, Way::StepBack(thread)),
    }
}

/// Goes back to the last change of data in the recording. The stop is reported once it is found.
///
/// # Errors
/// The thread is not stopped, the program is not recorded, or the data cannot be watched.
pub fn go_to_last_write(
    session: &mut Session,
    thread: ThreadId,
    data: &Watchable,
) -> Result<(), RequestError> {
    leave_shown(session, |debugger| debugger.go_to_last_write(thread, data))
}

/// Follows data back through copies to its origin. The stop there is reported once it is found.
///
/// # Errors
/// As [`go_to_last_write`].
pub fn go_to_origin(
    session: &mut Session,
    thread: ThreadId,
    data: &Watchable,
) -> Result<(), RequestError> {
    leave_shown(session, |debugger| debugger.go_to_origin(thread, data))
}

/// Goes to a place on the way to the origin that was found last, by its number from 1 on. The stop is reported.
///
/// # Errors
/// The thread is not stopped, or there is no such place.
pub fn go_to_hop(
    session: &mut Session,
    thread: ThreadId,
    number: usize,
) -> Result<(), RequestError> {
    let Some(index) = number.checked_sub(1) else {
        return Err(RequestError::Other(
            "the places are numbered from 1 on".to_owned(),
        ));
    };
    leave_shown(session, |debugger| debugger.go_to_hop(thread, index))
}

/// Records the program from this stop on.
///
/// # Errors
/// It is not stopped, or cannot be recorded; the error says why.
pub fn record(session: &mut Session, thread: ThreadId) -> Result<(), RequestError> {
    session.debugger.begin_recording(thread)?;
    announce(session);
    Ok(())
}

/// Goes to behind a system call of the recording, by its number. The stop is reported once it is found.
///
/// # Errors
/// The thread is not stopped, the program is not recorded, or there is no such call.
pub fn go_to_call(
    session: &mut Session,
    thread: ThreadId,
    number: usize,
) -> Result<(), RequestError> {
    leave_shown(session, |debugger| debugger.go_to_call(thread, number))
}

/// Goes to a hit of a breakpoint, by its number since the recording began. The stop is reported once it is found.
///
/// # Errors
/// The thread is not stopped, the program is not recorded, or there is no such breakpoint.
pub fn go_to_hit(
    session: &mut Session,
    thread: ThreadId,
    breakpoint: BreakpointId,
    number: u64,
) -> Result<(), RequestError> {
    leave_shown(session, |debugger| {
        debugger.go_to_hit(thread, breakpoint, number)
    })
}

/// Returns the breakpoint of the client at a place as it is written: `FILE:LINE`, of which the end of the path
/// is enough, a function, an address, or the name of watched data. Without a place: the one that the program is
/// stopped at, or the only one.
///
/// # Errors
/// There is none, or there are several; the error lists the places.
pub fn breakpoint_at(session: &Session, place: &str) -> Result<BreakpointId, RequestError> {
    /// So many places are listed in an error.
    const MOST: usize = 10;
    let mut all = session.debugger.breakpoint_places();
    all.retain(|it| !session.own_breakpoints.has(it.id));
    let stopped_at = session.debugger.breakpoints_of_stop();
    let is_at = |name: &str| {
        let before = name.strip_suffix(place);
        before.is_some_and(|it| it.is_empty() || it.ends_with(['/', '\\']) || it.ends_with("::"))
    };
    let found: Vec<BreakpointId> = match place {
        "" => {
            let own = all.iter().map(|it| it.id);
            let hit: Vec<_> = own.clone().filter(|id| stopped_at.contains(id)).collect();
            match hit.is_empty() {
                true => own.collect(),
                false => hit,
            }
        }
        _ => (all.iter().filter(|it| is_at(&it.place)))
            .map(|it| it.id)
            .collect(),
    };
    let why = match (found.as_slice(), place) {
        ([id], _) => return Ok(*id),
        ([], "") => "there is no breakpoint; set one first".to_owned(),
        ([], place) => format!("no breakpoint is at `{place}`"),
        (_, "") => "there are several breakpoints; name the place of one".to_owned(),
        (_, place) => format!("several breakpoints are at `{place}`; write more of the path"),
    };
    let places: Vec<&str> = (all.iter().take(MOST))
        .map(|it| it.place.as_str())
        .collect();
    Err(RequestError::Other(match places.is_empty() {
        true => why,
        false => format!("{why}: {}", places.join(", ")),
    }))
}

/// Goes to an event of the recording before the shown place. The stop is reported once it is found.
///
/// # Errors
/// The thread is not stopped, the program is not recorded, or the event is not before.
pub fn go_to_event(
    session: &mut Session,
    thread: ThreadId,
    event: usize,
) -> Result<(), RequestError> {
    leave_shown(session, |debugger| debugger.go_to_event(thread, event))
}

/// Runs the recording once more up to the place that is shown: log messages and tracepoints tell what they
/// would have told. The stop is then reported again.
///
/// # Errors
/// The thread is not stopped, or the program is not recorded.
pub fn replay(session: &mut Session, thread: ThreadId) -> Result<(), RequestError> {
    leave_shown(session, |debugger| debugger.tell_past(thread))
}

/// Goes to a stop; `None`: the present one, also from the past of a recorded program.
///
/// # Errors
/// There is no such stop.
pub fn visit(session: &mut Session, number: Option<u64>) -> Result<(), RequestError> {
    if number.is_none() {
        session.debugger.return_to_head();
    }
    session.debugger.visit(number)?;
    forget_shown(session);
    // For clients this request is no resume: without the event they keep the former stop beside this one.
    session.report_continued();
    Ok(())
}

/// Goes to another place. A failure changes nothing for the client, unless the past was left already.
fn leave_shown(
    session: &mut Session,
    go: impl FnOnce(&mut Debugger) -> Result<(), engine::Error>,
) -> Result<(), RequestError> {
    let was_in_replay = session.debugger.is_in_replay();
    let gone = go(&mut session.debugger);
    if gone.is_ok() || session.debugger.is_in_replay() != was_in_replay {
        forget_shown(session);
    }
    Ok(gone?)
}

/// Drops what belongs to the stop that was shown.
fn forget_shown(session: &mut Session) {
    session.codes.forget_lines();
    session.handles.clear();
    session.prefetch.invalidate();
}

/// Sends the client whether it can step back, if that has changed.
pub fn announce(session: &mut Session) {
    let has_past = session.debugger.is_recording() || session.debugger.has_past();
    if std::mem::replace(&mut session.past.is_announced, has_past) != has_past {
        let capabilities = ChangedCapabilities::of_past(has_past);
        session.event("capabilities", &CapabilitiesEventBody { capabilities });
    }
}

/// Returns the description of a stop in the past of a recorded program, in place of the description that
/// the stop would have in the present; `None`: the stop is not in the past.
pub fn describe_replay(
    session: &mut Session,
    reason: &str,
    description: Option<&str>,
) -> Option<String> {
    if !session.debugger.is_in_replay() {
        return None;
    }
    if !std::mem::replace(&mut session.past.is_replay_explained, true) {
        let prefix = &session.settings.command_prefix;
        let end = match session.debugger.is_recording_stored() {
            true => "its end",
            false => "the present",
        };
        let text = format!(
            "This is the past of the program, from its recording. Steps and `continue` go forward in it, \
             up to {end}; `{prefix}past present` returns there at once.\n"
        );
        session.important_note(&text);
    }
    Some(format!("{IN_THE_PAST}{}", description.unwrap_or(reason)))
}

/// Returns the reason of a visit for the event `stopped`, and its text.
pub fn describe_visit(session: &mut Session, number: u64, is_present: bool) -> (String, String) {
    if is_present {
        let text = "the program is stopped here; `continue` resumes it";
        return ("Back in the present".to_owned(), text.to_owned());
    }
    let stops = session.debugger.past_stops();
    let last = stops.last().map_or(number, |stop| stop.number);
    let what = format!("Past stop {number} of {last}");
    if !std::mem::replace(&mut session.past.is_explained, true) {
        let prefix = &session.settings.command_prefix;
        let text = format!(
            "{what}: memory and registers are as they were. The program itself waits at stop {last}, \
             unchanged. `{prefix}past present` returns there, `{prefix}past` lists the stops.\n"
        );
        session.important_note(&text);
    }
    let found = stops.iter().find(|stop| stop.number == number);
    let reason = found.map_or_else(String::new, |stop| reason_of(&stop.reason));
    (what, reason)
}

/// Returns how a stop was reached, in a word.
pub fn motion_of(stop: &PastStop) -> &'static str {
    match stop.reached_by {
        Motion::Step(_) => "step",
        Motion::Run => "run",
    }
}

/// Returns the reason of a stop in a few words.
pub fn reason_of(reason: &StopReason) -> String {
    let text = match reason {
        StopReason::Entry => "entry",
        StopReason::Step => "step",
        StopReason::Goto => "goto",
        StopReason::Restart => "restart of a frame",
        StopReason::Pause => "pause",
        StopReason::Breakpoint(_) | StopReason::BreakpointError(..) => "breakpoint",
        StopReason::CallEnded { .. } => "end of a call",
        StopReason::Data(_, what) => return what.clone(),
        StopReason::Signal { info, .. } => return info.signal.name().to_string(),
        StopReason::Exception { .. } => "exception",
        StopReason::Trap => "trap",
        StopReason::Exiting(_) => "exit",
        StopReason::EndOfRecording(_) => "end of the recording",
        StopReason::Visit { .. } => "visit",
    };
    text.to_owned()
}
