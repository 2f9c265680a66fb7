//! Vtables of Rust's trait objects. rustc describes each as a variable; its type has a
//! `DW_AT_containing_type`, the type that the vtable belongs to.

use crate::functions::variable::VariableKind;
use crate::ids::DieRef;
use crate::lines::DebugInfo;
use crate::locations::{FrameContext, Location};
use crate::module::Module;
use crate::naming::Key;
use crate::{FileAddr, LoadAddr, Registers, TypeId};
use rustc_hash::FxHashMap;

/// Last component of the name of all these variables, after the implementation's name.
const NAME: &str = "{vtable}";

/// Types by the addresses of their vtables; `None`: of several types, whose vtables the compiler has merged.
pub(crate) type Vtables = FxHashMap<FileAddr, Option<TypeId>>;

/// Reads all vtables of an image.
pub(crate) fn read(module: &Module) -> Vtables {
    let look = |info: &DebugInfo, dies: Vec<DieRef>| {
        dies.into_iter()
            .filter_map(|die| vtable(module, info, die))
            .collect()
    };
    let found = module.find_names(|index| &index.statics, Key::of(NAME), None, look);
    let mut vtables = Vtables::default();
    for (addr, ty) in found {
        let known = vtables.entry(addr).or_insert(Some(ty));
        if known.is_some_and(|it| !is_same(module, it, ty)) {
            *known = None;
        }
    }
    vtables
}

/// Returns whether both are one type, which several units describe.
fn is_same(module: &Module, one: TypeId, other: TypeId) -> bool {
    let name = |ty| module.ty(ty).ok().map(|ty| ty.name.clone());
    one == other || name(one).is_some_and(|it| !it.is_empty() && name(other) == Some(it))
}

fn vtable(module: &Module, info: &DebugInfo, die: DieRef) -> Option<(FileAddr, TypeId)> {
    let (unit, entry) = info.entry(die).ok()?;
    let variable = info.read_variable(unit, &entry, VariableKind::Static)?;
    let (unit, entry) = info.entry(variable.ty?.0).ok()?;
    let containing = entry.attr_value(gimli::DW_AT_containing_type)?;
    let of = TypeId(info.reference(unit, containing)?);
    let registers = Registers::new(module.machine());
    // The address of a vtable is a constant.
    let context = FrameContext::without_process(&registers, FileAddr(0), None);
    match module.locate(&variable, &context).ok()? {
        Location::Memory(LoadAddr(addr)) => Some((FileAddr(addr), of)),
        _ => None,
    }
}
