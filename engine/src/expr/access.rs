//! Pointers, addresses and indices.

use super::evaluate::{At, DEREFERENCES, Evaluator, error, inner};
use super::messages;
use super::tree::{Kind, Node};
use crate::ids::error::Error;
use crate::inspect::library;
use crate::inspect::value::{PointerKind, Shape, Value, ValueLocation};
use crate::inspect::visualize::{self, CollectionKind, View};
use dwarf::{Language, LoadAddr};

impl Evaluator<'_> {
    /// Evaluates `&v[1..4]`, which is the same as `v[1..4]`.
    pub(super) fn address_of(&mut self, of: &Node, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(of)?;
        match &inner(of).kind {
            Kind::Index(_, index) if matches!(index.kind, Kind::Range(..)) => {
                Ok(match (value.ty.shape(), value.address()) {
                    (Shape::Array(array), Some(addr)) if self.language == Language::Rust => {
                        let len = array.count.unwrap_or(0);
                        Value::fat_reference(array.element.clone().slice(), addr, len)
                    }
                    _ => value,
                })
            }
            _ => self.address_of_value(value, of).at(node),
        }
    }

    pub(super) fn address_of_value(&self, value: Value, inner: &Node) -> Result<Value, Error> {
        let value = value.referent(self.context.as_target())?;
        if value.bits.is_some() {
            return Err(Error::eval("cannot take the address of a bit-field"));
        }
        match &value.place {
            ValueLocation::Memory(addr, _) => Ok(Value::pointer_to(value.ty.clone(), *addr)),
            ValueLocation::Register { .. } => Err(Error::eval(format!(
                "cannot take the address of `{}`: stored in a register",
                self.source_text(inner)
            ))),
            ValueLocation::OptimizedOut => Err(Error::OptimizedOut),
            _ => Err(Error::eval(format!(
                "cannot take the address of `{}`: not in memory",
                self.source_text(inner)
            ))),
        }
    }

    pub(super) fn index(
        &mut self,
        object: &Node,
        index: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        let value = self.evaluate(object)?;
        if let Kind::Range(from, to, inclusive) = &index.kind {
            return self.slice(value, (from, to, *inclusive), node);
        }
        Err(error("its type is unknown", &node.span))
    }

    /// Returns the value of a key if `value` is a map.
    pub(super) fn entry_of(&self, value: &Value, key: &Value) -> Result<Value, Error> {
        let target = self.context.as_target();
        let mut value = value.referent(target)?;
        for _ in 0..DEREFERENCES {
            match visualize::view(target, &value) {
                Some(View::Pointee(next) | View::Noted(next, _)) => {
                    value = next;
                    continue;
                }
                Some(View::Collection(map)) if map.kind == CollectionKind::Map => {
                    let key = library::Wanted::of(target, key)?;
                    let is_it = |have: &Value| key.is(target, have);
                    return match map.find(target, is_it)? {
                        Some(found) => Ok(found),
                        None => Err(Error::eval(messages::KEY_NOT_FOUND)),
                    };
                }
                _ => {}
            }
            match value.ty.shape() {
                Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                    value = value.pointee(target, of)?;
                }
                _ => break,
            }
        }
        Err(Error::eval(messages::KEY_NOT_FOUND))
    }

    /// Returns an element of a container by its position.
    pub(super) fn element_at(&self, value: &Value, index: i64) -> Result<Value, Error> {
        let target = self.context.as_target();
        let mut value = value.clone();
        for _ in 0..DEREFERENCES {
            let within = |len: u64| {
                u64::try_from(index)
                    .ok()
                    .filter(|index| *index < len)
                    .ok_or_else(|| Error::eval(messages::index_range(index, len)))
            };
            match visualize::view(target, &value) {
                Some(View::Sequence { at, element, len }) => {
                    let offset = within(len)?.wrapping_mul(element.size().unwrap_or(0));
                    return Ok(Value::new(
                        element,
                        ValueLocation::Memory(at + offset, None),
                    ));
                }
                Some(View::Text { at, len, unit }) => {
                    let size = unit.size() as u64;
                    let offset = within(len / size)? * size;
                    let element = library::unit_type(&value.ty, unit);
                    return Ok(Value::new(
                        element,
                        ValueLocation::Memory(at + offset, None),
                    ));
                }
                Some(View::Pointee(next) | View::Noted(next, _)) => {
                    value = next;
                    continue;
                }
                Some(View::Invalid(why)) => return Err(Error::eval(why)),
                Some(View::Collection(collection)) => {
                    let index = within(collection.reach())?;
                    let (items, lost) = collection.items(target, index..index + 1)?;
                    return match (items.into_iter().next(), lost) {
                        (Some(item), _) => Ok(item.value),
                        (None, Some(error)) => Err(error),
                        (None, None) => Err(Error::eval(messages::ELEMENT_NOT_FOUND)),
                    };
                }
                Some(View::Fields { .. } | View::Plain(_)) | None => {}
            }
            match value.ty.shape() {
                Shape::Array(array) => {
                    let offset = within(array.count.unwrap_or(u64::MAX))?;
                    let place = value.place.offset(offset.wrapping_mul(array.stride));
                    return Ok(Value::new(array.element.clone(), place));
                }
                // The elements of `std::unique_ptr<T[]>`.
                Shape::Pointer(of, PointerKind::Raw) => {
                    let size = of.size().unwrap_or(0);
                    let at = LoadAddr(value.raw(target)? as u64);
                    let offset = (index as u64).wrapping_mul(size);
                    return Ok(Value::new(of, ValueLocation::Memory(at + offset, None)));
                }
                Shape::Pointer(of, _) => value = value.pointee(target, of)?,
                _ => break,
            }
        }
        Err(Error::eval(format!(
            "a `{}` cannot be indexed",
            value.ty.name()
        )))
    }
}
