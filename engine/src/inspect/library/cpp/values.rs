//! Optionals, variants, bits, numbers with a class, times.

use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::contents::Contents;
use crate::inspect::library::method::Parameter::{Element, Index, Unread};
use crate::inspect::library::method::{Class, Row, boolean, element, element_pointer, size};
use crate::inspect::value::{Shape, Ty, Value};
use crate::inspect::visualize::standard::{self, time};
use crate::inspect::visualize::{View, view};
use dwarf::Language;

/// Methods of `std::optional` and `std::expected`.
pub const OPTIONAL: &[Row] = &[
    Row::new("has_value", &[], boolean, has_value),
    Row::new("operator bool", &[], boolean, has_value),
    Row::new("value", &[], element, value),
    Row::new("value_or", &[Element], element, |it| match value_of(it)? {
        Some(value) => Ok(value),
        None => it.argument(0).cloned(),
    }),
];

/// What `*` and `->` give: of optionals, and of iterators.
pub const HELD: &[Row] = &[
    Row::new("operator*", &[], dereferenced, value),
    Row::new("operator->", &[], dereferenced_pointer, |it| {
        let value = value(it)?;
        let addr = value.address();
        let addr = addr.ok_or_else(|| Error::eval("the value is not in memory"))?;
        Ok(it.number(u128::from(addr.0)))
    }),
];

/// Methods of `std::expected`.
pub const EXPECTED: &[Row] = &[Row::new("error", &[], error_type, |it| {
    error_of(it)?.ok_or_else(|| Error::eval("no error: the object has a value"))
})];

/// Methods of `std::variant`.
pub const VARIANT: &[Row] = &[
    Row::new("index", &[], size, |it| {
        let index = standard::alternative_index(it.target, it.object)?;
        Ok(it.number(u128::from(index.unwrap_or(u64::MAX))))
    }),
    Row::new("valueless_by_exception", &[], boolean, |it| {
        let index = standard::alternative_index(it.target, it.object)?;
        Ok(it.truth(index.is_none()))
    }),
];

/// Methods of `std::any` and `std::function`.
pub const ERASED: &[Row] = &[
    Row::new("has_value", &[], any_only, |it| {
        Ok(it.truth(it.held()?.is_some()))
    }),
    Row::new("operator bool", &[], function_only, |it| {
        Ok(it.truth(it.held()?.is_some()))
    }),
];

/// Methods of `std::atomic`.
pub const ATOMIC: &[Row] = &[Row::new("load", &[Unread], element, |it| {
    it.held()?.ok_or_else(|| it.unreadable())
})
.required(0)];

/// Methods of `std::complex`.
pub const COMPLEX: &[Row] = &[
    Row::new("real", &[], part_type, |it| part(it, 0)),
    Row::new("imag", &[], part_type, |it| part(it, 1)),
];

/// Methods of durations.
pub const DURATION: &[Row] = &[Row::new("count", &[], rep, |it| {
    let ticks = time::ticks(it.target, it.object)?;
    Ok(Value {
        ty: it.returns.clone(),
        ..ticks
    })
})];

/// Methods of points in time.
pub const TIME_POINT: &[Row] = &[Row::new("time_since_epoch", &[], element, |it| {
    it.member(&[&["__d"], &["__d_"]])
})];

/// Methods of `std::bitset`.
pub const BITS: &[Row] = &[
    Row::new("size", &[], size, |it| {
        Ok(it.number(u128::from(standard::extent(it.object_type())?)))
    }),
    Row::new("count", &[], size, |it| {
        let count = bits(it)?.iter().filter(|bit| **bit).count();
        Ok(it.number(count as u128))
    }),
    Row::new("any", &[], boolean, |it| {
        Ok(it.truth(bits(it)?.contains(&true)))
    }),
    Row::new("none", &[], boolean, |it| {
        Ok(it.truth(!bits(it)?.contains(&true)))
    }),
    Row::new("all", &[], boolean, |it| {
        Ok(it.truth(!bits(it)?.contains(&false)))
    }),
    Row::new("test", &[Index], boolean, bit),
    Row::new("operator[]", &[Index], boolean, bit),
    Row::new("to_ulong", &[], size, number),
    Row::new("to_ullong", &[], size, number),
    Row::new("to_string", &[], string, |it| {
        let digit = |bit: &bool| if *bit { b'1' } else { b'0' };
        let text: Vec<u8> = bits(it)?.iter().rev().map(digit).collect();
        Ok(Value::of_bytes(it.returns.clone(), &text))
    }),
];

fn has_value(it: &Call<'_>) -> Result<Value, Error> {
    // An expected object without a type of value has none to show.
    if let Some(Contents::Either(..)) = &it.class.contents {
        return Ok(it.truth(error_of(it)?.is_none()));
    }
    Ok(it.truth(it.held()?.is_some()))
}

/// Returns the error of a `std::expected`; `None`: it has a value.
fn error_of(it: &Call<'_>) -> Result<Option<Value>, Error> {
    match view(it.target, it.object) {
        Some(View::Noted(error, _)) => Ok(Some(error)),
        Some(View::Pointee(_) | View::Plain(_)) => Ok(None),
        Some(View::Invalid(why)) => Err(Error::eval(why)),
        _ => Err(it.unreadable()),
    }
}

/// Returns the value of an optional or expected object.
fn value_of(it: &Call<'_>) -> Result<Option<Value>, Error> {
    if let Some(Contents::Either(..)) = &it.class.contents
        && error_of(it)?.is_some()
    {
        return Ok(None);
    }
    it.held()
}

fn value(it: &Call<'_>) -> Result<Value, Error> {
    let what = match &it.class.contents {
        Some(Contents::Optional(_)) => "the optional is empty",
        Some(Contents::Either(..)) => "the object has an error",
        _ => "the iterator has no element",
    };
    value_of(it)?.ok_or_else(|| Error::eval(format!("no value: {what}")))
}

/// Returns the type that `*` gives.
fn dereferenced(class: &Class) -> Option<Ty> {
    match class.contents.as_ref()? {
        Contents::Pointee(of) | Contents::Optional(of) | Contents::Either(of, _) => {
            Some(of.clone())
        }
        _ => None,
    }
}

fn dereferenced_pointer(class: &Class) -> Option<Ty> {
    dereferenced(class)?;
    element_pointer(class)
}

fn error_type(class: &Class) -> Option<Ty> {
    match class.contents.as_ref()? {
        Contents::Either(_, error) => Some(error.clone()),
        _ => None,
    }
}

fn any_only(class: &Class) -> Option<Ty> {
    (class.name == "any").then(|| boolean(class)).flatten()
}

fn function_only(class: &Class) -> Option<Ty> {
    (class.name == "function").then(|| boolean(class)).flatten()
}

/// Returns the type of the parts of a complex number.
fn part_type(class: &Class) -> Option<Ty> {
    class.template_argument(0)
}

fn part(it: &Call<'_>, index: u64) -> Result<Value, Error> {
    let size = it.returns.size().unwrap_or(0);
    let place = it.object.place.offset(index * size);
    Ok(Value::new(it.returns.clone(), place))
}

/// Returns the type of a duration's tick count.
fn rep(class: &Class) -> Option<Ty> {
    class.template_argument(0)
}

fn string(_: &Class) -> Option<Ty> {
    Some(Ty::text_object("std::string".into(), Language::Cpp))
}

/// Returns the bits of a `std::bitset`, lowest first.
fn bits(it: &Call<'_>) -> Result<Vec<bool>, Error> {
    let count = standard::extent(it.object_type())?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let words = it.member(&[&["_M_w"], &["__first_"]])?;
    let is_number = matches!(words.ty.shape(), Shape::Array(_) | Shape::Scalar(_));
    if !is_number || words.ty.size().is_none_or(|size| size * 8 < count) {
        return Err(it.unreadable());
    }
    let bytes = words.bytes(it.target)?;
    let bit = |at: u64| {
        let byte = bytes.get((at / 8) as usize);
        byte.is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    };
    Ok((0..count).map(bit).collect())
}

fn bit(it: &Call<'_>) -> Result<Value, Error> {
    let bits = bits(it)?;
    let index = it.index_below(bits.len() as u64)?;
    Ok(it.truth(bits.get(index as usize).copied().unwrap_or(false)))
}

fn number(it: &Call<'_>) -> Result<Value, Error> {
    let bits = bits(it)?;
    if bits.iter().skip(64).any(|bit| *bit) {
        return Err(Error::eval("the bits exceed 64"));
    }
    let set = bits.iter().enumerate().filter(|(_, bit)| **bit);
    Ok(it.number(set.fold(0, |all, (at, _)| all | 1 << at)))
}
