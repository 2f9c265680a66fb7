//! Cells, locks, atomics, counted pointers.

use super::{option_of_reference, reference};
use crate::ids::error::Error;
use crate::inspect::library::call::Call;
use crate::inspect::library::method::Parameter::{Own, Unread};
use crate::inspect::library::method::{
    Class, Row, boolean, element, element_const_pointer, element_pointer, size,
};
use crate::inspect::value::{Shape, Ty, Value};
use crate::inspect::visualize::rust_std::{self, counts};
use crate::inspect::visualize::{View, view};

/// Methods of `Rc` and `Arc`; others are those of the value.
pub const COUNTED: &[Row] = &[Row::new("as_ref", &[], sized_reference, |it| {
    it.reference(&value(it)?)
})];

/// Functions of `Rc` and `Arc` that take the object as an argument.
pub const COUNTED_FUNCTIONS: &[Row] = &[
    Row::new("strong_count", &[], size, strong),
    Row::new("weak_count", &[], size, weak),
    Row::new("as_ptr", &[], element_const_pointer, |it| {
        let addr = value(it)?.address();
        let addr = addr.ok_or_else(|| it.unreadable())?;
        Ok(it.number(u128::from(addr.0)))
    }),
    Row::new("ptr_eq", &[Own], boolean, |it| {
        let address = |value: &Value| {
            let value = crate::inspect::library::number::plain(it.target, value)?;
            rust_std::pointer_in(it.target, &value)?.bytes(it.target)
        };
        let same = address(it.object)? == address(it.argument(0)?)?;
        Ok(it.truth(same))
    }),
];

/// Methods of `Weak`.
pub const WEAK: &[Row] = &[
    // The function of the program would count one more, which nothing gives back.
    Row::new("upgrade", &[], option_of_counted, |it| {
        let Some((1.., _)) = counts(it.target, it.object)? else {
            return it.option(None);
        };
        let Some(counted) = counted(it.class) else {
            return Err(it.unreadable());
        };
        it.option(Some(Value::new(counted, it.object.place.clone())))
    }),
    Row::new("strong_count", &[], size, strong),
    Row::new("weak_count", &[], size, |it| {
        match counts(it.target, it.object)? {
            // The count is that of other values once the object is dropped.
            Some((0, _)) => Ok(it.number(0)),
            _ => weak(it),
        }
    }),
];

/// Returns the type of the counted pointer that a weak one becomes: it has the same layout.
fn counted(class: &Class) -> Option<Ty> {
    class
        .sibling("rc::Weak", "rc::Rc")
        .or_else(|| class.sibling("sync::Weak", "sync::Arc"))
}

/// Returns `Option<Rc<T>>`.
fn option_of_counted(class: &Class) -> Option<Ty> {
    counted(class).map(Ty::option)
}

/// Methods of `Cell`.
pub const CELL: &[Row] = &[
    Row::new("get", &[], element, value),
    Row::new("as_ptr", &[], element_pointer, pointer),
];

/// Methods of `RefCell`.
pub const REF_CELL: &[Row] = &[
    Row::new("borrow", &[], reference, |it| {
        if let Some(View::Noted(_, note)) = view(it.target, it.object)
            && note.starts_with("mutably")
        {
            return Err(Error::eval("cannot borrow: the cell is mutably borrowed"));
        }
        it.reference(&value(it)?)
    }),
    Row::new("as_ptr", &[], element_pointer, pointer),
];

/// Methods of cells that are set once.
pub const ONCE: &[Row] = &[Row::new("get", &[], option_of_reference, |it| {
    let held = it.held()?.map(|held| it.reference(&inner(it, held)?));
    it.option(held.transpose()?)
})];

/// Methods of locks.
pub const LOCK: &[Row] = &[Row::new("is_poisoned", &[], boolean, |it| {
    let failed = rust_std::named_in(it.target, it.object, "failed")?;
    let failed = rust_std::innermost(it.target, failed)?;
    Ok(it.truth(failed.raw(it.target)? != 0))
})];

/// Methods of atomics.
pub const ATOMIC: &[Row] = &[Row::new("load", &[Unread], element, value)];

/// Methods of `NonZero`.
pub const NON_ZERO: &[Row] = &[Row::new("get", &[], element, value)];

/// Returns `&T` of a value with a size.
fn sized_reference(class: &Class) -> Option<Ty> {
    class.element().and_then(Ty::size)?;
    reference(class)
}

/// Returns the declared value inside the wrappers that the library has around it.
fn inner(it: &Call<'_>, held: Value) -> Result<Value, Error> {
    let declared = it.class.element().ok_or_else(|| it.unreadable())?;
    let mut held = held;
    for _ in 0..8 {
        if declared.same_as(&held.ty) {
            return Ok(Value {
                ty: declared.clone(),
                ..held
            });
        }
        match view(it.target, &held) {
            Some(View::Pointee(next) | View::Noted(next, _)) => held = next,
            _ => break,
        }
    }
    // The number of an atomic or a `NonZero` has another name in the debug info.
    match held.ty.size() == declared.size() {
        true => Ok(Value {
            ty: declared.clone(),
            ..held
        }),
        false => Err(it.unreadable()),
    }
}

fn value(it: &Call<'_>) -> Result<Value, Error> {
    if let Shape::Pointer(of, _) = it.object.ty.shape() {
        return it.object.pointee(it.target, of);
    }
    let held = it.held()?.ok_or_else(|| it.unreadable())?;
    inner(it, held)
}

fn pointer(it: &Call<'_>) -> Result<Value, Error> {
    let addr = value(it)?.address();
    let addr = addr.ok_or_else(|| Error::eval("the cell is not in memory"))?;
    Ok(it.number(u128::from(addr.0)))
}

fn strong(it: &Call<'_>) -> Result<Value, Error> {
    let strong = counts(it.target, it.object)?.map_or(0, |it| it.0);
    Ok(it.number(u128::from(strong)))
}

fn weak(it: &Call<'_>) -> Result<Value, Error> {
    // All strong references together hold one weak reference.
    let weak = counts(it.target, it.object)?.map_or(0, |it| it.1.saturating_sub(1));
    Ok(it.number(u128::from(weak)))
}
