//! Splits the text of a Rust source file into tokens.

/// Maximum number of tokens of a file.
const MAX_TOKENS: usize = 1 << 21;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A name or keyword.
    Name,
    /// A number, with its suffix.
    Number,
    /// A character or byte in quotes.
    Character,
    /// A text of any kind.
    Text,
    /// A lifetime or label.
    Lifetime,
    /// A sign of one byte, or of two that belong together (`->`); the second is 0 otherwise.
    Sign(u8, u8),
}

/// A token: where it is in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The line of its beginning, from 1.
    pub(super) line: u32,
}

impl Token {
    /// Returns the token's text.
    pub(super) fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    /// Returns whether it is a sign of one byte.
    pub(super) fn is(&self, sign: u8) -> bool {
        self.kind == Kind::Sign(sign, 0)
    }

    /// Returns whether it opens a group.
    pub(super) fn opens(&self) -> bool {
        self.is(b'(') || self.is(b'[') || self.is(b'{')
    }

    /// Returns whether it closes a group.
    pub(super) fn closes(&self) -> bool {
        self.is(b')') || self.is(b']') || self.is(b'}')
    }
}

/// Returns the tokens of a text without its comments.
///
/// # Errors
/// A text or comment has no end, or there are too many tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
    };
    reader.skip_mark();
    let mut all = Vec::new();
    while let Some(token) = reader.next()? {
        if all.len() >= MAX_TOKENS {
            return Err("the file is too large".to_owned());
        }
        all.push(token);
    }
    Ok(all)
}

/// Returns the tokens before the first `;` that no brackets are around.
///
/// # Errors
/// There is none within what a constant that can be computed needs.
pub(super) fn first_statement(text: &str) -> Result<Vec<Token>, String> {
    const MOST: usize = 1 << 14;
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
    };
    let (mut all, mut depth) = (Vec::new(), 0usize);
    while let Some(token) = reader.next()? {
        if token.is(b';') && depth == 0 {
            return Ok(all);
        }
        depth += usize::from(token.opens());
        depth = depth.saturating_sub(usize::from(token.closes()));
        if all.len() >= MOST {
            break;
        }
        all.push(token);
    }
    Err("its expression is too long".to_owned())
}

/// Returns the text before the first `;` that no brackets are around; `None` as for [`first_statement`].
pub(super) fn statement_of(text: &str) -> Option<&str> {
    let tokens = first_statement(text).ok()?;
    let end = tokens.last().map_or(0, |it| it.end);
    text.get(..end as usize)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

/// Returns whether a byte may be part of a name; all of other scripts are taken as letters.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl Reader<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) {
        self.line += u32::from(self.byte(0) == b'\n');
        self.at += 1;
    }

    /// Skips a byte order mark and the first line of a script.
    fn skip_mark(&mut self) {
        if self.bytes.starts_with(b"\xef\xbb\xbf") {
            self.at = 3;
        }
        if self.byte(0) == b'#' && self.byte(1) == b'!' && self.byte(2) == b'/' {
            self.skip_line();
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) -> Result<(), String> {
        let (line, mut depth) = (self.line, 0u32);
        while self.at < self.bytes.len() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => depth += 1,
                (b'*', b'/') => depth -= 1,
                _ => {
                    self.step();
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(format!("the comment at line {line} has no end"))
    }

    fn next(&mut self) -> Result<Option<Token>, String> {
        loop {
            match (self.byte(0), self.byte(1)) {
                _ if self.at >= self.bytes.len() => return Ok(None),
                (b'/', b'/') => self.skip_line(),
                (b'/', b'*') => self.skip_comment()?,
                (byte, _) if byte.is_ascii_whitespace() || byte == 0x0b => self.step(),
                _ => break,
            }
        }
        let (start, line) = (self.at, self.line);
        let kind = match self.byte(0) {
            b'"' => self.text()?,
            b'\'' => self.quote()?,
            byte if byte.is_ascii_digit() => self.number(),
            byte if is_letter(byte) => self.name()?,
            _ => self.sign(),
        };
        Ok(Some(Token {
            kind,
            start: start as u32,
            end: self.at as u32,
            line,
        }))
    }

    fn sign(&mut self) -> Kind {
        let pair = (self.byte(0), self.byte(1));
        let belong = matches!(
            pair,
            (b'-' | b'=', b'>')
                | (b'=' | b'!' | b'<' | b'>', b'=')
                | (b':', b':')
                | (b'&', b'&')
                | (b'|', b'|')
                | (b'.', b'.')
        );
        self.at += 1 + usize::from(belong);
        match belong {
            true => Kind::Sign(pair.0, pair.1),
            false => Kind::Sign(pair.0, 0),
        }
    }

    /// Reads a text from its first quote.
    fn text(&mut self) -> Result<Kind, String> {
        let line = self.line;
        self.step();
        while self.at < self.bytes.len() {
            match self.byte(0) {
                b'"' => {
                    self.at += 1;
                    return Ok(Kind::Text);
                }
                b'\\' => {
                    self.step();
                    self.step();
                }
                _ => self.step(),
            }
        }
        Err(format!("the text at line {line} has no end"))
    }

    /// Reads a raw text from its first `#` or quote.
    fn raw_text(&mut self) -> Result<Kind, String> {
        let line = self.line;
        let mut hashes = 0;
        while self.byte(0) == b'#' {
            hashes += 1;
            self.at += 1;
        }
        self.step();
        while self.at < self.bytes.len() {
            if self.byte(0) == b'"' {
                let rest = &self.bytes[self.at + 1..];
                let follow = rest
                    .iter()
                    .take(hashes)
                    .take_while(|it| **it == b'#')
                    .count();
                if follow == hashes {
                    self.at += 1 + hashes;
                    return Ok(Kind::Text);
                }
                // What was compared is no end either.
                self.at += 1 + follow;
                continue;
            }
            self.step();
        }
        Err(format!("the text at line {line} has no end"))
    }

    /// Reads a character or a lifetime from its quote.
    fn quote(&mut self) -> Result<Kind, String> {
        let line = self.line;
        let first = self.byte(1);
        let width = match first {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        };
        if first != b'\\' && first != b'\'' && self.byte(1 + width) == b'\'' {
            self.step();
            self.line += u32::from(first == b'\n');
            self.at += width + 1;
            return Ok(Kind::Character);
        }
        if first == b'\\' {
            // The longest is `'\u{1_0_f_f_f_f}'`.
            let rest = self.bytes.get(self.at + 3..).unwrap_or_default();
            let end = rest.iter().take(24).position(|it| *it == b'\'');
            let end = end.ok_or_else(|| format!("the character at line {line} has no end"))?;
            self.at += 3 + end + 1;
            return Ok(Kind::Character);
        }
        if !is_letter(first) {
            return Err(format!("the character at line {line} has no end"));
        }
        self.at += 1;
        while is_letter(self.byte(0)) {
            self.at += 1;
        }
        Ok(Kind::Lifetime)
    }

    fn number(&mut self) -> Kind {
        let start = self.at;
        while is_letter(self.byte(0)) {
            self.at += 1;
        }
        let is_decimal = !matches!(
            self.bytes.get(start..start + 2),
            Some(b"0x" | b"0o" | b"0b")
        );
        let point = self.byte(0) == b'.' && self.byte(1) != b'.';
        if is_decimal && point && (self.byte(1).is_ascii_digit() || !is_letter(self.byte(1))) {
            self.at += 1;
            while is_letter(self.byte(0)) {
                self.at += 1;
            }
        }
        let has_exponent = matches!(self.bytes.get(self.at - 1), Some(b'e' | b'E'));
        if is_decimal && has_exponent && matches!(self.byte(0), b'+' | b'-') {
            self.at += 1;
            while is_letter(self.byte(0)) {
                self.at += 1;
            }
        }
        Kind::Number
    }

    fn name(&mut self) -> Result<Kind, String> {
        let start = self.at;
        while is_letter(self.byte(0)) {
            self.at += 1;
        }
        let hashes = self.bytes[self.at..]
            .iter()
            .take_while(|it| **it == b'#')
            .count();
        let quoted = self.byte(hashes) == b'"';
        match (&self.bytes[start..self.at], self.byte(0)) {
            (b"r" | b"br" | b"cr", b'"' | b'#') if quoted => self.raw_text(),
            (b"b" | b"c", b'"') => self.text(),
            (b"b", b'\'') => self.quote(),
            (b"r", b'#') if is_letter(self.byte(1)) => {
                self.at += 1;
                while is_letter(self.byte(0)) {
                    self.at += 1;
                }
                Ok(Kind::Name)
            }
            _ => Ok(Kind::Name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let all = tokens(text).expect(text);
        all.iter().map(|token| token.text(text)).collect()
    }

    #[test]
    fn tokens_of_rust() {
        for (text, expected) in [
            ("a/*b/*c*/d*/e//f\ng", vec!["a", "e", "g"]),
            (
                r##"r#"a"b"# 'x' '\'' 'a b'\u{41}'"##,
                vec![r##"r#"a"b"#"##, "'x'", r"'\''", "'a", r"b'\u{41}'"],
            ),
            ("'é''a: 'static", vec!["'é'", "'a", ":", "'static"]),
            (
                "0x1f32 1.5e-3f64 1..2 1.max(2) 7.",
                vec![
                    "0x1f32",
                    "1.5e-3f64",
                    "1",
                    "..",
                    "2",
                    "1",
                    ".",
                    "max",
                    "(",
                    "2",
                    ")",
                    "7.",
                ],
            ),
            (
                "a<<b>>c->d=>e::f!=g>=h",
                vec![
                    "a", "<", "<", "b", ">", ">", "c", "->", "d", "=>", "e", "::", "f", "!=", "g",
                    ">=", "h",
                ],
            ),
            (
                r#""a\"b" b"c" br"d" c"e" r#type b'f'"#,
                vec![
                    r#""a\"b""#,
                    r#"b"c""#,
                    r#"br"d""#,
                    r#"c"e""#,
                    "r#type",
                    "b'f'",
                ],
            ),
            ("#!/bin/x\na", vec!["a"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
        let lines = tokens("a\n\"\n\n\"/*\n*/b").expect("tokens");
        assert_eq!(
            lines.iter().map(|it| it.line).collect::<Vec<_>>(),
            [1, 2, 5]
        );
    }

    #[test]
    fn ends_that_are_missing_are_refused() {
        for text in [
            "\"a",
            "r#\"a\"",
            "/* /* */",
            "'\\",
            "'",
            "b\"\\",
            "'\\u{1111111111111111111111111",
        ] {
            assert!(tokens(text).is_err(), "{text}");
        }
        for text in ["r#", "b", "0x", "1.", "'a", "r", "\u{feff}", "0", "#!", "é"] {
            assert!(tokens(text).is_ok(), "{text}");
        }
        let long = format!("const A: u8 = {};", "1".repeat(1 << 20));
        assert_eq!(tokens(&long).expect("tokens").len(), 7);
    }
}
