//! Smart pointers.

use super::vocabulary::tuple_elements;
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Target, Value, members};
use crate::inspect::visualize::standard::owners::{self, Shared};
use crate::inspect::visualize::standard::{Instance, no_pointer};
use crate::inspect::visualize::{View, need};

/// Returns the pointer in a `std::unique_ptr`.
pub fn of_unique(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    let mut tuple = need(target, value, &["_M_t"])?;
    if let Some(inner) = members::find(target, &tuple, "_M_t")? {
        tuple = inner;
    }
    let elements = tuple_elements(target, &tuple)?;
    elements.into_iter().next().ok_or_else(no_pointer)
}

pub fn unique(instance: &Instance<'_>) -> Result<View, Error> {
    owners::owned(instance, &of_unique(instance.target, instance.value)?)
}

/// The layout of `std::shared_ptr` and `std::weak_ptr`.
pub const COUNTS: Shared = Shared {
    pointer: "_M_ptr",
    block: &["_M_refcount", "_M_pi"],
    counts: ["_M_use_count", "_M_weak_count"],
    layout: ([8, 12], 4),
    none: 0,
};

pub fn shared(instance: &Instance<'_>) -> Result<View, Error> {
    COUNTS.shared(instance)
}

pub fn weak(instance: &Instance<'_>) -> Result<View, Error> {
    COUNTS.weak(instance)
}

pub fn reference_wrapper(instance: &Instance<'_>) -> Result<View, Error> {
    let pointer = instance.need(&["_M_data"])?;
    match pointer.ty.shape() {
        Shape::Pointer(of, _) if matches!(of.shape(), Shape::Function) => {
            Ok(View::Pointee(pointer))
        }
        _ => owners::held(instance.target, &pointer),
    }
}
