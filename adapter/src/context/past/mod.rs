//! Past stops as a list, and what differs between two of them.

mod runs;
mod text;

pub use runs::{ENDS_HERE, difference as difference_of_runs, list_of_calls};
pub use text::{listed, state_of, summary_of, told};

use super::difference::change;
use crate::protocol::{self, Change, FrameChanges, RequestError};
use crate::session::Session;
use crate::session::describe::{limits_of, present};
use crate::session::history::Value;
use crate::session::past::{motion_of, reason_of};
use engine::{Frame, FrameKey, Limits, Named};
use std::collections::BTreeMap;

/// How a recording begins where there is none.
pub const NOT_RECORDED: &str = "the program is not recorded; the command `record` begins here, or set `record` to true in \
     the launch settings";
/// Maximum number of frames that are compared.
const MAX_FRAMES: usize = 16;
/// Maximum number of variables of a frame, and of static storage, that are compared.
const MAX_VARIABLES: usize = 128;
/// Maximum number of changes that are returned.
const MAX_CHANGES: usize = 100;
/// Maximum length of the text of a value that is compared, in bytes.
const MAX_TEXT: usize = 2000;

/// Returns the stops that can be shown, oldest first.
pub fn list(session: &mut Session) -> Vec<protocol::PastStop> {
    let stops = session.debugger.past_stops();
    let mut describe = |stop: engine::PastStop| {
        let place = stop.location.as_ref();
        let source = place.map(|place| session.sources.of_file(&place.file, &session.client));
        protocol::PastStop {
            number: stop.number as i64,
            thread_id: stop.thread.0.into(),
            reason: reason_of(&stop.reason),
            reached_by: motion_of(&stop).to_owned(),
            age: stop.at.elapsed().as_secs_f64(),
            path: source.and_then(|source| source.path),
            line: place.map(|place| session.client.line_out(place.line)),
            function: stop.function,
            is_present: stop.is_present,
            is_shown: stop.is_shown,
        }
    };
    stops.into_iter().map(&mut describe).collect()
}

/// Returns the state of the recording; `None`: the program is not recorded.
pub fn recording(session: &Session) -> Option<protocol::Recording> {
    let state = session.debugger.recording()?;
    Some(protocol::Recording {
        events: state.events as u64,
        bytes: state.bytes as u64,
        snapshots: state.snapshots.len() as u64,
        position: state
            .position
            .filter(|_| session.debugger.is_in_replay())
            .map(|position| position as u64),
        ended: state.ended,
        divergence: session.debugger.divergence().map(str::to_owned),
    })
}

/// Returns system calls of the recording, so many at most; `from` `None`: the last ones before the shown
/// place. Cost: the log before them is looked through.
///
/// # Errors
/// The program is not recorded.
pub fn calls(
    session: &mut Session,
    from: Option<usize>,
    most: usize,
) -> Result<protocol::SystemCalls, RequestError> {
    if !session.debugger.is_recorded() {
        return Err(RequestError::Other(NOT_RECORDED.to_owned()));
    }
    let before = session.debugger.calls_before_shown();
    let from = from.unwrap_or((before + 1).saturating_sub(most)).max(1);
    let calls = session.debugger.recorded_calls(from, most);
    Ok(protocol::SystemCalls {
        calls: calls.iter().map(runs::described).collect(),
        before: before as u64,
    })
}

/// The variables of a stop, as texts.
struct Picture {
    /// Innermost first.
    frames: Vec<PicturedFrame>,
    globals: BTreeMap<String, Value>,
}

struct PicturedFrame {
    function: String,
    variables: Vec<(String, Value)>,
}

/// Returns what differs between two stops; `to` `None`: the one that is shown.
///
/// # Errors
/// There are no such stops, or the request was cancelled.
pub fn changes(
    session: &mut Session,
    from: u64,
    to: Option<u64>,
) -> Result<protocol::PastChanges, RequestError> {
    let shown = session.debugger.shown_stop();
    let to = to.or(shown).ok_or(RequestError::Running)?;
    let pictures = pictures(session, from, to);
    session.debugger.show(shown)?;
    let (before, after) = pictures?;
    Ok(compare(&before, &after, to))
}

fn pictures(session: &mut Session, from: u64, to: u64) -> Result<(Picture, Picture), RequestError> {
    session.debugger.show(Some(to))?;
    let after = picture(session)?;
    session.debugger.show(Some(from))?;
    Ok((picture(session)?, after))
}

/// Reads the stop that is shown.
fn picture(session: &mut Session) -> Result<Picture, RequestError> {
    let thread = session
        .debugger
        .current_thread()
        .ok_or(RequestError::Running)?;
    let frames = session.debugger.stack(thread, 0, Some(MAX_FRAMES))?.frames;
    let limits = Limits {
        addresses: true,
        ..limits_of(MAX_TEXT)
    };
    let mut picture = Picture {
        frames: Vec::new(),
        globals: BTreeMap::new(),
    };
    for frame in &frames {
        if session.is_cancelled() {
            return Err(RequestError::Cancelled);
        }
        let variables = match frame.location {
            Some(_) => session.debugger.locals(frame.key)?,
            None => Vec::new(),
        };
        let skipped = variables.len().saturating_sub(MAX_VARIABLES);
        let values = variables.into_iter().skip(skipped);
        let values = values
            .map(|named| text_of(session, named, &limits))
            .collect();
        picture.frames.push(PicturedFrame {
            function: frame.name.clone(),
            variables: values,
        });
        add_globals(session, frame, &limits, &mut picture.globals);
    }
    Ok(picture)
}

fn add_globals(
    session: &mut Session,
    frame: &Frame,
    limits: &Limits,
    globals: &mut BTreeMap<String, Value>,
) {
    let is_own = frame.location.is_some() && !session.debugger.is_library(frame);
    if !is_own || globals.len() >= MAX_VARIABLES {
        return;
    }
    for named in globals_of(session, frame.key) {
        if globals.len() >= MAX_VARIABLES {
            return;
        }
        if !globals.contains_key(&named.name) {
            let (name, value) = text_of(session, named, limits);
            globals.insert(name, value);
        }
    }
}

fn globals_of(session: &mut Session, frame: FrameKey) -> Vec<Named> {
    session.debugger.globals(frame).unwrap_or_default()
}

fn text_of(session: &mut Session, named: Named, limits: &Limits) -> (String, Value) {
    let shown = match &named.value {
        Ok(value) => present(session, value, limits).text,
        Err(error) => format!("<{error}>"),
    };
    let value = Value {
        exact: shown.clone(),
        own: shown.clone(),
        shown,
    };
    (named.name, value)
}

fn compare(before: &Picture, after: &Picture, to: u64) -> protocol::PastChanges {
    let common = before.frames.iter().rev().zip(after.frames.iter().rev());
    let common = common.take_while(|(before, after)| before.function == after.function);
    let common = common.count();
    let (left, before_frames) = before.frames.split_at(before.frames.len() - common);
    let (entered, after_frames) = after.frames.split_at(after.frames.len() - common);
    let mut rest = MAX_CHANGES;
    let mut omitted = 0;
    let mut take = |changes: Vec<Change>| {
        let kept = changes.len().min(rest);
        rest -= kept;
        omitted += (changes.len() - kept) as u64;
        changes.into_iter().take(kept).collect::<Vec<_>>()
    };
    let mut frames = Vec::new();
    for (was, is) in before_frames.iter().zip(after_frames) {
        let variables = take(differences(&was.variables, &is.variables));
        if !variables.is_empty() {
            frames.push(FrameChanges {
                function: is.function.clone(),
                variables,
            });
        }
    }
    let pairs = |globals: &BTreeMap<String, Value>| -> Vec<(String, Value)> {
        let globals = globals.iter();
        globals
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let globals = take(differences(&pairs(&before.globals), &pairs(&after.globals)));
    let names = |frames: &[PicturedFrame]| frames.iter().map(|it| it.function.clone()).collect();
    protocol::PastChanges {
        to: to as i64,
        frames,
        entered: names(entered),
        left: names(left),
        globals,
        omitted,
    }
}

/// Returns the variables that both lists have with different values.
fn differences(before: &[(String, Value)], after: &[(String, Value)]) -> Vec<Change> {
    let changed = after.iter().filter_map(|(name, is)| {
        let (_, was) = before.iter().find(|(other, _)| other == name)?;
        (was.exact != is.exact).then(|| change(name, was, is))
    });
    changed.collect()
}
