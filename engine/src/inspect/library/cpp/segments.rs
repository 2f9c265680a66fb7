//! Iterators of libstdc++ that are a place in one of several pieces of memory: those of `std::deque`, whose
//! elements are in blocks that a table lists, and of `std::vector<bool>`, whose elements are bits of words.

use super::containers::element_size;
use super::iterators::difference;
use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::compare::class_name;
use crate::inspect::library::method::Parameter::{Index, Own};
use crate::inspect::library::method::{Row, element, own};
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{Target, Ty, Value, ValueLocation};
use dwarf::LoadAddr;
use std::cmp::Ordering;

/// Size of an iterator of `std::deque`: four pointers.
const DEQUE_BYTES: u64 = 32;
/// Size of an iterator of `std::vector<bool>`: a pointer, and the number of the bit.
const BIT_BYTES: u64 = 16;

/// Operators of the iterators of `std::deque`.
pub const DEQUE: &[Row] = &[
    Row::new("operator+", &[Index], own, |it| {
        Ok(Place::of(it, it.object)?
            .moved(it, by(it, false)?)?
            .value(it))
    }),
    Row::new("operator-", &[Index], own, |it| {
        Ok(Place::of(it, it.object)?
            .moved(it, by(it, true)?)?
            .value(it))
    }),
    Row::new("operator-", &[Own], difference, |it| {
        let from = Place::of(it, it.argument(0)?)?;
        let distance = Place::of(it, it.object)?.behind(&from);
        Ok(it.number(distance as u128))
    }),
    Row::new("operator[]", &[Index], element, |it| {
        let place = Place::of(it, it.object)?.moved(it, by(it, false)?)?;
        let place = ValueLocation::Memory(LoadAddr(place.current), None);
        Ok(Value::new(it.returns.clone(), place))
    }),
];

/// Operators of the iterators of `std::vector<bool>`, in both libraries.
pub const BITS: &[Row] = &[Row::new("operator-", &[Own], difference, |it| {
    let from = bit(it, it.argument(0)?)?;
    let to = bit(it, it.object)?;
    Ok(it.number((to - from) as u128))
})];

/// Returns the name of an iterator's class without the mark of constant ones, if it is one of these.
pub fn family(ty: &Ty) -> Option<&'static str> {
    let name = class_name(ty);
    let (family, size) = match &*name {
        "_Deque_iterator" => ("_Deque_iterator", DEQUE_BYTES),
        "_Bit_iterator" | "_Bit_const_iterator" => ("_Bit_iterator", BIT_BYTES),
        "__bit_iterator" => ("__bit_iterator", BIT_BYTES),
        _ => return None,
    };
    (ty.size() == Some(size)).then_some(family)
}

/// Compares two iterators of one container.
///
/// # Errors
/// One of them cannot be read.
pub fn compare(target: &dyn Target, left: &Value, right: &Value) -> Result<Ordering, Error> {
    // Of a deque first the entry of the table, then the element; of bits first the word.
    let key = |iterator: &Value| {
        let bytes = iterator.bytes(target)?;
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(|it| it.first_chunk::<8>());
            word.map(|word| u64::from_le_bytes(*word))
                .ok_or(Error::OptimizedOut)
        };
        Ok(match bytes.len() as u64 {
            DEQUE_BYTES => (word(24)?, word(0)?),
            _ => (word(0)?, word(8)? & u64::from(u32::MAX)),
        })
    };
    let (left, right): (Result<(u64, u64), Error>, _) = (key(left), key(right));
    Ok(left?.cmp(&right?))
}

/// What an iterator of `std::deque` consists of: four pointers.
#[derive(Clone, Copy)]
struct Place {
    current: u64,
    /// The block of the current element.
    first: u64,
    last: u64,
    /// The entry of the block in the table.
    entry: u64,
    /// Size of an element in bytes.
    size: i64,
    /// Elements of a block.
    block: i64,
}

impl Place {
    fn of(it: &Call<'_>, iterator: &Value) -> Result<Place, Error> {
        let bytes = iterator.bytes(it.target)?;
        let word = |nth: usize| {
            let word = bytes.get(nth * 8..)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*word))
        };
        let found = || {
            let [current, first, last, entry] = [word(0)?, word(1)?, word(2)?, word(3)?];
            let size = i64::try_from(element_size(it).ok()?).ok()?;
            let block = i64::try_from(last.checked_sub(first)?)
                .ok()?
                .checked_div(size)?;
            let is_inside = block > 0 && (first..=last).contains(&current);
            is_inside.then_some(Place {
                current,
                first,
                last,
                entry,
                size,
                block,
            })
        };
        found().ok_or_else(|| it.unreadable())
    }

    /// The index of the current element in its block.
    fn index(&self) -> i64 {
        (self.current - self.first) as i64 / self.size
    }

    fn moved(self, it: &Call<'_>, by: i64) -> Result<Place, Error> {
        let index = self
            .index()
            .checked_add(by)
            .ok_or_else(|| it.unreadable())?;
        let blocks = index.div_euclid(self.block);
        let mut place = self;
        if blocks != 0 {
            place.entry = self.entry.wrapping_add_signed(blocks.wrapping_mul(8));
            place.first = it.target.memory().read_uint(LoadAddr(place.entry), 8)?;
            place.last = place.first.wrapping_add(self.last - self.first);
        }
        let within = index.rem_euclid(self.block) * self.size;
        place.current = place.first.wrapping_add_signed(within);
        Ok(place)
    }

    /// Returns how many elements this is behind another place of the same deque.
    fn behind(&self, other: &Place) -> i64 {
        let blocks = self.entry.wrapping_sub(other.entry) as i64 / 8;
        let whole = blocks.wrapping_mul(self.block);
        whole.wrapping_add(self.index()).wrapping_sub(other.index())
    }

    fn value(&self, it: &Call<'_>) -> Value {
        let words = [self.current, self.first, self.last, self.entry];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Value::new(it.returns.clone(), ValueLocation::Bytes(Bytes::new(&bytes)))
    }
}

/// Returns the distance that the first argument is.
fn by(it: &Call<'_>, back: bool) -> Result<i64, Error> {
    let by = it.integer(0)?.value();
    let by = if back { by.checked_neg() } else { Some(by) };
    let by = by.and_then(|by| i64::try_from(by).ok());
    by.ok_or_else(|| it.unreadable())
}

/// Returns the number of the bit that an iterator refers to, counted from address zero.
fn bit(it: &Call<'_>, iterator: &Value) -> Result<i128, Error> {
    let bytes = iterator.bytes(it.target)?;
    let word = bytes.first_chunk::<8>().map(|it| u64::from_le_bytes(*it));
    let offset = bytes.get(8..).and_then(|it| it.first_chunk::<4>());
    let offset = offset.map(|it| u32::from_le_bytes(*it));
    let (word, offset) = word.zip(offset).ok_or_else(|| it.unreadable())?;
    Ok(i128::from(word) * 8 + i128::from(offset))
}
