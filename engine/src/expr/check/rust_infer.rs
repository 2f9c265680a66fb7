//! Types that objects made by an expression of Rust take from elsewhere: from the other side of a
//! comparison, from a parameter, from a place.

use super::super::ir::{Expr, Kind};
use super::super::made::Made;
use super::super::tree::{self, Binary, Node};
use super::rust_made::is_made;
use super::{Checked, Checker, Stop, rust_types, scalar, wrong};
use crate::expr::evaluate::inner;
use crate::expr::overload::Candidate;
use crate::inspect::value::members::last_component;
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;

impl Checker<'_> {
    /// Gives an object that an expression makes the type that is expected, if it can have that.
    pub(super) fn typed_made<'t>(&self, mut of: Expr<'t>, ty: &Ty) -> Checked<'t> {
        let fit = |checker: &Self, it: Expr<'t>, ty: &Ty| checker.typed(it, ty);
        match &mut of.kind {
            Kind::AddressOf(target) => {
                let to = match rust_types::referent(ty) {
                    Some(to) => to,
                    // `&[1, 2]` for `&[T]`.
                    None if rust_types::is_reference(ty) => {
                        let Some(element) = rust_types::element(ty) else {
                            if of.ty.name() == ty.name() {
                                of.ty = ty.clone();
                            }
                            return Ok(of);
                        };
                        match target.ty.shape() {
                            Shape::Array(array) => element.rust_array(array.count.unwrap_or(0)),
                            _ => return Ok(of),
                        }
                    }
                    None => return Ok(of),
                };
                let was = take(target);
                **target = fit(self, was, &to)?;
                let is_mutable = of.ty.name().starts_with("&mut ");
                if rust_types::same(&target.ty, &to) && rust_types::referent(ty).is_some() {
                    let may = is_mutable || !ty.name().starts_with("&mut ");
                    if may {
                        of.ty = match is_mutable == ty.name().starts_with("&mut ") {
                            true => ty.clone(),
                            false => to.reference(),
                        };
                    }
                } else {
                    of.ty = match is_mutable {
                        true => target.ty.clone().mutable_reference(),
                        false => target.ty.clone().reference(),
                    };
                }
                of.open = target.open;
                Ok(of)
            }
            Kind::Made(made) => match &mut **made {
                Made::Row(elements) => {
                    let Some(element) = rust_types::element(ty) else {
                        return Ok(of);
                    };
                    for it in elements.iter_mut() {
                        let was = std::mem::replace(it, nothing());
                        *it = fit(self, was, &element)?;
                    }
                    if elements.iter().all(|it| rust_types::same(&it.ty, &element)) {
                        of.ty = element.rust_array(elements.len() as u64);
                        of.open = false;
                    }
                    Ok(of)
                }
                Made::Filled(value, count) => {
                    let Some(element) = rust_types::element(ty) else {
                        return Ok(of);
                    };
                    let was = std::mem::replace(value, nothing());
                    *value = fit(self, was, &element)?;
                    if rust_types::same(&value.ty, &element) {
                        of.ty = element.rust_array(*count);
                        of.open = false;
                    }
                    Ok(of)
                }
                Made::Fields(made) => {
                    let name = rust_types::generic_name(ty);
                    let open = rust_types::open_name(&of.ty);
                    if open.is_some_and(|open| *open == *last_component(&name)) {
                        made.variant = None;
                    }
                    let known = match &made.variant {
                        Some(name) => rust_types::variant(ty, name),
                        None => rust_types::fields(ty),
                    };
                    let is_same_kind = match rust_types::open_name(&of.ty) {
                        Some(open) => made.variant.is_some() || *open == *last_component(&name),
                        None => rust_types::generic_name(&of.ty) == name,
                    };
                    let known = known.filter(|_| is_same_kind);
                    let Some(known) = known.filter(|it| it.len() >= made.fields.len()) else {
                        return Ok(of);
                    };
                    let mut all_same = made.base.is_none() || rust_types::same(&of.ty, ty);
                    for (name, value) in &mut made.fields {
                        let Some((_, ty)) = known.iter().find(|it| it.0 == *name) else {
                            return Ok(of);
                        };
                        let was = std::mem::replace(value, nothing());
                        *value = fit(self, was, ty)?;
                        all_same &= rust_types::same(&value.ty, ty);
                    }
                    if all_same {
                        of.ty = ty.clone();
                        of.open = rust_types::is_open(ty);
                    }
                    Ok(of)
                }
            },
            _ => Ok(of),
        }
    }

    /// Checks a comparison of which an operand makes an object, whose type the other one decides.
    pub(super) fn compared<'t>(
        &self,
        operator: Binary,
        (a, left): (Expr<'t>, &'t Node),
        (b, right): (Expr<'t>, &'t Node),
        node: &'t Node,
    ) -> Checked<'t> {
        // `opt == None` and `e == E::A` test the variant alone.
        for (value, name, made) in [(&a, right, &b), (&b, left, &a)] {
            if is_named_variant(made, name)
                && let Some(test) = self.variant_test(operator, value.clone(), name, node)
            {
                return Ok(test);
            }
        }
        let (a, b) = match (is_made(&a), is_made(&b)) {
            (true, true) => {
                let a = self.typed(a, &b.ty)?;
                let ty = a.ty.clone();
                (a, self.typed(b, &ty)?)
            }
            (true, false) => (self.typed(a, &b.ty)?, b),
            (false, true) => {
                let ty = a.ty.clone();
                (a, self.typed(b, &ty)?)
            }
            (false, false) => (a, b),
        };
        if rust_types::is_reference(&a.ty) != rust_types::is_reference(&b.ty)
            && !rust_types::are_rows(&a.ty, &b.ty)
            && a.ty.strip().name() != b.ty.strip().name()
        {
            let message = format!(
                "cannot compare `{}` with `{}`; borrow or dereference one of them",
                a.ty.name(),
                b.ty.name()
            );
            return Err(wrong(message, &node.span));
        }
        let (a, b) = (self.operand(a), self.operand(b));
        if scalar(&a.ty).is_some() && scalar(&b.ty).is_some() {
            return self.operation(operator, a, b, node);
        }
        let rows = (rust_types::element(&a.ty), rust_types::element(&b.ty));
        let is_one = match rows {
            (Some(x), Some(y)) => rust_types::same(&x, &y),
            _ => rust_types::same(&a.ty, &b.ty),
        };
        match is_one || self.texts(operator, &a, &b, node).is_some() {
            true => self.operation(operator, a, b, node),
            false => Err(self.mismatch(&a, &b)),
        }
    }

    /// Gives the objects that arguments make the types of a function's parameters. A function of Rust
    /// has no others of its name.
    pub(super) fn made_for<'t>(
        &self,
        arguments: Vec<Expr<'t>>,
        known: &[Candidate],
    ) -> Result<Vec<Expr<'t>>, Stop<'t>> {
        let types = match known.first() {
            Some(first) if self.language == Language::Rust => &first.types[..],
            _ => return Ok(arguments),
        };
        let typed = |(nth, argument): (usize, Expr<'t>)| match types.get(nth) {
            Some(ty) if is_made(&argument) => self.typed(argument, ty),
            _ => Ok(argument),
        };
        arguments.into_iter().enumerate().map(typed).collect()
    }
}

/// Returns whether a name is that of the variant which it makes: a `use` may give it another.
fn is_named_variant(made: &Expr<'_>, name: &Node) -> bool {
    let (tree::Kind::Name(name), Kind::Made(made)) = (&inner(name).kind, &made.kind) else {
        return false;
    };
    let Made::Fields(made) = &**made else {
        return false;
    };
    made.variant.as_deref() == Some(last_component(name))
}

fn nothing<'t>() -> Expr<'t> {
    Expr {
        kind: Kind::Constant(0),
        ty: Ty::Void,
        span: 0..0,
        open: false,
    }
}

fn take<'t>(of: &mut Expr<'t>) -> Expr<'t> {
    std::mem::replace(of, nothing())
}
