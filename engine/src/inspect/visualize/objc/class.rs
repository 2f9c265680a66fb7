//! Classes of Objective-C as the runtime lays them out (objc-runtime-new.h): the class of an object, its
//! name, methods and instance variables.

use crate::ids::error::Error;
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation, text};
use crate::inspect::visualize::standard::callable::type_named;
use dwarf::{LoadAddr, LoadBias, Module};
use std::borrow::Cow;
use std::sync::Arc;

/// The bits of an address; above them, pointers of the runtime carry signatures and flags.
const ADDRESS: u64 = 0x0000_7fff_ffff_fff8;
/// Maximum number of classes from a class to its root.
const BASES: usize = 64;
/// Maximum number of methods to examine for the type of `self`.
const METHODS: u64 = 16;
/// Maximum number of instance variables of one class.
const VARIABLES: u64 = 4096;
/// Maximum length of a name in bytes.
const MAX_NAME: usize = 256;
/// In the flags of a class: it is realized, and its description is behind what the runtime adds.
const REALIZED: u64 = 1 << 31;
/// In the flags of a description: it is that of a metaclass.
const META: u64 = 1;

/// A class.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its address.
    pub at: LoadAddr,
    /// Its name.
    pub name: String,
    /// Whether its instances are classes.
    pub is_meta: bool,
    /// The class above it; 0 for none.
    base: LoadAddr,
    /// `class_ro_t`, which the compiler wrote.
    description: LoadAddr,
}

pub(super) fn word(target: &dyn Target, at: LoadAddr, offset: u64) -> Option<u64> {
    let at = LoadAddr(at.0.checked_add(offset)?);
    target.memory().read_uint(at, 8).ok()
}

fn half(target: &dyn Target, at: LoadAddr, offset: u64) -> Option<u64> {
    let at = LoadAddr(at.0.checked_add(offset)?);
    target.memory().read_uint(at, 4).ok()
}

/// Reads a pointer, which may be signed.
fn pointer(target: &dyn Target, at: LoadAddr, offset: u64) -> Option<LoadAddr> {
    word(target, at, offset).map(|it| LoadAddr(it & (ADDRESS | 7)))
}

/// Reads a selector, which is its own name.
pub(super) fn selector(target: &dyn Target, at: LoadAddr) -> Option<String> {
    let (bytes, cut) = text::read_terminated(target.memory(), at, 1, MAX_NAME).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let fits = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$' | ':' | '.');
    (!cut && !text.is_empty() && text.chars().all(fits)).then_some(text)
}

/// Reads a name; `None` for what is none.
fn name(target: &dyn Target, at: LoadAddr) -> Option<String> {
    if at.0 == 0 {
        return None;
    }
    selector(target, at).filter(|name| !name.contains(':'))
}

impl Class {
    /// Reads a class; `None` if there is none.
    pub fn at(target: &dyn Target, at: LoadAddr) -> Option<Class> {
        if at.0 == 0 || !at.0.is_multiple_of(8) {
            return None;
        }
        // isa, base, two words of the cache, then the data with flags in the lowest bits.
        let base = pointer(target, at, 8)?;
        let data = LoadAddr(word(target, at, 32)? & ADDRESS);
        let description = match half(target, data, 0)? & REALIZED {
            0 => data,
            // Flags, a word that is not of interest, then the description, or with the lowest bit what
            // begins with it.
            _ => match pointer(target, data, 8)? {
                more if more.0 & 1 == 1 => pointer(target, LoadAddr(more.0 & ADDRESS), 0)?,
                description => description,
            },
        };
        let flags = half(target, description, 0)?;
        Some(Class {
            at,
            name: name(target, pointer(target, description, 24)?)?,
            is_meta: flags & META != 0,
            base,
            description,
        })
    }

    /// Returns the class of an object in memory.
    pub fn of_object(target: &dyn Target, object: LoadAddr) -> Option<Class> {
        if object.0 == 0 || !object.0.is_multiple_of(8) {
            return None;
        }
        let isa = word(target, object, 0)?;
        let mask = match isa & 1 {
            // A plain pointer.
            0 => ADDRESS,
            // Reference counts and flags surround the address.
            _ => super::runtime(target, "objc_debug_isa_class_mask")
                .map_or(ADDRESS, |it| it & ADDRESS),
        };
        Class::at(target, LoadAddr(isa & mask))
    }

    /// Returns the name for display. Swift mangles those of its classes.
    pub fn readable(&self) -> Cow<'_, str> {
        dwarf::demangle_short(&self.name)
    }

    /// Returns this class and those above it.
    pub fn line<'a>(&'a self, target: &'a dyn Target) -> impl Iterator<Item = Class> + 'a {
        let next = move |class: &Class| Class::at(target, class.base);
        std::iter::successors(Some(self.clone()), next).take(BASES)
    }

    /// Returns the offset of an instance variable that this very class declares.
    fn offset_of(&self, target: &dyn Target, variable: &str) -> Option<u64> {
        let list = pointer(target, self.description, 48).filter(|it| it.0 != 0)?;
        let (size, count) = (half(target, list, 0)?, half(target, list, 4)?);
        // Pointer to the offset, name, type, alignment and size.
        if size < 32 {
            return None;
        }
        for index in 0..count.min(VARIABLES) {
            let at = LoadAddr(list.0.checked_add(8 + index * size)?);
            let own = pointer(target, at, 8)?;
            if name(target, own).as_deref() == Some(variable) {
                let offset = pointer(target, at, 0).filter(|it| it.0 != 0)?;
                return half(target, offset, 0);
            }
        }
        None
    }

    /// Returns the class in the debug info: by the type of `self` in one of its methods, which needs no
    /// lookup in other units; else by name if the index is loaded.
    pub fn described(&self, target: &dyn Target) -> Option<Ty> {
        let by_method = (0..METHODS).find_map(|index| {
            let code = self.method(target, index)?;
            let (module, bias) = target.module_at(code)?;
            class_of_method(&module, bias, code, &self.name)
        });
        by_method.or_else(|| {
            let (module, _) = target.module_at(self.at)?;
            let found = module
                .has_names()
                .then(|| type_named(target, &self.name))??;
            is_class(&found).then_some(found)
        })
    }

    /// Returns the code of a method by its index.
    fn method(&self, target: &dyn Target, index: u64) -> Option<LoadAddr> {
        /// In the size of an entry: it has offsets of 32 bits, each from its own place.
        const SMALL: u64 = 1 << 31;
        let list = pointer(target, self.description, 32).filter(|it| it.0 != 0)?;
        let (flags, count) = (half(target, list, 0)?, half(target, list, 4)?);
        if index >= count {
            return None;
        }
        if flags & SMALL != 0 {
            let at = list.0.checked_add(8 + index * 12 + 8)?;
            let offset = half(target, LoadAddr(at), 0)? as u32 as i32;
            return at.checked_add_signed(i64::from(offset)).map(LoadAddr);
        }
        let at = LoadAddr(list.0.checked_add(8 + index * 24)?);
        pointer(target, at, 16)
    }
}

/// Returns the class of this name that has a method at an address.
fn class_of_method(
    module: &Arc<Module>,
    bias: LoadBias,
    code: LoadAddr,
    class: &str,
) -> Option<Ty> {
    let function = module.function_at(bias.file(code))?;
    let mut variables = function.scope.variables.iter();
    let own = variables.find(|variable| variable.name == "self")?;
    let Shape::Pointer(of, _) = Ty::dwarf(module, bias, own.ty?).shape() else {
        return None;
    };
    let of = of.strip();
    let is_it = matches!(&of, Ty::Dwarf(of) if of.ty.name == class && of.ty.size.is_some());
    (is_it && is_class(&of)).then_some(of)
}

/// Returns whether a type is a class of Objective-C.
pub fn is_class(ty: &Ty) -> bool {
    matches!(ty.strip(), Ty::Dwarf(ty) if ty.composite().is_some_and(|it| it.is_objc_class))
}

/// Returns whether a type is a pointer to such a class.
pub fn is_instance(ty: &Ty) -> bool {
    matches!(ty.shape(), Shape::Pointer(of, _) if is_class(&of))
}

/// Returns where an instance variable of an object is that the class `class` declares.
///
/// # Errors
/// The object is not in memory, or has no class with such a variable.
pub fn place_of_variable(
    target: &dyn Target,
    object: &Value,
    class: &str,
    variable: &str,
) -> Result<ValueLocation, Error> {
    let at = object.address().ok_or(Error::OptimizedOut)?;
    let own = Class::of_object(target, at);
    let own = own.ok_or_else(|| Error::Unsupported("not an object of Objective-C".into()))?;
    let declaring = own.line(target).find(|it| it.name == class);
    let offset = declaring.and_then(|it| it.offset_of(target, variable));
    let offset = offset.ok_or_else(|| {
        Error::Unsupported(format!(
            "the object is a `{}`, which has no `{variable}` of `{class}`",
            own.name
        ))
    })?;
    Ok(object.place.offset(offset))
}
