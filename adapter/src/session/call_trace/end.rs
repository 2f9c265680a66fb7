//! The end of a trace: its text.

use super::observe::{self, Reading};
use super::{CallTrace, Inside, Running};
use crate::call_trace::{Change, Line, Outcome, Pass, Source, Traced, cut, lines_of};
use crate::session::{Session, own_breakpoints};
use engine::{ExitStatus, State, StopReason, ThreadId, open_regular};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

/// Maximum number of bytes read of a source file.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// Maximum length of a source line that is kept.
const MAX_LINE_BYTES: usize = 160;
/// Maximum number of changes through pointers that are shown.
const MAX_CHANGES: usize = 12;
/// Maximum number of frames read where the program has stopped, and shown of them.
const MAX_FRAMES: (usize, usize) = (32, 6);

/// Ends a trace: `why`, empty if the call has ended.
pub(super) fn end(session: &mut Session, running: Running, why: &str) {
    let breakpoint = session.debugger.breakpoint(running.breakpoint.id);
    own_breakpoints::set_traced(session, None);
    own_breakpoints::ignore_throws(session);
    let limit = running.wanted.limit;
    let traced = match running.inside {
        Some(inside) => of_call(session, inside, why),
        None => {
            let breakpoint = breakpoint.unwrap_or(running.breakpoint);
            let function = &running.wanted.function;
            let head = match &running.wanted.pass {
                Pass::If(condition) if breakpoint.passes.0 > 0 => {
                    let calls = calls(breakpoint.passes);
                    format!("{function} was called {calls}, but `{condition}` did not hold: {why}")
                }
                Pass::Hit(number @ 2..) if breakpoint.verified => {
                    format!("{function} was called fewer than {number} times: {why}")
                }
                _ => format!("{function} was not called: {why}"),
            };
            let mut tail = Vec::new();
            if !breakpoint.verified
                && let Some(message) = breakpoint.message
            {
                tail.push(message);
            }
            tail.extend(place(session));
            Traced {
                head: vec![head],
                lines: Vec::new(),
                tail,
                source: Source::default(),
            }
        }
    };
    session.call_trace = CallTrace::Ended(Ok(traced.text(limit)));
}

/// Describes how often a function was called: a number, and whether there were no other calls.
fn calls((number, are_all): (u64, bool)) -> String {
    match (number, are_all) {
        (1, true) => "once".to_owned(),
        (_, true) => format!("{number} times"),
        (_, false) => format!("at least {number} times"),
    }
}

fn of_call(session: &mut Session, mut inside: Inside, why: &str) -> Traced {
    let is_stopped = session.debugger.state() == State::Stopped;
    let changes = match is_stopped {
        true => {
            let objects = &mut inside.objects;
            Reading { session, objects }.changes(&inside.targets)
        }
        false => Vec::new(),
    };
    if let Some(pending) = inside.pending.take().filter(|it| it.is_recorded) {
        inside.recorder.add_call(pending.frame, Outcome::Open);
    }
    let executed = inside.recorder.lines();
    let thrown = inside.thrown.take();
    let (lines, outcome) = inside.recorder.finish();
    let mut tail = Vec::new();
    tail.push(match outcome {
        Outcome::Returned(Some(value)) => format!("returned {value}"),
        Outcome::Returned(None) => "returned".to_owned(),
        Outcome::Unwound => match thrown {
            Some(thrown) => format!("left by {thrown}"),
            None => "left by an exception or a long jump".to_owned(),
        },
        Outcome::Open => format!("not returned: {why}"),
    });
    tail.extend(through_pointers(&changes));
    tail.extend(place(session));
    let lines_word = if executed == 1 { "line" } else { "lines" };
    tail.push(format!("made by steps: {executed} {lines_word} executed"));
    let files = inside.files.iter();
    let mut source = Source {
        files: files
            .map(|file| {
                let name = file.path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            })
            .collect(),
        ..Source::default()
    };
    let mut wanted = BTreeSet::new();
    lines_of(&lines, &mut |line| {
        wanted.insert(line);
    });
    for (number, file) in inside.files.iter().enumerate() {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let wanted: BTreeSet<u32> = wanted
            .iter()
            .filter(|line| line.file == number)
            .map(|line| line.number)
            .collect();
        let path = session.sources.local(&file.path);
        for (line, text) in read_lines(&path, &wanted) {
            let line = Line {
                file: number,
                number: line,
            };
            source.lines.insert(line, text);
        }
    }
    Traced {
        head: inside.head,
        lines,
        tail,
        source,
    }
}

fn through_pointers(changes: &[Change]) -> Option<String> {
    if changes.is_empty() {
        return None;
    }
    let shown = changes.iter().take(MAX_CHANGES);
    let shown: Vec<String> = shown.map(Change::to_string).collect();
    let more = match changes.len().saturating_sub(MAX_CHANGES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "changed through arguments: {}{more}",
        shown.join(", ")
    ))
}

/// Describes where the program is stopped; `None` while it runs, and after its end.
fn place(session: &mut Session) -> Option<String> {
    if session.debugger.state() != State::Stopped {
        return None;
    }
    let thread = session.debugger.current_thread()?;
    let stack = session.debugger.stack(thread, 0, Some(MAX_FRAMES.0)).ok()?;
    let frames = stack.frames.iter().enumerate();
    // The innermost one, and the program's own.
    let shown = frames.filter(|(level, frame)| *level == 0 || !session.debugger.is_library(frame));
    let places = shown.map(|(_, frame)| observe::place(frame));
    let places: Vec<String> = places.take(MAX_FRAMES.1).collect();
    Some(format!("stopped in {}", places.join(" ← ")))
}

/// Returns the wanted lines of a file, without indentation.
pub(super) fn read_lines(path: &std::path::Path, wanted: &BTreeSet<u32>) -> Vec<(u32, String)> {
    let (Some(last), Ok(file)) = (wanted.last(), open_regular(path)) else {
        return Vec::new();
    };
    let mut text = BufReader::new(file.take(MAX_FILE_BYTES));
    let mut found = Vec::with_capacity(wanted.len());
    let mut line = Vec::new();
    for number in 1..=*last {
        line.clear();
        match text.read_until(b'\n', &mut line) {
            Ok(1..) if wanted.contains(&number) => {
                let text = String::from_utf8_lossy(&line);
                found.push((number, cut(text.trim(), MAX_LINE_BYTES)));
            }
            Ok(1..) => {}
            _ => break,
        }
    }
    found
}

/// Describes how a process ended.
pub(super) fn status(status: ExitStatus) -> String {
    match status {
        ExitStatus::Signal(signal) => format!("killed by {}", signal.name()),
        ExitStatus::Detached => "the debugger was detached".to_owned(),
        status => format!("exit code {}", status.shell_code()),
    }
}

/// Describes a stop that is not part of a trace.
pub(super) fn reason(session: &mut Session, thread: ThreadId, reason: &StopReason) -> String {
    match reason {
        StopReason::Pause => "paused".to_owned(),
        StopReason::Breakpoint(_) => "a breakpoint was hit".to_owned(),
        StopReason::BreakpointError(_, why) => why.clone(),
        StopReason::Data(_, what) => format!("a data breakpoint was hit: {what}"),
        StopReason::Signal { .. } | StopReason::Exception { .. } | StopReason::Trap => {
            let info = session.debugger.exception_info(thread, false);
            info.map_or_else(
                || "a signal".to_owned(),
                |info| format!("{}: {}", info.reason, info.text),
            )
        }
        _ => "the program stopped".to_owned(),
    }
}
