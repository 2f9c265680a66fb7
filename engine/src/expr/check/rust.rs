//! Types of Rust's arithmetic: operands have one type, which literals without a suffix take from the
//! other one.

use super::super::ir::{Expr, Kind};
use super::super::tree::{self, Node};
use super::{Checker, Stop, rust_made, rust_types, scalar, wrong};
use crate::expr::InlinedFunction;
use crate::expr::evaluate::inner;
use crate::expr::soft;
use crate::inspect::language::rust;
use crate::inspect::library;
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Int, Scalar, ScalarKind};
use dwarf::Language;

/// Returns a primitive type by its name.
pub(super) fn named(name: &str) -> Ty {
    rust::builtin(name).unwrap_or(Ty::Void)
}

/// Returns the type of a literal that nothing else determines: `i32`, a larger one if it does not
/// fit.
pub(super) fn integer(value: u128) -> Ty {
    named(match value {
        _ if value <= i32::MAX as u128 => "i32",
        _ if value <= i64::MAX as u128 => "i64",
        _ if value <= i128::MAX as u128 => "i128",
        _ => "u128",
    })
}

/// Returns `f64`.
pub(super) fn float() -> Ty {
    named("f64")
}

/// Returns whether two scalar types are the same.
pub(super) fn is_same(a: &Ty, b: &Ty) -> bool {
    match (scalar(a), scalar(b)) {
        (Some(x), Some(y)) => {
            let is_number = |it: Scalar| {
                let kinds = [ScalarKind::Signed, ScalarKind::Unsigned];
                kinds.contains(&it.kind)
            };
            match is_number(x) && is_number(y) {
                // `u64` and `usize` differ.
                true => a.strip().name() == b.strip().name(),
                false => a.same_as(b) || x == y,
            }
        }
        _ => a.same_as(b),
    }
}

impl Checker<'_> {
    /// Gives two operands one type.
    pub(super) fn same_type<'t>(
        &self,
        a: Expr<'t>,
        b: Expr<'t>,
    ) -> Result<(Expr<'t>, Expr<'t>, Ty), Stop<'t>> {
        let (a, b) = match (a.open, b.open) {
            (true, false) => (self.typed(a, &b.ty)?, b),
            (false, true) => {
                let ty = a.ty.clone();
                (a, self.typed(b, &ty)?)
            }
            (true, true) if rust_made::is_made(&a) || rust_made::is_made(&b) => {
                let (first, second) = (
                    rust_types::merged(&a.ty, &b.ty),
                    rust_types::merged(&b.ty, &a.ty),
                );
                (self.typed(a, &second)?, self.typed(b, &first)?)
            }
            (true, true) => {
                // The larger default type holds both literals.
                let wider = match b.ty.size() > a.ty.size() {
                    true => b.ty.clone(),
                    false => a.ty.clone(),
                };
                let (a, b) = (self.typed(a, &wider)?, self.typed(b, &wider)?);
                (a.opened(true), b.opened(true))
            }
            (false, false) => (a, b),
        };
        if is_same(&a.ty, &b.ty) || rust_types::same(&a.ty, &b.ty) {
            let ty = a.ty.clone();
            return Ok((a, b, ty));
        }
        Err(self.mismatch(&a, &b))
    }

    /// Checks `std::cmp::max(a, b)` and `min` of integers, also where `use` gives them a shorter name, which
    /// then is that of no function of the program; `None`: it is another function.
    pub(super) fn larger_or_smaller<'t>(
        &self,
        path: &str,
        operands: &[Expr<'t>],
        arguments: &[Node],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let ([a, b], Language::Rust) = (operands, self.language) else {
            return Ok(None);
        };
        let name = ["std::", "core::"]
            .iter()
            .find_map(|it| path.strip_prefix(it));
        let name = name.unwrap_or(path);
        let name = name.strip_prefix("cmp::").unwrap_or(name);
        let is_borrowed = |it: &Node| matches!(inner(it).kind, tree::Kind::AddressOf(_));
        if !matches!(name, "max" | "min")
            || arguments.iter().any(is_borrowed)
            || self.scope.hides_functions(path)
            || ![a, b].iter().all(|it| may_become(&it.ty, &named("i32")))
        {
            return Ok(None);
        }
        let known = self.scope.functions(path).map_err(Stop::Wrong)?;
        let is_of_std = |name: &str| name.starts_with("core::cmp::");
        let is_inlined = |it: &InlinedFunction| is_of_std(&it.2.name);
        let is_it = match known.is_empty() {
            true => self.scope.inlined_functions(path).iter().all(is_inlined),
            false => known.iter().all(|it| is_of_std(&it.function.name)),
        };
        if !is_it {
            return Ok(None);
        }
        let (a, b, ty) = self.same_type(a.clone(), b.clone())?;
        let method = library::method(&ty, name, std::slice::from_ref(&ty));
        Ok(method.map(|method| Expr::answer(method, vec![a, b], node)))
    }

    /// Returns the error for operands of two types.
    pub(super) fn mismatch<'t>(&self, a: &Expr<'_>, b: &Expr<'_>) -> Stop<'t> {
        let span = a.span.start.min(b.span.start)..a.span.end.max(b.span.end);
        let message = format!("mismatched types `{}` and `{}`", a.ty.name(), b.ty.name());
        let numbers = [a, b].map(|it| {
            let scalar = scalar(&it.ty)?;
            let is_number = matches!(
                scalar.kind,
                ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Float(_)
            );
            is_number.then_some(scalar)
        });
        let [Some(x), Some(y)] = numbers else {
            return wrong(message, &span);
        };
        // Suggest to cast the smaller operand, which loses nothing.
        let (side, to) = match !x.is_integral() && y.is_integral() || x.size >= y.size {
            true => ("right", a),
            false => ("left", b),
        };
        let remedy = format!("cast the {side} operand with `as {}`", to.ty.name());
        wrong(format!("{message}; {remedy}"), &span)
    }

    /// Gives an operand whose type is open a type.
    ///
    /// # Errors
    /// A literal in it is out of range for the type, or of another kind.
    pub(crate) fn typed<'t>(&self, of: Expr<'t>, ty: &Ty) -> Result<Expr<'t>, Stop<'t>> {
        self.typed_within(of, ty, false)
    }

    /// Like [`Self::typed`]; `negative`: below a minus, where the smallest number has no positive
    /// counterpart.
    fn typed_within<'t>(
        &self,
        mut of: Expr<'t>,
        ty: &Ty,
        negative: bool,
    ) -> Result<Expr<'t>, Stop<'t>> {
        if rust_made::is_made(&of) {
            return self.typed_made(of, ty);
        }
        if !of.open {
            return Ok(of);
        }
        let (from, to) = (scalar(&of.ty), scalar(ty));
        let (Some(from), Some(to)) = (from, to) else {
            return Ok(of);
        };
        let is_float = |it: Scalar| matches!(it.kind, ScalarKind::Float(_));
        let is_number = |it: Scalar| {
            matches!(it.kind, ScalarKind::Signed | ScalarKind::Unsigned) || is_float(it)
        };
        if !is_number(to) || is_float(from) != is_float(to) {
            // No number of that kind: the caller sees two types.
            return Ok(of.opened(false));
        }
        let boxed = |checker: &Self, it: Box<Expr<'t>>, negative| {
            checker.typed_within(*it, ty, negative).map(Box::new)
        };
        of.kind = match of.kind {
            Kind::Constant(bits) => {
                let value = soft::int(from, bits);
                if !is_float(to) && !fits(value, to, negative) {
                    let shown = value.bits;
                    let message = format!("{shown} is out of range for `{}`", ty.name());
                    return Err(wrong(message, &of.span));
                }
                Kind::Constant(soft::converted(from, bits, to))
            }
            Kind::Negate(..) if !is_float(to) && !to.is_signed() => {
                let message = format!("cannot apply unary `-` to `{}`", ty.name());
                return Err(wrong(message, &of.span));
            }
            Kind::Negate(inner, overflow) => Kind::Negate(boxed(self, inner, !negative)?, overflow),
            Kind::Complement(inner) => Kind::Complement(boxed(self, inner, false)?),
            Kind::Arithmetic(operator, a, b, overflow) => {
                let (a, b) = (boxed(self, a, false)?, boxed(self, b, false)?);
                Kind::Arithmetic(operator, a, b, overflow)
            }
            Kind::Shift(operator, a, by, overflow) => {
                Kind::Shift(operator, boxed(self, a, false)?, by, overflow)
            }
            Kind::Choice(condition, yes, no) => {
                let (yes, no) = (boxed(self, yes, false)?, boxed(self, no, false)?);
                Kind::Choice(condition, yes, no)
            }
            other => other,
        };
        of.ty = ty.clone();
        Ok(of.opened(false))
    }
}

/// Returns whether a number whose type is open may get a type: an integer that of an integer, a
/// float that of a float.
pub(super) fn may_become(open: &Ty, ty: &Ty) -> bool {
    let is_float = |it: Scalar| match it.kind {
        ScalarKind::Float(_) => Some(true),
        ScalarKind::Signed | ScalarKind::Unsigned => Some(false),
        _ => None,
    };
    match (scalar(open), scalar(ty)) {
        (Some(open), Some(to)) => is_float(to).is_some() && is_float(open) == is_float(to),
        _ => false,
    }
}

/// Returns whether a literal is in the range of an integer type.
pub(super) fn fits(literal: Int, to: Scalar, negative: bool) -> bool {
    let width = u32::from(to.size) * 8;
    let top = match (to.is_signed(), negative) {
        (true, false) => (1u128 << (width - 1)) - 1,
        (true, true) => 1u128 << (width - 1),
        (false, _) if width >= 128 => u128::MAX,
        (false, _) => (1u128 << width) - 1,
    };
    literal.bits <= top
}
