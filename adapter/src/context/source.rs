//! The source lines around a location.

use super::budget::cut;
use crate::protocol::SourceLine;
use crate::session::Session;
use engine::{Frame, open_regular};
use std::io::{BufRead, BufReader, Read};

/// Number of lines shown before and after the current one.
const CONTEXT_LINES: u32 = 3;
/// Maximum length of a shown line in bytes.
const MAX_LINE_CHARS: usize = 160;
/// Maximum number of bytes read of a file.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// Adds the lines around a frame's location, if its source file exists. Returns their cost in
/// bytes.
pub fn around(
    session: &mut Session,
    frame: &Frame,
    allowed: usize,
    lines: &mut Vec<SourceLine>,
) -> usize {
    let Some(place) = &frame.location else {
        return 0;
    };
    let source = session.sources.of(&place.file.path, &session.client);
    let path = source.path.map(|path| session.client.path_in(&path));
    let Some(file) = path.and_then(|path| open_regular(&path).ok()) else {
        return 0;
    };
    let first = place.line.saturating_sub(CONTEXT_LINES).max(1);
    let read = window(
        BufReader::new(file.take(MAX_FILE_BYTES)),
        first,
        place.line.saturating_add(CONTEXT_LINES),
    );
    let mut read: Vec<(u32, String)> = read
        .into_iter()
        .map(|(number, text)| (number, cut(text.trim_end(), MAX_LINE_CHARS)))
        .collect();
    // Drops the lines farthest from the current one first.
    while cost(&read) > allowed && read.len() > 1 {
        let far = |at: &(u32, String)| at.0.abs_diff(place.line);
        match read.first().map(far) >= read.last().map(far) {
            true => drop(read.remove(0)),
            false => drop(read.pop()),
        }
    }
    let spent = cost(&read);
    lines.extend(read.into_iter().map(|(number, text)| SourceLine {
        line: session.client.line_out(number),
        text,
    }));
    spent
}

fn cost(lines: &[(u32, String)]) -> usize {
    lines.iter().map(|(_, text)| text.len() + 8).sum()
}

/// Returns the lines `first` to `last` of a text, counted from 1.
fn window(mut text: impl BufRead, first: u32, last: u32) -> Vec<(u32, String)> {
    let mut lines = Vec::new();
    let mut line = Vec::new();
    for number in 1..=last {
        line.clear();
        match text.read_until(b'\n', &mut line) {
            Ok(1..) if number >= first => {
                lines.push((number, String::from_utf8_lossy(&line).into_owned()));
            }
            Ok(1..) => {}
            _ => break,
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_by_number() {
        let numbers = |first, last| {
            let lines = window(&b"a\nb\xff\n\nd"[..], first, last);
            lines
                .into_iter()
                .map(|(number, text)| format!("{number}{text}"))
                .collect::<String>()
        };
        assert_eq!(numbers(2, 3), "2b\u{fffd}\n3\n");
        assert_eq!(numbers(4, 9), "4d");
        assert_eq!(numbers(7, 9), "");
    }
}
