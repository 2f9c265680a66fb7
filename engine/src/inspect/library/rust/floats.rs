//! Floats and characters.

use super::texts::string;
use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library::call::Call;
use crate::inspect::library::method::Parameter::{Own, Small, Text};
use crate::inspect::library::method::{Class, Row, boolean, own, size, u32_ty};
use crate::inspect::library::number;
use crate::inspect::value::scalar::{Float, Number, ScalarKind};
use crate::inspect::value::{Shape, Ty, Value};

/// Defines rows of functions of one float, computed in its own precision.
macro_rules! unary {
    ($($name:ident)*) => {
        &[$(Row::new(stringify!($name), &[], own, |it| {
            float(it, |x, _, _| x.$name(), |x, _, _| x.$name())
        })),*]
    };
}

const UNARY: &[Row] = unary! {
    abs sqrt cbrt floor ceil round trunc fract signum recip exp exp2 exp_m1 ln ln_1p log2 log10
    sin cos tan asin acos atan sinh cosh tanh to_degrees to_radians
};

const OTHERS: &[Row] = &[
    Row::new("min", &[Own], own, |it| {
        float(it, |x, y, _| x.min(y), |x, y, _| x.min(y))
    }),
    Row::new("max", &[Own], own, |it| {
        float(it, |x, y, _| x.max(y), |x, y, _| x.max(y))
    }),
    Row::new("powf", &[Own], own, |it| {
        float(it, |x, y, _| x.powf(y), |x, y, _| x.powf(y))
    }),
    Row::new("log", &[Own], own, |it| {
        float(it, |x, y, _| x.log(y), |x, y, _| x.log(y))
    }),
    Row::new("atan2", &[Own], own, |it| {
        float(it, |x, y, _| x.atan2(y), |x, y, _| x.atan2(y))
    }),
    Row::new("hypot", &[Own], own, |it| {
        float(it, |x, y, _| x.hypot(y), |x, y, _| x.hypot(y))
    }),
    Row::new("copysign", &[Own], own, |it| {
        float(it, |x, y, _| x.copysign(y), |x, y, _| x.copysign(y))
    }),
    Row::new("rem_euclid", &[Own], own, |it| {
        float(it, |x, y, _| x.rem_euclid(y), |x, y, _| x.rem_euclid(y))
    }),
    Row::new("mul_add", &[Own, Own], own, |it| {
        float(it, |x, y, z| x.mul_add(y, z), |x, y, z| x.mul_add(y, z))
    }),
    Row::new("clamp", &[Own, Own], own, |it| {
        float(it, |x, y, z| x.max(y).min(z), |x, y, z| x.max(y).min(z))
    }),
    Row::new("powi", &[Own], own, |it| {
        let exponent = it.integer(0)?;
        let exponent = i32::try_from(exponent.value())
            .map_err(|_| Error::eval("the exponent is out of range for `i32`"))?;
        let (value, single) = object(it)?;
        Ok(match single {
            true => of_single(it, (value as f32).powi(exponent)),
            false => of_double(it, value.powi(exponent)),
        })
    }),
    Row::new("clone", &[], own, |it| Ok(it.object.clone())),
    Row::new("to_string", &[], string, |it| {
        let text = match object(it)? {
            (value, true) => (value as f32).to_string(),
            (value, false) => value.to_string(),
        };
        Ok(Value::of_bytes(it.returns.clone(), text.as_bytes()))
    }),
    Row::new("to_bits", &[], bits, |it| {
        Ok(it.number(it.object.raw(it.target)?))
    }),
    Row::new("is_nan", &[], boolean, |it| {
        Ok(it.truth(object(it)?.0.is_nan()))
    }),
    Row::new("is_finite", &[], boolean, |it| {
        Ok(it.truth(object(it)?.0.is_finite()))
    }),
    Row::new("is_infinite", &[], boolean, |it| {
        Ok(it.truth(object(it)?.0.is_infinite()))
    }),
    Row::new("is_sign_negative", &[], boolean, |it| {
        Ok(it.truth(object(it)?.0.is_sign_negative()))
    }),
    Row::new("is_sign_positive", &[], boolean, |it| {
        Ok(it.truth(object(it)?.0.is_sign_positive()))
    }),
];

/// Methods of `f32` and `f64`.
pub const FLOAT: [&[Row]; 2] = [UNARY, OTHERS];

/// Methods of `char`.
pub const CHAR: &[Row] = &[
    Row::new("clone", &[], own, |it| Ok(it.object.clone())),
    Row::new("to_string", &[], string, |it| {
        let text = char_of(it)?.to_string();
        Ok(Value::of_bytes(it.returns.clone(), text.as_bytes()))
    }),
    Row::new("is_alphabetic", &[], boolean, |it| {
        is(it, char::is_alphabetic)
    }),
    Row::new("is_numeric", &[], boolean, |it| is(it, char::is_numeric)),
    Row::new("is_alphanumeric", &[], boolean, |it| {
        is(it, char::is_alphanumeric)
    }),
    Row::new("is_whitespace", &[], boolean, |it| {
        is(it, char::is_whitespace)
    }),
    Row::new("is_uppercase", &[], boolean, |it| {
        is(it, char::is_uppercase)
    }),
    Row::new("is_lowercase", &[], boolean, |it| {
        is(it, char::is_lowercase)
    }),
    Row::new("is_control", &[], boolean, |it| is(it, char::is_control)),
    Row::new("is_ascii", &[], boolean, |it| is(it, |it| it.is_ascii())),
    Row::new("is_ascii_alphabetic", &[], boolean, |it| {
        is(it, |it| it.is_ascii_alphabetic())
    }),
    Row::new("is_ascii_digit", &[], boolean, |it| {
        is(it, |it| it.is_ascii_digit())
    }),
    Row::new("is_ascii_alphanumeric", &[], boolean, |it| {
        is(it, |it| it.is_ascii_alphanumeric())
    }),
    Row::new("is_ascii_uppercase", &[], boolean, |it| {
        is(it, |it| it.is_ascii_uppercase())
    }),
    Row::new("is_ascii_lowercase", &[], boolean, |it| {
        is(it, |it| it.is_ascii_lowercase())
    }),
    Row::new("is_ascii_punctuation", &[], boolean, |it| {
        is(it, |it| it.is_ascii_punctuation())
    }),
    Row::new("is_ascii_whitespace", &[], boolean, |it| {
        is(it, |it| it.is_ascii_whitespace())
    }),
    Row::new("is_digit", &[Small], boolean, |it| {
        Ok(it.truth(digit(it)?.is_some()))
    }),
    Row::new("to_digit", &[Small], option_of_u32, |it| {
        let ty = u32_ty(it.class).ok_or_else(|| it.unreadable())?;
        it.option(digit(it)?.map(|digit| Value::of_bytes(ty, &digit.to_le_bytes())))
    }),
    Row::new("to_ascii_uppercase", &[], own, |it| {
        Ok(it.number(u128::from(u32::from(char_of(it)?.to_ascii_uppercase()))))
    }),
    Row::new("to_ascii_lowercase", &[], own, |it| {
        Ok(it.number(u128::from(u32::from(char_of(it)?.to_ascii_lowercase()))))
    }),
    Row::new("len_utf8", &[], size, |it| {
        Ok(it.number(char_of(it)?.len_utf8() as u128))
    }),
    Row::new("len_utf16", &[], size, |it| {
        Ok(it.number(char_of(it)?.len_utf16() as u128))
    }),
    Row::new("eq_ignore_ascii_case", &[Text], boolean, |it| {
        let other = u32::try_from(it.integer(0)?.bits)
            .ok()
            .and_then(char::from_u32);
        let own = char_of(it)?;
        Ok(it.truth(other.is_some_and(|other| own.eq_ignore_ascii_case(&other))))
    }),
];

/// Returns the object, and whether it is an `f32`.
fn object(it: &Call<'_>) -> Result<(f64, bool), Error> {
    let single = matches!(it.class.ty.shape(), Shape::Scalar(scalar)
        if scalar.kind == ScalarKind::Float(Float::Single));
    match number::number(it.target, it.object)? {
        Some(Number::Float(value)) => Ok((value, single)),
        _ => Err(it.unreadable()),
    }
}

fn of_single(it: &Call<'_>, value: f32) -> Value {
    it.number(u128::from(value.to_bits()))
}

fn of_double(it: &Call<'_>, value: f64) -> Value {
    it.number(u128::from(value.to_bits()))
}

fn float(
    it: &Call<'_>,
    single: fn(f32, f32, f32) -> f32,
    double: fn(f64, f64, f64) -> f64,
) -> Result<Value, Error> {
    let argument = |index: usize| -> Result<f64, Error> {
        let Some(value) = it.arguments.get(index) else {
            return Ok(0.0);
        };
        match number::number(it.target, value)? {
            Some(Number::Float(value)) => Ok(value),
            Some(Number::Int(int)) => Ok(int.to_f64()),
            None => Err(Error::eval(format!(
                "expected a number, found `{}`",
                value.ty.name()
            ))),
        }
    };
    let ((x, is_single), y, z) = (object(it)?, argument(0)?, argument(1)?);
    Ok(match is_single {
        true => of_single(it, single(x as f32, y as f32, z as f32)),
        false => of_double(it, double(x, y, z)),
    })
}

/// Returns the unsigned integer of the same width.
fn bits(class: &Class) -> Option<Ty> {
    match class.ty.size()? {
        4 => rust::builtin("u32"),
        8 => rust::builtin("u64"),
        _ => None,
    }
}

fn option_of_u32(class: &Class) -> Option<Ty> {
    u32_ty(class).map(Ty::option)
}

fn char_of(it: &Call<'_>) -> Result<char, Error> {
    let code = number::integer(it.target, it.object)?.bits;
    let char = u32::try_from(code).ok().and_then(char::from_u32);
    char.ok_or_else(|| Error::eval(format!("{code:#x} is not a character")))
}

fn is(it: &Call<'_>, holds: fn(char) -> bool) -> Result<Value, Error> {
    Ok(it.truth(holds(char_of(it)?)))
}

fn digit(it: &Call<'_>) -> Result<Option<u32>, Error> {
    let radix = it.integer(0)?.bits;
    match u32::try_from(radix).ok().filter(|it| (2..=36).contains(it)) {
        Some(radix) => Ok(char_of(it)?.to_digit(radix)),
        None => Err(Error::eval(format!(
            "radix {radix} is not between 2 and 36"
        ))),
    }
}
