//! Numbers of values, and what a value is compared with.

use super::compare::{compare, is_text};
use super::text::Text;
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Int, Number, Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Target, Value};
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
    let scalar = match value.ty.shape() {
        Shape::Scalar(Scalar {
            kind: ScalarKind::Complex(_),
            ..
        }) => return Ok(None),
        Shape::Scalar(scalar) => scalar,
        Shape::Enumeration(ty) => {
            let kind = match ty.enumeration().is_some_and(|it| it.signed) {
                true => ScalarKind::Signed,
                false => ScalarKind::Unsigned,
            };
            Scalar::new(kind, value.ty.size().unwrap_or(4).clamp(1, 16) as u8)
        }
        Shape::Pointer(_, PointerKind::Raw) => Scalar::new(ScalarKind::Address, 8),
        _ => return Ok(None),
    };
    Ok(Some(scalar.number(value.raw(target)?)))
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
