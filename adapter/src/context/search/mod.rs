//! A search among the values in reach of a frame: its variables, the unit's variables of static
//! storage, and what these point to and contain.

mod walk;
mod wanted;

use super::budget::cut;
use crate::protocol::{FoundValue, RequestError, SearchArguments, SearchResult};
use crate::session::Session;
use crate::session::describe::present;
use crate::session::handles::thread_id;
use engine::{FrameKey, Limits, LoadAddr, Pointees};
use walk::{Part, Walk};
use wanted::Wanted;

/// Default and maximum number of results.
const RESULTS: (usize, usize) = (20, 1000);
/// Maximum length of a result's value, type and expression in bytes.
const MAX_TEXT_BYTES: usize = 160;
/// Number of values compared to find the name of a lock.
const MAX_LOCK_PARTS: u64 = 4000;

/// Searches the values in reach of a frame.
///
/// # Errors
/// Not stopped, no such frame, nothing to search for, or cancelled.
pub fn search(
    session: &mut Session,
    arguments: &SearchArguments,
) -> Result<SearchResult, RequestError> {
    let wanted = Wanted::parse(&arguments.wanted).ok_or_else(|| {
        let message = "`wanted` is empty; set it to a number, an address or a text";
        RequestError::Arguments(message.to_owned())
    })?;
    let frame = match arguments.frame_id.filter(|id| *id != 0) {
        Some(id) => session.handles.frame(id)?,
        None => {
            let thread = session.history.thread().ok_or(RequestError::Running)?;
            FrameKey { thread, level: 0 }
        }
    };
    let most = arguments.limit.map_or(RESULTS.0, |limit| {
        usize::try_from(limit).unwrap_or(0).clamp(1, RESULTS.1)
    });
    session.history.begin_reply();
    let mut walk = Walk::of(session, frame)?;
    let mut result = SearchResult::default();
    while let Some(part) = walk.next(session)? {
        if !is_wanted(&wanted, &part) {
            walk.open(session, part)?;
            continue;
        }
        if result.found.len() == most {
            break;
        }
        result
            .found
            .push(describe(session, &part, arguments.addresses));
        // What it contains is the same again.
        if !matches!(wanted, Wanted::Address(_)) {
            walk.open(session, part)?;
        }
    }
    result.searched = walk.visited();
    result.complete = walk.is_complete();
    Ok(result)
}

fn is_wanted(wanted: &Wanted, part: &Part) -> bool {
    match wanted {
        Wanted::Address(address) => {
            part.target() == Some(LoadAddr(*address)) || part.place() == Some(LoadAddr(*address))
        }
        other => other.is(&part.shown.text),
    }
}

fn describe(session: &mut Session, part: &Part, addresses: bool) -> FoundValue {
    let limits = Limits {
        text: MAX_TEXT_BYTES,
        string: MAX_TEXT_BYTES,
        elements: 8,
        depth: 2,
        addresses,
        pointees: Pointees::Numbered,
        ..session.settings.limits.clone()
    };
    let text = match &part.value {
        Some(value) => present(session, value, &limits).text,
        None => part.shown.text.clone(),
    };
    FoundValue {
        expression: cut(&part.path, MAX_TEXT_BYTES),
        value: text,
        type_name: cut(&part.shown.type_name, MAX_TEXT_BYTES),
    }
}

/// Returns an expression for the lock at an address, as the frames of a thread from `level` on see
/// it; `None` if none of the first few does.
pub fn lock_name(session: &mut Session, thread: i64, level: u64, lock: LoadAddr) -> Option<String> {
    let thread = thread_id(thread).ok()?;
    for level in level..level + 3 {
        let level = usize::try_from(level).ok()?;
        let mut walk = Walk::of(session, FrameKey { thread, level }).ok()?;
        let mut inner = None;
        while let Ok(Some(part)) = walk.next(session) {
            if walk.visited() > MAX_LOCK_PARTS {
                break;
            }
            if part.place() == Some(lock) {
                let kind = part.shown.type_name.to_ascii_lowercase();
                if kind.contains("mutex") || kind.contains("lock") {
                    return Some(cut(&part.path, MAX_TEXT_BYTES));
                }
                inner.get_or_insert_with(|| part.path.clone());
            }
            walk.open(session, part).ok()?;
        }
        if inner.is_some() {
            return inner;
        }
    }
    None
}

/// Formats what a search has found.
pub fn text(result: &SearchResult) -> String {
    let mut text = String::new();
    for found in &result.found {
        text.push_str(&format!(
            "{} = {}  ({})\n",
            found.expression, found.value, found.type_name
        ));
    }
    let count = result.found.len();
    let end = match result.complete {
        true => "all in reach",
        false => "there are more in reach",
    };
    text.push_str(&format!(
        "{count} found in {} values ({end})\n",
        result.searched
    ));
    text
}
