//! Entry points of inlined copies of functions.

use crate::entries::units::{Unit, Value};
use crate::entries::walk::{Shapes, Visited, Visitor};
use crate::ids::DieRef;
use crate::ids::addr::FileAddr;
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::naming::Key;
use gimli::{Abbreviation, DwAt};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

const ORIGIN: u8 = 0;
const LOW_PC: u8 = 1;
const HIGH_PC: u8 = 2;
const RANGES: u8 = 3;
const ENTRY_PC: u8 = 4;

/// Collects the entry points of inlined copies of the wanted functions.
struct Copies<'a> {
    info: &'a DebugInfo,
    /// Offsets of the functions' entries, by unit.
    wanted: &'a FxHashMap<u32, FxHashSet<u64>>,
    found: Vec<FileAddr>,
}

impl Visitor for Copies<'_> {
    fn wants(abbreviation: &Abbreviation) -> bool {
        abbreviation.tag() == gimli::DW_TAG_inlined_subroutine
    }

    fn slot(at: DwAt) -> Option<u8> {
        Some(match at {
            gimli::DW_AT_abstract_origin => ORIGIN,
            gimli::DW_AT_low_pc => LOW_PC,
            gimli::DW_AT_high_pc => HIGH_PC,
            gimli::DW_AT_ranges => RANGES,
            gimli::DW_AT_entry_pc => ENTRY_PC,
            _ => return None,
        })
    }

    fn entry(&mut self, entry: &Visited<'_>, _shapes: &mut Shapes) -> Result<(), Error> {
        let origin = entry.value(ORIGIN);
        let origin = origin.and_then(|origin| self.info.reference(entry.unit, origin));
        let is_wanted = |die: DieRef| {
            let wanted = self.wanted.get(&die.unit);
            wanted.is_some_and(|offsets| offsets.contains(&die.offset))
        };
        if origin.is_some_and(is_wanted) {
            let value = |at| Self::slot(at).and_then(|slot| entry.value(slot));
            self.found
                .extend(entry_of_copy(self.info, entry.unit, value));
        }
        Ok(())
    }
}

/// Returns the entry points of inlined copies, sorted. `look` selects their functions from the
/// entries with this key.
pub(super) fn inlined_entries(
    module: &Module,
    key: Key<'_>,
    look: impl Fn(&DebugInfo, Vec<DieRef>) -> Vec<DieRef>,
) -> Vec<FileAddr> {
    let Some(info) = module.info() else {
        return Vec::new();
    };
    let (dies, units) = module.inlined_by_key(info, key);
    let mut entries: Vec<FileAddr> = Vec::new();
    let mut by_unit: FxHashMap<u32, FxHashSet<u64>> = FxHashMap::default();
    for die in look(info, dies) {
        let Ok((unit, entry)) = info.entry(die) else {
            continue;
        };
        if entry.tag() == gimli::DW_TAG_inlined_subroutine {
            entries.extend(entry_of_copy(info, unit, |at| entry.attr_value(at)));
        } else {
            by_unit.entry(die.unit).or_default().insert(die.offset);
        }
    }
    if !by_unit.is_empty() {
        let is_known = |index: &u32| {
            let known = units.as_ref();
            known.is_none_or(|units| units.binary_search(index).is_ok())
        };
        let copies = info
            .code_units()
            .into_par_iter()
            .filter(is_known)
            .filter_map(|index| info.whole(index))
            .filter(|unit| by_unit.contains_key(&unit.index) || refers_to_other_units(unit))
            .flat_map_iter(|unit| {
                let mut copies = Copies {
                    info,
                    wanted: &by_unit,
                    found: Vec::new(),
                };
                if let Err(error) = info.walk(unit, &mut Shapes::default(), &mut copies) {
                    tracing::debug!(unit = unit.index, %error, "corrupt entries");
                }
                copies.found
            });
        entries.par_extend(copies);
    }
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// Returns whether a unit has entries whose origin may be in another unit (link-time optimization).
fn refers_to_other_units(unit: &Unit) -> bool {
    (1..)
        .map_while(|code| unit.raw.abbreviations.get(code))
        .filter(|abbreviation| abbreviation.tag() == gimli::DW_TAG_inlined_subroutine)
        .flat_map(|abbreviation| abbreviation.attributes())
        .any(|spec| {
            spec.name() == gimli::DW_AT_abstract_origin
                && matches!(
                    spec.form(),
                    gimli::DW_FORM_ref_addr | gimli::DW_FORM_GNU_ref_alt
                )
        })
}

/// Returns the entry point of an inlined copy with these attributes.
fn entry_of_copy(
    info: &DebugInfo,
    unit: &Unit,
    value: impl Fn(gimli::DwAt) -> Option<Value>,
) -> Option<FileAddr> {
    let (low, high) = (value(gimli::DW_AT_low_pc), value(gimli::DW_AT_high_pc));
    let ranges = info.ranges_of(unit, low, high, value(gimli::DW_AT_ranges));
    value(gimli::DW_AT_entry_pc)
        .and_then(|value| info.address(unit, value))
        .map(FileAddr)
        .filter(|entry| ranges.iter().any(|range| range.contains(*entry)))
        .or_else(|| ranges.iter().map(|range| range.start).min())
}
