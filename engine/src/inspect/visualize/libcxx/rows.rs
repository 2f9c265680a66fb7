//! Containers of contiguous elements or blocks of them.

use super::first;
use crate::ids::error::Error;
use crate::inspect::value::{Shape, members};
use crate::inspect::visualize::standard::{self, Ask, either, walks};
use crate::inspect::visualize::{CollectionKind, View, need, word};
use dwarf::LoadAddr;

/// `std::string`. Short strings are stored in the object. The lowest or highest bit of the byte
/// with a short string's length marks a long one; newer versions use bit-fields.
pub fn string(ask: &Ask<'_>) -> Result<View, Error> {
    let target = ask.target;
    let mut all = either(target, ask.value, &["__rep_", "__r_"])?;
    all = first(target, all)?;
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

pub fn string_view(ask: &Ask<'_>) -> Result<View, Error> {
    let pointer = either(ask.target, ask.value, &["__data_", "__data"])?;
    let len = either(ask.target, ask.value, &["__size_", "__size"])?;
    standard::text(ask.target, &pointer, word(ask.target, &len)?)
}

pub fn vector(ask: &Ask<'_>) -> Result<View, Error> {
    let start = ask.need(&["__begin_"])?;
    let Some(finish) = members::find(ask.target, ask.value, "__end_")? else {
        // `std::vector<bool>`: one bit each.
        let len = either(ask.target, ask.value, &["__size_"])?;
        let len = word(ask.target, &len)?;
        return Ok(standard::bits(LoadAddr(word(ask.target, &start)?), 0, len));
    };
    let end = either(ask.target, ask.value, &["__end_cap_", "__cap_"])?;
    let end = word(ask.target, &first(ask.target, end)?)?;
    standard::between(ask.target, &start, word(ask.target, &finish)?, end)
}

pub fn array(ask: &Ask<'_>) -> Result<View, Error> {
    let elements = ask.need(&["__elems_"])?;
    if standard::last_number(&ask.value.ty) == Some(0) {
        return Ok(View::Pointee(standard::row(
            ask.argument(0)?,
            0,
            elements.place,
        )));
    }
    Ok(View::Pointee(elements))
}

pub fn span(ask: &Ask<'_>) -> Result<View, Error> {
    let pointer = either(ask.target, ask.value, &["__data_", "__data"])?;
    let len = match either(ask.target, ask.value, &["__size_", "__size"]) {
        Ok(len) if matches!(len.ty.shape(), Shape::Scalar(_)) => word(ask.target, &len)?,
        _ => standard::last_number(&ask.value.ty)
            .ok_or_else(|| Error::Unsupported("a span of unknown length".into()))?,
    };
    standard::sequence(ask.target, &pointer, len)
}

pub fn bitset(ask: &Ask<'_>) -> Result<View, Error> {
    let count = standard::last_number(&ask.value.ty)
        .ok_or_else(|| Error::Unsupported("a set of unknown size".into()))?;
    if count == 0 {
        return Ok(View::Plain("0b".into()));
    }
    standard::bit_text(ask.target, &ask.need(&["__first_"])?, count)
}

/// Size in bytes of a block of small elements.
const BLOCK: u64 = 4096;

pub fn deque(ask: &Ask<'_>) -> Result<View, Error> {
    let map = ask.need(&["__map_", "__begin_"])?;
    let block = walks::target_type(&map)?;
    let element = match block.shape() {
        Shape::Pointer(element, _) => element,
        _ => return Err(Error::Unsupported("no blocks".into())),
    };
    let skip = ask.word(&["__start_"])?;
    let size = first(ask.target, ask.need(&["__size_"])?)?;
    let len = word(ask.target, &size)?;
    let (map, end) = (word(ask.target, &map)?, ask.word(&["__map_", "__end_"])?);
    let bytes = element.size().unwrap_or(0).max(1);
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

pub fn adaptor(ask: &Ask<'_>) -> Result<View, Error> {
    ask.need(&["c"]).map(View::Pointee)
}
