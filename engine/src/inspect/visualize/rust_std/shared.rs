//! `Rc`, `Arc` and their `Weak`.

use super::{ISIZE_MAX, composite, first_argument, missing, number_in, pointer_in, tail, texts};
use crate::ids::error::Error;
use crate::inspect::value::{Metadata, Shape, Target, Value, members};
use crate::inspect::visualize::{View, need};

/// A reference-counted value.
struct Counted {
    /// The struct with the counts and the value.
    inner: Value,
    /// The fat pointer, if the value is unsized.
    fat: Option<Value>,
}

impl Counted {
    fn of(target: &dyn Target, value: &Value) -> Result<Counted, Error> {
        let pointer = pointer_in(target, value)?;
        if let Shape::Pointer(of, _) = pointer.ty.shape() {
            let inner = pointer.pointee(target, of)?;
            return Ok(Counted { inner, fat: None });
        }
        let thin = match members::find(target, &pointer, "data_ptr")? {
            Some(thin) => thin,
            None => need(target, &pointer, &["pointer"])?,
        };
        let Shape::Pointer(of, _) = thin.ty.shape() else {
            return Err(missing("pointer"));
        };
        Ok(Counted {
            inner: thin.pointee(target, of)?,
            fat: Some(pointer),
        })
    }

    /// Returns whether it is `Weak::new()`, which points to no allocation: its address is the highest
    /// one, rounded down or not.
    fn is_nothing(&self) -> bool {
        let addr = self.inner.address();
        addr.is_some_and(|addr| addr.0 >= u64::MAX - 4095)
    }

    fn counts(&self, target: &dyn Target) -> Result<(u64, u64), Error> {
        let strong = number_in(target, &self.inner, "strong")?;
        Ok((strong, number_in(target, &self.inner, "weak")?))
    }
}

/// Returns whether a type is that of a value with its counts.
pub(crate) fn is_counted(name: &str) -> bool {
    let path = &name[..name.find('<').unwrap_or(name.len())];
    matches!(
        members::last_component(path),
        "RcBox" | "RcInner" | "ArcInner"
    )
}

/// Returns the value in the struct with its counts.
pub(super) fn held(target: &dyn Target, inner: &Value) -> Result<Value, Error> {
    match members::find(target, inner, "value")? {
        Some(value) => Ok(value),
        None => need(target, inner, &["data"]),
    }
}

/// Returns the strong and the weak count of an `Rc`, `Arc` or `Weak`; `None` for a `Weak` without a
/// value.
///
/// # Errors
/// The value is none of these, or its counts cannot be read.
pub(crate) fn counts(target: &dyn Target, value: &Value) -> Result<Option<(u64, u64)>, Error> {
    let counted = Counted::of(target, value)?;
    match counted.is_nothing() {
        true => Ok(None),
        false => counted.counts(target).map(Some),
    }
}

/// `Rc<T>` and `Arc<T>`: a pointer to the counts and the value.
pub(super) fn counted(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let counted = Counted::of(target, value)?;
    let (strong, weak) = counted.counts(target)?;
    if strong == 0 || strong > ISIZE_MAX {
        return Ok(View::Invalid(format!("<invalid count {strong}>")));
    }
    seen(target, value, &counted, strong, weak)
}

/// `Weak<T>`: the same, but the value may have been dropped.
pub(super) fn weak(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let counted = Counted::of(target, value)?;
    if counted.is_nothing() {
        return Ok(View::Plain("(Weak of nothing)".into()));
    }
    let (strong, weak) = counted.counts(target)?;
    if strong > ISIZE_MAX {
        return Ok(View::Invalid(format!("<invalid count {strong}>")));
    }
    if strong == 0 {
        return Ok(View::Plain(format!("(Weak, dropped; weak {weak})")));
    }
    seen(target, value, &counted, strong, weak)
}

fn seen(
    target: &dyn Target,
    value: &Value,
    counted: &Counted,
    strong: u64,
    weak: u64,
) -> Result<View, Error> {
    // All strong references together hold one weak reference.
    let note = match weak.saturating_sub(1) {
        0 => format!("strong {strong}"),
        weak => format!("strong {strong}, weak {weak}"),
    };
    let Some(fat) = &counted.fat else {
        return Ok(View::Noted(held(target, &counted.inner)?, note));
    };
    let metadata = tail::metadata_of(target, fat)?.ok_or_else(|| missing("vtable"))?;
    let ty = composite(value)?;
    let name = first_argument(&ty.ty.name);
    if texts::is_c_text(name) || texts::is_text(name) {
        return Ok(View::Noted(fat.clone(), note));
    }
    match (
        tail::sized(target, counted.inner.clone(), metadata),
        metadata,
    ) {
        (Ok((held, mut notes)), _) => {
            notes.push(note);
            Ok(View::Noted(held, notes.join(", ")))
        }
        (Err(error), Metadata::Length(_)) => Ok(View::Invalid(format!("<{error}>"))),
        (Err(error), Metadata::Vtable(_)) => Err(error),
    }
}
