//! Type-erased values, whose types are only in names of functions and vtables.

use crate::ids::error::Error;
use crate::inspect::dynamic_class;
use crate::inspect::language::c;
use crate::inspect::language::template::{closing, readable, split_arguments};
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation, alignment, members};
use crate::inspect::visualize::View;
use crate::inspect::visualize::standard::argument;
use dwarf::{LoadAddr, LoadBias, Module};
use std::sync::Arc;

/// Maximum length in bytes of a type name to look up.
const MAX_NAME_BYTES: usize = 4096;

/// Distance in bytes from the type of an exception to its object (Itanium C++ ABI: Exception
/// Handling §2.2.1; the same in libsupc++ and libc++abi on 64-bit machines).
const EXCEPTION_TYPE: u64 = 112;

/// The error for an unknown type.
pub fn unknown() -> Error {
    Error::Unsupported("unknown type".into())
}

/// Returns the demangled name of the symbol that begins at an address.
fn exact_symbol(target: &dyn Target, addr: LoadAddr) -> Option<String> {
    let (module, bias) = target.module_at(addr)?;
    let file = bias.file(addr);
    let symbol = module.symbol_at(file)?;
    (symbol.addr == file).then(|| dwarf::demangle(symbol.name).into_owned())
}

/// Returns `int` for `std::any::_Manager_internal<int>::_S_manage(…)` and `_Manager_internal`.
fn arguments_of(name: &str, class: &str) -> Option<String> {
    let class = format!("{class}<");
    let at = name.find(&class)?;
    let rest = &name[at + class.len()..];
    let end = closing(rest)?;
    Some(rest[..end].trim().to_owned())
}

/// A template argument, found through the code of a member function.
pub struct Held {
    ty: Option<Ty>,
    name: String,
}

impl Held {
    /// Returns an argument of the class of the function at an address, from its debug info, else
    /// from the function's symbol.
    pub fn by_code(target: &dyn Target, code: LoadAddr, class: &str, index: usize) -> Option<Held> {
        if let Some(ty) = class_of(target, code, class).and_then(|it| argument(&it, index).ok()) {
            return Some(Held::of(ty));
        }
        Held::by_name(target, &exact_symbol(target, code)?, class, index)
    }

    /// The same from the functions in a vtable, else from the vtable's symbol. Examines at most
    /// `functions` entries: those after them belong to another class.
    pub fn by_vtable(
        target: &dyn Target,
        object: &Value,
        class: &str,
        functions: u64,
    ) -> Option<Held> {
        let vtable = LoadAddr(word_at(target, object.address()?)?);
        let of = (0..functions).find_map(|entry| {
            let code = word_at(target, vtable + entry * 8)?;
            class_of(target, LoadAddr(code), class)
        });
        if let Some(ty) = of.and_then(|it| argument(&it, 0).ok()) {
            return Some(Held::of(ty));
        }
        Held::by_name(target, &dynamic_class::name(target, object)?, class, 0)
    }

    fn of(ty: Ty) -> Held {
        Held {
            name: ty.name().to_string(),
            ty: Some(ty),
        }
    }

    fn by_name(target: &dyn Target, name: &str, class: &str, index: usize) -> Option<Held> {
        let list = arguments_of(name, class)?;
        Some(Held::named(target, split_arguments(&list).get(index)?))
    }

    fn named(target: &dyn Target, name: &str) -> Held {
        match type_named(target, name) {
            Some(ty) => Held::of(ty),
            None => Held {
                ty: None,
                name: name.to_owned(),
            },
        }
    }

    /// Returns whether it is a pointer to a function.
    pub fn is_code(&self) -> bool {
        match self.ty.as_ref().map(Ty::shape) {
            Some(Shape::Pointer(of, _)) => matches!(of.shape(), Shape::Function),
            _ => self.name.contains("(*)("),
        }
    }

    /// Returns its size in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        self.ty.as_ref().and_then(Ty::size)
    }

    /// Returns its alignment in bytes.
    pub fn alignment(&self) -> u64 {
        self.ty.as_ref().map_or(1, alignment::of)
    }

    /// Returns the value at a place; only the type's name if the type is unknown.
    pub fn at(self, place: ValueLocation) -> View {
        match self.ty {
            Some(ty) => {
                // The remark adds brackets itself.
                let name = self.name.strip_prefix('<');
                let note = name
                    .and_then(|it| it.strip_suffix('>'))
                    .unwrap_or(&self.name);
                View::Noted(Value::new(ty, place), note.to_owned())
            }
            None => View::Plain(format!("<{}>", readable(&self.name))),
        }
    }
}

/// Returns the class of this name that the function at an address is a member of.
pub fn class_of(target: &dyn Target, code: LoadAddr, class: &str) -> Option<Ty> {
    let (module, bias) = target.module_at(code)?;
    let id = module.class_of_function(bias.file(code))?;
    let Ty::Dwarf(ty) = Ty::dwarf(&module, bias, id) else {
        return None;
    };
    (members::last_component(&ty.ty.name) == class).then_some(Ty::Dwarf(ty))
}

/// Returns a class or built-in type by its name in a symbol.
pub fn type_named(target: &dyn Target, name: &str) -> Option<Ty> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let images = target.images();
    let types = images.first()?.0.c_types();
    if let Some(ty) = c::builtin(name, types) {
        return Some(ty);
    }
    let find = |(module, bias): &(Arc<Module>, LoadBias)| {
        let ids = module.types_named(name, None);
        let types = ids.into_iter().map(|id| Ty::dwarf(module, *bias, id));
        types.into_iter().find(|ty| ty.size().is_some())
    };
    images.iter().find_map(find)
}

fn word_at(target: &dyn Target, addr: LoadAddr) -> Option<u64> {
    let mut bytes = [0; 8];
    target.memory().read(addr, &mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// Returns an exception, by the type stored before it.
pub fn thrown(target: &dyn Target, pointer: &Value) -> Result<View, Error> {
    let at = LoadAddr(pointer.raw(target)? as u64);
    if at.0 == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let info = word_at(target, LoadAddr(at.0.wrapping_sub(EXCEPTION_TYPE)));
    let symbol = info
        .and_then(|info| exact_symbol(target, LoadAddr(info)))
        .ok_or_else(unknown)?;
    let class = dynamic_class::described(&symbol, "typeinfo").ok_or_else(unknown)?;
    Ok(Held::named(target, class).at(ValueLocation::Memory(at, None)))
}
