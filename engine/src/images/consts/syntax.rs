//! The syntax of a constant's declaration: its type and its expression.

use super::Constant;
use super::literals::{Literal, bytes_or_text, character, number};
use super::numbers::primitive;
use super::tokens::{Kind, Token, tokens};

/// Maximum depth of an expression.
const MAX_DEPTH: u32 = 40;
/// Maximum number of operands of an expression.
const MAX_NODES: u32 = 4096;

/// A type as a declaration writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Primitive(&'static str),
    Str,
    Slice(Box<Type>),
    /// An array, with the text of its length.
    Array(Box<Type>, String),
    Tuple(Vec<Type>),
    Reference(Box<Type>),
    /// Another one, by its path and its arguments.
    Named(String, Vec<Type>),
    /// That of a field of a struct, which the debug info describes.
    Field,
    /// What the value itself decides.
    Open,
}

/// An expression.
pub(super) enum Node {
    /// A number without a suffix has no type.
    Number(u128, Option<&'static str>),
    Float(String, Option<&'static str>),
    Known(Constant),
    Text(String),
    Bytes(Vec<u8>),
    Path(String),
    Negated(Box<Node>),
    Inverted(Box<Node>),
    Cast(Box<Node>, &'static str),
    Binary(u8, Box<Node>, Box<Node>),
    Reference(Box<Node>),
    /// `*x`
    Target(Box<Node>),
    Row(Vec<Node>),
    /// `[value; count]`
    Filled(Box<Node>, Box<Node>),
    Tuple(Vec<Node>),
    /// `Path(..)`
    Call(String, Vec<Node>),
    /// `Path { name: value }`
    Struct(String, Vec<(String, Node)>),
    /// `a..b`, `a..=b`
    Range(Option<Box<Node>>, Option<Box<Node>>, bool),
    Field(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    /// `x.len()`
    Len(Box<Node>),
    /// `mem::size_of::<T>()`, with its path.
    SizeOf(String, Type),
}

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    nodes: u32,
}

/// A node and its depth.
type Parsed = Result<(Node, u32), String>;

/// Parses `: TYPE = EXPRESSION`.
///
/// # Errors
/// It is none that can be computed; why.
pub(super) fn declaration(text: &str, tokens: &[Token]) -> Result<(Type, Node), String> {
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        nodes: 0,
    };
    parser.sign(":")?;
    let ty = parser.ty(0)?;
    parser.sign("=")?;
    let (node, _) = parser.expression(0)?;
    match parser.at == tokens.len() {
        true => Ok((ty, node)),
        false => Err(parser.unknown()),
    }
}

/// Parses a type; `None`: constants of such a type are not computed.
pub(super) fn type_of(text: &str) -> Option<Type> {
    let tokens = tokens(text).ok()?;
    let mut parser = Parser {
        text,
        tokens: &tokens,
        at: 0,
        nodes: 0,
    };
    let ty = parser.ty(0).ok()?;
    (parser.at == tokens.len()).then_some(ty)
}

impl<'a> Parser<'a> {
    fn word(&self, ahead: usize) -> &'a str {
        let token = self.tokens.get(self.at + ahead);
        token.map_or("", |it| it.text(self.text))
    }

    fn is_name(&self) -> bool {
        let token = self.tokens.get(self.at);
        token.is_some_and(|it| it.kind == Kind::Name)
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

    /// Skips a sign that must be there.
    fn sign(&mut self, sign: &str) -> Result<(), String> {
        match self.skip(sign) {
            true => Ok(()),
            false => Err(self.unknown()),
        }
    }

    /// Skips a sign if it is there.
    fn skip(&mut self, sign: &str) -> bool {
        let is_it = self.word(0) == sign;
        self.at += usize::from(is_it);
        is_it
    }

    fn count(&mut self, depth: u32) -> Result<(), String> {
        self.nodes += 1;
        match depth > MAX_DEPTH || self.nodes > MAX_NODES {
            true => Err("its expression is too long".to_owned()),
            false => Ok(()),
        }
    }

    /// Parses what is separated by commas up to a sign.
    fn list<T>(
        &mut self,
        end: &str,
        mut parse: impl FnMut(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        while !self.skip(end) {
            all.push(parse(self)?);
            if !self.skip(",") && self.word(0) != end {
                return Err(self.unknown());
            }
        }
        Ok(all)
    }

    fn ty(&mut self, depth: u32) -> Result<Type, String> {
        self.count(depth)?;
        if self.skip("&") {
            let token = self.tokens.get(self.at);
            self.at += usize::from(token.is_some_and(|it| it.kind == Kind::Lifetime));
            self.skip("mut");
            return Ok(Type::Reference(Box::new(self.ty(depth + 1)?)));
        }
        if self.skip("[") {
            let of = Box::new(self.ty(depth + 1)?);
            if self.skip("]") {
                return Ok(Type::Slice(of));
            }
            self.sign(";")?;
            let from = self.tokens.get(self.at).map_or(0, |it| it.start);
            self.expression(depth + 1)?;
            let to = self.tokens.get(self.at).map_or(from, |it| it.start);
            self.sign("]")?;
            let length = self.text.get(from as usize..to as usize);
            return Ok(Type::Array(of, length.unwrap_or_default().to_owned()));
        }
        if self.skip("(") {
            let parts = self.list(")", |it| it.ty(depth + 1))?;
            return Ok(Type::Tuple(parts));
        }
        if !self.is_name() || matches!(self.word(0), "fn" | "dyn" | "impl" | "extern" | "unsafe") {
            return Err(format!("its type `{}` is not computed", self.word(0)));
        }
        let mut path = self.name();
        while self.skip("::") {
            if !self.is_name() {
                return Err(self.unknown());
            }
            path = format!("{path}::{}", self.name());
        }
        let arguments = match self.skip("<") {
            true => self.list(">", |it| it.argument(depth + 1))?,
            false => Vec::new(),
        };
        Ok(match path.as_str() {
            "str" => Type::Str,
            name => match primitive(name) {
                Some(name) => Type::Primitive(name),
                None => Type::Named(path, arguments.into_iter().flatten().collect()),
            },
        })
    }

    /// Parses an argument of a generic type; `None`: a lifetime or number.
    fn argument(&mut self, depth: u32) -> Result<Option<Type>, String> {
        let token = self.tokens.get(self.at);
        if token.is_some_and(|it| matches!(it.kind, Kind::Lifetime | Kind::Number)) {
            self.at += 1;
            return Ok(None);
        }
        self.ty(depth).map(Some)
    }

    fn name(&mut self) -> String {
        let word = self.word(0);
        self.at += 1;
        word.strip_prefix("r#").unwrap_or(word).to_owned()
    }

    /// Parses an expression, also a range.
    fn expression(&mut self, depth: u32) -> Parsed {
        let from = match self.word(0) {
            ".." => None,
            _ => Some(self.binary(0, depth)?),
        };
        if self.word(0) != ".." {
            return from.ok_or_else(|| self.unknown());
        }
        self.at += 1;
        let inclusive = self.skip("=");
        let is_end = matches!(self.word(0), "" | "," | ")" | "]" | "}");
        let to = match is_end {
            true => None,
            false => Some(self.binary(0, depth + 1)?),
        };
        let height = from.iter().chain(&to).map(|it| it.1).max();
        let boxed = |it: Option<(Node, u32)>| it.map(|it| Box::new(it.0));
        let node = Node::Range(boxed(from), boxed(to), inclusive);
        Ok((node, height.unwrap_or(0) + 1))
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
            height = deeper(height.max(other))?;
            left = Node::Binary(sign, Box::new(left), Box::new(right));
        }
        Ok((left, height))
    }

    /// Parses an operand of a binary operator: `-x as u8` is `(-x) as u8`.
    fn unary(&mut self, depth: u32) -> Parsed {
        let (mut node, mut height) = self.prefixed(depth)?;
        while self.word(0) == "as" {
            let to = primitive(self.word(1)).ok_or_else(|| self.unknown())?;
            self.at += 2;
            height = deeper(height)?;
            node = Node::Cast(Box::new(node), to);
        }
        Ok((node, height))
    }

    fn prefixed(&mut self, depth: u32) -> Parsed {
        self.count(depth)?;
        let make = match self.word(0) {
            "-" => Node::Negated,
            "!" => Node::Inverted,
            "&" => Node::Reference,
            "*" => Node::Target,
            _ => {
                let (node, height) = self.operand(depth)?;
                return self.parts(node, height, depth);
            }
        };
        self.at += 1;
        let (of, height) = self.prefixed(depth + 1)?;
        Ok((make(Box::new(of)), height + 1))
    }

    /// Parses what follows an operand: `.0`, `.name`, `[index]`, `.len()`.
    fn parts(&mut self, mut node: Node, mut height: u32, depth: u32) -> Parsed {
        loop {
            height = deeper(height)?;
            if self.skip("[") {
                let (index, other) = self.expression(depth + 1)?;
                self.sign("]")?;
                height = height.max(other);
                node = Node::Index(Box::new(node), Box::new(index));
                continue;
            }
            if !self.skip(".") {
                return Ok((node, height));
            }
            if self.word(0) == "len" && self.word(1) == "(" && self.word(2) == ")" {
                self.at += 3;
                node = Node::Len(Box::new(node));
                continue;
            }
            let token = self.tokens.get(self.at);
            let is_part = token.is_some_and(|it| matches!(it.kind, Kind::Name | Kind::Number));
            if !is_part || self.word(1) == "(" {
                return Err(self.unknown());
            }
            // `.0.1` is one number.
            for part in self.name().split('.') {
                height = deeper(height)?;
                node = Node::Field(Box::new(node), part.to_owned());
            }
        }
    }

    fn operand(&mut self, depth: u32) -> Parsed {
        let Some(token) = self.tokens.get(self.at) else {
            return Err(self.unknown());
        };
        let word = self.word(0);
        let node = match token.kind {
            Kind::Number => match number(word)? {
                Literal::Whole(value, ty) => Node::Number(value, ty),
                Literal::Float(text, ty) => Node::Float(text, ty),
            },
            Kind::Character => Node::Known(character(word)?),
            Kind::Text => match bytes_or_text(word)? {
                (bytes, true) => Node::Bytes(bytes),
                (text, false) => {
                    let text = String::from_utf8(text);
                    Node::Text(text.map_err(|_| self.unknown())?)
                }
            },
            Kind::Name if matches!(word, "true" | "false") => Node::Known(Constant {
                ty: "bool",
                bits: u128::from(word == "true"),
            }),
            Kind::Name => {
                return match self.size(depth)? {
                    Some(size) => Ok((size, 1)),
                    None => self.named(depth),
                };
            }
            Kind::Sign(b'(', 0) => return self.grouped(depth),
            Kind::Sign(b'[', 0) => return self.row(depth),
            _ => return Err(self.unknown()),
        };
        self.at += 1;
        Ok((node, 1))
    }

    /// Parses `(x)` or a tuple.
    fn grouped(&mut self, depth: u32) -> Parsed {
        self.at += 1;
        let mut is_tuple = self.word(0) == ")";
        let (mut parts, mut height) = (Vec::new(), 0);
        while !self.skip(")") {
            let (part, other) = self.expression(depth + 1)?;
            parts.push(part);
            height = height.max(other);
            match self.skip(",") {
                true => is_tuple = true,
                false if self.word(0) != ")" => return Err(self.unknown()),
                false => {}
            }
        }
        if !is_tuple && let Some(only) = parts.pop() {
            return Ok((only, height));
        }
        Ok((Node::Tuple(parts), height + 1))
    }

    /// Parses `[a, b]` or `[value; count]`.
    fn row(&mut self, depth: u32) -> Parsed {
        self.at += 1;
        let (mut elements, mut height) = (Vec::new(), 0);
        while !self.skip("]") {
            let (element, other) = self.expression(depth + 1)?;
            height = height.max(other);
            if self.skip(";") && elements.is_empty() {
                let (count, other) = self.expression(depth + 1)?;
                self.sign("]")?;
                let node = Node::Filled(Box::new(element), Box::new(count));
                return Ok((node, height.max(other) + 1));
            }
            elements.push(element);
            if !self.skip(",") && self.word(0) != "]" {
                return Err(self.unknown());
            }
        }
        Ok((Node::Row(elements), height + 1))
    }

    /// Parses a path and what it makes: `A`, `A(1)`, `A { b: 1 }`.
    fn named(&mut self, depth: u32) -> Parsed {
        let path = self.path()?;
        let last = path.rsplit("::").next().unwrap_or_default();
        let is_type = last.starts_with(char::is_uppercase);
        let mut height = 0;
        if is_type && self.skip("(") {
            let arguments = self.list(")", |it| {
                let (node, other) = it.expression(depth + 1)?;
                height = height.max(other);
                Ok(node)
            })?;
            return Ok((Node::Call(path, arguments), height + 1));
        }
        if is_type && self.skip("{") {
            let fields = self.list("}", |it| {
                let token = it.tokens.get(it.at);
                let is_name = token.is_some_and(|it| matches!(it.kind, Kind::Name | Kind::Number));
                if !is_name {
                    return Err(it.unknown());
                }
                let name = it.name();
                it.sign(":")?;
                let (value, other) = it.expression(depth + 1)?;
                height = height.max(other);
                Ok((name, value))
            })?;
            return Ok((Node::Struct(path, fields), height + 1));
        }
        Ok((Node::Path(path), 1))
    }

    /// Parses the size of a type: `core::mem::size_of::<u64>()`.
    fn size(&mut self, depth: u32) -> Result<Option<Node>, String> {
        let start = usize::from(matches!(self.word(0), "core" | "std")) * 2;
        let path = ["mem", "::", "size_of", "::", "<"];
        let mut words = path.iter().enumerate();
        if !words.all(|(nth, word)| self.word(start + nth) == *word) {
            return Ok(None);
        }
        let root = self.word(0);
        let path = match start {
            0 => "mem::size_of".to_owned(),
            _ => format!("{root}::mem::size_of"),
        };
        self.at += start + 5;
        let ty = self.ty(depth + 1)?;
        for sign in [">", "(", ")"] {
            self.sign(sign)?;
        }
        Ok(Some(Node::SizeOf(path, ty)))
    }

    fn path(&mut self) -> Result<String, String> {
        let mut path = self.name();
        while self.skip("::") {
            if !self.is_name() {
                return Err(self.unknown());
            }
            path = format!("{path}::{}", self.name());
        }
        Ok(path)
    }
}

/// Returns the depth of what is around something.
fn deeper(height: u32) -> Result<u32, String> {
    match height < MAX_DEPTH {
        true => Ok(height + 1),
        false => Err("its expression is too long".to_owned()),
    }
}
