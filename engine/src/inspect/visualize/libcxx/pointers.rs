//! Smart pointers.

use super::first;
use crate::ids::error::Error;
use crate::inspect::value::{Target, Value};
use crate::inspect::visualize::standard::owners::{self, Shared};
use crate::inspect::visualize::standard::{Instance, either};
use crate::inspect::visualize::{View, need};

/// Returns the pointer in a `std::unique_ptr`.
pub fn of_unique(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    first(target, need(target, value, &["__ptr_"])?)
}

pub fn unique(instance: &Instance<'_>) -> Result<View, Error> {
    owners::owned(instance, &of_unique(instance.target, instance.value)?)
}

/// The layout of `std::shared_ptr` and `std::weak_ptr`; both counts start at −1.
pub const COUNTS: Shared = Shared {
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
