//! The program's output, which can be read on from any position.

mod plain;

use crate::protocol::OutputCategory;
pub use plain::Plain;

/// Maximum number of bytes kept; older output is dropped.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// The program's and the debugger's output.
#[derive(Debug, Default)]
pub struct Output {
    parts: Vec<OutputChunk>,
    /// Total size of `parts` in bytes.
    size: usize,
    /// Total number of bytes ever written: the cursor behind the last byte.
    end: u64,
    /// What removes control sequences from the program's streams.
    plain: [Plain; 2],
}

/// A run of text of one stream.
#[derive(Debug)]
struct OutputChunk {
    stream: Stream,
    /// The cursor of its first byte.
    start: u64,
    text: String,
}

/// The origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The program, on stdout.
    Stdout,
    /// The program, on stderr.
    Stderr,
    /// The debugger: messages of logpoints, notes.
    Console,
}

impl Stream {
    /// Returns the stream of an `output` event's category.
    pub fn of(category: OutputCategory) -> Self {
        match category {
            OutputCategory::Stdout => Self::Stdout,
            OutputCategory::Stderr => Self::Stderr,
            OutputCategory::Console | OutputCategory::Important => Self::Console,
        }
    }
}

/// A range of the output.
#[derive(Debug, PartialEq, Eq)]
pub struct OutputRange {
    /// The text.
    pub text: String,
    /// Bytes between the requested cursor and the text, which are no longer kept.
    pub skipped: u64,
    /// The cursor behind the text.
    pub next: u64,
}

impl Output {
    /// Appends a text, without control sequences of terminals.
    pub fn push(&mut self, stream: Stream, text: &str) {
        let text = &match stream {
            Stream::Stdout => self.plain[0].next(text),
            Stream::Stderr => self.plain[1].next(text),
            Stream::Console => text.to_owned(),
        };
        match self.parts.last_mut() {
            Some(last) if last.stream == stream && last.text.len() < MAX_KEPT_BYTES / 16 => {
                last.text.push_str(text);
            }
            _ => self.parts.push(OutputChunk {
                stream,
                start: self.end,
                text: text.to_owned(),
            }),
        }
        self.size += text.len();
        self.end += text.len() as u64;
        let mut dropped = 0;
        while self.size > MAX_KEPT_BYTES && dropped + 1 < self.parts.len() {
            self.size -= self.parts[dropped].text.len();
            dropped += 1;
        }
        self.parts.drain(..dropped);
    }

    /// Returns the cursor behind the last byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Reads text behind a cursor, of one stream or (`None`) of all, at most `most` bytes: with
    /// `tail` the last ones, else the first.
    pub fn read(&self, from: u64, stream: Option<Stream>, most: usize, tail: bool) -> OutputRange {
        let mut text = String::new();
        // The cursor of each piece of `text`.
        let mut pieces: Vec<(usize, u64)> = Vec::new();
        for part in &self.parts {
            let end = part.start + part.text.len() as u64;
            if end <= from || stream.is_some_and(|stream| stream != part.stream) {
                continue;
            }
            let skip = usize::try_from(from.saturating_sub(part.start)).unwrap_or(usize::MAX);
            let skip = part.text.ceil_char_boundary(skip.min(part.text.len()));
            pieces.push((text.len(), part.start + skip as u64));
            text.push_str(&part.text[skip..]);
        }
        let cursor = |at: usize| {
            let piece = pieces.iter().rev().find(|(start, _)| *start <= at);
            piece.map_or(self.end, |(start, cursor)| cursor + (at - start) as u64)
        };
        let (mut first, mut last) = (0, text.len());
        if text.len() > most {
            match tail {
                true => first = text.ceil_char_boundary(text.len() - most),
                false => last = text.floor_char_boundary(most),
            }
        }
        let next = match last == text.len() {
            true => self.end,
            false => cursor(last),
        };
        let skipped = match first < text.len() {
            true => cursor(first).saturating_sub(from),
            false => 0,
        };
        OutputRange {
            text: text[first..last].to_owned(),
            skipped,
            next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Output {
        let mut output = Output::default();
        output.push(Stream::Stdout, "one\n");
        output.push(Stream::Stdout, "two\n");
        output.push(Stream::Stderr, "bad\n");
        output.push(Stream::Stdout, "three\n");
        output
    }

    fn read(text: &str, skipped: u64, next: u64) -> OutputRange {
        OutputRange {
            text: text.to_owned(),
            skipped,
            next,
        }
    }

    #[test]
    fn cursor_continues_the_output() {
        let output = written();
        assert_eq!(
            output.read(0, None, 100, true),
            read("one\ntwo\nbad\nthree\n", 0, 18)
        );
        assert_eq!(output.read(0, None, 6, false), read("one\ntw", 0, 6));
        assert_eq!(
            output.read(6, None, 100, false),
            read("o\nbad\nthree\n", 0, 18)
        );
        assert_eq!(output.read(18, None, 100, false), read("", 0, 18));
        assert_eq!(output.read(999, None, 100, false), read("", 0, 18));
    }

    #[test]
    fn one_stream_alone() {
        let output = written();
        let stream = Some(Stream::Stdout);
        assert_eq!(
            output.read(0, stream, 100, true),
            read("one\ntwo\nthree\n", 0, 18)
        );
        assert_eq!(
            output.read(0, stream, 10, false),
            read("one\ntwo\nth", 0, 14)
        );
        assert_eq!(output.read(14, stream, 100, false), read("ree\n", 0, 18));
        assert_eq!(output.read(0, stream, 6, true), read("three\n", 12, 18));
    }

    #[test]
    fn dropped_output_is_counted() {
        let mut output = Output::default();
        for _ in 0..100_000 {
            output.push(Stream::Stdout, "0123456789ü\n");
        }
        assert!(output.size <= MAX_KEPT_BYTES + MAX_KEPT_BYTES / 8);
        assert_eq!(output.end(), 1_300_000);
        let first = output.read(0, None, 1300, false);
        assert_eq!((first.text.len(), first.skipped + 1300), (1300, first.next));
        let last = output.read(0, None, 14, true);
        assert_eq!(
            (last.text.as_str(), last.next),
            ("\n0123456789ü\n", 1_300_000)
        );
    }
}
