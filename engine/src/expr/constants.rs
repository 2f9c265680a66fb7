//! Constants by name: enumerators, and those of Rust's numbers, which the debug info lacks: `f64::MAX`,
//! `u8::BITS`, `std::f64::consts::PI`.

use crate::inspect::language::rust;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{self, Float, Scalar, ScalarKind};
use crate::inspect::value::{Shape, Ty, Value, ValueLocation, members};

/// Returns a constant by its path; `None` if it is none of these.
pub(crate) fn named(path: &str) -> Option<Value> {
    let path = path
        .strip_prefix("std::")
        .or_else(|| path.strip_prefix("core::"))
        .unwrap_or(path);
    let (parent, name) = path.rsplit_once("::")?;
    match parent.strip_suffix("::consts") {
        Some(float) => of_mathematics(&rust::builtin(float)?, name),
        None => {
            let ty = rust::builtin(parent)?;
            of_type(&ty, name).or_else(|| extreme(&ty, name))
        }
    }
}

/// Returns an associated constant of a built-in type.
pub(crate) fn of_type(ty: &Ty, name: &str) -> Option<Value> {
    let Shape::Scalar(scalar) = ty.shape() else {
        return None;
    };
    let bits = u128::from(scalar.size) * 8;
    match (scalar.kind, name) {
        (ScalarKind::Signed | ScalarKind::Unsigned, "BITS") => Some(number("u32", bits)),
        (ScalarKind::Utf, "MAX") => Some(of_bits(ty, u128::from(u32::from(char::MAX)))),
        (ScalarKind::Utf, "MIN") => Some(of_bits(ty, 0)),
        (ScalarKind::Utf, "REPLACEMENT_CHARACTER") => Some(of_bits(
            ty,
            u128::from(u32::from(char::REPLACEMENT_CHARACTER)),
        )),
        (ScalarKind::Float(_), _) => of_float(ty, scalar, name),
        _ => None,
    }
}

fn number(name: &str, bits: u128) -> Value {
    of_bits(&rust::builtin(name).unwrap_or(Ty::Void), bits)
}

fn of_bits(ty: &Ty, bits: u128) -> Value {
    let size = ty.size().unwrap_or(0).min(16) as usize;
    Value::of_bytes(ty.clone(), &bits.to_le_bytes()[..size])
}

/// Returns a constant of an IEEE 754 format: computed from its bits, so that it is exact.
fn of_float(ty: &Ty, scalar: Scalar, name: &str) -> Option<Value> {
    let ScalarKind::Float(format) = scalar.kind else {
        return None;
    };
    // The bits of the mantissa that are stored, and the decimal digits that are exact.
    let (mantissa, digits): (u32, i128) = match format {
        Float::Half => (10, 3),
        Float::Single => (23, 6),
        Float::Double => (52, 15),
        Float::Quad => (112, 33),
        _ => return None,
    };
    let width = u32::from(scalar.size) * 8;
    let exponent_bits = width - 1 - mantissa;
    let bias = (1i128 << (exponent_bits - 1)) - 1;
    let sign = 1u128 << (width - 1);
    let infinity = ((1u128 << exponent_bits) - 1) << mantissa;
    let int = |value: i128| Some(number("i32", value as u128));
    let bits = match name {
        "MAX" => infinity - 1,
        "MIN" => (infinity - 1) | sign,
        "MIN_POSITIVE" => 1u128 << mantissa,
        "EPSILON" => ((bias - i128::from(mantissa)) as u128) << mantissa,
        "INFINITY" => infinity,
        "NEG_INFINITY" => infinity | sign,
        "NAN" => infinity | (1u128 << (mantissa - 1)),
        "RADIX" => return Some(number("u32", 2)),
        "MANTISSA_DIGITS" => return Some(number("u32", u128::from(mantissa + 1))),
        "DIGITS" => return Some(number("u32", digits as u128)),
        "MAX_EXP" => return int(bias + 1),
        "MIN_EXP" => return int(2 - bias),
        _ => return None,
    };
    Some(of_bits(ty, bits & scalar::mask(scalar.size)))
}

fn of_mathematics(ty: &Ty, name: &str) -> Option<Value> {
    use std::f32::consts as single;
    use std::f64::consts as double;
    macro_rules! known {
        ($($name:ident)*) => {
            match name {
                $(stringify!($name) => (single::$name, double::$name),)*
                _ => return None,
            }
        };
    }
    let (single, double) = known!(
        PI TAU E SQRT_2 FRAC_1_SQRT_2 FRAC_1_PI FRAC_2_PI FRAC_2_SQRT_PI FRAC_PI_2 FRAC_PI_3
        FRAC_PI_4 FRAC_PI_6 FRAC_PI_8 LN_2 LN_10 LOG2_E LOG2_10 LOG10_E LOG10_2
    );
    let bits = match ty.size() {
        Some(4) => u128::from(single.to_bits()),
        Some(8) => u128::from(double.to_bits()),
        _ => return None,
    };
    Some(of_bits(ty, bits))
}

/// Returns `i32::MAX` and similar constants.
pub(crate) fn extreme(ty: &Ty, name: &str) -> Option<Value> {
    let Shape::Scalar(scalar) = ty.shape() else {
        return None;
    };
    let integral = matches!(scalar.kind, ScalarKind::Signed | ScalarKind::Unsigned);
    let top = scalar::mask(scalar.size) ^ (scalar::mask(scalar.size) >> 1);
    let bits = match (name, scalar.is_signed()) {
        _ if !integral => return None,
        ("MIN", true) => top,
        ("MIN", false) => 0,
        ("MAX", true) => top.wrapping_sub(1),
        ("MAX", false) => scalar::mask(scalar.size),
        _ => return None,
    };
    let size = usize::from(scalar.size).min(16);
    let bytes = Bytes::new(&bits.to_le_bytes()[..size]);
    Some(Value::new(ty.clone(), ValueLocation::Bytes(bytes)))
}

/// Returns a value of an enumeration by its enumerator's name.
pub(crate) fn enumerator(ty: &Ty, name: &str) -> Option<Value> {
    let number = members::enumerator_named(ty, name)?;
    let size = ty.size()?.min(16) as usize;
    Some(Value::new(
        ty.clone(),
        ValueLocation::Bytes(Bytes::new(&number.to_le_bytes()[..size])),
    ))
}
