//! `dyn Trait`, shown as its concrete type, which the vtable determines.

use super::{first_argument, missing, tail};
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Metadata, Shape, Target, Ty, Value, ValueLocation};
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
        let object = Value::new(of, ValueLocation::Memory(at, None));
        let vtable = LoadAddr(word(target, &vtable)?);
        tail::behind(target, object, Metadata::Vtable(vtable))
    }
}

/// A vtable; it begins with the drop function, size and alignment of a value.
pub(super) struct Vtable {
    at: LoadAddr,
    drop: LoadAddr,
    size: u64,
    /// The alignment of the value in bytes, a power of two.
    pub align: u64,
}

impl Vtable {
    /// Reads the vtable at an address.
    ///
    /// # Errors
    /// There is none.
    pub fn read(target: &dyn Target, at: LoadAddr) -> Result<Vtable, Error> {
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
    pub fn concrete(&self, target: &dyn Target) -> Option<Ty> {
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
