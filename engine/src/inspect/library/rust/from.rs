//! Functions of Rust's library that convert numbers, characters and text: `i64::from(x)`,
//! `u8::try_from(x)`, `"7".parse::<i32>()`, `char::from_digit(7, 10)`, `NonZeroU32::new(x)`.

use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library::compare;
use crate::inspect::library::number::{integer, number};
use crate::inspect::library::text::Text;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{Float, Int, Number, Scalar, ScalarKind};
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation};
use std::sync::Arc;

/// A conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conversion {
    /// `T::from`
    From,
    /// `T::try_from` of an integer.
    TryFrom,
    /// `str::parse`
    Parse,
    /// `char::from_digit`
    FromDigit,
    /// `char::from_u32`
    FromCode,
    /// `str::from_utf8`
    FromUtf8,
    /// `NonZero::new`
    NonZero,
}

/// Returns the conversion that a path names, and the type of its result.
pub fn conversion(path: &str, arguments: &[Ty]) -> Option<(Conversion, Ty)> {
    let (class, name) = path.rsplit_once("::")?;
    let class = class.rsplit("::").next().unwrap_or(class);
    match (name, arguments) {
        ("from", [of]) => Some((Conversion::From, from(class, of)?)),
        ("try_from", [of]) if is_int(of) => {
            let to = rust::builtin(class).filter(is_int)?;
            let error = error("core::num::error::TryFromIntError");
            Some((Conversion::TryFrom, to.result(error)))
        }
        ("from_digit", [digit, radix]) if class == "char" && is_int(digit) && is_int(radix) => {
            Some((Conversion::FromDigit, rust::builtin("char")?.option()))
        }
        ("from_u32", [of]) if class == "char" && is_int(of) => {
            Some((Conversion::FromCode, rust::builtin("char")?.option()))
        }
        ("from_utf8", [of]) if class == "str" && is_bytes(of) => {
            let error = error("core::str::error::Utf8Error");
            Some((Conversion::FromUtf8, Ty::str().result(error)))
        }
        ("new", [of]) => {
            let number = class.strip_prefix("NonZero")?.to_lowercase();
            let to = rust::builtin(&number).filter(is_int)?;
            let name = format!("core::num::nonzero::NonZero<{number}>");
            is_int(of).then(|| (Conversion::NonZero, to.within(&name).option()))
        }
        _ => None,
    }
}

/// Returns the type of `text.parse::<T>()`.
pub fn parsed(text: &Ty, to: &str) -> Option<Ty> {
    let to = rust::builtin(to).filter(|_| compare::is_text(text))?;
    let Shape::Scalar(scalar) = to.shape() else {
        return None;
    };
    let name = match scalar.kind {
        ScalarKind::Float(_) => "core::num::dec2flt::ParseFloatError",
        ScalarKind::Bool => "core::str::error::ParseBoolError",
        ScalarKind::Utf => "core::char::convert::ParseCharError",
        _ => "core::num::error::ParseIntError",
    };
    Some(to.result(error(name)))
}

/// Returns the type of an error, of which nothing is known.
fn error(name: &str) -> Ty {
    Ty::tuple(Vec::new()).within(name)
}

fn is_int(ty: &Ty) -> bool {
    matches!(ty.shape(), Shape::Scalar(it)
        if matches!(it.kind, ScalarKind::Signed | ScalarKind::Unsigned))
}

fn is_bytes(ty: &Ty) -> bool {
    let element = match (ty.shape(), crate::inspect::library::contents(ty)) {
        (Shape::Array(array), _) => array.element.clone(),
        (_, Some(crate::inspect::library::Contents::Sequence(of))) => of,
        _ => return false,
    };
    &*element.name() == "u8"
}

/// Returns the type that `T::from` makes of a value, if the library has such a conversion.
fn from(name: &str, of: &Ty) -> Option<Ty> {
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

/// Converts a value; `arguments` are those behind the first.
///
/// # Errors
/// The value cannot be read.
pub fn converted(
    conversion: Conversion,
    target: &dyn Target,
    to: &Ty,
    value: &Value,
    arguments: &[Value],
) -> Result<Value, Error> {
    // The type in the result's first variant that holds one.
    let held = || match to {
        Ty::Synthetic(to) => to.held().into_iter().next().unwrap_or(Ty::Void),
        _ => Ty::Void,
    };
    let option = |found: Option<Value>| {
        let name = if found.is_some() { "Some" } else { "None" };
        Value::variant(target, to.clone(), name, found.as_ref())
    };
    let result = |found: Option<Value>| match found {
        Some(found) => Value::variant(target, to.clone(), "Ok", Some(&found)),
        None => {
            let nothing = match to {
                Ty::Synthetic(to) => to.held().into_iter().nth(1).unwrap_or(Ty::Void),
                _ => Ty::Void,
            };
            let nothing = Value::of_bytes(nothing, &[]);
            Value::variant(target, to.clone(), "Err", Some(&nothing))
        }
    };
    let char = |found: Option<char>| {
        let value = |it: char| Value::of_bytes(held(), &u32::from(it).to_le_bytes());
        option(found.map(value))
    };
    let code = |value: &Value| -> Result<Option<u32>, Error> {
        Ok(u32::try_from(integer(target, value)?.value()).ok())
    };
    match conversion {
        Conversion::From => number_as(target, to, value),
        Conversion::TryFrom => result(fitting(&held(), integer(target, value)?)),
        Conversion::FromCode => char(code(value)?.and_then(char::from_u32)),
        Conversion::FromDigit => {
            let radix = arguments.first().map(&code).transpose()?.flatten();
            let Some(radix @ 2..=36) = radix else {
                return Err(Error::eval("the radix is not in 2 to 36"));
            };
            char(code(value)?.and_then(|it| char::from_digit(it, radix)))
        }
        Conversion::NonZero => {
            let found = fitting(&held(), integer(target, value)?);
            option(match found {
                Some(found) if found.raw(target)? != 0 => Some(found),
                _ => None,
            })
        }
        Conversion::Parse => {
            let text = Text::of(target, value)?.map(|it| it.bytes);
            let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
            result(of_text(&held(), &text))
        }
        Conversion::FromUtf8 => {
            let bytes = super::super::elements::elements(target, value)?;
            let bytes: Vec<u8> = bytes
                .iter()
                .map(|it| Ok(it.raw(target)? as u8))
                .collect::<Result<_, Error>>()?;
            let is_text = std::str::from_utf8(&bytes).is_ok();
            let text = Value::of_bytes(Ty::Text, &bytes);
            let text = Value::new(Ty::str(), ValueLocation::Temporary(Arc::new(text)));
            result(is_text.then_some(text))
        }
    }
}

/// Returns an integer as one of another type, if that can hold it.
fn fitting(to: &Ty, int: Int) -> Option<Value> {
    let size = to.size()?.min(16) as usize;
    let name = to.name();
    let bits = match int.is_negative() {
        true => int.value() as u128,
        false => int.bits,
    };
    let found = Value::of_bytes(to.clone(), bits.to_le_bytes().get(..size)?);
    let is_signed =
        matches!(to.shape(), Shape::Scalar(it) if it.is_signed()) || name.contains("NonZero<i");
    let width = u32::try_from(size).ok()? * 8;
    let fits = match (int.is_negative(), is_signed) {
        (true, true) => int.value() >= i128::MIN >> (128 - width),
        (true, false) => false,
        (false, true) => int.bits <= (i128::MAX as u128) >> (128 - width),
        (false, false) => int.bits <= u128::MAX >> (128 - width),
    };
    fits.then_some(found)
}

/// Returns the number that a text is.
fn of_text(to: &Ty, text: &str) -> Option<Value> {
    let Shape::Scalar(scalar) = to.shape() else {
        return None;
    };
    let bytes = |bits: u128, size: usize| {
        let bytes = bits.to_le_bytes();
        Some(Value::of_bytes(to.clone(), bytes.get(..size)?))
    };
    match scalar.kind {
        ScalarKind::Bool => bytes(u128::from(text.parse::<bool>().ok()?), 1),
        ScalarKind::Utf => bytes(u128::from(u32::from(text.parse::<char>().ok()?)), 4),
        ScalarKind::Float(Float::Single) => {
            bytes(u128::from(text.parse::<f32>().ok()?.to_bits()), 4)
        }
        ScalarKind::Float(_) => bytes(u128::from(text.parse::<f64>().ok()?.to_bits()), 8),
        _ if scalar.is_signed() => {
            let number: i128 = text.parse().ok()?;
            fitting(to, Int::new(number as u128, 16, true))
        }
        _ => fitting(to, Int::new(text.parse::<u128>().ok()?, 16, false)),
    }
}

fn number_as(target: &dyn Target, to: &Ty, value: &Value) -> Result<Value, Error> {
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
    let place = ValueLocation::Bytes(Bytes::new(&bytes[..size]));
    Ok(Value::new(to.clone(), place))
}
