//! Owners and handles.

use super::vocabulary::tuple_elements;
use crate::error::Error;
use crate::value::{Shape, Value, members};
use crate::visualize::standard::{self, Ask};
use crate::visualize::{View, word};

pub fn unique(ask: &Ask<'_>) -> Result<View, Error> {
    let mut tuple = ask.need(&["_M_t"])?;
    if let Some(inner) = members::find(ask.target, &tuple, "_M_t")? {
        tuple = inner;
    }
    let elements = tuple_elements(ask.target, &tuple)?;
    let pointer = elements
        .first()
        .ok_or_else(|| Error::Unsupported("no pointer".into()))?;
    owned(ask, pointer)
}

/// What a smart pointer owns; of an array only where it begins is known.
fn owned(ask: &Ask<'_>, pointer: &Value) -> Result<View, Error> {
    if standard::is_array(&ask.argument(0)?) && pointer.raw(ask.target)? != 0 {
        return Ok(View::Pointee(pointer.clone()));
    }
    standard::held(ask.target, pointer)
}

/// Uses, and weak references.
fn counts(ask: &Ask<'_>) -> Result<Option<(u64, u64)>, Error> {
    let counts = ask.need(&["_M_refcount", "_M_pi"])?;
    if word(ask.target, &counts)? == 0 {
        return Ok(None);
    }
    let block = ask.pointee(&counts)?;
    let count = |name| -> Result<u64, Error> {
        let count = super::super::need(ask.target, &block, &[name])?;
        Ok(word(ask.target, &count)? & 0xffff_ffff)
    };
    let (uses, weaks) = (count("_M_use_count")?, count("_M_weak_count")?);
    // All uses together hold one of the weak references.
    Ok(Some((uses, weaks.saturating_sub(u64::from(uses > 0)))))
}

pub fn shared(ask: &Ask<'_>) -> Result<View, Error> {
    let held = owned(ask, &ask.need(&["_M_ptr"])?)?;
    Ok(match counts(ask)? {
        Some((uses, weaks)) => standard::counts(held, uses, weaks),
        None => held,
    })
}

pub fn weak(ask: &Ask<'_>) -> Result<View, Error> {
    match counts(ask)? {
        Some((0, _)) => Ok(View::Plain("expired".into())),
        Some((uses, weaks)) => {
            let held = owned(ask, &ask.need(&["_M_ptr"])?)?;
            Ok(standard::counts(held, uses, weaks))
        }
        None => Ok(View::Plain("nullptr".into())),
    }
}

pub fn reference_wrapper(ask: &Ask<'_>) -> Result<View, Error> {
    let pointer = ask.need(&["_M_data"])?;
    match pointer.ty.shape() {
        Shape::Pointer(of, _) if matches!(of.shape(), Shape::Function) => {
            Ok(View::Pointee(pointer))
        }
        _ => standard::held(ask.target, &pointer),
    }
}
