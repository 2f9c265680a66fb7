//! Type information without a process: members are looked up in a fake object by the rules for real
//! ones, and every read fails.

use super::code::{Address, Base};
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::ids::error::Error;
use crate::inspect::value::{self, RegisterPlace, Shape, Target, Value, members};
use crate::inspect::visualize::rust_std::tail;
use dwarf::{Language, LoadAddr, LoadBias, Memory, Module, ModuleMap, Unreadable};
use std::sync::Arc;

/// Address of the fake object: no user-space program has memory there.
pub(super) const NOWHERE: u64 = 0xffff_0000_0000_0000;

/// Returns the place of a fake object.
pub(super) fn nowhere() -> RuntimeLocation {
    RuntimeLocation::Memory(Address::of(Base::Zero, NOWHERE as i64))
}

/// A process without memory.
pub(crate) struct NoProcess;

impl Memory for NoProcess {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        Err(Unreadable {
            addr,
            len: buffer.len(),
        })
    }
}

impl ModuleMap for NoProcess {
    fn module_at(&self, _: LoadAddr) -> Option<(&Module, LoadBias)> {
        None
    }
}

impl Target for NoProcess {
    fn memory(&self) -> &dyn Memory {
        self
    }
    fn modules(&self) -> &dyn ModuleMap {
        self
    }
    fn module_at(&self, _: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        None
    }
    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        Vec::new()
    }
    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error> {
        Err(Error::Unwritable {
            addr,
            len: bytes.len(),
        })
    }
    fn write_register(&mut self, _: RegisterPlace, _: &[u8]) -> Result<(), Error> {
        Err(Error::OptimizedOut)
    }
}

/// Returns the part of `value` that `read` finds in a fake object of its type.
///
/// # Errors
/// The result depends on memory contents.
pub(super) fn part(
    value: &RuntimeValue,
    read: impl Fn(&dyn Target, &Value) -> Result<Option<Value>, Error>,
) -> Result<Option<RuntimeValue>, NotCompilable> {
    part_by(value, &read)
}

/// Finds a part in an object.
type Reader<'a> = dyn Fn(&dyn Target, &Value) -> Result<Option<Value>, Error> + 'a;

fn part_by(value: &RuntimeValue, read: &Reader<'_>) -> Result<Option<RuntimeValue>, NotCompilable> {
    if let RuntimeLocation::Choice(condition, both) = &value.place {
        let (yes, no) = (part_by(&both[0], read)?, part_by(&both[1], read)?);
        return Ok(match (yes, no) {
            (Some(yes), Some(no)) => Some(RuntimeValue::choice((**condition).clone(), yes, no)),
            _ => None,
        });
    }
    let object = Value::new(
        value.ty.clone(),
        value::ValueLocation::Memory(LoadAddr(NOWHERE), None),
    );
    let depends = |_| {
        NotCompilable::new(format!(
            "the layout of a `{}` depends on its contents",
            value.ty.name()
        ))
    };
    let Some(found) = read(&NoProcess, &object).map_err(depends)? else {
        return Ok(None);
    };
    let value::ValueLocation::Memory(addr, _) = found.place else {
        return RuntimeValue::constant(found).map(Some);
    };
    let size = value.ty.size().unwrap_or(0);
    let place = match addr.0.checked_sub(NOWHERE) {
        Some(offset) if offset <= size => value.place.clone().offset(offset)?,
        // A static member.
        None => RuntimeLocation::Memory(Address::of(Base::Zero, addr.0 as i64)),
        Some(_) => return Err("a member outside its object".into()),
    };
    Ok(Some(RuntimeValue {
        bits: found.bits,
        ..RuntimeValue::new(found.ty, place)
    }))
}

/// Returns a member by name.
///
/// # Errors
/// The result depends on memory contents.
pub(super) fn member(
    value: &RuntimeValue,
    name: &str,
) -> Result<Option<RuntimeValue>, NotCompilable> {
    match &value.place {
        RuntimeLocation::Choice(condition, both) => {
            let (yes, no) = (member(&both[0], name)?, member(&both[1], name)?);
            return Ok(match (yes, no) {
                (Some(yes), Some(no)) => Some(RuntimeValue::choice((**condition).clone(), yes, no)),
                _ => None,
            });
        }
        RuntimeLocation::Made(made) => return Ok(made.field(name).cloned()),
        _ => {}
    }
    if let Shape::Composite(class) = value.ty.shape()
        && class.language() == Language::Rust
        && tail::is_tail(&class, name)
    {
        return Err(NotCompilable::special_layout(&value.ty));
    }
    part(value, |target, object| members::find(target, object, name))
}
