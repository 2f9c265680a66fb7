//! Type information without a process: members are looked up in a fake object by the rules for real
//! ones, and every read fails.

use super::code::{Address, Base};
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::expr::evaluate::DEREFERENCES;
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{self, RegisterPlace, Shape, Target, Ty, Value, members};
use dwarf::{LoadAddr, LoadBias, Memory, Module, ModuleMap, Unreadable};
use std::sync::Arc;

/// Address of the fake object: no user-space program has memory there.
const NOWHERE: u64 = 0xffff_0000_0000_0000;

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
    read: impl FnOnce(&dyn Target, &Value) -> Result<Option<Value>, Error>,
) -> Result<Option<RuntimeValue>, NotCompilable> {
    let object = Value::new(
        value.ty.clone(),
        value::ValueLocation::Memory(LoadAddr(NOWHERE), None),
    );
    let depends = |_| {
        NotCompilable(format!(
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

/// Returns whether objects of a type, or the targets of such pointers, may have a member; `true` if
/// contents decide.
pub(crate) fn may_have_member(ty: &Ty, name: &str) -> bool {
    let mut ty = ty.clone();
    for _ in 0..DEREFERENCES {
        match ty.shape() {
            Shape::Pointer(of, _) => ty = of,
            _ => break,
        }
    }
    match ty.shape() {
        Shape::Composite(class) if class.visualizer().is_none() => {
            let object = Value::new(
                ty.clone(),
                value::ValueLocation::Memory(LoadAddr(NOWHERE), None),
            );
            !matches!(members::find(&NoProcess, &object, name), Ok(None))
        }
        Shape::Composite(_) => true,
        _ => false,
    }
}

/// Returns the type of a member by name, if the types alone determine it.
pub(crate) fn member_type(ty: &Ty, name: &str) -> Option<Ty> {
    let object = plain_object(ty)?;
    let member = members::find(&NoProcess, &object, name).ok()??;
    Some(member.ty)
}

/// Returns the members of objects of a type, or of the targets of such pointers, if it cannot have
/// one named `name`.
pub(crate) fn surely_lacks_member(ty: &Ty, name: &str) -> Option<Vec<String>> {
    let object = plain_object(ty)?;
    // `object->name` is a member of what the class's operator returns.
    if let Shape::Composite(class) = object.ty.shape()
        && class.language() == dwarf::Language::Cpp
    {
        let methods = class.module().methods(class.ty.id);
        if methods.iter().any(|it| it.name == "operator->") {
            return None;
        }
    }
    let found = members::find(&NoProcess, &object, name);
    let lacks = matches!(found, Ok(None)) && !name.contains("::");
    lacks.then(|| members::names(&NoProcess, &object))
}

/// Returns an object of a type, or of the target of such pointers, if its members depend only on
/// the type.
fn plain_object(ty: &Ty) -> Option<Value> {
    let mut ty = ty.clone();
    for _ in 0..DEREFERENCES {
        match ty.shape() {
            Shape::Pointer(of, _) => ty = of,
            Shape::Composite(class) if is_plain(&class, 0) => {
                let place = value::ValueLocation::Memory(LoadAddr(NOWHERE), None);
                return Some(Value::new(ty, place));
            }
            _ => return None,
        }
    }
    None
}

fn is_plain(class: &DwarfTy, depth: usize) -> bool {
    /// Maximum nesting of bases.
    const NESTING: usize = 16;
    let Some(composite) = class.composite() else {
        return false;
    };
    let shown_as_it_is = class.visualizer().is_none() && !composite.closure;
    // The target of a trait object, or an object with virtual functions, may have a dynamic type
    // with more members.
    let is_known = !composite.declaration
        && !composite.polymorphic
        && composite.variants.is_none()
        && composite.members.iter().all(|it| it.name != "vtable");
    let mut bases = composite.bases.iter().map(|base| class.related(base.ty));
    shown_as_it_is
        && is_known
        && depth < NESTING
        && bases.all(
            |base| matches!(base.shape(), Shape::Composite(base) if is_plain(&base, depth + 1)),
        )
}

/// Returns a member by name.
///
/// # Errors
/// The result depends on memory contents.
pub(super) fn member(
    value: &RuntimeValue,
    name: &str,
) -> Result<Option<RuntimeValue>, NotCompilable> {
    part(value, |target, object| members::find(target, object, name))
}
