//! Frames: which one matters, and libraries folded.

use super::NAME;
use super::budget::cut;
use crate::protocol::ContextFrame;
use crate::session::Session;
use crate::session::describe::{describe_frame, present};
use engine::{Frame, FrameKind, Limits};

/// The longest text of all arguments of a frame.
const ARGUMENTS: usize = 200;
/// The longest text of one argument's value.
const ARGUMENT: usize = 40;

/// How frames are written.
#[derive(Clone, Copy)]
pub struct Style {
    /// With addresses, else `0x…`.
    pub addresses: bool,
    /// With the values of their arguments, unless they are a library's.
    pub arguments: bool,
}

impl Style {
    /// With arguments.
    pub fn of(addresses: bool) -> Self {
        Self {
            addresses,
            arguments: true,
        }
    }
}

/// The frame to look at: where the program stopped on purpose that is the innermost one with
/// lines, else the innermost one of its own code.
pub fn shown<'a>(session: &Session, frames: &'a [Frame]) -> Option<&'a Frame> {
    let first = frames.first()?;
    match first.location.is_some() && session.history.stopped_on_purpose(first.key.thread) {
        true => Some(first),
        false => innermost_own(session, frames),
    }
}

/// The innermost frame of the program's own code, else the innermost one.
pub fn innermost_own<'a>(session: &Session, frames: &'a [Frame]) -> Option<&'a Frame> {
    let own = frames
        .iter()
        .find(|frame| !session.debugger.is_library(frame));
    own.or(frames.first())
}

/// A frame as the client sees it.
pub fn entry(session: &mut Session, frame: &Frame, style: Style) -> ContextFrame {
    let arguments = match style.arguments {
        true => arguments(session, frame, style.addresses),
        false => None,
    };
    let described = describe_frame(session, frame.clone(), &mut None);
    // What has no name has its address for one.
    let name = match described.name.starts_with("0x") && !style.addresses {
        true => "0x…".to_owned(),
        false => cut(&described.name, NAME),
    };
    let line = described.source.is_some().then_some(described.line);
    ContextFrame {
        level: frame.key.level as u64,
        frame_id: described.id,
        name,
        path: described.source.and_then(|source| source.path.clone()),
        line,
        folded: 0,
        arguments,
        address: style.addresses.then(|| frame.pc.to_string()),
    }
}

/// The arguments of a frame of the program's own code, in a few words.
fn arguments(session: &mut Session, frame: &Frame, addresses: bool) -> Option<String> {
    let is_function = matches!(frame.kind, FrameKind::Function | FrameKind::Inlined);
    if !is_function || session.debugger.is_library(frame) {
        return None;
    }
    let limits = Limits {
        text: ARGUMENT,
        elements: 4,
        string: ARGUMENT,
        // The target of a pointer is written as its number.
        depth: 1,
        addresses,
        pointees: true,
        ..session.settings.limits.clone()
    };
    let parameters = session.debugger.parameters(frame.key).ok()?;
    let mut text = String::new();
    for parameter in parameters {
        if session.is_cancelled() {
            return None;
        }
        if text.len() > ARGUMENTS {
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
        // Of a shadowed one the name says where it is declared.
        let name = parameter.name.split(" (line ").next().unwrap_or_default();
        match name {
            "" => text.push_str(&value),
            name => text.push_str(&format!("{}={value}", cut(name, ARGUMENT))),
        }
    }
    Some(text)
}

/// A stack in which two or more frames of libraries in a row are one entry; neither the innermost
/// frame nor that of level `shown` is folded.
pub fn fold(
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
                    cut(&entry.name, NAME / 2),
                    cut(&last.name, NAME / 2)
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

/// How many characters an entry takes.
pub fn cost(frame: &ContextFrame) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    frame.name.len() + length(&frame.arguments) + length(&frame.path) + 12
}
