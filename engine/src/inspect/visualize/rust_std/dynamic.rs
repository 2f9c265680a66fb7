//! `dyn Trait`, shown as its concrete type, which the vtable determines.

use super::{NESTING, composite, first_argument, missing};
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation, members};
use crate::inspect::visualize::{View, Visualizer, need, word};
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
        let at = LoadAddr(word(target, &pointer)?);
        if at.0 == 0 {
            return Ok(View::Invalid("<invalid pointer 0x0>".into()));
        }
        let (held, notes) = last_of(
            target,
            Value::new(of, ValueLocation::Memory(at, None)),
            &vtable,
        )?;
        Ok(match notes.is_empty() {
            true => View::Pointee(held),
            false => View::Noted(held, notes.join(", ")),
        })
    }
}

/// Returns the concrete value of a trait object, or of one in wrappers such as `RefCell<dyn
/// Trait>`, and the remarks on the wrappers. The debug info has no alignment of `dyn`: in each
/// struct the tail's offset is rounded up to the concrete alignment.
pub(super) fn last_of(
    target: &dyn Target,
    mut value: Value,
    vtable: &Value,
) -> Result<(Value, Vec<String>), Error> {
    let vtable = Vtable::read(target, vtable)?;
    let concrete = vtable.concrete(target);
    let concrete = concrete.ok_or_else(|| missing("type of this vtable"))?;
    let mut notes = Vec::new();
    for _ in 0..NESTING {
        let at = value.address().ok_or_else(|| missing("address"))?;
        let ty = composite(&value)?;
        if ty.ty.name.trim_start_matches('(').starts_with("dyn ") {
            return Ok((Value::new(concrete, ValueLocation::Memory(at, None)), notes));
        }
        // In structs of other crates all members are of interest.
        let root = ty.ty.name.split("::").next();
        if !matches!(root, Some("core" | "alloc" | "std")) {
            return Err(missing("trait object"));
        }
        if let Some(View::Noted(_, note)) = crate::inspect::visualize::view(target, &value) {
            notes.push(note);
        }
        let members = ty.composite().map_or(&[][..], |it| &it.members);
        let last = members.last().ok_or_else(|| missing("trait object"))?;
        let part = members::member(target, &value, &ty, last)?;
        let offset = part
            .address()
            .and_then(|part| part.0.checked_sub(at.0))
            .and_then(|offset| offset.checked_next_multiple_of(vtable.align))
            .ok_or_else(|| missing("room"))?;
        value = Value::new(part.ty, ValueLocation::Memory(at + offset, None));
    }
    Err(missing("trait object"))
}

/// A vtable; it begins with the drop function, size and alignment of a value.
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

    /// Returns the type that the vtable belongs to: from the debug info, else from its drop glue.
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
