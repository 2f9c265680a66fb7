//! Joins the program's output into lines: an event costs the client more than the byte in it.

use crate::protocol::OutputCategory;
use std::time::{Duration, Instant};

/// How long the start of a line waits for its end.
const MAX_DELAY: Duration = Duration::from_millis(5);
/// Minimum size in bytes of a part of a line that is sent immediately.
const MAX_PIECE_BYTES: usize = 4096;

/// A part of the output, and its stream.
pub type Piece = (OutputCategory, String);

/// Output that has not been sent yet: at most one incomplete line.
#[derive(Debug, Default)]
pub struct OutputJoiner {
    pending: Option<(Piece, Instant)>,
}

impl OutputJoiner {
    /// Adds output of the program. Returns the pieces to send now, in order.
    pub fn push(&mut self, category: OutputCategory, text: String, now: Instant) -> Vec<Piece> {
        let mut ready = Vec::new();
        let (text, since) = match self.pending.take() {
            Some(((before, mut begin), since)) if before == category => {
                begin.push_str(&text);
                (begin, since)
            }
            Some((other, _)) => {
                ready.push(other);
                (text, now)
            }
            None => (text, now),
        };
        match text.contains('\n') || text.len() >= MAX_PIECE_BYTES || since + MAX_DELAY <= now {
            true => ready.push((category, text)),
            false => self.pending = Some(((category, text), since)),
        }
        ready
    }

    /// The deadline by which the pending piece must be sent.
    pub fn due(&self) -> Option<Instant> {
        self.pending.as_ref().map(|(_, since)| *since + MAX_DELAY)
    }

    /// Removes the pending piece, to be sent before any other message.
    pub fn take(&mut self) -> Option<Piece> {
        self.pending.take().map(|(piece, _)| piece)
    }
}

#[cfg(test)]
mod tests {
    use super::OutputCategory::{Stderr, Stdout};
    use super::*;

    fn pieces(ready: &[Piece]) -> Vec<(OutputCategory, &str)> {
        ready
            .iter()
            .map(|(category, text)| (*category, text.as_str()))
            .collect()
    }

    #[test]
    fn bytes_become_lines() {
        let (mut joined, now) = (OutputJoiner::default(), Instant::now());
        for letter in ["a", "b", "c"] {
            assert!(joined.push(Stdout, letter.into(), now).is_empty());
        }
        assert_eq!(joined.due(), Some(now + MAX_DELAY));
        let ready = joined.push(Stdout, "\n".into(), now);
        assert_eq!(pieces(&ready), [(Stdout, "abc\n")]);
        assert_eq!(joined.due(), None);
    }

    #[test]
    fn streams_keep_their_order() {
        let (mut joined, now) = (OutputJoiner::default(), Instant::now());
        assert!(joined.push(Stdout, "out".into(), now).is_empty());
        let ready = joined.push(Stderr, "err\n".into(), now);
        assert_eq!(pieces(&ready), [(Stdout, "out"), (Stderr, "err\n")]);
        assert!(joined.push(Stderr, "more".into(), now).is_empty());
        assert_eq!(joined.take(), Some((Stderr, "more".to_owned())));
        assert_eq!(joined.take(), None);
    }

    #[test]
    fn joined_output_is_emitted_soon() {
        let (mut joined, now) = (OutputJoiner::default(), Instant::now());
        let long = "x".repeat(MAX_PIECE_BYTES);
        assert_eq!(joined.push(Stdout, long.clone(), now), [(Stdout, long)]);
        assert!(joined.push(Stdout, "x".into(), now).is_empty());
        let ready = joined.push(Stdout, "y".into(), now + MAX_DELAY);
        assert_eq!(pieces(&ready), [(Stdout, "xy")]);
    }
}
