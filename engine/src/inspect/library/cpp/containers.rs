//! Vectors, lists, maps and their adaptors.

use crate::ids::error::Error;
use crate::inspect::library::call::{Call, empty};
use crate::inspect::library::contents::Contents;
use crate::inspect::library::elements::of_unknown_size;
use crate::inspect::library::method::Parameter::{Index, Key};
use crate::inspect::library::method::{Class, Row, boolean, element, element_pointer, own, size};
use crate::inspect::value::{Shape, Ty, Value};
use crate::inspect::visualize::{self, libcxx};
use dwarf::LoadAddr;

/// Containers that know the number of their elements.
pub const COUNTED: &[Row] = &[
    Row::new("size", &[], size, |it| {
        Ok(it.number(u128::from(it.elements()?.len()?)))
    }),
    Row::new("empty", &[], boolean, is_empty),
];

/// Containers with a first and a last element.
pub const ENDS: &[Row] = &[
    Row::new("front", &[], element, front),
    Row::new("back", &[], element, back),
];

/// Containers with elements by index.
pub const INDEXED: &[Row] = &[
    Row::new("at", &[Index], element, at),
    Row::new("operator[]", &[Index], element, at),
];

/// Contiguous elements.
pub const ROW: &[Row] = &[
    Row::new("size", &[], size, |it| {
        Ok(it.number(u128::from(it.elements()?.len()?)))
    }),
    Row::new("empty", &[], boolean, is_empty),
    Row::new("front", &[], element, front),
    Row::new("back", &[], element, back),
    Row::new("at", &[Index], element, at),
    Row::new("operator[]", &[Index], element, at),
    Row::new("data", &[], row_pointer, data),
];

pub const VECTOR: &[Row] = &[Row::new("capacity", &[], size, capacity)];

pub const SPAN: &[Row] = &[Row::new("size_bytes", &[], size, |it| {
    let elements = it.elements()?;
    let size = element_size(it)?;
    Ok(it.number(u128::from(elements.len()?) * u128::from(size)))
})];

pub const FORWARD: &[Row] = &[
    Row::new("empty", &[], boolean, is_empty),
    Row::new("front", &[], element, front),
];

pub const TOP: &[Row] = &[Row::new("top", &[], element_within, |it| {
    // The top of a heap is its first element, that of a stack the last.
    match &*it.class.name {
        "priority_queue" => front(it),
        _ => back(it),
    }
})];

pub const QUEUE: &[Row] = &[
    Row::new("front", &[], element_within, front),
    Row::new("back", &[], element_within, back),
];

pub const MAP: &[Row] = &[
    Row::new("at", &[Key], element, at_key),
    Row::new("operator[]", &[Key], element, at_key),
];

pub const KEYS: &[Row] = &[
    Row::new("count", &[Key], size, |it| {
        let wanted = it.wanted()?;
        let items = it.elements()?.all(it.target)?;
        let keys = items.into_iter().map(|item| item.key.unwrap_or(item.value));
        let count = keys.filter(|key| wanted.is(it.target, key)).count();
        Ok(it.number(count as u128))
    }),
    Row::new("contains", &[Key], boolean, |it| {
        let found = it.elements()?.find(it.target, &it.wanted()?)?;
        Ok(it.truth(found.is_some()))
    }),
];

/// Returns the type of the elements of the container inside an adaptor.
fn element_within(class: &Class) -> Option<Ty> {
    match &class.contents {
        Some(Contents::Wrapped(container)) => match crate::inspect::library::contents(container)? {
            Contents::Sequence(of) | Contents::List(of) => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the pointer to an element; bits have none.
fn row_pointer(class: &Class) -> Option<Ty> {
    match &class.contents {
        Some(Contents::Sequence(_) | Contents::Text(..)) => element_pointer(class),
        _ => None,
    }
}

/// Returns the size of an element.
///
/// # Errors
/// It is unknown.
pub(super) fn element_size(it: &Call<'_>) -> Result<u64, Error> {
    let element = it.class.element().unwrap_or(&it.class.ty);
    element.size().ok_or_else(|| of_unknown_size(element))
}

fn is_empty(it: &Call<'_>) -> Result<Value, Error> {
    Ok(it.truth(it.elements()?.is_empty()))
}

/// Returns an element with the type that the class declares.
fn typed(it: &Call<'_>, value: Value) -> Value {
    Value {
        ty: it.returns.clone(),
        ..value
    }
}

pub(super) fn front(it: &Call<'_>) -> Result<Value, Error> {
    let elements = it.elements()?;
    match elements.is_empty() {
        true => Err(empty()),
        false => Ok(typed(it, elements.nth(it.target, 0)?)),
    }
}

fn back(it: &Call<'_>) -> Result<Value, Error> {
    let elements = it.elements()?;
    match elements.len()? {
        0 => Err(empty()),
        len => Ok(typed(it, elements.nth(it.target, len - 1)?)),
    }
}

fn at(it: &Call<'_>) -> Result<Value, Error> {
    let elements = it.elements()?;
    let index = it.index_below(elements.reach())?;
    Ok(typed(it, elements.nth(it.target, index)?))
}

fn at_key(it: &Call<'_>) -> Result<Value, Error> {
    let found = it.elements()?.find(it.target, &it.wanted()?)?;
    let found = found.ok_or_else(|| Error::eval("key not found"))?;
    Ok(typed(it, found))
}

pub(super) fn data(it: &Call<'_>) -> Result<Value, Error> {
    use crate::inspect::library::elements::Elements;
    let at = match it.elements()? {
        Elements::Row(at, ..) => Some(at),
        Elements::Array(place, element, ..) => Value::new(element, place).address(),
        Elements::All(_) => None,
    };
    let at: LoadAddr = at.ok_or_else(|| Error::eval("the elements are not in memory"))?;
    Ok(it.number(u128::from(at.0)))
}

/// Returns the capacity of a vector: of one of bits, in bits.
fn capacity(it: &Call<'_>) -> Result<Value, Error> {
    let word = |value: &Value| visualize::word(it.target, value);
    if matches!(it.class.contents, Some(Contents::List(_))) {
        // libc++ stores the number of words.
        if let Ok(words) = it.member(&[&["__cap_"], &["__cap_alloc_"]]) {
            let words = libcxx::first(it.target, words)?;
            return Ok(it.number(u128::from(word(&words)?) * 64));
        }
        let start = it.member(&[&["_M_impl", "_M_start", "_M_p"]])?;
        let end = it.member(&[&["_M_impl", "_M_end_of_storage"]])?;
        return Ok(it.number(u128::from(word(&end)?.wrapping_sub(word(&start)?)) * 8));
    }
    let start = it.member(&[&["_M_impl", "_M_start"], &["__begin_"]])?;
    let end = it.member(&[
        &["_M_impl", "_M_end_of_storage"],
        &["__end_cap_"],
        &["__cap_"],
    ])?;
    let end = libcxx::first(it.target, end)?;
    let bytes = word(&end)?.wrapping_sub(word(&start)?);
    let count = match bytes {
        0 => 0,
        bytes => bytes / element_size(it)?.max(1),
    };
    Ok(it.number(u128::from(count)))
}

/// Returns whether a class has elements that are pointers to characters' text; keeps the row of a
/// string's own methods apart.
pub(super) fn is_string(class: &Class) -> bool {
    matches!(class.contents, Some(Contents::Text(..)))
        && matches!(class.ty.shape(), Shape::Composite(_))
}

/// Returns the type of the class itself if it is a view of a string.
pub(super) fn own_view(class: &Class) -> Option<Ty> {
    is_string(class).then(|| own(class)).flatten()
}
