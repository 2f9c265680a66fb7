//! The change of a variable's value, in a few words.

use super::budget::cut;
use super::history::Value;
use crate::protocol::Change;

/// Maximum length in bytes of a value that is shown completely.
const MAX_WHOLE_CHARS: usize = 60;
/// Bytes shown of a longer one: before the first difference, and from it on.
const CONTEXT_CHARS: (usize, usize) = (20, 60);

/// Describes the change from one value to another.
pub fn change(name: &str, was: &Value, is: &Value) -> Change {
    let (before, after) = match was.shown == is.shown {
        // Only addresses differ, and they are not shown.
        true => (
            was.shown.clone(),
            format!("{} (another address)", cut(&is.shown, MAX_WHOLE_CHARS)),
        ),
        false => (was.shown.clone(), is.shown.clone()),
    };
    let longest = before.len().max(after.len());
    let name = name.to_owned();
    if longest <= MAX_WHOLE_CHARS || was.shown == is.shown {
        let before = cut(&before, MAX_WHOLE_CHARS);
        return Change {
            name,
            before,
            after,
        };
    }
    let pairs = before.char_indices().zip(after.chars());
    let same = pairs
        .take_while(|((_, a), b)| a == b)
        .map(|((at, c), _)| at + c.len_utf8())
        .last()
        .unwrap_or(0);
    let from = before.floor_char_boundary(same.saturating_sub(CONTEXT_CHARS.0));
    let part = |text: &str| {
        let lead = if from > 0 { "…" } else { "" };
        format!(
            "{lead}{}",
            cut(&text[from..], CONTEXT_CHARS.0 + CONTEXT_CHARS.1)
        )
    };
    Change {
        name,
        before: part(&before),
        after: part(&after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value {
            shown: text.to_owned(),
            exact: text.to_owned(),
            own: text.to_owned(),
        }
    }

    #[test]
    fn short_texts_are_shown_whole() {
        let change = change("i", &value("2"), &value("3"));
        assert_eq!((change.before.as_str(), change.after.as_str()), ("2", "3"));
    }

    #[test]
    fn long_texts_start_at_the_difference() {
        let text = |last: &str| format!("{{ü = 1, {} z = {last}}}", "filler = 12345, ".repeat(10));
        let change = change("s", &value(&text("7")), &value(&text("8")));
        assert_eq!(change.before, "…iller = 12345,  z = 7}");
        assert_eq!(change.after, "…iller = 12345,  z = 8}");
    }

    #[test]
    fn changed_hidden_address_is_reported() {
        let pointer = |exact: &str| Value {
            shown: "0x…".to_owned(),
            exact: exact.to_owned(),
            own: exact.to_owned(),
        };
        let change = change("p", &pointer("0x1000"), &pointer("0x2000"));
        assert_eq!(change.after, "0x… (another address)");
    }
}
