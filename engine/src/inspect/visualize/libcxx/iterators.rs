//! Iterators, shown as their current elements.

use super::nodes::payload;
use crate::ids::error::Error;
use crate::inspect::value::Ty;
use crate::inspect::visualize::standard::walks::{self, target_type};
use crate::inspect::visualize::standard::{Ask, either, owners};
use crate::inspect::visualize::{View, need, word};
use dwarf::LoadAddr;

pub fn contiguous(ask: &Ask<'_>) -> Result<View, Error> {
    owners::held(
        ask.target,
        &either(ask.target, ask.value, &["__i_", "__i"])?,
    )
}

pub fn deque(ask: &Ask<'_>) -> Result<View, Error> {
    owners::held(ask.target, &ask.need(&["__ptr_"])?)
}

fn pointed(pointer: &Ty) -> Option<Ty> {
    match pointer.shape() {
        crate::inspect::value::Shape::Pointer(of, _) => Some(of),
        _ => None,
    }
}

/// Returns the element of the node that a member points to.
fn node(
    ask: &Ask<'_>,
    member: &str,
    node: Option<Ty>,
    header: u64,
    element: impl FnOnce() -> Result<Ty, Error>,
) -> Result<View, Error> {
    let at = LoadAddr(ask.word(&[member])?);
    if at.0 == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    let value = payload(ask.target, node, header, element, false)?.of(at);
    walks::unwrap_pair(ask.target, value).map(View::Pointee)
}

fn no_element() -> Result<Ty, Error> {
    Err(Error::Unsupported("unknown node type".into()))
}

pub fn list(ask: &Ask<'_>) -> Result<View, Error> {
    let header = target_type(&ask.need(&["__ptr_"])?)?.size().unwrap_or(16);
    node(ask, "__ptr_", None, header, || ask.argument(0))
}

pub fn forward_list(ask: &Ask<'_>) -> Result<View, Error> {
    let of = pointed(&ask.argument(0)?);
    node(ask, "__ptr_", of, 8, no_element)
}

pub fn tree(ask: &Ask<'_>) -> Result<View, Error> {
    let of = pointed(&ask.argument(1)?);
    node(ask, "__ptr_", of, 25, || ask.argument(0))
}

pub fn table(ask: &Ask<'_>) -> Result<View, Error> {
    let of = pointed(&ask.argument(0)?);
    node(ask, "__node_", of, 16, no_element)
}

pub fn of_map(ask: &Ask<'_>) -> Result<View, Error> {
    let inner = ask.need(&["__i_"])?;
    // An unattached iterator has no node.
    let _ = word(
        ask.target,
        &need(ask.target, &inner, &["__ptr_"])
            .or_else(|_| need(ask.target, &inner, &["__node_"]))?,
    )?;
    Ok(View::Pointee(inner))
}
