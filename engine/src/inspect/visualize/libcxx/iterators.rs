//! Iterators, shown as their current elements.

use super::nodes::payload;
use crate::ids::error::Error;
use crate::inspect::value::Ty;
use crate::inspect::visualize::standard::walks::{self, target_type};
use crate::inspect::visualize::standard::{Instance, either, owners};
use crate::inspect::visualize::{View, need, view, word};
use dwarf::LoadAddr;

pub fn contiguous(instance: &Instance<'_>) -> Result<View, Error> {
    owners::held(
        instance.target,
        &either(instance.target, instance.value, &["__i_", "__i"])?,
    )
}

pub fn deque(instance: &Instance<'_>) -> Result<View, Error> {
    owners::held(instance.target, &instance.need(&["__ptr_"])?)
}

fn pointed(pointer: &Ty) -> Option<Ty> {
    match pointer.shape() {
        crate::inspect::value::Shape::Pointer(of, _) => Some(of),
        _ => None,
    }
}

/// Returns the element of the node that a member points to.
fn node(
    instance: &Instance<'_>,
    member: &str,
    node: Option<Ty>,
    header: u64,
    element: impl FnOnce() -> Result<Ty, Error>,
) -> Result<View, Error> {
    let at = LoadAddr(instance.word(&[member])?);
    if at.0 == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let value = payload(instance.target, node, header, element, false)?.of(at);
    walks::unwrap_pair(instance.target, value).map(View::Pointee)
}

fn no_element() -> Result<Ty, Error> {
    Err(Error::Unsupported("unknown node type".into()))
}

pub fn list(instance: &Instance<'_>) -> Result<View, Error> {
    let header = target_type(&instance.need(&["__ptr_"])?)?
        .size()
        .unwrap_or(16);
    node(instance, "__ptr_", None, header, || instance.argument(0))
}

pub fn forward_list(instance: &Instance<'_>) -> Result<View, Error> {
    let of = pointed(&instance.argument(0)?);
    node(instance, "__ptr_", of, 8, no_element)
}

pub fn tree(instance: &Instance<'_>) -> Result<View, Error> {
    let of = pointed(&instance.argument(1)?);
    node(instance, "__ptr_", of, 25, || instance.argument(0))
}

pub fn table(instance: &Instance<'_>) -> Result<View, Error> {
    let of = pointed(&instance.argument(0)?);
    node(instance, "__node_", of, 16, no_element)
}

pub fn of_map(instance: &Instance<'_>) -> Result<View, Error> {
    let inner = instance.need(&["__i_"])?;
    // An unattached iterator has no node.
    let _ = word(
        instance.target,
        &need(instance.target, &inner, &["__ptr_"])
            .or_else(|_| need(instance.target, &inner, &["__node_"]))?,
    )?;
    // The element, not the iterator inside.
    view(instance.target, &inner).ok_or_else(|| Error::Unsupported("unknown node type".into()))
}
