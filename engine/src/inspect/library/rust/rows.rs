//! Slices, vectors, deques, lists and heaps.

use super::{option_of_reference, reference};
use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::compare;
use crate::inspect::library::contents::Contents;
use crate::inspect::library::elements::Elements;
use crate::inspect::library::method::Parameter::{Index, Item, Row as OfElements, Text};
use crate::inspect::library::method::{Class, Row, boolean, element_const_pointer, size};
use crate::inspect::library::text;
use crate::inspect::value::{Ty, Value};
use crate::inspect::visualize::{self, rust_std};
use std::cmp::Ordering;
use std::ops::Range;

/// Methods of slices, and of what dereferences to them.
pub const SLICE: &[Row] = &[
    Row::new("len", &[], size, len),
    Row::new("is_empty", &[], boolean, is_empty),
    Row::new("first", &[], option_of_reference, first),
    Row::new("last", &[], option_of_reference, last),
    Row::new("get", &[Index], option_of_reference, get),
    Row::new("split_first", &[], option_of_split, |it| {
        split(it, |len| (0, 1..len))
    }),
    Row::new("split_last", &[], option_of_split, |it| {
        split(it, |len| (len - 1, 0..len - 1))
    }),
    Row::new("contains", &[Item], boolean, contains),
    Row::new("starts_with", &[OfElements], boolean, |it| {
        ends(it, |own, part| own.get(..part.len()))
    }),
    Row::new("ends_with", &[OfElements], boolean, |it| {
        ends(it, |own, part| {
            own.len()
                .checked_sub(part.len())
                .and_then(|from| own.get(from..))
        })
    }),
    Row::new("binary_search", &[Item], search_result, binary_search),
    Row::new("is_sorted", &[], boolean, |it| {
        let items = it.elements()?.all(it.target)?;
        for pair in items.windows(2) {
            if let [a, b] = pair
                && !matches!(
                    compare(it.target, &a.value, &b.value)?,
                    Some(Ordering::Less | Ordering::Equal)
                )
            {
                return Ok(it.truth(false));
            }
        }
        Ok(it.truth(true))
    }),
    Row::new("join", &[Text], joined_type, |it| {
        let separator = it.text_of(0)?.bytes;
        let mut joined = Vec::new();
        for (index, item) in it.elements()?.all(it.target)?.iter().enumerate() {
            if index > 0 {
                joined.extend_from_slice(&separator);
            }
            let text = text::Text::of(it.target, &item.value)?;
            joined.extend_from_slice(&text.ok_or_else(|| it.unreadable())?.bytes);
        }
        Ok(Value::of_bytes(it.returns.clone(), &joined))
    }),
    Row::new("as_ptr", &[], element_const_pointer, |it| {
        let (at, _) = place(it)?;
        Ok(it.number(u128::from(at)))
    }),
    Row::new("clone", &[], super::shared, |it| Ok(it.object.clone())),
    Row::new("as_slice", &[], slice, as_slice),
    Row::new("as_ref", &[], slice, as_slice),
];

/// Methods of `Vec`.
pub const VEC: &[Row] = &[Row::new("capacity", &[], size, capacity)];

/// Methods of `VecDeque`.
pub const DEQUE: &[Row] = &[
    Row::new("get", &[Index], option_of_reference, get),
    Row::new("capacity", &[], size, capacity),
];

/// Methods of `VecDeque` and `LinkedList`.
pub const ENDS: &[Row] = &[
    Row::new("len", &[], size, len),
    Row::new("is_empty", &[], boolean, is_empty),
    Row::new("front", &[], option_of_reference, first),
    Row::new("back", &[], option_of_reference, last),
    Row::new("contains", &[Item], boolean, contains),
];

/// Methods of `BinaryHeap`.
pub const HEAP: &[Row] = &[
    Row::new("len", &[], size, len),
    Row::new("is_empty", &[], boolean, is_empty),
    Row::new("peek", &[], top_type, first),
];

/// Returns `Option<(&T, &[T])>`.
fn option_of_split(class: &Class) -> Option<Ty> {
    Some(Ty::tuple(vec![reference(class)?, slice(class)?]).option())
}

/// Parts one element from the others; `parts` is given the number of elements, which is not 0.
fn split(it: &Call<'_>, parts: fn(u64) -> (u64, Range<u64>)) -> Result<Value, Error> {
    let (at, len) = place(it)?;
    if len == 0 {
        return it.option(None);
    }
    let element = it.class.element().ok_or_else(|| it.unreadable())?;
    let size = element.size().unwrap_or(0);
    let (one, rest) = parts(len);
    let words = [
        at.wrapping_add(one * size),
        at.wrapping_add(rest.start * size),
        rest.end - rest.start,
    ];
    let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
    let (Some(one), Some(others)) = (reference(it.class), slice(it.class)) else {
        return Err(it.unreadable());
    };
    it.option(Some(Value::of_bytes(Ty::tuple(vec![one, others]), &bytes)))
}

/// Returns `&[T]`.
fn slice(class: &Class) -> Option<Ty> {
    class.element().cloned().map(Ty::slice)
}

/// Returns `String` for elements that are texts.
fn joined_type(class: &Class) -> Option<Ty> {
    let name = "alloc::string::String".into();
    compare::is_text(class.element()?).then(|| Ty::text_object(name, dwarf::Language::Rust))
}

/// Returns `Option<&T>` of the elements of the vector in a heap.
fn top_type(class: &Class) -> Option<Ty> {
    match crate::inspect::library::contents(class.element()?)? {
        Contents::Sequence(of) => Some(of.reference().option()),
        _ => None,
    }
}

/// Returns `Result<usize, usize>`.
fn search_result(class: &Class) -> Option<Ty> {
    reference(class)?;
    Some(size(class)?.result(size(class)?))
}

pub(super) fn len(it: &Call<'_>) -> Result<Value, Error> {
    Ok(it.number(u128::from(it.elements()?.len()?)))
}

pub(super) fn is_empty(it: &Call<'_>) -> Result<Value, Error> {
    Ok(it.truth(it.elements()?.is_empty()))
}

/// Returns `Some` of the reference to an element, or `None` if there is none.
fn nth(it: &Call<'_>, elements: &Elements, index: Option<u64>) -> Result<Value, Error> {
    let index = index.filter(|index| *index < elements.reach());
    let found = index.map(|index| it.reference(&elements.nth(it.target, index)?));
    it.option(found.transpose()?)
}

fn first(it: &Call<'_>) -> Result<Value, Error> {
    nth(it, &it.elements()?, Some(0))
}

fn last(it: &Call<'_>) -> Result<Value, Error> {
    let elements = it.elements()?;
    let index = elements.len()?.checked_sub(1);
    nth(it, &elements, index)
}

fn get(it: &Call<'_>) -> Result<Value, Error> {
    let index = it.position(0, 0)?;
    nth(it, &it.elements()?, Some(index))
}

pub(super) fn contains(it: &Call<'_>) -> Result<Value, Error> {
    let found = it.elements()?.find(it.target, &it.wanted()?)?;
    Ok(it.truth(found.is_some()))
}

fn ends(
    it: &Call<'_>,
    part: for<'a> fn(&'a [Value], &[Value]) -> Option<&'a [Value]>,
) -> Result<Value, Error> {
    let values = |elements: Elements| -> Result<Vec<Value>, Error> {
        let items = elements.all(it.target)?;
        Ok(items.into_iter().map(|item| item.value).collect())
    };
    let own = values(it.elements()?)?;
    let wanted = values(Elements::of(it.target, it.argument(0)?)?)?;
    let Some(part) = part(&own, &wanted) else {
        return Ok(it.truth(false));
    };
    for (have, wanted) in part.iter().zip(&wanted) {
        if compare(it.target, have, wanted)? != Some(Ordering::Equal) {
            return Ok(it.truth(false));
        }
    }
    Ok(it.truth(true))
}

fn binary_search(it: &Call<'_>) -> Result<Value, Error> {
    let elements = it.elements()?;
    let wanted = it.argument(0)?;
    let (mut low, mut high) = (0, elements.len()?);
    let found = |name: &str, at: u64| {
        let index = Value::of_bytes(
            size(it.class).ok_or_else(|| it.unreadable())?,
            &at.to_le_bytes(),
        );
        Value::variant(it.target, it.returns.clone(), name, Some(&index))
    };
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(it.target, &elements.nth(it.target, middle)?, wanted)? {
            Some(Ordering::Equal) => return found("Ok", middle),
            Some(Ordering::Less) => low = middle + 1,
            _ => high = middle,
        }
    }
    found("Err", low)
}

/// Returns the address and the number of contiguous elements.
pub(super) fn place(it: &Call<'_>) -> Result<(u64, u64), Error> {
    let elements = it.elements()?;
    let at = match &elements {
        Elements::Row(at, ..) => Some(*at),
        Elements::Array(place, element, ..) => Value::new(element.clone(), place.clone()).address(),
        Elements::All(_) => None,
    };
    let at = at.ok_or_else(|| Error::eval("the elements are not in memory"))?;
    Ok((at.0, elements.reach()))
}

fn as_slice(it: &Call<'_>) -> Result<Value, Error> {
    // `vec![1, 2]`
    if let Elements::Array(place, element, count, _) = it.elements()?
        && Value::new(element.clone(), place.clone())
            .address()
            .is_none()
    {
        let array = Value::new(element.array(count), place);
        return Ok(super::texts::temporary(it.returns.clone(), array));
    }
    let (at, len) = place(it)?;
    Ok(Value::fat_reference(
        it.returns.clone(),
        dwarf::LoadAddr(at),
        len,
    ))
}

/// Returns the capacity of a `Vec`, or of one inside: that of elements without a size is unlimited.
pub(super) fn capacity(it: &Call<'_>) -> Result<Value, Error> {
    if it.class.element().and_then(Ty::size) == Some(0) {
        return Ok(it.number(u128::from(u64::MAX)));
    }
    let buffer = rust_std::named_in(it.target, it.object, "buf")?;
    let capacity = rust_std::named_in(it.target, &buffer, "cap")?;
    let capacity = rust_std::innermost(it.target, capacity)?;
    Ok(it.number(u128::from(visualize::word(it.target, &capacity)?)))
}
