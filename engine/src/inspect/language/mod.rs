//! Type names and literals of each language.

pub mod c;
pub mod rust;
pub mod template;

use crate::inspect::value::Ty;
use dwarf::Language;

/// Maximum nesting of a type's name.
pub(crate) const DEPTH: usize = 16;

/// Returns a type's name in the syntax of its language.
pub fn spell(ty: &Ty) -> String {
    match ty.language() {
        Language::Rust => rust::spell(ty, 0),
        language => c::spell(ty, language),
    }
}
