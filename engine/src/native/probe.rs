//! What types alone say of values: members are looked up in an object that is nowhere, by the
//! same rules as in real ones, and whatever would have to be read does not succeed.

use super::code::{Address, Base};
use super::{Found, Place, Reason};
use crate::error::Error;
use crate::eval::run::DEREFERENCES;
use crate::value::types::DwarfTy;
use crate::value::{self, RegisterPlace, Shape, Target, Ty, Value, members};
use dwarf::{LoadAddr, LoadBias, Memory, Module, ModuleMap, Unreadable};
use std::sync::Arc;

/// Where the object is: no program has anything there.
const NOWHERE: u64 = 0xffff_0000_0000_0000;

/// An object that is not there.
pub(super) fn nowhere() -> Place {
    Place::Memory(Address::of(Base::Zero, NOWHERE as i64))
}

/// A process that has nothing.
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

/// What `ask` finds in an object like `value`, as a part of `value`.
///
/// # Errors
/// It depends on what is in memory.
pub(super) fn part(
    value: &Found,
    ask: impl FnOnce(&dyn Target, &Value) -> Result<Option<Value>, Error>,
) -> Result<Option<Found>, Reason> {
    let object = Value::new(
        value.ty.clone(),
        value::Place::Memory(LoadAddr(NOWHERE), None),
    );
    let depends = |_| {
        Reason(format!(
            "what is in a `{}` depends on its contents",
            value.ty.name()
        ))
    };
    let Some(found) = ask(&NoProcess, &object).map_err(depends)? else {
        return Ok(None);
    };
    let value::Place::Memory(addr, _) = found.place else {
        return Found::constant(found).map(Some);
    };
    let size = value.ty.size().unwrap_or(0);
    let place = match addr.0.checked_sub(NOWHERE) {
        Some(offset) if offset <= size => value.place.clone().offset(offset)?,
        // A static member.
        None => Place::Memory(Address::of(Base::Zero, addr.0 as i64)),
        Some(_) => return Err("a member lies beyond its object".into()),
    };
    Ok(Some(Found {
        bits: found.bits,
        ..Found::new(found.ty, place)
    }))
}

/// Whether objects of a type, or those that pointers of that type lead to, have a member of a
/// name, as far as types tell: `true` where contents decide.
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
            let object = Value::new(ty.clone(), value::Place::Memory(LoadAddr(NOWHERE), None));
            !matches!(members::find(&NoProcess, &object, name), Ok(None))
        }
        Shape::Composite(_) => true,
        _ => false,
    }
}

/// The type of a member by name, where types alone tell it.
pub(crate) fn member_type(ty: &Ty, name: &str) -> Option<Ty> {
    let object = plain_object(ty)?;
    let member = members::find(&NoProcess, &object, name).ok()??;
    Some(member.ty)
}

/// The members that objects of a type have, or those that pointers of that type lead to, if one
/// of that name is surely not among them.
pub(crate) fn surely_lacks_member(ty: &Ty, name: &str) -> Option<Vec<String>> {
    let object = plain_object(ty)?;
    let found = members::find(&NoProcess, &object, name);
    let lacks = matches!(found, Ok(None)) && !name.contains("::");
    lacks.then(|| members::names(&NoProcess, &object))
}

/// An object of a type, or of what pointers of that type lead to, that has the members its type
/// says and no others, whatever it contains.
fn plain_object(ty: &Ty) -> Option<Value> {
    let mut ty = ty.clone();
    for _ in 0..DEREFERENCES {
        match ty.shape() {
            Shape::Pointer(of, _) => ty = of,
            Shape::Composite(class) if is_plain(&class, 0) => {
                let place = value::Place::Memory(LoadAddr(NOWHERE), None);
                return Some(Value::new(ty, place));
            }
            _ => return None,
        }
    }
    None
}

fn is_plain(class: &DwarfTy, depth: usize) -> bool {
    /// Bases of bases that are looked at.
    const NESTING: usize = 16;
    let Some(composite) = class.composite() else {
        return false;
    };
    let shown_as_it_is = class.visualizer().is_none() && !composite.closure;
    // What is behind a trait object's `vtable`, or of a class with virtual functions, may be of a
    // type that has more.
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

/// A member by name.
///
/// # Errors
/// It depends on what is in memory.
pub(super) fn member(value: &Found, name: &str) -> Result<Option<Found>, Reason> {
    part(value, |target, object| members::find(target, object, name))
}
