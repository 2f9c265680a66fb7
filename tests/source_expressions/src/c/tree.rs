//! Clang's syntax tree, read from its JSON while it is written: a tree with all headers takes gigabytes.
//!
//! Clang writes the file and the line of a place only where they differ from those of the place before, so all
//! places are read in order.

use serde_json::Deserializer;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The deepest tree that is read.
const DEPTH: usize = 400;

/// A place in a file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// In bytes from the file's beginning.
    pub offset: usize,
    /// The length of the token.
    pub length: usize,
    /// Whether the token comes from a macro; the place is that of the macro's name.
    pub is_macro: bool,
    /// Whether the file is the one that is compiled.
    pub is_main: bool,
}

/// A node of the tree.
#[derive(Default, Debug)]
pub struct Node {
    /// The class of clang that it is of; empty for a part that is left out.
    pub kind: String,
    /// Where its first token stands.
    pub begin: Option<Place>,
    /// Where its last token stands.
    pub end: Option<Place>,
    /// Its name, or that of the member.
    pub name: String,
    /// Its type, without typedefs.
    pub ty: String,
    /// Its operator.
    pub opcode: String,
    /// Of a variable: `static`, `extern`; of a cast: its kind.
    pub storage: String,
    /// What a name means: the kind of the declaration.
    pub referenced: String,
    /// The name of that declaration.
    pub referenced_name: String,
    /// Its parts.
    pub inner: Vec<Node>,
}

/// What is known of the place before.
struct State<'a> {
    main: &'a str,
    is_main: bool,
}

/// Reads a tree; what is not of the file `main` is left out.
///
/// # Errors
/// It is no tree, or too deep.
pub fn read(json: impl Read, main: &str) -> Result<Node, String> {
    let mut deserializer = Deserializer::from_reader(json);
    deserializer.disable_recursion_limit();
    let mut state = State {
        main,
        is_main: false,
    };
    let seed = NodeSeed {
        state: &mut state,
        depth: 0,
    };
    let node = seed.deserialize(&mut deserializer);
    node.map_err(|why| why.to_string())
}

struct NodeSeed<'a, 'b> {
    state: &'a mut State<'b>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_, '_> {
    type Value = Node;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Node, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_, '_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a node")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut node = Node::default();
        let state = self.state;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "kind" => node.kind = map.next_value()?,
                "name" => node.name = map.next_value()?,
                "opcode" => node.opcode = map.next_value()?,
                "storageClass" | "castKind" => node.storage = map.next_value()?,
                "loc" => {
                    map.next_value_seed(PlaceSeed(state))?;
                }
                "range" => (node.begin, node.end) = map.next_value_seed(RangeSeed(state))?,
                "type" => node.ty = map.next_value::<Type>()?.text(),
                "referencedDecl" => {
                    let seed = NodeSeed {
                        state,
                        depth: self.depth + 1,
                    };
                    let declaration = map.next_value_seed(seed)?;
                    node.referenced = declaration.kind;
                    node.referenced_name = declaration.name;
                }
                "inner" if self.depth > DEPTH => {
                    return Err(serde::de::Error::custom("the tree is too deep"));
                }
                "inner" => {
                    let depth = self.depth + 1;
                    node.inner = map.next_value_seed(Inner { state, depth })?;
                }
                // Clang writes places there, too.
                _ => map.next_value_seed(Other(state))?,
            }
        }
        Ok(node)
    }
}

struct Inner<'a, 'b> {
    state: &'a mut State<'b>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Inner<'_, '_> {
    type Value = Vec<Node>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Vec<Node>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Inner<'_, '_> {
    type Value = Vec<Node>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<Node>, A::Error> {
        let mut nodes = Vec::new();
        let (state, depth) = (self.state, self.depth);
        while let Some(node) = sequence.next_element_seed(NodeSeed { state, depth })? {
            let is_foreign = depth == 1 && node.begin.is_none_or(|it| !it.is_main);
            if !is_foreign {
                nodes.push(node);
            }
        }
        Ok(nodes)
    }
}

#[derive(serde::Deserialize)]
struct Type {
    #[serde(rename = "desugaredQualType")]
    desugared: Option<String>,
    #[serde(rename = "qualType")]
    written: Option<String>,
}

impl Type {
    fn text(self) -> String {
        self.desugared.or(self.written).unwrap_or_default()
    }
}

struct RangeSeed<'a, 'b>(&'a mut State<'b>);

impl<'de> DeserializeSeed<'de> for RangeSeed<'_, '_> {
    type Value = (Option<Place>, Option<Place>);

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RangeSeed<'_, '_> {
    type Value = (Option<Place>, Option<Place>);

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a range")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut begin, mut end) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            let place = map.next_value_seed(PlaceSeed(self.0))?;
            match key.as_str() {
                "begin" => begin = place,
                _ => end = place,
            }
        }
        Ok((begin, end))
    }
}

struct PlaceSeed<'a, 'b>(&'a mut State<'b>);

impl<'de> DeserializeSeed<'de> for PlaceSeed<'_, '_> {
    type Value = Option<Place>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PlaceSeed<'_, '_> {
    type Value = Option<Place>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a place")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut offset, mut length) = (None, 0);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "offset" => offset = Some(map.next_value()?),
                "tokLen" => length = map.next_value()?,
                "file" => self.0.is_main = map.next_value::<String>()? == self.0.main,
                "spellingLoc" => {
                    map.next_value_seed(PlaceSeed(self.0))?;
                }
                "expansionLoc" => {
                    let place = map.next_value_seed(PlaceSeed(self.0))?;
                    return finish(
                        map,
                        place.map(|it| Place {
                            is_macro: true,
                            ..it
                        }),
                    );
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let is_main = self.0.is_main;
        Ok(offset.map(|offset| Place {
            offset,
            length,
            is_macro: false,
            is_main,
        }))
    }
}

/// Skips what is left of a map.
fn finish<'de, A: MapAccess<'de>, T>(mut map: A, value: T) -> Result<T, A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(value)
}

/// Anything else, in which places are read, too.
struct Other<'a, 'b>(&'a mut State<'b>);

impl<'de> DeserializeSeed<'de> for Other<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Other<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "loc" | "begin" | "end" => {
                    map.next_value_seed(PlaceSeed(self.0))?;
                }
                // An included file's name is no place.
                "includedFrom" => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => map.next_value_seed(Other(self.0))?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while sequence.next_element_seed(Other(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_the_file_of_the_place_before() {
        let json = r#"{"kind": "TranslationUnitDecl", "loc": {}, "range": {"begin": {}, "end": {}}, "inner": [
            {"kind": "VarDecl", "loc": {"offset": 4, "file": "a.h", "tokLen": 1},
                "range": {"begin": {"offset": 0, "tokLen": 3}, "end": {"offset": 4, "tokLen": 1}}, "name": "h"},
            {"kind": "VarDecl", "loc": {"offset": 4, "file": "a.c", "includedFrom": {"file": "a.h"}, "tokLen": 1},
                "range": {"begin": {"offset": 0, "tokLen": 3}, "end": {"spellingLoc": {"offset": 9, "file": "a.h", "tokLen": 2},
                    "expansionLoc": {"offset": 8, "file": "a.c", "tokLen": 1}}},
                "name": "c", "type": {"qualType": "number", "desugaredQualType": "int"}}]}"#;
        let tree = read(json.as_bytes(), "a.c").expect("a tree");
        let [node] = &tree.inner[..] else {
            panic!("{tree:?}")
        };
        assert_eq!((node.name.as_str(), node.ty.as_str()), ("c", "int"));
        let end = node.end.expect("an end");
        assert_eq!(
            end,
            Place {
                offset: 8,
                length: 1,
                is_macro: true,
                is_main: true
            }
        );
    }
}
