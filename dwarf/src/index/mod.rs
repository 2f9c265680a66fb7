//! Names of functions, types and static variables across all units.

pub(crate) mod cache;
mod debug_names;
pub(crate) mod gdb_index;
pub(crate) mod mentions;
mod read;
mod table;
pub(crate) mod unit_names;

use crate::file::mapping;
use crate::file::object::Image;
use crate::lines::DebugInfo;
use crate::naming::Key;
use gimli::Section;
use mentions::Mentions;
use rayon::prelude::*;
use read::{Keys, State};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use table::Collected;

pub(crate) use table::Names;

/// The index from keys of names to entries; a key may have entries of other names, which are
/// filtered by a comparison.
pub(crate) struct NameIndex {
    /// Functions with code.
    pub(crate) functions: Names,
    /// Abstract instances of inlined functions, or inlined copies themselves.
    pub(crate) inlined: Names,
    /// Types, declarations among them.
    pub(crate) types: Names,
    /// Variables with static storage outside functions.
    pub(crate) statics: Names,
    /// Whether it was made from a table that lacks declarations of types and variables without a
    /// location, and that includes the variables of functions.
    pub(crate) sparse: bool,
}

/// The entries of one name, from the units that may have it.
pub(crate) struct Named {
    pub(crate) index: NameIndex,
    /// Sorted.
    pub(crate) units: Vec<u32>,
}

/// Entries being collected.
#[derive(Default)]
struct IndexEntries {
    functions: Collected,
    inlined: Collected,
    types: Collected,
    statics: Collected,
}

impl IndexEntries {
    fn append(&mut self, other: IndexEntries) {
        self.functions.append(other.functions);
        self.inlined.append(other.inlined);
        self.types.append(other.types);
        self.statics.append(other.statics);
    }

    fn into_index(self, sparse: bool) -> NameIndex {
        NameIndex {
            functions: self.functions.sort(),
            inlined: self.inlined.sort(),
            types: self.types.sort(),
            statics: self.statics.sort(),
            sparse,
        }
    }
}

/// Returns whether a tag is that of a type that can have a name.
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

impl DebugInfo {
    /// Builds the index: from `.debug_names` of `holder`, otherwise from the entries of all units,
    /// read in parallel.
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
        let wanted = |_: &u32| !self.is_indexing_cancelled.load(Ordering::Relaxed);
        let units = self.units().into_par_iter().filter(wanted);
        // Relaxed: the number is only displayed.
        let counted = units.inspect(|_| _ = self.indexed.fetch_add(1, Ordering::Relaxed));
        let keys = Keys::new(self, self.debug_info_size());
        let mut found = self.index_units(counted, &keys);
        // Includes the type units of split files that were opened during the pass.
        let split = (self.unit_count()..self.all_units()).into_par_iter();
        let split = self.index_units(split.filter(wanted), &keys);
        found.append(split);
        if self.is_large() {
            mapping::give_back(self.main.dwarf.debug_info.reader().slice());
            mapping::give_back(self.main.dwarf.debug_str.reader().slice());
        }
        found.into_index(false)
    }

    /// Returns the entries of a name; `None` if most of the units would have to be read.
    pub(crate) fn named(&self, name: Key<'_>) -> Option<Named> {
        let Mentions::Units(units) = self.units_mentioning(name) else {
            return None;
        };
        if self.bytes_of(&units) > self.debug_info_size() / 2 {
            return None;
        }
        let mut found = self.index_some(units.clone());
        for names in [
            &mut found.functions,
            &mut found.inlined,
            &mut found.types,
            &mut found.statics,
        ] {
            names.retain_key(name.hash);
        }
        Some(Named {
            index: found.into_index(false),
            units,
        })
    }

    /// Returns the index of some units.
    pub(crate) fn index_of(&self, units: Vec<u32>) -> NameIndex {
        self.index_some(units).into_index(false)
    }

    fn index_some(&self, units: Vec<u32>) -> IndexEntries {
        let keys = Keys::new(self, self.bytes_of(&units));
        self.index_units(units, &keys)
    }

    fn index_units(
        &self,
        units: impl IntoParallelIterator<Item = u32>,
        keys: &Keys,
    ) -> IndexEntries {
        // One state per thread, however the units are divided among them.
        let states = Mutex::new(Vec::<State>::new());
        let lock = || states.lock().unwrap_or_else(PoisonError::into_inner);
        units.into_par_iter().for_each(|unit| {
            let mut state = lock().pop().unwrap_or_default();
            self.index_unit(unit, keys, &mut state);
            lock().push(state);
        });
        let mut found = IndexEntries::default();
        for state in states.into_inner().unwrap_or_else(PoisonError::into_inner) {
            found.append(state.found);
        }
        found
    }
}
