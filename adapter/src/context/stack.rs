//! Frames: which one matters, and libraries folded.

use super::NAME;
use super::budget::cut;
use crate::protocol::ContextFrame;
use crate::requests::describe_frame;
use crate::session::Session;
use engine::Frame;

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
pub fn entry(session: &mut Session, frame: &Frame, addresses: bool) -> ContextFrame {
    let described = describe_frame(session, frame.clone(), &mut None);
    // What has no name has its address for one.
    let name = match described.name.starts_with("0x") && !addresses {
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
    }
}

/// A stack in which two or more frames of libraries in a row are one entry; neither the innermost
/// frame nor that of level `shown` is folded.
pub fn fold(
    session: &mut Session,
    frames: &[Frame],
    shown: Option<usize>,
    addresses: bool,
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
        let mut entry = entry(session, first, addresses);
        if let [_, .., last] = now {
            let last = self::entry(session, last, addresses);
            entry = ContextFrame {
                name: format!(
                    "{} … {}",
                    cut(&entry.name, NAME / 2),
                    cut(&last.name, NAME / 2)
                ),
                folded: now.len() as u64,
                path: None,
                line: None,
                ..entry
            };
        }
        entries.push(entry);
    }
    entries
}

/// How many characters an entry takes.
pub fn cost(frame: &ContextFrame) -> usize {
    frame.name.len() + frame.path.as_ref().map_or(0, String::len) + 12
}
