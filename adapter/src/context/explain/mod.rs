//! Why a program is stopped or hangs, in one answer: what has happened, the lines of the stack with
//! the values that they use, what the threads wait for, and which of them wait for each other.

mod text;
mod used;

pub use text::text;

use super::budget::cut;
use super::{MAX_FRAMES, MAX_NAME_BYTES, search, stack};
use crate::protocol::{
    ContextFrame, ExplainArguments, ExplainedFrame, ExplainedThread, ExplainedWait, Explanation,
    RequestError, UsedValue,
};
use crate::session::Session;
use crate::session::describe::present;
use crate::session::handles::thread_id;
use engine::{Frame, Limits, LoadAddr, Pointees, Purpose, ThreadId, Waiting};
use std::collections::BTreeMap;

/// Maximum number of threads examined, and of entries for threads.
const MAX_THREADS: usize = 256;
const MAX_ENTRIES: usize = 16;
/// Number of frames shown of the explained thread, and of one that waits for another thread.
const FRAMES: (usize, usize) = (3, 2);
/// Room for the callers of those frames, a line each, in bytes.
const CALLERS_BYTES: usize = 1200;
/// Maximum number of threads shown with their lines because they wait at a lock whose owner is
/// unknown.
const MAX_AT_LOCKS: usize = 4;
/// Maximum number of values of a line.
const MAX_VALUES: usize = 8;
/// Maximum length of a value and of a source line in bytes.
const MAX_VALUE_BYTES: usize = 120;
const MAX_LINE_BYTES: usize = 160;

/// Explains the stop.
///
/// # Errors
/// Not stopped, no such thread, or cancelled.
pub fn explain(
    session: &mut Session,
    arguments: &ExplainArguments,
) -> Result<Explanation, RequestError> {
    let thread = match arguments.thread_id {
        Some(id) => thread_id(id)?,
        None => session.history.thread().ok_or(RequestError::Running)?,
    };
    session.history.begin_reply();
    // An unknown thread is an error.
    session.debugger.stack(thread, 0, Some(1))?;
    let mut threads = session.debugger.threads();
    threads.sort_by_key(|it| it.id != thread);
    threads.truncate(MAX_THREADS);
    let mut waits = BTreeMap::new();
    for it in &threads {
        if let Some(wait) = session.debugger.waiting(it.id) {
            waits.insert(it.id, wait);
        }
    }
    let deadlock = deadlock(&waits);
    let mut entries: Vec<ExplainedThread> = Vec::new();
    let mut at_locks = 0;
    for it in threads {
        if session.is_cancelled() {
            return Err(RequestError::Cancelled);
        }
        let wait = waits.get(&it.id);
        let count = match (it.id == thread, deadlock.contains(&it.id)) {
            (true, _) => FRAMES.0,
            (false, true) => FRAMES.1,
            (false, false) => 0,
        };
        let describe = |session: &mut Session, name: String, count: usize| {
            thread_entry(session, it.id, name, wait, count, arguments.addresses)
        };
        let Some(entry) = describe(session, it.name.clone(), count) else {
            continue;
        };
        let same = entries.iter_mut().find(|other| is_same(other, &entry));
        if let Some(other) = same.filter(|_| count == 0) {
            other.others.push(entry.thread_id);
            continue;
        }
        // No owner tells where the lock was taken: the callers may.
        let is_at_lock = count == 0 && matches!(wait, Some(Waiting::Word(_)));
        if is_at_lock && at_locks < MAX_AT_LOCKS {
            at_locks += 1;
            entries.extend(describe(session, it.name, FRAMES.1));
            continue;
        }
        entries.push(entry);
    }
    let in_deadlock =
        |it: &ExplainedThread| deadlock.iter().any(|id| i64::from(id.0) == it.thread_id);
    entries.sort_by_key(|it| (it.thread_id != i64::from(thread.0), !in_deadlock(it)));
    entries.truncate(MAX_ENTRIES);
    let stop = session.history.begin(thread);
    let what = stop.text.or(stop.description).unwrap_or(stop.reason);
    Ok(Explanation {
        what,
        threads: entries,
        deadlock: deadlock.iter().map(|id| i64::from(id.0)).collect(),
    })
}

/// Returns whether two threads wait for the same, or run, at the same place.
fn is_same(one: &ExplainedThread, other: &ExplainedThread) -> bool {
    let place = |it: &ExplainedThread| {
        let frame = it.frames.first();
        frame.map(|frame| (frame.name.clone(), frame.line))
    };
    one.wait == other.wait && place(one) == place(other)
}

/// Returns threads that wait for each other; empty if none do.
fn deadlock(waits: &BTreeMap<ThreadId, Waiting>) -> Vec<ThreadId> {
    let next = |thread: &ThreadId| match waits.get(thread)? {
        Waiting::Mutex(wait) => Some(wait.owner),
        Waiting::EndOf(other) => Some(*other),
        _ => None,
    };
    for first in waits.keys() {
        let mut chain = vec![*first];
        while let Some(other) = chain.last().and_then(next) {
            if other == *first {
                return chain;
            }
            // A circle that `first` is not in.
            if chain.contains(&other) {
                break;
            }
            chain.push(other);
        }
    }
    Vec::new()
}

/// Describes a thread with `count` frames of its own code, at least one with its place only; `None`
/// if it runs (in non-stop mode).
fn thread_entry(
    session: &mut Session,
    thread: ThreadId,
    name: String,
    wait: Option<&Waiting>,
    count: usize,
    addresses: bool,
) -> Option<ExplainedThread> {
    // Who began a recursion is of interest in the explained thread only.
    let frames = match count == FRAMES.0 {
        true => stack::read(session, thread).ok()?.0,
        false => {
            let stack = session.debugger.stack(thread, 0, Some(MAX_FRAMES.0));
            stack.ok()?.frames
        }
    };
    let own = |session: &Session, frame: &&Frame| !session.debugger.is_library(frame);
    let mut shown: Vec<Frame> = frames
        .iter()
        .filter(|frame| own(session, frame))
        .take(count.max(1))
        .cloned()
        .collect();
    if shown.is_empty() {
        shown.extend(frames.first().cloned());
    }
    let first = shown.first().map_or(0, |frame| frame.key.level);
    let called = frames
        .iter()
        .rfind(|frame| frame.key.level < first && !frame.name.starts_with("0x"));
    let called = called.map(|frame| cut(&frame.name, MAX_NAME_BYTES));
    let wait = wait.map(|wait| {
        let level = first as u64;
        describe_wait(session, thread, level, wait, called, count > 0)
    });
    let values = count > 0;
    let explained = shown.iter();
    let explained = explained.map(|it| frame_entry(session, it, values, addresses));
    let explained = explained.collect();
    let below = shown.last().map_or(0, |frame| frame.key.level + 1);
    let callers = match count == FRAMES.0 {
        true => callers(session, frames.get(below..).unwrap_or_default(), addresses),
        false => Vec::new(),
    };
    Some(ExplainedThread {
        thread_id: thread.0.into(),
        others: Vec::new(),
        name,
        wait,
        frames: explained,
        callers,
    })
}

/// Describes the callers of the frames that are shown with their lines: those of the program's own code.
fn callers(session: &mut Session, frames: &[Frame], addresses: bool) -> Vec<ContextFrame> {
    let style = stack::Style::of(addresses);
    let mut entries = stack::fold(session, frames, None, style);
    entries.retain(|entry| entry.arguments.is_some() || entry.rounds > 0 || entry.name.is_empty());
    stack::keep(&mut entries, CALLERS_BYTES);
    entries
}

fn describe_wait(
    session: &mut Session,
    thread: ThreadId,
    level: u64,
    wait: &Waiting,
    function: Option<String>,
    named: bool,
) -> ExplainedWait {
    let mut lock = |kind: &str, address: LoadAddr| {
        let name = named
            .then(|| search::lock_name(session, thread.0.into(), level, address))
            .flatten();
        match name {
            Some(name) => format!("{kind} `{name}`"),
            None => format!("a {kind}"),
        }
    };
    let (what, other) = match wait {
        Waiting::Mutex(mutex) => (lock("mutex", mutex.mutex), Some(mutex.owner)),
        Waiting::EndOf(other) => ("the end of a thread".to_owned(), Some(*other)),
        Waiting::Word(_) => ("another thread, at a lock or a condition".to_owned(), None),
        Waiting::File(file) => (file.clone(), None),
        Waiting::Readiness => ("files to become ready".to_owned(), None),
        Waiting::Time => ("time to pass".to_owned(), None),
        Waiting::Child => ("a child process".to_owned(), None),
        Waiting::Signal => ("a signal".to_owned(), None),
    };
    ExplainedWait {
        what,
        thread_id: other.map(|other| other.0.into()),
        function,
    }
}

fn frame_entry(
    session: &mut Session,
    frame: &Frame,
    values: bool,
    addresses: bool,
) -> ExplainedFrame {
    let style = stack::Style {
        addresses,
        arguments: false,
    };
    let entry = stack::entry(session, frame, style);
    let mut explained = ExplainedFrame {
        level: entry.level,
        name: entry.name,
        path: entry.path,
        line: entry.line,
        ..ExplainedFrame::default()
    };
    if !values {
        return explained;
    }
    let mut lines = Vec::new();
    super::source::around(session, frame, usize::MAX, &mut lines);
    let line = lines.into_iter().find(|it| Some(it.line) == explained.line);
    if let Some(line) = line {
        explained.source = cut(line.text.trim(), MAX_LINE_BYTES);
        explained.values = used_values(session, frame, &line.text, addresses);
    }
    explained
}

/// Returns the values of the variables and members that a line names.
fn used_values(
    session: &mut Session,
    frame: &Frame,
    line: &str,
    addresses: bool,
) -> Vec<UsedValue> {
    let limits = Limits {
        text: MAX_VALUE_BYTES,
        string: MAX_VALUE_BYTES / 2,
        elements: 8,
        depth: 2,
        addresses,
        pointees: Pointees::Numbered,
        ..session.settings.limits.clone()
    };
    let mut values: Vec<UsedValue> = Vec::new();
    for chain in used::chains(line) {
        for name in chain {
            if values.len() == MAX_VALUES {
                return values;
            }
            let found = session
                .debugger
                .evaluate(Some(frame.key), &name, Purpose::Look);
            // A keyword, a type, or a member that does not exist.
            let Ok(found) = found else { break };
            let shown = present(session, &found.value, &limits);
            // The bytes of a lock and the numbers of threads say nothing, and differ in each run; an enumerator has
            // its own name.
            if shown.function.is_some() || is_lock(&shown.type_name) || shown.text == name {
                break;
            }
            let is_unreadable = shown.error.is_some();
            if !values.iter().any(|it| it.name == name) {
                values.push(UsedValue {
                    name: cut(&name, MAX_NAME_BYTES),
                    value: shown.text,
                });
            }
            if is_unreadable {
                break;
            }
        }
    }
    values
}

/// Returns whether a type is that of a lock or of a thread's number.
fn is_lock(type_name: &str) -> bool {
    let name = type_name.rsplit("::").next().unwrap_or_default();
    matches!(name, "pthread_t" | "thread") || type_name.starts_with("pthread_") || {
        let name = name.to_ascii_lowercase();
        name.ends_with("mutex") || name.ends_with("lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::MutexWait;

    #[test]
    fn deadlock_is_a_circle_of_waiting_threads() {
        let waits = |pairs: &[(i32, i32)]| {
            let pairs = pairs.iter().map(|(thread, owner)| {
                let wait = MutexWait {
                    mutex: LoadAddr(0),
                    owner: ThreadId(*owner),
                };
                (ThreadId(*thread), Waiting::Mutex(wait))
            });
            let ids = deadlock(&pairs.collect());
            ids.into_iter().map(|id| id.0).collect::<Vec<_>>()
        };
        assert_eq!(waits(&[(1, 2), (2, 3), (3, 2)]), [2, 3]);
        assert_eq!(waits(&[(1, 2), (2, 3)]), [0; 0]);
        assert_eq!(waits(&[(1, 3), (2, 1), (3, 2)]), [1, 3, 2]);
    }
}
