//! Operators of SIMD vectors.

use super::super::ir::{Expr, Kind};
use super::super::tree::{Binary, Node, Unary};
use super::super::vectors::{Each, Elements, elements};
use super::operators::converted;
use super::{Checked, Checker, Stop, scalar, wrong};
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Int, Scalar, ScalarKind};
use dwarf::Language;

impl Checker<'_> {
    /// Checks a binary operator of C or C++; `None`: no operand is a vector.
    ///
    /// # Errors
    /// The operands do not fit.
    pub(super) fn vector_operation<'t>(
        &self,
        operator: Binary,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if !a.ty.is_vector() && !b.ty.is_vector() {
            return Ok(None);
        }
        let refused = |what: String| {
            let symbol = operator.symbol();
            wrong(format!("`{symbol}` is not defined for {what}"), &node.span)
        };
        let names = || format!("`{}` and `{}`", a.ty.name(), b.ty.name());
        let (of, vector) = match (elements(&a.ty), elements(&b.ty)) {
            (Some(x), Some(y)) if x.count == y.count && x.scalar == y.scalar => (x, a),
            (Some(x), None) if !b.ty.is_vector() => (x, a),
            (None, Some(y)) if !a.ty.is_vector() => (y, b),
            _ => return Err(refused(names())),
        };
        let is_bitwise = matches!(
            operator,
            Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Shl | Binary::Shr
        );
        if !of.scalar.is_integral() && (is_bitwise || operator == Binary::Rem) {
            return Err(refused(format!("`{}`", vector.ty.name())));
        }
        let operands = [a, b].into_iter().map(|it| match it.ty.is_vector() {
            true => Some(it.clone()),
            false => repeated(it, &of),
        });
        let operands: Option<Vec<Expr<'t>>> = operands.collect();
        let operands = operands.ok_or_else(|| refused(names()))?;
        let ty = match operator.is_comparison() {
            true => truths(&of).ok_or_else(|| refused(names()))?,
            false => vector.ty.clone(),
        };
        let kind = Kind::Elementwise(Each::Binary(operator), operands);
        Ok(Some(Expr::new(kind, ty, node)))
    }

    /// Checks a unary operator of C or C++; `None`: the operand is no vector.
    pub(super) fn vector_unary<'t>(
        &self,
        operator: Unary,
        of: &Expr<'t>,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        if !of.ty.is_vector() {
            return None;
        }
        let vector = elements(&of.ty).filter(|vector| match operator {
            Unary::Complement => vector.scalar.is_integral(),
            Unary::Not => self.language == Language::Cpp,
            Unary::Minus | Unary::Plus => true,
        });
        let ty = vector.and_then(|vector| match operator {
            Unary::Not => truths(&vector),
            _ => Some(of.ty.clone()),
        });
        Some(match ty {
            Some(ty) => {
                let kind = Kind::Elementwise(Each::Unary(operator), vec![of.clone()]);
                Ok(Expr::new(kind, ty, node))
            }
            None => Err(wrong(
                format!(
                    "`{}` is not defined for `{}`",
                    operator.symbol(),
                    of.ty.name()
                ),
                &node.span,
            )),
        })
    }
}

/// Returns a number as the elements of a vector; `None`: compilers refuse it, since that would change its value.
fn repeated<'t>(of: &Expr<'t>, vector: &Elements) -> Option<Expr<'t>> {
    let from = scalar(&of.ty)?;
    let to = vector.scalar;
    let keeps = match (from.is_integral(), to.is_integral()) {
        (false, false) => matches!(from.kind, ScalarKind::Float(_)),
        (false, true) => false,
        (true, false) => true,
        (true, true) => match of.kind {
            Kind::Constant(bits) => {
                let value = Int::new(bits, from.size, from.is_signed()).value();
                Int::new(value as u128, to.size, to.is_signed()).value() == value
            }
            _ => from.size <= to.size,
        },
    };
    keeps.then(|| converted(of.clone(), &vector.ty))
}

/// Returns the type of the results of comparisons: all bits of an element are set where it holds.
fn truths(of: &Elements) -> Option<Ty> {
    let name = match of.scalar.size {
        1 => "signed char",
        2 => "short",
        4 => "int",
        8 => "long",
        _ => return None,
    };
    let element = Ty::Builtin(Scalar::new(ScalarKind::Signed, of.scalar.size), name);
    Some(element.array(of.count))
}
