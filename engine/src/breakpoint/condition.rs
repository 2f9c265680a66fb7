//! Hit conditions and log messages, parsed once.

use crate::ids::error::Error;
use crate::inspect::eval::Expression;
use dwarf::Language;

/// The hits at which a breakpoint stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HitCondition {
    /// `N`, `== N`, `= N`: the N-th hit only.
    Exactly(u64),
    /// `>= N`.
    AtLeast(u64),
    /// `> N`.
    MoreThan(u64),
    /// `<= N`.
    AtMost(u64),
    /// `< N`.
    LessThan(u64),
    /// `% N`: every N-th.
    Every(u64),
    /// `once`: the first hit; the breakpoint is disabled after it.
    Once,
}

impl HitCondition {
    /// Parses a hit condition; accepts the notations common among users of VS Code.
    pub fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed.eq_ignore_ascii_case("once") {
            return Ok(Self::Once);
        }
        let digits = trimmed
            .find(|character: char| character.is_ascii_digit())
            .unwrap_or(trimmed.len());
        let (operator, number) = trimmed.split_at(digits);
        let wrong = || {
            format!(
                "invalid hit condition `{text}`; expected N, == N, >= N, > N, <= N, < N, % N or \
                 once"
            )
        };
        let number: u64 = number.trim().parse().map_err(|_| wrong())?;
        Ok(match operator.trim() {
            "" | "==" | "=" => Self::Exactly(number),
            ">=" => Self::AtLeast(number),
            ">" => Self::MoreThan(number),
            "<=" => Self::AtMost(number),
            "<" => Self::LessThan(number),
            "%" if number > 0 => Self::Every(number),
            _ => return Err(wrong()),
        })
    }

    /// Returns whether to stop at the `hits`-th hit, counted from 1.
    pub fn holds(self, hits: u64) -> bool {
        match self {
            Self::Exactly(number) => hits == number,
            Self::AtLeast(number) => hits >= number,
            Self::MoreThan(number) => hits > number,
            Self::AtMost(number) => hits <= number,
            Self::LessThan(number) => hits < number,
            Self::Every(number) => hits.is_multiple_of(number),
            Self::Once => hits == 1,
        }
    }
}

/// A part of a log message.
#[derive(Clone, Debug)]
pub enum Segment {
    /// Literal text.
    Text(String),
    /// `{expression}`.
    Value(Expression),
}

/// Parses an expression that is evaluated at hits. An unknown name after `$` is an error at once.
pub fn parse(text: &str, language: Language) -> Result<Expression, Error> {
    let expression = Expression::parse(text, language)?;
    if let Some(unknown) = expression.unknown_register() {
        return Err(Error::Eval {
            message: format!("no register `${}` on this machine", unknown.name),
            span: unknown.span,
        });
    }
    Ok(expression)
}

/// Parses a log message: `{expression}` is replaced by its value, `\{` and `\}` are braces.
pub fn parse_message(message: &str, language: Language) -> Result<Vec<Segment>, Error> {
    let mut segments = Vec::new();
    let mut text = String::new();
    let mut characters = message.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => match characters.clone().next() {
                Some((_, brace @ ('{' | '}'))) => {
                    characters.next();
                    text.push(brace);
                }
                _ => text.push('\\'),
            },
            '{' => {
                let rest = &message[index + 1..];
                let Some(length) = closing_brace(rest) else {
                    return Err(Error::eval(format!(
                        "unclosed `{{` at character {}; write `\\{{` for a literal brace",
                        index + 1
                    )));
                };
                if !text.is_empty() {
                    segments.push(Segment::Text(std::mem::take(&mut text)));
                }
                segments.push(Segment::Value(parse(&rest[..length], language)?));
                // Continue after the closing brace.
                while characters.offset() < index + length + 2 {
                    characters.next();
                }
            }
            other => text.push(other),
        }
    }
    if !text.is_empty() {
        segments.push(Segment::Text(text));
    }
    Ok(segments)
}

/// Returns the position of the brace that closes the one just before `text`; nested ones are
/// skipped.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(index),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_conditions_accept_common_spellings() {
        let stops = |text: &str| -> Vec<u64> {
            let condition = HitCondition::parse(text).unwrap();
            (1..=6).filter(|hits| condition.holds(*hits)).collect()
        };
        assert_eq!(stops("3"), [3]);
        assert_eq!(stops(" == 3"), [3]);
        assert_eq!(stops(">=5"), [5, 6]);
        assert_eq!(stops("> 5"), [6]);
        assert_eq!(stops("<= 2"), [1, 2]);
        assert_eq!(stops("< 2"), [1]);
        assert_eq!(stops("% 2"), [2, 4, 6]);
        assert_eq!(stops("once "), [1]);
        for wrong in ["", "x", "% 0", "3 4", "!= 3", "-1", "99999999999999999999"] {
            assert!(HitCondition::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn braces_are_found() {
        assert_eq!(closing_brace("a}"), Some(1));
        assert_eq!(closing_brace("P { x: 1 }} rest"), Some(10));
        assert_eq!(closing_brace("never"), None);
    }
}
