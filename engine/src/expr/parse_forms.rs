//! Expressions that begin with a keyword or end in brackets.

use super::parse::{Parser, power};
use super::tree::{Cast, Kind, Node, Unary};
use crate::ids::error::Error;
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
        self.expect("<")?;
        let ty = self.type_name()?;
        self.expect(">")?;
        self.expect("(")?;
        let operand = self.expression(power::SEQUENCE)?;
        self.expect(")")?;
        let (span, depth) = (start..self.token_before().span.end, operand.depth);
        self.node(Kind::Cast(cast, ty, operand), span, &[depth])
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
        let mut arguments = Vec::new();
        while self.symbol() != ")" {
            arguments.push(*self.nested(|it| it.item())?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        let span = function.span.start..self.token_before().span.end;
        let deepest = arguments.iter().map(|it| it.depth).max().unwrap_or(0);
        let below = [function.depth, deepest];
        self.node(Kind::Call(function, arguments), span, &below)
    }

    pub(super) fn size_of(&mut self, start: usize) -> Result<Box<Node>, Error> {
        if self.symbol() == "("
            && let Some(ty) = self.type_in_brackets()
        {
            let span = start..self.token_before().span.end;
            return self.node(Kind::SizeOfType(ty), span, &[]);
        }
        let operand = self.operand()?;
        self.unary_node(start, operand, Kind::SizeOf)
    }
}
