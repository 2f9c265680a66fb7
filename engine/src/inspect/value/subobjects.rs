//! The parts of an object that are its bases.

use super::{Shape, Target, Value, members};
use crate::ids::error::Error;

/// Maximum number of bases to examine.
const BASES: u32 = 256;
/// Maximum nesting of bases.
const NESTING: u32 = 24;

/// A part of an object: itself, or a base.
#[derive(Clone, Debug)]
pub struct Part {
    /// The part.
    pub value: Value,
    /// Whether all bases on a way to it are public.
    pub is_public: bool,
}

/// Returns the object if `is_meant` accepts it, else those of its bases that `is_meant` accepts. A virtual base
/// that several ways lead to is one part. Reads the object for each virtual base on the way.
///
/// # Errors
/// None is found, and a virtual base cannot be read.
pub fn parts(
    target: &dyn Target,
    object: &Value,
    is_meant: &dyn Fn(&Value) -> bool,
) -> Result<Vec<Part>, Error> {
    let mut search = Search {
        target,
        is_meant,
        found: Vec::new(),
        failed: None,
        left: BASES,
    };
    search.look_in(object, true, 0);
    match (search.found, search.failed) {
        (found, Some(error)) if found.is_empty() => Err(error),
        (found, _) => Ok(found),
    }
}

/// Returns the part of an object that has the class and the address of another value.
pub fn same(target: &dyn Target, object: &Value, part: &Value) -> Option<Part> {
    let is_part = |it: &Value| it.address() == part.address() && it.ty.same_as(&part.ty);
    parts(target, object, &is_part).ok()?.into_iter().next()
}

struct Search<'a> {
    target: &'a dyn Target,
    is_meant: &'a dyn Fn(&Value) -> bool,
    found: Vec<Part>,
    failed: Option<Error>,
    left: u32,
}

impl Search<'_> {
    fn look_in(&mut self, object: &Value, is_public: bool, depth: u32) {
        if (self.is_meant)(object) {
            let is_known = |it: &&mut Part| it.value.address() == object.address();
            match self.found.iter_mut().find(is_known) {
                Some(known) => known.is_public |= is_public,
                None => self.found.push(Part {
                    value: object.clone(),
                    is_public,
                }),
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
                Ok(part) => self.look_in(&part, is_public && base.is_public, depth + 1),
                Err(error) => self.failed = Some(error),
            }
        }
    }
}
