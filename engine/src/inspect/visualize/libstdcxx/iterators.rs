//! Iterators, shown as their current elements.

use super::nodes::payload;
use crate::ids::error::Error;
use crate::inspect::language::template::{closing, split_arguments};
use crate::inspect::value::Ty;
use crate::inspect::visualize::standard::walks::target_type;
use crate::inspect::visualize::standard::{Instance, callable, owners};
use crate::inspect::visualize::{View, word};
use dwarf::LoadAddr;

pub fn contiguous(instance: &Instance<'_>) -> Result<View, Error> {
    owners::held(instance.target, &instance.need(&["_M_current"])?)
}

pub fn deque(instance: &Instance<'_>) -> Result<View, Error> {
    owners::held(instance.target, &instance.need(&["_M_cur"])?)
}

/// Returns the iterator's element type. Some debug info of gcc has it in the class's name only.
fn element(instance: &Instance<'_>) -> Result<Ty, Error> {
    instance.argument(0).or_else(|error| {
        let Ty::Dwarf(ty) = instance.value.ty.strip() else {
            return Err(error);
        };
        let arguments = ty.ty.name.find('<').map(|at| &ty.ty.name[at + 1..]);
        let list = arguments.and_then(|rest| Some(&rest[..closing(rest)?]));
        list.and_then(|list| split_arguments(list).first().copied())
            .and_then(|name| callable::type_named(instance.target, name))
            .ok_or(error)
    })
}

/// Returns the element of the node that a member points to.
fn node(instance: &Instance<'_>, member: &str, class: &str) -> Result<View, Error> {
    let node = instance.need(&[member])?;
    let at = LoadAddr(word(instance.target, &node)?);
    if at.0 == 0 {
        return Ok(View::Plain("nullptr".into()));
    }
    // Iterators of hash tables point to whole nodes.
    let header = target_type(&node)?;
    let payload = payload(
        instance.target,
        Some((&header, class)),
        &header,
        element(instance)?,
        false,
    )?;
    Ok(View::Pointee(payload.of(at)))
}

pub fn list(instance: &Instance<'_>) -> Result<View, Error> {
    node(instance, "_M_node", "_List_node")
}

pub fn forward_list(instance: &Instance<'_>) -> Result<View, Error> {
    node(instance, "_M_node", "_Fwd_list_node")
}

pub fn tree(instance: &Instance<'_>) -> Result<View, Error> {
    node(instance, "_M_node", "_Rb_tree_node")
}

pub fn table(instance: &Instance<'_>) -> Result<View, Error> {
    node(instance, "_M_cur", "_Hash_node")
}
