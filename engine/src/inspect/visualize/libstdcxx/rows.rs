//! Containers of contiguous elements or blocks of them.

use super::declared;
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Target, Value, members};
use crate::inspect::visualize::standard::{self, Instance, walks};
use crate::inspect::visualize::{CollectionKind, View, need, word};
use dwarf::LoadAddr;

/// Returns the pointer of a string to its text. If the library has the string's functions, clang
/// omits the class of the pointer, `_Alloc_hider`, and leaves it to the library's debug info: it
/// consists of an empty allocator and the pointer.
///
/// # Errors
/// The value is not a string.
pub fn text_of_string(target: &dyn Target, string: &Value) -> Result<Value, Error> {
    let hider = need(target, string, &["_M_dataplus"])?;
    if let Some(pointer) = members::find(target, &hider, "_M_p")? {
        return Ok(pointer);
    }
    let local = need(target, string, &["_M_local_buf"])?;
    match local.ty.shape() {
        Shape::Array(array) => Ok(Value::new(array.element.clone().pointer(), hider.place)),
        _ => Err(Error::Unsupported("no member `_M_p`".into())),
    }
}

pub fn string(instance: &Instance<'_>) -> Result<View, Error> {
    if let Shape::Composite(class) = instance.value.ty.shape()
        && let Some(character) = declared::character(&class)
    {
        return declared::string(instance, &character);
    }
    let pointer = text_of_string(instance.target, instance.value)?;
    if members::find(instance.target, instance.value, "_M_string_length")?.is_none() {
        return shared_string(instance.target, &pointer);
    }
    let len = instance.word(&["_M_string_length"])?;
    // Short strings are stored in the object; the capacity is the size of the buffer without the
    // terminator.
    let local = instance.need(&["_M_local_buf"])?;
    let capacity = if local.address() == Some(LoadAddr(word(instance.target, &pointer)?)) {
        match local.ty.shape() {
            Shape::Array(array) => array.count.unwrap_or(1).saturating_sub(1),
            _ => 15,
        }
    } else {
        instance.word(&["_M_allocated_capacity"])?
    };
    if len > capacity {
        return Ok(View::Invalid(format!("<invalid length {len}>")));
    }
    standard::text(instance.target, &pointer, len)
}

/// Strings before C++11 (`_GLIBCXX_USE_CXX11_ABI=0`): length, capacity and reference count precede
/// the text.
fn shared_string(target: &dyn Target, pointer: &Value) -> Result<View, Error> {
    let at = word(target, pointer)?;
    let before = |bytes: u64| {
        target
            .memory()
            .read_uint(LoadAddr(at.wrapping_sub(bytes)), 8)
    };
    let (len, capacity) = (before(24)?, before(16)?);
    if len > capacity || capacity > standard::PTRDIFF_MAX {
        return Ok(View::Invalid(format!("<invalid length {len}>")));
    }
    standard::text(target, pointer, len)
}

pub fn string_view(instance: &Instance<'_>) -> Result<View, Error> {
    standard::text(
        instance.target,
        &instance.need(&["_M_str"])?,
        instance.word(&["_M_len"])?,
    )
}

pub fn vector(instance: &Instance<'_>) -> Result<View, Error> {
    let start = instance.need(&["_M_impl", "_M_start"])?;
    if matches!(start.ty.shape(), Shape::Composite(_)) {
        return bits(instance);
    }
    let finish = instance.word(&["_M_impl", "_M_finish"])?;
    let end = instance.word(&["_M_impl", "_M_end_of_storage"])?;
    standard::between(instance.target, &start, finish, end)
}

/// `std::vector<bool>`.
fn bits(instance: &Instance<'_>) -> Result<View, Error> {
    let place = |which: &str| -> Result<(u64, u64), Error> {
        let word = instance.word(&["_M_impl", which, "_M_p"])?;
        Ok((
            word,
            instance.word(&["_M_impl", which, "_M_offset"])? & 0xffff_ffff,
        ))
    };
    let (start, skip) = place("_M_start")?;
    let (finish, over) = place("_M_finish")?;
    let end = instance.word(&["_M_impl", "_M_end_of_storage"])?;
    let len = finish
        .wrapping_sub(start)
        .checked_mul(8)
        .map(|bits| bits.wrapping_add(over));
    match len.and_then(|len| len.checked_sub(skip)) {
        Some(len) if finish >= start && finish <= end && over < 64 && skip < 64 => {
            Ok(standard::bits(LoadAddr(start), skip, len))
        }
        _ => Ok(View::Invalid(format!(
            "<invalid: from {start:#x} to {finish:#x}, storage ends at {end:#x}>"
        ))),
    }
}

pub fn array(instance: &Instance<'_>) -> Result<View, Error> {
    let elements = instance.need(&["_M_elems"])?;
    match elements.ty.shape() {
        Shape::Array(_) => Ok(View::Pointee(elements)),
        // The storage of a zero-size array is an empty struct.
        _ => Ok(View::Pointee(standard::row(
            instance.argument(0)?,
            0,
            elements.place,
        ))),
    }
}

pub fn span(instance: &Instance<'_>) -> Result<View, Error> {
    let pointer = instance.need(&["_M_ptr"])?;
    let len = match instance.word(&["_M_extent", "_M_extent_value"]) {
        Ok(len) => len,
        Err(_) => standard::extent(&instance.value.ty)?,
    };
    standard::sequence(instance.target, &pointer, len)
}

pub fn bitset(instance: &Instance<'_>) -> Result<View, Error> {
    let count = standard::extent(&instance.value.ty)?;
    if count == 0 {
        return Ok(View::Plain("0b".into()));
    }
    standard::bit_text(instance.target, &instance.need(&["_M_w"])?, count)
}

pub fn deque(instance: &Instance<'_>) -> Result<View, Error> {
    let at = |iterator: &str, member: &str| instance.word(&["_M_impl", iterator, member]);
    let element = walks::target_type(&instance.need(&["_M_impl", "_M_start", "_M_cur"])?)?;
    let Some(size) = element.size().map(|size| size.max(1)) else {
        return Ok(standard::of_unknown_size(&element));
    };
    let first = at("_M_start", "_M_first")?;
    let block = at("_M_start", "_M_last")?.wrapping_sub(first);
    let map = at("_M_start", "_M_node")?;
    let skip = at("_M_start", "_M_cur")?.wrapping_sub(first);
    let blocks = at("_M_finish", "_M_node")?.wrapping_sub(map) / 8;
    let last = at("_M_finish", "_M_cur")?.wrapping_sub(at("_M_finish", "_M_first")?);
    let per_block = block / size;
    let len = blocks
        .checked_mul(per_block)
        .and_then(|len| len.checked_add(last / size))
        .and_then(|len| len.checked_sub(skip / size));
    match len {
        Some(len) if per_block > 0 && skip < block && last < block => {
            let walk = walks::Blocks {
                map: LoadAddr(map),
                per_block,
                skip: skip / size,
                element,
            };
            Ok(standard::collection(CollectionKind::List, len, walk))
        }
        _ => Ok(View::Invalid(format!(
            "<invalid: blocks of {block:#x} bytes from {map:#x}>"
        ))),
    }
}

pub fn adaptor(instance: &Instance<'_>) -> Result<View, Error> {
    instance.need(&["c"]).map(View::Pointee)
}
