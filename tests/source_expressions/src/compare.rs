//! Whether the debugger's answer is the compiler's value.

use crate::probe::{Answer, Truth};
use std::collections::HashSet;

/// What a comparison says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The same value.
    Equal,
    /// Another value, or a value where the program has none.
    Wrong,
    /// The debugger refuses.
    Refused,
    /// The texts differ, and the type's own text does not say what it holds; or the program cannot print it.
    NotComparable,
}

/// Compares a value of Rust with the text of its `Debug`. `derived` has the crate's types whose text says all.
pub fn rust(truth: &Truth, answer: &Answer, derived: &HashSet<String>) -> Verdict {
    let shown = match answer {
        Answer::Refused(_) => return Verdict::Refused,
        Answer::Value(shown, _) => shown,
    };
    let (ty, value) = match truth {
        Truth::Trap => return Verdict::Wrong,
        Truth::Value(_, None) => return Verdict::NotComparable,
        Truth::Value(ty, Some(value)) => (ty, value),
    };
    if same(&tokens(shown, true), &tokens(value, false)) {
        return Verdict::Equal;
    }
    let is_told = |name: &str| is_plain(name) || derived.contains(name);
    let has_address = ty.contains('*') || ty.contains("fn(") || ty.contains("dyn ");
    match !has_address && names(ty).all(|name| is_told(&name)) {
        true => Verdict::Wrong,
        false => Verdict::NotComparable,
    }
}

/// Compares a value of C or C++ with what its probe prints.
pub fn c(truth: &Truth, answer: &Answer) -> Verdict {
    let shown = match answer {
        Answer::Refused(_) => return Verdict::Refused,
        Answer::Value(shown, _) => shown.trim(),
    };
    let Truth::Value(form, Some(value)) = truth else {
        return Verdict::NotComparable;
    };
    let verdict = |is_equal: bool| match is_equal {
        true => Verdict::Equal,
        false => Verdict::Wrong,
    };
    let is_name = shown.starts_with(|it: char| it.is_alphabetic() || it == '_');
    match form.as_str() {
        "integer" => match integer(shown) {
            Some(number) => verdict(number == *value),
            // Enumerators are shown by their names.
            None if is_name => Verdict::NotComparable,
            None => Verdict::Wrong,
        },
        "float" | "double" => {
            let (Ok(one), Ok(two)) = (shown.parse::<f64>(), value.parse::<f64>()) else {
                return verdict(shown.trim_start_matches('-') == value.trim_start_matches('-'));
            };
            let is_float = form == "float" && one as f32 == two as f32;
            verdict(one == two || is_float || one.is_nan() && two.is_nan())
        }
        "pointer" => {
            let address = shown
                .split_whitespace()
                .find_map(|it| it.strip_prefix("0x"));
            let is_null = match address {
                Some(digits) => digits.chars().all(|it| it == '0'),
                None => ["NULL", "nullptr", "0"].contains(&shown),
            };
            // A function or an object, by its name.
            let is_other = address.is_none() && !is_null;
            verdict(is_null == (value == "null") && !(is_other && value == "null"))
        }
        _ => {
            let Some(at) = shown.find('"') else {
                return Verdict::Wrong;
            };
            let mut whole = tokens(&shown[at..], true);
            whole.retain(|it| matches!(it, Token::Text('"', _) | Token::Rest));
            verdict(same(&whole, &[Token::Text('"', value.clone())]))
        }
    }
}

/// Returns the number that a text of the debugger begins with.
fn integer(shown: &str) -> Option<String> {
    match shown {
        "true" => return Some("1".to_owned()),
        "false" => return Some("0".to_owned()),
        _ => {}
    }
    let first = shown.split_whitespace().next()?;
    first.parse::<i128>().ok().map(|it| it.to_string())
}

/// Whether the text of a type of the library says what a value holds, as the debugger shows it. The order of hash
/// maps differs from run to run.
pub fn is_plain(name: &str) -> bool {
    const PLAIN: &str = "u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char str String Vec Option \
        Result Box Range RangeInclusive RangeFrom RangeTo RangeToInclusive RangeFull Ordering Global VecDeque BTreeMap \
        BTreeSet mut const static";
    PLAIN.split_whitespace().any(|it| it == name)
}

/// Returns the last names of all paths of a type.
fn names(ty: &str) -> impl Iterator<Item = String> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let paths = ty.split(move |letter| !is_name(letter));
    let last = paths.filter_map(|path| path.rsplit("::").next().map(str::to_owned));
    last.filter(|name| name.starts_with(|it: char| it.is_alphabetic() || it == '_'))
}

/// A part of a value's text.
#[derive(Clone, PartialEq, Debug)]
enum Token {
    /// A string or a character, without escapes.
    Text(char, String),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A name, or the digits of a number.
    Word(String),
    /// An address.
    Address,
    /// What is left out.
    Rest,
    /// Anything else.
    Mark(char),
}

/// Splits a value's text. `is_shown`: by the debugger, which adds lengths and counts in brackets.
fn tokens(text: &str, is_shown: bool) -> Vec<Token> {
    let letters: Vec<char> = text.chars().collect();
    let mut found: Vec<Token> = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let letter = letters[at];
        let start = at;
        at += 1;
        match letter {
            ' ' | '\n' | '\t' | '\r' => {}
            '"' => {
                let (inner, end) = quoted(&letters, at, '"');
                found.push(Token::Text('"', inner));
                at = end;
            }
            '\'' if letters.get(at + 1) == Some(&'\'') || letters.get(at) == Some(&'\\') => {
                let (inner, end) = quoted(&letters, at, '\'');
                found.push(Token::Text('\'', inner));
                at = end;
            }
            '…' => found.push(Token::Rest),
            '.' if letters[start..].starts_with(&['.', '.', '.']) => {
                found.push(Token::Rest);
                at += 2;
            }
            '0' if letters.get(at) == Some(&'x') => {
                while letters.get(at).is_some_and(char::is_ascii_alphanumeric) {
                    at += 1;
                }
                found.push(Token::Address);
            }
            _ if letter.is_ascii_digit() => {
                at = number_end(&letters, start);
                let number: String = letters[start..at].iter().collect();
                let is_float = number.contains(['.', 'e', 'E']);
                match number.parse() {
                    Ok(value) if is_float => found.push(Token::Float(value)),
                    _ => found.push(Token::Word(number)),
                }
            }
            _ if letter.is_alphabetic() || letter == '_' => {
                let is_path = |it: &char| it.is_alphanumeric() || *it == '_';
                while letters.get(at).is_some_and(is_path) {
                    at += 1;
                }
                if letters[at..].starts_with(&[':', ':']) {
                    // Only the last name of a path counts.
                    at += 2;
                    continue;
                }
                found.push(Token::Word(letters[start..at].iter().collect()));
            }
            other => found.push(Token::Mark(other)),
        }
    }
    if is_shown {
        // Its end may be cut within a name or a text.
        if text.ends_with("...") && !text.ends_with("\"...") {
            while found.pop_if(|it| *it == Token::Rest).is_some() {}
            found.pop();
            found.push(Token::Rest);
        }
        without_notes(&mut found);
    }
    found
}

/// Returns the end of a number that begins at `start`.
fn number_end(letters: &[char], start: usize) -> usize {
    let mut at = start;
    let digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    while digit(at) {
        at += 1;
    }
    if letters.get(at) == Some(&'.') && digit(at + 1) {
        at += 1;
        while digit(at) {
            at += 1;
        }
    }
    if matches!(letters.get(at), Some('e' | 'E')) {
        let signed = usize::from(matches!(letters.get(at + 1), Some('+' | '-')));
        if digit(at + 1 + signed) {
            at += 1 + signed;
            while digit(at) {
                at += 1;
            }
        }
    }
    at
}

/// Reads a quoted text from behind its first quote; returns it without escapes, and where it ends.
fn quoted(letters: &[char], start: usize, quote: char) -> (String, usize) {
    let (mut inner, mut at) = (String::new(), start);
    while let Some(&letter) = letters.get(at) {
        at += 1;
        if letter == quote {
            break;
        }
        if letter != '\\' {
            inner.push(letter);
            continue;
        }
        let Some(&escaped) = letters.get(at) else {
            break;
        };
        at += 1;
        let code = match escaped {
            'x' => {
                let end = (at + 2).min(letters.len());
                let digits: String = letters[at..end].iter().collect();
                at = end;
                digits
            }
            'u' if letters.get(at) == Some(&'{') => {
                let rest = letters[at..].iter();
                let digits: String = rest.skip(1).take_while(|it| **it != '}').collect();
                at += digits.chars().count() + 2;
                digits
            }
            _ => String::new(),
        };
        inner.push(match (escaped, u32::from_str_radix(&code, 16)) {
            (_, Ok(code)) => char::from_u32(code).unwrap_or('\u{fffd}'),
            ('n', _) => '\n',
            ('t', _) => '\t',
            ('r', _) => '\r',
            ('0', _) => '\0',
            (other, _) => other,
        });
    }
    (inner, at)
}

/// Removes `(3)` behind a sequence, or before a long one, and `(strong 1)`.
fn without_notes(tokens: &mut Vec<Token>) {
    let is_number =
        |it: &Token| matches!(it, Token::Word(word) if word.chars().all(|it| it.is_ascii_digit()));
    let is_note = |it: &Token| matches!(it, Token::Word(word) if ["strong", "weak", "borrowed"].contains(&word.as_str()));
    let mut at = 0;
    while at + 2 < tokens.len() {
        let is_behind = at > 0 && matches!(tokens[at - 1], Token::Mark(']' | '}'));
        let is_open = tokens[at] == Token::Mark('(');
        let is_before = matches!(tokens.get(at + 3), Some(Token::Mark('[' | '{')));
        let is_length = (is_behind || is_before)
            && is_number(&tokens[at + 1])
            && tokens[at + 2] == Token::Mark(')');
        if is_open && (is_length || is_note(&tokens[at + 1])) {
            let end = tokens[at..].iter().position(|it| *it == Token::Mark(')'));
            tokens.drain(at..=at + end.unwrap_or(0));
        } else {
            at += 1;
        }
    }
}

/// Compares what the debugger shows with the truth; both may leave out the rest of a sequence or of a text.
fn same(shown: &[Token], truth: &[Token]) -> bool {
    let (mut at, mut other) = (0, 0);
    let is_cut = truth.last() == Some(&Token::Rest);
    loop {
        // What the debugger leaves out may be what the truth is cut in, as may be its last word.
        if is_cut && at > 0 && other + 1 >= truth.len() {
            return true;
        }
        // `{…}` and `(…)` stand for all parts of one value.
        if let [
            Token::Mark('(' | '[' | '{'),
            Token::Rest,
            Token::Mark(_),
            ..,
        ] = &shown[at..]
        {
            other += usize::from(matches!(truth.get(other), Some(Token::Word(_))));
            if let Some(Token::Mark('(' | '[' | '{')) = truth.get(other) {
                at += 3;
                other = (end_of_group(truth, other + 1) + 1).min(truth.len());
                continue;
            }
        }
        match (shown.get(at), truth.get(other)) {
            (None, None) => return true,
            // The truth is cut.
            (_, Some(Token::Rest)) if other + 1 == truth.len() => return true,
            (Some(Token::Rest), _) => {
                if at + 1 == shown.len() {
                    return true;
                }
                other = end_of_group(truth, other);
                at += 1;
            }
            (Some(Token::Mark(',')), _) if shown.get(at + 1) == Some(&Token::Rest) => at += 1,
            (Some(Token::Text(quote, text)), Some(Token::Text(quoted, whole)))
                if quote == quoted =>
            {
                let is_cut = shown.get(at + 1) == Some(&Token::Rest) && whole.starts_with(text);
                // The truth is cut within the text.
                let ends = truth.get(other + 1).is_none() && whole.ends_with('…');
                if ends && text.starts_with(whole.trim_end_matches('…')) {
                    return true;
                }
                if text != whole && !is_cut {
                    return false;
                }
                at += 1 + usize::from(is_cut && text != whole);
                other += 1;
            }
            (Some(Token::Float(one)), Some(Token::Float(two))) => {
                if one.to_bits() != two.to_bits() {
                    return false;
                }
                (at, other) = (at + 1, other + 1);
            }
            (Some(one), Some(two)) if one == two => (at, other) = (at + 1, other + 1),
            (Some(Token::Word(one)), Some(Token::Word(two))) => {
                return is_cut && other + 2 == truth.len() && one.starts_with(two.as_str());
            }
            _ => return false,
        }
    }
}

/// Returns where the brackets around a place are closed.
fn end_of_group(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') if depth == 0 => break,
            Token::Mark(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ty: &str, value: &str, shown: &str) -> Verdict {
        let truth = Truth::Value(ty.to_owned(), Some(value.to_owned()));
        let answer = Answer::Value(shown.to_owned(), String::new());
        rust(&truth, &answer, &HashSet::from(["Part".to_owned()]))
    }

    #[test]
    fn same_values_are_equal() {
        for (ty, value, shown) in [
            ("i32", "-4", "-4"),
            ("&str", r#""a\"\u{7f}\n""#, "\"a\\\"\u{7f}\\n\""),
            ("alloc::vec::Vec<u8>", "[1, 2]", "(2) [1, 2]"),
            ("alloc::vec::Vec<u8>", "[1, 2, 3, 4]", "(4) [1, 2, ...]"),
            ("alloc::vec::Vec<u8>", "[1, 2, 3, 4]", "(4) [1, 2, ..."),
            (
                "a::Part",
                "Part { a: Some(1.5), b: 'x' }",
                "Part {a: Some(1.5), b: 'x'}",
            ),
            (
                "a::Part",
                "Part { a: [Part { a: [] }], b: Some('x'), c: 3 }",
                "Part {a: {…}, b: Some(…), c: 3}",
            ),
            (
                "a::Part",
                "Part { a: [1, 2], b: 3 }",
                "Part {a: [...], b: 3}",
            ),
            ("core::ops::Range<usize>", "0..5", "0..5"),
            ("alloc::rc::Rc<i32>", "5", "5 (strong 1)"),
            ("&str", "\"long text\"", "\"long\"..."),
            (
                "a::Part",
                "Part { a: [1, 2], b: 3 }",
                "Part {a: [1, 2], b...",
            ),
            ("a::Part", "Part { a: \"text\", b: 3 }", "Part {a: \"te..."),
            ("alloc::vec::Vec<u8>", "[1, 2, 3, 4…", "(4) [1, 2, ...]"),
            (
                "alloc::vec::Vec<alloc::vec::Vec<u8>>",
                "[[1, 2, 3, …",
                "(2) [(4) [1, 2, ...], [5]]",
            ),
            ("alloc::vec::Vec<u8>", "[1, 2…", "(3) [1, 25, 3]"),
        ] {
            assert_eq!(
                verdict(ty, value, shown),
                Verdict::Equal,
                "{value}, {shown}"
            );
        }
    }

    #[test]
    fn other_values_are_wrong_where_the_text_says_all() {
        for (ty, value, shown) in [
            ("i32", "4", "-4"),
            ("alloc::vec::Vec<u8>", "[1, 2]", "(2) [1, 3]"),
            ("alloc::vec::Vec<u8>", "[1, 2]", "(1) [1]"),
            ("a::Part", "Part { a: 1, b: 2 }", "Part {a: 1, b: 3}"),
            ("f64", "1.0", "1.5"),
            ("&str", "\"long text\"", "\"short\"..."),
            (
                "a::Part",
                "Part { a: [1, 2], b: 3 }",
                "Part {a: [1, 3], b...",
            ),
            ("alloc::vec::Vec<u8>", "[1, 2, 3, 4…", "(4) [1, 3, ...]"),
            ("alloc::vec::Vec<u8>", "[1, 2…", "(3) [1, 35, 3]"),
        ] {
            assert_eq!(
                verdict(ty, value, shown),
                Verdict::Wrong,
                "{value}, {shown}"
            );
        }
        assert_eq!(
            verdict("a::Other", "<other>", "Other {a: 1}"),
            Verdict::NotComparable
        );
    }
}
