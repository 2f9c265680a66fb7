//! Implicit conversions of arguments of Rust's functions.

use super::argument_rust::accepts_reference;
use super::conversion::{Fit, Passed, Rank, Refusal};
use super::exact::same;
use super::ownership;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::{Shape, Ty};

/// Maximum number of smart pointers and references that are followed.
const DEPTH: usize = 16;

/// Ranks an argument for a parameter of a function of Rust.
pub(super) fn accepts(to: &Ty, argument: &Passed) -> Result<Rank, Refusal> {
    let from = &argument.ty;
    if let Some(ranked) = accepts_reference(to, from) {
        return ranked;
    }
    let rank = match (to.shape(), from.shape()) {
        (Shape::Pointer(of, _), _) if is_borrowed(to) || is_raw(to) => {
            match from.shape() {
                // `x` for `&x`: a function of `x` itself is better.
                _ if is_borrowed(to) && same(&of, from) => {
                    return Ok(Rank::exact_behind(1));
                }
                Shape::Pointer(from, _) if same(&of, &from) => Fit::Exact,
                Shape::Function if matches!(of.shape(), Shape::Function) => Fit::Exact,
                // A number as an address.
                Shape::Scalar(_) if is_raw(to) => Fit::Lenient,
                _ => return Err(Refusal::Arguments),
            }
        }
        (Shape::Pointer(of, _), _)
            if matches!(of.shape(), Shape::Function) && is_function(from) =>
        {
            Fit::Exact
        }
        (Shape::Composite(_), Shape::Text) if matches!(&*to.name(), "&str" | "&[u8]") => Fit::Exact,
        (Shape::Composite(_), _) if !same(to, from) => match is_row(to, from) {
            true => Fit::Standard,
            false => return Err(Refusal::Arguments),
        },
        (Shape::Scalar(a), Shape::Scalar(b)) if argument.is_open => {
            let is_float = |it: Scalar| matches!(it.kind, ScalarKind::Float(_));
            return match is_float(a) == is_float(b) {
                true if same(to, from) => Ok(Fit::Exact.into()),
                true => Ok(Fit::Standard.into()),
                false => Err(mismatch(to, from)),
            };
        }
        (Shape::Scalar(_) | Shape::Enumeration(_), Shape::Scalar(_) | Shape::Enumeration(_)) => {
            return match same(to, from) {
                true => Ok(Fit::Exact.into()),
                false => Err(mismatch(to, from)),
            };
        }
        _ if same(to, from) => Fit::Exact,
        _ => return Err(Refusal::Arguments),
    };
    if !is_borrowed(to) && !is_raw(to) {
        ownership::may_move(from).map_err(Refusal::Argument)?;
    }
    Ok(rank.into())
}

fn mismatch(to: &Ty, from: &Ty) -> Refusal {
    let (to, from) = (to.name(), from.name());
    Refusal::Argument(format!(
        "expected `{to}`, found `{from}`; cast it with `as {to}`"
    ))
}

/// Returns whether a value has elements that a parameter of type `&str` or slice takes.
fn is_row(to: &Ty, from: &Ty) -> bool {
    let name = to.name();
    let Some(of) = name.strip_prefix('&') else {
        return false;
    };
    let of = of.strip_prefix("mut ").unwrap_or(of);
    let is_row_of = |element: &Ty| {
        let inner = of.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        inner == Some(&element.name())
    };
    let mut from = from.clone();
    for _ in 0..DEPTH {
        from = match (library::contents(&from), from.shape()) {
            (Some(Contents::Text(Unit::Byte, _)), _) if of == "str" => return true,
            (Some(Contents::Sequence(element)), _) => return is_row_of(&element),
            (Some(Contents::Pointee(next) | Contents::Wrapped(next)), _) => next,
            (_, Shape::Array(array)) => return is_row_of(&array.element),
            (_, Shape::Pointer(of, _)) => of,
            _ => return false,
        };
    }
    false
}

fn is_borrowed(ty: &Ty) -> bool {
    ty.name().starts_with('&')
}

fn is_raw(ty: &Ty) -> bool {
    ty.name().starts_with('*')
}

/// Returns whether values are functions, or pointers to functions.
fn is_function(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Function => true,
        Shape::Pointer(of, _) => matches!(of.shape(), Shape::Function),
        _ => false,
    }
}
