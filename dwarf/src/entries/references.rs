//! Entries by reference, and the attributes that an entry inherits from those that it refers to.

use crate::entries::split::UnitStorage;
use crate::entries::units::{Entries, Entry, MAX_HOPS, MAX_NAME, Unit, Value, flag};
use crate::ids::DieRef;
use crate::ids::error::Error;
use gimli::UnitOffset;

impl Entries {
    /// Reads an entry. Returns it with its unit.
    pub(crate) fn entry(&self, die: DieRef) -> Result<(&Unit, Entry), Error> {
        let unit = self
            .whole(die.unit)
            .ok_or_else(|| Error::Corrupt(format!("cannot read unit {}", die.unit)))?;
        let entry = self.entry_in(unit, die.offset)?;
        Ok((unit, entry))
    }

    /// Adds the position of an entry in its section to an error that reading it caused.
    pub(crate) fn error_at(&self, die: DieRef, error: Error) -> Error {
        let Some(unit) = self.whole(die.unit) else {
            return error;
        };
        let header = &unit.raw.header;
        let name = match &unit.split {
            UnitStorage::SplitUnit(_) => header.section().dwo_name(),
            _ => Some(header.section().name()),
        };
        let offset = header.offset().0.saturating_add(die.offset as usize);
        error.at(name.unwrap_or(""), offset)
    }

    /// Reads the entry at an offset of a unit.
    pub(crate) fn entry_in(&self, unit: &Unit, offset: u64) -> Result<Entry, Error> {
        let offset = UnitOffset(offset as usize);
        if !offset.is_in_bounds(&unit.raw.header) {
            return Err(Error::Corrupt(format!(
                "reference outside unit {}",
                unit.index
            )));
        }
        let entry = unit.raw.entry(offset)?;
        if entry.is_null() {
            return Err(Error::Corrupt(format!(
                "dangling reference in unit {}",
                unit.index
            )));
        }
        Ok(entry)
    }

    /// Returns the entry that a reference attribute refers to.
    pub(crate) fn reference(&self, unit: &Unit, value: Value) -> Option<DieRef> {
        match value {
            Value::UnitRef(offset) => offset.is_in_bounds(&unit.raw.header).then_some(DieRef {
                unit: unit.index,
                offset: offset.0 as u64,
            }),
            Value::DebugInfoRef(offset) => match &unit.split {
                UnitStorage::SplitUnit(_) => unit.entry_at(offset.0),
                _ => self
                    .file_of(unit.index)?
                    .info_entry(offset.0, unit.supplementary),
            },
            Value::DebugInfoRefSup(offset) => self.file_of(unit.index)?.info_entry(offset.0, true),
            Value::DebugTypesRef(signature) => {
                if let Some(found) = unit.split_type(signature.0) {
                    return Some(found);
                }
                let file = self.file_of(unit.index)?;
                file.type_of_signature(signature.0)
            }
            _ => None,
        }
    }

    /// Returns an attribute of an entry, or of the entries that it is an instance or completion of.
    pub(crate) fn inherited(
        &self,
        unit: &Unit,
        entry: &Entry,
        at: gimli::DwAt,
    ) -> Option<(u32, Value)> {
        if let Some(value) = entry.attr_value(at) {
            return Some((unit.index, value));
        }
        let mut next = self.origin(unit, entry);
        for _ in 0..MAX_HOPS {
            let (unit, entry) = self.entry(next?).ok()?;
            if let Some(value) = entry.attr_value(at) {
                return Some((unit.index, value));
            }
            next = self.origin(unit, &entry);
        }
        None
    }

    /// Returns the constant that a variable is, own or inherited. What clang gives the declaration of a
    /// static member that is not `const` is only its first value.
    pub(crate) fn constant_of(&self, unit: &Unit, entry: &Entry) -> Option<(u32, Value)> {
        let own = |unit: &Unit, entry: &Entry| {
            let value = entry.attr_value(gimli::DW_AT_const_value)?;
            let is_declaration =
                entry.tag() == gimli::DW_TAG_member || flag(entry, gimli::DW_AT_declaration);
            (!is_declaration || self.is_const(unit, entry)).then_some((unit.index, value))
        };
        if let Some(value) = own(unit, entry) {
            return Some(value);
        }
        let mut next = self.origin(unit, entry);
        for _ in 0..MAX_HOPS {
            let (unit, entry) = self.entry(next?).ok()?;
            if let Some(value) = own(unit, &entry) {
                return Some(value);
            }
            next = self.origin(unit, &entry);
        }
        None
    }

    /// Returns whether the type of a variable is `const`.
    fn is_const(&self, unit: &Unit, entry: &Entry) -> bool {
        let mut next = self.inherited_reference(unit, entry, gimli::DW_AT_type);
        for _ in 0..MAX_HOPS {
            let Some(Ok((unit, entry))) = next.map(|die| self.entry(die)) else {
                return false;
            };
            match entry.tag() {
                gimli::DW_TAG_const_type => return true,
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_template_alias
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_atomic_type => {
                    let of = entry.attr_value(gimli::DW_AT_type);
                    next = of.and_then(|of| self.reference(unit, of));
                }
                _ => return false,
            }
        }
        false
    }

    /// Returns the entry that `entry` is a concrete instance or the completion of.
    pub(crate) fn origin(&self, unit: &Unit, entry: &Entry) -> Option<DieRef> {
        let value = entry
            .attr_value(gimli::DW_AT_abstract_origin)
            .or_else(|| entry.attr_value(gimli::DW_AT_specification))?;
        self.reference(unit, value)
    }

    /// Returns the last entry of the chain of origins: the declaration of `die`.
    pub(crate) fn root_origin(&self, die: DieRef) -> DieRef {
        let mut current = die;
        for _ in 0..MAX_HOPS {
            let Ok((unit, entry)) = self.entry(current) else {
                break;
            };
            match self.origin(unit, &entry) {
                Some(next) if next != current => current = next,
                _ => break,
            }
        }
        current
    }

    /// Returns the bytes of a string attribute, cut at [`MAX_NAME`].
    pub(crate) fn string(&self, unit: &Unit, value: Value) -> Option<&'static [u8]> {
        let string = self.dwarf_of(unit).attr_string(&unit.raw, value).ok()?;
        string.slice().get(..string.len().min(MAX_NAME))
    }

    /// Returns a string attribute, own or inherited.
    pub(crate) fn inherited_string(
        &self,
        unit: &Unit,
        entry: &Entry,
        at: gimli::DwAt,
    ) -> Option<&'static [u8]> {
        let (holder, value) = self.inherited(unit, entry, at)?;
        self.string(self.whole(holder)?, value)
    }

    /// Returns a reference attribute, own or inherited.
    pub(crate) fn inherited_reference(
        &self,
        unit: &Unit,
        entry: &Entry,
        at: gimli::DwAt,
    ) -> Option<DieRef> {
        let (holder, value) = self.inherited(unit, entry, at)?;
        self.reference(self.whole(holder)?, value)
    }
}
