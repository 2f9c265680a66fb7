//! Containers of nodes.

use super::first;
use crate::ids::error::Error;
use crate::inspect::value::{Target, Ty, Value};
use crate::inspect::visualize::standard::walks::{self, Payload, offset_of, target_type};
use crate::inspect::visualize::standard::{self, Instance, either};
use crate::inspect::visualize::{CollectionKind, View, need, word};
use dwarf::LoadAddr;

/// Returns the position of elements in nodes: from the type of the node if it is known, else after
/// the `header` bytes that all nodes have.
pub fn payload(
    target: &dyn Target,
    node: Option<Ty>,
    header: u64,
    element: impl FnOnce() -> Result<Ty, Error>,
    keyed: bool,
) -> Result<Payload, Error> {
    if let Some(node) = node {
        let object = Value::new(
            node,
            crate::inspect::value::ValueLocation::Memory(LoadAddr(0), None),
        );
        if let Ok(Some(value)) = crate::inspect::value::members::find(target, &object, "__value_")
            && let Some(at) = value.address()
        {
            return Ok(Payload {
                offset: at.0,
                ty: value.ty,
                keyed,
            });
        }
    }
    Ok(Payload::behind(header, element()?, keyed))
}

/// Returns the node type that a container allocates.
fn node(instance: &Instance<'_>, path: &[&str], holders: &[&str], class: &str) -> Option<Ty> {
    let around = need(instance.target, instance.value, path).ok()?;
    let holders = holders.iter().copied();
    holders
        .filter_map(|name| need(instance.target, &around, &[name]).ok())
        .find_map(|holder| standard::type_within(&holder.ty, class))
}

/// Size in bytes of the pointers in a list's node.
const LINKS: u64 = 16;

pub fn list(instance: &Instance<'_>) -> Result<View, Error> {
    let head = instance.need(&["__end_"])?;
    let link = need(instance.target, &head, &["__next_"])?;
    let header = target_type(&link)?;
    let next = offset_of(instance.target, &header, "__next_")
        .ok_or_else(|| standard::nodes_without("__next_"))?;
    let holders = ["__size_alloc_", "__node_alloc_"];
    let node = node(instance, &[], &holders, "__list_node");
    let element = || instance.argument(0);
    let payload = payload(
        instance.target,
        node,
        header.size().unwrap_or(LINKS),
        element,
        false,
    )?;
    let size = either(
        instance.target,
        instance.value,
        &["__size_alloc_", "__size_"],
    )?;
    let len = word(instance.target, &first(instance.target, size)?)?;
    let walk = walks::Chain {
        first: LoadAddr(word(instance.target, &link)?),
        end: head.address().ok_or(Error::OptimizedOut)?,
        next,
        payload,
    };
    Ok(standard::collection(CollectionKind::List, len, walk))
}

pub fn forward_list(instance: &Instance<'_>) -> Result<View, Error> {
    let head = first(instance.target, instance.need(&["__before_begin_"])?)?;
    let link = need(instance.target, &head, &["__next_"])?;
    let header = target_type(&link)?;
    let next = offset_of(instance.target, &header, "__next_")
        .ok_or_else(|| standard::nodes_without("__next_"))?;
    let node = match offset_of(instance.target, &header, "__value_") {
        Some(_) => Some(header),
        None => node(
            instance,
            &[],
            &["__before_begin_", "__alloc_"],
            "__forward_list_node",
        ),
    };
    let payload = payload(
        instance.target,
        node,
        next + 8,
        || instance.argument(0),
        false,
    )?;
    let walk = walks::Chain {
        first: LoadAddr(word(instance.target, &link)?),
        end: LoadAddr(0),
        next,
        payload,
    };
    standard::uncounted(instance.target, walk)
}

pub fn tree(instance: &Instance<'_>) -> Result<View, Error> {
    let tree = instance.need(&["__tree_"])?;
    let head = first(
        instance.target,
        either(instance.target, &tree, &["__pair1_", "__end_node_"])?,
    )?;
    let base = target_type(&need(instance.target, &head, &["__left_"])?)?;
    let offset =
        |name| offset_of(instance.target, &base, name).ok_or_else(|| standard::nodes_without(name));
    let kind = standard::kind_of(instance.class);
    let colour = offset("__is_black_")?;
    let node = node(
        instance,
        &["__tree_"],
        &["__pair1_", "__node_alloc_"],
        "__tree_node",
    );
    // The element may begin in the padding after the colour.
    let element = || standard::argument(&tree.ty, 0);
    let keyed = kind == CollectionKind::Map;
    let payload = payload(instance.target, node, colour + 1, element, keyed)?;
    let size = either(instance.target, &tree, &["__pair3_", "__size_"])?;
    let len = word(instance.target, &first(instance.target, size)?)?;
    let walk = walks::Tree {
        first: LoadAddr(word(
            instance.target,
            &need(instance.target, &tree, &["__begin_node_"])?,
        )?),
        head: head.address().ok_or(Error::OptimizedOut)?,
        links: [
            offset("__left_")?,
            offset("__right_")?,
            offset("__parent_")?,
        ],
        colour,
        payload,
    };
    Ok(standard::collection(kind, len, walk))
}

pub fn table(instance: &Instance<'_>) -> Result<View, Error> {
    let table = instance.need(&["__table_"])?;
    let head = first(
        instance.target,
        either(instance.target, &table, &["__p1_", "__first_node_"])?,
    )?;
    let link = need(instance.target, &head, &["__next_"])?;
    let header = target_type(&link)?;
    let next = offset_of(instance.target, &header, "__next_")
        .ok_or_else(|| standard::nodes_without("__next_"))?;
    let kind = standard::kind_of(instance.class);
    let node = node(
        instance,
        &["__table_"],
        &["__p1_", "__node_alloc_"],
        "__hash_node",
    );
    // The hash follows the link.
    let size = header.size().unwrap_or(8).saturating_add(8);
    let element = || standard::argument(&table.ty, 0);
    let payload = payload(
        instance.target,
        node,
        size,
        element,
        kind == CollectionKind::Map,
    )?;
    let size = either(instance.target, &table, &["__p2_", "__size_"])?;
    let len = word(instance.target, &first(instance.target, size)?)?;
    let walk = walks::Chain {
        first: LoadAddr(word(instance.target, &link)?),
        end: LoadAddr(0),
        next,
        payload,
    };
    Ok(standard::collection(kind, len, walk))
}
