//! Expressions that begin with a keyword or end in brackets.

use super::lex::{Token, TokenKind};
use super::parse::{Parser, power};
use super::tree::{Cast, Kind, Node, Unary};
use super::types::{Layer, TypeName};
use crate::ids::error::Error;
use crate::inspect::value::Ty;
use dwarf::Language;

impl Parser<'_> {
    pub(super) fn signs(
        &self,
        symbol: &str,
        start: usize,
        operand: Box<Node>,
    ) -> Result<Box<Node>, Error> {
        let sign = match symbol {
            "--" => Unary::Minus,
            _ => Unary::Plus,
        };
        let inner = self.unary_node(start + 1, operand, |it| Kind::Unary(sign, it))?;
        self.unary_node(start, inner, |it| Kind::Unary(sign, it))
    }

    /// Parses `static_cast<T>(x)` and the other named casts, from the `<` on.
    pub(super) fn named_cast(&mut self, cast: Cast, start: usize) -> Result<Box<Node>, Error> {
        self.split_last_bracket();
        self.expect("<")?;
        let ty = self.type_name()?;
        self.expect(">")?;
        self.expect("(")?;
        let operand = self.expression(power::SEQUENCE)?;
        self.expect(")")?;
        let (span, depth) = (start..self.token_before().span.end, operand.depth);
        self.node(Kind::Cast(cast, ty, operand), span, &[depth])
    }

    /// Splits the `>>` that closes a cast's list together with that of a template:
    /// `static_cast<Box<int>>(x)`.
    fn split_last_bracket(&mut self) {
        let mut open = 0usize;
        for at in self.at..self.tokens.len() {
            let Some(token) = self.tokens.get_mut(at) else {
                return;
            };
            match &token.kind {
                TokenKind::Symbol("<") => open += 1,
                TokenKind::Symbol(">") => open = open.saturating_sub(1),
                TokenKind::Symbol(">>") if open == 2 => {
                    let (start, end) = (token.span.start, token.span.end);
                    token.kind = TokenKind::Symbol(">");
                    token.span = start..start + 1;
                    let (kind, span) = (TokenKind::Symbol(">"), start + 1..end);
                    self.tokens.insert(at + 1, Token { kind, span });
                    return;
                }
                TokenKind::Symbol(">>") => open = open.saturating_sub(2),
                TokenKind::End => return,
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    /// Parses the contents of index brackets: a value, or a Rust range.
    pub(super) fn index_or_range(&mut self) -> Result<Box<Node>, Error> {
        let start = self.token(0).span.start;
        if self.language == Language::Rust {
            return self.nested(|it| it.expression(power::SEQUENCE));
        }
        let is_range = |parser: &Self| matches!(parser.symbol(), ".." | "..=");
        let from = match is_range(self) {
            true => None,
            false => Some(self.expression(power::SEQUENCE)?),
        };
        if !is_range(self) {
            return from.ok_or_else(|| self.unexpected());
        }
        let inclusive = self.symbol() == "..=";
        self.at += 1;
        let to = match self.symbol() {
            "]" => None,
            _ => Some(self.expression(power::ASSIGN)?),
        };
        let below = [&from, &to].map(|it| it.as_ref().map_or(0, |it| it.depth));
        let span = start..self.token_before().span.end;
        self.node(Kind::Range(from, to, inclusive), span, &below)
    }

    pub(super) fn call(&mut self, function: Box<Node>) -> Result<Box<Node>, Error> {
        self.expect("(")?;
        let (first, depth) = (self.at, self.depth);
        let arguments = match self.call_arguments() {
            // A macro takes any words: `OFFSET(struct point, y)`.
            Err(Error::Eval { message, span })
                if self.language != Language::Rust
                    && matches!(function.kind, Kind::Name(_))
                    && self.skip_arguments(first) =>
            {
                self.depth = depth;
                vec![*self.node(Kind::Unparsed(message), span, &[])?]
            }
            arguments => arguments?,
        };
        self.expect(")")?;
        let span = function.span.start..self.token_before().span.end;
        let deepest = arguments.iter().map(|it| it.depth).max().unwrap_or(0);
        let below = [function.depth, deepest];
        self.node(Kind::Call(function, arguments), span, &below)
    }

    fn call_arguments(&mut self) -> Result<Vec<Node>, Error> {
        let mut arguments = Vec::new();
        while self.symbol() != ")" {
            arguments.push(*self.nested(|it| it.item())?);
            if !self.accept(",") {
                break;
            }
        }
        match self.symbol() {
            ")" => Ok(arguments),
            _ => self.expect(")").map(|()| arguments),
        }
    }

    /// Moves from a token to the parenthesis that closes those that are open there; returns whether
    /// there is one.
    fn skip_arguments(&mut self, first: usize) -> bool {
        let mut depth = 0usize;
        self.at = first;
        while *self.peek() != TokenKind::End {
            match self.symbol() {
                ")" if depth == 0 => return true,
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        false
    }

    /// Parses `offsetof(T, member)` after its name, as the address of the member of an object at 0.
    pub(super) fn offset_of(&mut self, start: usize) -> Result<Box<Node>, Error> {
        self.expect("(")?;
        let ty = self.type_name()?;
        self.expect(",")?;
        let span = start..self.token_before().span.end;
        let null = self.node(Kind::Literal(Ty::Void.pointer(), 0), span.clone(), &[])?;
        let pointer = TypeName {
            layers: [ty.layers, vec![Layer::Pointer]].concat(),
            ..ty
        };
        let depth = null.depth;
        let cast = Kind::Cast(Cast::Usual, pointer, null);
        let object = self.node(cast, span, &[depth])?;
        let TokenKind::Name(name) = self.advance().kind else {
            self.at -= 1;
            return Err(self.unexpected());
        };
        let depth = object.depth;
        let span = start..self.token_before().span.end;
        let member = self.node(Kind::Member(object, name), span, &[depth])?;
        let member = self.suffixes(member)?;
        self.expect(")")?;
        let end = self.token_before().span.end;
        let address = self.unary_node(start, member, Kind::AddressOf)?;
        let size = TypeName {
            base: "unsigned long".to_owned(),
            of: None,
            is_const: false,
            layers: Vec::new(),
            span: start..end,
        };
        let depth = address.depth;
        self.node(Kind::Cast(Cast::Usual, size, address), start..end, &[depth])
    }

    pub(super) fn size_of(&mut self, start: usize) -> Result<Box<Node>, Error> {
        if self.symbol() == "("
            && let Some(ty) = self.type_in_brackets()
        {
            let span = start..self.token_before().span.end;
            // `sizeof(short)[x]` is none of a value.
            if matches!(self.symbol(), "[" | "." | "->") {
                return Err(self.unexpected());
            }
            return self.node(Kind::SizeOfType(ty), span, &[]);
        }
        let operand = self.operand()?;
        self.unary_node(start, operand, Kind::SizeOf)
    }
}
