//! Owners and handles: pointers that are classes.

use super::{Ask, pointee};
use crate::error::Error;
use crate::value::scalar::{Scalar, ScalarKind};
use crate::value::{Shape, Target, Ty, Value};
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
    Ok(View::Pointee(if is_opaque(&of) {
        pointer.clone()
    } else {
        in_truth(target, pointer.pointee(target, of)?)
    }))
}

/// Whether nothing is known of what a type has in it.
fn is_opaque(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Void | Shape::Function => true,
        Shape::Composite(ty) => ty.composite().is_some_and(|it| it.declaration),
        _ => false,
    }
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
    /// Where these lie behind the pointer to the vtable, which is part of the library's ABI,
    /// and their bytes: clang leaves the class out where only optimized code needs it.
    pub layout: ([u64; 2], u8),
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
        let count = |nth: usize| -> Result<u64, Error> {
            let count = match is_opaque(&block.ty) {
                true => {
                    let (offsets, size) = self.layout;
                    let ty = Ty::Builtin(Scalar::new(ScalarKind::Signed, size), "count");
                    Value::new(ty, block.place.offset(offsets[nth]))
                }
                false => need(ask.target, &block, &[self.counts[nth]])?,
            };
            let unused = 64 - 8 * count.ty.size().unwrap_or(8).clamp(1, 8);
            let above = word(ask.target, &count)?.wrapping_sub(self.none as u64);
            Ok(above << unused >> unused)
        };
        let (uses, weaks) = (count(0)?, count(1)?);
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
