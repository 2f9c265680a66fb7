//! What an assignment writes: a scalar, a text, the bytes of an object that owns nothing, a variant.

use super::super::ir::{Expr, Fit, Kind, Source};
use super::super::tree::{self, Node};
use super::super::tree_rust::Form;
use super::assign::is_constant;
use super::{Checker, Stop, wrong};
use crate::arch::Arch;
use crate::expr::evaluate::inner;
use crate::expr::{literal, messages, ownership};
use crate::inspect::abi::MemberPointer;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::path::Part;
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use dwarf::Language;
use std::sync::Arc;

/// Maximum nesting of references and wrappers.
const NESTING: u32 = 16;

type Sourced<'t> = Result<Source<'t>, Stop<'t>>;

impl Checker<'_> {
    /// Checks what an assignment writes to a place. An atomic or optional of C++ is one place with
    /// its value.
    pub(super) fn source_for<'t>(
        &self,
        place: Expr<'t>,
        right: &'t Node,
        node: &'t Node,
    ) -> Result<(Expr<'t>, Source<'t>), Stop<'t>> {
        let source = self.source(&place.ty, right, node, NESTING)?;
        // The value of the assignment to a C++ reference is the target.
        match (place.ty.shape(), source) {
            (Shape::Pointer(to, PointerKind::Reference), Source::Target(_, source)) => {
                Ok((place.target(to), *source))
            }
            (_, source) => Ok((place, source)),
        }
    }

    fn source<'t>(&self, to: &Ty, right: &'t Node, node: &'t Node, depth: u32) -> Sourced<'t> {
        if depth == 0 {
            return Err(wrong(messages::TOO_LONG, &right.span));
        }
        match to.shape() {
            Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Pointer(_, PointerKind::Raw) => {
                self.scalar_source(to, right, node)
            }
            Shape::Pointer(of, PointerKind::Reference) => {
                let source = self.source(&of, right, node, depth - 1)?;
                Ok(Source::Target(of, Box::new(source)))
            }
            Shape::Pointer(of, PointerKind::Owned) => {
                self.pointer_source(to, &of, right, node, depth)
            }
            Shape::Composite(_) | Shape::Array(_) | Shape::Synthetic(_) => {
                self.object_source(to, right, node, depth)
            }
            Shape::MemberPointer(is_function) => self.member_source(to, is_function, right),
            _ => {
                let value = self.check(right)?;
                match value.ty.same_as(to) {
                    true => Ok(Source::Copy(value)),
                    false => Err(wrong(
                        format!("cannot assign to a `{}`", to.name()),
                        &right.span,
                    )),
                }
            }
        }
    }

    /// Checks an assignment to a pointer to a member: of another one, or of a null pointer constant.
    fn member_source<'t>(&self, to: &Ty, is_function: bool, right: &'t Node) -> Sourced<'t> {
        let value = match self.method_as(to, right)? {
            Some(function) => function,
            None => self.referent(self.check(right)?),
        };
        if value.is_zero() {
            let null = match is_function {
                true => MemberPointer::Function(0, 0),
                false => MemberPointer::Data(None),
            };
            let arch = to.member_pointer().and_then(|(class, _)| match class {
                Ty::Dwarf(class) => Arch::of(class.module().machine()),
                _ => None,
            });
            let bits = null.bits(arch.unwrap_or_default());
            return Ok(Source::Copy(Expr::new(
                Kind::Constant(bits),
                to.clone(),
                right,
            )));
        }
        match value.ty.same_as(to) {
            true => Ok(Source::Copy(value)),
            false => Err(wrong(messages::no_conversion(&value.ty, to), &right.span)),
        }
    }

    fn scalar_source<'t>(&self, to: &Ty, right: &'t Node, node: &'t Node) -> Sourced<'t> {
        if let tree::Kind::Name(name) = &inner(right).kind
            && let Some(value) = members::enumerator_named(to, name)
        {
            let value = Expr::new(Kind::Constant(value as u128), to.clone(), right);
            return Ok(Source::Scalar(value, Fit::Converts));
        }
        if let Some(function) = self.function_as(to, right)? {
            return Ok(Source::Scalar(function, Fit::Converts));
        }
        let value = self.check(right)?;
        if let Shape::Pointer(of, _) = to.shape()
            && matches!(of.shape(), Shape::Function)
            && is_function(&value)
        {
            return Ok(Source::Function(right));
        }
        let is_complex =
            |ty: &Ty| super::scalar(ty).is_some_and(|it| matches!(it.kind, ScalarKind::Complex(_)));
        if is_complex(to) && is_complex(&value.ty) && super::scalar(to) == super::scalar(&value.ty)
        {
            return Ok(Source::Copy(value));
        }
        let is_fixed = is_constant(&value);
        let value = self.implicitly(value, to, node)?;
        let fit = match is_fixed {
            true => Fit::Exact,
            false => Fit::Converts,
        };
        Ok(Source::Scalar(value, fit))
    }

    /// Checks an assignment to a reference or box of Rust: of another reference, or of a value for
    /// its target.
    fn pointer_source<'t>(
        &self,
        to: &Ty,
        of: &Ty,
        right: &'t Node,
        node: &'t Node,
        depth: u32,
    ) -> Sourced<'t> {
        let of_target = |checker: &Self| {
            let source = checker.source(of, right, node, depth - 1)?;
            Ok(Source::Target(of.clone(), Box::new(source)))
        };
        if has_form(of, right, depth) {
            return of_target(self);
        }
        let value = self.check(right)?;
        match value.ty.shape() {
            Shape::Pointer(other, _) if other.same_as(of) => match to.name().starts_with('&') {
                true => Ok(Source::Copy(value)),
                false => Err(self.refused_copy(to, right)),
            },
            _ => of_target(self),
        }
    }

    fn object_source<'t>(
        &self,
        to: &Ty,
        right: &'t Node,
        node: &'t Node,
        depth: u32,
    ) -> Sourced<'t> {
        if let Some(source) = self.form_source(to, right, node, depth)? {
            return Ok(source);
        }
        let held = library::overwritable(to);
        let of_held = |checker: &Self, held: &Ty| {
            let source = checker.source(held, right, node, depth - 1)?;
            Ok(Source::Held(held.clone(), Box::new(source)))
        };
        if let Some(held) = &held
            && has_form(held, right, depth)
        {
            return of_held(self, held);
        }
        let value = self.check(right)?;
        let value = match self.language {
            Language::Rust => self.typed(value, to)?,
            _ => self.operand(value),
        };
        if self.is_text_for(to, &value) {
            return Ok(Source::Text(text_of(value)));
        }
        if is_same_object(to, &value.ty) {
            return match (ownership::may_copy(to), self.language) {
                (Ok(()), _) => Ok(Source::Copy(value)),
                (Err(_), Language::Cpp) if ownership::is_plain(to) => Ok(Source::Copy(value)),
                // Its `operator=` is called.
                (Err(_), Language::Cpp) => Err(Stop::Needs(node)),
                (Err(why), _) => Err(wrong(why, &right.span)),
            };
        }
        if let Some(held) = &held {
            return of_held(self, held);
        }
        if library::is_optional(to)
            && let Some(Contents::Optional(of)) = library::contents(to)
            && (super::scalar(&of).is_some()
                || value.ty.same_as(&of)
                || self.is_text_for(&of, &value))
        {
            let source = self.source(&of, right, node, depth - 1)?;
            return Ok(Source::Optional(Some(Box::new(source))));
        }
        if self.language == Language::Cpp && matches!(to.shape(), Shape::Composite(_)) {
            return Err(Stop::Needs(node));
        }
        let (to, from) = (to.name(), value.ty.name());
        Err(wrong(
            format!("expected a `{to}`, found `{from}`"),
            &right.span,
        ))
    }

    /// Returns whether a value is a text that an array of characters or a string takes.
    fn is_text_for(&self, to: &Ty, value: &Expr<'_>) -> bool {
        let is_literal = is_literal(value);
        if let Shape::Array(array) = to.shape() {
            return is_literal && literal::fits(self.source_of(value), &array.element);
        }
        if !library::is_string(to) {
            return false;
        }
        let is_text = is_literal || library::is_text(&value.ty);
        match self.language {
            // Another `String` would be moved.
            Language::Rust => is_text && !is_same_object(to, &value.ty),
            _ => is_text,
        }
    }

    /// Checks what only the type of the place gives a meaning: a variant, a tuple, `nullopt`.
    fn form_source<'t>(
        &self,
        to: &Ty,
        right: &'t Node,
        node: &'t Node,
        depth: u32,
    ) -> Result<Option<Source<'t>>, Stop<'t>> {
        if library::is_optional(to) && is_nullopt(right) {
            return Ok(Some(Source::Optional(None)));
        }
        let Shape::Composite(class) = to.shape() else {
            return Ok(None);
        };
        if let Some((index, values)) = variant_form(&class, right) {
            let variant = Part::Variant(Arc::clone(&class), index);
            return self
                .variant_source(variant, &class, &values, right, node, depth)
                .map(Some);
        }
        let Some(parts) = tuple_form(&class, right) else {
            return Ok(None);
        };
        let values = self.member_sources(&class, &parts, right, node, depth)?;
        Ok(Some(Source::Members(values)))
    }

    fn variant_source<'t>(
        &self,
        variant: Part,
        class: &Arc<DwarfTy>,
        values: &Values<'t>,
        right: &'t Node,
        node: &'t Node,
        depth: u32,
    ) -> Sourced<'t> {
        let Some((found, holder)) = variant.variant() else {
            return Err(Stop::Needs(node));
        };
        let name = &holder.name;
        let has_tag = class
            .composite()
            .and_then(|it| it.variants.as_ref())
            .is_some_and(|it| it.discriminant.is_some());
        match &found.values[..] {
            _ if !has_tag => {}
            [(low, high)] if low == high => {}
            [] if !values.fields.is_empty() => {}
            _ => {
                let message = format!("cannot assign `{name}`: several tag values mean it");
                return Err(wrong(message, &right.span));
            }
        }
        let holder_ty = class.related(holder.ty);
        let Shape::Composite(fields) = holder_ty.shape() else {
            return Err(Stop::Needs(node));
        };
        let sources = self.member_sources(&fields, values, right, node, depth)?;
        Ok(Source::Variant(variant, sources))
    }

    /// Checks the values of all members of a tuple or variant, in the order in which they are written.
    fn member_sources<'t>(
        &self,
        class: &Arc<DwarfTy>,
        values: &Values<'t>,
        right: &'t Node,
        node: &'t Node,
        depth: u32,
    ) -> Result<Vec<(Part, Source<'t>)>, Stop<'t>> {
        let members = class.composite().map_or(&[][..], |it| &it.members);
        let named = members
            .iter()
            .find(|it| members::tuple_index(&it.name).is_none() && !values.are_named);
        let given = values.fields.len();
        if given != members.len() || named.is_some() {
            let name = class.ty.name.rsplit("::").next().unwrap_or_default();
            let message = match (members.len(), named) {
                (0, _) => format!("`{name}` has no fields"),
                (_, Some(_)) => format!("`{name}` has fields; assign to them one by one"),
                (1, None) => format!("`{name}` has fields: 1 value, not {given}"),
                (count, None) => format!("`{name}` has fields: {count} values, not {given}"),
            };
            return Err(wrong(message, &right.span));
        }
        let of_member = |&(index, value): &(usize, &'t Node)| {
            let member = members.get(index).ok_or(Stop::Needs(node))?;
            let part = Part::Member(Arc::clone(class), index);
            let source = self.source(&class.related(member.ty), value, node, depth - 1)?;
            Ok((part, source))
        };
        values.fields.iter().map(of_member).collect()
    }

    fn refused_copy<'t>(&self, to: &Ty, right: &Node) -> Stop<'t> {
        let why = ownership::may_copy(to).err();
        let why = why.unwrap_or_else(|| format!("cannot assign to a `{}`", to.name()));
        wrong(why, &right.span)
    }
}

/// Returns whether a node gets its meaning from the type that it is assigned to.
fn has_form(to: &Ty, node: &Node, depth: u32) -> bool {
    let deeper = |of: &Ty| depth > 0 && has_form(of, node, depth - 1);
    match to.shape() {
        Shape::Pointer(of, PointerKind::Owned) => deeper(&of),
        Shape::Composite(class) => {
            variant_form(&class, node).is_some()
                || tuple_form(&class, node).is_some()
                || library::overwritable(to).is_some_and(|held| deeper(&held))
        }
        _ => false,
    }
}

/// The values of the fields of a tuple or variant, as they are written.
struct Values<'t> {
    /// Indexes of members, and their values.
    fields: Vec<(usize, &'t Node)>,
    /// Whether they are written with the names of the fields.
    are_named: bool,
}

impl<'t> Values<'t> {
    fn in_order(values: &'t [Node]) -> Values<'t> {
        Values {
            fields: values.iter().enumerate().collect(),
            are_named: false,
        }
    }

    /// Returns the values of fields by name; `None` if these are not the fields of that class.
    fn named(class: &DwarfTy, values: &'t [(String, Node)]) -> Option<Values<'t>> {
        let members = &class.composite()?.members;
        let mut is_given = vec![false; members.len()];
        let mut fields = Vec::new();
        for (name, value) in values {
            let is_it = |it: &dwarf::Member| members::shown_name(class, &it.name) == name;
            let index = members.iter().position(is_it)?;
            if std::mem::replace(&mut is_given[index], true) {
                return None;
            }
            fields.push((index, value));
        }
        let are_all = is_given.iter().all(|it| *it);
        are_all.then_some(Values {
            fields,
            are_named: true,
        })
    }
}

/// Returns the index of the variant that a node makes, and the values of its fields: `Some(3)`,
/// `Shape::Empty`, `Shape::Box { side: 1 }`.
fn variant_form<'t>(class: &Arc<DwarfTy>, node: &'t Node) -> Option<(usize, Values<'t>)> {
    let variants = &class.composite()?.variants.as_ref()?.variants;
    let position = |name: &str| {
        let name = members::last_component(name);
        let is_it = |it: &dwarf::Variant| it.members.first().is_some_and(|it| it.name == name);
        variants.iter().position(is_it)
    };
    match &inner(node).kind {
        tree::Kind::Name(name) => Some((position(name)?, Values::in_order(&[]))),
        tree::Kind::Call(function, arguments) => match &inner(function).kind {
            tree::Kind::Name(name) => Some((position(name)?, Values::in_order(arguments))),
            _ => None,
        },
        tree::Kind::Rust(form) => match &**form {
            Form::Struct(name, values, None) => {
                let index = position(name)?;
                let holder = variants.get(index)?.members.first()?;
                let Shape::Composite(fields) = class.related(holder.ty).shape() else {
                    return None;
                };
                Some((index, Values::named(&fields, values)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the values in a tuple, if the class is a tuple of Rust.
fn tuple_form<'t>(class: &Arc<DwarfTy>, node: &'t Node) -> Option<Values<'t>> {
    let composite = class.composite()?;
    if !class.ty.name.starts_with('(') || !members::is_tuple(composite) {
        return None;
    }
    let tree::Kind::Rust(form) = &inner(node).kind else {
        return None;
    };
    match &**form {
        Form::Tuple(parts) => Some(Values::in_order(parts)),
        _ => None,
    }
}

fn is_nullopt(node: &Node) -> bool {
    match &inner(node).kind {
        tree::Kind::Name(name) => matches!(&**name, "nullopt" | "std::nullopt"),
        _ => false,
    }
}

/// Returns whether two types are one class or array: by their names, if they are of two units.
fn is_same_object(a: &Ty, b: &Ty) -> bool {
    a.same_as(b) || a.size().is_some() && a.size() == b.size() && a.name() == b.name()
}

/// Returns the text of a string literal.
fn text_of(value: Expr<'_>) -> Expr<'_> {
    match value.kind {
        Kind::AddressOf(to) if matches!(to.kind, Kind::Text(_)) => Expr {
            ty: Ty::Text,
            ..*to
        },
        _ => value,
    }
}

/// Returns whether a value is a string literal: that of Rust is a reference.
fn is_literal(value: &Expr<'_>) -> bool {
    match &value.kind {
        Kind::AddressOf(to) => matches!(to.kind, Kind::Text(_)),
        _ => matches!(value.ty.shape(), Shape::Text),
    }
}

/// Returns whether a value is a function or its address.
fn is_function(value: &Expr<'_>) -> bool {
    match value.ty.shape() {
        Shape::Function => true,
        Shape::Pointer(of, _) => {
            matches!(of.shape(), Shape::Function) && matches!(value.kind, Kind::AddressOf(_))
        }
        _ => false,
    }
}
