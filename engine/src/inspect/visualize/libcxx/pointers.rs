//! Smart pointers.

use super::first;
use crate::ids::error::Error;
use crate::inspect::visualize::View;
use crate::inspect::visualize::standard::owners::{self, Shared};
use crate::inspect::visualize::standard::{Instance, either};

pub fn unique(instance: &Instance<'_>) -> Result<View, Error> {
    owners::owned(
        instance,
        &first(instance.target, instance.need(&["__ptr_"])?)?,
    )
}

/// Both counts start at −1.
const COUNTS: Shared = Shared {
    pointer: "__ptr_",
    block: &["__cntrl_"],
    counts: ["__shared_owners_", "__shared_weak_owners_"],
    layout: ([8, 16], 8),
    none: -1,
};

pub fn shared(instance: &Instance<'_>) -> Result<View, Error> {
    COUNTS.shared(instance)
}

pub fn weak(instance: &Instance<'_>) -> Result<View, Error> {
    COUNTS.weak(instance)
}

pub fn reference_wrapper(instance: &Instance<'_>) -> Result<View, Error> {
    owners::held(
        instance.target,
        &either(instance.target, instance.value, &["__f_", "__f"])?,
    )
}
