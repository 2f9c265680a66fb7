//! Forms of C and C++ alone: `alignof`, `typeid`, `a.*b`, `T{a, b}`.

use super::lex::{TokenKind, error};
use super::parse::{Parser, power, symbol_of};
use super::tree::{Kind, Node};
use super::types::{TypeName, TypeOf};
use crate::ids::error::Error;
use dwarf::Language;

/// A form of C and C++ alone.
#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    /// `alignof(T)`
    AlignOfType(TypeName),
    /// `alignof(x)`; `x` may be the name of a type.
    AlignOf,
    /// `typeid(T)`
    TypeIdOfType(TypeName),
    /// `typeid(x)`; `x` may be the name of a type.
    TypeId,
    /// `object.*pointer`
    MemberOf,
    /// `object->*pointer`
    MemberBehind,
    /// `T{a, b}`
    Braces(TypeName),
    /// `{a, b}` within other braces.
    InnerBraces,
    /// `.member = value` within braces.
    Designated(String),
    /// `a <=> b`
    ThreeWay,
}

impl Form {
    /// Returns the types that it names.
    pub fn types(&self) -> impl Iterator<Item = &TypeName> {
        let ty = match self {
            Form::AlignOfType(ty) | Form::TypeIdOfType(ty) | Form::Braces(ty) => Some(ty),
            Form::AlignOf
            | Form::TypeId
            | Form::MemberOf
            | Form::MemberBehind
            | Form::Designated(_)
            | Form::ThreeWay
            | Form::InnerBraces => None,
        };
        ty.into_iter()
    }

    /// Returns whether it accesses an object by a pointer to a member.
    pub fn is_member_access(&self) -> bool {
        matches!(self, Form::MemberOf | Form::MemberBehind)
    }

    /// Returns whether the operand may be the name of a type.
    pub fn may_name_type(&self) -> bool {
        matches!(self, Form::AlignOf | Form::TypeId)
    }
}

impl Parser<'_> {
    /// Parses a form that begins with a keyword, after the keyword; `None`: it is a name.
    pub(super) fn cpp_keyword(
        &mut self,
        keyword: &str,
        start: usize,
    ) -> Result<Option<Box<Node>>, Error> {
        let is_cpp = self.language == Language::Cpp;
        let (of_type, of_value): (fn(TypeName) -> Form, Form) = match keyword {
            "alignof" | "_Alignof" | "__alignof" | "__alignof__"
                if self.language != Language::Rust =>
            {
                (Form::AlignOfType, Form::AlignOf)
            }
            "typeid" if is_cpp => (Form::TypeIdOfType, Form::TypeId),
            "noexcept" if is_cpp => {
                let message = "`noexcept` has no value here: the debug info does not say which \
                               functions throw";
                return Err(error(message, start..self.token_before().span.end));
            }
            _ => return Ok(None),
        };
        if self.symbol() != "(" {
            return Err(error(
                format!("expected `(` after `{keyword}`"),
                self.token(0).span.clone(),
            ));
        }
        if let Some(ty) = self.type_in_brackets() {
            let span = start..self.token_before().span.end;
            let kind = Kind::Cpp(of_type(ty), Vec::new());
            return self.node(kind, span, &[]).map(Some);
        }
        self.expect("(")?;
        let operand = self.expression(power::SEQUENCE)?;
        self.expect(")")?;
        let (span, depth) = (start..self.token_before().span.end, operand.depth);
        let kind = Kind::Cpp(of_value, vec![*operand]);
        self.node(kind, span, &[depth]).map(Some)
    }

    /// Parses `(T)` if it can only be a type.
    pub(super) fn type_in_brackets(&mut self) -> Option<TypeName> {
        let before = (self.at, self.depth);
        self.at += 1;
        let sure = self.begins_type();
        if let Ok(ty) = self.type_name()
            && self.symbol() == ")"
            && (sure || ty.is_pointer_to_any() || ty.base.contains('<'))
        {
            self.at += 1;
            return Some(ty);
        }
        (self.at, self.depth) = before;
        None
    }

    /// Parses `::x` after a name behind `.` or `->`, and returns the qualified name.
    pub(super) fn qualified_member(&mut self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        let mut after = 0;
        if self.language == Language::Cpp
            && self.symbol() == "<"
            && let Some((len, text)) = self.arguments()
        {
            name.push_str(&text);
            after = len;
        }
        let TokenKind::Name(next) = &self.token(after + 1).kind else {
            return None;
        };
        if symbol_of(&self.token(after).kind) != "::" {
            return None;
        }
        let name = format!("{name}::{next}");
        self.at += after + 2;
        Some(name)
    }

    /// Parses the rest of the name of an operator function after `operator`: `a.operator==(b)`.
    pub(super) fn operator_name(&mut self, name: &str) -> Option<String> {
        if self.language != Language::Cpp || name != "operator" {
            return None;
        }
        let symbol = self.symbol();
        let closing = match symbol {
            "" => return None,
            "(" => ")",
            "[" => "]",
            _ => "",
        };
        if !closing.is_empty() && symbol_of(&self.token(1).kind) != closing {
            return None;
        }
        self.at += 1 + usize::from(!closing.is_empty());
        Some(format!("operator{symbol}{closing}"))
    }

    /// Parses `decltype(x)`; the current token is the keyword.
    pub(super) fn type_of_expression(&mut self) -> Result<(String, TypeOf), Error> {
        let start = self.token(0).span.start;
        self.at += 1;
        self.expect("(")?;
        let of = self.nested(|it| it.expression(power::SEQUENCE))?;
        self.expect(")")?;
        let span = start..self.token_before().span.end;
        let text = self.text.get(span).unwrap_or_default().to_owned();
        Ok((text, TypeOf(of)))
    }

    /// Parses `.*` or `->*` and its right operand.
    pub(super) fn member_pointer(&mut self, object: Node) -> Result<Box<Node>, Error> {
        let form = match self.symbol() {
            "->*" => Form::MemberBehind,
            _ => Form::MemberOf,
        };
        self.at += 1;
        let member = self.expression(power::MEMBER + 1)?;
        let span = object.span.start..member.span.end;
        let below = [object.depth, member.depth];
        self.node(Kind::Cpp(form, vec![object, *member]), span, &below)
    }

    /// Parses `{a, {b, c}}`, which makes an object of a type that begins at `start`.
    pub(super) fn braces(&mut self, ty: TypeName) -> Result<Box<Node>, Error> {
        let start = ty.span.start;
        self.braced(Form::Braces(ty), start)
    }

    /// Parses `.member = value`.
    fn designated(&mut self) -> Result<Box<Node>, Error> {
        let start = self.token(0).span.start;
        self.at += 1;
        let token = self.advance();
        let TokenKind::Name(name) = token.kind else {
            return Err(error("expected the name of a member", token.span));
        };
        let value = match self.symbol() {
            "{" => self.braced(Form::InnerBraces, self.token(0).span.start)?,
            _ => {
                self.expect("=")?;
                match self.symbol() {
                    "{" => self.braced(Form::InnerBraces, self.token(0).span.start)?,
                    _ => self.item()?,
                }
            }
        };
        let (span, depth) = (start..value.span.end, value.depth);
        let kind = Kind::Cpp(Form::Designated(name), vec![*value]);
        self.node(kind, span, &[depth])
    }

    fn braced(&mut self, form: Form, start: usize) -> Result<Box<Node>, Error> {
        self.depth += 1;
        if self.depth > super::parse::DEEPEST {
            return Err(error(
                "expression nested too deeply",
                self.token(0).span.clone(),
            ));
        }
        self.expect("{")?;
        let mut values = Vec::new();
        while self.symbol() != "}" {
            let value = match self.symbol() {
                "." => self.designated()?,
                "{" => self.braced(Form::InnerBraces, self.token(0).span.start)?,
                _ => self.item()?,
            };
            values.push(*value);
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        self.depth -= 1;
        let span = start..self.token_before().span.end;
        let deepest = values.iter().map(|it| it.depth).max().unwrap_or(0);
        self.node(Kind::Cpp(form, values), span, &[deepest])
    }
}
