//! Macros, blocks with variables and closures of Rust.

use super::lex::{TokenKind, error};
use super::parse::{DEEPEST, Parser, symbol_of};
use super::parse_rust::arm;
use super::tree::{Kind, Node};
use super::tree_rust::{Form, Pattern};
use crate::ids::error::Error;

impl Parser<'_> {
    /// Returns whether the name that comes next is that of a macro.
    pub(super) fn begins_macro(&self) -> bool {
        let opens = symbol_of(&self.token(2).kind);
        symbol_of(&self.token(1).kind) == "!" && matches!(opens, "(" | "[" | "{")
    }

    /// Parses a macro whose meaning is known.
    pub(super) fn macro_call(&mut self, start: usize) -> Result<Box<Node>, Error> {
        let TokenKind::Name(name) = self.peek().clone() else {
            return Err(self.unexpected());
        };
        if name == "matches" {
            return self.matches_macro(start);
        }
        let whole = self.token(0).span.start..self.token(1).span.end;
        match name.as_str() {
            "vec" | "concat" | "format" => self.at += 2,
            _ => {
                let why = format!("the macro `{name}!` is not expanded; write what it stands for");
                return Err(error(why, whole));
            }
        }
        match (name.as_str(), self.symbol()) {
            ("vec", "[") => {
                let from = self.token(0).span.start;
                let row = self.array(from)?;
                self.form_node(Form::Vec(*row), start)
            }
            ("concat", "(") => {
                let mut text = Vec::new();
                for part in self.literals()? {
                    text.extend_from_slice(&part);
                }
                let span = start..self.token_before().span.end;
                self.node(Kind::Text(text), span, &[])
            }
            ("format", "(") => {
                let span = self.token(1).span.clone();
                let mut parts = self.literals()?;
                let text = parts
                    .pop()
                    .filter(|it| parts.is_empty() && !it.contains(&b'{'));
                let Some(text) = text else {
                    let why = "`format!` with arguments is not evaluated; use a log message";
                    return Err(error(why, span));
                };
                let text = self.node(Kind::Text(text), span, &[])?;
                self.form_node(Form::OwnedText(*text), start)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Parses string literals in parentheses.
    fn literals(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        self.expect("(")?;
        let mut all = Vec::new();
        while self.symbol() != ")" {
            match self.peek().clone() {
                TokenKind::Text(bytes) => all.push(bytes),
                TokenKind::Int(number, ..) => all.push(number.to_string().into_bytes()),
                _ => return Err(self.unexpected()),
            }
            self.at += 1;
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(all)
    }

    /// Parses what is between the braces of a block: variables, and the expression that is its value.
    pub(super) fn statements(&mut self) -> Result<Box<Node>, Error> {
        if matches!(self.peek(), TokenKind::Name(name) if name == "let") {
            return self.variable();
        }
        let value = self.nested(|it| it.item())?;
        match self.symbol() {
            ";" => Err(self.statement()),
            _ => Ok(value),
        }
    }

    fn statement(&self) -> Error {
        let why = "a block with statements has no value here; write one expression";
        error(why, self.token(0).span.clone())
    }

    /// Parses `let x = e;` and what follows.
    // Separate from `statements` to keep the recursive function's stack frame small.
    fn variable(&mut self) -> Result<Box<Node>, Error> {
        let start = self.token(0).span.start;
        self.at += 1;
        self.depth += 1;
        if self.depth > DEEPEST {
            let span = self.token(0).span.clone();
            return Err(error("expression nested too deeply", span));
        }
        let pattern = self.pattern()?;
        if self.symbol() == ":" {
            let why = "a variable of a block gets its type from its value; cast that with `as`";
            return Err(error(why, self.token(0).span.clone()));
        }
        self.expect("=")?;
        let of = *self.nested(|it| it.item())?;
        self.expect(";")?;
        let rest = *self.statements()?;
        self.depth -= 1;
        self.form_node(Form::Match(of, vec![arm(pattern, None, rest)]), start)
    }

    /// Returns whether a closure begins here.
    pub(super) fn begins_closure(&self) -> bool {
        matches!(self.symbol(), "|" | "||")
            || matches!(self.peek(), TokenKind::Name(name) if name == "move")
                && matches!(symbol_of(&self.token(1).kind), "|" | "||")
    }

    /// Parses `|a, b| e`.
    pub(super) fn closure(&mut self, start: usize) -> Result<Box<Node>, Error> {
        self.accept_word("move");
        let mut parameters: Vec<Pattern> = Vec::new();
        if !self.accept("||") {
            self.expect("|")?;
            while self.symbol() != "|" {
                parameters.push(self.one_pattern()?);
                if self.symbol() == ":" {
                    let why = "a closure's parameters get their types from the call";
                    return Err(error(why, self.token(0).span.clone()));
                }
                if !self.accept(",") {
                    break;
                }
            }
            self.expect("|")?;
        }
        let body = *self.item()?;
        self.form_node(Form::Closure(parameters, body), start)
    }
}
