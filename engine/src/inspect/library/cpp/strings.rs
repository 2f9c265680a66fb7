//! Strings and views of them, of any type of characters.

use super::containers::{data, own_view};
use crate::arch::Arch;
use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::compare::class_name;
use crate::inspect::library::contents::Contents;
use crate::inspect::library::method::Parameter::{Index, Piece, Text};
use crate::inspect::library::method::{Class, Row, boolean, element_pointer, size};
use crate::inspect::library::text;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::{PointerKind, Shape, Ty, Value};
use crate::inspect::visualize::standard::{self, Library};
use crate::inspect::visualize::{self, libcxx, libstdcxx};
use dwarf::{Language, LoadAddr};
use std::sync::Arc;

/// `std::string::npos`.
const NPOS: u64 = u64::MAX;

/// The sum of a text and a string, which is the object. It is no name of C++.
pub const PREPENDED: &str = "operator+ of a text";

/// A string made of a text, which is the argument; the object is not read. It is no name of C++.
pub const MADE: &str = "basic_string of a text";

/// Methods of `std::string` and `std::string_view`.
pub const COMMON: &[Row] = &[
    Row::new("length", &[], size, |it| {
        Ok(it.number(u128::from(it.elements()?.len()?)))
    }),
    Row::new("find", &[Text, Index], size, |it| {
        search(it, Side::First, |at, part| at.starts_with(part))
    })
    .required(1),
    Row::new("rfind", &[Text, Index], size, |it| {
        search(it, Side::Last, |at, part| at.starts_with(part))
    })
    .required(1),
    Row::new("find_first_of", &[Text, Index], size, |it| {
        search(it, Side::First, is_one_of)
    })
    .required(1),
    Row::new("find_last_of", &[Text, Index], size, |it| {
        search(it, Side::Last, is_one_of)
    })
    .required(1),
    Row::new("find_first_not_of", &[Text, Index], size, |it| {
        search(it, Side::First, is_none_of)
    })
    .required(1),
    Row::new("find_last_not_of", &[Text, Index], size, |it| {
        search(it, Side::Last, is_none_of)
    })
    .required(1),
    Row::new("starts_with", &[Text], boolean, |it| {
        Ok(it.truth(units(it)?.starts_with(&part(it, 0)?)))
    }),
    Row::new("ends_with", &[Text], boolean, |it| {
        Ok(it.truth(units(it)?.ends_with(&part(it, 0)?)))
    }),
    Row::new("contains", &[Text], boolean, |it| {
        let part = part(it, 0)?;
        let all = units(it)?;
        Ok(it.truth(starts(&all).any(|at| all[at..].starts_with(&part))))
    }),
    Row::new("compare", &[Text], int, |it| {
        Ok(order(it, &units(it)?, &part(it, 0)?))
    }),
    Row::new("compare", &[Index, Index, Text], int, |it| {
        let all = units(it)?;
        let (from, to) = range(it, all.len() as u64)?;
        let own = &all[from as usize..to as usize];
        Ok(order(it, own, &part(it, 2)?))
    }),
];

/// Methods of `std::string`.
pub const OWNED: &[Row] = &[
    Row::new("c_str", &[], element_pointer, data),
    Row::new("operator+", &[Piece], text_object, |it| {
        Ok(joined(it, &units(it)?, &part(it, 0)?))
    }),
    Row::new(PREPENDED, &[Piece], text_object, |it| {
        Ok(joined(it, &part(it, 0)?, &units(it)?))
    }),
    Row::new(MADE, &[Piece], text_object, |it| {
        Ok(joined(it, &part(it, 0)?, &[]))
    }),
    Row::new("capacity", &[], size, capacity),
    Row::new("substr", &[Index, Index], text_object, |it| {
        let text = it.text()?;
        let size = text.unit.size() as u64;
        let (from, to) = range(it, text.bytes.len() as u64 / size)?;
        let bytes = &text.bytes[(from * size) as usize..(to * size) as usize];
        Ok(Value::of_bytes(it.returns.clone(), bytes))
    })
    .required(0),
];

/// Methods of `std::string_view`.
pub const VIEW: &[Row] = &[Row::new("substr", &[Index, Index], own_view, |it| {
    let len = it.elements()?.len()?;
    let (from, to) = range(it, len)?;
    let pointer = it.member(&[&["_M_str"], &["__data_"], &["__data"]])?;
    let at = visualize::word(it.target, &pointer)?;
    let count = it.member(&[&["_M_len"], &["__size_"], &["__size"]])?;
    let size = it.class.element().and_then(Ty::size).unwrap_or(1);
    view_of(
        it,
        &pointer,
        at.wrapping_add(from * size),
        &count,
        to - from,
    )
})
.required(0)];

/// Methods of `std::filesystem::path`.
pub const PATH: &[Row] = &[
    Row::new("string", &[], path_text, path_copy),
    Row::new("native", &[], path_string, |it| {
        it.held()?.ok_or_else(|| it.unreadable())
    }),
    Row::new("c_str", &[], path_pointer, |it| {
        let text = it.text()?;
        let at = text.at.ok_or_else(|| it.unreadable())?;
        Ok(it.number(u128::from(at.0)))
    }),
    Row::new("empty", &[], boolean, |it| {
        Ok(it.truth(it.text()?.bytes.is_empty()))
    }),
];

/// Returns `int`.
fn int(_: &Class) -> Option<Ty> {
    Some(Ty::Builtin(Scalar::new(ScalarKind::Signed, 4), "int"))
}

/// Returns the class of a text that the program does not have. Literals have bytes only, so other
/// strings are left to the program's own functions.
fn text_object(class: &Class) -> Option<Ty> {
    match &class.contents {
        Some(Contents::Text(Unit::Byte, _)) => {
            Some(Ty::text_object(class.ty.name(), Language::Cpp))
        }
        _ => None,
    }
}

fn path_string(class: &Class) -> Option<Ty> {
    class.element().map(Ty::strip)
}

fn path_text(class: &Class) -> Option<Ty> {
    Some(Ty::text_object(path_string(class)?.name(), Language::Cpp))
}

fn path_pointer(class: &Class) -> Option<Ty> {
    match crate::inspect::library::contents(&path_string(class)?)? {
        Contents::Text(_, unit) => Some(unit.pointer()),
        _ => None,
    }
}

fn path_copy(it: &Call<'_>) -> Result<Value, Error> {
    Ok(Value::of_bytes(it.returns.clone(), &it.text()?.bytes))
}

fn unit(it: &Call<'_>) -> Unit {
    match &it.class.contents {
        Some(Contents::Text(unit, _)) => *unit,
        _ => Unit::Byte,
    }
}

fn units(it: &Call<'_>) -> Result<Vec<u32>, Error> {
    let text = it.text()?;
    Ok(text.units(text.unit))
}

/// Returns an argument as units of the object's text: a string, or one character.
fn part(it: &Call<'_>, index: usize) -> Result<Vec<u32>, Error> {
    let value = it.argument(index)?;
    let value = crate::inspect::library::number::plain(it.target, value)?;
    if matches!(value.ty.shape(), Shape::Scalar(_)) {
        return Ok(vec![it.integer(index)?.bits as u32]);
    }
    let text = match text::Text::of(it.target, &value)? {
        Some(text) => text,
        None => it.text_of(index)?,
    };
    let mut units = text.units(unit(it));
    // A literal is passed by its address, so it ends at the first zero.
    let end = units.iter().position(|unit| *unit == 0);
    if let (Ty::Text, Some(end)) = (&value.ty, end) {
        units.truncate(end);
    }
    Ok(units)
}

/// Returns whether a string of bytes is added to a value: a string of the same class, a text, a character.
pub fn is_piece(class: &Class, argument: &Ty) -> bool {
    match argument.shape() {
        Shape::Text => true,
        Shape::Pointer(of, PointerKind::Raw) => text::is_narrow(&of),
        Shape::Array(array) => text::is_narrow(&array.element),
        Shape::Scalar(_) => &*argument.strip().name() == "char",
        Shape::Composite(_) => {
            let is_made = matches!(class.ty, Ty::Synthetic(_));
            class_name(argument) == "basic_string" && (is_made || argument.same_as(&class.ty))
        }
        _ => false,
    }
}

/// Returns the text of two parts.
fn joined(it: &Call<'_>, first: &[u32], second: &[u32]) -> Value {
    let bytes = first.iter().chain(second).map(|unit| *unit as u8);
    Value::of_bytes(it.returns.clone(), &bytes.collect::<Vec<u8>>())
}

/// Returns the positions in a text, with its end.
fn starts(all: &[u32]) -> std::ops::RangeInclusive<usize> {
    0..=all.len()
}

fn is_one_of(at: &[u32], part: &[u32]) -> bool {
    at.first().is_some_and(|unit| part.contains(unit))
}

fn is_none_of(at: &[u32], part: &[u32]) -> bool {
    at.first().is_some_and(|unit| !part.contains(unit))
}

/// The occurrence to find.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Last,
}

fn search(it: &Call<'_>, side: Side, fits: fn(&[u32], &[u32]) -> bool) -> Result<Value, Error> {
    let (all, part) = (units(it)?, part(it, 0)?);
    let is_it = |at: &usize| fits(&all[*at..], &part);
    let found = match side {
        Side::First => {
            let from = it.position(1, 0)?;
            let mut all = starts(&all).filter(|at| *at as u64 >= from);
            all.find(is_it)
        }
        Side::Last => {
            let to = it.position(1, NPOS)?;
            let mut all = starts(&all).rev().filter(|at| *at as u64 <= to);
            all.find(is_it)
        }
    };
    Ok(it.number(u128::from(found.map_or(NPOS, |at| at as u64))))
}

/// Returns the result of `compare`. The standard fixes only its sign. Where two bytes differ, the program gets the
/// value of its `memcmp`, which depends on the CPU: this is the most frequent one. Where one text begins with the
/// other, libstdc++ subtracts the lengths.
fn order(it: &Call<'_>, own: &[u32], other: &[u32]) -> Value {
    let (machine, name) = match &it.class.ty {
        Ty::Dwarf(class) => (class.module().machine(), Arc::from(&*class.ty.name)),
        made => (Arch::default().machine(), made.name()),
    };
    let library = standard::std_class(standard::before_arguments(&name));
    let of_libcxx = matches!(library, Some((Library::Libcxx, _)));
    let subtracts = unit(it) == Unit::Byte && machine.subtracts_bytes();
    let number = |number: u32| i64::from(number);
    let by = match own.iter().zip(other).find(|(a, b)| a != b) {
        Some((a, b)) if subtracts => number(*a) - number(*b),
        Some((a, b)) => (number(*a) - number(*b)).signum(),
        None => {
            let by = own.len() as i64 - other.len() as i64;
            if of_libcxx { by.signum() } else { by }
        }
    };
    it.number(by.clamp(i32::MIN.into(), i32::MAX.into()) as u128)
}

/// Returns the bounds of `substr(position, count)`.
fn range(it: &Call<'_>, len: u64) -> Result<(u64, u64), Error> {
    let from = it.position(0, 0)?;
    if from > len {
        return Err(Error::eval(format!(
            "position {from} is out of range: length is {len}"
        )));
    }
    let count = it.position(1, NPOS)?;
    Ok((from, from.saturating_add(count).min(len)))
}

/// Returns a view like the object, of other text: its two members with other values.
fn view_of(
    it: &Call<'_>,
    pointer: &Value,
    at: u64,
    count: &Value,
    len: u64,
) -> Result<Value, Error> {
    let (Some(start), Some(of_pointer), Some(of_count)) =
        (it.object.address(), pointer.address(), count.address())
    else {
        // Not in memory: the members are in the object's bytes, by the order of their names.
        return view_of_bytes(it, pointer, at, len);
    };
    let mut bytes = it.object.bytes(it.target)?.to_vec();
    for (place, word) in [(of_pointer, at), (of_count, len)] {
        put(&mut bytes, place.0.wrapping_sub(start.0), word).ok_or_else(|| it.unreadable())?;
    }
    Ok(Value::of_bytes(it.returns.clone(), &bytes))
}

fn view_of_bytes(it: &Call<'_>, pointer: &Value, at: u64, len: u64) -> Result<Value, Error> {
    let old = it.object.bytes(it.target)?;
    let word = visualize::word(it.target, pointer)?.to_le_bytes();
    let pointer_first = old.get(..8) == Some(&word[..]);
    let mut bytes = old.to_vec();
    let (first, second) = match pointer_first {
        true => (at, len),
        false => (len, at),
    };
    let done = put(&mut bytes, 0, first).and_then(|()| put(&mut bytes, 8, second));
    done.ok_or_else(|| it.unreadable())?;
    Ok(Value::of_bytes(it.returns.clone(), &bytes))
}

fn put(bytes: &mut [u8], offset: u64, word: u64) -> Option<()> {
    let start = usize::try_from(offset).ok()?;
    let part = bytes.get_mut(start..start.checked_add(8)?)?;
    part.copy_from_slice(&word.to_le_bytes());
    Some(())
}

fn capacity(it: &Call<'_>) -> Result<Value, Error> {
    let word = |value: &Value| visualize::word(it.target, value);
    if let Ok(pointer) = libstdcxx::text_of_string(it.target, it.object) {
        let at = word(&pointer)?;
        let Ok(local) = it.member(&[&["_M_local_buf"]]) else {
            // A string of the ABI before C++11 has its capacity in front of the text.
            let place = LoadAddr(at.wrapping_sub(16));
            let capacity = it.target.memory().read_uint(place, 8)?;
            return Ok(it.number(u128::from(capacity)));
        };
        if local.address() == Some(LoadAddr(at)) {
            let count = match local.ty.shape() {
                Shape::Array(array) => array.count.unwrap_or(16),
                _ => 16,
            };
            return Ok(it.number(u128::from(count.saturating_sub(1))));
        }
        let capacity = it.member(&[&["_M_allocated_capacity"]])?;
        return Ok(it.number(u128::from(word(&capacity)?)));
    }
    let capacity = libcxx::capacity_of_string(it.target, it.object)?;
    Ok(it.number(u128::from(capacity)))
}
