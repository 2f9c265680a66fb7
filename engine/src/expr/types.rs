//! Types by name in expressions: casts and `sizeof`.

use super::EvalContext;
use crate::ids::error::Error;
use crate::inspect::language::{c, rust};
use crate::inspect::value::Ty;
use dwarf::{Language, LoadBias, Module, TypeId};
use std::ops::Range;
use std::sync::Arc;

/// A parsed type name.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// The base type, words separated by one space (`struct node`, `unsigned long`).
    pub base: String,
    /// Pointers, references and arrays of it, innermost first.
    pub layers: Vec<Layer>,
    /// Its position in the text.
    pub span: Range<usize>,
}

/// A type constructor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// A pointer; also a Rust reference.
    Pointer,
    /// A C++ reference.
    Reference,
    /// An array with this number of elements.
    Array(u64),
}

impl TypeName {
    /// Returns whether it is spelled with a `*` or `&`: it can be no expression then, unlike `a[1]`.
    pub fn is_pointer_to_any(&self) -> bool {
        let is_array = |layer: &Layer| matches!(layer, Layer::Array(_));
        !self.layers.iter().all(is_array)
    }

    /// Returns the type of that name in a frame; `None` if there is none.
    pub fn find(&self, context: &dyn EvalContext) -> Option<Ty> {
        Some(self.of(named(context, &self.base)?))
    }

    /// Applies the layers to the base type.
    pub fn of(&self, base: Ty) -> Ty {
        let mut ty = base;
        for layer in &self.layers {
            ty = match layer {
                Layer::Pointer | Layer::Reference => ty.pointer(),
                Layer::Array(count) => ty.array(*count),
            };
        }
        ty
    }

    /// Returns the type of that name in a frame.
    ///
    /// # Errors
    /// There is no type of that name.
    pub fn resolve(&self, context: &dyn EvalContext) -> Result<Ty, Error> {
        self.find(context).ok_or_else(|| Error::UnknownName {
            message: super::messages::unknown_type(&self.base),
            span: self.span.clone(),
        })
    }
}

/// A function that finds a type of the debug info by name.
pub type FindType<'a> = dyn Fn(&str) -> Option<(Arc<Module>, LoadBias, TypeId)> + 'a;

/// Returns a type by name: built-in types come first.
pub fn named(context: &dyn EvalContext, name: &str) -> Option<Ty> {
    let find = |name: &str| context.type_named(name);
    named_by(context.language(), &find, name)
}

/// Like [`named`], with a function that finds types of the debug info.
pub fn named_by(language: Language, find: &FindType<'_>, name: &str) -> Option<Ty> {
    let known = match language {
        Language::Rust => rust::builtin(name).or_else(|| c::builtin(name)),
        _ => c::builtin(name).or_else(|| rust::builtin(name)),
    };
    if known.is_some() {
        return known;
    }
    let bare = name
        .strip_prefix("struct ")
        .or_else(|| name.strip_prefix("union "))
        .or_else(|| name.strip_prefix("enum "))
        .or_else(|| name.strip_prefix("class "));
    let (module, bias, id) = find(name).or_else(|| find(bare?))?;
    Some(Ty::dwarf(&module, bias, id))
}
