//! Owners and handles: pointers that are classes.

use super::{Ask, pointee};
use crate::error::Error;
use crate::value::{Shape, Target, Value};
use crate::visualize::{View, in_truth, need, word};

/// What an owner or a handle stands for: what it points to, in the type that it has in truth.
pub(in crate::visualize) fn held(target: &dyn Target, pointer: &Value) -> Result<View, Error> {
    let Shape::Pointer(of, _) = pointer.ty.shape() else {
        // A deleter may have a pointer of its own kind.
        return Ok(View::Pointee(pointer.clone()));
    };
    if pointer.raw(target)? == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let opaque = match of.shape() {
        Shape::Void | Shape::Function => true,
        Shape::Composite(ty) => ty.composite().is_some_and(|it| it.declaration),
        _ => false,
    };
    Ok(View::Pointee(if opaque {
        pointer.clone()
    } else {
        in_truth(target, pointer.pointee(target, of)?)
    }))
}

/// What a smart pointer owns; of an array only where it begins is known.
pub(in crate::visualize) fn owned(ask: &Ask<'_>, pointer: &Value) -> Result<View, Error> {
    let is_array = matches!(ask.argument(0)?.shape(), Shape::Array(_));
    if is_array && pointer.raw(ask.target)? != 0 {
        return Ok(View::Pointee(pointer.clone()));
    }
    held(ask.target, pointer)
}

/// How a library's `shared_ptr` and `weak_ptr` are made.
pub(in crate::visualize) struct Shared {
    /// The member that points to the object.
    pub pointer: &'static str,
    /// The way to the pointer to what counts.
    pub block: &'static [&'static str],
    /// The members of that for uses and for weak references.
    pub counts: [&'static str; 2],
    /// What a count of none is.
    pub none: i64,
}

impl Shared {
    /// `std::shared_ptr`: the object, with the counts.
    pub fn shared(&self, ask: &Ask<'_>) -> Result<View, Error> {
        let held = owned(ask, &ask.need(&[self.pointer])?)?;
        Ok(match (held, self.counts(ask)?) {
            (View::Pointee(object), Some((uses, weaks))) => noted(object, uses, weaks),
            (held, _) => held,
        })
    }

    /// `std::weak_ptr`: the same as long as there is an object.
    pub fn weak(&self, ask: &Ask<'_>) -> Result<View, Error> {
        match self.counts(ask)? {
            Some((0, _)) => Ok(View::Plain("expired".into())),
            Some(_) => self.shared(ask),
            None => Ok(View::Plain("nullptr".into())),
        }
    }

    /// Uses, and weak references; `None`: nothing is shared.
    fn counts(&self, ask: &Ask<'_>) -> Result<Option<(u64, u64)>, Error> {
        let block = ask.need(self.block)?;
        if word(ask.target, &block)? == 0 {
            return Ok(None);
        }
        let block = pointee(ask.target, &block)?;
        let count = |name| -> Result<u64, Error> {
            let count = need(ask.target, &block, &[name])?;
            let unused = 64 - 8 * count.ty.size().unwrap_or(8).clamp(1, 8);
            let above = word(ask.target, &count)?.wrapping_sub(self.none as u64);
            Ok(above << unused >> unused)
        };
        let [uses, weaks] = self.counts;
        let (uses, weaks) = (count(uses)?, count(weaks)?);
        // All uses together hold one of the weak references.
        Ok(Some((uses, weaks.saturating_sub(u64::from(uses > 0)))))
    }
}

fn noted(object: Value, uses: u64, weaks: u64) -> View {
    let weak = match weaks {
        0 => String::new(),
        count => format!(", weak count {count}"),
    };
    View::Noted(object, format!("use count {uses}{weak}"))
}
