//! Names of functions, types and static variables across all units.

pub(crate) mod cache;
mod debug_names;
pub(crate) mod gdb_index;
pub(crate) mod mentions;

use crate::entries::units::{Unit, Value};
use crate::file::mapping;
use crate::file::object::{Image, u32_at};
use crate::ids::DieRef;
use crate::lines::DebugInfo;
use crate::naming::{Key, key, key_of_entry};
use gimli::Section;
use mentions::Mentions;
use rayon::prelude::*;
use std::io::{self, Write};
use std::sync::atomic::Ordering;

/// The index: keys of names to entries; a key may have strangers, names are compared after.
pub(crate) struct NameIndex {
    /// Functions with code.
    pub(crate) functions: Names,
    /// Abstract instances of inlined functions, or inlined copies themselves.
    pub(crate) inlined: Names,
    /// Types, declarations among them.
    pub(crate) types: Names,
    /// Variables with static storage outside functions.
    pub(crate) statics: Names,
    /// It was made from a table that leaves out declarations of types and variables that are
    /// nowhere, and that has the variables of functions too.
    pub(crate) sparse: bool,
}

/// Key, unit, offset; sorted.
pub(crate) enum Names {
    /// Made from the debug info just now.
    Built(Vec<(u32, u32, u32)>),
    /// Mapped from the cache.
    Mapped(&'static [u8]),
}

impl Default for Names {
    fn default() -> Self {
        Names::Built(Vec::new())
    }
}

impl Names {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Names::Built(entries) => entries.len(),
            Names::Mapped(bytes) => bytes.len() / cache::ENTRY,
        }
    }

    /// Key, unit and offset of one.
    fn entry(&self, index: usize) -> Option<(u32, u32, u32)> {
        match self {
            Names::Built(entries) => entries.get(index).copied(),
            Names::Mapped(bytes) => {
                let at = index * cache::ENTRY;
                Some((
                    u32_at(bytes, at)?,
                    u32_at(bytes, at + 4)?,
                    u32_at(bytes, at + 8)?,
                ))
            }
        }
    }

    /// Entries whose key is `key`.
    pub(crate) fn get(&self, key: u32) -> impl Iterator<Item = DieRef> + '_ {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle).is_some_and(|entry| entry.0 < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low..)
            .map_while(|index| self.entry(index))
            .take_while(move |entry| entry.0 == key)
            .map(|(_, unit, offset)| DieRef {
                unit,
                offset: u64::from(offset),
            })
    }

    /// Writes all of them as [`cache`] wants them.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Names::Built(entries) => {
                for (key, unit, offset) in entries {
                    out.write_all(&key.to_le_bytes())?;
                    out.write_all(&unit.to_le_bytes())?;
                    out.write_all(&offset.to_le_bytes())?;
                }
                Ok(())
            }
            Names::Mapped(bytes) => out.write_all(bytes),
        }
    }
}

/// The entries of one name, from the units that mention it.
pub(crate) struct Named {
    pub(crate) index: NameIndex,
    /// Sorted.
    pub(crate) units: Vec<u32>,
}

type Entries = Vec<(u32, u32, u32)>;

#[derive(Default)]
struct Found {
    functions: Entries,
    inlined: Entries,
    types: Entries,
    statics: Entries,
}

impl Found {
    fn append(&mut self, other: &mut Found) {
        append(&mut self.functions, &mut other.functions);
        append(&mut self.inlined, &mut other.inlined);
        append(&mut self.types, &mut other.types);
        append(&mut self.statics, &mut other.statics);
    }

    /// All of them in one, each table allocated once.
    fn concat(mut parts: Vec<Found>) -> Found {
        fn take(parts: &mut [Found], table: fn(&mut Found) -> &mut Entries) -> Entries {
            let count = parts.iter_mut().map(|part| table(part).len()).sum();
            let mut all = Vec::with_capacity(count);
            for part in parts {
                all.append(&mut std::mem::take(table(part)));
            }
            all
        }
        if parts.len() == 1 {
            return parts.remove(0);
        }
        Found {
            functions: take(&mut parts, |found| &mut found.functions),
            inlined: take(&mut parts, |found| &mut found.inlined),
            types: take(&mut parts, |found| &mut found.types),
            statics: take(&mut parts, |found| &mut found.statics),
        }
    }

    fn into_index(mut self, sparse: bool) -> NameIndex {
        for names in [
            &mut self.functions,
            &mut self.inlined,
            &mut self.types,
            &mut self.statics,
        ] {
            names.par_sort_unstable();
            // Tables may say a thing twice.
            names.dedup();
            names.shrink_to_fit();
        }
        NameIndex {
            functions: Names::Built(self.functions),
            inlined: Names::Built(self.inlined),
            types: Names::Built(self.types),
            statics: Names::Built(self.statics),
            sparse,
        }
    }
}

/// Tags of types that have names of their own.
fn is_type(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_interface_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_typedef
            | gimli::DW_TAG_base_type
            | gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_unspecified_type
            | gimli::DW_TAG_template_alias
    )
}

fn append(all: &mut Entries, other: &mut Entries) {
    if all.is_empty() {
        std::mem::swap(all, other);
    } else {
        all.append(other);
    }
}

impl DebugInfo {
    /// The index: from `.debug_names` of `holder`, else by reading all units' entries in
    /// parallel.
    pub(crate) fn read_index(&self, holder: &Image) -> NameIndex {
        match debug_names::read(self, holder) {
            Ok(Some(index)) => index,
            Ok(None) => self.build_index(),
            Err(error) => {
                tracing::warn!(image = %holder.path.display(), %error, "reading all units for names instead");
                self.build_index()
            }
        }
    }

    fn build_index(&self) -> NameIndex {
        let wanted = |_: &u32| !self.given_up.load(Ordering::Relaxed);
        let units = (0..self.unit_count()).into_par_iter().filter(wanted);
        // Relaxed: the number is for people.
        let counted = units.inspect(|unit| {
            self.indexed.fetch_add(1, Ordering::Relaxed);
            // What was read two units ago; entries refer to what is near.
            if self.is_large()
                && let Some(read) = unit.checked_sub(2)
            {
                mapping::give_back(self.bytes_of_unit(read));
            }
        });
        let mut found = self.index_units(counted);
        // The type units of the split files that were opened meanwhile.
        let split = (self.unit_count()..self.all_units()).into_par_iter();
        let mut split = self.index_units(split.filter(wanted));
        found.append(&mut split);
        if self.is_large() {
            mapping::give_back(self.dwarf.debug_info.reader().slice());
            mapping::give_back(self.dwarf.debug_str.reader().slice());
        }
        found.into_index(false)
    }

    /// The entries of a name; `None` if that would take reading most of the units.
    pub(crate) fn named(&self, name: Key<'_>) -> Option<Named> {
        let Mentions::Units(units) = self.units_mentioning(name) else {
            return None;
        };
        if self.bytes_of(&units) > self.debug_info_size() / 2 {
            return None;
        }
        let mut found = self.index_units(units.clone());
        for names in [
            &mut found.functions,
            &mut found.inlined,
            &mut found.types,
            &mut found.statics,
        ] {
            names.retain(|entry| entry.0 == name.hash);
        }
        Some(Named {
            index: found.into_index(false),
            units,
        })
    }

    /// Where in `.debug_info` the entries of a unit are that have a name, or stand for one.
    fn entries_standing_for(&self, unit: u32, name: Key<'_>, found: &mut Vec<u32>) {
        let Some(unit) = self.whole(unit) else {
            return;
        };
        if unit.raw.header.section() != gimli::SectionId::DebugInfo {
            return;
        }
        let start = unit.raw.header.offset().0;
        let visit = |offset| found.extend(u32::try_from(start + offset));
        if let Err(error) = self.visit_standing_for(unit, name, visit) {
            tracing::debug!(unit = unit.index, %error, "corrupt entries");
        }
    }

    fn visit_standing_for(
        &self,
        unit: &Unit,
        wanted: Key<'_>,
        mut visit: impl FnMut(usize),
    ) -> Result<(), gimli::Error> {
        let mut entries = unit.raw.entries_raw(None)?;
        while !entries.is_empty() {
            let offset = entries.next_offset().0;
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            if !matches!(
                abbreviation.tag(),
                gimli::DW_TAG_subprogram | gimli::DW_TAG_variable | gimli::DW_TAG_member
            ) {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let (mut name, mut origin) = (None, None);
            for spec in abbreviation.attributes() {
                let attr = entries.read_attribute(*spec)?;
                match attr.name() {
                    gimli::DW_AT_name => name = Some(attr.value()),
                    gimli::DW_AT_specification | gimli::DW_AT_abstract_origin => {
                        origin = Some(attr.value());
                    }
                    _ => {}
                }
            }
            let name = name
                .and_then(|name| self.string(unit, name))
                .or_else(|| self.name_of_origin(unit, origin?));
            if name.is_some_and(|name| key(name) == wanted.hash) {
                visit(offset);
            }
        }
        Ok(())
    }

    /// The names of some units.
    pub(crate) fn index_of(&self, units: Vec<u32>) -> NameIndex {
        self.index_units(units).into_index(false)
    }

    fn index_units(&self, units: impl IntoParallelIterator<Item = u32>) -> Found {
        let parts: Vec<Found> = units
            .into_par_iter()
            .fold(Found::default, |mut found, index| {
                if let Some(unit) = self.whole(index)
                    && let Err(error) = self.index_unit(unit, &mut found)
                {
                    tracing::debug!(unit = index, %error, "corrupt entries; the rest of the unit has no names");
                }
                found
            })
            .collect();
        Found::concat(parts)
    }

    fn index_unit(&self, unit: &Unit, found: &mut Found) -> Result<(), gimli::Error> {
        let mut entries = unit.raw.entries_raw(None)?;
        let mut in_function: Option<isize> = None;
        while !entries.is_empty() {
            let offset = entries.next_offset().0 as u32;
            let depth = entries.next_depth();
            if in_function.is_some_and(|function| depth <= function) {
                in_function = None;
            }
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            let names = match abbreviation.tag() {
                gimli::DW_TAG_subprogram => {
                    if abbreviation.has_children() && in_function.is_none() {
                        in_function = Some(depth);
                    }
                    None
                }
                gimli::DW_TAG_variable if in_function.is_none() => Some(&mut found.statics),
                tag if is_type(tag) => Some(&mut found.types),
                _ => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    continue;
                }
            };
            let (mut name, mut origin) = (None, None);
            let (mut code, mut declaration) = (false, false);
            for spec in abbreviation.attributes() {
                let attr = entries.read_attribute(*spec)?;
                match attr.name() {
                    gimli::DW_AT_name => name = Some(attr.value()),
                    gimli::DW_AT_specification | gimli::DW_AT_abstract_origin => {
                        origin = Some(attr.value());
                    }
                    gimli::DW_AT_low_pc => {
                        code = matches!(
                            self.dwarf_of(unit).attr_address(&unit.raw, attr.value()),
                            Ok(Some(addr)) if self.is_code(addr)
                        );
                    }
                    gimli::DW_AT_ranges => code = true,
                    gimli::DW_AT_declaration => {
                        declaration = matches!(attr.value(), Value::Flag(true));
                    }
                    _ => {}
                }
            }
            let is_type = !matches!(
                abbreviation.tag(),
                gimli::DW_TAG_subprogram | gimli::DW_TAG_variable
            );
            let names = match names {
                Some(_) if declaration && !is_type => continue,
                Some(names) => names,
                None if code => &mut found.functions,
                // Abstract instances; link-time optimization of gcc leaves DW_AT_inline out.
                None if !declaration => &mut found.inlined,
                None => continue,
            };
            let name = name
                .and_then(|name| self.string(unit, name))
                .or_else(|| self.name_of_origin(unit, origin?));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                names.push((key_of_entry(name), unit.index, offset));
            }
        }
        Ok(())
    }

    /// The name at the other end of a reference, read as cheaply as can be.
    fn name_of_origin(&self, unit: &Unit, origin: Value) -> Option<&'static [u8]> {
        let mut die = self.reference(unit, origin)?;
        for _ in 0..crate::entries::units::MAX_HOPS {
            let unit = self.whole(die.unit)?;
            if let Some(name) = self.peek(unit, die.offset, gimli::DW_AT_name) {
                return self.string(unit, name);
            }
            let next = self
                .peek(unit, die.offset, gimli::DW_AT_specification)
                .or_else(|| self.peek(unit, die.offset, gimli::DW_AT_abstract_origin))?;
            die = self.reference(unit, next)?;
        }
        None
    }
}
