//! Smart pointers.

use super::vocabulary::tuple_elements;
use crate::ids::error::Error;
use crate::inspect::value::{Shape, members};
use crate::inspect::visualize::View;
use crate::inspect::visualize::standard::owners::{self, Shared};
use crate::inspect::visualize::standard::{Instance, no_pointer};

pub fn unique(instance: &Instance<'_>) -> Result<View, Error> {
    let mut tuple = instance.need(&["_M_t"])?;
    if let Some(inner) = members::find(instance.target, &tuple, "_M_t")? {
        tuple = inner;
    }
    let elements = tuple_elements(instance.target, &tuple)?;
    let pointer = elements.first().ok_or_else(no_pointer)?;
    owners::owned(instance, pointer)
}

const COUNTS: Shared = Shared {
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
