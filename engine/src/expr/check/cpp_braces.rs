//! Objects made in expressions: `T{a, b}`, `T(x)`.

use super::super::ir::{Expr, Kind};
use super::super::ir_cpp::{Cpp, Init};
use super::super::parse_cpp::Form;
use super::super::tree::{self, Cast, Node};
use super::{Checked, Checker, Stop, c, cpp_objects, scalar, wrong};
use crate::expr::evaluate::inner;
use crate::expr::exact;
use crate::inspect::language::c as spelling;
use crate::inspect::value::scalar::Scalar;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::{Composite, CompositeKind, Language, MemberOffset, TypeId};

/// Maximum size of an object that an expression makes.
const LARGEST: u64 = 1 << 16;
/// Maximum nesting of objects.
const NESTING: usize = 24;

/// The values between braces, of which the members of an object take one after the other.
struct Values<'t> {
    values: &'t [Node],
    node: &'t Node,
}

/// A base or member of a class: name, type, place, bits.
type Declared<'a> = (String, TypeId, &'a MemberOffset, Option<dwarf::Bitfield>);

impl<'t> Values<'t> {
    fn next_is_designated(&self) -> bool {
        let first = self.values.first();
        first.is_some_and(|it| matches!(it.kind, tree::Kind::Cpp(Form::Designated(_), _)))
    }

    fn next(&mut self) -> Option<&'t Node> {
        let (first, rest) = self.values.split_first()?;
        self.values = rest;
        Some(first)
    }
}

impl Checker<'_> {
    /// Checks a functional cast to a built-in type: `int(x)`; `None`: it is another call.
    pub(super) fn functional_cast<'t>(
        &self,
        function: &'t Node,
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let tree::Kind::Name(name) = &inner(function).kind else {
            return None;
        };
        if self.language != Language::Cpp || !spelling::is_type_word(name) {
            return None;
        }
        let ty = spelling::builtin(name, self.scope.c_types())?;
        Some(match arguments {
            [] => self.object(ty, &[], node),
            [only] => match self.check(only) {
                Ok(of) => self.c_cast(Cast::Usual, of, ty, node),
                Err(stop) => Err(stop),
            },
            _ => {
                let message = format!("a `{name}` is made of one value");
                Err(wrong(message, &node.span))
            }
        })
    }

    /// Checks `T{a, b}`.
    pub(super) fn braces<'t>(&self, ty: Ty, values: &'t [Node], node: &'t Node) -> Checked<'t> {
        match ty.size() {
            Some(size) if size <= LARGEST => self.object(ty, values, node),
            Some(_) => Err(wrong("the object is too large", &node.span)),
            None => Err(wrong(crate::expr::messages::unknown_size(&ty), &node.span)),
        }
    }

    fn object<'t>(&self, ty: Ty, values: &'t [Node], node: &'t Node) -> Checked<'t> {
        if scalar(&ty).is_some() {
            return match values {
                [] => Ok(Expr::new(Kind::Constant(0), ty, node)),
                [only] => {
                    let value = self.initial(&ty, only)?;
                    Ok(Expr {
                        span: node.span.clone(),
                        ..value
                    })
                }
                _ => {
                    let message = format!("a `{}` is made of one value", ty.name());
                    Err(wrong(message, &node.span))
                }
            };
        }
        // A copy: `T{other}`.
        if let [only] = values
            && !is_list(only)
            && matches!(ty.shape(), Shape::Composite(_))
            && let Ok(of) = self.check(only)
        {
            let from = self.referent(of.clone()).ty;
            if from.same_as(&ty) {
                return Err(wrong("a copy of an object; use the object", &node.span));
            }
            if self.language == Language::Cpp && exact::derives(&from, &ty) {
                return self.c_cast(Cast::Usual, of, ty, node);
            }
        }
        if let Some(made) = self.object_by_constructor(&ty, values, node)? {
            return Ok(made);
        }
        let mut parts = Vec::new();
        let mut values = Values { values, node };
        self.fill(&ty, 0, &mut values, &mut parts, 0)?;
        if let Some(surplus) = values.next() {
            let message = format!("too many values for `{}`", ty.name());
            return Err(wrong(message, &surplus.span));
        }
        let kind = Kind::Cpp(Box::new(Cpp::Object(parts)));
        Ok(Expr::new(kind, ty, node))
    }

    // Separate from `object` to keep the recursive function's stack frame small.
    fn object_by_constructor<'t>(
        &self,
        ty: &Ty,
        values: &'t [Node],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if let Shape::Composite(class) = ty.shape()
            && let Some(composite) = class.composite()
            && self.is_no_aggregate(&class, composite).is_some()
            && !values.iter().any(is_list)
        {
            let arguments = self.arguments(values)?;
            if let Some(made) = self.string_of_text(ty, &arguments, node) {
                return Ok(Some(made));
            }
            return self.constructor_call(ty, arguments, 0, node);
        }
        Ok(None)
    }

    /// Gives the members of an object at an offset their values (ISO C++ [dcl.init.aggr]).
    fn fill<'t>(
        &self,
        ty: &Ty,
        offset: u64,
        values: &mut Values<'t>,
        parts: &mut Vec<Init<'t>>,
        depth: usize,
    ) -> Result<(), Stop<'t>> {
        let span = &values.node.span;
        if depth > NESTING {
            return Err(wrong("the object is nested too deeply", span));
        }
        match ty.shape() {
            Shape::Array(array) => {
                let count = array.count.unwrap_or(0);
                for index in 0..count {
                    if values.values.is_empty() {
                        // The rest is zero, which is what a class's members need not be.
                        return match array.element.shape() {
                            Shape::Composite(class) if self.language == Language::Cpp => {
                                Err(wrong(no_default(&class.ty.name), span))
                            }
                            _ => Ok(()),
                        };
                    }
                    let at = offset.wrapping_add(index.wrapping_mul(array.stride));
                    self.fill_one(&array.element, at, None, values, parts, depth)?;
                }
                Ok(())
            }
            Shape::Composite(class) => {
                let Some(composite) = class.composite() else {
                    return Err(wrong(not_made(&class, "its members are unknown"), span));
                };
                if let Some(why) = self.is_no_aggregate(&class, composite) {
                    return Err(wrong(not_made(&class, why), span));
                }
                self.fill_class(&class, composite, offset, values, parts, depth)
            }
            _ => Err(wrong(format!("cannot make a `{}`", ty.name()), span)),
        }
    }

    fn fill_class<'t>(
        &self,
        class: &DwarfTy,
        composite: &Composite,
        offset: u64,
        values: &mut Values<'t>,
        parts: &mut Vec<Init<'t>>,
        depth: usize,
    ) -> Result<(), Stop<'t>> {
        let mut all: Vec<Declared<'_>> = Vec::new();
        for base in &composite.bases {
            all.push((String::new(), base.ty, &base.offset, None));
        }
        for member in &composite.members {
            // An unnamed bit-field is no member.
            if member.name.is_empty() && member.bits.is_some() {
                continue;
            }
            all.push((member.name.clone(), member.ty, &member.offset, member.bits));
        }
        if composite.kind == CompositeKind::Union && !values.next_is_designated() {
            all.truncate(1);
        }
        if values.next_is_designated() {
            return self.fill_designated(class, &all, offset, values, parts, depth);
        }
        for (name, ty, at, bits) in all {
            if values.values.is_empty() {
                return match self.language {
                    // A member may have an initializer of its own.
                    Language::Cpp => Err(wrong(no_default(&name), &values.node.span)),
                    _ => Ok(()),
                };
            }
            let at = match (at, bits) {
                (_, Some(_)) => offset,
                (MemberOffset::Bytes(bytes), None) => offset.wrapping_add(*bytes),
                (MemberOffset::Expression(_) | MemberOffset::AtRuntime, None) => {
                    let why = "a part of it has no fixed place";
                    return Err(wrong(not_made(class, why), &values.node.span));
                }
            };
            self.fill_one(&class.related(ty), at, bits, values, parts, depth)?;
        }
        Ok(())
    }

    /// Gives the members that the source names their values (ISO C §6.7.11, ISO C++ [dcl.init.aggr]).
    fn fill_designated<'t>(
        &self,
        class: &DwarfTy,
        all: &[Declared<'_>],
        offset: u64,
        values: &mut Values<'t>,
        parts: &mut Vec<Init<'t>>,
        depth: usize,
    ) -> Result<(), Stop<'t>> {
        let is_cpp = self.language == Language::Cpp;
        let is_union = class
            .composite()
            .is_some_and(|it| it.kind == CompositeKind::Union);
        let mut following = 0;
        while let Some(node) = values.next() {
            let tree::Kind::Cpp(Form::Designated(name), value) = &node.kind else {
                let message = "values with and without designators cannot be mixed";
                return Err(wrong(message, &node.span));
            };
            let Some(at) = all.iter().position(|it| it.0 == *name) else {
                let message = format!("`{}` has no member `{name}`", class.ty.name);
                return Err(wrong(message, &node.span));
            };
            if is_cpp && at < following {
                let message = format!("`{name}` is not in the order of declaration");
                return Err(wrong(message, &node.span));
            }
            if let Some(skipped) = all.get(following..at).and_then(<[Declared<'_>]>::first)
                && is_cpp
                && !is_union
            {
                return Err(wrong(no_default(&skipped.0), &node.span));
            }
            following = at + 1;
            let Some((_, ty, place, bits)) = all.get(at) else {
                continue;
            };
            let place = match (place, bits) {
                (_, Some(_)) => offset,
                (MemberOffset::Bytes(bytes), None) => offset.wrapping_add(*bytes),
                (MemberOffset::Expression(_) | MemberOffset::AtRuntime, None) => {
                    let why = "a part of it has no fixed place";
                    return Err(wrong(not_made(class, why), &node.span));
                }
            };
            let mut inside = Values {
                values: value,
                node,
            };
            self.fill_one(&class.related(*ty), place, *bits, &mut inside, parts, depth)?;
        }
        match all.get(following) {
            Some(missing) if is_cpp && !is_union => {
                Err(wrong(no_default(&missing.0), &values.node.span))
            }
            _ => Ok(()),
        }
    }

    fn fill_one<'t>(
        &self,
        ty: &Ty,
        offset: u64,
        bits: Option<dwarf::Bitfield>,
        values: &mut Values<'t>,
        parts: &mut Vec<Init<'t>>,
        depth: usize,
    ) -> Result<(), Stop<'t>> {
        let is_composed = matches!(ty.shape(), Shape::Composite(_) | Shape::Array(_));
        let Some(first) = values.values.first() else {
            return Ok(());
        };
        if let (true, tree::Kind::Cpp(Form::InnerBraces, list)) = (is_composed, &first.kind) {
            values.next();
            let mut inside = Values {
                values: list,
                node: first,
            };
            self.fill(ty, offset, &mut inside, parts, depth + 1)?;
            return match inside.next() {
                Some(surplus) => {
                    let message = format!("too many values for `{}`", ty.name());
                    Err(wrong(message, &surplus.span))
                }
                None => Ok(()),
            };
        }
        if is_composed {
            let value = self.referent(self.check(first)?);
            // Without braces its members take the values one by one.
            if !value.ty.same_as(ty) {
                return self.fill(ty, offset, values, parts, depth + 1);
            }
            if let Shape::Composite(class) = ty.shape()
                && class
                    .composite()
                    .is_some_and(|it| it.by_address == Some(true))
            {
                let why = "it has a copy constructor or destructor of its own";
                return Err(wrong(not_made(&class, why), &first.span));
            }
            values.next();
            parts.push(Init {
                offset,
                bits: None,
                value,
            });
            return Ok(());
        }
        values.next();
        let value = self.initial(ty, first)?;
        parts.push(Init {
            offset,
            bits,
            value,
        });
        Ok(())
    }

    /// Checks a value of a scalar in braces, which must not lose any of it.
    fn initial<'t>(&self, ty: &Ty, value: &'t Node) -> Checked<'t> {
        let value = match &value.kind {
            tree::Kind::Cpp(Form::InnerBraces, list) => match &list[..] {
                [] => return Ok(Expr::new(Kind::Constant(0), ty.clone(), value)),
                [only] => only,
                _ => {
                    let message = format!("a `{}` is made of one value", ty.name());
                    return Err(wrong(message, &value.span));
                }
            },
            _ => value,
        };
        let of = self.check(value)?;
        self.initial_of(ty, of, value)
    }

    // Separate from `initial` to keep the recursive function's stack frame small.
    fn initial_of<'t>(&self, ty: &Ty, of: Expr<'t>, value: &'t Node) -> Checked<'t> {
        let of = self.converted_argument(of, ty, 0, value)?;
        let of = self.decayed(self.operand(of));
        if let Shape::Pointer(_, PointerKind::Reference) = ty.shape() {
            return Err(wrong("a reference cannot be made here", &value.span));
        }
        let (Some(from), Some(to)) = (scalar(&of.ty), scalar(ty)) else {
            let (found, wanted) = (of.ty.name(), ty.name());
            let message = format!("expected a `{wanted}`, found `{found}`");
            return Err(wrong(message, &value.span));
        };
        let is_pointer = |ty: &Ty| matches!(ty.shape(), Shape::Pointer(..));
        // Only an enumeration with an underlying type takes numbers.
        let is_enumeration = matches!(ty.shape(), Shape::Enumeration(_)) && !c::is_scoped(ty);
        if self.language == Language::Cpp && is_enumeration && !of.ty.same_as(ty) {
            let message = format!("expected a `{}`, found `{}`", ty.name(), of.ty.name());
            return Err(wrong(message, &value.span));
        }
        if let Some(base) = self.base_pointer(&of, ty) {
            return base;
        }
        let fits = of.is_zero() || is_pointer(&of.ty) && c::is_same(&of.ty, ty);
        if is_pointer(ty) && !fits && self.language == Language::Cpp {
            let message = format!("expected a `{}`, found `{}`", ty.name(), of.ty.name());
            return Err(wrong(message, &value.span));
        }
        if self.language == Language::Cpp && is_narrowing(&of, from, to, ty) {
            let (found, wanted) = (of.ty.name(), ty.name());
            let message = format!("`{wanted}` cannot hold every `{found}`; cast it");
            return Err(wrong(message, &value.span));
        }
        self.c_cast(Cast::Usual, of, ty.clone(), value)
    }

    /// Checks `T(a, b)` of an aggregate (ISO C++ [dcl.init]); `None`: it is another cast.
    pub(super) fn aggregate_of<'t>(
        &self,
        ty: &Ty,
        values: &[Expr<'t>],
        operands: &'t [Node],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let Shape::Composite(class) = ty.shape() else {
            return None;
        };
        let composite = class.composite()?;
        let is_value = match values {
            [only] => {
                let of = self.referent(only.clone()).ty;
                let first = composite.members.first().map(|it| class.related(it.ty));
                // The class of the value converts it to the first member's type.
                let for_first = first.is_some_and(|first| cpp_objects::may_convert(&of, &first));
                // A copy, or one of the base that the type is.
                let is_object = exact::same(&of, ty) || exact::derives(&of, ty);
                let is_made = for_first && !is_object && !cpp_objects::may_convert(&of, ty);
                scalar(&of).is_some() || is_made
            }
            _ => true,
        };
        let is_aggregate = self.is_no_aggregate(&class, composite).is_none();
        (self.language == Language::Cpp && is_value && is_aggregate)
            .then(|| self.braces(ty.clone(), operands, node))
    }

    /// Returns why a class is no aggregate; `None` if it is one.
    fn is_no_aggregate(&self, class: &DwarfTy, composite: &Composite) -> Option<&'static str> {
        if self.language != Language::Cpp {
            return None;
        }
        let name = crate::inspect::value::members::last_component(&class.ty.name);
        let methods = class.module().methods(class.ty.id);
        let has_constructor = methods.iter().any(|it| it.name == name && it.written);
        match () {
            () if composite.polymorphic => Some("it has virtual functions"),
            () if composite.bases.iter().any(|it| it.is_virtual) => Some("it has virtual bases"),
            () if has_constructor => Some("it has constructors of its own"),
            () => None,
        }
    }
}

fn is_list(node: &Node) -> bool {
    matches!(node.kind, tree::Kind::Cpp(Form::InnerBraces, _))
}

fn not_made(class: &DwarfTy, why: &str) -> String {
    format!("cannot make a `{}`: {why}", class.ty.name)
}

fn no_default(name: &str) -> String {
    let what = match name {
        "" => "a part of the object".to_owned(),
        name => format!("`{name}`"),
    };
    format!("no value for {what}, and the debug info does not record default ones; write it")
}

/// Returns whether a conversion may lose a part of the value (ISO C++ [dcl.init.list]).
fn is_narrowing(of: &Expr<'_>, from: Scalar, to: Scalar, ty: &Ty) -> bool {
    let is_float = c::is_float;
    match (is_float(&of.ty), is_float(ty)) {
        (true, true) => to.size < from.size && constant(of).is_none(),
        (true, false) => true,
        (false, true) => constant(of).is_none() && !matches!(ty.shape(), Shape::Enumeration(_)),
        (false, false) => {
            if let Some(bits) = constant(of) {
                let value = crate::expr::soft::int(from, bits).value();
                let converted = crate::expr::soft::converted(from, bits, to);
                return crate::expr::soft::int(to, converted).value() != value;
            }
            let is_wider = to.size > from.size && (to.is_signed() || !from.is_signed());
            let is_same = to.size == from.size && to.is_signed() == from.is_signed();
            !(is_wider || is_same)
        }
    }
}

/// Returns the bits of a constant.
fn constant(of: &Expr<'_>) -> Option<u128> {
    match &of.kind {
        Kind::Constant(bits) => Some(*bits),
        Kind::Negate(inner, _) => {
            let bits = constant(inner)?;
            Some(crate::expr::soft::negated(scalar(&of.ty)?, bits).0)
        }
        _ => None,
    }
}
