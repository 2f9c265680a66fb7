//! Pointers, addresses and indices.

use super::evaluate::{At, DEREFERENCES, Evaluator, inner};
use super::tree::{Kind, Node};
use super::{convert, messages};
use crate::ids::error::Error;
use crate::inspect::library;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::types::ArrayTy;
use crate::inspect::value::{PointerKind, Shape, Ty, Value, ValueLocation};
use crate::inspect::visualize::{self, CollectionKind, View};
use dwarf::{Language, LoadAddr};

impl Evaluator<'_> {
    pub(super) fn deref(&mut self, inner: &Node, node: &Node) -> Result<Value, Error> {
        let value = self.evaluate(inner)?;
        self.deref_value(value, inner).at(node)
    }

    fn deref_value(&self, value: Value, inner: &Node) -> Result<Value, Error> {
        let target = self.context.as_target();
        let value = value.referent(target)?;
        match value.ty.shape() {
            Shape::Pointer(..) => Err(Error::eval(format!(
                "cannot dereference `{}`: unknown target type; cast it, for example `*(int *){0}`",
                self.source_text(inner)
            ))),
            Shape::Composite(_) => match visualize::view(target, &value) {
                Some(View::Pointee(next) | View::Noted(next, _)) => Ok(next),
                // `*slice`, `*text`, `*vec`: an unsized value exists only behind its pointer.
                Some(View::Text { .. } | View::Sequence { .. })
                    if value.ty.language() == Language::Rust =>
                {
                    Ok(value)
                }
                _ => match library::method(&value.ty, "operator*", &[]) {
                    Some(method) => method.evaluate(target, &value, &[]),
                    None => Err(self.no_pointer(inner, &value)),
                },
            },
            _ => Err(self.no_pointer(inner, &value)),
        }
    }

    fn no_pointer(&self, node: &Node, value: &Value) -> Error {
        Error::eval(format!(
            "cannot dereference `{}`: `{}` is not a pointer",
            self.source_text(node),
            value.ty.name()
        ))
    }

    pub(super) fn address_of(&mut self, inner: &Node, node: &Node) -> Result<Value, Error> {
        if let Some(pointer) = self.pointer_to_method(inner, node)? {
            return Ok(pointer);
        }
        let value = self.evaluate(inner)?;
        // `&v[1..4]` is the same as `v[1..4]`.
        if matches!(&self::inner(inner).kind, Kind::Index(_, index) if matches!(index.kind, Kind::Range(..)))
        {
            return Ok(value);
        }
        self.address_of_value(value, inner).at(node)
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
        let by = match &self::inner(index).kind {
            // `map[&1]`: the key itself need not be in memory.
            Kind::AddressOf(of) if self.language == Language::Rust => self.evaluate(of)?,
            _ => self.evaluate(index)?,
        };
        if let Some(found) = self.entry_of(&value, &by).at(node)? {
            return Ok(found);
        }
        let by = convert::index(self.operand_of(&by, index)?).at(index)?;
        self.element_of(value, by, object).at(node)
    }

    /// Returns the value of a key if `value` is a map.
    fn entry_of(&self, value: &Value, key: &Value) -> Result<Option<Value>, Error> {
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
                        Some(found) => Ok(Some(found)),
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
        Ok(None)
    }

    fn element_of(&self, value: Value, index: i64, object: &Node) -> Result<Value, Error> {
        let target = self.context.as_target();
        let mut value = value;
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
                    let element = unit.element(self.language);
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
                    // C allows indexing past the end (`char data[1]`).
                    let checked = self.language == Language::Rust
                        || !matches!(value.place, ValueLocation::Memory(..));
                    if checked {
                        within(array.count.unwrap_or(u64::MAX))?;
                    }
                    return Ok(element(&value, &array, index));
                }
                Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                    value = value.pointee(target, of)?;
                }
                Shape::Pointer(of, PointerKind::Raw) => {
                    let Some(size) = of.size() else {
                        return Err(Error::eval(format!(
                            "unknown size of the target of `{}`",
                            self.source_text(object)
                        )));
                    };
                    let at = LoadAddr(value.raw(target)? as u64);
                    let offset = (index as u64).wrapping_mul(size);
                    return Ok(Value::new(of, ValueLocation::Memory(at + offset, None)));
                }
                _ => break,
            }
        }
        let size = Ty::Builtin(Scalar::new(ScalarKind::Signed, 8), "long");
        let by = Value::of_bytes(size, &index.to_le_bytes());
        if let Some(method) = library::method(&value.ty, "operator[]", std::slice::from_ref(&by.ty))
        {
            return method.evaluate(target, &value, &[by]);
        }
        Err(Error::eval(format!(
            "`{}` ({}) cannot be indexed",
            self.source_text(object),
            value.ty.name()
        )))
    }
}

fn element(value: &Value, array: &ArrayTy, index: i64) -> Value {
    let offset = (index as u64).wrapping_mul(array.stride);
    Value::new(array.element.clone(), value.place.offset(offset))
}
