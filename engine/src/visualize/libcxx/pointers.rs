//! Owners and handles.

use super::first;
use crate::error::Error;
use crate::value::Value;
use crate::visualize::standard::{self, Ask, either};
use crate::visualize::{View, need, word};

/// What a smart pointer owns; of an array only where it begins is known.
fn owned(ask: &Ask<'_>, pointer: &Value) -> Result<View, Error> {
    if standard::is_array(&ask.argument(0)?) && pointer.raw(ask.target)? != 0 {
        return Ok(View::Pointee(pointer.clone()));
    }
    standard::held(ask.target, pointer)
}

pub fn unique(ask: &Ask<'_>) -> Result<View, Error> {
    owned(ask, &first(ask.target, ask.need(&["__ptr_"])?)?)
}

/// Uses, and weak references; both are counted from -1.
fn counts(ask: &Ask<'_>) -> Result<Option<(u64, u64)>, Error> {
    let counts = ask.need(&["__cntrl_"])?;
    if word(ask.target, &counts)? == 0 {
        return Ok(None);
    }
    let block = ask.pointee(&counts)?;
    let count = |name| -> Result<u64, Error> {
        Ok(word(ask.target, &need(ask.target, &block, &[name])?)?.wrapping_add(1))
    };
    let (uses, weaks) = (count("__shared_owners_")?, count("__shared_weak_owners_")?);
    // All uses together hold one of the weak references.
    Ok(Some((uses, weaks.saturating_sub(u64::from(uses > 0)))))
}

pub fn shared(ask: &Ask<'_>) -> Result<View, Error> {
    let held = owned(ask, &ask.need(&["__ptr_"])?)?;
    Ok(match counts(ask)? {
        Some((uses, weaks)) => standard::counts(held, uses, weaks),
        None => held,
    })
}

pub fn weak(ask: &Ask<'_>) -> Result<View, Error> {
    match counts(ask)? {
        Some((0, _)) => Ok(View::Plain("expired".into())),
        Some((uses, weaks)) => {
            let held = owned(ask, &ask.need(&["__ptr_"])?)?;
            Ok(standard::counts(held, uses, weaks))
        }
        None => Ok(View::Plain("nullptr".into())),
    }
}

pub fn reference_wrapper(ask: &Ask<'_>) -> Result<View, Error> {
    standard::held(
        ask.target,
        &either(ask.target, ask.value, &["__f_", "__f"])?,
    )
}
