//! Rust's `From` between numbers and characters: `i64::from(x)`.

use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library::number::number;
use crate::inspect::value::scalar::{Float, Number, Scalar, ScalarKind};
use crate::inspect::value::{Shape, Target, Ty, Value};

/// Returns the type that `T::from` makes of a value, if the library has such a conversion.
pub fn from(name: &str, of: &Ty) -> Option<Ty> {
    let to = rust::builtin(name)?;
    let (Shape::Scalar(from), Shape::Scalar(into)) = (of.shape(), to.shape()) else {
        return None;
    };
    is_defined(from, into).then_some(to)
}

/// Returns whether each value of a type is one of another type, and the library says so.
fn is_defined(from: Scalar, to: Scalar) -> bool {
    use ScalarKind::{Bool, Signed, Unsigned, Utf};
    // The bits that a float has for integers.
    let exact = |kind: ScalarKind| match kind {
        ScalarKind::Float(Float::Single) => 24,
        ScalarKind::Float(Float::Double) => 53,
        _ => 0,
    };
    match (from.kind, to.kind) {
        (a, b) if a == b && from.size == to.size => true,
        (Bool, Signed | Unsigned) => true,
        (Unsigned, Utf) => from.size == 1,
        (Utf, Unsigned) => to.size >= 4,
        (Unsigned, Signed) | (Unsigned, Unsigned) | (Signed, Signed) => from.size < to.size,
        (Signed | Unsigned, kind @ ScalarKind::Float(_)) => u32::from(from.size) * 8 <= exact(kind),
        (ScalarKind::Float(Float::Single), ScalarKind::Float(Float::Double)) => true,
        _ => false,
    }
}

/// Returns a value as one of another type, which can hold it.
///
/// # Errors
/// The value cannot be read.
pub fn converted(target: &dyn Target, to: &Ty, value: &Value) -> Result<Value, Error> {
    let unreadable = || Error::eval(format!("cannot convert `{}`", value.ty.name()));
    let Shape::Scalar(scalar) = to.shape() else {
        return Err(unreadable());
    };
    let bits = match (number(target, value)?.ok_or_else(unreadable)?, scalar.kind) {
        (Number::Int(int), ScalarKind::Float(format)) => format.encode(int.to_f64()),
        (Number::Float(float), ScalarKind::Float(format)) => format.encode(float),
        (Number::Int(int), _) => Some(int.value() as u128),
        (Number::Float(_), _) => None,
    };
    let bytes = bits.ok_or_else(unreadable)?.to_le_bytes();
    let size = usize::from(scalar.size.min(16));
    Ok(Value::of_bytes(to.clone(), &bytes[..size]))
}
