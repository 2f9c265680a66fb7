//! Hit conditions and log messages, parsed once.

use crate::expr::Expression;
use crate::ids::error::Error;
use dwarf::Language;

/// A part of a log message.
#[derive(Clone, Debug)]
pub enum Segment {
    /// Literal text.
    Text(String),
    /// `{expression}`.
    Value(Expression),
}

impl Segment {
    /// Returns its expression; `None`: it is literal text.
    pub(crate) fn value(&self) -> Option<&Expression> {
        match self {
            Segment::Text(_) => None,
            Segment::Value(expression) => Some(expression),
        }
    }
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
    fn braces_are_found() {
        assert_eq!(closing_brace("a}"), Some(1));
        assert_eq!(closing_brace("P { x: 1 }} rest"), Some(10));
        assert_eq!(closing_brace("never"), None);
    }
}
