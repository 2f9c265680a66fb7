//! Lexer: text → tokens.

use super::soft;
use crate::ids::error::Error;
use crate::inspect::value::scalar::Float;
use dwarf::Language;
use std::ops::Range;

/// A token and its position in the text (bytes).
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its position.
    pub span: Range<usize>,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A name or keyword.
    Name(String),
    /// `$rax`
    Register(String),
    /// An integer, its suffix (`u64`, `ul`, empty), and whether it is decimal.
    Int(u128, String, bool),
    /// A float and its suffix.
    Float(String, String),
    /// A character and its prefix (`b`, `L`, `u`, …).
    Char(u32, String),
    /// A string's bytes.
    Text(Vec<u8>),
    /// An operator or bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// Operators and brackets, each before its own prefixes.
const SYMBOLS: &[&str] = &[
    "<<=", ">>=", "...", "..=", "->", "::", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "++",
    "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "..", "+", "-", "*", "/", "%", "&", "|",
    "^", "~", "!", "<", ">", "=", "?", ":", ".", ",", "(", ")", "[", "]", "{", "}", "@", ";", "#",
];

/// Operators of C++ that accesses by pointers to members need.
const SYMBOLS_OF_CPP: &[&str] = &["->*", ".*", "<=>"];

/// Operators of C++ that are spelled as words (ISO C++ [lex.digraph]).
const WORDS_OF_CPP: &[(&str, &str)] = &[
    ("and", "&&"),
    ("and_eq", "&="),
    ("bitand", "&"),
    ("bitor", "|"),
    ("compl", "~"),
    ("not", "!"),
    ("not_eq", "!="),
    ("or", "||"),
    ("or_eq", "|="),
    ("xor", "^"),
    ("xor_eq", "^="),
];

/// Maximum length of an expression in bytes.
pub const MAX_EXPRESSION_BYTES: usize = 1 << 16;

pub(super) fn error(message: impl Into<String>, span: Range<usize>) -> Error {
    Error::Eval {
        message: message.into(),
        span,
    }
}

/// Returns the tokens of an expression, [`TokenKind::End`] last.
///
/// # Errors
/// An invalid character, number or string; the text is too long.
pub fn tokens(text: &str, language: Language) -> Result<Vec<Token>, Error> {
    if text.len() > MAX_EXPRESSION_BYTES {
        return Err(error(super::messages::TOO_LONG, 0..0));
    }
    let mut lexer = Lexer {
        text,
        at: 0,
        rust: language == Language::Rust,
        cpp: language == Language::Cpp,
    };
    let mut tokens = Vec::new();
    loop {
        let after_dot = matches!(
            tokens.last(),
            Some(Token {
                kind: TokenKind::Symbol("." | "->"),
                ..
            })
        );
        let token = lexer.next(after_dot)?;
        let is_end = token.kind == TokenKind::End;
        tokens.push(token);
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    rust: bool,
    cpp: bool,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &str {
        let start = self.at;
        let len = self
            .rest()
            .find(|char| !accept(char))
            .unwrap_or(self.rest().len());
        self.at += len;
        &self.text[start..self.at]
    }

    fn next(&mut self, after_dot: bool) -> Result<Token, Error> {
        self.take_while(char::is_whitespace);
        let start = self.at;
        let Some(char) = self.peek() else {
            return Ok(Token {
                kind: TokenKind::End,
                span: start..start,
            });
        };
        let kind = match char {
            // `t.0.1` is two members, not a float.
            '0'..='9' if after_dot => {
                let digits = self.take_while(|char| char.is_ascii_digit()).to_owned();
                TokenKind::Name(digits)
            }
            '0'..='9' => self.number()?,
            '.' if self.rest()[1..].starts_with(|char: char| char.is_ascii_digit())
                && !(self.rust && self.continues_operand(start)) =>
            {
                self.number()?
            }
            '"' => TokenKind::Text(self.quoted(false)?),
            '\'' => match self.file_of_name() {
                Some(name) => TokenKind::Name(name),
                None => self.character(String::new())?,
            },
            '$' => {
                self.at += 1;
                let name = self.take_while(is_name_part).to_owned();
                if name.is_empty() {
                    return Err(error("expected a register name after `$`", start..self.at));
                }
                TokenKind::Register(name)
            }
            _ if is_name_start(char) => {
                let name = self.take_while(is_name_part).to_owned();
                match (name.as_str(), self.peek()) {
                    ("R" | "LR" | "uR" | "UR" | "u8R", Some('"')) => TokenKind::Text(self.raw_c()?),
                    ("r" | "br" | "cr", Some('"' | '#')) if self.begins_raw() => {
                        TokenKind::Text(self.raw_rust()?)
                    }
                    ("b" | "L" | "u" | "U" | "u8", Some('\'')) => self.character(name)?,
                    ("b" | "c" | "L" | "u" | "U" | "u8", Some('"')) => {
                        TokenKind::Text(self.quoted(matches!(name.as_str(), "L" | "u" | "U"))?)
                    }
                    ("r", Some('#')) => {
                        self.at += 1;
                        TokenKind::Name(self.take_while(is_name_part).to_owned())
                    }
                    _ => match self.operator_word(&name) {
                        Some(symbol) => TokenKind::Symbol(symbol),
                        None => TokenKind::Name(name),
                    },
                }
            }
            _ => {
                let of_cpp = if self.cpp { SYMBOLS_OF_CPP } else { &[] };
                let symbol = of_cpp
                    .iter()
                    .chain(SYMBOLS)
                    .copied()
                    .find(|symbol| self.rest().starts_with(symbol));
                let Some(symbol) = symbol else {
                    let end = start + char.len_utf8();
                    return Err(error(
                        format!("unexpected character `{}`", char.escape_debug()),
                        start..end,
                    ));
                };
                self.at += symbol.len();
                TokenKind::Symbol(symbol)
            }
        };
        Ok(Token {
            kind,
            span: start..self.at,
        })
    }

    /// Returns the operator that a word of C++ stands for.
    fn operator_word(&self, name: &str) -> Option<&'static str> {
        let word = WORDS_OF_CPP.iter().find(|(word, _)| *word == name);
        word.filter(|_| self.cpp).map(|(_, symbol)| *symbol)
    }

    /// Returns whether the text before `at` makes a following `.5` a member access.
    fn continues_operand(&self, at: usize) -> bool {
        let before = self.text[..at].trim_end();
        before.ends_with(|char: char| is_name_part(char) || matches!(char, ')' | ']'))
    }

    /// Returns whether `#`s and a quote follow: a raw string instead of a raw name (`r#type`).
    fn begins_raw(&self) -> bool {
        self.rest().trim_start_matches('#').starts_with('"')
    }

    /// Reads `r#"…"#` from its first `#` or quote on.
    fn raw_rust(&mut self) -> Result<Vec<u8>, Error> {
        let start = self.at;
        let marks = self.take_while(|char| char == '#').to_owned();
        self.raw(start, 1, &format!("\"{marks}"))
    }

    /// Reads `R"mark(…)mark"` from its quote on.
    fn raw_c(&mut self) -> Result<Vec<u8>, Error> {
        let start = self.at;
        self.at += 1;
        let mark = self
            .take_while(|char| !matches!(char, '(' | '"'))
            .to_owned();
        self.raw(start, 1, &format!("){mark}\""))
    }

    fn raw(&mut self, start: usize, skip: usize, closing: &str) -> Result<Vec<u8>, Error> {
        let rest = self.text.get(self.at + skip..).unwrap_or_default();
        let Some(len) = rest.find(closing) else {
            return Err(error(
                format!("unterminated string literal: missing `{closing}`"),
                start..self.at,
            ));
        };
        self.at += skip + len + closing.len();
        Ok(rest.as_bytes()[..len].to_vec())
    }

    fn number(&mut self) -> Result<TokenKind, Error> {
        let start = self.at;
        let lower = self.rest().get(..2).map(str::to_ascii_lowercase);
        let radix = match lower.as_deref() {
            Some("0x") => 16,
            Some("0b") => 2,
            Some("0o") => 8,
            _ => 10,
        };
        if radix != 10 {
            self.at += 2;
            let rust = self.rust;
            let digits = self
                .take_digits(|char| char.is_digit(radix) || char == '_' || char == '\'' && !rust);
            if radix == 16 && !self.rust && self.rest().starts_with(['.', 'p', 'P']) {
                return self.hexadecimal_float(start);
            }
            return self.integer(&digits, radix, start);
        }
        let is_digit = |char: char| char.is_ascii_digit() || char == '_' || char == '\'';
        let whole = self.take_digits(is_digit);
        let mut text = whole.clone();
        let mut float = false;
        let rest = self.rest().as_bytes();
        let next = rest.get(1).copied().unwrap_or(0);
        // In Rust a name after the dot is a member. In C it is a suffix: `1.f`, or an exponent.
        let is_member = self.rust && (next.is_ascii_alphabetic() || next == b'_');
        if rest.first() == Some(&b'.') && next != b'.' && !is_member {
            float = true;
            self.at += 1;
            text.push('.');
            text += &self.take_digits(is_digit);
        }
        let rest = self.rest().as_bytes();
        let sign = usize::from(matches!(rest.get(1), Some(b'+' | b'-')));
        if matches!(rest.first(), Some(b'e' | b'E'))
            && rest.get(1 + sign).is_some_and(u8::is_ascii_digit)
        {
            float = true;
            text += &self.text[self.at..=self.at + sign];
            self.at += 1 + sign;
            text += &self.take_digits(is_digit);
        }
        if !float {
            // Octal in C, decimal in Rust.
            let is_octal = !self.rust && whole.len() > 1 && whole.starts_with('0');
            if is_octal && let Some(digit) = whole.chars().find(|it| matches!(it, '8' | '9')) {
                let message = format!("invalid digit `{digit}` in an octal number");
                return Err(error(message, start..self.at));
            }
            return self.integer(&whole, if is_octal { 8 } else { 10 }, start);
        }
        self.float(text, start)
    }

    /// Reads the rest of a float after its digits: its suffix.
    fn float(&mut self, text: String, start: usize) -> Result<TokenKind, Error> {
        let suffix = self.take_while(is_name_part).to_ascii_lowercase();
        let is_known = match suffix.as_str() {
            "" | "f" | "l" | "f32" | "f64" => true,
            // ISO C++ [lex.fcon], ISO C §H.5.2, GNU C.
            "f16" | "bf16" | "f128" | "f32x" | "f64x" | "q" => !self.rust,
            "df" | "dd" | "dl" | "i" | "j" | "fi" | "if" | "li" | "il" if !self.rust => {
                let message = format!("numbers with the suffix `{suffix}` are not supported");
                return Err(error(message, start..self.at));
            }
            _ => false,
        };
        match soft::parsed(Float::Double, &text) {
            Some(_) if is_known => Ok(TokenKind::Float(text, suffix)),
            _ => Err(error("invalid number literal", start..self.at)),
        }
    }

    /// Reads the rest of `0x1.8p3` (ISO C §6.4.4.3).
    fn hexadecimal_float(&mut self, start: usize) -> Result<TokenKind, Error> {
        let is_separator = |char| char == '\'';
        if self.rest().starts_with('.') {
            self.at += 1;
            self.take_digits(|char| char.is_ascii_hexdigit() || is_separator(char));
        }
        if self.rest().starts_with(['p', 'P']) {
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            self.take_digits(|char| char.is_ascii_digit() || is_separator(char));
        }
        let text = self.text[start..self.at].replace('\'', "");
        self.float(text, start)
    }

    /// Reads digits without separators. C++'s `'` counts only between digits.
    fn take_digits(&mut self, accept: impl Fn(char) -> bool) -> String {
        let start = self.at;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            let separates =
                *byte != b'\'' || bytes.get(self.at + 1).is_some_and(u8::is_ascii_hexdigit);
            // `1_u8` keeps its suffix: `u` is not a digit.
            if !accept(char::from(*byte)) || !separates {
                break;
            }
            self.at += 1;
        }
        self.text[start..self.at].replace(['_', '\''], "")
    }

    fn integer(&mut self, digits: &str, radix: u32, start: usize) -> Result<TokenKind, Error> {
        let digits = digits.replace('_', "");
        let suffix = self.take_while(is_name_part).to_owned();
        let span = start..self.at;
        let value = u128::from_str_radix(&digits, radix).map_err(|_| {
            let message = if digits.is_empty() {
                "missing digits in number literal"
            } else {
                "number literal exceeds 128 bits"
            };
            error(message, span.clone())
        })?;
        let lower = suffix.to_ascii_lowercase();
        match lower.as_str() {
            "f32" | "f64" => Ok(TokenKind::Float(value.to_string(), lower)),
            "f" if radix == 10 => Ok(TokenKind::Float(value.to_string(), lower)),
            "" | "u" | "l" | "ul" | "lu" | "ll" | "ull" | "llu" | "z" | "uz" | "zu" => {
                Ok(TokenKind::Int(value, lower, radix == 10))
            }
            _ if crate::inspect::language::rust::builtin(&suffix).is_some() => {
                Ok(TokenKind::Int(value, suffix, radix == 10))
            }
            _ => Err(error(
                format!("invalid suffix `{suffix}` of a number literal"),
                span,
            )),
        }
    }

    /// Reads `'file.c'::name`, the name of a variable of that file.
    fn file_of_name(&mut self) -> Option<String> {
        let rest = self.rest();
        let (file, behind) = rest.strip_prefix('\'')?.split_once('\'')?;
        let name = behind.strip_prefix("::")?;
        if self.rust || file.is_empty() || !name.starts_with(is_name_start) {
            return None;
        }
        let name = &name[..name.find(|it| !is_name_part(it)).unwrap_or(name.len())];
        let text = format!("'{file}'::{name}");
        self.at += text.len();
        Some(text)
    }

    fn character(&mut self, prefix: String) -> Result<TokenKind, Error> {
        let start = self.at;
        self.at += 1;
        let Some(first) = self.peek().filter(|char| *char != '\'' && *char != '\n') else {
            return Err(error("empty character literal", start..self.at));
        };
        let mut value = self.code_point(first)?;
        // Several characters are an `int` (ISO C §6.4.4.4).
        let several_from = self.at;
        while prefix.is_empty()
            && !self.rust
            && self.at < several_from + 12
            && value <= 0xff_ffff
            && let Some(next) = self.peek().filter(|it| !matches!(it, '\'' | '\n'))
        {
            value = value << 8 | self.code_point(next)? & 0xff;
        }
        if self.peek() == Some('\'') && self.at > several_from {
            self.at += 1;
            return Ok(TokenKind::Int(u128::from(value), String::new(), true));
        }
        if self.peek() != Some('\'') {
            return Err(error(
                "unterminated character literal: missing `'`",
                start..self.at,
            ));
        }
        self.at += 1;
        Ok(TokenKind::Char(value, prefix))
    }

    fn code_point(&mut self, first: char) -> Result<u32, Error> {
        if first == '\\' {
            return self.escape();
        }
        self.at += first.len_utf8();
        Ok(u32::from(first))
    }

    fn quoted(&mut self, is_wide: bool) -> Result<Vec<u8>, Error> {
        let start = self.at;
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                None => {
                    return Err(error(
                        "unterminated string literal: missing `\"`",
                        start..self.at,
                    ));
                }
                Some('"') => {
                    self.at += 1;
                    return Ok(bytes);
                }
                Some('\\') => {
                    // In a wide text it is a whole character.
                    let is_byte = !is_wide
                        && matches!(
                            self.text.as_bytes().get(self.at + 1),
                            Some(b'x' | b'0'..=b'7')
                        );
                    let value = self.escape()?;
                    match (char::from_u32(value), u8::try_from(value)) {
                        (_, Ok(byte)) if is_byte => bytes.push(byte),
                        (Some(char), _) => {
                            bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                        }
                        (None, _) => return Err(error("invalid character code", start..self.at)),
                    }
                }
                Some(char) => {
                    self.at += char.len_utf8();
                    bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
    }

    /// Decodes an escape sequence (ISO C §6.4.4.4, and Rust's `\u{…}`).
    fn escape(&mut self) -> Result<u32, Error> {
        let start = self.at;
        self.at += 1;
        let Some(char) = self.peek() else {
            return Err(error("incomplete escape sequence", start..self.at));
        };
        self.at += char.len_utf8();
        let simple = match char {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'v' => '\x0b',
            'e' => '\x1b',
            '\\' | '\'' | '"' | '?' => char,
            'x' => return self.escape_digits(16, 8, start),
            'u' if self.peek() == Some('{') => {
                self.at += 1;
                let value = self.escape_digits(16, 6, start)?;
                if self.peek() != Some('}') {
                    return Err(error(
                        "unterminated escape sequence `\\u{`: missing `}`",
                        start..self.at,
                    ));
                }
                self.at += 1;
                return Ok(value);
            }
            'u' => return self.escape_digits(16, 4, start),
            'U' => return self.escape_digits(16, 8, start),
            '0'..='7' => {
                self.at -= 1;
                return self.escape_digits(8, 3, start);
            }
            _ => return Err(error("unknown escape sequence", start..self.at)),
        };
        Ok(u32::from(simple))
    }

    fn escape_digits(&mut self, radix: u32, most: usize, start: usize) -> Result<u32, Error> {
        let rest = self.rest();
        let len = rest
            .bytes()
            .take(most)
            .take_while(|byte| char::from(*byte).is_digit(radix))
            .count();
        let value = u32::from_str_radix(&rest[..len], radix);
        self.at += len;
        value.map_err(|_| error("missing digits in escape sequence", start..self.at))
    }
}

fn is_name_start(char: char) -> bool {
    char.is_alphabetic() || char == '_'
}

pub(super) fn is_name_part(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
