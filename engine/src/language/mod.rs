//! How each language spells types and what its literals are.

pub mod c;
pub mod rust;
pub mod template;

use crate::value::Ty;
use dwarf::Language;

/// Types within types that are followed to spell one.
pub(crate) const DEPTH: usize = 16;

/// A type's name in the spelling of the language it is from.
pub fn spell(ty: &Ty) -> String {
    match ty.language() {
        Language::Rust => rust::spell(ty, 0),
        language => c::spell(ty, language),
    }
}
