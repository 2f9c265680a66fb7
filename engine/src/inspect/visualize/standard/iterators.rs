//! Iterators that are not pointers to elements.

use super::walks::BitRow;
use super::{Ask, either};
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Value, ValueLocation};
use crate::inspect::visualize::{View, word};
use dwarf::LoadAddr;

/// An iterator of `std::vector<bool>`: its current bit.
pub(in crate::inspect::visualize) fn bit(ask: &Ask<'_>) -> Result<View, Error> {
    let nth = either(ask.target, ask.value, &["_M_offset", "__ctz_"])?;
    let nth = word(ask.target, &nth)?;
    bit_of(ask, nth & 0xffff_ffff)
}

/// The reference type of `std::vector<bool>`: a bit selected by a mask.
pub(in crate::inspect::visualize) fn bit_reference(ask: &Ask<'_>) -> Result<View, Error> {
    let mask = either(ask.target, ask.value, &["_M_mask", "__mask_"])?;
    let mask = word(ask.target, &mask)?;
    bit_of(ask, u64::from(mask.trailing_zeros()))
}

fn bit_of(ask: &Ask<'_>, nth: u64) -> Result<View, Error> {
    let at = word(
        ask.target,
        &either(ask.target, ask.value, &["_M_p", "__seg_"])?,
    )?;
    if at == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let row = BitRow {
        at: LoadAddr(at),
        skip: 0,
    };
    Ok(View::Pointee(row.bit(nth)))
}

/// A reverse iterator over contiguous elements: its current element precedes the stored position.
pub(in crate::inspect::visualize) fn reverse(ask: &Ask<'_>) -> Result<View, Error> {
    let current = ask.need(&["current"])?;
    let pointer = match current.ty.shape() {
        Shape::Pointer(..) => current,
        _ => either(ask.target, &current, &["_M_current", "__i_", "__i"])?,
    };
    let Shape::Pointer(element, _) = pointer.ty.shape() else {
        return Err(Error::Unsupported("not a pointer".into()));
    };
    let behind = word(ask.target, &pointer)?;
    if behind == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let at = LoadAddr(behind.wrapping_sub(element.size().unwrap_or(0)));
    Ok(View::Pointee(Value::new(
        element,
        ValueLocation::Memory(at, None),
    )))
}
