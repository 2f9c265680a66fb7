//! Containers of contiguous elements or blocks of them.

use super::first;
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Target, Value, members};
use crate::inspect::visualize::standard::{self, Instance, either, walks};
use crate::inspect::visualize::{CollectionKind, View, need, word};
use dwarf::LoadAddr;

/// The representation of a `std::string`.
struct Rep {
    /// The members of a short and of a long string.
    short: Value,
    long: Value,
    is_long: bool,
    /// The length of a short string.
    len: u64,
    /// What a long string's stored capacity is multiplied by.
    unit: u64,
}

impl Rep {
    /// Short strings are stored in the object. The lowest or highest bit of the byte with a short
    /// string's length marks a long one; newer versions use bit-fields.
    fn of(target: &dyn Target, string: &Value) -> Result<Rep, Error> {
        let all = either(target, string, &["__rep_", "__r_"])?;
        let all = first(target, all)?;
        let (short, long) = (need(target, &all, &["__s"])?, need(target, &all, &["__l"])?);
        let size = need(target, &short, &["__size_"])?;
        let data = need(target, &short, &["__data_"])?;
        let (is_long, len, unit) = match members::find(target, &short, "__is_long_")? {
            Some(flag) => (word(target, &flag)? != 0, word(target, &size)?, 2),
            None => {
                let byte = word(target, &size)? & 0xff;
                if data.address() == short.address() {
                    (byte & 0x80 != 0, byte, 1)
                } else {
                    (byte & 1 != 0, byte >> 1, 1)
                }
            }
        };
        Ok(Rep {
            short,
            long,
            is_long,
            len,
            unit,
        })
    }
}

/// Returns the capacity of a `std::string`, without the terminator.
///
/// # Errors
/// The value is no string.
pub fn capacity_of_string(target: &dyn Target, string: &Value) -> Result<u64, Error> {
    let rep = Rep::of(target, string)?;
    if rep.is_long {
        let capacity = word(target, &need(target, &rep.long, &["__cap_"])?)?;
        // Without bit-fields, the flag is a bit of the capacity, which is even.
        let room = match rep.unit {
            1 => capacity & !(1 | 1 << 63),
            unit => capacity.saturating_mul(unit),
        };
        return Ok(room.saturating_sub(1));
    }
    match need(target, &rep.short, &["__data_"])?.ty.shape() {
        Shape::Array(array) => Ok(array.count.unwrap_or(23).saturating_sub(1)),
        _ => Err(Error::Unsupported("no short string".into())),
    }
}

/// Returns the member with the length of a `std::string`, and the number that it has for a length.
/// Whether the string is short does not change.
///
/// # Errors
/// The value is no string.
pub fn length_of_string(
    target: &dyn Target,
    string: &Value,
    len: u64,
) -> Result<(Value, u64), Error> {
    let rep = Rep::of(target, string)?;
    if rep.is_long {
        return Ok((need(target, &rep.long, &["__size_"])?, len));
    }
    let size = need(target, &rep.short, &["__size_"])?;
    let data = need(target, &rep.short, &["__data_"])?;
    let is_shifted = rep.unit == 1 && data.address() != rep.short.address();
    Ok((size, if is_shifted { len << 1 } else { len }))
}

/// `std::string`.
pub fn string(instance: &Instance<'_>) -> Result<View, Error> {
    let target = instance.target;
    let Rep {
        short,
        long,
        is_long,
        len,
        unit,
    } = Rep::of(target, instance.value)?;
    let data = need(target, &short, &["__data_"])?;
    if is_long {
        let pointer = need(target, &long, &["__data_"])?;
        let len = word(target, &need(target, &long, &["__size_"])?)?;
        let capacity = word(target, &need(target, &long, &["__cap_"])?)?;
        if len > capacity.saturating_mul(unit) {
            return Ok(View::Invalid(format!("<invalid length {len}>")));
        }
        return standard::text(target, &pointer, len);
    }
    match data.ty.shape() {
        Shape::Array(array) if array.count.is_none_or(|count| len < count) => {
            let at = data.address().ok_or(Error::OptimizedOut)?;
            standard::text_at(at, &array.element, len)
        }
        _ => Ok(View::Invalid(format!("<invalid length {len}>"))),
    }
}

pub fn string_view(instance: &Instance<'_>) -> Result<View, Error> {
    let pointer = either(instance.target, instance.value, &["__data_", "__data"])?;
    let len = either(instance.target, instance.value, &["__size_", "__size"])?;
    standard::text(instance.target, &pointer, word(instance.target, &len)?)
}

pub fn vector(instance: &Instance<'_>) -> Result<View, Error> {
    let start = instance.need(&["__begin_"])?;
    let Some(finish) = members::find(instance.target, instance.value, "__end_")? else {
        // `std::vector<bool>`: one bit each.
        let len = either(instance.target, instance.value, &["__size_"])?;
        let len = word(instance.target, &len)?;
        return Ok(standard::bits(
            LoadAddr(word(instance.target, &start)?),
            0,
            len,
        ));
    };
    let end = either(instance.target, instance.value, &["__end_cap_", "__cap_"])?;
    let end = word(instance.target, &first(instance.target, end)?)?;
    standard::between(
        instance.target,
        &start,
        word(instance.target, &finish)?,
        end,
    )
}

pub fn array(instance: &Instance<'_>) -> Result<View, Error> {
    let elements = instance.need(&["__elems_"])?;
    if standard::last_number(&instance.value.ty) == Some(0) {
        return Ok(View::Pointee(standard::row(
            instance.argument(0)?,
            0,
            elements.place,
        )));
    }
    Ok(View::Pointee(elements))
}

pub fn span(instance: &Instance<'_>) -> Result<View, Error> {
    let pointer = either(instance.target, instance.value, &["__data_", "__data"])?;
    let len = match either(instance.target, instance.value, &["__size_", "__size"]) {
        Ok(len) if matches!(len.ty.shape(), Shape::Scalar(_)) => word(instance.target, &len)?,
        _ => standard::extent(&instance.value.ty)?,
    };
    standard::sequence(instance.target, &pointer, len)
}

pub fn bitset(instance: &Instance<'_>) -> Result<View, Error> {
    let count = standard::extent(&instance.value.ty)?;
    if count == 0 {
        return Ok(View::Plain("0b".into()));
    }
    standard::bit_text(instance.target, &instance.need(&["__first_"])?, count)
}

/// Size in bytes of a block of small elements.
const BLOCK: u64 = 4096;

pub fn deque(instance: &Instance<'_>) -> Result<View, Error> {
    let map = instance.need(&["__map_", "__begin_"])?;
    let block = walks::target_type(&map)?;
    let element = match block.shape() {
        Shape::Pointer(element, _) => element,
        _ => return Err(Error::Unsupported("no blocks".into())),
    };
    let skip = instance.word(&["__start_"])?;
    let size = first(instance.target, instance.need(&["__size_"])?)?;
    let len = word(instance.target, &size)?;
    let (map, end) = (
        word(instance.target, &map)?,
        instance.word(&["__map_", "__end_"])?,
    );
    let Some(bytes) = element.size().map(|size| size.max(1)) else {
        return Ok(standard::of_unknown_size(&element));
    };
    let per_block = if bytes < 256 { BLOCK / bytes } else { 16 };
    let room = end.wrapping_sub(map) / 8;
    let fits = skip
        .checked_add(len)
        .is_some_and(|used| end >= map && used <= room.saturating_mul(per_block));
    if !fits {
        return Ok(View::Invalid(format!(
            "<invalid: {len} elements in {room} blocks>"
        )));
    }
    let walk = walks::Blocks {
        map: LoadAddr(map),
        per_block,
        skip,
        element,
    };
    Ok(standard::collection(CollectionKind::List, len, walk))
}

pub fn adaptor(instance: &Instance<'_>) -> Result<View, Error> {
    instance.need(&["c"]).map(View::Pointee)
}
