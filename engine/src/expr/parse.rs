//! Parser: tokens → tree, by operator precedence.

use super::format::Format;
use super::lex::{self, Token, TokenKind, error};
use super::tree::{Binary, Cast, Kind, Node, Unary};
use super::types::TypeName;
use crate::ids::error::Error;
use crate::inspect::language::c;
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use dwarf::Language;
use std::ops::Range;

/// Maximum nesting of an expression.
pub(super) const DEEPEST: u16 = 256;

/// Parses an expression and its format specifiers.
///
/// # Errors
/// [`Error::Eval`] with the position of the error.
pub fn parse(text: &str, language: Language) -> Result<(Node, Format), Error> {
    let tokens = lex::tokens(text, language)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
        language,
        text,
        in_condition: false,
    };
    if parser.peek() == &TokenKind::End {
        return Err(error("expected an expression", 0..text.len()));
    }
    let mut node = parser.expression(power::ASSIGN)?;
    let mut format = Format::default();
    while parser.accept(",") {
        let before = (parser.at, parser.depth);
        if let Some(found) = parser.format()? {
            format = found;
            break;
        }
        (parser.at, parser.depth) = before;
        let next = parser.expression(power::ASSIGN)?;
        node = parser.binary_node(node, next, Kind::Sequence)?;
    }
    if parser.peek() != &TokenKind::End {
        return Err(parser.unexpected());
    }
    Ok((*node, format))
}

pub(super) struct Parser<'a> {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    pub(super) depth: u16,
    pub(super) language: Language,
    pub(super) text: &'a str,
    /// Whether a `{` begins the block of Rust's `if` or `match`, and no struct.
    pub(super) in_condition: bool,
}

/// Binding powers, ISO C §6.5. Rust differs only for C's well-known pitfall: `a & b == c`.
pub(super) mod power {
    pub const SEQUENCE: u8 = 0;
    pub const REPEAT: u8 = 22;
    pub const ASSIGN: u8 = 1;
    pub const RANGE: u8 = 2;
    pub const CHOICE: u8 = 3;
    pub const OR: u8 = 5;
    pub const AND: u8 = 7;
    pub const THREE_WAY: u8 = 17;
    pub const MEMBER: u8 = 26;
    pub const AS: u8 = 27;
    pub const UNARY: u8 = 29;
}

fn binary(symbol: &str, language: Language) -> Option<(Binary, u8)> {
    let rust = language == Language::Rust;
    Some(match symbol {
        "|" => (Binary::BitOr, if rust { 17 } else { 9 }),
        "^" => (Binary::BitXor, if rust { 18 } else { 11 }),
        "&" => (Binary::BitAnd, if rust { 19 } else { 12 }),
        "==" => (Binary::Eq, 14),
        "!=" => (Binary::Ne, 14),
        "<" => (Binary::Lt, if rust { 14 } else { 16 }),
        "<=" => (Binary::Le, if rust { 14 } else { 16 }),
        ">" => (Binary::Gt, if rust { 14 } else { 16 }),
        ">=" => (Binary::Ge, if rust { 14 } else { 16 }),
        "<<" => (Binary::Shl, 21),
        ">>" => (Binary::Shr, 21),
        "+" => (Binary::Add, 23),
        "-" => (Binary::Sub, 23),
        "*" => (Binary::Mul, 25),
        "/" => (Binary::Div, 25),
        "%" => (Binary::Rem, 25),
        _ => return None,
    })
}

fn assignment(symbol: &str) -> Option<Option<Binary>> {
    let operator = symbol.strip_suffix('=')?;
    match operator {
        "" => Some(None),
        "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<<" | ">>" => {
            Some(binary(operator, Language::C).map(|(operator, _)| operator))
        }
        _ => None,
    }
}

impl Parser<'_> {
    pub(super) fn token(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)]
    }

    pub(super) fn peek(&self) -> &TokenKind {
        &self.token(0).kind
    }

    pub(super) fn symbol(&self) -> &'static str {
        symbol_of(self.peek())
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.token(0).clone();
        self.at += 1;
        token
    }

    pub(super) fn accept(&mut self, symbol: &str) -> bool {
        let found = self.symbol() == symbol;
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<(), Error> {
        if self.accept(symbol) {
            return Ok(());
        }
        Err(error(
            format!("expected `{symbol}` {}", self.before()),
            self.token(0).span.clone(),
        ))
    }

    fn before(&self) -> String {
        match self.peek() {
            TokenKind::End => "at the end".into(),
            _ => format!("before `{}`", &self.text[self.token(0).span.clone()]),
        }
    }

    pub(super) fn unexpected(&self) -> Error {
        let span = self.token(0).span.clone();
        match self.peek() {
            TokenKind::End => error("unexpected end of expression", span),
            _ => error(format!("unexpected `{}`", &self.text[span.clone()]), span),
        }
    }

    /// Returns whether a token can only begin an operand.
    fn begins_operand(&self, ahead: usize) -> bool {
        match &self.token(ahead).kind {
            TokenKind::Name(name) => name != "as",
            TokenKind::Symbol(symbol) => matches!(*symbol, "(" | "!" | "~"),
            TokenKind::End => false,
            _ => true,
        }
    }

    pub(super) fn node(
        &self,
        kind: Kind,
        span: Range<usize>,
        below: &[u16],
    ) -> Result<Box<Node>, Error> {
        let depth = below.iter().copied().max().unwrap_or(0) + 1;
        if depth > DEEPEST {
            return Err(error("expression nested too deeply", span));
        }
        Ok(Box::new(Node { kind, span, depth }))
    }

    pub(super) fn unary_node(
        &self,
        start: usize,
        operand: Box<Node>,
        make: impl FnOnce(Box<Node>) -> Kind,
    ) -> Result<Box<Node>, Error> {
        let (span, depth) = (
            start.min(operand.span.start)..operand.span.end,
            operand.depth,
        );
        self.node(make(operand), span, &[depth])
    }

    pub(super) fn binary_node(
        &self,
        left: Box<Node>,
        right: Box<Node>,
        make: impl FnOnce(Box<Node>, Box<Node>) -> Kind,
    ) -> Result<Box<Node>, Error> {
        let span = left.span.start..right.span.end;
        let below = [left.depth, right.depth];
        self.node(make(left, right), span, &below)
    }

    /// Parses an expression that ends at a comma: an argument, an element count.
    pub(super) fn item(&mut self) -> Result<Box<Node>, Error> {
        self.expression(power::ASSIGN)
    }

    pub(super) fn expression(&mut self, least: u8) -> Result<Box<Node>, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(error(
                "expression nested too deeply",
                self.token(0).span.clone(),
            ));
        }
        let mut left = self.prefix()?;
        loop {
            let before = self.at;
            left = self.infix(left, least)?;
            if self.at == before {
                break;
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Parses one operator and its right operand if it binds at least as strongly as `least`.
    /// Separate from [`Self::expression`] to keep the recursive function's stack frame small.
    fn infix(&mut self, left: Box<Node>, least: u8) -> Result<Box<Node>, Error> {
        let symbol = self.symbol();
        if let Some((operator, power)) = binary(symbol, self.language) {
            if power < least {
                return Ok(left);
            }
            self.at += 1;
            let right = self.expression(power + 1)?;
            return self.binary_node(left, right, |a, b| Kind::Binary(operator, a, b));
        }
        if power::AS >= least && matches!(self.peek(), TokenKind::Name(name) if name == "as") {
            self.at += 1;
            let ty = self.type_name()?;
            let (span, depth) = (left.span.start..ty.span.end, left.depth);
            return self.node(Kind::Cast(Cast::Usual, ty, left), span, &[depth]);
        }
        match symbol {
            "&&" if power::AND >= least => {
                self.at += 1;
                let right = self.expression(power::AND + 1)?;
                self.binary_node(left, right, Kind::And)
            }
            "||" if power::OR >= least => {
                self.at += 1;
                let right = self.expression(power::OR + 1)?;
                self.binary_node(left, right, Kind::Or)
            }
            "," if power::SEQUENCE == least => {
                self.at += 1;
                let right = self.expression(power::ASSIGN)?;
                self.binary_node(left, right, Kind::Sequence)
            }
            "@" if power::REPEAT >= least => {
                self.at += 1;
                let right = self.expression(power::REPEAT + 1)?;
                self.binary_node(left, right, Kind::Repeat)
            }
            ".*" | "->*" if power::MEMBER >= least => self.member_pointer(*left),
            "<=>" if power::THREE_WAY >= least => {
                self.at += 1;
                let right = self.expression(power::THREE_WAY + 1)?;
                let (span, below) = (left.span.start..right.span.end, [left.depth, right.depth]);
                let kind = Kind::Cpp(super::parse_cpp::Form::ThreeWay, vec![*left, *right]);
                self.node(kind, span, &below)
            }
            "?" if power::CHOICE >= least => self.choice(left),
            ".." | "..=" if self.language == Language::Rust && power::RANGE >= least => {
                self.range_to(Some(left))
            }
            _ => {
                let Some(operator) = assignment(symbol).filter(|_| power::ASSIGN >= least) else {
                    return Ok(left);
                };
                self.at += 1;
                let right = self.expression(power::ASSIGN)?;
                self.binary_node(left, right, |a, b| Kind::Assign(operator, a, b))
            }
        }
    }

    fn choice(&mut self, condition: Box<Node>) -> Result<Box<Node>, Error> {
        self.at += 1;
        let yes = match self.symbol() {
            // `a ?: b` of GNU C evaluates `a` once.
            ":" if condition.has_effects() => {
                let why = "the condition of `?:` changes the program; write `? … :`";
                return Err(error(why, condition.span.clone()));
            }
            ":" => condition.clone(),
            _ => self.expression(power::ASSIGN)?,
        };
        self.expect(":")?;
        let no = self.expression(power::CHOICE)?;
        let span = condition.span.start..no.span.end;
        let below = [condition.depth, yes.depth, no.depth];
        self.node(Kind::Choice(condition, yes, no), span, &below)
    }

    pub(super) fn operand(&mut self) -> Result<Box<Node>, Error> {
        self.expression(power::UNARY)
    }

    fn prefix(&mut self) -> Result<Box<Node>, Error> {
        let start = self.token(0).span.start;
        let symbol = self.symbol();
        let unary = match symbol {
            "-" => Some(Unary::Minus),
            "+" => Some(Unary::Plus),
            "!" => Some(Unary::Not),
            "~" => Some(Unary::Complement),
            _ => None,
        };
        if let Some(unary) = unary {
            self.at += 1;
            let operand = self.operand()?;
            return self.unary_node(start, operand, |it| Kind::Unary(unary, it));
        }
        match symbol {
            "++" | "--" => {
                self.at += 1;
                let operand = self.operand()?;
                // In Rust, and in `1 - --1`, they are a sequence of signs.
                if self.language == Language::Rust || !may_be_stepped(&operand) {
                    return self.signs(symbol, start, operand);
                }
                let by = step_of(symbol);
                self.unary_node(start, operand, |it| Kind::Step(by, it, false))
            }
            "*" => {
                self.at += 1;
                let operand = self.operand()?;
                self.unary_node(start, operand, Kind::Deref)
            }
            "&" | "&&" if self.language == Language::Rust => self.borrow(start),
            "&" | "&&" => {
                self.at += 1;
                let operand = self.operand()?;
                self.unary_node(start, operand, Kind::AddressOf)
            }
            _ => {
                if let Some(cast) = self.cast(start)? {
                    return Ok(cast);
                }
                let primary = self.primary()?;
                self.suffixes(primary)
            }
        }
    }

    /// Parses `(T)x` if it cannot be anything else.
    fn cast(&mut self, start: usize) -> Result<Option<Box<Node>>, Error> {
        if self.symbol() != "(" || self.language == Language::Rust {
            return Ok(None);
        }
        let before = self.at;
        self.at += 1;
        let sure = self.begins_type();
        let ty = self.type_name();
        if let Ok(ty) = ty
            && self.accept(")")
        {
            let sure = sure || ty.of.is_none() && c::builtin_name(&ty.base).is_some();
            let starts_operand = match self.peek() {
                TokenKind::Name(name) => name != "as",
                TokenKind::Symbol(symbol) => matches!(*symbol, "(" | "!" | "~"),
                TokenKind::End => false,
                _ => true,
            };
            let may_start = starts_operand || matches!(self.symbol(), "-" | "+" | "*" | "&");
            // `(struct point){1, 2}`
            if self.language == Language::C && self.symbol() == "{" {
                return self.braces(ty).map(Some);
            }
            // `(a[1]) - b` is no cast to an array.
            let starred = ty.is_pointer_to_any();
            // `(a)(b)` of a plain name is a cast: calls through a parenthesized name are not
            // supported.
            if starts_operand || may_start && (sure || starred) {
                let operand = self.operand()?;
                let node = self.unary_node(start, operand, |it| Kind::Cast(Cast::Usual, ty, it))?;
                return Ok(Some(node));
            }
            if sure || starred {
                return Err(self.unexpected());
            }
        }
        self.at = before;
        Ok(None)
    }

    pub(super) fn token_before(&self) -> &Token {
        &self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)]
    }

    fn primary(&mut self) -> Result<Box<Node>, Error> {
        match self.peek() {
            _ if self.begins_form() => self.form(),
            _ if self.begins_unnamed() => self.name(),
            TokenKind::Symbol("(") => {
                let start = self.token(0).span.start;
                self.at += 1;
                let inner = self.expression(0)?;
                self.expect(")")?;
                let end = self.tokens[self.at - 1].span.end;
                let depth = inner.depth;
                self.node(Kind::Paren(inner), start..end, &[depth])
            }
            TokenKind::Symbol("::") | TokenKind::Name(_) => self.name(),
            _ => self.literal(),
        }
    }

    pub(super) fn literal(&mut self) -> Result<Box<Node>, Error> {
        let Token { kind, span } = self.advance();
        let kind = match kind {
            TokenKind::Int(value, suffix, decimal) => {
                self.integer(value, &suffix, decimal, &span)?
            }
            TokenKind::Float(text, suffix) => self.float(&text, &suffix),
            TokenKind::Char(value, prefix) => Kind::Character(value, prefix),
            TokenKind::Text(bytes) => return self.text(bytes, span),
            TokenKind::Register(name) => Kind::Register(name),
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        };
        self.node(kind, span, &[])
    }

    /// Parses a string literal; in C and C++ those that follow it are its continuation.
    fn text(&mut self, mut bytes: Vec<u8>, mut span: Range<usize>) -> Result<Box<Node>, Error> {
        while self.language != Language::Rust
            && let TokenKind::Text(more) = self.peek()
        {
            bytes.extend_from_slice(more);
            span.end = self.advance().span.end;
        }
        self.node(Kind::Text(bytes), span, &[])
    }

    pub(super) fn name(&mut self) -> Result<Box<Node>, Error> {
        let start = self.token(0).span.start;
        let path = self.path(false)?;
        if self.begins_struct(&path) {
            return self.struct_literal(path, start);
        }
        let span = start..self.tokens[self.at - 1].span.end;
        let boolean = |value| {
            let ty = Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool");
            Kind::Literal(ty, value)
        };
        let kind = match path.as_str() {
            "true" => boolean(1),
            "false" => boolean(0),
            // `__null` is what compilers of C++ define `NULL` as.
            "NULL" | "__null" if self.language == Language::Cpp => {
                Kind::Literal(Ty::Builtin(Scalar::new(ScalarKind::Signed, 8), "long"), 0)
            }
            "nullptr" | "NULL" => Kind::Literal(Ty::Void.pointer(), 0),
            "sizeof" => return self.size_of(start),
            "offsetof" | "__builtin_offsetof"
                if self.language != Language::Rust && self.symbol() == "(" =>
            {
                return self.offset_of(start);
            }
            _ if let Some(form) = self.cpp_keyword(&path, start)? => return Ok(form),
            _ if self.language == Language::Cpp && self.symbol() == "{" => {
                let layers = Vec::new();
                return self.braces(TypeName {
                    base: path,
                    of: None,
                    is_const: false,
                    layers,
                    span,
                });
            }
            "static_cast" | "reinterpret_cast" | "const_cast" | "dynamic_cast"
                if self.symbol() == "<" =>
            {
                let cast = match &*path {
                    "reinterpret_cast" => Cast::Bits,
                    "dynamic_cast" => Cast::Dynamic,
                    "const_cast" => Cast::Const,
                    _ => Cast::Static,
                };
                return self.named_cast(cast, start);
            }
            _ => Kind::Name(path),
        };
        self.node(kind, span, &[])
    }

    pub(super) fn suffixes(&mut self, mut node: Box<Node>) -> Result<Box<Node>, Error> {
        loop {
            let start = node.span.start;
            match self.symbol() {
                "." | "->" => {
                    self.at += 1;
                    let token = self.advance();
                    let TokenKind::Name(mut name) = token.kind else {
                        self.at -= 1;
                        return Err(error(
                            format!("expected a member name {}", self.before()),
                            token.span,
                        ));
                    };
                    let mut end = token.span.end;
                    if let Some(operator) = self.operator_name(&name) {
                        name = operator;
                        end = self.token_before().span.end;
                    }
                    // `a.Base::x`
                    while let Some(next) = self.qualified_member(&name) {
                        name = next;
                        end = self.token_before().span.end;
                    }
                    if let Some(arguments) = self.called_with_arguments() {
                        name.push_str(&arguments);
                        end = self.tokens[self.at - 1].span.end;
                    }
                    let depth = node.depth;
                    node = self.node(Kind::Member(node, name), start..end, &[depth])?;
                }
                "[" => {
                    self.at += 1;
                    let index = self.index_or_range()?;
                    self.expect("]")?;
                    let end = self.tokens[self.at - 1].span.end;
                    node = self.binary_node(node, index, Kind::Index)?;
                    node.span.end = end;
                }
                "(" => node = self.call(node)?,
                // `i++ + 1`; in `a ++b` it belongs to the next operand.
                symbol @ ("++" | "--")
                    if self.language != Language::Rust
                        && may_be_stepped(&node)
                        && !self.begins_operand(1) =>
                {
                    let by = step_of(symbol);
                    let (end, depth) = (self.token(0).span.end, node.depth);
                    self.at += 1;
                    node = self.node(Kind::Step(by, node, true), start..end, &[depth])?;
                }
                _ => return Ok(node),
            }
        }
    }
}

/// Returns whether a node may be an lvalue for `++`.
fn may_be_stepped(node: &Node) -> bool {
    match &node.kind {
        Kind::Paren(inner) => may_be_stepped(inner),
        Kind::Name(_)
        | Kind::Register(_)
        | Kind::Member(..)
        | Kind::Index(..)
        | Kind::Deref(_)
        | Kind::Step(_, _, false) => true,
        _ => false,
    }
}

fn step_of(symbol: &str) -> Binary {
    match symbol {
        "--" => Binary::Sub,
        _ => Binary::Add,
    }
}

pub(super) fn symbol_of(kind: &TokenKind) -> &'static str {
    match kind {
        TokenKind::Symbol(symbol) => symbol,
        _ => "",
    }
}
