//! The lines around a place.

use super::budget::cut;
use crate::protocol::SourceLine;
use crate::session::Session;
use engine::{Frame, open_regular};
use std::io::{BufRead, BufReader, Read};

/// Lines shown before and after the one that comes next.
const AROUND: u32 = 3;
/// The longest line that is shown.
const LONGEST: usize = 160;
/// A file is read so far.
const MOST: u64 = 32 << 20;

/// Adds the lines around a frame's, where the file is here; gives what they cost.
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
    let first = place.line.saturating_sub(AROUND).max(1);
    let read = window(
        BufReader::new(file.take(MOST)),
        first,
        place.line.saturating_add(AROUND),
    );
    let mut read: Vec<(u32, String)> = read
        .into_iter()
        .map(|(number, text)| (number, cut(text.trim_end(), LONGEST)))
        .collect();
    // The line itself goes last.
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

/// Some lines of a text, by number from 1.
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
