//! The exports trie: a tree of nodes whose edges are parts of names (`mach-o/loader.h`,
//! `LC_DYLD_EXPORTS_TRIE`). A file may be made so that nodes share children or lead in circles.

use super::uleb128;
use crate::file::object::string_bytes;
use rustc_hash::FxHashSet;

/// Kinds and flags of an export (`EXPORT_SYMBOL_FLAGS_…`).
const KIND: u64 = 3;
const KIND_ABSOLUTE: u64 = 2;
const REEXPORT: u64 = 8;
/// Maximum length of all names together, for each byte of the trie. Names that begin alike share
/// those bytes; mangled names need about 20.
const NAMES_PER_BYTE: usize = 256;

/// Something that an image exports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Export {
    /// As in the file, with its leading underscore.
    pub(crate) name: Vec<u8>,
    /// Its address; that of a stub, if the address is chosen at run time.
    pub(crate) addr: u64,
}

/// A node.
struct Node {
    /// What it exports, and the rest of a name that is exported.
    value: &'static [u8],
    edges: &'static [u8],
    edge_count: u8,
}

impl Node {
    fn read(trie: &'static [u8], at: u64) -> Option<Node> {
        let mut rest = trie.get(usize::try_from(at).ok()?..)?;
        let size = usize::try_from(uleb128(&mut rest)?).ok()?;
        let (value, rest) = rest.split_at_checked(size)?;
        let (edge_count, edges) = rest.split_first()?;
        Some(Node {
            value,
            edges,
            edge_count: *edge_count,
        })
    }

    /// Returns the edges: their part of a name, and the offset of the node that they lead to.
    fn edges(&self) -> impl Iterator<Item = (&'static [u8], u64)> + use<> {
        let mut rest = self.edges;
        let edge = move |_| {
            let part = string_bytes(rest, 0)?;
            rest = rest.get(part.len() + 1..)?;
            Some((part, uleb128(&mut rest)?))
        };
        (0..self.edge_count).map_while(edge)
    }

    /// Returns the address that the node exports; `start` is that of the image.
    fn exported(&self, start: u64) -> Option<u64> {
        let mut value = self.value;
        let flags = uleb128(&mut value)?;
        // What is exported is in another image, or no address.
        if flags & REEXPORT != 0 || flags & KIND == KIND_ABSOLUTE {
            return None;
        }
        Some(start.wrapping_add(uleb128(&mut value)?))
    }
}

/// Returns the address that is exported under a name.
pub(super) fn find(trie: &'static [u8], start: u64, name: &[u8]) -> Option<u64> {
    let mut rest = name;
    let mut node = Node::read(trie, 0)?;
    while !rest.is_empty() {
        let next = node.edges().find_map(|(part, child)| {
            let behind = rest.strip_prefix(part)?;
            // Without a part of the name the search would not end.
            (!part.is_empty()).then_some((behind, child))
        });
        let (behind, child) = next?;
        rest = behind;
        node = Node::read(trie, child)?;
    }
    node.exported(start)
}

/// Returns all that is exported, in the order of the trie. Each node is read once.
pub(super) fn all(trie: &'static [u8], start: u64) -> Vec<Export> {
    let mut found = Vec::new();
    let mut seen: FxHashSet<u64> = FxHashSet::default();
    let mut names_left = trie.len().saturating_mul(NAMES_PER_BYTE);
    // Nodes to read, each with the name that leads to it, the first one last.
    let mut nodes: Vec<(u64, Vec<u8>)> = vec![(0, Vec::new())];
    while let Some((at, name)) = nodes.pop() {
        if !seen.insert(at) {
            continue;
        }
        let Some(node) = Node::read(trie, at) else {
            continue;
        };
        let first = nodes.len();
        for (part, child) in node.edges() {
            let Some(left) = names_left.checked_sub(name.len() + part.len()) else {
                return found;
            };
            names_left = left;
            nodes.push((child, [&name[..], part].concat()));
        }
        if let Some(order) = nodes.get_mut(first..) {
            order.reverse();
        }
        if let Some(addr) = node.exported(start) {
            found.push(Export { name, addr });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root leads to two nodes, which lead to the same one, and that one back to the first.
    const CIRCLE: &[u8] = b"\0\x02_a\0\x0a_b\0\x0a\
        \x02\0\x08\x02c\0\0d\0\x0a";

    #[test]
    fn circles_end() {
        let found = all(CIRCLE, 0x1000);
        let names: Vec<&[u8]> = found.iter().map(|it| it.name.as_slice()).collect();
        assert_eq!(names, [b"_a"]);
        assert_eq!(find(CIRCLE, 0x1000, b"_b"), Some(0x1008));
        assert_eq!(find(CIRCLE, 0x1000, b"_addd"), Some(0x1008));
        assert_eq!(find(CIRCLE, 0x1000, b"_acacab"), None);
    }

    #[test]
    fn an_empty_edge_leads_nowhere() {
        let trie = b"\0\x01\0\0";
        assert_eq!(find(trie, 0, b"_a"), None);
        assert!(all(trie, 0).is_empty());
    }
}
