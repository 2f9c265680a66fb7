//! `dyn Trait` as what it is: the vtable tells.

use super::{first_argument, missing};
use crate::error::Error;
use crate::value::types::DwarfTy;
use crate::value::{Place, Shape, Target, Ty, Value};
use crate::visualize::{View, Visualizer, need, word};
use dwarf::LoadAddr;

/// References and boxes of trait objects: `pointer` and `vtable`.
#[derive(Debug)]
pub struct Dynamic;

impl Visualizer for Dynamic {
    fn matches(&self, _: &str, ty: &DwarfTy) -> bool {
        let has = |name| {
            ty.composite()
                .is_some_and(|it| it.members.iter().any(|member| member.name == name))
        };
        has("pointer") && has("vtable")
    }

    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error> {
        let pointer = need(target, value, &["pointer"])?;
        let vtable = need(target, value, &["vtable"])?;
        let Shape::Pointer(of, _) = pointer.ty.shape() else {
            return Err(missing("pointer"));
        };
        // Pointers to a struct that ends with a trait object have its header first.
        if !of.name().trim_start_matches('(').starts_with("dyn ") {
            return Err(missing("trait object"));
        }
        let vtable = Vtable::read(target, &vtable)?;
        let at = LoadAddr(word(target, &pointer)?);
        if at.0 == 0 {
            return Ok(View::Invalid("<invalid pointer 0x0>".into()));
        }
        match vtable.concrete(target) {
            Some(ty) => Ok(View::Pointee(Value::new(ty, Place::Memory(at, None)))),
            None => Err(missing("type of this vtable")),
        }
    }
}

/// The trait object behind a header: it lies `offset` bytes into it, or as far behind as its
/// alignment wants.
pub(super) fn behind_header(
    target: &dyn Target,
    header: LoadAddr,
    offset: u64,
    vtable: &Value,
) -> Result<Value, Error> {
    let vtable = Vtable::read(target, vtable)?;
    let ty = vtable
        .concrete(target)
        .ok_or_else(|| missing("type of this vtable"))?;
    let offset = offset
        .checked_next_multiple_of(vtable.align)
        .ok_or_else(|| missing("room"))?;
    Ok(Value::new(ty, Place::Memory(header + offset, None)))
}

/// A table of functions; first come how to drop a value, its size and its alignment.
struct Vtable {
    at: LoadAddr,
    drop: LoadAddr,
    size: u64,
    align: u64,
}

impl Vtable {
    fn read(target: &dyn Target, pointer: &Value) -> Result<Vtable, Error> {
        let at = LoadAddr(word(target, pointer)?);
        let mut bytes = [0; 24];
        target.memory().read(at, &mut bytes)?;
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..][..8]);
            u64::from_le_bytes(word)
        };
        let (drop, size, align) = (LoadAddr(word(0)), word(1), word(2));
        if !align.is_power_of_two() || size > super::ISIZE_MAX {
            return Err(missing("vtable"));
        }
        Ok(Vtable {
            at,
            drop,
            size,
            align,
        })
    }

    /// The type it is the vtable of: as the debug info says, else that whose drop glue it has.
    fn concrete(&self, target: &dyn Target) -> Option<Ty> {
        let fits = |ty: &Ty| ty.size() == Some(self.size);
        let described = || {
            let (module, bias) = target.module_at(self.at)?;
            let id = module.type_of_vtable(bias.file(self.at))?;
            Some(Ty::dwarf(&module, bias, id)).filter(fits)
        };
        let dropped = || {
            let (module, bias) = target.module_at(self.drop)?;
            let symbol = module.symbol_at(bias.file(self.drop))?;
            let name = dwarf::demangle(symbol.name).into_owned();
            let (function, _) = name.split_once('<')?;
            if !function.trim_end_matches("::").ends_with("drop_in_place") {
                return None;
            }
            let ids = module.types_named(first_argument(&name), None);
            let mut types = ids.into_iter().map(|id| Ty::dwarf(&module, bias, id));
            types.find(fits)
        };
        described().or_else(dropped)
    }
}
