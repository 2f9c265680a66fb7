//! What a search is for, and whether a value is that.

/// What a search is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// A pointer to this address, or an object at it.
    Address(u64),
    /// A number.
    Number(f64, String),
    /// A text: part of a string.
    Text(String),
    /// A text: part of a string, or the whole text of another value, such as an enumerator.
    Word(String),
}

impl Wanted {
    /// Parses what a client writes; `None` if it is empty.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let quoted = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        if let Some(inner) = quoted.filter(|it| !it.is_empty()) {
            return Some(Self::Text(inner.to_owned()));
        }
        let hex = text.strip_prefix("0x").or(text.strip_prefix("0X"));
        if let Some(address) = hex.and_then(|it| u64::from_str_radix(it, 16).ok()) {
            return Some(Self::Address(address));
        }
        let looks_numeric = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        if let Some(number) = text.parse().ok().filter(|_| looks_numeric) {
            return Some(Self::Number(number, text.to_owned()));
        }
        (!text.is_empty()).then(|| Self::Word(text.to_owned()))
    }

    /// Returns whether a value is this one by its text, which may have several parts: a character is
    /// `97 'a'`, a string behind a pointer `0x5000 "abc"`.
    pub fn is(&self, shown: &str) -> bool {
        match self {
            Self::Address(_) => false,
            Self::Number(number, text) => {
                let first = shown.split(' ').next().unwrap_or_default();
                // Integers of more digits than a float has are compared as texts.
                let is_equal = || {
                    let parsed = first.parse::<f64>();
                    text.len() <= 15 && parsed.is_ok_and(|it| it == *number)
                };
                first == text || is_equal()
            }
            Self::Text(text) => in_string(shown, text),
            Self::Word(text) => {
                let last = shown.rsplit("::").next().unwrap_or_default();
                shown == text || last == text || in_string(shown, text)
            }
        }
    }
}

/// Returns whether the text of a string or of a pointer to one contains another.
fn in_string(shown: &str, text: &str) -> bool {
    let start = shown.find('"');
    // The quote must begin the value: behind an address at most.
    let start = start.filter(|at| !shown[..*at].contains(['{', '[', '(', ',']));
    start.is_some_and(|at| shown[at + 1..].contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_kind() {
        let is = |wanted: &str, shown: &str| Wanted::parse(wanted).unwrap().is(shown);
        assert!(is("97", "97 'a'") && is("97", "97.0") && is("-3", "-3"));
        assert!(!is("97", "197") && !is("97", "{97}"));
        assert!(is("18446744073709551615", "18446744073709551615"));
        assert!(!is("18446744073709551615", "18446744073709551614"));
        assert!(is("\"bc\"", "0x5000 \"abcd\"") && !is("\"bc\"", "bc"));
        assert!(is("RED", "RED") && is("RED", "Color::RED") && is("RED", "\"RED ONE\""));
        assert!(!is("RED", "{color = RED}") && !is("x", "{name = \"x\"}"));
        assert_eq!(Wanted::parse("0x5000"), Some(Wanted::Address(0x5000)));
        assert_eq!(Wanted::parse("  "), None);
        assert_eq!(Wanted::parse("\"\""), Some(Wanted::Word("\"\"".to_owned())));
    }
}
