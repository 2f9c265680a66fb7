//! Contiguous elements, read a block at a time.

use super::types::ArrayTy;
use super::{Target, Ty, Value, ValueLocation};
use crate::ids::error::Error;
use dwarf::LoadAddr;
use std::ops::Range;

/// Maximum number of bytes to read at once for a range of elements.
pub(super) const BLOCK: u64 = 1 << 20;

/// Number of elements between checks for a cancellation.
const CHECK_EVERY: u64 = 4096;

/// An array of elements.
pub(super) struct ElementArray {
    /// Location of the first element.
    pub place: ValueLocation,
    /// Type of an element.
    pub element: Ty,
    /// Distance between elements in bytes.
    pub stride: u64,
    /// Number of elements.
    pub count: u64,
}

impl ElementArray {
    pub(super) fn of_array(array: &ArrayTy, place: ValueLocation) -> ElementArray {
        ElementArray {
            place,
            element: array.element.clone(),
            stride: array.stride,
            count: array.count.unwrap_or(0),
        }
    }

    /// Returns the array of elements at an address.
    pub(super) fn in_memory(at: LoadAddr, element: Ty, count: u64) -> ElementArray {
        ElementArray {
            place: ValueLocation::Memory(at, None),
            stride: element.size().unwrap_or(0),
            element,
            count,
        }
    }

    /// Returns the elements of a range; simple ones are read a block at a time.
    pub(super) fn values(
        &self,
        target: &dyn Target,
        range: Range<u64>,
    ) -> Result<Vec<Value>, Error> {
        let mut values = Vec::new();
        let size = self.element.size().unwrap_or(0);
        let simple = self.element.is_simple() && (1..=16).contains(&size) && self.stride >= size;
        let per_block = if simple {
            (BLOCK / self.stride).max(1)
        } else {
            CHECK_EVERY
        };
        let mut index = range.start;
        let mut block = Vec::new();
        while index < range.end {
            if target.cancelled() {
                return Err(Error::Cancelled);
            }
            let count = per_block.min(range.end - index);
            let first = self.place.offset(index.wrapping_mul(self.stride));
            block.clear();
            if let (true, ValueLocation::Memory(addr, _)) = (simple, &first) {
                block.resize(((count - 1) * self.stride + size) as usize, 0);
                if target.memory().read(*addr, &mut block).is_err() {
                    block.clear();
                }
            }
            for nth in 0..count {
                let skip = nth.wrapping_mul(self.stride);
                let mut place = match &first {
                    ValueLocation::Memory(addr, _) => ValueLocation::Memory(*addr + skip, None),
                    other => other.offset(skip),
                };
                let bytes = block.get(skip as usize..skip.wrapping_add(size) as usize);
                if let (ValueLocation::Memory(addr, _), Some(bytes)) = (&place, bytes)
                    && !block.is_empty()
                {
                    place = ValueLocation::read_at(*addr, bytes);
                }
                values.push(Value::new(self.element.clone(), place));
            }
            index += count;
        }
        Ok(values)
    }
}

/// Returns a range of the elements of an array that starts at `place`.
///
/// # Errors
/// Cancelled.
pub fn elements(
    target: &dyn Target,
    place: &ValueLocation,
    element: &Ty,
    range: Range<u64>,
) -> Result<Vec<Value>, Error> {
    let row = ElementArray {
        place: place.clone(),
        element: element.clone(),
        stride: element.size().unwrap_or(0),
        count: range.end,
    };
    row.values(target, range)
}
