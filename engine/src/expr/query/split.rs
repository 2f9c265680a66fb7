//! The parts of a query, by its commas and keywords outside of brackets and quotes.

use crate::ids::error::Error;

/// The texts of a query's parts.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub items: Vec<&'a str>,
    pub keys: Vec<&'a str>,
    pub filter: Option<&'a str>,
    pub keep: Option<&'a str>,
    pub with: Option<&'a str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Items,
    Keys,
    Filter,
    Keep,
    With,
}

/// Splits a query. A keyword counts where no operand is awaited: an expression has no two names in
/// a row.
pub(super) fn split(text: &str) -> Result<Parts<'_>, Error> {
    let mut parts = Parts::default();
    let mut section = Section::Items;
    let mut begin = 0;
    for (at, keyword) in keywords(text).into_iter().chain([(text.len(), "")]) {
        let part = text[begin..at].trim();
        begin = at + keyword.len();
        match section {
            Section::Items if part.is_empty() => {}
            Section::Items => parts.items = list(part, "a value")?,
            Section::Keys => parts.keys = list(part, "a key")?,
            Section::Filter => parts.filter = Some(given(part, "a condition")?),
            Section::With => parts.with = Some(given(part, "`traps`")?),
            Section::Keep => parts.keep = Some(given(part, "a number")?),
        }
        section = match keyword {
            "by" => Section::Keys,
            "where" => Section::Filter,
            "with" => Section::With,
            _ => Section::Keep,
        };
    }
    Ok(parts)
}

fn given<'a>(part: &'a str, what: &str) -> Result<&'a str, Error> {
    match part.is_empty() {
        true => Err(Error::eval(format!("{what} is missing"))),
        false => Ok(part),
    }
}

fn list<'a>(text: &'a str, what: &str) -> Result<Vec<&'a str>, Error> {
    let parts = commas(text).into_iter();
    parts.map(|part| given(part, what)).collect()
}

/// Returns the name and the arguments of a text that is one call: `name(a, b)`.
pub(super) fn call(text: &str) -> Option<(&str, Vec<&str>)> {
    let open = text.find('(')?;
    let name = text[..open].trim();
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let inside = text[open + 1..].strip_suffix(')')?;
    // The last bracket closes the first.
    let mut depth = 0_i32;
    let mut is_whole = true;
    outside(inside, |_, character, _| {
        depth += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        is_whole &= depth >= 0;
    });
    if !is_whole {
        return None;
    }
    Some(match inside.trim() {
        "" => (name, Vec::new()),
        inside => (name, commas(inside)),
    })
}

/// Splits at commas outside of brackets and quotes.
fn commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    outside(text, |at, character, depth| {
        if character == ',' && depth == 0 {
            parts.push(text[begin..at].trim());
            begin = at + 1;
        }
    });
    parts.push(text[begin..].trim());
    parts
}

/// Returns the keywords outside of brackets and quotes.
fn keywords(text: &str) -> Vec<(usize, &'static str)> {
    const KEYWORDS: [&str; 4] = ["by", "where", "keep", "with"];
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut found = Vec::new();
    // What is before: nothing yet, or the last character that is no space.
    let mut last = None;
    let mut is_spaced = true;
    outside(text, |at, character, depth| {
        if depth == 0 && is_spaced {
            let rest = &text[at..];
            let keyword = KEYWORDS.into_iter().find(|keyword| {
                rest.strip_prefix(keyword)
                    .is_some_and(|rest| !rest.starts_with(is_word))
            });
            let ends_operand = |it: char| is_word(it) || matches!(it, ')' | ']' | '}' | '"' | '\'');
            if let Some(keyword) = keyword
                && last.is_none_or(ends_operand)
            {
                found.push((at, keyword));
            }
        }
        is_spaced = character.is_whitespace() || matches!(character, ')' | ']' | '}');
        if !character.is_whitespace() {
            last = Some(character);
        }
    });
    found
}

/// Calls `see` for each character that is in no quotes, with its position and the number of brackets
/// around it. The ends of a quoted text are seen.
fn outside(text: &str, mut see: impl FnMut(usize, char, usize)) {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if let Some(end) = quote {
            if is_escaped {
                is_escaped = false;
            } else if character == '\\' {
                is_escaped = true;
            } else if character == end {
                quote = None;
                see(at, character, depth);
            }
            continue;
        }
        match character {
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            // A quote that is not closed is a lifetime (`'a`).
            '"' | '\'' if closes(&text[at + 1..], character) => quote = Some(character),
            _ => {}
        }
        see(at, character, depth);
        if matches!(character, '(' | '[' | '{') {
            depth += 1;
        }
    }
}

/// Returns whether a quoted text that begins before `rest` is closed; a character by its next few.
fn closes(rest: &str, quote: char) -> bool {
    const LONGEST_CHARACTER: usize = 12;
    let mut is_escaped = false;
    for (number, character) in rest.chars().enumerate() {
        if quote == '\'' && number > LONGEST_CHARACTER {
            return false;
        }
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            it if it == quote => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_found_outside_of_expressions() {
        let by = |text: &str| split(text).map(|parts| (parts.items.len(), parts.keys.len()));
        assert_eq!(by("count() by a, b").unwrap(), (1, 2));
        assert_eq!(by("count()by a").unwrap(), (1, 1));
        assert_eq!(by("by + 1").unwrap(), (0, 1));
        assert_eq!(by("x + by").unwrap(), (1, 0));
        assert_eq!(by("x + with, a").unwrap(), (2, 0));
        assert_eq!(split("a by b with traps").unwrap().with, Some("traps"));
        assert_eq!(by("f(a by b)").unwrap(), (1, 0));
        assert_eq!(by("\"a by b\", standby").unwrap(), (2, 0));
        assert_eq!(by("c == ',' by d").unwrap(), (1, 1));
        assert_eq!(by("m[','], s == \"\\\",\"").unwrap(), (2, 0));
    }

    #[test]
    fn calls_are_whole() {
        assert_eq!(call("sum(a)"), Some(("sum", vec!["a"])));
        assert_eq!(call("top(3, f(a, b))"), Some(("top", vec!["3", "f(a, b)"])));
        assert_eq!(call("count()"), Some(("count", vec![])));
        assert_eq!(call("sum(a) + sum(b)"), None);
        assert_eq!(call("(a)"), None);
        assert_eq!(call("a.b(c)"), None);
    }
}
