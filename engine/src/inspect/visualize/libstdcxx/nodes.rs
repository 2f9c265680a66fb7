//! Containers of nodes.

use crate::ids::error::Error;
use crate::inspect::value::{Target, Ty, Value, members};
use crate::inspect::visualize::standard::walks::{self, Payload, offset_of, target_type};
use crate::inspect::visualize::standard::{self, Instance};
use crate::inspect::visualize::{CollectionKind, View, word};
use dwarf::LoadAddr;

/// Returns the position of elements in nodes: from the type of the node if it is known, else after
/// the header that all nodes have.
pub fn payload(
    target: &dyn Target,
    around: Option<(&Ty, &str)>,
    header: &Ty,
    element: Ty,
    keyed: bool,
) -> Result<Payload, Error> {
    let node = around.and_then(|(ty, class)| standard::type_within(ty, class));
    let offset = node.and_then(|node| {
        offset_of(target, &node, "_M_storage")
            .or_else(|| offset_of(target, &node, "_M_value_field"))
    });
    let mut payload = Payload::behind(
        header
            .size()
            .ok_or_else(|| standard::nodes_without("size"))?,
        element,
        keyed,
    );
    payload.offset = offset.unwrap_or(payload.offset);
    Ok(payload)
}

/// Returns the type of the header that a link points to, the link's offset in it in bytes, and the
/// link.
pub fn link(target: &dyn Target, head: &Value, name: &str) -> Result<(Ty, u64, LoadAddr), Error> {
    let link = super::super::need(target, head, &[name])?;
    let header = target_type(&link)?;
    let offset = offset_of(target, &header, name).ok_or_else(|| standard::nodes_without(name))?;
    Ok((header, offset, LoadAddr(word(target, &link)?)))
}

pub fn list(instance: &Instance<'_>) -> Result<View, Error> {
    let implementation = instance.need(&["_M_impl"])?;
    let head = instance.need(&["_M_impl", "_M_node"])?;
    let (header, next, first) = link(instance.target, &head, "_M_next")?;
    let around = Some((&implementation.ty, "_List_node"));
    let payload = payload(
        instance.target,
        around,
        &header,
        instance.argument(0)?,
        false,
    )?;
    let end = head.address().ok_or(Error::OptimizedOut)?;
    let walk = walks::Chain {
        first,
        end,
        next,
        payload,
    };
    // Lists of the ABI before C++11 do not store their length.
    match members::find(instance.target, &head, "_M_size")? {
        Some(size) => {
            let len = word(instance.target, &size)?;
            Ok(standard::collection(CollectionKind::List, len, walk))
        }
        None => standard::uncounted(instance.target, walk),
    }
}

pub fn forward_list(instance: &Instance<'_>) -> Result<View, Error> {
    let implementation = instance.need(&["_M_impl"])?;
    let head = instance.need(&["_M_impl", "_M_head"])?;
    let (header, next, first) = link(instance.target, &head, "_M_next")?;
    let around = Some((&implementation.ty, "_Fwd_list_node"));
    let payload = payload(
        instance.target,
        around,
        &header,
        instance.argument(0)?,
        false,
    )?;
    let walk = walks::Chain {
        first,
        end: LoadAddr(0),
        next,
        payload,
    };
    standard::uncounted(instance.target, walk)
}

pub fn tree(instance: &Instance<'_>) -> Result<View, Error> {
    let tree = instance.need(&["_M_t"])?;
    let implementation = instance.need(&["_M_t", "_M_impl"])?;
    let head = instance.need(&["_M_t", "_M_impl", "_M_header"])?;
    let (header, left, first) = link(instance.target, &head, "_M_left")?;
    let around = Some((&implementation.ty, "_Rb_tree_node"));
    let kind = standard::kind_of(instance.class);
    let element = standard::argument(&tree.ty, 1)?;
    let payload = payload(
        instance.target,
        around,
        &header,
        element,
        kind == CollectionKind::Map,
    )?;
    let offset = |name| {
        offset_of(instance.target, &header, name).ok_or_else(|| standard::nodes_without(name))
    };
    let walk = walks::Tree {
        first,
        head: head.address().ok_or(Error::OptimizedOut)?,
        links: [left, offset("_M_right")?, offset("_M_parent")?],
        colour: offset("_M_color")?,
        payload,
    };
    let len = instance.word(&["_M_t", "_M_impl", "_M_node_count"])?;
    Ok(standard::collection(kind, len, walk))
}

pub fn table(instance: &Instance<'_>) -> Result<View, Error> {
    let table = instance.need(&["_M_h"])?;
    let head = instance.need(&["_M_h", "_M_before_begin"])?;
    let (header, next, first) = link(instance.target, &head, "_M_nxt")?;
    let kind = standard::kind_of(instance.class);
    let element = standard::argument(&table.ty, 1)?;
    let around = Some((&table.ty, "_Hash_node"));
    let payload = payload(
        instance.target,
        around,
        &header,
        element,
        kind == CollectionKind::Map,
    )?;
    let walk = walks::Chain {
        first,
        end: LoadAddr(0),
        next,
        payload,
    };
    let len = instance.word(&["_M_h", "_M_element_count"])?;
    Ok(standard::collection(kind, len, walk))
}
