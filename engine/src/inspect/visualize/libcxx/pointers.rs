//! Smart pointers.

use super::first;
use crate::ids::error::Error;
use crate::inspect::visualize::View;
use crate::inspect::visualize::standard::owners::{self, Shared};
use crate::inspect::visualize::standard::{Ask, either};

pub fn unique(ask: &Ask<'_>) -> Result<View, Error> {
    owners::owned(ask, &first(ask.target, ask.need(&["__ptr_"])?)?)
}

/// Both counts start at −1.
const COUNTS: Shared = Shared {
    pointer: "__ptr_",
    block: &["__cntrl_"],
    counts: ["__shared_owners_", "__shared_weak_owners_"],
    layout: ([8, 16], 8),
    none: -1,
};

pub fn shared(ask: &Ask<'_>) -> Result<View, Error> {
    COUNTS.shared(ask)
}

pub fn weak(ask: &Ask<'_>) -> Result<View, Error> {
    COUNTS.weak(ask)
}

pub fn reference_wrapper(ask: &Ask<'_>) -> Result<View, Error> {
    owners::held(
        ask.target,
        &either(ask.target, ask.value, &["__f_", "__f"])?,
    )
}
