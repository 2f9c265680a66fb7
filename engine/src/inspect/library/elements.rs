//! Elements of containers, by their views.

use super::number::Wanted;
use super::text::unit_type;
use crate::ids::error::Error;
use crate::inspect::value::text::Unit;
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation};
use crate::inspect::visualize::{self, Collection, CollectionKind, Item, View};
use dwarf::LoadAddr;

/// Maximum number of elements to examine.
pub const MAX_EXAMINED: u64 = 1 << 16;

/// Maximum number of wrappers around a container: `std::stack`, `Cow`.
const WRAPPERS: usize = 8;

/// Elements of a value.
#[derive(Debug)]
pub enum Elements {
    /// Contiguous in memory.
    Row(LoadAddr, Ty, u64),
    /// In an array that need not be in memory.
    Array(ValueLocation, Ty, u64, u64),
    /// Found by a walk.
    All(Collection),
}

/// Returns the elements of a container, at most [`MAX_EXAMINED`].
///
/// # Errors
/// The value has none, or too many, or they cannot be read.
pub fn elements(target: &dyn Target, value: &Value) -> Result<Vec<Value>, Error> {
    let elements = Elements::of(target, value)?;
    if elements.len()? > MAX_EXAMINED {
        let why = format!("cannot search more than {MAX_EXAMINED} elements");
        return Err(Error::Unsupported(why));
    }
    let items = elements.all(target)?.into_iter();
    Ok(items.map(|item| item.value).collect())
}

/// Returns the entries of a map: keys and values, at most [`MAX_EXAMINED`].
///
/// # Errors
/// The value is no map, or has too many entries, or they cannot be read.
pub fn entries(target: &dyn Target, value: &Value) -> Result<Vec<(Value, Value)>, Error> {
    let items = Elements::of(target, value)?.all(target)?.into_iter();
    let entries: Option<Vec<_>> = items.map(|it| Some((it.key?, it.value))).collect();
    entries.ok_or_else(|| Error::eval(format!("`{}` is no map", value.ty.name())))
}

/// Returns contiguous elements: the address, the type of an element, and their number.
///
/// # Errors
/// The value has none, or they are not in memory.
pub fn row(target: &dyn Target, value: &Value) -> Result<(LoadAddr, Ty, u64), Error> {
    let not_in_memory = || Error::eval("the elements are not in memory");
    match Elements::of(target, value)? {
        Elements::Row(at, element, len) => Ok((at, element, len)),
        Elements::Array(place, element, len, _) => {
            let at = Value::new(element.clone(), place).address();
            Ok((at.ok_or_else(not_in_memory)?, element, len))
        }
        Elements::All(_) => Err(not_in_memory()),
    }
}

/// Returns the error of elements whose size is unknown.
pub(super) fn of_unknown_size(element: &Ty) -> Error {
    let name = element.name();
    Error::eval(format!(
        "unknown size of an element: `{name}` is only declared"
    ))
}

impl Elements {
    /// Returns the elements of a container.
    ///
    /// # Errors
    /// The value has none, or is inconsistent.
    pub fn of(target: &dyn Target, value: &Value) -> Result<Elements, Error> {
        let mut value = value.clone();
        for _ in 0..WRAPPERS {
            match visualize::view(target, &value) {
                Some(View::Sequence { at, element, len }) => {
                    return Ok(Elements::Row(at, element, len));
                }
                Some(View::Text { at, len, unit }) => {
                    let element = unit_type(&value.ty, unit);
                    return Ok(Elements::Row(at, element, len / unit.size() as u64));
                }
                Some(View::Collection(all)) => return Ok(Elements::All(all)),
                Some(View::Pointee(next) | View::Noted(next, _)) => value = next,
                Some(View::Invalid(why)) => return Err(Error::eval(why)),
                Some(View::Fields { .. } | View::Plain(_)) | None => match value.ty.shape() {
                    Shape::Array(array) => {
                        let count = array
                            .count
                            .ok_or_else(|| Error::eval("unknown number of elements"))?;
                        return Ok(Elements::Array(
                            value.place.clone(),
                            array.element.clone(),
                            count,
                            array.stride,
                        ));
                    }
                    Shape::Text => {
                        let element = Unit::Byte.element(value.ty.language());
                        let count = value.place.literal()?.len() as u64;
                        return Ok(Elements::Array(value.place.clone(), element, count, 1));
                    }
                    Shape::Pointer(of, _) => value = value.pointee(target, of)?,
                    _ => break,
                },
            }
        }
        Err(Error::eval(format!(
            "cannot read the elements of a `{}`",
            value.ty.name()
        )))
    }

    /// Returns the number of elements that can be indexed.
    pub fn reach(&self) -> u64 {
        match self {
            Elements::Row(.., len) | Elements::Array(_, _, len, _) => *len,
            Elements::All(all) => all.reach(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        match self {
            Elements::All(all) => all.len == 0,
            _ => self.reach() == 0,
        }
    }

    /// Returns the number of elements.
    ///
    /// # Errors
    /// The container does not store it, and has too many to count.
    pub fn len(&self) -> Result<u64, Error> {
        match self {
            Elements::All(all) => all.known_len(),
            _ => Ok(self.reach()),
        }
    }

    /// Returns whether the elements have keys.
    pub fn is_map(&self) -> bool {
        matches!(self, Elements::All(all) if all.kind == CollectionKind::Map)
    }

    /// Returns an element; its index is within reach.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn nth(&self, target: &dyn Target, index: u64) -> Result<Value, Error> {
        match self {
            Elements::Row(at, element, _) => {
                let size = match element.size() {
                    None if index > 0 => return Err(of_unknown_size(element)),
                    size => size.unwrap_or(0),
                };
                let addr = *at + index.wrapping_mul(size);
                let place = ValueLocation::Memory(addr, None);
                Ok(Value::new(element.clone(), place))
            }
            Elements::Array(place, element, _, stride) => Ok(Value::new(
                element.clone(),
                place.offset(index.wrapping_mul(*stride)),
            )),
            Elements::All(_) => self.item(target, index).map(|item| item.value),
        }
    }

    /// Returns an element with its key.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn item(&self, target: &dyn Target, index: u64) -> Result<Item, Error> {
        let Elements::All(all) = self else {
            let value = self.nth(target, index)?;
            return Ok(Item { key: None, value });
        };
        let (items, lost) = all.items(target, index..index + 1)?;
        match (items.into_iter().next(), lost) {
            (Some(item), _) => Ok(item),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::eval("element not found")),
        }
    }

    /// Returns the first elements, at most [`MAX_EXAMINED`].
    ///
    /// # Errors
    /// Cancelled, or they cannot be read.
    pub fn items(&self, target: &dyn Target) -> Result<Vec<Item>, Error> {
        if let Elements::All(all) = self {
            let (items, lost) = all.items(target, 0..all.len.min(MAX_EXAMINED))?;
            return lost.map_or(Ok(items), Err);
        }
        let mut items = Vec::new();
        for index in 0..self.reach().min(MAX_EXAMINED) {
            if index % 1024 == 0 && target.cancelled() {
                return Err(Error::Cancelled);
            }
            let value = self.nth(target, index)?;
            items.push(Item { key: None, value });
        }
        Ok(items)
    }

    /// Returns all elements.
    ///
    /// # Errors
    /// There are more than [`MAX_EXAMINED`].
    pub fn all(&self, target: &dyn Target) -> Result<Vec<Item>, Error> {
        match self.len()? {
            len @ 0..=MAX_EXAMINED => {
                let items = self.items(target)?;
                debug_assert!(items.len() as u64 <= len);
                Ok(items)
            }
            len => Err(Error::Unsupported(format!(
                "cannot examine {len} elements: at most {MAX_EXAMINED}"
            ))),
        }
    }

    /// Returns the value of a key, or the first element equal to `wanted`.
    ///
    /// # Errors
    /// Cancelled; the elements cannot be read; it is not among those that can be examined.
    pub fn find(&self, target: &dyn Target, wanted: &Wanted<'_>) -> Result<Option<Value>, Error> {
        if let (Elements::All(all), true) = (self, self.is_map()) {
            return all.find(target, |have| wanted.is(target, have));
        }
        let most = self.reach();
        if let Elements::All(_) = self {
            let mut items = self.items(target)?.into_iter().map(|it| it.value);
            if let Some(found) = items.find(|have| wanted.is(target, have)) {
                return Ok(Some(found));
            }
        } else {
            for index in 0..most.min(MAX_EXAMINED) {
                if index % 1024 == 0 && target.cancelled() {
                    return Err(Error::Cancelled);
                }
                let have = self.nth(target, index)?;
                if wanted.is(target, &have) {
                    return Ok(Some(have));
                }
            }
        }
        match most {
            0..=MAX_EXAMINED => Ok(None),
            len => Err(Error::eval(format!(
                "not found among the first {MAX_EXAMINED} of {len} elements"
            ))),
        }
    }
}
