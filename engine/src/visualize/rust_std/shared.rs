//! `Rc`, `Arc` and their `Weak`.

use super::{ISIZE_MAX, composite, dynamic, first_argument, missing, number_in, pointer_in, texts};
use crate::error::Error;
use crate::value::{Place, Shape, Target, Value, members};
use crate::visualize::{View, need, word};

/// What is counted, its counts, and where it is if it has no size of its own.
struct Counted {
    /// The counts and the value.
    inner: Value,
    /// The pointer with a length or vtable.
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

    fn counts(&self, target: &dyn Target) -> Result<(u64, u64), Error> {
        let strong = number_in(target, &self.inner, "strong")?;
        Ok((strong, number_in(target, &self.inner, "weak")?))
    }

    fn held(&self, target: &dyn Target) -> Result<Value, Error> {
        match members::find(target, &self.inner, "value")? {
            Some(value) => Ok(value),
            None => need(target, &self.inner, &["data"]),
        }
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

/// `Weak<T>`: the same, but the value may be gone.
pub(super) fn weak(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let counted = Counted::of(target, value)?;
    // `Weak::new()` points to no allocation: to the highest address, rounded or not.
    if counted
        .inner
        .address()
        .is_some_and(|addr| addr.0 >= u64::MAX - 4095)
    {
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
    // All strong references together hold a weak one.
    let note = match weak.saturating_sub(1) {
        0 => format!("strong {strong}"),
        weak => format!("strong {strong}, weak {weak}"),
    };
    let held = counted.held(target)?;
    let Some(fat) = &counted.fat else {
        return Ok(View::Noted(held, note));
    };
    let Some(length) = members::find(target, fat, "length")? else {
        let vtable = need(target, fat, &["vtable"])?;
        let base = counted.inner.address().unwrap_or_default();
        let offset = held.address().unwrap_or_default() - base;
        let concrete = dynamic::behind_header(target, base, offset, &vtable)?;
        return Ok(View::Noted(concrete, note));
    };
    let len = word(target, &length)?;
    let at = held.address().ok_or_else(|| missing("address"))?;
    let ty = composite(value)?;
    let name = first_argument(&ty.ty.name);
    if texts::is_c_text(name) {
        return Ok(texts::text(at, len.saturating_sub(1)));
    }
    if texts::is_text(name) {
        return Ok(texts::text(at, len));
    }
    if !name.starts_with('[') {
        return Ok(View::Noted(held, note));
    }
    let element = match held.ty.shape() {
        Shape::Array(array) => array.element.clone(),
        _ => held.ty.clone(),
    };
    match len.checked_mul(element.size().unwrap_or(0)) {
        Some(bytes) if bytes <= ISIZE_MAX => {
            let row = Value::new(element.array(len), Place::Memory(at, None));
            Ok(View::Noted(row, note))
        }
        _ => Ok(View::Invalid(format!("<invalid length {len}>"))),
    }
}
