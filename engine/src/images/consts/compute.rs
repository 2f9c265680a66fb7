//! Computes the expression of a constant: literals, other constants, arithmetic.

use super::Constant;
use super::numbers::{
    bound, cast, combined, integer, inverted, negated, number, primitive, shifted,
};
use super::tokens::{Kind, Token, first_statement};

/// Maximum depth of an expression.
const MAX_DEPTH: u32 = 40;
/// Maximum number of operands of an expression.
const MAX_NODES: u32 = 256;

/// Returns the value of another constant by its path.
pub(super) type Find<'a> = dyn FnMut(&str) -> Result<Constant, String> + 'a;

/// Computes the value of a constant from `: TYPE = EXPRESSION;`. Ignores the text behind the semicolon.
///
/// # Errors
/// It is not what can be computed; why.
pub(super) fn value(rest: &str, find: &mut Find<'_>) -> Result<Constant, String> {
    let text = rest;
    let tokens = first_statement(text)?;
    let mut parser = Parser {
        text,
        tokens: &tokens,
        at: 2,
        nodes: 0,
    };
    let ty = tokens.get(1).map_or("", |it| it.text(text));
    let ty = primitive(ty).filter(|_| tokens.get(2).is_some_and(|it| it.is(b'=')));
    let ty = ty.ok_or("its type is no number, `bool` or `char`")?;
    parser.at = 3;
    let (node, _) = parser.binary(0, 0)?;
    if parser.at != tokens.len() {
        return Err(parser.unknown());
    }
    let value = evaluate(&node, ty, find)?;
    match value.ty == ty {
        true => Ok(value),
        false => Err(format!("its value is a `{}`, not a `{ty}`", value.ty)),
    }
}

enum Node {
    /// A number without a suffix has no type.
    Number(u128, Option<&'static str>),
    Float(String, Option<&'static str>),
    Known(Constant),
    Path(String),
    Negated(Box<Node>),
    Inverted(Box<Node>),
    Cast(Box<Node>, &'static str),
    Binary(u8, Box<Node>, Box<Node>),
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    nodes: u32,
}

/// A node and its depth.
type Parsed = Result<(Node, u32), String>;

impl<'a> Parser<'a> {
    fn word(&self, ahead: usize) -> &'a str {
        let token = self.tokens.get(self.at + ahead);
        token.map_or("", |it| it.text(self.text))
    }

    fn unknown(&self) -> String {
        match self.word(0) {
            "" => "its expression is not complete".to_owned(),
            word => {
                let word: String = word.chars().take(32).collect();
                format!("`{word}` in its expression is no literal, constant or arithmetic")
            }
        }
    }

    /// Returns the operator that follows, its precedence and its number of tokens.
    fn operator(&self) -> Option<(u8, u8, usize)> {
        let token = self.tokens.get(self.at)?;
        let Kind::Sign(sign, 0) = token.kind else {
            return None;
        };
        let next = self.tokens.get(self.at + 1);
        let is_double = next.is_some_and(|it| it.is(sign) && it.start == token.end);
        Some(match (sign, is_double) {
            (b'*' | b'/' | b'%', _) => (sign, 10, 1),
            (b'+' | b'-', _) => (sign, 9, 1),
            (b'<' | b'>', true) => (sign, 8, 2),
            (b'&', _) => (sign, 7, 1),
            (b'^', _) => (sign, 6, 1),
            (b'|', _) => (sign, 5, 1),
            _ => return None,
        })
    }

    fn binary(&mut self, least: u8, depth: u32) -> Parsed {
        let (mut left, mut height) = self.unary(depth)?;
        while let Some((sign, precedence, count)) = self.operator() {
            if precedence < least {
                break;
            }
            self.at += count;
            let (right, other) = self.binary(precedence + 1, depth + 1)?;
            height = height.max(other) + 1;
            if height > MAX_DEPTH {
                return Err("its expression is too long".to_owned());
            }
            left = Node::Binary(sign, Box::new(left), Box::new(right));
        }
        Ok((left, height))
    }

    /// Parses an operand of a binary operator: `-x as u8` is `(-x) as u8`.
    fn unary(&mut self, depth: u32) -> Parsed {
        let (node, height) = self.prefixed(depth)?;
        self.cast_of(node, height)
    }

    fn prefixed(&mut self, depth: u32) -> Parsed {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Err("its expression is too long".to_owned());
        }
        let make = match self.word(0) {
            "-" => Node::Negated,
            "!" => Node::Inverted,
            _ => return self.operand(depth),
        };
        self.at += 1;
        let (of, height) = self.prefixed(depth + 1)?;
        Ok((make(Box::new(of)), height + 1))
    }

    fn cast_of(&mut self, mut node: Node, mut height: u32) -> Parsed {
        while self.word(0) == "as" {
            let to = primitive(self.word(1)).ok_or_else(|| self.unknown())?;
            self.at += 2;
            height += 1;
            if height > MAX_DEPTH {
                return Err("its expression is too long".to_owned());
            }
            node = Node::Cast(Box::new(node), to);
        }
        Ok((node, height))
    }

    fn operand(&mut self, depth: u32) -> Parsed {
        let Some(token) = self.tokens.get(self.at) else {
            return Err(self.unknown());
        };
        let word = self.word(0);
        let node = match token.kind {
            Kind::Number => literal(word)?,
            Kind::Character => Node::Known(character(word)?),
            Kind::Name if matches!(word, "true" | "false") => Node::Known(Constant {
                ty: "bool",
                bits: u128::from(word == "true"),
            }),
            Kind::Name => {
                let node = match self.size()? {
                    Some(size) => Node::Known(size),
                    None => Node::Path(self.path()?),
                };
                return Ok((node, 1));
            }
            Kind::Sign(b'(', 0) => {
                self.at += 1;
                let (node, height) = self.binary(0, depth + 1)?;
                if self.word(0) != ")" {
                    return Err(self.unknown());
                }
                self.at += 1;
                return Ok((node, height));
            }
            _ => return Err(self.unknown()),
        };
        self.at += 1;
        Ok((node, 1))
    }

    /// Parses the size of a primitive type: `core::mem::size_of::<u64>()`.
    fn size(&mut self) -> Result<Option<Constant>, String> {
        let is_std = matches!(self.word(0), "core" | "std");
        let path = ["::", "mem", "::", "size_of", "::", "<"];
        let is_size = path
            .iter()
            .enumerate()
            .all(|(nth, word)| self.word(nth + 1) == *word);
        if !is_std || !is_size {
            return Ok(None);
        }
        let end = [">", "(", ")"];
        let ty = primitive(self.word(7));
        let size = ty.and_then(size_of).ok_or_else(|| self.unknown())?;
        if !end
            .iter()
            .enumerate()
            .all(|(nth, word)| self.word(nth + 8) == *word)
        {
            return Err(self.unknown());
        }
        self.at += 11;
        let bits = u128::from(size);
        Ok(Some(Constant { ty: "usize", bits }))
    }

    fn path(&mut self) -> Result<String, String> {
        let mut path = self.word(0).to_owned();
        self.at += 1;
        while self.word(0) == "::" {
            let next = self.tokens.get(self.at + 1);
            if next.is_none_or(|it| it.kind != Kind::Name) {
                return Err(self.unknown());
            }
            path = format!("{path}::{}", self.word(1));
            self.at += 2;
        }
        Ok(path)
    }
}

/// Returns the size of a primitive type in bytes.
fn size_of(ty: &'static str) -> Option<u32> {
    Some(match ty {
        "bool" => 1,
        "char" | "f32" => 4,
        "f64" => 8,
        _ => integer(ty)?.0 / 8,
    })
}

/// Returns a number.
fn literal(text: &str) -> Result<Node, String> {
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
        return Ok(Node::Float(text.to_owned(), ty));
    }
    if !suffix.is_empty() && ty.is_none_or(|ty| integer(ty).is_none()) {
        return Err(wrong());
    }
    let value = u128::from_str_radix(number, base).map_err(|_| wrong())?;
    Ok(Node::Number(value, ty))
}

/// Returns a character, or a byte.
fn character(text: &str) -> Result<Constant, String> {
    let wrong = || "a character in its expression is not understood".to_owned();
    let (ty, quoted) = match text.strip_prefix('b') {
        Some(rest) => ("u8", rest),
        None => ("char", text),
    };
    let inside = quoted
        .strip_prefix('\'')
        .and_then(|it| it.strip_suffix('\''));
    let inside = inside.ok_or_else(wrong)?;
    let code = match inside.strip_prefix('\\') {
        None => {
            let mut all = inside.chars();
            all.next().filter(|_| all.next().is_none()).map(u32::from)
        }
        Some("n") => Some(10),
        Some("r") => Some(13),
        Some("t") => Some(9),
        Some("0") => Some(0),
        Some("\\") => Some(92),
        Some("'") => Some(39),
        Some("\"") => Some(34),
        Some(escape) => {
            let digits = match escape.strip_prefix('x') {
                Some(digits) => Some(digits).filter(|it| it.len() == 2),
                None => escape
                    .strip_prefix("u{")
                    .and_then(|it| it.strip_suffix('}')),
            };
            digits.and_then(|it| u32::from_str_radix(&it.replace('_', ""), 16).ok())
        }
    };
    let most = if ty == "u8" {
        255
    } else {
        u32::from(char::MAX)
    };
    let code = code.filter(|it| *it <= most).ok_or_else(wrong)?;
    Ok(Constant {
        ty,
        bits: u128::from(code),
    })
}

/// Returns the type of a node that does not depend on where it is.
fn own_type(node: &Node, find: &mut Find<'_>) -> Result<Option<&'static str>, String> {
    Ok(match node {
        Node::Number(_, ty) | Node::Float(_, ty) => *ty,
        Node::Known(known) => Some(known.ty),
        Node::Path(path) => Some(named(path, find)?.ty),
        Node::Negated(of) | Node::Inverted(of) => own_type(of, find)?,
        Node::Cast(_, to) => Some(to),
        Node::Binary(b'<' | b'>', left, _) => own_type(left, find)?,
        Node::Binary(_, left, right) => match own_type(left, find)? {
            Some(ty) => Some(ty),
            None => own_type(right, find)?,
        },
    })
}

/// Computes a node; `ty`: its type, unless it has one of its own.
fn evaluate(node: &Node, ty: &'static str, find: &mut Find<'_>) -> Result<Constant, String> {
    match node {
        Node::Number(value, own) => number(own.unwrap_or(ty), *value, false),
        Node::Float(text, own) => float(text, own.unwrap_or(ty)),
        Node::Known(known) => Ok(*known),
        Node::Path(path) => named(path, find),
        Node::Negated(of) => match &**of {
            // `-128i8`
            Node::Number(value, own) => number(own.unwrap_or(ty), *value, true),
            of => negated(evaluate(of, ty, find)?),
        },
        Node::Inverted(of) => inverted(evaluate(of, ty, find)?),
        Node::Cast(of, to) => {
            let inner = match (own_type(of, find)?, &**of) {
                (Some(ty), _) => ty,
                (None, Node::Float(..)) => "f64",
                // A literal takes the type of the cast.
                (None, Node::Number(..)) if integer(to).is_some() => to,
                (None, Node::Number(..)) if *to == "char" => "u8",
                (None, _) => "i32",
            };
            cast(evaluate(of, inner, find)?, to)
        }
        Node::Binary(sign @ (b'<' | b'>'), left, right) => {
            let by = own_type(right, find)?.unwrap_or("i32");
            let left = evaluate(left, ty, find)?;
            shifted(*sign, left, evaluate(right, by, find)?)
        }
        Node::Binary(sign, left, right) => {
            let ty = own_type(node, find)?.unwrap_or(ty);
            let left = evaluate(left, ty, find)?;
            combined(*sign, left, evaluate(right, ty, find)?)
        }
    }
}

fn float(text: &str, ty: &'static str) -> Result<Constant, String> {
    let bits = match ty {
        "f32" => text
            .parse::<f32>()
            .ok()
            .filter(|it| it.is_finite())
            .map(|it| u128::from(it.to_bits())),
        "f64" => text
            .parse::<f64>()
            .ok()
            .filter(|it| it.is_finite())
            .map(|it| u128::from(it.to_bits())),
        _ => None,
    };
    let bits = bits.ok_or_else(|| format!("`{text}` is no `{ty}`"))?;
    Ok(Constant { ty, bits })
}

fn named(path: &str, find: &mut Find<'_>) -> Result<Constant, String> {
    let bare = path
        .strip_prefix("std::")
        .or_else(|| path.strip_prefix("core::"));
    if let Some((ty, name)) = bare.unwrap_or(path).split_once("::")
        && let Some(ty) = primitive(ty)
    {
        let bound = bound(ty, name);
        return bound.ok_or_else(|| format!("`{path}` is not known"));
    }
    find(path)
}
