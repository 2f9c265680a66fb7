//! How each language spells types and what its literals are.

pub mod c;
pub mod rust;

use crate::value::Ty;
use crate::value::types::DwarfTy;
use dwarf::{CompositeKind, Language, TypeKind};

/// Types within types that are followed to spell or to place one.
pub(crate) const DEPTH: usize = 16;

/// A type's name in the spelling of the language it is from.
pub fn spell(ty: &Ty) -> String {
    match ty.language() {
        Language::Rust => rust::spell(ty, 0),
        language => c::spell(ty, language),
    }
}

/// The language a type is from. The debug info says it of units only, so it is told by the
/// signs each compiler leaves on its types: rustc names pointers and its base types are
/// called `i32`; only C++ has namespaces, classes, references, templates, bases.
pub(crate) fn of_type(ty: &DwarfTy, depth: usize) -> Language {
    if depth > DEPTH {
        return Language::C;
    }
    let next = |id| match ty.related(id) {
        Ty::Dwarf(next) => of_type(&next, depth + 1),
        _ => Language::C,
    };
    let name = &*ty.ty.name;
    match &ty.ty.kind {
        TypeKind::Base(base) if rust::is_primitive(name) || name == "()" => {
            if matches!(name, "bool") || name == "char" && base.encoding != dwarf::Encoding::Utf {
                Language::C
            } else {
                Language::Rust
            }
        }
        TypeKind::Pointer(_) if !name.is_empty() => Language::Rust,
        TypeKind::Unspecified if name == "!" => Language::Rust,
        TypeKind::Reference(_)
        | TypeKind::RvalueReference(_)
        | TypeKind::PointerToMember { .. } => Language::Cpp,
        TypeKind::Array(array) => next(array.element),
        TypeKind::Pointer(Some(id))
        | TypeKind::Typedef(Some(id))
        | TypeKind::Const(Some(id))
        | TypeKind::Volatile(Some(id))
        | TypeKind::Restrict(Some(id))
        | TypeKind::Atomic(Some(id)) => match next(*id) {
            // rustc makes no such types.
            Language::Rust => Language::C,
            other => other,
        },
        TypeKind::Enumeration(enumeration) => match enumeration.underlying.map(next) {
            Some(Language::Rust) => Language::Rust,
            _ if enumeration.scoped || name.contains("::") => Language::Cpp,
            _ => Language::C,
        },
        TypeKind::Composite(composite) => {
            let rusty = composite.variants.is_some()
                || name.starts_with(['&', '(', '*'])
                || name.contains("{closure")
                || name.contains("::{impl#");
            if rusty {
                return Language::Rust;
            }
            let cpp = composite.kind == CompositeKind::Class
                || !composite.bases.is_empty()
                || !composite.statics.is_empty()
                || composite.polymorphic;
            if cpp {
                return Language::Cpp;
            }
            let inner = composite
                .members
                .iter()
                .map(|member| member.ty)
                .chain(composite.template_types.iter().map(|(_, id)| *id))
                .take(8)
                .map(next)
                .find(|language| *language != Language::C);
            match inner {
                Some(language) => language,
                None if name.contains("::") || name.contains('<') => {
                    let rusty = composite.members.is_empty()
                        && (name.starts_with("core::") || name.starts_with("alloc::"));
                    if rusty { Language::Rust } else { Language::Cpp }
                }
                None => Language::C,
            }
        }
        _ => Language::C,
    }
}
