//! Numbers of values, and what a value is compared with.

use super::compare::{compare, is_text};
use super::text::Text;
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Int, Number, Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Target, Ty, Value};
use std::cmp::Ordering;

/// Maximum nesting of references.
const NESTING: usize = 16;

/// Returns an integer, through references.
pub(super) fn integer(target: &dyn Target, value: &Value) -> Result<Int, Error> {
    match number(target, value)? {
        Some(Number::Int(int)) => Ok(int),
        _ => Err(Error::eval(format!(
            "expected an integer, found `{}`",
            value.ty.name()
        ))),
    }
}

/// Returns a number, an enumerator or an address, through references; `None`: it is something else.
pub fn number(target: &dyn Target, value: &Value) -> Result<Option<Number>, Error> {
    let value = plain(target, value)?;
    match scalar_of(&value.ty) {
        Some(scalar) => Ok(Some(scalar.number(value.raw(target)?))),
        None => Ok(None),
    }
}

/// Returns what [`number`] reads of a type that is no reference; `None`: it is no number.
fn scalar_of(ty: &Ty) -> Option<Scalar> {
    match ty.shape() {
        Shape::Scalar(Scalar {
            kind: ScalarKind::Complex(_),
            ..
        }) => None,
        Shape::Scalar(scalar) => Some(scalar),
        Shape::Enumeration(of) => {
            let kind = match of.enumeration().is_some_and(|it| it.signed) {
                true => ScalarKind::Signed,
                false => ScalarKind::Unsigned,
            };
            Some(Scalar::new(kind, ty.size().unwrap_or(4).clamp(1, 16) as u8))
        }
        Shape::Pointer(_, PointerKind::Raw) => Some(Scalar::new(ScalarKind::Address, 8)),
        _ => None,
    }
}

/// Returns the kind of number that [`number`] reads of values of a type; `None`: it reads none.
pub fn number_kind(ty: &Ty) -> Option<ScalarKind> {
    let mut ty = ty.clone();
    for _ in 0..NESTING {
        match ty.shape() {
            Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => ty = of,
            _ => break,
        }
    }
    scalar_of(&ty).map(|scalar| scalar.kind)
}

/// Returns a value without references around it.
///
/// # Errors
/// A reference cannot be read.
pub fn plain(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    let mut value = value.clone();
    for _ in 0..NESTING {
        match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                value = value.pointee(target, of)?;
            }
            _ => break,
        }
    }
    Ok(value)
}

/// Compares two numbers by their values.
pub(super) fn compare_numbers(left: Number, right: Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Int(a), Number::Int(b)) => Some(match (a.is_negative(), b.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) => a.value().cmp(&b.value()),
            (false, false) => a.bits.cmp(&b.bits),
        }),
        (Number::Int(a), Number::Float(b)) => a.to_f64().partial_cmp(&b),
        (Number::Float(a), Number::Int(b)) => a.partial_cmp(&b.to_f64()),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
    }
}

/// The value to compare elements and keys with, read once.
pub struct Wanted<'a> {
    value: &'a Value,
    text: Option<Vec<u32>>,
    number: Option<Number>,
}

impl Wanted<'_> {
    /// Reads the value.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of<'a>(target: &dyn Target, value: &'a Value) -> Result<Wanted<'a>, Error> {
        let is_object = is_text(&value.ty);
        let text = match is_object {
            true => Text::of(target, value)?,
            false => None,
        };
        Ok(Wanted {
            value,
            number: match text {
                Some(_) => None,
                None => number(target, value)?,
            },
            text: text.map(|text| text.units(text.unit)),
        })
    }

    /// Returns whether a value equals it.
    pub fn is(&self, target: &dyn Target, have: &Value) -> bool {
        if let Some(wanted) = self.number
            && let Ok(Some(have)) = number(target, have)
        {
            return compare_numbers(have, wanted) == Some(Ordering::Equal);
        }
        if let Some(wanted) = &self.text
            && let Ok(Some(have)) = Text::of(target, have)
        {
            return have.units(have.unit) == *wanted;
        }
        compare(target, have, self.value).is_ok_and(|order| order == Some(Ordering::Equal))
    }
}
