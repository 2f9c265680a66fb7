//! Frames of a stack: selects the relevant one, folds those of libraries.

use super::MAX_NAME_BYTES;
use super::budget::{self, cut};
use super::deep::{self, Part};
use crate::protocol::{ContextFrame, RequestError};
use crate::session::Session;
use crate::session::describe::{describe_frame, present};
use engine::{Frame, FrameKind, Limits, Pointees, ThreadId};

/// Maximum length of the text of a frame's arguments in bytes.
const MAX_ARGUMENTS_CHARS: usize = 200;
/// Maximum length of the text of one argument's value in bytes.
const MAX_ARGUMENT_CHARS: usize = 40;

/// At least so many entries of a deep stack are shown.
const SUMMARY: usize = 8;
/// Room for the entry of what is left out, in bytes.
const GAP_COST: usize = 40;

/// How frames are written.
#[derive(Clone, Copy)]
pub struct Style {
    /// Whether addresses are written, else `0x…`.
    pub addresses: bool,
    /// Whether the values of arguments are written; not for frames of libraries.
    pub arguments: bool,
}

impl Style {
    /// Returns the style with arguments.
    pub fn of(addresses: bool) -> Self {
        Self {
            addresses,
            arguments: true,
        }
    }
}

/// Returns the frame to show first. After an intended stop it is the innermost frame with line
/// information, else the innermost one of the program's own code.
pub fn shown<'a>(session: &Session, frames: &'a [Frame]) -> Option<&'a Frame> {
    let first = frames.first()?;
    match first.location.is_some() && session.history.stopped_on_purpose(first.key.thread) {
        true => Some(first),
        false => innermost_own(session, frames),
    }
}

/// Returns the innermost frame of the program's own code, else the innermost one.
pub fn innermost_own<'a>(session: &Session, frames: &'a [Frame]) -> Option<&'a Frame> {
    let own = frames
        .iter()
        .find(|frame| !session.debugger.is_library(frame));
    own.or(frames.first())
}

/// Describes a frame for the client.
pub fn entry(session: &mut Session, frame: &Frame, style: Style) -> ContextFrame {
    let arguments = match style.arguments {
        true => arguments(session, frame, style.addresses),
        false => None,
    };
    let described = describe_frame(session, frame.clone(), &mut None);
    // A frame without a name has its address as its name.
    let name = match described.name.starts_with("0x") && !style.addresses {
        true => "0x…".to_owned(),
        false => cut(&described.name, MAX_NAME_BYTES),
    };
    let line = described.source.is_some().then_some(described.line);
    ContextFrame {
        level: frame.key.level as u64,
        frame_id: described.id,
        name,
        path: described.source.and_then(|source| source.path.clone()),
        line,
        folded: 0,
        rounds: 0,
        arguments,
        address: style.addresses.then(|| frame.pc.to_string()),
    }
}

/// Returns the arguments of a frame of the program's own code, as short text.
fn arguments(session: &mut Session, frame: &Frame, addresses: bool) -> Option<String> {
    let is_function = matches!(frame.kind, FrameKind::Function | FrameKind::Inlined);
    if !is_function || session.debugger.is_library(frame) {
        return None;
    }
    let limits = Limits {
        text: MAX_ARGUMENT_CHARS,
        elements: 4,
        string: MAX_ARGUMENT_CHARS,
        // The target of a pointer is written as its number.
        depth: 1,
        addresses,
        pointees: Pointees::Numbered,
        ..session.settings.limits.clone()
    };
    let parameters = session.debugger.parameters(frame.key).ok()?;
    let mut text = String::new();
    for parameter in parameters {
        if session.is_cancelled() {
            return None;
        }
        if text.len() > MAX_ARGUMENTS_CHARS {
            text.push_str(", …");
            break;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        let value = match &parameter.value {
            Ok(value) => present(session, value, &limits).text,
            Err(error) => format!("<{}>", error.to_string().trim_matches(['<', '>'])),
        };
        // The name of a shadowed parameter ends with the line of its declaration.
        let name = parameter.name.split(" (line ").next().unwrap_or_default();
        match name {
            "" => text.push_str(&value),
            name => text.push_str(&format!("{}={value}", cut(name, MAX_ARGUMENT_CHARS))),
        }
    }
    Some(text)
}

/// Reads the stack of a thread. A deep one is read as a whole, since its outermost frames say what began
/// the recursion; the cost is some 10 µs a frame, once a stop. Returns whether all frames were read.
///
/// # Errors
/// Not stopped, no such thread, or cancelled.
pub fn read(session: &mut Session, thread: ThreadId) -> Result<(Vec<Frame>, bool), RequestError> {
    let mut read = |levels: usize| {
        let stack = session.debugger.stack(thread, 0, Some(levels))?;
        let is_whole = stack.total == Some(stack.frames.len());
        Ok((stack.frames, is_whole))
    };
    match read(deep::DEEP) {
        Ok((_, false)) => read(deep::DEEPEST),
        read => read,
    }
}

/// Folds runs of two or more frames of libraries into one entry each, and frames of a recursion at
/// the same line with the same arguments after the first two, except for the innermost frame and the
/// frame at level `shown`. Of a deep stack, the frames in the middle are one entry: rounds of a recursion,
/// or a number.
pub fn fold(
    session: &mut Session,
    frames: &[Frame],
    shown: Option<usize>,
    style: Style,
) -> Vec<ContextFrame> {
    let mut entries = Vec::new();
    for part in deep::parts(frames) {
        match part {
            Part::Shown(frames) => entries.extend(fold_libraries(session, frames, shown, style)),
            Part::Rounds { round, count } => entries.extend(of_rounds(round, count)),
            Part::Gap(left_out) => entries.extend(of_gap(left_out)),
        }
    }
    fold_recursion(entries, shown)
}

/// Describes the frames of a stack without folding; of a deep one, those in the middle as [`fold`] does.
pub fn in_parts(session: &mut Session, frames: &[Frame], style: Style) -> Vec<ContextFrame> {
    let mut entries = Vec::new();
    for part in deep::parts(frames) {
        match part {
            Part::Shown(frames) => {
                entries.extend(frames.iter().map(|frame| entry(session, frame, style)));
            }
            Part::Rounds { round, count } => entries.extend(of_rounds(round, count)),
            Part::Gap(left_out) => entries.extend(of_gap(left_out)),
        }
    }
    entries
}

/// Keeps `levels` entries of a deep stack: its innermost and its outermost ones, and the rounds of a recursion.
pub fn keep_levels(entries: &mut Vec<ContextFrame>, levels: usize) {
    if entries.len() <= levels.max(SUMMARY) {
        return;
    }
    let rounds = entries.iter().position(|it| it.rounds > 0);
    let middle = rounds.unwrap_or(entries.len() / 2);
    let last = entries.split_off(middle + usize::from(rounds.is_some()));
    let rounds = entries.split_off(middle);
    let share = levels.max(SUMMARY) / 2;
    let gap = |entries: &[ContextFrame]| {
        Some(ContextFrame {
            level: entries.first()?.level,
            folded: entries.iter().map(|it| it.folded.max(1)).sum(),
            ..ContextFrame::default()
        })
    };
    let between = entries.split_off(share.min(entries.len()));
    entries.extend(gap(&between));
    entries.extend(rounds);
    let (between, last) = last.split_at(last.len().saturating_sub(share));
    entries.extend(gap(between));
    entries.extend_from_slice(last);
}

/// Describes calls that repeat.
fn of_rounds(round: &[Frame], count: usize) -> Option<ContextFrame> {
    let names: Vec<&str> = round.iter().map(|frame| frame.name.as_str()).collect();
    Some(ContextFrame {
        level: round.first()?.key.level as u64,
        name: cut(&names.join(" ← "), MAX_NAME_BYTES),
        folded: (round.len() * count) as u64,
        rounds: count as u64,
        ..ContextFrame::default()
    })
}

/// Describes frames that are left out.
fn of_gap(left_out: &[Frame]) -> Option<ContextFrame> {
    Some(ContextFrame {
        level: left_out.first()?.key.level as u64,
        folded: left_out.len() as u64,
        ..ContextFrame::default()
    })
}

/// Keeps the entries that fit into `allowed` bytes: the innermost ones, and the outermost one of the program's
/// own code, with an entry for what is left out between them. Returns the cost of the rest, and how many frames
/// are left out at the end.
pub fn keep(entries: &mut Vec<ContextFrame>, allowed: usize) -> (usize, u64) {
    let (all, spent) = budget::fitting(entries, allowed, cost);
    if all == entries.len() {
        return (spent, 0);
    }
    let frames = |entries: &[ContextFrame]| entries.iter().map(|it| it.folded.max(1)).sum::<u64>();
    let is_frame = |it: &ContextFrame| it.folded == 0 && it.arguments.is_some();
    let outermost = entries.iter().rposition(is_frame);
    let last = outermost
        .filter(|at| *at >= all)
        .and_then(|at| entries.get(at).cloned());
    let room = last.as_ref().map_or(0, |last| cost(last) + GAP_COST);
    let (kept, spent) = budget::fitting(entries, allowed.saturating_sub(room), cost);
    let omitted = entries.split_off(kept);
    let Some((last, at)) = last.zip(outermost).filter(|_| kept > 0 && room < allowed) else {
        return (spent, frames(&omitted));
    };
    let at = at - kept;
    if let Some(first) = omitted.first().filter(|_| at > 0) {
        entries.push(ContextFrame {
            level: first.level,
            folded: frames(&omitted[..at]),
            ..ContextFrame::default()
        });
    }
    entries.push(last);
    (spent + room, frames(&omitted[at + 1..]))
}

fn fold_libraries(
    session: &mut Session,
    frames: &[Frame],
    shown: Option<usize>,
    style: Style,
) -> Vec<ContextFrame> {
    let folds = |session: &Session, frame: &Frame| {
        let is_seen = frame.key.level == 0 || Some(frame.key.level) == shown;
        !is_seen && session.debugger.is_library(frame)
    };
    let mut entries = Vec::new();
    let mut rest = frames;
    while let Some(first) = rest.first() {
        let run = rest
            .iter()
            .take_while(|frame| folds(session, frame))
            .count();
        let (now, later) = rest.split_at(run.max(1));
        rest = later;
        let mut entry = entry(session, first, style);
        if let [_, .., last] = now {
            let last = self::entry(session, last, style);
            entry = ContextFrame {
                name: format!(
                    "{} … {}",
                    cut(&entry.name, MAX_NAME_BYTES / 2),
                    cut(&last.name, MAX_NAME_BYTES / 2)
                ),
                folded: now.len() as u64,
                path: None,
                line: None,
                arguments: None,
                ..entry
            };
        }
        entries.push(entry);
    }
    entries
}

/// Folds entries that differ in nothing but their levels, after the first two of a run, if that
/// leaves out more than one.
fn fold_recursion(entries: Vec<ContextFrame>, shown: Option<usize>) -> Vec<ContextFrame> {
    let is_repeated = |one: &ContextFrame, other: &ContextFrame| {
        let key = |it: &ContextFrame| (it.path.clone(), it.line, it.arguments.clone());
        other.folded == 0
            && other.line.is_some()
            && one.name == other.name
            && key(one) == key(other)
    };
    let is_shown = |it: &ContextFrame| Some(it.level) == shown.map(|level| level as u64);
    let mut folded: Vec<ContextFrame> = Vec::new();
    let mut rest = entries.as_slice();
    while let Some(first) = rest.first() {
        let same = rest
            .iter()
            .take_while(|it| is_repeated(first, it) && !is_shown(it))
            .count();
        let (now, later) = rest.split_at(same.max(1));
        rest = later;
        match now {
            [one, two, third, _, ..] => folded.extend([
                one.clone(),
                two.clone(),
                ContextFrame {
                    folded: now.len() as u64 - 2,
                    ..third.clone()
                },
            ]),
            _ => folded.extend_from_slice(now),
        }
    }
    folded
}

/// Returns the size of an entry in bytes.
pub fn cost(frame: &ContextFrame) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    frame.name.len() + length(&frame.arguments) + length(&frame.path) + 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_with_the_same_arguments_is_folded() {
        let frame = |level: u64, line: i64, arguments: &str| ContextFrame {
            level,
            frame_id: 100 + level as i64,
            name: "depth".to_owned(),
            path: Some("/src/depth.c".to_owned()),
            line: Some(line),
            arguments: Some(arguments.to_owned()),
            ..ContextFrame::default()
        };
        let written = |frames: &[ContextFrame], shown: Option<usize>| {
            let folded = fold_recursion(frames.to_vec(), shown);
            let folded = folded.iter().map(|it| (it.level, it.folded));
            folded.collect::<Vec<_>>()
        };
        let mut frames = vec![frame(0, 5, "n=1")];
        frames.extend((1..9).map(|level| frame(level, 9, "n=1")));
        frames.extend((9..12).map(|level| frame(level, 9, "n=2")));
        let whole = [(0, 0), (1, 0), (2, 0), (3, 6), (9, 0), (10, 0), (11, 0)];
        assert_eq!(written(&frames, None), whole);
        // The frame that is shown stays a frame of its own.
        let around = [(1, 0), (2, 0), (3, 3), (6, 0), (7, 0), (8, 0), (9, 0)];
        assert_eq!(written(&frames, Some(6))[1..8], around);
    }
}
