//! Integers.

use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library::call::Call;
use crate::inspect::library::method::Parameter::{Own, Small};
use crate::inspect::library::method::{Class, Row, boolean, own, u32_ty};
use crate::inspect::library::number;
use crate::inspect::value::scalar::{Int, Scalar, ScalarKind, mask};
use crate::inspect::value::{Shape, Ty, Value};
use dwarf::Language;

/// Operations with a result of the object's type.
pub const SAME: &[Row] = &[
    Row::new("clone", &[], own, |it| Ok(it.object.clone())),
    Row::new("abs", &[], signed_own, |it| exact(it, Operation::Abs)),
    Row::new("signum", &[], signed_own, |it| {
        let value = object(it)?.value().signum();
        Ok(it.number(value as u128))
    }),
    Row::new("pow", &[Small], own, |it| exact(it, Operation::Pow)),
    Row::new("min", &[Own], own, |it| {
        let (a, b) = (object(it)?, operand(it, 0)?);
        Ok(it.number(if is_less(b, a) { b.bits } else { a.bits }))
    }),
    Row::new("max", &[Own], own, |it| {
        let (a, b) = (object(it)?, operand(it, 0)?);
        Ok(it.number(if is_less(b, a) { a.bits } else { b.bits }))
    }),
    Row::new("clamp", &[Own, Own], own, |it| {
        let (value, low, high) = (object(it)?, operand(it, 0)?, operand(it, 1)?);
        if is_less(high, low) {
            return Err(Error::eval("`clamp`: the maximum is less than the minimum"));
        }
        let value = if is_less(value, low) { low } else { value };
        let value = if is_less(high, value) { high } else { value };
        Ok(it.number(value.bits))
    }),
    Row::new("rem_euclid", &[Own], own, |it| {
        exact(it, Operation::RemEuclid)
    }),
    Row::new("div_euclid", &[Own], own, |it| {
        exact(it, Operation::DivEuclid)
    }),
    Row::new("isqrt", &[], own, |it| {
        let int = object(it)?;
        if int.is_negative() {
            return Err(Error::eval("`isqrt` of a negative number"));
        }
        Ok(it.number(int.bits.isqrt()))
    }),
    Row::new("next_power_of_two", &[], unsigned_own, |it| {
        let bits = object(it)?.bits.checked_next_power_of_two();
        in_range(it, bits)
    }),
    Row::new("swap_bytes", &[], own, swapped),
    Row::new("to_be", &[], own, swapped),
    Row::new("to_le", &[], own, |it| Ok(it.number(object(it)?.bits))),
    Row::new("reverse_bits", &[], own, |it| {
        let int = object(it)?;
        Ok(it.number(int.bits.reverse_bits() >> (128 - width(int))))
    }),
    Row::new("rotate_left", &[Small], own, |it| rotated(it, false)),
    Row::new("rotate_right", &[Small], own, |it| rotated(it, true)),
    Row::new("wrapping_add", &[Own], own, |it| {
        wrapping(it, Operation::Add)
    }),
    Row::new("wrapping_sub", &[Own], own, |it| {
        wrapping(it, Operation::Sub)
    }),
    Row::new("wrapping_mul", &[Own], own, |it| {
        wrapping(it, Operation::Mul)
    }),
    Row::new("wrapping_div", &[Own], own, |it| {
        wrapping(it, Operation::Div)
    }),
    Row::new("wrapping_rem", &[Own], own, |it| {
        wrapping(it, Operation::Rem)
    }),
    Row::new("wrapping_neg", &[], own, |it| wrapping(it, Operation::Neg)),
    Row::new("wrapping_abs", &[], signed_own, |it| {
        wrapping(it, Operation::Abs)
    }),
    Row::new("wrapping_pow", &[Small], own, |it| {
        wrapping(it, Operation::Pow)
    }),
    Row::new("wrapping_shl", &[Small], own, |it| {
        wrapping(it, Operation::Shl)
    }),
    Row::new("wrapping_shr", &[Small], own, |it| {
        wrapping(it, Operation::Shr)
    }),
    Row::new("saturating_add", &[Own], own, |it| {
        saturating(it, Operation::Add)
    }),
    Row::new("saturating_sub", &[Own], own, |it| {
        saturating(it, Operation::Sub)
    }),
    Row::new("saturating_mul", &[Own], own, |it| {
        saturating(it, Operation::Mul)
    }),
    Row::new("saturating_pow", &[Small], own, |it| {
        saturating(it, Operation::Pow)
    }),
];

/// Operations with a result of another type.
pub const OTHER: &[Row] = &[
    Row::new("checked_add", &[Own], option, |it| {
        checked(it, Operation::Add)
    }),
    Row::new("checked_sub", &[Own], option, |it| {
        checked(it, Operation::Sub)
    }),
    Row::new("checked_mul", &[Own], option, |it| {
        checked(it, Operation::Mul)
    }),
    Row::new("checked_div", &[Own], option, |it| {
        checked(it, Operation::Div)
    }),
    Row::new("checked_rem", &[Own], option, |it| {
        checked(it, Operation::Rem)
    }),
    Row::new("checked_neg", &[], option, |it| checked(it, Operation::Neg)),
    Row::new("checked_abs", &[], signed_option, |it| {
        checked(it, Operation::Abs)
    }),
    Row::new("checked_pow", &[Small], option, |it| {
        checked(it, Operation::Pow)
    }),
    Row::new("checked_shl", &[Small], option, |it| {
        checked(it, Operation::Shl)
    }),
    Row::new("checked_shr", &[Small], option, |it| {
        checked(it, Operation::Shr)
    }),
    Row::new("overflowing_add", &[Own], flagged, |it| {
        overflowing(it, Operation::Add)
    }),
    Row::new("overflowing_sub", &[Own], flagged, |it| {
        overflowing(it, Operation::Sub)
    }),
    Row::new("overflowing_mul", &[Own], flagged, |it| {
        overflowing(it, Operation::Mul)
    }),
    Row::new("unsigned_abs", &[], unsigned_of_signed, magnitude),
    Row::new("abs_diff", &[Own], unsigned, |it| {
        let (a, b) = (object(it)?, operand(it, 0)?);
        let (low, high) = if is_less(a, b) { (a, b) } else { (b, a) };
        Ok(it.number(high.value().wrapping_sub(low.value()) as u128))
    }),
    Row::new("count_ones", &[], u32_ty, |it| {
        Ok(it.number(u128::from(object(it)?.bits.count_ones())))
    }),
    Row::new("count_zeros", &[], u32_ty, |it| {
        let int = object(it)?;
        Ok(it.number(u128::from(width(int) - int.bits.count_ones())))
    }),
    Row::new("leading_zeros", &[], u32_ty, |it| {
        let int = object(it)?;
        Ok(it.number(u128::from(int.bits.leading_zeros() + width(int) - 128)))
    }),
    Row::new("leading_ones", &[], u32_ty, |it| {
        let int = object(it)?;
        let top = int.bits << (128 - width(int));
        Ok(it.number(u128::from(top.leading_ones())))
    }),
    Row::new("trailing_zeros", &[], u32_ty, |it| {
        let int = object(it)?;
        Ok(it.number(u128::from(int.bits.trailing_zeros().min(width(int)))))
    }),
    Row::new("trailing_ones", &[], u32_ty, |it| {
        Ok(it.number(u128::from(object(it)?.bits.trailing_ones())))
    }),
    Row::new("ilog2", &[], u32_ty, |it| {
        log(it, |bits| bits.checked_ilog2())
    }),
    Row::new("ilog10", &[], u32_ty, |it| {
        log(it, |bits| bits.checked_ilog10())
    }),
    Row::new("is_power_of_two", &[], unsigned_bool, |it| {
        Ok(it.truth(object(it)?.bits.is_power_of_two()))
    }),
    Row::new("is_positive", &[], signed_bool, |it| {
        Ok(it.truth(object(it)?.value() > 0))
    }),
    Row::new("is_negative", &[], signed_bool, |it| {
        Ok(it.truth(object(it)?.value() < 0))
    }),
    Row::new("to_le_bytes", &[], row_of_bytes, |it| {
        bytes(it, |bytes| bytes)
    }),
    Row::new("to_ne_bytes", &[], row_of_bytes, |it| {
        bytes(it, |bytes| bytes)
    }),
    Row::new("to_be_bytes", &[], row_of_bytes, |it| {
        bytes(it, |mut bytes| {
            bytes.reverse();
            bytes
        })
    }),
    Row::new("to_string", &[], string, |it| {
        let int = object(it)?;
        let text = match int.signed {
            true => int.value().to_string(),
            false => int.bits.to_string(),
        };
        Ok(Value::of_bytes(it.returns.clone(), text.as_bytes()))
    }),
];

/// Methods of `u8` as a character.
pub const BYTE: &[Row] = &[
    Row::new("is_ascii", &[], byte_bool, |it| {
        byte(it, |it| it.is_ascii())
    }),
    Row::new("is_ascii_alphabetic", &[], byte_bool, |it| {
        byte(it, |it| it.is_ascii_alphabetic())
    }),
    Row::new("is_ascii_digit", &[], byte_bool, |it| {
        byte(it, |it| it.is_ascii_digit())
    }),
    Row::new("is_ascii_alphanumeric", &[], byte_bool, |it| {
        byte(it, |it| it.is_ascii_alphanumeric())
    }),
    Row::new("is_ascii_whitespace", &[], byte_bool, |it| {
        byte(it, |it| it.is_ascii_whitespace())
    }),
    Row::new("is_ascii_uppercase", &[], byte_bool, |it| {
        byte(it, |it| it.is_ascii_uppercase())
    }),
    Row::new("is_ascii_lowercase", &[], byte_bool, |it| {
        byte(it, |it| it.is_ascii_lowercase())
    }),
    Row::new("is_ascii_punctuation", &[], byte_bool, |it| {
        byte(it, |it| it.is_ascii_punctuation())
    }),
    Row::new("to_ascii_uppercase", &[], byte_own, |it| {
        let byte = object(it)?.bits as u8;
        Ok(it.number(u128::from(byte.to_ascii_uppercase())))
    }),
    Row::new("to_ascii_lowercase", &[], byte_own, |it| {
        let byte = object(it)?.bits as u8;
        Ok(it.number(u128::from(byte.to_ascii_lowercase())))
    }),
];

/// An operation whose exact result may be out of the type's range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    DivEuclid,
    RemEuclid,
    Neg,
    Abs,
    Pow,
    Shl,
    Shr,
}

/// The result of an operation in its type's range; of one that overflows, the low bits, and whether
/// the exact result is too small.
enum Outcome {
    Exact(u128),
    Overflow { wrapped: u128, below: bool },
    DivisionByZero,
}

fn scalar(ty: &Ty) -> Option<Scalar> {
    match ty.shape() {
        Shape::Scalar(scalar) => Some(scalar),
        _ => None,
    }
}

fn is_signed(class: &Class) -> bool {
    scalar(&class.ty).is_some_and(Scalar::is_signed)
}

fn is_byte(class: &Class) -> bool {
    scalar(&class.ty).is_some_and(|it| it.size == 1 && !it.is_signed())
}

fn signed_own(class: &Class) -> Option<Ty> {
    own(class).filter(|_| is_signed(class))
}

fn unsigned_own(class: &Class) -> Option<Ty> {
    own(class).filter(|_| !is_signed(class))
}

fn byte_own(class: &Class) -> Option<Ty> {
    own(class).filter(|_| is_byte(class))
}

fn signed_bool(class: &Class) -> Option<Ty> {
    boolean(class).filter(|_| is_signed(class))
}

fn unsigned_bool(class: &Class) -> Option<Ty> {
    boolean(class).filter(|_| !is_signed(class))
}

fn byte_bool(class: &Class) -> Option<Ty> {
    boolean(class).filter(|_| is_byte(class))
}

fn option(class: &Class) -> Option<Ty> {
    own(class).map(Ty::option)
}

fn signed_option(class: &Class) -> Option<Ty> {
    signed_own(class).map(Ty::option)
}

fn flagged(class: &Class) -> Option<Ty> {
    Some(Ty::tuple(vec![own(class)?, boolean(class)?]))
}

/// Returns the unsigned type of the same width.
fn unsigned(class: &Class) -> Option<Ty> {
    let name = class.ty.name();
    match &*name {
        signed if signed.starts_with('i') => rust::builtin(&format!("u{}", &signed[1..])),
        _ => own(class),
    }
}

fn unsigned_of_signed(class: &Class) -> Option<Ty> {
    unsigned(class).filter(|_| is_signed(class))
}

/// Returns `[u8; N]` of an integer's bytes.
fn row_of_bytes(class: &Class) -> Option<Ty> {
    Some(rust::builtin("u8")?.array(class.ty.size()?))
}

fn bytes(it: &Call<'_>, ordered: fn(Vec<u8>) -> Vec<u8>) -> Result<Value, Error> {
    let bytes = ordered(it.object.bytes(it.target)?.to_vec());
    Ok(Value::of_bytes(it.returns.clone(), &bytes))
}

fn string(_: &Class) -> Option<Ty> {
    Some(Ty::text_object(
        "alloc::string::String".into(),
        Language::Rust,
    ))
}

fn object(it: &Call<'_>) -> Result<Int, Error> {
    number::integer(it.target, it.object)
}

/// Returns an argument converted to the object's type.
fn operand(it: &Call<'_>, index: usize) -> Result<Int, Error> {
    let int = it.integer(index)?;
    let scalar = scalar(&it.class.ty).unwrap_or(Scalar::new(ScalarKind::Signed, int.size));
    let same = Int::new(int.value() as u128, scalar.size, scalar.is_signed());
    let fits = same.value() == int.value() && same.is_negative() == int.is_negative();
    match fits {
        true => Ok(same),
        false => Err(Error::eval(format!(
            "{} is out of range for `{}`",
            int.value(),
            it.class.ty.name()
        ))),
    }
}

fn width(int: Int) -> u32 {
    u32::from(int.size) * 8
}

fn is_less(a: Int, b: Int) -> bool {
    match a.signed {
        true => a.value() < b.value(),
        false => a.bits < b.bits,
    }
}

fn low(int: Int) -> i128 {
    match int.signed {
        true => i128::MIN >> (128 - width(int)),
        false => 0,
    }
}

fn high(int: Int) -> u128 {
    match int.signed {
        true => mask(int.size) >> 1,
        false => mask(int.size),
    }
}

fn outcome(it: &Call<'_>, operation: Operation) -> Result<Outcome, Error> {
    let a = object(it)?;
    let of = |bits: u128| Int::new(bits, a.size, a.signed);
    let fit = |exact: Option<i128>, wrapped: u128, below: bool| {
        let fits = |it: &i128| *it >= low(a) && (*it < 0 || *it as u128 <= high(a));
        match exact.filter(fits) {
            Some(exact) => Outcome::Exact(exact as u128 & mask(a.size)),
            None => Outcome::Overflow {
                wrapped: wrapped & mask(a.size),
                below: exact.map_or(below, |it| it < low(a)),
            },
        }
    };
    let fit_unsigned =
        |exact: Option<u128>, wrapped: u128, below: bool| match exact.filter(|it| *it <= high(a)) {
            Some(exact) => Outcome::Exact(exact),
            None => Outcome::Overflow {
                wrapped: wrapped & mask(a.size),
                below,
            },
        };
    match operation {
        Operation::Neg => {
            let wrapped = a.bits.wrapping_neg();
            return Ok(match a.signed {
                true => fit(a.value().checked_neg(), wrapped, false),
                false => fit_unsigned((a.bits == 0).then_some(0), wrapped, true),
            });
        }
        Operation::Abs => {
            let wrapped = a.value().wrapping_abs() as u128;
            return Ok(fit(a.value().checked_abs(), wrapped, false));
        }
        Operation::Shl | Operation::Shr => {
            let by = it.integer(0)?.bits;
            let masked = (by % u128::from(width(a))) as u32;
            let shifted = match (operation, a.signed) {
                (Operation::Shl, _) => a.bits << masked,
                (_, true) => (a.value() >> masked) as u128,
                (_, false) => a.bits >> masked,
            };
            let bits = of(shifted).bits;
            return Ok(match by < u128::from(width(a)) {
                true => Outcome::Exact(bits),
                false => Outcome::Overflow {
                    wrapped: bits,
                    below: false,
                },
            });
        }
        Operation::Pow => {
            let exponent = it.integer(0)?;
            let exponent = u32::try_from(exponent.bits)
                .map_err(|_| Error::eval("the exponent is out of range for `u32`"))?;
            let wrapped = a.bits.wrapping_pow(exponent);
            let below = a.is_negative() && exponent % 2 == 1;
            let signed = (a.value() as u128).wrapping_pow(exponent);
            return Ok(match a.signed {
                true => fit(a.value().checked_pow(exponent), signed, below),
                false => fit_unsigned(a.bits.checked_pow(exponent), wrapped, false),
            });
        }
        _ => {}
    }
    let b = operand(it, 0)?;
    let divides = matches!(
        operation,
        Operation::Div | Operation::Rem | Operation::DivEuclid | Operation::RemEuclid
    );
    if divides && b.bits == 0 {
        return Ok(Outcome::DivisionByZero);
    }
    if a.signed {
        let (x, y) = (a.value(), b.value());
        let overflows = divides && x == low(a) && y == -1;
        let (exact, wrapped, below) = match operation {
            Operation::Add => (x.checked_add(y), x.wrapping_add(y), y < 0),
            Operation::Sub => (x.checked_sub(y), x.wrapping_sub(y), y > 0),
            Operation::Mul => (x.checked_mul(y), x.wrapping_mul(y), (x < 0) != (y < 0)),
            Operation::Div => (x.checked_div(y), x.wrapping_div(y), false),
            Operation::DivEuclid => (x.checked_div_euclid(y), x.wrapping_div_euclid(y), false),
            // The remainder would fit, but the library defines it by the division.
            Operation::Rem => (Some(x.wrapping_rem(y)).filter(|_| !overflows), 0, false),
            _ => (
                Some(x.wrapping_rem_euclid(y)).filter(|_| !overflows),
                0,
                false,
            ),
        };
        return Ok(fit(exact, wrapped as u128, below));
    }
    let (x, y) = (a.bits, b.bits);
    let (exact, wrapped, below) = match operation {
        Operation::Add => (x.checked_add(y), x.wrapping_add(y), false),
        Operation::Sub => (x.checked_sub(y), x.wrapping_sub(y), true),
        Operation::Mul => (x.checked_mul(y), x.wrapping_mul(y), false),
        Operation::Div | Operation::DivEuclid => (Some(x / y), 0, false),
        _ => (Some(x % y), 0, false),
    };
    Ok(fit_unsigned(exact, wrapped, below))
}

fn division_by_zero() -> Error {
    Error::eval("division by zero")
}

/// Returns a result as a debug build does: an overflow is an error.
fn exact(it: &Call<'_>, operation: Operation) -> Result<Value, Error> {
    match outcome(it, operation)? {
        Outcome::Exact(bits) => Ok(it.number(bits)),
        Outcome::Overflow { .. } => Err(Error::eval(format!("`{}` overflows", it.name))),
        Outcome::DivisionByZero => Err(division_by_zero()),
    }
}

fn wrapping(it: &Call<'_>, operation: Operation) -> Result<Value, Error> {
    match outcome(it, operation)? {
        Outcome::Exact(bits) | Outcome::Overflow { wrapped: bits, .. } => Ok(it.number(bits)),
        Outcome::DivisionByZero => Err(division_by_zero()),
    }
}

fn saturating(it: &Call<'_>, operation: Operation) -> Result<Value, Error> {
    let a = object(it)?;
    match outcome(it, operation)? {
        Outcome::Exact(bits) => Ok(it.number(bits)),
        Outcome::Overflow { below: true, .. } => Ok(it.number(low(a) as u128)),
        Outcome::Overflow { below: false, .. } => Ok(it.number(high(a))),
        Outcome::DivisionByZero => Err(division_by_zero()),
    }
}

fn checked(it: &Call<'_>, operation: Operation) -> Result<Value, Error> {
    match outcome(it, operation)? {
        Outcome::Exact(bits) => {
            let a = object(it)?;
            let bytes = &bits.to_le_bytes()[..usize::from(a.size.min(16))];
            it.option(Some(Value::of_bytes(it.class.ty.clone(), bytes)))
        }
        _ => it.option(None),
    }
}

fn overflowing(it: &Call<'_>, operation: Operation) -> Result<Value, Error> {
    let (bits, flag) = match outcome(it, operation)? {
        Outcome::Exact(bits) => (bits, false),
        Outcome::Overflow { wrapped, .. } => (wrapped, true),
        Outcome::DivisionByZero => return Err(division_by_zero()),
    };
    let size = usize::from(object(it)?.size.min(16));
    let mut bytes = bits.to_le_bytes()[..size].to_vec();
    bytes.push(u8::from(flag));
    Ok(Value::of_bytes(it.returns.clone(), &bytes))
}

fn in_range(it: &Call<'_>, bits: Option<u128>) -> Result<Value, Error> {
    let high = high(object(it)?);
    let bits = bits.filter(|bits| *bits <= high);
    let overflow = || Error::eval(format!("`{}` overflows", it.name));
    bits.map(|bits| it.number(bits)).ok_or_else(overflow)
}

fn magnitude(it: &Call<'_>) -> Result<Value, Error> {
    Ok(it.number(object(it)?.value().unsigned_abs()))
}

fn swapped(it: &Call<'_>) -> Result<Value, Error> {
    let int = object(it)?;
    Ok(it.number(int.bits.swap_bytes() >> (128 - width(int))))
}

fn rotated(it: &Call<'_>, right: bool) -> Result<Value, Error> {
    let int = object(it)?;
    let width = width(int);
    let by = (it.integer(0)?.bits % u128::from(width)) as u32;
    let left = if right { (width - by) % width } else { by };
    let back = (width - left) % width;
    let bits = match left {
        0 => int.bits,
        _ => int.bits << left | int.bits >> back,
    };
    Ok(it.number(bits & mask(int.size)))
}

fn log(it: &Call<'_>, of: fn(u128) -> Option<u32>) -> Result<Value, Error> {
    let int = object(it)?;
    let found = of(int.bits).filter(|_| !int.is_negative());
    let none = || Error::eval(format!("`{}` of a number that is not positive", it.name));
    found
        .map(u128::from)
        .ok_or_else(none)
        .map(|bits| it.number(bits))
}

fn byte(it: &Call<'_>, holds: fn(&u8) -> bool) -> Result<Value, Error> {
    Ok(it.truth(holds(&(object(it)?.bits as u8))))
}
