//! Constants in attributes: values, discriminants and bounds.

use crate::entries::units::{Entries, Entry, Unit, Value};
use crate::file::R;
use gimli::Reader as _;

/// Maximum size in bytes of a value that is a constant in the debug info.
const MAX_IMPLICIT: u64 = 1 << 16;

pub(crate) fn fit(mut bytes: Vec<u8>, size: Option<u64>) -> Vec<u8> {
    if let Some(size) = size.filter(|size| *size <= MAX_IMPLICIT) {
        bytes.resize(size as usize, 0);
    }
    bytes
}

/// Returns the bytes of `DW_AT_const_value` (DWARF 5 §4.1.10), in the size of the type.
pub(crate) fn constant(
    info: &Entries,
    unit: &Unit,
    value: Value,
    size: Option<u64>,
) -> Option<Vec<u8>> {
    let signed = |value: i64| {
        let mut bytes = i128::from(value).to_le_bytes().to_vec();
        match size {
            Some(size) => bytes = fit(bytes, Some(size)),
            None => bytes.truncate(8),
        }
        bytes
    };
    Some(match value {
        // The width of the form does not determine the sign. The producer truncated the value, so
        // it is extended with zeros.
        Value::Data1(value) => fit(vec![value], size),
        Value::Data2(value) => fit(value.to_le_bytes().to_vec(), size),
        Value::Data4(value) => fit(value.to_le_bytes().to_vec(), size),
        Value::Data8(value) | Value::Udata(value) | Value::Addr(value) => {
            fit(value.to_le_bytes().to_vec(), size)
        }
        Value::Data16(value) => fit(value.to_le_bytes().to_vec(), size),
        Value::Sdata(value) => signed(value),
        Value::Block(block) => block.slice().to_vec(),
        Value::Exprloc(expression) => expression.0.slice().to_vec(),
        value => {
            let mut bytes = info.string(unit, value)?.to_vec();
            bytes.push(0);
            bytes
        }
    })
}

/// Returns an integer constant of a type of `size` bytes. A form as wide as the type contains the
/// bit pattern, a narrower one the value.
pub(crate) fn integer(value: &Value, size: Option<u64>, signed: bool) -> Option<i128> {
    let (bits, width) = match value {
        Value::Sdata(value) if signed || *value >= 0 => return Some(i128::from(*value)),
        // LLVM encodes unsigned 64-bit values as `DW_FORM_sdata`.
        Value::Sdata(value) => (u128::from(*value as u64), 8),
        Value::Udata(value) => (u128::from(*value), 8),
        Value::Data1(value) => (u128::from(*value), 1),
        Value::Data2(value) => (u128::from(*value), 2),
        Value::Data4(value) => (u128::from(*value), 4),
        Value::Data8(value) => (u128::from(*value), 8),
        Value::Data16(value) => (*value, 16),
        Value::Block(block) => (block_bits(block.slice())?, block.len() as u64),
        Value::Exprloc(expression) => {
            let bytes = expression.0.slice();
            (block_bits(bytes)?, bytes.len() as u64)
        }
        _ => return None,
    };
    let width = match size {
        Some(size @ 1..=16) if width >= size => size,
        _ if width == 16 => 16,
        _ => return i128::try_from(bits).ok(),
    };
    let shift = 128 - 8 * width as u32;
    let top = bits.checked_shl(shift)?;
    Some(if signed {
        (top as i128) >> shift
    } else {
        (top >> shift) as i128
    })
}

/// Returns the value of a discriminant that LLVM has written. Unlike gcc it writes a signed number in the
/// shortest form that keeps the sign: -1 as one byte.
pub(crate) fn discriminant_value(value: &Value, size: Option<u64>, signed: bool) -> Option<i128> {
    match value {
        Value::Data1(value) if signed => Some(i128::from(*value as i8)),
        Value::Data2(value) if signed => Some(i128::from(*value as i16)),
        Value::Data4(value) if signed => Some(i128::from(*value as i32)),
        value => integer(value, size, signed),
    }
}

fn block_bits(bytes: &[u8]) -> Option<u128> {
    let mut bits = [0; 16];
    bits.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u128::from_le_bytes(bits))
}

/// Returns the ranges of values of a variant, from `DW_DSC_label` and `DW_DSC_range` (DWARF 5
/// §5.7.10).
pub(crate) fn discriminant_list(mut block: R, signed: bool) -> Option<Vec<(i128, i128)>> {
    let mut values = Vec::new();
    let number = |block: &mut R| -> Option<i128> {
        if signed {
            block.read_sleb128().ok().map(i128::from)
        } else {
            block.read_uleb128().ok().map(i128::from)
        }
    };
    while !block.is_empty() {
        match block.read_u8().ok()? {
            0 => {
                let value = number(&mut block)?;
                values.push((value, value));
            }
            1 => values.push((number(&mut block)?, number(&mut block)?)),
            _ => return None,
        }
    }
    Some(values)
}

/// Returns the number of elements of an array dimension; `None` if unknown.
pub(crate) fn subrange_count(entry: &Entry) -> Option<u64> {
    if let Some(count) = entry.attr_value(gimli::DW_AT_count) {
        return udata(&count);
    }
    let upper = entry.attr_value(gimli::DW_AT_upper_bound)?;
    // An upper bound of −1 in the width of the form: the number of elements is unknown (`int a[0]`,
    // `int a[]`).
    let upper = match upper {
        Value::Data4(u32::MAX) | Value::Data8(u64::MAX) | Value::Udata(u64::MAX) => return None,
        upper => upper
            .udata_value()
            .and_then(|upper| i64::try_from(upper).ok())
            .or_else(|| upper.sdata_value())?,
    };
    let lower = match entry.attr_value(gimli::DW_AT_lower_bound) {
        Some(lower) => lower.sdata_value()?,
        None => 0,
    };
    let count = upper.checked_sub(lower)?.checked_add(1)?;
    // gcc writes −1 for `int a[0]` too, so a count of 0 is treated as unknown.
    u64::try_from(count).ok().filter(|count| *count > 0)
}

/// Returns whether a bound of an array dimension is computed when the program runs: by an expression,
/// or as the value of a variable.
pub(crate) fn has_dynamic_bound(entry: &Entry) -> bool {
    let bounds = [
        gimli::DW_AT_count,
        gimli::DW_AT_upper_bound,
        gimli::DW_AT_lower_bound,
    ];
    bounds.into_iter().any(|at| {
        let is_constant = |value: Value| udata(&value).is_some() || value.sdata_value().is_some();
        entry
            .attr_value(at)
            .is_some_and(|value| !is_constant(value))
    })
}

/// Returns an unsigned constant attribute. gimli represents file numbers as an index.
pub(crate) fn udata(value: &Value) -> Option<u64> {
    match value {
        Value::FileIndex(index) => Some(*index),
        value => value.udata_value(),
    }
}
