//! How each language spells types and what its literals are.

pub mod c;
pub mod rust;

use crate::value::Ty;
use crate::value::types::DwarfTy;
use dwarf::{CompositeKind, Language, TypeKind};

/// Types within types that are followed to spell or to place one.
pub(crate) const DEPTH: usize = 16;

/// Types that are looked at to place one.
const STEPS: u32 = 64;

/// A type's name in the spelling of the language it is from.
pub fn spell(ty: &Ty) -> String {
    match ty.language() {
        Language::Rust => rust::spell(ty, 0),
        language => c::spell(ty, language),
    }
}

/// The language a type is from. The debug info says it of units only, so it is told by the
/// signs each compiler leaves on its types: rustc names pointers and its base types are
/// called `i32`; only C++ has namespaces, classes, references, templates, bases. Where a type
/// has no such sign the language of `main` decides.
pub(crate) fn of_type(ty: &DwarfTy) -> Language {
    let main = || {
        let main = ty.module().symbols_named("main");
        let addr = main.first().map(|symbol| symbol.addr);
        addr.and_then(|addr| ty.module().language_at(addr))
    };
    match signs(ty, 0, &mut { STEPS }) {
        Some(Sign::Rust) => Language::Rust,
        Some(Sign::Cpp) => Language::Cpp,
        Some(Sign::EitherC) if is_tagged(ty) => match main() {
            Some(Language::Cpp) => Language::Cpp,
            _ => Language::C,
        },
        Some(Sign::EitherC) => Language::C,
        None => match main() {
            // `main` of a Rust program is a shim that no unit describes.
            None if !ty.module().symbols_named("rust_eh_personality").is_empty() => Language::Rust,
            other => other.unwrap_or_default(),
        },
    }
}

/// Whether C and C++ spell the type differently, or something in it may be.
fn is_tagged(ty: &DwarfTy) -> bool {
    !matches!(ty.ty.kind, TypeKind::Base(_))
}

/// What a type shows of its language.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Rust,
    Cpp,
    EitherC,
}

fn signs(ty: &DwarfTy, depth: usize, steps: &mut u32) -> Option<Sign> {
    if depth > DEPTH || *steps == 0 {
        return None;
    }
    *steps -= 1;
    let mut next = |id| match ty.related(id) {
        Ty::Dwarf(next) => signs(&next, depth + 1, steps),
        _ => None,
    };
    let name = &*ty.ty.name;
    match &ty.ty.kind {
        TypeKind::Base(base) => match name {
            // Both have it.
            "bool" => None,
            "char" if base.encoding != dwarf::Encoding::Utf => Some(Sign::EitherC),
            _ if rust::is_primitive(name) => Some(Sign::Rust),
            _ => Some(Sign::EitherC),
        },
        TypeKind::Pointer(_) if !name.is_empty() => Some(Sign::Rust),
        TypeKind::Unspecified if name == "!" => Some(Sign::Rust),
        TypeKind::Reference(_)
        | TypeKind::RvalueReference(_)
        | TypeKind::PointerToMember { .. }
        | TypeKind::Unspecified => Some(Sign::Cpp),
        TypeKind::Array(array) => next(array.element),
        TypeKind::Pointer(id)
        | TypeKind::Typedef(id)
        | TypeKind::Const(id)
        | TypeKind::Volatile(id)
        | TypeKind::Restrict(id)
        | TypeKind::Atomic(id) => match id.and_then(next) {
            Some(sign) => Some(sign),
            None => Some(Sign::EitherC),
        },
        TypeKind::Enumeration(enumeration) => match enumeration.underlying.and_then(next) {
            Some(Sign::Rust) => Some(Sign::Rust),
            _ if enumeration.scoped || name.contains("::") => Some(Sign::Cpp),
            other => other,
        },
        TypeKind::Composite(composite) => {
            let rusty = composite.variants.is_some()
                || name.starts_with(['&', '(', '*'])
                || name.contains("{closure")
                || name.contains("{impl#");
            if rusty {
                return Some(Sign::Rust);
            }
            let cpp = composite.kind == CompositeKind::Class
                || !composite.bases.is_empty()
                || !composite.statics.is_empty()
                || composite.polymorphic;
            if cpp {
                return Some(Sign::Cpp);
            }
            let inner = composite
                .members
                .iter()
                .map(|member| member.ty)
                .chain(composite.template_types.iter().map(|(_, id)| *id))
                .take(8)
                .find_map(next);
            match inner {
                Some(Sign::EitherC) if name.contains("::") || name.contains('<') => Some(Sign::Cpp),
                other => other,
            }
        }
        TypeKind::Subroutine(_) => None,
    }
}
