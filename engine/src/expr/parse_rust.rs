//! Expressions that only Rust has: tuples, arrays, ranges, blocks, `if`, `match`, struct literals.

use super::lex::{TokenKind, error};
use super::parse::{DEEPEST, Parser, power, symbol_of};
use super::tree::{Kind, Node, Unary};
use super::tree_rust::{Arm, Form, Pattern, PatternKind};
use crate::ids::error::Error;
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use dwarf::Language;

/// The levels of nesting that a pattern counts as: it takes more of the stack than an expression.
const PATTERN: u16 = 8;

impl Parser<'_> {
    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(&self.token(ahead).kind, TokenKind::Name(name) if name == word)
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(0, word);
        self.at += usize::from(found);
        found
    }

    /// Returns whether an operand begins here that only Rust has.
    pub(super) fn begins_form(&self) -> bool {
        if self.language != Language::Rust {
            return false;
        }
        match self.peek() {
            _ if self.begins_closure() => true,
            TokenKind::Symbol(symbol) => {
                matches!(*symbol, "(" | "[" | "{" | ".." | "..=" | "<")
            }
            TokenKind::Name(name) => match name.as_str() {
                "if" | "match" => true,
                "unsafe" => symbol_of(&self.token(1).kind) == "{",
                _ => self.begins_macro(),
            },
            _ => false,
        }
    }

    /// Parses an operand that only Rust has.
    pub(super) fn form(&mut self) -> Result<Box<Node>, Error> {
        let start = self.token(0).span.start;
        if self.begins_closure() {
            return self.closure(start);
        }
        match self.symbol() {
            "(" => return self.tuple(start),
            "[" => return self.array(start),
            "{" => return self.block(start),
            ".." | "..=" => return self.range_to(None),
            "<" => return self.qualified(start),
            _ => {}
        }
        if self.accept_word("unsafe") {
            return self.block(start);
        }
        if self.accept_word("if") {
            return self.rust_if(start);
        }
        if self.accept_word("match") {
            return self.rust_match(start);
        }
        self.macro_call(start)
    }

    /// Parses what is in brackets, where a `{` may begin a struct again.
    pub(super) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let before = std::mem::replace(&mut self.in_condition, false);
        let parsed = parse(self);
        self.in_condition = before;
        parsed
    }

    /// Parses the operand of `if` or `match`, which a `{` ends.
    fn condition(&mut self, least: u8) -> Result<Box<Node>, Error> {
        let before = std::mem::replace(&mut self.in_condition, true);
        let parsed = self.expression(least);
        self.in_condition = before;
        parsed
    }

    pub(super) fn form_node(&self, form: Form, start: usize) -> Result<Box<Node>, Error> {
        let depths = form.parts().into_iter().map(|it| it.depth);
        let below = depths.max().unwrap_or(0);
        let span = start..self.token_before().span.end;
        self.node(Kind::Rust(Box::new(form)), span, &[below])
    }

    fn paren(&self, inner: Box<Node>, start: usize) -> Result<Box<Node>, Error> {
        let (span, depth) = (start..self.token_before().span.end, inner.depth);
        self.node(Kind::Paren(inner), span, &[depth])
    }

    /// Parses `(a)`, `(a, b)`, `()`.
    fn tuple(&mut self, start: usize) -> Result<Box<Node>, Error> {
        self.expect("(")?;
        let mut parts = Vec::new();
        let mut is_tuple = self.symbol() == ")";
        while self.symbol() != ")" {
            parts.push(*self.nested(|it| it.item())?);
            if !self.accept(",") {
                break;
            }
            is_tuple = true;
        }
        self.expect(")")?;
        match (is_tuple, parts.pop()) {
            (false, Some(only)) => self.paren(Box::new(only), start),
            (_, last) => {
                parts.extend(last);
                self.form_node(Form::Tuple(parts), start)
            }
        }
    }

    /// Parses `[a, b]`, `[a; 4]`.
    pub(super) fn array(&mut self, start: usize) -> Result<Box<Node>, Error> {
        self.expect("[")?;
        let mut elements = Vec::new();
        while self.symbol() != "]" {
            elements.push(*self.nested(|it| it.item())?);
            if self.accept(";") {
                let count = *self.nested(|it| it.item())?;
                self.expect("]")?;
                let Some(element) = elements.pop().filter(|_| elements.is_empty()) else {
                    return Err(error("expected one element before `;`", count.span));
                };
                return self.form_node(Form::Filled(element, count), start);
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("]")?;
        self.form_node(Form::Array(elements), start)
    }

    /// Parses `{ e }`.
    fn block(&mut self, start: usize) -> Result<Box<Node>, Error> {
        self.expect("{")?;
        if self.accept("}") {
            return self.form_node(Form::Tuple(Vec::new()), start);
        }
        let inner = self.statements()?;
        self.expect("}")?;
        self.paren(inner, start)
    }

    /// Parses the `..` of a range and its end.
    pub(super) fn range_to(&mut self, from: Option<Box<Node>>) -> Result<Box<Node>, Error> {
        let start = match &from {
            Some(from) => from.span.start,
            None => self.token(0).span.start,
        };
        let inclusive = self.symbol() == "..=";
        self.at += 1;
        let ends = match self.peek() {
            TokenKind::End => true,
            TokenKind::Symbol("{") => self.in_condition,
            TokenKind::Symbol(symbol) => matches!(*symbol, ")" | "]" | "}" | "," | ";" | "="),
            _ => false,
        };
        let to = match ends {
            true if inclusive => return Err(self.unexpected()),
            true => None,
            false => Some(self.expression(power::RANGE + 1)?),
        };
        let below = [&from, &to].map(|it| it.as_ref().map_or(0, |it| it.depth));
        let span = start..self.token_before().span.end;
        self.node(Kind::Range(from, to, inclusive), span, &below)
    }

    /// Parses `<P as Tr>::f` as a name.
    fn qualified(&mut self, start: usize) -> Result<Box<Node>, Error> {
        let mut open = 0i32;
        loop {
            match self.symbol() {
                "<" => open += 1,
                ">" => open -= 1,
                ">>" => open -= 2,
                _ if self.peek() == &TokenKind::End => return Err(self.unexpected()),
                _ => {}
            }
            self.at += 1;
            if open <= 0 {
                break;
            }
        }
        let head = start..self.token_before().span.end;
        self.expect("::")?;
        let rest = self.path(false)?;
        let head = self.text.get(head).unwrap_or_default();
        let span = start..self.token_before().span.end;
        self.node(Kind::Name(format!("{head}::{rest}")), span, &[])
    }

    /// Parses `&x`, `&mut x`, `&&x`, `&raw const x` from the `&` on.
    pub(super) fn borrow(&mut self, start: usize) -> Result<Box<Node>, Error> {
        let is_double = self.symbol() == "&&";
        self.at += 1;
        let is_raw = self.is_word(0, "raw") && (self.is_word(1, "const") || self.is_word(1, "mut"));
        let node = if is_raw {
            let is_const = self.is_word(1, "const");
            self.at += 2;
            let operand = self.operand()?;
            let form = match is_const {
                true => Form::RawConst(*operand),
                false => Form::RawMut(*operand),
            };
            self.form_node(form, start)?
        } else if self.accept_word("mut") {
            let operand = self.operand()?;
            self.form_node(Form::BorrowMut(*operand), start)?
        } else {
            let operand = self.operand()?;
            self.unary_node(start, operand, Kind::AddressOf)?
        };
        match is_double {
            true => self.unary_node(start, node, Kind::AddressOf),
            false => Ok(node),
        }
    }

    /// Parses `if c { a } else { b }` and `if let pattern = e { a } else { b }` after the `if`.
    fn rust_if(&mut self, start: usize) -> Result<Box<Node>, Error> {
        if self.accept_word("let") {
            let pattern = self.pattern()?;
            self.expect("=")?;
            let of = self.condition(power::AND + 1)?;
            let guard = match self.accept("&&") {
                true => Some(*self.condition(power::RANGE)?),
                false => None,
            };
            let (yes, no) = self.branches()?;
            let any = Pattern {
                kind: PatternKind::Any,
                span: no.span.clone(),
            };
            let arms = vec![arm(pattern, guard, *yes), arm(any, None, *no)];
            return self.form_node(Form::Match(*of, arms), start);
        }
        let condition = self.condition(power::RANGE)?;
        let (yes, no) = self.branches()?;
        let span = start..self.token_before().span.end;
        let below = [condition.depth, yes.depth, no.depth];
        self.node(Kind::Choice(condition, yes, no), span, &below)
    }

    /// Parses `{ a } else { b }`.
    fn branches(&mut self) -> Result<(Box<Node>, Box<Node>), Error> {
        let yes = self.block(self.token(0).span.start)?;
        if !self.accept_word("else") {
            return Err(error(
                "an `if` without `else` has no value",
                self.token(0).span.clone(),
            ));
        }
        let start = self.token(0).span.start;
        let no = match self.is_word(0, "if") {
            true => self.item()?,
            false => self.block(start)?,
        };
        Ok((yes, no))
    }

    /// Parses `match e { pattern => a, … }` after the `match`.
    fn rust_match(&mut self, start: usize) -> Result<Box<Node>, Error> {
        let of = self.condition(power::RANGE)?;
        self.expect("{")?;
        let mut arms = Vec::new();
        while self.symbol() != "}" {
            let pattern = self.pattern()?;
            let guard = self.guard()?;
            self.expect("=")?;
            self.expect(">")?;
            let body = *self.nested(|it| it.item())?;
            let is_block = matches!(body.kind, Kind::Paren(_));
            arms.push(arm(pattern, guard, body));
            if !self.accept(",") && !is_block {
                break;
            }
        }
        self.expect("}")?;
        self.form_node(Form::Match(*of, arms), start)
    }

    fn guard(&mut self) -> Result<Option<Node>, Error> {
        match self.accept_word("if") {
            true => Ok(Some(*self.nested(|it| it.expression(power::RANGE))?)),
            false => Ok(None),
        }
    }

    /// Parses `matches!(e, pattern if guard)`.
    pub(super) fn matches_macro(&mut self, start: usize) -> Result<Box<Node>, Error> {
        self.at += 2;
        self.expect("(")?;
        let of = self.nested(|it| it.item())?;
        self.expect(",")?;
        let pattern = self.pattern()?;
        let guard = self.guard()?;
        self.accept(",");
        self.expect(")")?;
        let span = start..self.token_before().span.end;
        let answer = |value| Node {
            kind: Kind::Literal(Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool"), value),
            span: span.clone(),
            depth: 1,
        };
        let any = Pattern {
            kind: PatternKind::Any,
            span: span.clone(),
        };
        let arms = vec![arm(pattern, guard, answer(1)), arm(any, None, answer(0))];
        self.form_node(Form::Match(*of, arms), start)
    }

    /// Returns whether the `{` behind a path begins the fields of a struct.
    pub(super) fn begins_struct(&self, path: &str) -> bool {
        let head = path.split('<').next().unwrap_or_default();
        let name = head
            .rsplit("::")
            .find(|it| !it.is_empty())
            .unwrap_or_default();
        if self.language != Language::Rust
            || self.in_condition
            || self.symbol() != "{"
            || !name.starts_with(char::is_uppercase)
        {
            return false;
        }
        match &self.token(1).kind {
            TokenKind::Symbol(symbol) => matches!(*symbol, "}" | ".."),
            TokenKind::Name(_) => {
                matches!(symbol_of(&self.token(2).kind), ":" | "," | "}")
            }
            _ => false,
        }
    }

    /// Parses the fields of a struct literal after its path.
    pub(super) fn struct_literal(
        &mut self,
        path: String,
        start: usize,
    ) -> Result<Box<Node>, Error> {
        self.expect("{")?;
        let (mut fields, mut base) = (Vec::new(), None);
        while self.symbol() != "}" {
            if self.accept("..") {
                base = Some(*self.nested(|it| it.item())?);
                break;
            }
            let span = self.token(0).span.clone();
            let name = self.field_name()?;
            let value = match self.accept(":") {
                true => *self.nested(|it| it.item())?,
                false => Node {
                    kind: Kind::Name(name.clone()),
                    span,
                    depth: 1,
                },
            };
            fields.push((name, value));
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        self.form_node(Form::Struct(path, fields, base), start)
    }

    fn field_name(&mut self) -> Result<String, Error> {
        let token = self.advance();
        match token.kind {
            TokenKind::Name(name) => Ok(name),
            TokenKind::Int(index, ..) => Ok(index.to_string()),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    /// Parses a pattern with its alternatives.
    pub(super) fn pattern(&mut self) -> Result<Pattern, Error> {
        let start = self.token(0).span.start;
        self.accept("|");
        let mut all = vec![self.one_pattern()?];
        while self.accept("|") {
            all.push(self.one_pattern()?);
        }
        match (all.len(), all.pop()) {
            (1, Some(only)) => Ok(only),
            (_, last) => {
                all.extend(last);
                Ok(self.made_pattern(PatternKind::Either(all), start))
            }
        }
    }

    fn made_pattern(&self, kind: PatternKind, start: usize) -> Pattern {
        let span = start..self.token_before().span.end;
        Pattern { kind, span }
    }

    /// Parses patterns up to a closing bracket.
    fn patterns(&mut self, closing: &str) -> Result<(Vec<Pattern>, bool), Error> {
        let (mut all, mut has_comma) = (Vec::new(), false);
        while self.symbol() != closing {
            all.push(self.pattern()?);
            if !self.accept(",") {
                break;
            }
            has_comma = true;
        }
        self.expect(closing)?;
        Ok((all, has_comma))
    }

    pub(super) fn one_pattern(&mut self) -> Result<Pattern, Error> {
        self.depth += PATTERN;
        if self.depth > DEEPEST {
            return Err(error(
                "pattern nested too deeply",
                self.token(0).span.clone(),
            ));
        }
        let pattern = self.plain_pattern();
        self.depth -= PATTERN;
        pattern
    }

    fn plain_pattern(&mut self) -> Result<Pattern, Error> {
        let start = self.token(0).span.start;
        let kind = match self.peek().clone() {
            TokenKind::Symbol("(") => {
                self.at += 1;
                let (mut all, has_comma) = self.patterns(")")?;
                let is_rest = |it: &Pattern| matches!(it.kind, PatternKind::Rest);
                match all.len() {
                    1 if !has_comma && !all.iter().any(is_rest) => return Ok(all.remove(0)),
                    _ => PatternKind::Tuple(all),
                }
            }
            TokenKind::Symbol("[") => {
                self.at += 1;
                PatternKind::Slice(self.patterns("]")?.0)
            }
            TokenKind::Symbol(symbol @ ("&" | "&&")) => {
                self.at += 1;
                self.accept_word("mut");
                let of = self.one_pattern()?;
                let inner = self.made_pattern(PatternKind::Refer(Box::new(of)), start);
                match symbol {
                    "&&" => PatternKind::Refer(Box::new(inner)),
                    _ => return Ok(inner),
                }
            }
            TokenKind::Symbol(".." | "..=") => {
                let inclusive = self.symbol() == "..=";
                self.at += 1;
                match self.ends_pattern() {
                    true if !inclusive => PatternKind::Rest,
                    _ => PatternKind::Range(None, Some(*self.pattern_value()?), inclusive),
                }
            }
            TokenKind::Name(name) if name == "_" => {
                self.at += 1;
                PatternKind::Any
            }
            TokenKind::Name(name) if name != "true" && name != "false" => {
                return self.named_pattern(start);
            }
            _ => {
                let value = *self.pattern_value()?;
                self.after_value(value)?
            }
        };
        Ok(self.made_pattern(kind, start))
    }

    /// Parses the rest of a range behind its first value, if it is one.
    fn after_value(&mut self, from: Node) -> Result<PatternKind, Error> {
        let inclusive = match self.symbol() {
            ".." => false,
            // `1...5` in the editions before 2021.
            "..=" | "..." => true,
            _ => {
                return Ok(match &from.kind {
                    Kind::Name(_) => PatternKind::Path(from),
                    _ => PatternKind::Value(from),
                });
            }
        };
        self.at += 1;
        let to = match self.ends_pattern() {
            true if !inclusive => None,
            _ => Some(*self.pattern_value()?),
        };
        Ok(PatternKind::Range(Some(from), to, inclusive))
    }

    fn ends_pattern(&self) -> bool {
        match self.peek() {
            TokenKind::Symbol(symbol) => {
                matches!(*symbol, ")" | "]" | "}" | "," | "|" | "=")
            }
            TokenKind::Name(name) => name == "if",
            TokenKind::End => true,
            _ => false,
        }
    }

    /// Parses a literal or a constant in a pattern.
    fn pattern_value(&mut self) -> Result<Box<Node>, Error> {
        let start = self.token(0).span.start;
        if self.accept("-") {
            let literal = self.literal()?;
            return self.unary_node(start, literal, |it| Kind::Unary(Unary::Minus, it));
        }
        match self.peek() {
            TokenKind::Name(_) => self.name(),
            _ => self.literal(),
        }
    }

    fn named_pattern(&mut self, start: usize) -> Result<Pattern, Error> {
        self.accept_word("ref");
        self.accept_word("mut");
        let span = self.token(0).span.clone();
        let path = self.path(false)?;
        let kind = match self.symbol() {
            "(" => {
                self.at += 1;
                PatternKind::Parts(path, self.patterns(")")?.0)
            }
            "{" => {
                self.at += 1;
                let (fields, has_rest) = self.field_patterns()?;
                PatternKind::Fields(path, fields, has_rest)
            }
            "@" => {
                self.at += 1;
                PatternKind::Bind(path, Some(Box::new(self.one_pattern()?)))
            }
            ".." | "..=" => {
                let span = span.start..self.token_before().span.end;
                let from = self.node(Kind::Name(path), span, &[])?;
                self.after_value(*from)?
            }
            _ if path.contains("::") => {
                let span = span.start..self.token_before().span.end;
                PatternKind::Path(*self.node(Kind::Name(path), span, &[])?)
            }
            _ => PatternKind::Bind(path, None),
        };
        Ok(self.made_pattern(kind, start))
    }

    fn field_patterns(&mut self) -> Result<(Vec<(String, Pattern)>, bool), Error> {
        let (mut fields, mut has_rest) = (Vec::new(), false);
        while self.symbol() != "}" {
            if self.accept("..") {
                has_rest = true;
                break;
            }
            let start = self.token(0).span.start;
            self.accept_word("ref");
            self.accept_word("mut");
            let name = self.field_name()?;
            let pattern = match self.accept(":") {
                true => self.pattern()?,
                false => self.made_pattern(PatternKind::Bind(name.clone(), None), start),
            };
            fields.push((name, pattern));
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok((fields, has_rest))
    }
}

pub(super) fn arm(pattern: Pattern, guard: Option<Node>, body: Node) -> Arm {
    Arm {
        pattern,
        guard,
        body,
    }
}
