//! `Vec` and other ordered containers.

use super::{ISIZE_MAX, argument, deref, missing, named_in, number_in, pointer_in, some};
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation};
use crate::inspect::visualize::{Collection, CollectionKind, Item, View, Walk, need, word};
use dwarf::LoadAddr;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Returns contiguous elements, or `Invalid` if that many cannot exist.
pub(super) fn row(at: LoadAddr, element: Ty, len: u64, capacity: Option<u64>) -> View {
    let size = element.size().unwrap_or(0);
    let beyond = size > 0 && capacity.is_some_and(|capacity| len > capacity);
    let bytes = capacity.unwrap_or(len).max(len).checked_mul(size);
    if beyond || bytes.is_none_or(|bytes| bytes > ISIZE_MAX) {
        return View::Invalid(format!("<invalid length {len}>"));
    }
    if len > 0 && at.0 == 0 {
        return View::Invalid(format!("<invalid pointer 0x0, length {len}>"));
    }
    View::Sequence { at, element, len }
}

/// The contents of a `RawVec`.
struct Buffer {
    at: LoadAddr,
    element: Ty,
    capacity: Option<u64>,
}

impl Buffer {
    fn of(target: &dyn Target, value: &Value) -> Result<Buffer, Error> {
        let buffer = need(target, value, &["buf"])?;
        let pointer = pointer_in(target, &buffer)?;
        let element = match (argument(value, "T"), pointer.ty.shape()) {
            (Some(element), _) | (None, Shape::Pointer(element, _)) => element,
            _ => return Err(missing("element type")),
        };
        Ok(Buffer {
            at: LoadAddr(word(target, &pointer)?),
            element,
            capacity: number_in(target, &buffer, "cap").ok(),
        })
    }
}

/// `Vec<T>`: `len`, and somewhere in `buf` a pointer and `cap`.
pub(super) fn vec(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let len = word(target, &need(target, value, &["len"])?)?;
    let buffer = Buffer::of(target, value)?;
    Ok(row(buffer.at, buffer.element, len, buffer.capacity))
}

/// `BinaryHeap<T>`: a `Vec` in the heap's order.
pub(super) fn heap(target: &dyn Target, value: &Value) -> Result<View, Error> {
    Ok(View::Pointee(need(target, value, &["data"])?))
}

/// `VecDeque<T>`: `len` elements from `head` on, around the end of the buffer.
pub(super) fn deque(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let len = word(target, &need(target, value, &["len"])?)?;
    let head = word(target, &need(target, value, &["head"])?)?;
    let Buffer {
        at,
        element,
        capacity,
    } = Buffer::of(target, value)?;
    let size = element.size().unwrap_or(0);
    let capacity = match (capacity, size) {
        (_, 0) => return Ok(row(at, element, len, None)),
        (Some(capacity), _) => capacity,
        (None, _) => return Err(missing("capacity")),
    };
    if head > capacity || head == capacity && len > 0 {
        return Ok(View::Invalid(format!(
            "<invalid: begins at {head}, has room for {capacity}>"
        )));
    }
    let whole = row(at, element.clone(), len, Some(capacity));
    if !matches!(whole, View::Sequence { .. }) {
        return Ok(whole);
    }
    let before_end = capacity - head;
    if len <= before_end {
        // Contiguous; the buffer fits into memory, so nothing overflows.
        return Ok(row(at + head.wrapping_mul(size), element, len, None));
    }
    Ok(View::Collection(Collection {
        len,
        more: false,
        kind: CollectionKind::List,
        walk: Rc::new(Ring {
            at,
            element,
            size,
            head,
            len,
            capacity,
        }),
    }))
}

#[derive(Debug)]
struct Ring {
    at: LoadAddr,
    element: Ty,
    size: u64,
    head: u64,
    len: u64,
    capacity: u64,
}

impl Walk for Ring {
    fn walk(
        &self,
        _: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        for index in start..self.len {
            // Both are less than the capacity, which is less than 2^63.
            let place = (self.head + index) % self.capacity;
            let at = self.at + place.wrapping_mul(self.size);
            let value = Value::new(self.element.clone(), ValueLocation::Memory(at, None));
            if visit(Item { key: None, value }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// `LinkedList<T>`: `head`, `len`; nodes with `next`, `prev` and `element`.
pub(super) fn linked_list(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let len = word(target, &need(target, value, &["len"])?)?;
    let head = need(target, value, &["head"])?;
    let empty = some(target, &head)?.is_none();
    if empty != (len == 0) {
        let has = if empty { "no" } else { "a" };
        return Ok(View::Invalid(format!(
            "<invalid: {len} elements and {has} first one>"
        )));
    }
    Ok(View::Collection(Collection {
        len,
        more: false,
        kind: CollectionKind::List,
        walk: Rc::new(Links { head }),
    }))
}

#[derive(Debug)]
struct Links {
    head: Value,
}

impl Walk for Links {
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut link = self.head.clone();
        let mut previous = 0;
        let mut index = 0u64;
        while let Some(pointer) = some(target, &link)? {
            if index.is_multiple_of(1024) && target.cancelled() {
                return Err(Error::Cancelled);
            }
            let node = deref(target, &pointer_in(target, &pointer)?)?;
            let back = some(target, &named_in(target, &node, "prev")?)?;
            let back = back.map_or(Ok(0), |back| word(target, &back))?;
            if back != previous {
                return Err(Error::Unsupported(
                    "<invalid: a node's `prev` is not its predecessor>".into(),
                ));
            }
            previous = node.address().unwrap_or_default().0;
            link = need(target, &node, &["next"])?;
            let value = need(target, &node, &["element"])?;
            if index >= start && visit(Item { key: None, value }).is_break() {
                break;
            }
            index += 1;
        }
        Ok(())
    }
}
