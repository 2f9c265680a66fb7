//! Text without the control sequences of terminals: colours mean nothing to an agent.

/// Maximum length of a sequence in bytes. What is longer is text.
const MAX_SEQUENCE: usize = 32;

/// Removes control sequences (`ESC [ … final byte`) from the pieces of a stream.
#[derive(Debug, Default)]
pub struct Plain {
    /// The beginning of a sequence at the end of the last piece.
    begun: String,
}

impl Plain {
    /// Returns the text of the next piece.
    pub fn next(&mut self, piece: &str) -> String {
        let joined = std::mem::take(&mut self.begun) + piece;
        let mut text = String::with_capacity(joined.len());
        let mut rest = joined.as_str();
        while let Some(at) = rest.find('\x1b') {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            match sequence_len(rest) {
                Some(len) => rest = &rest[len..],
                None if rest.len() < MAX_SEQUENCE && is_begin(rest) => {
                    self.begun = rest.to_owned();
                    return text;
                }
                None => {
                    text.push('\x1b');
                    rest = &rest[1..];
                }
            }
        }
        text.push_str(rest);
        text
    }
}

/// Returns the length of the control sequence at the start of a text.
fn sequence_len(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|char| !is_parameter(char))?;
    let is_final = matches!(parameters.as_bytes()[end], b'@'..=b'~');
    (is_final && end < MAX_SEQUENCE).then_some("\x1b[".len() + end + 1)
}

/// Returns whether a text may be the beginning of a sequence.
fn is_begin(text: &str) -> bool {
    let parameters = text.strip_prefix('\x1b').unwrap_or_default();
    match parameters.strip_prefix('[') {
        Some(parameters) => parameters.chars().all(is_parameter),
        None => parameters.is_empty(),
    }
}

fn is_parameter(char: char) -> bool {
    matches!(char, ' '..='?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_removed_wherever_pieces_end() {
        let text = "a\x1b[0;31mred\x1b[m\x1b[K é\x1b]x\x1b[ü";
        let wanted = "ared é\x1b]x\x1b[ü";
        assert_eq!(Plain::default().next(text), wanted);
        for (at, _) in text.char_indices() {
            let mut plain = Plain::default();
            let joined = plain.next(&text[..at]) + &plain.next(&text[at..]);
            assert_eq!(joined, wanted, "{at}");
        }
        let long = format!("\x1b[{}", "1".repeat(100));
        assert_eq!(Plain::default().next(&long), long);
    }
}
