//! Declarators of C and C++ without a name: `*`, `(*)(int)`, `[4]`, `Class::*`.

use super::lex::{TokenKind, error};
use super::messages;
use super::parse::{DEEPEST, Parser, symbol_of};
use super::types::{Layer, Parameters, TypeName};
use crate::ids::error::Error;
use dwarf::Language;

/// Returns whether a word qualifies a type without changing what a value of it is.
pub(super) fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "const" | "volatile" | "restrict" | "__restrict" | "__restrict__" | "_Atomic" | "typename"
    )
}

impl Parser<'_> {
    /// Parses what follows the words of a type's name; the layers are in the order in which they
    /// apply.
    pub(super) fn declarator(&mut self) -> Result<Vec<Layer>, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(error("type nested too deeply", self.token(0).span.clone()));
        }
        let mut layers = self.pointers();
        let grouped = match self.begins_group() {
            true => {
                self.at += 1;
                let inner = self.declarator()?;
                self.expect(")")?;
                Some(inner)
            }
            false => None,
        };
        let mut suffixes = Vec::new();
        loop {
            match self.symbol() {
                "[" => suffixes.push(self.bound()?),
                // Only a pointer to a function can be the type of a value.
                "(" if grouped.is_some() => suffixes.push(self.parameters()?),
                _ => break,
            }
        }
        // `int[3][4]`: the first bound is the outermost.
        suffixes.reverse();
        layers.extend(suffixes);
        layers.extend(grouped.unwrap_or_default());
        self.depth -= 1;
        Ok(layers)
    }

    fn pointers(&mut self) -> Vec<Layer> {
        let mut layers = Vec::new();
        loop {
            match (self.peek(), self.symbol()) {
                (_, "*") => layers.push(Layer::Pointer),
                (_, "&") => layers.push(Layer::Reference),
                (_, "&&") => layers.push(Layer::RvalueReference),
                (TokenKind::Name(name), _) if is_qualifier(name) => {}
                _ => match self.member_class(0) {
                    Some((len, class)) => {
                        self.at += len;
                        layers.push(Layer::Member(class));
                        continue;
                    }
                    None => return layers,
                },
            }
            self.at += 1;
        }
    }

    /// Returns whether `(` begins a declarator in brackets, as opposed to parameters.
    fn begins_group(&self) -> bool {
        self.symbol() == "("
            && (matches!(symbol_of(&self.token(1).kind), "*" | "&" | "&&")
                || self.member_class(1).is_some())
    }

    /// Returns the number of tokens and the class of `ns::Class::*`, if it begins there.
    fn member_class(&self, ahead: usize) -> Option<(usize, String)> {
        if self.language != Language::Cpp {
            return None;
        }
        let mut at = ahead;
        let mut path = String::new();
        loop {
            let TokenKind::Name(name) = &self.token(at).kind else {
                return None;
            };
            path.push_str(name);
            at += 1;
            if symbol_of(&self.token(at).kind) == "<" {
                let (len, text) = self.arguments_at(at)?;
                path.push_str(&text);
                at += len;
            }
            if symbol_of(&self.token(at).kind) != "::" {
                return None;
            }
            at += 1;
            if symbol_of(&self.token(at).kind) == "*" {
                return Some((at + 1 - ahead, path));
            }
            path.push_str("::");
        }
    }

    fn bound(&mut self) -> Result<Layer, Error> {
        self.expect("[")?;
        if self.accept("]") {
            return Ok(Layer::Array(None));
        }
        let TokenKind::Int(count, ..) = *self.peek() else {
            return Err(error(messages::EXPECTED_NUMBER, self.token(0).span.clone()));
        };
        self.at += 1;
        self.expect("]")?;
        Ok(Layer::Array(Some(u64::try_from(count).unwrap_or(u64::MAX))))
    }

    fn parameters(&mut self) -> Result<Layer, Error> {
        self.expect("(")?;
        let mut types: Vec<TypeName> = Vec::new();
        // C's `()` leaves the parameters open (ISO C17 §6.7.6.3).
        let mut is_variadic = self.language == Language::C && self.symbol() == ")";
        while self.symbol() != ")" {
            if self.accept("...") {
                is_variadic = true;
                break;
            }
            types.push(self.type_name()?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        if let [only] = &types[..]
            && only.base == "void"
            && only.layers.is_empty()
        {
            types.clear();
        }
        let mut is_const = false;
        while let TokenKind::Name(name) = self.peek()
            && matches!(&**name, "const" | "volatile" | "noexcept")
        {
            is_const |= name == "const";
            self.at += 1;
        }
        Ok(Layer::Function(Parameters {
            types,
            is_variadic,
            is_const,
        }))
    }
}
