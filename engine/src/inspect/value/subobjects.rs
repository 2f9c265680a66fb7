//! The parts of an object that are its bases.

use super::{Shape, Target, Value, members};
use crate::ids::error::Error;

/// Maximum number of bases to examine.
const BASES: u32 = 256;
/// Maximum nesting of bases.
const NESTING: u32 = 24;

/// Returns the parts of an object that are meant: the object itself, or else its bases. A virtual base
/// that several ways lead to is one part. Reads the object for each virtual base on the way.
///
/// # Errors
/// None is found, and a virtual base cannot be read.
pub fn parts(
    target: &dyn Target,
    object: &Value,
    is_meant: &dyn Fn(&Value) -> bool,
) -> Result<Vec<Value>, Error> {
    let mut search = Search {
        target,
        is_meant,
        found: Vec::new(),
        failed: None,
        left: BASES,
    };
    search.look_in(object, 0);
    match (search.found, search.failed) {
        (found, Some(error)) if found.is_empty() => Err(error),
        (found, _) => Ok(found),
    }
}

/// Returns whether an object has a part of the same class at the same address as another value.
pub fn contains(target: &dyn Target, object: &Value, part: &Value) -> bool {
    let is_part = |it: &Value| it.address() == part.address() && it.ty.same_as(&part.ty);
    parts(target, object, &is_part).is_ok_and(|it| !it.is_empty())
}

struct Search<'a> {
    target: &'a dyn Target,
    is_meant: &'a dyn Fn(&Value) -> bool,
    found: Vec<Value>,
    failed: Option<Error>,
    left: u32,
}

impl Search<'_> {
    fn look_in(&mut self, object: &Value, depth: u32) {
        if (self.is_meant)(object) {
            let is_known = |it: &Value| it.address() == object.address();
            if !self.found.iter().any(is_known) {
                self.found.push(object.clone());
            }
            return;
        }
        let Shape::Composite(class) = object.ty.shape() else {
            return;
        };
        for base in class.composite().map_or(&[][..], |it| &it.bases) {
            if self.left == 0 || depth >= NESTING {
                return;
            }
            self.left -= 1;
            match members::base(self.target, object, &class, base) {
                Ok(base) => self.look_in(&base, depth + 1),
                Err(error) => self.failed = Some(error),
            }
        }
    }
}
