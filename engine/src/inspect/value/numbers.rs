//! Contiguous plain numbers, kept as bytes: cheap in any quantity.

use super::elements::{BLOCK, ElementArray};
use super::scalar::{self, NumberFormat, Scalar};
use super::{Child, ChildPath, Shape, Target, Ty, Value, ValueLocation};
use dwarf::{Language, LoadAddr};
use std::ops::Range;
use std::sync::Arc;

/// Some numbers of a row, read at once.
#[derive(Debug)]
pub struct Numbers {
    element: Ty,
    scalar: Scalar,
    language: Language,
    indices: Range<u64>,
    /// Address of the first one.
    at: LoadAddr,
    stride: u64,
    bytes: Vec<u8>,
}

impl Numbers {
    /// Reads numbers of a row; `None` if the elements are not numbers, are too far apart, or cannot
    /// all be read.
    pub(super) fn read(
        target: &dyn Target,
        row: &ElementArray,
        indices: Range<u64>,
    ) -> Option<Numbers> {
        let Shape::Scalar(scalar) = row.element.shape() else {
            return None;
        };
        let size = u64::from(scalar.size);
        let ValueLocation::Memory(at, _) = row.place.offset(indices.start.wrapping_mul(row.stride))
        else {
            return None;
        };
        let count = indices.end.checked_sub(indices.start)?;
        if !(1..=16).contains(&size) || row.stride < size || row.element.size() != Some(size) {
            return None;
        }
        let len = count.checked_sub(1)?.checked_mul(row.stride)?;
        let len = len.checked_add(size)?;
        if len > BLOCK {
            return None;
        }
        let mut bytes = vec![0; len as usize];
        target.memory().read(at, &mut bytes).ok()?;
        Some(Numbers {
            element: row.element.clone(),
            scalar,
            language: row.element.language(),
            indices,
            at,
            stride: row.stride,
            bytes,
        })
    }

    /// Returns their indices in the row.
    pub fn indices(&self) -> Range<u64> {
        self.indices.clone()
    }

    /// Returns the name of their type.
    pub fn type_name(&self) -> Arc<str> {
        self.element.name()
    }

    /// Returns the address of one of them.
    pub fn address(&self, index: u64) -> LoadAddr {
        self.at + (index - self.indices.start).wrapping_mul(self.stride)
    }

    /// Writes one of them as [`super::present`] would.
    pub fn write(&self, index: u64, numbers: NumberFormat, out: &mut String) {
        let bytes = self.bytes_of(index);
        scalar::write_scalar(out, self.scalar, bytes, self.language, numbers);
    }

    fn bytes_of(&self, index: u64) -> &[u8] {
        let skip = (index - self.indices.start) * self.stride;
        &self.bytes[skip as usize..][..usize::from(self.scalar.size)]
    }

    /// Returns them as values.
    pub fn children(&self) -> impl Iterator<Item = Child> {
        self.indices().map(|index| {
            let place = ValueLocation::read_at(self.address(index), self.bytes_of(index));
            Child {
                name: format!("[{index}]"),
                value: Ok(Value::new(self.element.clone(), place)),
                path: Some(ChildPath::Name),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::NoProcess;
    use crate::inspect::value::scalar::ScalarKind;

    #[test]
    fn sparse_numbers_allocate_nothing_between() {
        let int = Ty::Builtin(Scalar::new(ScalarKind::Signed, 4), "int");
        for stride in [1 << 30, 1 << 40, 1 << 52, u64::MAX / 1023, u64::MAX] {
            let row = ElementArray {
                place: ValueLocation::Memory(LoadAddr(0x1000), None),
                element: int.clone(),
                stride,
                count: 1024,
            };
            assert!(Numbers::read(&NoProcess, &row, 0..1024).is_none());
        }
    }
}
