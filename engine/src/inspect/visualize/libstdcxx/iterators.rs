//! Iterators, shown as their current elements.

use super::nodes::payload;
use crate::ids::error::Error;
use crate::inspect::language::template::{closing, split_arguments};
use crate::inspect::value::Ty;
use crate::inspect::visualize::standard::walks::target_type;
use crate::inspect::visualize::standard::{Ask, callable, owners};
use crate::inspect::visualize::{View, word};
use dwarf::LoadAddr;

pub fn contiguous(ask: &Ask<'_>) -> Result<View, Error> {
    owners::held(ask.target, &ask.need(&["_M_current"])?)
}

pub fn deque(ask: &Ask<'_>) -> Result<View, Error> {
    owners::held(ask.target, &ask.need(&["_M_cur"])?)
}

/// Returns the iterator's element type. gcc sometimes has it only in the name.
fn element(ask: &Ask<'_>) -> Result<Ty, Error> {
    ask.argument(0).or_else(|error| {
        let Ty::Dwarf(ty) = ask.value.ty.strip() else {
            return Err(error);
        };
        let arguments = ty.ty.name.find('<').map(|at| &ty.ty.name[at + 1..]);
        let list = arguments.and_then(|rest| Some(&rest[..closing(rest)?]));
        list.and_then(|list| split_arguments(list).first().copied())
            .and_then(|name| callable::type_named(ask.target, name))
            .ok_or(error)
    })
}

/// Returns the element of the node that a member points to.
fn node(ask: &Ask<'_>, member: &str, class: &str) -> Result<View, Error> {
    let node = ask.need(&[member])?;
    let at = LoadAddr(word(ask.target, &node)?);
    if at.0 == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    // Iterators of hash tables point to whole nodes.
    let header = target_type(&node)?;
    let payload = payload(
        ask.target,
        Some((&header, class)),
        &header,
        element(ask)?,
        false,
    )?;
    Ok(View::Pointee(payload.of(at)))
}

pub fn list(ask: &Ask<'_>) -> Result<View, Error> {
    node(ask, "_M_node", "_List_node")
}

pub fn forward_list(ask: &Ask<'_>) -> Result<View, Error> {
    node(ask, "_M_node", "_Fwd_list_node")
}

pub fn tree(ask: &Ask<'_>) -> Result<View, Error> {
    node(ask, "_M_node", "_Rb_tree_node")
}

pub fn table(ask: &Ask<'_>) -> Result<View, Error> {
    node(ask, "_M_cur", "_Hash_node")
}
