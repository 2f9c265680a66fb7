//! The names of methods that reading answers.

use super::evaluate::DEREFERENCES;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Ty};

/// Returns the names of the methods that reading answers for objects of a type.
pub fn names(ty: &Ty) -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut ty = ty.clone();
    for _ in 0..DEREFERENCES {
        names.extend(library::names(&ty));
        ty = match (ty.shape(), library::contents(&ty)) {
            (Shape::Pointer(of, _), _) => of,
            (_, Some(Contents::Pointee(of) | Contents::Wrapped(of))) => of,
            _ => break,
        };
    }
    names
}
