//! The literals of Rust: numbers, characters, texts.

use super::Constant;
use super::numbers::{integer, primitive};

/// A number; one without a suffix has no type.
pub(super) enum Literal {
    Whole(u128, Option<&'static str>),
    Float(String, Option<&'static str>),
}

/// Returns a number.
///
/// # Errors
/// It is none.
pub(super) fn number(text: &str) -> Result<Literal, String> {
    let wrong = || {
        format!(
            "`{}` is no number",
            text.chars().take(32).collect::<String>()
        )
    };
    let digits: String = text.chars().filter(|it| *it != '_').collect();
    let (base, digits) = match digits.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => (10, &digits[..]),
    };
    let end = digits.find(|it: char| !it.is_digit(base));
    let (number, suffix) = digits.split_at(end.unwrap_or(digits.len()));
    let ty = primitive(suffix);
    let is_float = base == 10 && (suffix.starts_with(['.', 'e', 'E', 'f']));
    if is_float {
        let ty = ["f32", "f64"].into_iter().find(|it| digits.ends_with(it));
        let text = ty.and_then(|ty| digits.strip_suffix(ty)).unwrap_or(digits);
        return Ok(Literal::Float(text.to_owned(), ty));
    }
    if !suffix.is_empty() && ty.is_none_or(|ty| integer(ty).is_none()) {
        return Err(wrong());
    }
    let value = u128::from_str_radix(number, base).map_err(|_| wrong())?;
    Ok(Literal::Whole(value, ty))
}

/// Returns a character, or a byte.
///
/// # Errors
/// It is none.
pub(super) fn character(text: &str) -> Result<Constant, String> {
    let wrong = || "a character in its expression is not understood".to_owned();
    let (ty, quoted) = match text.strip_prefix('b') {
        Some(rest) => ("u8", rest),
        None => ("char", text),
    };
    let inside = quoted
        .strip_prefix('\'')
        .and_then(|it| it.strip_suffix('\''));
    let inside = inside.ok_or_else(wrong)?;
    let mut rest = inside.chars();
    let code = match rest.next() {
        Some('\\') => escaped(&mut rest),
        first => first.map(u32::from),
    };
    let most = if ty == "u8" {
        255
    } else {
        u32::from(char::MAX)
    };
    let code = code.filter(|it| *it <= most && rest.next().is_none());
    Ok(Constant {
        ty,
        bits: u128::from(code.ok_or_else(wrong)?),
    })
}

/// Returns the code of an escape behind its `\`.
fn escaped(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    Some(match rest.next()? {
        'n' => 10,
        'r' => 13,
        't' => 9,
        '0' => 0,
        '\\' => 92,
        '\'' => 39,
        '"' => 34,
        'x' => {
            let digits = rest.as_str().get(..2)?;
            *rest = rest.as_str().get(2..)?.chars();
            u32::from_str_radix(digits, 16).ok()?
        }
        'u' => {
            let (digits, behind) = rest.as_str().strip_prefix('{')?.split_once('}')?;
            *rest = behind.chars();
            u32::from_str_radix(&digits.replace('_', ""), 16).ok()?
        }
        _ => return None,
    })
}

/// Returns the bytes of a text, and whether it is a byte string.
///
/// # Errors
/// It is neither.
pub(super) fn bytes_or_text(text: &str) -> Result<(Vec<u8>, bool), String> {
    let wrong = || "a text in its expression is not understood".to_owned();
    let (is_bytes, rest) = match text.strip_prefix('b') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if let Some(raw) = rest.strip_prefix('r') {
        let inside = raw.trim_matches('#');
        let inside = inside.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let inside = inside.ok_or_else(wrong)?;
        return Ok((of_lines(inside).into_bytes(), is_bytes));
    }
    let inside = rest.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let inside = of_lines(inside.ok_or_else(wrong)?);
    let mut bytes = Vec::new();
    let mut rest = inside.chars();
    while let Some(next) = rest.next() {
        let code = match next {
            '\\' if rest.as_str().starts_with('\n') => {
                let behind = rest.as_str();
                rest = behind.trim_start_matches([' ', '\n', '\r', '\t']).chars();
                continue;
            }
            '\\' => escaped(&mut rest),
            other => Some(u32::from(other)),
        };
        let code = code.ok_or_else(wrong)?;
        match (is_bytes, u8::try_from(code), char::from_u32(code)) {
            (true, Ok(byte), _) => bytes.push(byte),
            (false, _, Some(letter)) => {
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(wrong()),
        }
    }
    Ok((bytes, is_bytes))
}

/// Returns a text of a file as the compiler reads it: a line ends by one byte.
fn of_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_compiler() {
        for (text, expected) in [
            (
                r#""a\n\x41\u{e9}\"\\""#,
                Some(("a\nA\u{e9}\"\\".as_bytes().to_vec(), false)),
            ),
            (r#""""#, Some((Vec::new(), false))),
            ("\"a\\\n   b\"", Some((b"ab".to_vec(), false))),
            ("\"a\r\nb\"", Some((b"a\nb".to_vec(), false))),
            (r##"r#"a"\n"#"##, Some((br#"a"\n"#.to_vec(), false))),
            (r#"b"\xff\0z""#, Some((vec![255, 0, b'z'], true))),
            (r#"br"\x""#, Some((br"\x".to_vec(), true))),
            (r#""\q""#, None),
            (r#""\x4""#, None),
            (r#""\u{110000}""#, None),
            (r#"c"a""#, None),
            (r#"b"\u{100}""#, None),
            ("\"", None),
            ("r#\"", None),
        ] {
            assert_eq!(bytes_or_text(text).ok(), expected, "{text}");
        }
    }
}
