//! Smart pointers.

use super::vocabulary::tuple_elements;
use crate::ids::error::Error;
use crate::inspect::value::{Shape, members};
use crate::inspect::visualize::View;
use crate::inspect::visualize::standard::Ask;
use crate::inspect::visualize::standard::owners::{self, Shared};

pub fn unique(ask: &Ask<'_>) -> Result<View, Error> {
    let mut tuple = ask.need(&["_M_t"])?;
    if let Some(inner) = members::find(ask.target, &tuple, "_M_t")? {
        tuple = inner;
    }
    let elements = tuple_elements(ask.target, &tuple)?;
    let pointer = elements
        .first()
        .ok_or_else(|| Error::Unsupported("not a pointer".into()))?;
    owners::owned(ask, pointer)
}

const COUNTS: Shared = Shared {
    pointer: "_M_ptr",
    block: &["_M_refcount", "_M_pi"],
    counts: ["_M_use_count", "_M_weak_count"],
    layout: ([8, 12], 4),
    none: 0,
};

pub fn shared(ask: &Ask<'_>) -> Result<View, Error> {
    COUNTS.shared(ask)
}

pub fn weak(ask: &Ask<'_>) -> Result<View, Error> {
    COUNTS.weak(ask)
}

pub fn reference_wrapper(ask: &Ask<'_>) -> Result<View, Error> {
    let pointer = ask.need(&["_M_data"])?;
    match pointer.ty.shape() {
        Shape::Pointer(of, _) if matches!(of.shape(), Shape::Function) => {
            Ok(View::Pointee(pointer))
        }
        _ => owners::held(ask.target, &pointer),
    }
}
