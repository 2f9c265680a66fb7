//! The names that one unit declares outside functions, declarations among them: what a lookup in a
//! scope needs beyond the index, which has definitions only.

use super::read::{Keys, NameReader};
use crate::entries::units::Unit;
use crate::entries::walk::{Shapes, Visited, Visitor};
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use gimli::{Abbreviation, DwAt};

const NAME: u8 = 0;
/// The entry that this one completes or imports.
const ORIGIN: u8 = 1;

/// Names of a unit outside functions.
#[derive(Default)]
pub(crate) struct UnitNames {
    /// Keys of names and offsets of their entries, sorted.
    names: Vec<(u32, u32)>,
    /// Offsets of the using directives (`DW_TAG_imported_module`).
    directives: Vec<u32>,
}

impl UnitNames {
    /// Returns the offsets of the entries with a key, in order.
    pub(crate) fn get(&self, key: u32) -> impl Iterator<Item = u64> {
        let start = self.names.partition_point(|(known, _)| *known < key);
        let behind = self.names.get(start..).unwrap_or_default().iter();
        behind
            .take_while(move |(known, _)| *known == key)
            .map(|(_, offset)| u64::from(*offset))
    }

    /// Returns the offsets of the using directives, in order.
    pub(crate) fn directives(&self) -> impl Iterator<Item = u64> {
        self.directives.iter().map(|offset| u64::from(*offset))
    }
}

/// Collects the names of a unit.
struct Reading<'a> {
    names: NameReader<'a>,
    found: UnitNames,
    /// Depth of the outermost function around the entries.
    in_function: Option<isize>,
}

impl Visitor for Reading<'_> {
    fn wants(abbreviation: &Abbreviation) -> bool {
        match abbreviation.tag() {
            // What is declared in functions is recognised by the enclosing entry.
            gimli::DW_TAG_subprogram
            | gimli::DW_TAG_variable
            | gimli::DW_TAG_enumerator
            | gimli::DW_TAG_namespace
            | gimli::DW_TAG_module
            | gimli::DW_TAG_imported_declaration
            | gimli::DW_TAG_imported_module => true,
            tag => super::is_type(tag),
        }
    }

    fn slot(at: DwAt) -> Option<u8> {
        Some(match at {
            gimli::DW_AT_name => NAME,
            gimli::DW_AT_specification | gimli::DW_AT_abstract_origin | gimli::DW_AT_import => {
                ORIGIN
            }
            _ => return None,
        })
    }

    fn entry(&mut self, entry: &Visited<'_>, shapes: &mut Shapes) -> Result<(), Error> {
        let is_in_function = self.in_function.is_some();
        if entry.tag == gimli::DW_TAG_subprogram && entry.has_children && !is_in_function {
            self.in_function = Some(entry.depth);
        }
        // Offsets in units have 32 bits, as in a walk.
        let Ok(offset) = u32::try_from(entry.offset) else {
            return Ok(());
        };
        if is_in_function {
            return Ok(());
        }
        if entry.tag == gimli::DW_TAG_imported_module {
            self.found.directives.push(offset);
        } else if let Some(key) = self.names.key::<Self>(entry, shapes) {
            self.found.names.push((key, offset));
        }
        Ok(())
    }

    fn end_of_list(&mut self, depth: isize, _offset: usize) {
        if self
            .in_function
            .is_some_and(|function| depth <= function + 1)
        {
            self.in_function = None;
        }
    }
}

impl DebugInfo {
    /// Reads the names that a unit declares outside functions.
    pub(crate) fn read_unit_names(&self, unit: &Unit) -> UnitNames {
        let keys = Keys::new(self, unit.raw.header.length_including_self());
        let mut reading = Reading {
            names: NameReader {
                info: self,
                keys: &keys,
            },
            found: UnitNames::default(),
            in_function: None,
        };
        if let Err(error) = self.walk(unit, &mut Shapes::default(), &mut reading) {
            tracing::debug!(unit = unit.index, %error, "corrupt entries; the rest of the unit has no names");
        }
        let mut found = reading.found;
        found.names.sort_unstable();
        found
    }
}
