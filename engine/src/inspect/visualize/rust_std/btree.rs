//! `BTreeMap` and `BTreeSet`.

use super::{
    argument, composite, deref, missing, named_in, number_in, pointer_in, some, struct_in,
};
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation, members};
use crate::inspect::visualize::{Collection, CollectionKind, Item, View, Walk};
use dwarf::{LoadAddr, MemberOffset};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum height: a higher tree, with at least five elements per node, would not fit into memory.
const HIGHEST: u64 = 32;

/// Returns the view of a map: `length`, and `root` with `height` and `node`.
pub(super) fn tree(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let map = struct_in(target, value, "::BTreeMap")?;
    let len = number_in(target, &map, "length")?;
    let kind = match members::last_component(&value.ty.name()) {
        "BTreeMap" => CollectionKind::Map,
        _ => CollectionKind::Set,
    };
    let root = some(target, &named_in(target, &map, "root")?)?;
    let walk: Rc<dyn Walk> = match root {
        None if len > 0 => {
            return Ok(View::Invalid(format!(
                "<invalid: {len} elements and no root>"
            )));
        }
        None => Rc::new(Nothing),
        Some(root) => {
            let height = number_in(target, &root, "height")?;
            if height > HIGHEST {
                return Ok(View::Invalid(format!("<invalid height {height}>")));
            }
            let node = deref(
                target,
                &pointer_in(target, &named_in(target, &root, "node")?)?,
            )?;
            Rc::new(Tree {
                root: node.address().unwrap_or_default(),
                height,
                layout: Layout::of(&map, &node)?,
                keyed: kind == CollectionKind::Map,
            })
        }
    };
    Ok(View::Collection(Collection {
        len,
        more: false,
        kind,
        walk,
    }))
}

#[derive(Debug)]
struct Nothing;

impl Walk for Nothing {
    fn walk(
        &self,
        _: &dyn Target,
        _: u64,
        _: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        Ok(())
    }
}

/// Offsets in a node in bytes, from the debug info.
#[derive(Debug)]
struct Layout {
    parent: u64,
    len: u64,
    keys: u64,
    values: u64,
    edges: u64,
    key: Ty,
    value: Ty,
    /// Capacity of a node.
    most: u64,
}

impl Layout {
    fn of(map: &Value, leaf: &Value) -> Result<Layout, Error> {
        let leaf = composite(leaf)?;
        let internal = internal_of(&leaf).ok_or_else(|| missing("inner node's type"))?;
        let most = match leaf.related(member(&leaf, "keys")?.1).shape() {
            Shape::Array(keys) => keys.count.ok_or_else(|| missing("capacity"))?,
            _ => return Err(missing("keys")),
        };
        let of = |name| argument(map, name).ok_or_else(|| missing("type of the keys"));
        Ok(Layout {
            parent: member(&leaf, "parent")?.0,
            len: member(&leaf, "len")?.0,
            keys: member(&leaf, "keys")?.0,
            values: member(&leaf, "vals")?.0,
            edges: member(&internal, "edges")?.0,
            key: of("K")?,
            value: of("V")?,
            most,
        })
    }
}

fn member(ty: &DwarfTy, name: &str) -> Result<(u64, dwarf::TypeId), Error> {
    let members = ty.composite().map_or(&[][..], |it| &it.members);
    let found = members.iter().find(|member| member.name == name);
    match found.map(|member| (&member.offset, member.ty)) {
        Some((MemberOffset::Bytes(offset), ty)) => Ok((*offset, ty)),
        _ => Err(missing(&format!("member `{name}`"))),
    }
}

/// Returns the type of inner nodes: the target of a leaf's `parent`.
fn internal_of(leaf: &DwarfTy) -> Option<Arc<DwarfTy>> {
    let (_, mut id) = member(leaf, "parent").ok()?;
    for _ in 0..super::NESTING {
        match leaf.related(id).shape() {
            Shape::Pointer(of, _) => match of.shape() {
                Shape::Composite(ty) => return Some(ty),
                _ => return None,
            },
            Shape::Composite(ty) => {
                let it = ty.composite()?;
                let variants = it.variants.iter().flat_map(|part| &part.variants);
                let some = variants
                    .flat_map(|variant| &variant.members)
                    .find(|member| member.name == "Some");
                id = some.or(it.members.first())?.ty;
            }
            _ => return None,
        }
    }
    None
}

#[derive(Debug)]
struct Tree {
    root: LoadAddr,
    height: u64,
    layout: Layout,
    keyed: bool,
}

/// A node on the path from the root, and the index of its next element.
struct Step {
    node: LoadAddr,
    len: u64,
    next: u64,
}

impl Tree {
    fn step(&self, target: &dyn Target, node: LoadAddr, parent: LoadAddr) -> Result<Step, Error> {
        let mut len = [0; 2];
        target.memory().read(node + self.layout.len, &mut len)?;
        let len = u64::from(u16::from_le_bytes(len));
        let above = address_at(target, node + self.layout.parent)?;
        // Only the root of an empty tree may have no elements.
        if len > self.layout.most || len == 0 && parent.0 != 0 || above != parent {
            return Err(Error::Unsupported(format!(
                "<invalid node {:#x}: {len} elements, below {:#x}>",
                node.0, above.0
            )));
        }
        Ok(Step { node, len, next: 0 })
    }

    fn item(&self, node: LoadAddr, index: u64) -> Item {
        let layout = &self.layout;
        let nth = |ty: &Ty, first: u64| {
            let at = node + first + index * ty.size().unwrap_or(0);
            Value::new(ty.clone(), ValueLocation::Memory(at, None))
        };
        let key = nth(&layout.key, layout.keys);
        match self.keyed {
            true => Item {
                key: Some(key),
                value: nth(&layout.value, layout.values),
            },
            false => Item {
                key: None,
                value: key,
            },
        }
    }
}

fn address_at(target: &dyn Target, at: LoadAddr) -> Result<LoadAddr, Error> {
    let mut bytes = [0; 8];
    target.memory().read(at, &mut bytes)?;
    Ok(LoadAddr(u64::from_le_bytes(bytes)))
}

impl Walk for Tree {
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut passed = 0u64;
        let mut way = vec![self.step(target, self.root, LoadAddr(0))?];
        let mut down = true;
        loop {
            let below = self.height + 1 - way.len() as u64;
            let Some(here) = way.last_mut() else {
                return Ok(());
            };
            if below > 0 && down {
                let edge = here.node + self.layout.edges + here.next * 8;
                let (child, parent) = (address_at(target, edge)?, here.node);
                if target.cancelled() {
                    return Err(Error::Cancelled);
                }
                way.push(self.step(target, child, parent)?);
                continue;
            }
            if here.next >= here.len {
                way.pop();
                if way.is_empty() {
                    return Ok(());
                }
                down = false;
                continue;
            }
            let (node, index) = (here.node, here.next);
            here.next += 1;
            down = true;
            passed += 1;
            if passed > start && visit(self.item(node, index)).is_break() {
                return Ok(());
            }
        }
    }
}
