//! Conditions of exception filters: names and patterns, or expressions with `$exception`.

use super::{ExceptionFilter, Subject};
use crate::expr::Expression;
use dwarf::Language;

/// The name of the exception in expressions.
pub const NAME: &str = "$exception";

/// A parsed condition.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Holds if one of these names or patterns matches.
    Names(Vec<Pattern>),
    /// Holds if the expression is true.
    Expression(Expression),
}

/// A pattern in which `*` matches any text and `?` one character.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern(String);

impl Pattern {
    fn is_plain(&self) -> bool {
        !self.0.contains(['*', '?'])
    }

    fn fits(&self, text: &str) -> bool {
        // Only the last star needs backtracking: it can match whatever an earlier one could.
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
        let (mut at, mut place) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while at < text.len() {
            match pattern.get(place) {
                Some(b'*') => {
                    star = Some((place, at));
                    place += 1;
                }
                Some(byte) if *byte == b'?' || *byte == text[at] => {
                    (at, place) = (at + 1, place + 1);
                }
                _ => match &mut star {
                    Some((behind, from)) => {
                        *from += 1;
                        (at, place) = (*from, *behind + 1);
                    }
                    None => return false,
                },
            }
        }
        pattern[place..].iter().all(|byte| *byte == b'*')
    }

    /// Returns whether the pattern matches a type's name; a plain name matches in any namespace.
    fn fits_type(&self, name: &str) -> bool {
        let spaceless = spaceless(name);
        self.fits(&spaceless)
            || self.is_plain()
                && spaceless
                    .strip_suffix(&self.0)
                    .is_some_and(|before| before.ends_with("::"))
    }
}

impl Condition {
    /// Parses the condition of a filter.
    ///
    /// # Errors
    /// The text is not a valid condition; the message says why.
    pub fn parse(text: &str, filter: ExceptionFilter) -> Result<Self, String> {
        if text.contains(NAME) {
            let language = match filter {
                ExceptionFilter::RustPanic => Language::Rust,
                ExceptionFilter::Signals | ExceptionFilter::Signal(_) => Language::C,
                _ => Language::Cpp,
            };
            return Expression::parse(text, language)
                .map(Self::Expression)
                .map_err(|error| format!("condition `{text}`: {error}"));
        }
        if filter.is_by_text() {
            return Ok(Self::Names(vec![Pattern(text.trim().to_owned())]));
        }
        let names = split(text).ok_or_else(|| wrong(text))?;
        if names.iter().any(|name| !is_type_pattern(name)) {
            return Err(wrong(text));
        }
        let patterns = names.iter().map(|name| Pattern(spaceless(name)));
        Ok(Self::Names(patterns.collect()))
    }
}

/// Returns whether one of the patterns matches the type or the message.
pub fn fits(patterns: &[Pattern], subject: &Subject) -> bool {
    patterns.iter().any(|pattern| match subject {
        Subject::Cpp(thrown) => {
            let base = |base: &String| pattern.is_plain() && pattern.fits_type(base);
            pattern.fits_type(&thrown.type_name)
                || pattern.fits_type(&thrown.readable())
                || thrown.bases.iter().any(base)
        }
        Subject::Signal(signal) => {
            let name = signal.name();
            let short = name.strip_prefix("SIG").unwrap_or(&name);
            let wanted = pattern.0.to_ascii_uppercase();
            let pattern = Pattern(wanted);
            pattern.fits(&name) || pattern.fits(short)
        }
        Subject::Panic(panic) => {
            let text = panic.message.as_deref().or(panic.type_name.as_deref());
            let text = text.unwrap_or_default();
            pattern.fits(text) || pattern.is_plain() && text.contains(&pattern.0)
        }
        Subject::Report(report) => {
            pattern.fits(&report.summary)
                || pattern.is_plain() && report.summary.contains(&pattern.0)
        }
    })
}

/// Returns a type's name in one spelling, whose `const` is behind what it qualifies, and without spaces.
fn spaceless(name: &str) -> String {
    dwarf::plain_type_name(name).replace(' ', "")
}

fn wrong(text: &str) -> String {
    format!(
        "invalid condition `{text}`; expected names or patterns (`std::runtime_error, my::*`) or \
         an expression with `{NAME}`"
    )
}

/// Splits names at commas and bars outside brackets; `None` if brackets do not match.
fn split(text: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.checked_sub(1)?,
            ',' | '|' if depth == 0 => {
                names.push(String::new());
                continue;
            }
            _ => {}
        }
        names.last_mut()?.push(character);
    }
    (depth == 0).then_some(names)
}

/// Returns whether the text can be the name of a type or signal, or a pattern for one.
fn is_type_pattern(name: &str) -> bool {
    let allowed =
        |character: char| character.is_alphanumeric() || "_:*?<>(),&[] +-".contains(character);
    let trimmed = name.trim();
    let begins = |character: char| character.is_alphabetic() || "_*?:".contains(character);
    trimmed.chars().all(allowed) && trimmed.chars().next().is_some_and(begins)
        || trimmed.parse::<u8>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<Pattern>, String> {
        match Condition::parse(text, ExceptionFilter::CppThrow)? {
            Condition::Names(patterns) => Ok(patterns),
            Condition::Expression(_) => Err("an expression".into()),
        }
    }

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("std::*", "std::runtime_error", true),
            ("*error", "std::runtime_error", true),
            ("*r*r", "error", true),
            ("e?ror", "error", true),
            ("std::*", "my::error", false),
            ("runtime_error", "std::runtime_error", true),
            ("error", "std::runtime_error", false),
            ("a::b<int,char>", "a::b<int, char>", true),
            ("*", "", true),
            ("const char*", "char const*", true),
            ("char const *", "char const*", true),
            ("const char *", "char*", false),
            ("unsigned long", "unsigned long", true),
            ("long unsigned int", "unsigned long", true),
            ("const my::type&", "my::type const&", true),
        ] {
            let pattern = &names(pattern).unwrap()[0];
            assert_eq!(pattern.fits_type(text), expected, "{pattern:?} {text}");
        }
    }

    #[test]
    fn invalid_conditions_are_errors() {
        assert_eq!(names("a, b | c").unwrap().len(), 3);
        assert_eq!(names("std::map<int, char>, b").unwrap().len(), 2);
        for wrong in ["x > 3", "", "a,,b", "f(", "=", "std::map<int", "\"a\""] {
            let error = names(wrong).unwrap_err();
            assert!(error.contains("$exception"), "{wrong}: {error}");
        }
        let error = Condition::parse("$exception +", ExceptionFilter::CppThrow).unwrap_err();
        assert!(error.contains("condition"), "{error}");
    }
}
