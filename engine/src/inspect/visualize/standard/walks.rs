//! Iteration over lists, trees, hash tables and blocks.

use super::no_pointer;
use crate::ids::error::Error;
use crate::inspect::value::location::Bits;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation, alignment, members};
use crate::inspect::visualize::{Item, Walk};
use dwarf::LoadAddr;
use std::ops::ControlFlow;

/// Nodes between checks of the cancel flag.
const CHECK_EVERY: u64 = 1024;

/// Maximum height of a red-black tree of 2^64 nodes.
const HIGHEST: usize = 128;

/// The position of the element in a node, and its parts.
#[derive(Clone, Debug)]
pub struct Payload {
    /// Offset in the node, in bytes.
    pub offset: u64,
    /// Its type.
    pub ty: Ty,
    /// Whether it is a pair of key and value.
    pub keyed: bool,
}

impl Payload {
    /// Returns the payload of a node whose element follows a header of `header` bytes.
    pub fn behind(header: u64, ty: Ty, keyed: bool) -> Payload {
        let offset = header.next_multiple_of(alignment::of(&ty));
        Payload { offset, ty, keyed }
    }

    /// Returns the element of a node.
    pub fn of(&self, node: LoadAddr) -> Value {
        Value::new(
            self.ty.clone(),
            ValueLocation::Memory(node + self.offset, None),
        )
    }

    fn item(&self, target: &dyn Target, node: LoadAddr) -> Result<Item, Error> {
        let value = self.of(node);
        if !self.keyed {
            return Ok(Item { key: None, value });
        }
        let pair = unwrap_pair(target, value)?;
        let part = |name: &str| super::need(target, &pair, &[name]);
        Ok(Item {
            key: Some(part("first")?),
            value: part("second")?,
        })
    }
}

/// libc++ wraps its pairs in a union or struct.
pub fn unwrap_pair(target: &dyn Target, value: Value) -> Result<Value, Error> {
    for name in ["__cc_", "__cc"] {
        if let Some(pair) = members::find(target, &value, name)? {
            return Ok(pair);
        }
    }
    Ok(value)
}

/// Returns the offset of a member in a type, in bytes.
pub fn offset_of(target: &dyn Target, ty: &Ty, name: &str) -> Option<u64> {
    let object = Value::new(ty.clone(), ValueLocation::Memory(LoadAddr(0), None));
    let member = members::find(target, &object, name).ok()??;
    member.address().map(|addr| addr.0)
}

fn read_word(target: &dyn Target, addr: LoadAddr) -> Result<LoadAddr, Error> {
    let mut bytes = [0; 8];
    target.memory().read(addr, &mut bytes)?;
    Ok(LoadAddr(u64::from_le_bytes(bytes)))
}

fn check(target: &dyn Target, steps: u64) -> Result<(), Error> {
    match steps.is_multiple_of(CHECK_EVERY) && target.cancelled() {
        true => Err(Error::Cancelled),
        false => Ok(()),
    }
}

/// A singly linked chain of nodes.
#[derive(Debug)]
pub struct Chain {
    /// The first one.
    pub first: LoadAddr,
    /// The address after the last one: null, or the head of a ring.
    pub end: LoadAddr,
    /// Offset of the link in a node, in bytes.
    pub next: u64,
    /// The position of the elements.
    pub payload: Payload,
}

impl Chain {
    /// Returns the number of nodes, at most `most`.
    pub fn count(&self, target: &dyn Target, most: u64) -> Result<u64, Error> {
        let mut count = 0;
        self.walk(target, 0, &mut |_| {
            count += 1;
            match count < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        Ok(count)
    }
}

impl Walk for Chain {
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut node = self.first;
        let mut index = 0;
        while node != self.end && node.0 != 0 {
            if index >= start && visit(self.payload.item(target, node)?).is_break() {
                break;
            }
            index += 1;
            check(target, index)?;
            node = read_word(target, node + self.next)?;
        }
        Ok(())
    }
}

/// A binary tree whose nodes point to their parents.
#[derive(Debug)]
pub struct Tree {
    /// The leftmost node.
    pub first: LoadAddr,
    /// The node above the root.
    pub head: LoadAddr,
    /// Offsets of the left, right and parent links in a node, in bytes.
    pub links: [u64; 3],
    /// Offset of the colour (0 or 1) in a node, in bytes.
    pub colour: u64,
    /// The position of the elements.
    pub payload: Payload,
}

struct Node {
    right: LoadAddr,
    parent: LoadAddr,
}

fn torn(node: LoadAddr) -> Error {
    Error::Unsupported(format!("the node at {:#x} is not in this tree", node.0))
}

impl Tree {
    fn node(&self, target: &dyn Target, at: LoadAddr) -> Result<Node, Error> {
        if at.0 == 0 {
            return Err(torn(at));
        }
        let mut colour = [0];
        target.memory().read(at + self.colour, &mut colour)?;
        if colour[0] > 1 {
            return Err(torn(at));
        }
        Ok(Node {
            right: read_word(target, at + self.links[1])?,
            parent: read_word(target, at + self.links[2])?,
        })
    }

    /// Returns the node that follows `at` in order, or the head.
    fn next(&self, target: &dyn Target, at: LoadAddr, node: &Node) -> Result<LoadAddr, Error> {
        let (mut at, mut parent) = (at, node.parent);
        if node.right.0 != 0 {
            parent = at;
            at = node.right;
            for _ in 0..HIGHEST {
                // Without a correct parent link the walk could not return from this node.
                if read_word(target, at + self.links[2])? != parent {
                    return Err(torn(at));
                }
                let left = read_word(target, at + self.links[0])?;
                if left.0 == 0 {
                    return Ok(at);
                }
                (parent, at) = (at, left);
            }
            return Err(torn(at));
        }
        for _ in 0..HIGHEST {
            if parent == self.head {
                // Only the root is below the head; nothing follows the root's right subtree.
                return Ok(self.head);
            }
            if parent.0 == 0 {
                return Err(torn(at));
            }
            if read_word(target, parent + self.links[1])? != at {
                return Ok(parent);
            }
            (at, parent) = (parent, read_word(target, parent + self.links[2])?);
        }
        Err(torn(at))
    }
}

impl Walk for Tree {
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut at = self.first;
        let mut index = 0;
        while at != self.head {
            let node = self.node(target, at)?;
            if index >= start && visit(self.payload.item(target, at)?).is_break() {
                break;
            }
            index += 1;
            check(target, index)?;
            at = self.next(target, at, &node)?;
        }
        Ok(())
    }
}

/// Booleans of one bit each.
#[derive(Debug)]
pub struct BitRow {
    /// The first byte.
    pub at: LoadAddr,
    /// Bits of it before the first element.
    pub skip: u64,
}

impl BitRow {
    /// Returns a bit, counted from the first byte's lowest.
    pub fn bit(&self, nth: u64) -> Value {
        let ty = Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool");
        let at = LoadAddr(self.at.0.wrapping_add(nth / 8));
        let mut value = Value::new(ty, ValueLocation::Memory(at, None));
        value.bits = Some(Bits {
            offset: (nth % 8) as u8,
            size: 1,
        });
        value
    }
}

impl Walk for BitRow {
    fn walk(
        &self,
        _: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut bit = self.skip.saturating_add(start);
        loop {
            let value = self.bit(bit);
            if visit(Item { key: None, value }).is_break() || bit == u64::MAX {
                return Ok(());
            }
            bit += 1;
        }
    }
}

/// Elements in blocks of one size, whose addresses are contiguous.
#[derive(Debug)]
pub struct Blocks {
    /// Address of the array of block addresses.
    pub map: LoadAddr,
    /// Elements per block.
    pub per_block: u64,
    /// Unused elements at the start of the first block.
    pub skip: u64,
    /// Their type.
    pub element: Ty,
}

impl Walk for Blocks {
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let size = self.element.size().unwrap_or(0);
        let per_block = self.per_block.max(1);
        let mut index = self.skip.saturating_add(start);
        loop {
            let block = read_word(target, self.map + (index / per_block).wrapping_mul(8))?;
            loop {
                let at = block + (index % per_block).wrapping_mul(size);
                let value = Value::new(self.element.clone(), ValueLocation::Memory(at, None));
                if visit(Item { key: None, value }).is_break() || index == u64::MAX {
                    return Ok(());
                }
                index += 1;
                if index.is_multiple_of(per_block) {
                    break;
                }
            }
        }
    }
}

/// Returns the target type of a pointer member.
pub fn target_type(pointer: &Value) -> Result<Ty, Error> {
    match pointer.ty.shape() {
        Shape::Pointer(of, _) => Ok(of),
        _ => Err(no_pointer()),
    }
}
