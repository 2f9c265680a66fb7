//! Types by name in expressions: casts and `sizeof`.

use super::EvalContext;
use crate::error::Error;
use crate::language::{c, rust};
use crate::value::Ty;
use dwarf::{Language, LoadBias, Module, TypeId};
use std::ops::Range;
use std::sync::Arc;

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// The named type, words separated by one space (`struct node`, `unsigned long`).
    pub base: String,
    /// What is made of it, innermost first.
    pub layers: Vec<Layer>,
    /// Where it stands.
    pub span: Range<usize>,
}

/// What is made of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// A pointer to it; what Rust calls a reference too.
    Pointer,
    /// A reference of C++.
    Reference,
    /// So many in a row.
    Array(u64),
}

impl TypeName {
    /// The type meant in a frame; `None`: there is none of that name.
    pub fn find(&self, context: &dyn EvalContext) -> Option<Ty> {
        Some(self.of(named(context, &self.base)?))
    }

    /// What is made of the named type.
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

    /// The type meant in a frame.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn resolve(&self, context: &dyn EvalContext) -> Result<Ty, Error> {
        self.find(context).ok_or_else(|| Error::Eval {
            message: format!("no type `{}` here", self.base),
            span: self.span.clone(),
        })
    }
}

/// Finds a type of the debug info by its name.
pub type FindType<'a> = dyn Fn(&str) -> Option<(Arc<Module>, LoadBias, TypeId)> + 'a;

/// A type by its name: first those that every program has.
pub fn named(context: &dyn EvalContext, name: &str) -> Option<Ty> {
    let find = |name: &str| context.type_named(name);
    named_by(context.language(), &find, name)
}

/// [`named`], given how types of the debug info are found.
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
