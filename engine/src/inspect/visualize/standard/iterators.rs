//! Iterators that are not pointers to elements.

use super::no_pointer;
use super::walks::BitRow;
use super::{Instance, either};
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Value, ValueLocation};
use crate::inspect::visualize::{View, word};
use dwarf::LoadAddr;

/// An iterator of `std::vector<bool>`: its current bit.
pub(in crate::inspect::visualize) fn bit(instance: &Instance<'_>) -> Result<View, Error> {
    let nth = either(instance.target, instance.value, &["_M_offset", "__ctz_"])?;
    let nth = word(instance.target, &nth)?;
    bit_of(instance, nth & 0xffff_ffff)
}

/// The reference type of `std::vector<bool>`: a bit selected by a mask.
pub(in crate::inspect::visualize) fn bit_reference(instance: &Instance<'_>) -> Result<View, Error> {
    let mask = either(instance.target, instance.value, &["_M_mask", "__mask_"])?;
    let mask = word(instance.target, &mask)?;
    bit_of(instance, u64::from(mask.trailing_zeros()))
}

fn bit_of(instance: &Instance<'_>, nth: u64) -> Result<View, Error> {
    let at = word(
        instance.target,
        &either(instance.target, instance.value, &["_M_p", "__seg_"])?,
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
pub(in crate::inspect::visualize) fn reverse(instance: &Instance<'_>) -> Result<View, Error> {
    let current = instance.need(&["current"])?;
    let pointer = match current.ty.shape() {
        Shape::Pointer(..) => current,
        _ => either(instance.target, &current, &["_M_current", "__i_", "__i"])?,
    };
    let Shape::Pointer(element, _) = pointer.ty.shape() else {
        return Err(no_pointer());
    };
    let behind = word(instance.target, &pointer)?;
    if behind == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let at = LoadAddr(behind.wrapping_sub(element.size().unwrap_or(0)));
    Ok(View::Pointee(Value::new(
        element,
        ValueLocation::Memory(at, None),
    )))
}
