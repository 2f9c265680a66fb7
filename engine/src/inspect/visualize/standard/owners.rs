//! Smart pointers and other handle classes.

use super::{Instance, Library, before_arguments, either, no_pointer, pointee, std_class};
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Shape, Target, Ty, Value};
use crate::inspect::visualize::{View, need, word};
use crate::inspect::visualize::{libcxx, libstdcxx};

/// Returns the view of a pointer-like class: its target, of the type that it points to.
pub(in crate::inspect::visualize) fn held(
    target: &dyn Target,
    pointer: &Value,
) -> Result<View, Error> {
    let Shape::Pointer(of, _) = pointer.ty.shape() else {
        // A deleter may define a pointer class.
        return Ok(View::Pointee(pointer.clone()));
    };
    if pointer.raw(target)? == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    Ok(View::Pointee(if is_opaque(&of) {
        pointer.clone()
    } else {
        pointer.pointee(target, of)?
    }))
}

/// Returns the library of a class, and its name there.
fn class_of(value: &Value) -> Result<(Library, String), Error> {
    let Shape::Composite(ty) = value.ty.shape() else {
        return Err(no_pointer());
    };
    let found = std_class(before_arguments(&ty.ty.name));
    let (library, class) = found.ok_or_else(no_pointer)?;
    Ok((library, class.to_owned()))
}

/// Returns the pointer in a smart pointer or `std::reference_wrapper`.
///
/// # Errors
/// The value is neither.
pub fn pointer(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    let (library, class) = class_of(value)?;
    match (&*class, library) {
        ("unique_ptr", Library::Libstdcxx) => libstdcxx::pointers::of_unique(target, value),
        ("unique_ptr", Library::Libcxx) => libcxx::pointers::of_unique(target, value),
        ("reference_wrapper", _) => either(target, value, &["_M_data", "__f_", "__f"]),
        _ => either(target, value, &["_M_ptr", "__ptr_"]),
    }
}

/// Returns the use count of a `std::shared_ptr` or `std::weak_ptr`.
///
/// # Errors
/// The value is neither, or its counts cannot be read.
pub fn use_count(target: &dyn Target, value: &Value) -> Result<u64, Error> {
    let (library, class) = class_of(value)?;
    let layout = match library {
        Library::Libstdcxx => &libstdcxx::pointers::COUNTS,
        Library::Libcxx => &libcxx::pointers::COUNTS,
    };
    let instance = Instance {
        target,
        value,
        class: &class,
    };
    Ok(layout.counts(&instance)?.map_or(0, |(uses, _)| uses))
}

/// Returns whether nothing is known of a type's contents.
fn is_opaque(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Void | Shape::Function => true,
        Shape::Composite(ty) => ty.composite().is_some_and(|it| it.declaration),
        _ => false,
    }
}

/// Returns the view of a smart pointer's target; for an array, whose length is unknown, that of the
/// pointer.
pub(in crate::inspect::visualize) fn owned(
    instance: &Instance<'_>,
    pointer: &Value,
) -> Result<View, Error> {
    let is_array = matches!(instance.argument(0)?.shape(), Shape::Array(_));
    if is_array && pointer.raw(instance.target)? != 0 {
        return Ok(View::Pointee(pointer.clone()));
    }
    held(instance.target, pointer)
}

/// The layout of a library's `shared_ptr` and `weak_ptr`.
pub(in crate::inspect::visualize) struct Shared {
    /// The member that points to the object.
    pub pointer: &'static str,
    /// Path to the pointer to the control block.
    pub block: &'static [&'static str],
    /// The control block's members for the use count and the weak count.
    pub counts: [&'static str; 2],
    /// Their offsets after the vtable pointer, and their size in bytes. They are part of the
    /// library's ABI; clang omits the class if only optimized code needs it.
    pub layout: ([u64; 2], u8),
    /// The stored value of a count of zero.
    pub none: i64,
}

impl Shared {
    /// `std::shared_ptr`: the object, with the counts.
    pub fn shared(&self, instance: &Instance<'_>) -> Result<View, Error> {
        let held = owned(instance, &instance.need(&[self.pointer])?)?;
        Ok(match (held, self.counts(instance)?) {
            (View::Pointee(object), Some((uses, weaks))) => noted(object, uses, weaks),
            (held, _) => held,
        })
    }

    /// `std::weak_ptr`: the same while the object exists.
    pub fn weak(&self, instance: &Instance<'_>) -> Result<View, Error> {
        match self.counts(instance)? {
            Some((0, _)) => Ok(View::Plain("expired".into())),
            Some(_) => self.shared(instance),
            None => Ok(View::Plain("nullptr".into())),
        }
    }

    /// Returns the use count and the weak count; `None` without a control block.
    fn counts(&self, instance: &Instance<'_>) -> Result<Option<(u64, u64)>, Error> {
        let block = instance.need(self.block)?;
        if word(instance.target, &block)? == 0 {
            return Ok(None);
        }
        let block = pointee(instance.target, &block)?;
        let count = |nth: usize| -> Result<u64, Error> {
            let count = match is_opaque(&block.ty) {
                true => {
                    let (offsets, size) = self.layout;
                    let ty = Ty::Builtin(Scalar::new(ScalarKind::Signed, size), "count");
                    Value::new(ty, block.place.offset(offsets[nth]))
                }
                false => need(instance.target, &block, &[self.counts[nth]])?,
            };
            let unused = 64 - 8 * count.ty.size().unwrap_or(8).clamp(1, 8);
            let above = word(instance.target, &count)?.wrapping_sub(self.none as u64);
            Ok(above << unused >> unused)
        };
        let (uses, weaks) = (count(0)?, count(1)?);
        // All uses together hold one weak reference.
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
