//! Names of functions, types and static variables across all units.

use crate::module::DieRef;
use crate::names::key;
use crate::unit::{DebugInfo, Unit, Value};
use rayon::prelude::*;

/// The index: keys of names to entries; a key may have strangers, names are compared after.
pub(crate) struct NameIndex {
    /// Functions with code.
    pub(crate) functions: Names,
    /// Abstract instances of inlined functions.
    pub(crate) inlined: Names,
    /// Types, declarations among them.
    pub(crate) types: Names,
    /// Variables with static storage outside functions.
    pub(crate) statics: Names,
}

/// Key, unit, offset; sorted.
#[derive(Default)]
pub(crate) struct Names(Vec<(u32, u32, u32)>);

impl Names {
    /// Entries whose key is `key`.
    pub(crate) fn get(&self, key: u32) -> impl Iterator<Item = DieRef> + '_ {
        let start = self.0.partition_point(|entry| entry.0 < key);
        self.0
            .iter()
            .skip(start)
            .take_while(move |entry| entry.0 == key)
            .map(|(_, unit, offset)| DieRef {
                unit: *unit,
                offset: u64::from(*offset),
            })
    }

    fn append(&mut self, other: &mut Names) {
        if self.0.is_empty() {
            std::mem::swap(&mut self.0, &mut other.0);
        } else {
            self.0.append(&mut other.0);
        }
    }
}

#[derive(Default)]
struct Found {
    functions: Names,
    inlined: Names,
    types: Names,
    statics: Names,
}

impl DebugInfo {
    /// Reads all units' entries in parallel.
    pub(crate) fn build_index(&self) -> NameIndex {
        let mut found = (0..self.unit_count())
            .into_par_iter()
            .fold(Found::default, |mut found, index| {
                if let Some(unit) = self.unit(index)
                    && let Err(error) = self.index_unit(unit, &mut found)
                {
                    tracing::debug!(unit = index, %error, "corrupt entries; the rest of the unit has no names");
                }
                found
            })
            .reduce(Found::default, |mut all, mut found| {
                all.functions.append(&mut found.functions);
                all.inlined.append(&mut found.inlined);
                all.types.append(&mut found.types);
                all.statics.append(&mut found.statics);
                all
            });
        for names in [
            &mut found.functions,
            &mut found.inlined,
            &mut found.types,
            &mut found.statics,
        ] {
            names.0.par_sort_unstable();
            names.0.shrink_to_fit();
        }
        NameIndex {
            functions: found.functions,
            inlined: found.inlined,
            types: found.types,
            statics: found.statics,
        }
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
                gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_interface_type
                | gimli::DW_TAG_enumeration_type
                | gimli::DW_TAG_typedef
                | gimli::DW_TAG_base_type
                | gimli::DW_TAG_pointer_type
                | gimli::DW_TAG_unspecified_type
                | gimli::DW_TAG_template_alias => Some(&mut found.types),
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
                names.0.push((key(name), unit.index, offset));
            }
        }
        Ok(())
    }

    /// The name at the other end of a reference, read as cheaply as can be.
    fn name_of_origin(&self, unit: &Unit, origin: Value) -> Option<&'static [u8]> {
        let mut die = self.reference(unit, origin)?;
        for _ in 0..crate::unit::MAX_HOPS {
            let unit = self.unit(die.unit)?;
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
