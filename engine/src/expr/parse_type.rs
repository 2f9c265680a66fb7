//! Names, qualified and with arguments, and types.

use super::lex::{TokenKind, error};
use super::parse::{DEEPEST, Parser, symbol_of};
use super::parse_declarator::is_qualifier;
use super::types::{Layer, TypeName};
use crate::ids::error::Error;
use crate::inspect::language::{c, rust};
use dwarf::Language;

/// The number of tokens of `(anonymous namespace)::`.
const UNNAMED_TOKENS: usize = 5;

impl Parser<'_> {
    pub(super) fn begins_type(&self) -> bool {
        let rusty = self.language == Language::Rust;
        match self.peek() {
            TokenKind::Name(name) if rusty => rust::builtin(name).is_some(),
            TokenKind::Name(name) => c::is_type_word(name) || self.begins_decltype(name),
            TokenKind::Symbol("*") => {
                rusty
                    && matches!(&self.token(1).kind, TokenKind::Name(name) if name == "const" || name == "mut")
            }
            _ => false,
        }
    }

    fn begins_decltype(&self, name: &str) -> bool {
        let is_keyword = matches!(name, "decltype" | "typeof" | "__typeof__" | "__typeof");
        is_keyword && self.language != Language::Rust && symbol_of(&self.token(1).kind) == "("
    }

    /// Parses a type's name. On failure the caller restores the position.
    pub(super) fn type_name(&mut self) -> Result<TypeName, Error> {
        let start = self.token(0).span.start;
        if self.language == Language::Rust && matches!(self.symbol(), "*" | "&" | "[") {
            return self.rust_type();
        }
        let rusty = self.language == Language::Rust;
        if rusty && self.symbol() == "(" {
            return self.spelled(Self::types_in_parentheses);
        }
        if rusty && matches!(self.peek(), TokenKind::Name(name) if name == "fn") {
            return self.spelled(Self::function_type);
        }
        let mut words: Vec<String> = Vec::new();
        let mut is_const = false;
        let mut of = None;
        let is_global = self.symbol() == "::" && self.language == Language::Cpp;
        if is_global && matches!(self.token(1).kind, TokenKind::Name(_)) || self.begins_unnamed() {
            words.push(self.path(true)?);
        }
        while let TokenKind::Name(name) = self.peek() {
            if words.is_empty() && self.begins_decltype(name) {
                let (text, node) = self.type_of_expression()?;
                words.push(text);
                of = Some(node);
                continue;
            }
            let is_word = c::is_type_word(name) || !rusty && is_qualifier(name);
            let keyword = words
                .last()
                .is_none_or(|last| matches!(&**last, "struct" | "union" | "enum" | "class"));
            if !is_word && !keyword || name == "as" {
                break;
            }
            if !rusty && is_qualifier(name) {
                is_const |= name == "const";
                self.at += 1;
                continue;
            }
            let word = if is_word {
                self.at += 1;
                self.name_before()
            } else {
                self.path(true)?
            };
            words.push(word);
        }
        if words.is_empty() {
            return Err(error("expected a type", self.token(0).span.clone()));
        }
        let layers = match self.language {
            Language::Rust => Vec::new(),
            _ => self.declarator()?,
        };
        Ok(TypeName {
            base: words.join(" "),
            of,
            is_const,
            layers,
            span: start..self.token(0).span.start,
        })
    }

    /// Parses a type that debug info has under its whole name.
    fn spelled(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<String, Error>,
    ) -> Result<TypeName, Error> {
        let start = self.token(0).span.start;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(error("type nested too deeply", self.token(0).span.clone()));
        }
        let base = parse(self)?;
        self.depth -= 1;
        Ok(TypeName {
            base,
            of: None,
            is_const: false,
            layers: Vec::new(),
            span: start..self.token(0).span.start,
        })
    }

    /// Parses `fn(A, B) -> C`.
    fn function_type(&mut self) -> Result<String, Error> {
        self.at += 1;
        let mut name = format!("fn{}", self.types_in_parentheses()?);
        if self.accept("->") {
            name.push_str(" -> ");
            name.push_str(&self.spelled_type()?);
        }
        Ok(name)
    }

    /// Parses `(A, B)`.
    fn types_in_parentheses(&mut self) -> Result<String, Error> {
        self.expect("(")?;
        let mut types = Vec::new();
        let mut has_comma = false;
        while self.symbol() != ")" {
            types.push(self.spelled_type()?);
            has_comma = self.accept(",");
            if !has_comma {
                break;
            }
        }
        self.expect(")")?;
        let comma = if has_comma && types.len() == 1 {
            ","
        } else {
            ""
        };
        Ok(format!("({}{comma})", types.join(", ")))
    }

    /// Parses a type, and returns it as it is written.
    fn spelled_type(&mut self) -> Result<String, Error> {
        let span = self.type_name()?.span;
        Ok(self.text.get(span).unwrap_or_default().trim().to_owned())
    }

    /// Parses `[T]` behind `&`. Leaves the position where it is if an array begins there.
    fn slice_type(&mut self) -> Result<Option<TypeName>, Error> {
        let before = self.at;
        if !self.accept("[") {
            return Ok(None);
        }
        let mut ty = self.type_name()?;
        if !self.accept("]") {
            self.at = before;
            return Ok(None);
        }
        ty.layers.push(Layer::Slice);
        Ok(Some(ty))
    }

    /// Parses `*const T`, `&mut T`, `&[T]`, `[T; 3]`.
    fn rust_type(&mut self) -> Result<TypeName, Error> {
        let start = self.token(0).span.start;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(error("type nested too deeply", self.token(0).span.clone()));
        }
        let array = self.accept("[");
        let is_const = !array
            && self.symbol() == "*"
            && matches!(&self.token(1).kind, TokenKind::Name(name) if name == "const");
        let is_reference = self.symbol() == "&";
        if !array {
            self.at += 1;
            while matches!(self.peek(), TokenKind::Name(name) if name == "const" || name == "mut") {
                self.at += 1;
            }
        }
        if is_reference && let Some(mut ty) = self.slice_type()? {
            self.depth -= 1;
            ty.span = start..self.token(0).span.start;
            return Ok(ty);
        }
        let mut ty = self.type_name()?;
        if array {
            self.expect(";")?;
            let TokenKind::Int(count, ..) = *self.peek() else {
                return Err(error(
                    super::messages::EXPECTED_NUMBER,
                    self.token(0).span.clone(),
                ));
            };
            self.at += 1;
            self.expect("]")?;
            ty.layers
                .push(Layer::Array(Some(u64::try_from(count).unwrap_or(u64::MAX))));
        } else {
            ty.layers.push(match is_const {
                true => Layer::ConstPointer,
                false => Layer::Pointer,
            });
        }
        self.depth -= 1;
        ty.span = start..self.token(0).span.start;
        Ok(ty)
    }

    fn name_before(&self) -> String {
        match &self.tokens[self.at - 1].kind {
            TokenKind::Name(name) => name.clone(),
            _ => String::new(),
        }
    }

    /// Parses `a`, `a::b`, `::a`, with template or generic arguments unless `<` is a comparison.
    pub(super) fn path(&mut self, is_type: bool) -> Result<String, Error> {
        let mut path = String::new();
        if self.accept("::") {
            path.push_str("::");
        }
        loop {
            if self.begins_unnamed() {
                self.at += UNNAMED_TOKENS;
            }
            let TokenKind::Name(name) = self.peek() else {
                return Err(error("expected a name", self.token(0).span.clone()));
            };
            let name = name.clone();
            self.at += 1;
            // `operator==(a, b)`
            if !is_type && let Some(operator) = self.operator_name(&name) {
                path.push_str(&operator);
                return Ok(path);
            }
            path.push_str(&name);
            let is_cast = name.ends_with("_cast");
            let turbofish = self.symbol() == "::" && symbol_of(&self.token(1).kind) == "<";
            if turbofish {
                self.at += 1;
            }
            if self.symbol() == "<"
                && let Some((len, text)) = self.arguments()
                && (is_type || turbofish || !is_cast && self.is_template(len, &text))
            {
                path.push_str(&text);
                self.at += len;
            }
            if self.symbol() != "::" {
                return Ok(path);
            }
            self.at += 1;
            path.push_str("::");
        }
    }

    /// Returns whether `(anonymous namespace)::` begins here, as names in unnamed namespaces are shown:
    /// what is in them is visible around them.
    pub(super) fn begins_unnamed(&self) -> bool {
        let is_name = |ahead: usize, name: &str| matches!(&self.token(ahead).kind, TokenKind::Name(it) if it == name);
        let is_symbol = |ahead: usize, symbol| symbol_of(&self.token(ahead).kind) == symbol;
        self.language == Language::Cpp
            && is_symbol(0, "(")
            && is_name(1, "anonymous")
            && is_name(2, "namespace")
            && is_symbol(3, ")")
            && is_symbol(4, "::")
    }

    /// Parses the template arguments of a member function that is called: `a.f<int>()`.
    pub(super) fn called_with_arguments(&mut self) -> Option<String> {
        if self.language == Language::Rust && self.symbol() == "::" {
            let (len, text) = self.arguments_at(1)?;
            self.at += 1 + len;
            return Some(text);
        }
        if self.symbol() != "<" || self.language != Language::Cpp {
            return None;
        }
        let (len, text) = self.arguments()?;
        if symbol_of(&self.token(len).kind) != "(" {
            return None;
        }
        self.at += len;
        Some(text)
    }

    /// Returns whether a list `<…>` of `len` tokens that begins here can only be meant as template
    /// arguments: a class or a call follows, or nothing that could be compared, or the list has a
    /// built-in type.
    fn is_template(&self, len: usize, text: &str) -> bool {
        let is_builtin = |word: &str| {
            matches!(
                word,
                "int" | "char" | "bool" | "double" | "float" | "long" | "short" | "unsigned"
            )
        };
        let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        match &self.token(len).kind {
            TokenKind::Symbol("::") => true,
            _ if self.language != Language::Cpp => false,
            TokenKind::Symbol("(") => true,
            TokenKind::Symbol("-" | "*" | "&" | "+" | "!" | "~" | "++" | "--" | "[" | "{") => {
                words.any(is_builtin)
            }
            TokenKind::Symbol(_) | TokenKind::End => true,
            _ => false,
        }
    }

    /// Returns the number of tokens and the text of a list `<…>` that begins here, if it is one.
    pub(super) fn arguments(&self) -> Option<(usize, String)> {
        self.arguments_at(0)
    }

    /// The same, from a token on.
    pub(super) fn arguments_at(&self, start: usize) -> Option<(usize, String)> {
        let (mut open, mut brackets) = (0i32, 0u32);
        let mut text = String::new();
        for ahead in 0..256 {
            let token = self.token(start + ahead);
            match &token.kind {
                TokenKind::Symbol("<") => open += 1,
                TokenKind::Symbol(">") => open -= 1,
                TokenKind::Symbol(">>") => open -= 2,
                TokenKind::Symbol("(" | "[" | "{") => brackets += 1,
                // One that was opened before: `(a < b) > (c)`.
                TokenKind::Symbol(")" | "]" | "}") => brackets = brackets.checked_sub(1)?,
                TokenKind::Symbol("::" | "," | "*" | "&" | "&&" | ";" | "-" | "...")
                | TokenKind::Name(_)
                | TokenKind::Char(..)
                | TokenKind::Int(..) => {}
                _ => return None,
            }
            text.push_str(&self.text[token.span.clone()]);
            if matches!(&token.kind, TokenKind::Symbol(",")) {
                text.push(' ');
            }
            let next = &self.token(start + ahead + 1).kind;
            if matches!(token.kind, TokenKind::Name(_))
                && matches!(next, TokenKind::Name(_) | TokenKind::Symbol("*" | "&"))
            {
                text.push(' ');
            }
            if open <= 0 {
                return (open == 0).then_some((ahead + 1, text));
            }
        }
        None
    }
}
