//! Iterators over texts and slices, as far as their results are single values.

use super::rows::place;
use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library::call::Call;
use crate::inspect::library::compare;
use crate::inspect::library::contents::Contents;
use crate::inspect::library::method::Parameter::Index;
use crate::inspect::library::method::{Class, Row, size};
use crate::inspect::library::number;
use crate::inspect::value::scalar::{self, Int, ScalarKind};
use crate::inspect::value::{Shape, Ty, Value};
use dwarf::LoadAddr;
use std::cmp::Ordering;

/// Methods of `str` that begin an iteration.
pub const OF_STR: &[Row] = &[
    Row::new(
        "chars",
        &[],
        |_| Some(Ty::str().within("core::str::iter::Chars")),
        of_text,
    ),
    Row::new(
        "bytes",
        &[],
        |_| Some(Ty::str().within("core::str::iter::Bytes")),
        of_text,
    ),
    Row::new(
        "lines",
        &[],
        |_| Some(Ty::str().within("core::str::iter::Lines")),
        of_text,
    ),
];

/// Methods of slices that begin an iteration.
pub const OF_SLICE: &[Row] = &[Row::new("iter", &[], iter, |it| {
    let (at, len) = place(it)?;
    Ok(Value::fat_reference(it.returns.clone(), LoadAddr(at), len))
})];

/// Methods of `Chars`.
pub const CHARS: &[Row] = &[
    Row::new("count", &[], size, |it| {
        Ok(it.number(text(it)?.chars().count() as u128))
    }),
    Row::new("nth", &[Index], option_of_char, |it| {
        let nth = usize::try_from(it.position(0, 0)?).unwrap_or(usize::MAX);
        character(it, text(it)?.chars().nth(nth))
    }),
    Row::new("next", &[], option_of_char, |it| {
        character(it, text(it)?.chars().next())
    }),
    Row::new("last", &[], option_of_char, |it| {
        character(it, text(it)?.chars().next_back())
    }),
];

/// Methods of `Bytes`.
pub const BYTES: &[Row] = &[
    Row::new("count", &[], size, |it| {
        Ok(it.number(text(it)?.len() as u128))
    }),
    Row::new(
        "len",
        &[],
        size,
        |it| Ok(it.number(text(it)?.len() as u128)),
    ),
    Row::new("nth", &[Index], option_of_byte, |it| {
        let nth = usize::try_from(it.position(0, 0)?).unwrap_or(usize::MAX);
        let ty = rust::builtin("u8").ok_or_else(|| it.unreadable())?;
        let byte = text(it)?.as_bytes().get(nth).copied();
        it.option(byte.map(|byte| Value::of_bytes(ty, &[byte])))
    }),
];

/// Methods of `Lines`.
pub const LINES: &[Row] = &[
    Row::new("count", &[], size, |it| {
        Ok(it.number(text(it)?.lines().count() as u128))
    }),
    Row::new("next", &[], option_of_str, |it| line(it, 0)),
    Row::new("nth", &[Index], option_of_str, |it| {
        line(
            it,
            usize::try_from(it.position(0, 0)?).unwrap_or(usize::MAX),
        )
    }),
];

fn option_of_str(_: &Class) -> Option<Ty> {
    Some(Ty::str().option())
}

/// Returns a line of the text, in the program.
fn line(it: &Call<'_>, nth: usize) -> Result<Value, Error> {
    let at = it.text()?.at;
    let text = text(it)?;
    let found = text.lines().nth(nth).and_then(|line| {
        let offset = line.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(match at {
            Some(at) => {
                let at = LoadAddr(at.0.wrapping_add(offset as u64));
                Value::fat_reference(Ty::str(), at, line.len() as u64)
            }
            None => {
                let line = Value::of_bytes(Ty::Text, line.as_bytes());
                super::texts::temporary(Ty::str(), line)
            }
        })
    });
    it.option(found)
}

/// Methods of a slice's `Iter`.
pub const ITER: &[Row] = &[
    Row::new("count", &[], size, super::rows::len),
    Row::new("len", &[], size, super::rows::len),
    Row::new("nth", &[Index], option_of_item, |it| {
        let nth = it.position(0, 0)?;
        let elements = it.elements()?;
        let found = (nth < elements.reach()).then(|| elements.nth(it.target, nth));
        item(it, found.transpose()?)
    }),
    Row::new("next", &[], option_of_item, |it| {
        let elements = it.elements()?;
        let first = (!elements.is_empty()).then(|| elements.nth(it.target, 0));
        item(it, first.transpose()?)
    }),
    Row::new("last", &[], option_of_item, |it| {
        let elements = it.elements()?;
        let last = elements.len()?.checked_sub(1);
        item(
            it,
            last.map(|last| elements.nth(it.target, last)).transpose()?,
        )
    }),
    Row::new("sum", &[], number_type, |it| {
        folded(it, 0, i128::checked_add)
    }),
    Row::new("product", &[], number_type, |it| {
        folded(it, 1, i128::checked_mul)
    }),
    Row::new("min", &[], option_of_ordered, |it| {
        extreme(it, Ordering::is_lt)
    }),
    Row::new("max", &[], option_of_ordered, |it| {
        extreme(it, Ordering::is_ge)
    }),
];

/// Returns the type of the iterator over a slice.
fn iter(class: &Class) -> Option<Ty> {
    let of = class.element()?.clone();
    let name = format!("core::slice::iter::Iter<{}>", of.name());
    Some(of.slice().within(&name))
}

/// Returns the type of the elements of the slice in an iterator.
fn item_type(class: &Class) -> Option<Ty> {
    match crate::inspect::library::contents(class.element()?)? {
        Contents::Sequence(of) => Some(of),
        _ => None,
    }
}

fn option_of_item(class: &Class) -> Option<Ty> {
    Some(item_type(class)?.reference().option())
}

/// Returns the type of the least or greatest element, if their order is known.
fn option_of_ordered(class: &Class) -> Option<Ty> {
    let of = item_type(class)?;
    compare::comparable(&of, &of).then(|| option_of_item(class))?
}

fn option_of_char(_: &Class) -> Option<Ty> {
    rust::builtin("char").map(Ty::option)
}

fn option_of_byte(_: &Class) -> Option<Ty> {
    rust::builtin("u8").map(Ty::option)
}

fn of_text(it: &Call<'_>) -> Result<Value, Error> {
    let text = it.text()?;
    let len = text.bytes.len() as u64;
    Ok(match text.at {
        Some(at) => Value::fat_reference(it.returns.clone(), at, len),
        None => {
            let text = Value::of_bytes(Ty::Text, &text.bytes);
            super::texts::temporary(it.returns.clone(), text)
        }
    })
}

/// Returns the text that is iterated over.
fn text(it: &Call<'_>) -> Result<String, Error> {
    let bytes = it.text()?.bytes;
    String::from_utf8(bytes).map_err(|_| Error::eval("the text is not UTF-8"))
}

fn character(it: &Call<'_>, found: Option<char>) -> Result<Value, Error> {
    let ty = rust::builtin("char").ok_or_else(|| it.unreadable())?;
    let value = |char: char| Value::of_bytes(ty, &u32::from(char).to_le_bytes());
    it.option(found.map(value))
}

fn item(it: &Call<'_>, found: Option<Value>) -> Result<Value, Error> {
    let found = found.map(|value| it.reference(&value));
    it.option(found.transpose()?)
}

/// Returns the type of the elements if they are integers.
fn number_type(class: &Class) -> Option<Ty> {
    item_type(class).filter(|of| {
        matches!(of.shape(), Shape::Scalar(it)
            if matches!(it.kind, ScalarKind::Signed | ScalarKind::Unsigned) && it.size <= 8)
    })
}

/// Combines all elements.
fn folded(
    it: &Call<'_>,
    first: i128,
    combine: fn(i128, i128) -> Option<i128>,
) -> Result<Value, Error> {
    let overflow = || Error::eval(format!("`{}` overflows `{}`", it.name, it.returns.name()));
    let Shape::Scalar(scalar) = it.returns.shape() else {
        return Err(it.unreadable());
    };
    let fits = |value: i128| {
        let bits = scalar::mask(scalar.size) & value as u128;
        Int::new(bits, scalar.size, scalar.is_signed()).value() == value
    };
    let mut all = first;
    for element in it.elements()?.all(it.target)? {
        let value = number::integer(it.target, &element.value)?.value();
        all = combine(all, value)
            .filter(|it| fits(*it))
            .ok_or_else(overflow)?;
    }
    Ok(it.number(all as u128))
}

/// Returns the element that replaces all before it: by its order to the best one so far.
fn extreme(it: &Call<'_>, replaces: fn(Ordering) -> bool) -> Result<Value, Error> {
    let mut best: Option<Value> = None;
    for element in it.elements()?.all(it.target)? {
        let new = element.value;
        let better = match &best {
            None => true,
            Some(old) => {
                let order = compare(it.target, &new, old)?;
                replaces(order.ok_or_else(|| Error::eval("elements without an order"))?)
            }
        };
        if better {
            best = Some(new);
        }
    }
    item(it, best)
}
