//! Arithmetic on the bits of typed scalars: integers of 1 to 16 bytes, and each format of floats,
//! rounded as the processor does.

use super::tree::{Binary, Order};
use crate::inspect::value::scalar::{Float, Int, Scalar, ScalarKind};
use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single, X87DoubleExtended};
use rustc_apfloat::{Float as _, FloatConvert, Round};
use std::cmp::Ordering;

/// Why an operation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undefined {
    /// The divisor is zero.
    DivisionByZero,
    /// The operation does not exist for floats.
    Float,
}

/// Applies `$body` with `$t` as the library's type of a format.
macro_rules! with_format {
    ($format:expr, $t:ident => $body:expr) => {
        match $format {
            Float::Half => {
                type $t = Half;
                $body
            }
            Float::Brain => {
                type $t = BFloat;
                $body
            }
            Float::Single => {
                type $t = Single;
                $body
            }
            Float::Double => {
                type $t = Double;
                $body
            }
            Float::Extended => {
                type $t = X87DoubleExtended;
                $body
            }
            Float::Quad => {
                type $t = Quad;
                $body
            }
        }
    };
}

/// Returns the integer that the bits of a scalar are.
pub fn int(scalar: Scalar, bits: u128) -> Int {
    Int::new(bits, scalar.size, scalar.is_signed())
}

/// Returns whether the bits count as true.
pub fn is_true(scalar: Scalar, bits: u128) -> bool {
    match scalar.kind {
        ScalarKind::Float(format) => with_format!(format, T => !T::from_bits(bits).is_zero()),
        _ => int(scalar, bits).bits != 0,
    }
}

/// Evaluates `a operator b` of two operands of one type. The result wraps around, and `exact` is
/// false, if it is out of range for an integer.
///
/// # Errors
/// Division by zero; the operation does not exist for floats.
pub fn arithmetic(
    operator: Binary,
    scalar: Scalar,
    a: u128,
    b: u128,
) -> Result<(u128, bool), Undefined> {
    match scalar.kind {
        ScalarKind::Float(format) => {
            with_format!(format, T => {
                let (a, b) = (T::from_bits(a), T::from_bits(b));
                let value = match operator {
                    Binary::Add => a + b,
                    Binary::Sub => a - b,
                    Binary::Mul => a * b,
                    Binary::Div => a / b,
                    Binary::Rem => a.c_fmod(b),
                    _ => return Err(Undefined::Float),
                };
                Ok((value.value.to_bits(), true))
            })
        }
        _ => integers(operator, int(scalar, a), int(scalar, b)),
    }
}

fn integers(operator: Binary, a: Int, b: Int) -> Result<(u128, bool), Undefined> {
    let (x, y) = (a.value(), b.value());
    let bits = match operator {
        Binary::Add => a.bits.wrapping_add(b.bits),
        Binary::Sub => a.bits.wrapping_sub(b.bits),
        Binary::Mul => a.bits.wrapping_mul(b.bits),
        Binary::BitAnd => a.bits & b.bits,
        Binary::BitOr => a.bits | b.bits,
        Binary::BitXor => a.bits ^ b.bits,
        Binary::Div | Binary::Rem if b.bits == 0 => return Err(Undefined::DivisionByZero),
        Binary::Div if a.signed => x.wrapping_div(y) as u128,
        Binary::Div => a.bits / b.bits,
        Binary::Rem if a.signed => x.wrapping_rem(y) as u128,
        _ => a.bits % b.bits,
    };
    let bits = Int::new(bits, a.size, a.signed);
    Ok((bits.bits, is_exact(operator, a, b, bits)))
}

/// Returns whether a result that wraps around is the mathematical one.
fn is_exact(operator: Binary, a: Int, b: Int, result: Int) -> bool {
    let exact = match (operator, a.signed) {
        (Binary::Add, true) => a.value().checked_add(b.value()),
        (Binary::Sub, true) => a.value().checked_sub(b.value()),
        (Binary::Mul, true) => a.value().checked_mul(b.value()),
        (Binary::Div, true) => a.value().checked_div(b.value()),
        // The processor divides, too.
        (Binary::Rem, true) => return is_exact(Binary::Div, a, b, quotient(a, b)),
        (Binary::Add, false) => return a.bits.checked_add(b.bits) == Some(result.bits),
        (Binary::Sub, false) => return a.bits.checked_sub(b.bits) == Some(result.bits),
        (Binary::Mul, false) => return a.bits.checked_mul(b.bits) == Some(result.bits),
        _ => return true,
    };
    exact == Some(result.value())
}

fn quotient(a: Int, b: Int) -> Int {
    let quotient = match b.value() {
        0 => 0,
        by => a.value().wrapping_div(by),
    };
    Int::new(quotient as u128, a.size, a.signed)
}

/// Shifts an integer. All bits are shifted out by a count of the width or more.
pub fn shifted(operator: Binary, scalar: Scalar, bits: u128, by: u128) -> u128 {
    let value = int(scalar, bits);
    let by = by.min(u128::from(scalar.size) * 8) as u32;
    let bits = match operator {
        Binary::Shl => value.bits.checked_shl(by).unwrap_or(0),
        _ if value.signed => (value.value() >> by.min(127)) as u128,
        _ => value.bits.checked_shr(by).unwrap_or(0),
    };
    Int::new(bits, scalar.size, value.signed).bits
}

/// Returns `-x`, and whether it is the mathematical result.
pub fn negated(scalar: Scalar, bits: u128) -> (u128, bool) {
    match scalar.kind {
        ScalarKind::Float(format) => {
            with_format!(format, T => ((-T::from_bits(bits)).to_bits(), true))
        }
        _ => {
            let value = int(scalar, bits);
            let result = Int::new(value.bits.wrapping_neg(), value.size, value.signed);
            let exact = match value.signed {
                true => value.value().checked_neg() == Some(result.value()),
                false => value.bits == 0,
            };
            (result.bits, exact)
        }
    }
}

/// Returns `~x`.
pub fn complement(scalar: Scalar, bits: u128) -> u128 {
    Int::new(!bits, scalar.size, scalar.is_signed()).bits
}

/// Compares two operands of one type; `None`: one is NaN.
pub fn compare(scalar: Scalar, a: u128, b: u128) -> Option<Ordering> {
    match scalar.kind {
        ScalarKind::Float(format) => {
            with_format!(format, T => T::from_bits(a).partial_cmp(&T::from_bits(b)))
        }
        _ => {
            let (a, b) = (int(scalar, a), int(scalar, b));
            Some(match a.signed {
                true => a.value().cmp(&b.value()),
                false => a.bits.cmp(&b.bits),
            })
        }
    }
}

/// Returns whether a comparison holds; for NaN only `!=` does.
pub fn holds(order: Order, ordering: Option<Ordering>) -> bool {
    match ordering {
        Some(ordering) => order.of(ordering),
        None => order == Order::Ne,
    }
}

/// Converts between scalars: integers wrap around, floats are rounded, or truncated to an integer that
/// wraps around.
pub fn converted(from: Scalar, bits: u128, to: Scalar) -> u128 {
    match (from.kind, to.kind) {
        (_, ScalarKind::Bool) => u128::from(is_true(from, bits)),
        (ScalarKind::Float(a), ScalarKind::Float(b)) if a == b => bits,
        (ScalarKind::Float(a), ScalarKind::Float(b)) => {
            with_format!(a, A => with_format!(b, B => between::<A, B>(bits)))
        }
        (ScalarKind::Float(format), _) => {
            let wide = Scalar::new(ScalarKind::Signed, 16);
            let bits = with_format!(format, T => truncated(T::from_bits(bits), wide));
            Int::new(bits, to.size, to.is_signed()).bits
        }
        (_, ScalarKind::Float(format)) => {
            let value = int(from, bits);
            with_format!(format, T => match value.signed {
                true => T::from_i128(value.value()).value.to_bits(),
                false => T::from_u128(value.bits).value.to_bits(),
            })
        }
        _ => Int::new(int(from, bits).value() as u128, to.size, to.is_signed()).bits,
    }
}

/// Converts a float to an integer type: to the nearest integer that the type has.
pub fn saturated(from: Scalar, bits: u128, to: Scalar) -> u128 {
    match from.kind {
        ScalarKind::Float(format) => {
            with_format!(format, T => truncated(T::from_bits(bits), to))
        }
        _ => converted(from, bits, to),
    }
}

fn between<A: rustc_apfloat::Float + FloatConvert<B>, B: rustc_apfloat::Float>(bits: u128) -> u128 {
    let mut inexact = false;
    A::from_bits(bits).convert(&mut inexact).value.to_bits()
}

fn truncated<T: rustc_apfloat::Float>(value: T, to: Scalar) -> u128 {
    if value.is_nan() {
        return 0;
    }
    let (width, mut exact) = (usize::from(to.size) * 8, false);
    let bits = match to.is_signed() {
        true => {
            let number = value.to_i128_r(width, Round::TowardZero, &mut exact);
            number.value as u128
        }
        false => {
            let number = value.to_u128_r(width, Round::TowardZero, &mut exact);
            number.value
        }
    };
    Int::new(bits, to.size, to.is_signed()).bits
}

/// Returns the bits of the number that a literal denotes; `None` if it is none.
pub fn parsed(format: Float, text: &str) -> Option<u128> {
    with_format!(format, T => {
        let value = T::from_str_r(text, Round::NearestTiesToEven).ok()?;
        Some(value.value.to_bits())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENDED: Scalar = Scalar::new(ScalarKind::Float(Float::Extended), 16);
    const DOUBLE: Scalar = Scalar::new(ScalarKind::Float(Float::Double), 8);
    const BYTE: Scalar = Scalar::new(ScalarKind::Unsigned, 1);
    const INT: Scalar = Scalar::new(ScalarKind::Signed, 4);

    fn double(value: f64) -> u128 {
        u128::from(value.to_bits())
    }

    #[test]
    fn extended_floats_keep_64_bits() {
        let big = converted(
            Scalar::new(ScalarKind::Unsigned, 8),
            u128::from(u64::MAX),
            EXTENDED,
        );
        let one = converted(INT, 1, EXTENDED);
        let (sum, _) = arithmetic(Binary::Sub, EXTENDED, big, one).unwrap();
        let back = converted(EXTENDED, sum, Scalar::new(ScalarKind::Unsigned, 8));
        assert_eq!(back, u128::from(u64::MAX) - 1);
    }

    #[test]
    fn floats_truncate_and_saturate() {
        assert_eq!(converted(DOUBLE, double(-7.9), INT) as u32 as i32, -7);
        assert_eq!(converted(DOUBLE, double(300.5), BYTE), 44);
        assert_eq!(saturated(DOUBLE, double(300.5), BYTE), 255);
        assert_eq!(saturated(DOUBLE, double(-3.0), BYTE), 0);
        assert_eq!(saturated(DOUBLE, double(f64::NAN), INT), 0);
        assert_eq!(saturated(DOUBLE, double(1e30), INT), i32::MAX as u128);
    }

    #[test]
    fn results_beyond_the_type_are_not_exact() {
        let of = |operator, a: i32, b: i32| {
            let bits = |it: i32| u128::from(it as u32);
            arithmetic(operator, INT, bits(a), bits(b)).unwrap()
        };
        assert_eq!(of(Binary::Add, i32::MAX, 1), (0x8000_0000, false));
        assert_eq!(of(Binary::Sub, 1, 2), (0xffff_ffff, true));
        assert_eq!(of(Binary::Div, i32::MIN, -1), (0x8000_0000, false));
        assert_eq!(of(Binary::Rem, i32::MIN, -1), (0, false));
        assert_eq!(arithmetic(Binary::Sub, BYTE, 1, 2), Ok((255, false)));
        assert_eq!(
            arithmetic(Binary::Div, INT, 1, 0),
            Err(Undefined::DivisionByZero)
        );
        assert_eq!(negated(INT, 0x8000_0000), (0x8000_0000, false));
    }

    #[test]
    fn comparisons_with_nan() {
        let nan = double(f64::NAN);
        let ordering = compare(DOUBLE, nan, double(1.0));
        assert!(holds(Order::Ne, ordering));
        assert!(!holds(Order::Lt, ordering) && !holds(Order::Ge, ordering));
        assert!(holds(Order::Eq, compare(DOUBLE, double(-0.0), double(0.0))));
    }
}
