//! Function items of Rust: the type of `add` in `let f = add`, which has one value and no bytes.
//!
//! rustc describes it as it describes a pointer to a function, by an entry of its own. What tells them apart
//! are the variables and members of such a type: their alignment is 1.

use crate::entries::units::{Entry, Unit, Value};
use crate::entries::walk::{Shapes, Visited, Visitor};
use crate::ids::Language;
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use crate::types::{Composite, CompositeKind, TypeKind};
use gimli::Abbreviation;
use rustc_hash::FxHashSet;

/// Slots of the attributes that are read.
const TYPE: u8 = 0;
const ALIGNMENT: u8 = 1;

/// Finds the types of variables and members with an alignment of 1, by their offsets in the unit.
struct Holders<'a>(&'a mut FxHashSet<usize>);

impl Visitor for Holders<'_> {
    fn wants(abbreviation: &Abbreviation) -> bool {
        let tag = abbreviation.tag();
        let mut attributes = abbreviation.attributes().iter();
        matches!(tag, gimli::DW_TAG_variable | gimli::DW_TAG_member)
            && attributes.any(|it| it.name() == gimli::DW_AT_alignment)
    }

    fn slot(at: gimli::DwAt) -> Option<u8> {
        match at {
            gimli::DW_AT_type => Some(TYPE),
            gimli::DW_AT_alignment => Some(ALIGNMENT),
            _ => None,
        }
    }

    fn entry(&mut self, entry: &Visited<'_>, _: &mut Shapes) -> Result<(), Error> {
        let alignment = entry.value(ALIGNMENT).and_then(|it| it.udata_value());
        if alignment == Some(1)
            && let Some(Value::UnitRef(ty)) = entry.value(TYPE)
        {
            self.0.insert(ty.0);
        }
        Ok(())
    }
}

impl DebugInfo {
    /// Returns whether a type is that of a function item. The first question about a pointer to a function in a
    /// unit reads the unit's entries.
    pub(super) fn is_fn_item(&self, unit: &Unit, entry: &Entry) -> bool {
        if unit.language != Language::Rust || entry.tag() != gimli::DW_TAG_pointer_type {
            return false;
        }
        let name = self.own_name(unit, entry).unwrap_or_default();
        let before = name.split(|it| *it == b'(').next().unwrap_or_default();
        let is_named_so = before == b"fn" || before.ends_with(b" fn");
        is_named_so && self.held_unaligned(unit).contains(&entry.offset().0)
    }

    fn held_unaligned<'a>(&self, unit: &'a Unit) -> &'a FxHashSet<usize> {
        unit.held_unaligned.get_or_init(|| {
            let mut found = FxHashSet::default();
            let mut shapes = Shapes::default();
            if let Err(error) = self.walk(unit, &mut shapes, &mut Holders(&mut found)) {
                tracing::debug!(unit = unit.index, %error, "corrupt entries");
            }
            found
        })
    }
}

/// Returns the kind of such a type: a struct without members.
pub(super) fn kind() -> TypeKind {
    TypeKind::Composite(Box::new(Composite {
        kind: CompositeKind::Struct,
        bases: Vec::new(),
        members: Vec::new(),
        statics: Vec::new(),
        variants: None,
        template_types: Vec::new(),
        declaration: false,
        polymorphic: false,
        by_address: None,
        closure: false,
        is_objc_class: false,
        swift_name: None,
    }))
}
