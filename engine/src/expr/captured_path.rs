//! Names of what closures of Rust capture. Since edition 2021 a closure captures single fields; rustc names
//! the variable by the path to the field, for example `self__inner__a` for `self.inner.a`.

use super::evaluate::inner;
use super::tree::{Kind, Node};

/// Maximum number of fields of a path.
const FIELDS: usize = 32;

/// A path of fields as a closure may have captured it.
pub(super) struct CapturedPath<'t> {
    /// The variable that the path begins with.
    pub root: &'t str,
    /// The name of the variable in the closure.
    pub variable: String,
    /// The root, and the fields of the path.
    pub names: Vec<&'t str>,
}

/// Returns the place without the dereferences that it begins with, and their number: of `**b.c`, `b.c` and 2.
pub(super) fn behind_dereferences(mut place: &Node) -> (&Node, usize) {
    let mut count = 0;
    loop {
        place = inner(place);
        match &place.kind {
            Kind::Deref(of) => place = of,
            _ => return (place, count),
        }
        count += 1;
    }
}

/// Returns the path of a field of an object; `None` if the object is no path.
pub(super) fn captured_path<'t>(mut object: &'t Node, field: &'t str) -> Option<CapturedPath<'t>> {
    let mut fields = vec![field];
    let root = loop {
        object = inner(object);
        match &object.kind {
            Kind::Name(name) => break name,
            Kind::Member(of, name) if fields.len() < FIELDS => {
                fields.push(name);
                object = of;
            }
            // References on the way are not named.
            Kind::Deref(of) => object = of,
            _ => return None,
        }
    };
    fields.push(root);
    fields.reverse();
    Some(CapturedPath {
        root,
        variable: fields.join("__"),
        names: fields,
    })
}
