//! Smart pointers.

use crate::ids::error::Error;
use crate::inspect::library::call::{Call, out_of_range};
use crate::inspect::library::contents::Contents;
use crate::inspect::library::method::Parameter::Index;
use crate::inspect::library::method::{Class, Row, boolean, element, element_pointer};
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Shape, Ty, Value, ValueLocation};
use crate::inspect::visualize::standard::owners;
use crate::inspect::visualize::{self};
use dwarf::LoadAddr;

/// Methods of `std::unique_ptr` and `std::shared_ptr`.
pub const OWNER: &[Row] = &[
    Row::new("get", &[], element_pointer, get),
    Row::new("operator bool", &[], boolean, |it| {
        Ok(it.truth(address(it)? != 0))
    }),
    Row::new("operator*", &[], single, |it| target(it, 0)),
    Row::new("operator->", &[], single_pointer, get),
    Row::new("operator[]", &[Index], one_of_many, |it| {
        let index = it.integer(0)?;
        match u64::try_from(index.value()) {
            Ok(index) => target(it, index),
            Err(_) => Err(out_of_range(index.value(), 0)),
        }
    }),
];

/// Methods of `std::shared_ptr` and `std::weak_ptr`.
pub const COUNTS: &[Row] = &[Row::new("use_count", &[], long, |it| {
    let uses = owners::use_count(it.target, it.object)?;
    Ok(it.number(u128::from(uses)))
})];

/// Methods of `std::weak_ptr`.
pub const WEAK: &[Row] = &[
    Row::new("expired", &[], boolean, |it| {
        let uses = owners::use_count(it.target, it.object)?;
        Ok(it.truth(uses == 0))
    }),
    // The function of the program would count one more, which nothing gives back. Both pointers
    // have the same layout.
    Row::new("lock", &[], shared, |it| {
        let size = it.returns.size().unwrap_or(0).min(64) as usize;
        let bytes = match owners::use_count(it.target, it.object)? {
            0 => vec![0; size],
            _ => it.object.place.read(it.target, size)?.to_vec(),
        };
        Ok(Value::of_bytes(it.returns.clone(), &bytes))
    }),
];

/// Returns `std::shared_ptr<T>` for `std::weak_ptr<T>`.
fn shared(class: &Class) -> Option<Ty> {
    class.sibling("weak_ptr", "shared_ptr")
}

/// Methods of `std::reference_wrapper`.
pub const REFERENCE: &[Row] = &[Row::new("get", &[], element, |it| target(it, 0))];

fn long(_: &Class) -> Option<Ty> {
    Some(Ty::Builtin(Scalar::new(ScalarKind::Signed, 8), "long"))
}

/// Returns the type of the object if there is one, whose contents are known.
fn single(class: &Class) -> Option<Ty> {
    match &class.contents {
        Some(Contents::Pointee(of)) if !matches!(of.shape(), Shape::Void) => Some(of.clone()),
        _ => None,
    }
}

fn single_pointer(class: &Class) -> Option<Ty> {
    single(class).map(Ty::pointer)
}

fn one_of_many(class: &Class) -> Option<Ty> {
    match &class.contents {
        Some(Contents::Unbounded(of)) => Some(of.clone()),
        _ => None,
    }
}

fn address(it: &Call<'_>) -> Result<u64, Error> {
    let pointer = owners::pointer(it.target, it.object)?;
    visualize::word(it.target, &pointer)
}

/// Returns the pointer itself: a deleter may define another type for it.
fn get(it: &Call<'_>) -> Result<Value, Error> {
    let pointer = owners::pointer(it.target, it.object)?;
    match pointer.ty.shape() {
        Shape::Pointer(..) => Ok(it.number(u128::from(visualize::word(it.target, &pointer)?))),
        _ => Ok(pointer),
    }
}

/// Returns an object that the pointer points to.
fn target(it: &Call<'_>, index: u64) -> Result<Value, Error> {
    let pointer = owners::pointer(it.target, it.object)?;
    if !matches!(pointer.ty.shape(), Shape::Pointer(..)) {
        return Err(Error::Unsupported(format!(
            "cannot dereference a `{}` without a call",
            pointer.ty.name()
        )));
    }
    let addr = visualize::word(it.target, &pointer)?;
    if addr == 0 {
        return Err(Error::eval("cannot dereference: the pointer is null"));
    }
    let size = it.returns.size().unwrap_or(0);
    let place = LoadAddr(addr) + index.wrapping_mul(size);
    Ok(Value::new(
        it.returns.clone(),
        ValueLocation::Memory(place, None),
    ))
}
