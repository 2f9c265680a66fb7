//! Address to unit: by `.debug_aranges`, or by root entries for the units that it omits.

use crate::entries::budget::SectionBytesRead;
use crate::entries::objects::Objects;
use crate::entries::units::{Entries, Ranges, Unit};
use crate::file::object::{u32_at, u64_at};
use crate::ids::addr::{AddrRange, FileAddr};
use gimli::Section;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Scans of the [`ArangeSet`]s before a sorted table is built; by then they have cost as much as
/// the table.
const SCANS_BEFORE_TABLE: usize = 16;

/// Recently hit sets that are tried before a scan: those of a line's locations, or of a stack's
/// frames.
const RECENT: usize = 8;

/// Tables from address to unit, each built when first needed.
#[derive(Default)]
pub(crate) struct RangeTables {
    /// `.debug_aranges` as it is in the file. Building it reads no unit.
    sets: OnceLock<Vec<ArangeSet>>,
    /// Number of scans over `sets`.
    passes: AtomicUsize,
    /// Indexes of the sets hit most recently, latest first.
    recent: Mutex<Vec<usize>>,
    /// All sets as one sorted table, built after [`SCANS_BEFORE_TABLE`] scans.
    quick: OnceLock<RangeTable>,
    /// Ranges of the units that `.debug_aranges` omits (clang does not write the section).
    rest: OnceLock<RangeTable>,
    /// Bytes of range lists read for the root entries of those units.
    consumed: SectionBytesRead,
}

/// The ranges of one unit in `.debug_aranges` (DWARF 5 §6.1.2).
struct ArangeSet {
    unit: u32,
    /// Pairs of address and length, 8 bytes each.
    tuples: &'static [u8],
}

impl ArangeSet {
    fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.tuples.chunks_exact(16).map(|tuple| {
            let (begin, length) = tuple.split_at(8);
            let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            (number(begin), number(length))
        })
    }

    fn covers(&self, addr: u64) -> bool {
        self.ranges()
            .any(|(begin, length)| addr.wrapping_sub(begin) < length)
    }
}

/// Ranges by start, with a running maximum of ends.
#[derive(Default)]
struct RangeTable {
    entries: Vec<(u64, u64, u32)>,
    max_end: Vec<u64>,
}

impl RangeTable {
    fn new(mut entries: Vec<(u64, u64, u32)>) -> RangeTable {
        entries.sort_unstable();
        entries.dedup();
        let mut max = 0;
        let max_end = entries
            .iter()
            .map(|(_, end, _)| {
                max = max.max(*end);
                max
            })
            .collect();
        RangeTable { entries, max_end }
    }

    /// Returns the units whose ranges intersect `[start, end)`, by descending start.
    fn meeting(&self, start: u64, end: u64) -> impl Iterator<Item = u32> + '_ {
        let last = self.entries.partition_point(|entry| entry.0 < end);
        (0..last)
            .rev()
            .take_while(move |index| self.max_end.get(*index).is_some_and(|end| *end > start))
            .filter_map(|index| self.entries.get(index))
            .filter(move |entry| entry.1 > start)
            .map(|entry| entry.2)
    }
}

impl Entries {
    /// Returns the unit that covers `addr`.
    pub(crate) fn unit_at(&self, addr: u64) -> Option<u32> {
        if !self.is_code(addr) {
            return None;
        }
        let end = addr.checked_add(1)?;
        if let Some(objects) = &self.objects {
            let range = AddrRange::new(FileAddr(addr), FileAddr(end));
            return self.units_of_objects(objects, range).into_iter().next();
        }
        let quick = match self.ranges.quick.get() {
            None if self.ranges.passes.fetch_add(1, Ordering::Relaxed) < SCANS_BEFORE_TABLE => {
                self.unit_by_pass(addr)
            }
            _ => self.quick_ranges().meeting(addr, end).next(),
        };
        if quick.is_some() {
            return quick;
        }
        self.rest_ranges().meeting(addr, end).next()
    }

    /// Returns all units with code in `range`.
    pub(crate) fn units_in(&self, range: AddrRange<FileAddr>) -> Vec<u32> {
        if let Some(objects) = &self.objects {
            return self.units_of_objects(objects, range);
        }
        // A function's ranges mostly belong to one unit: then one table is enough.
        if let Some(last) = range.end.0.checked_sub(1)
            && let Some(unit) = self.unit_at(range.start.0)
            && self.unit_at(last) == Some(unit)
            && range.end - range.start < 1 << 16
        {
            return vec![unit];
        }
        let mut units: Vec<u32> = [self.quick_ranges(), self.rest_ranges()]
            .into_iter()
            .flat_map(|table| table.meeting(range.start.0, range.end.0))
            .collect();
        units.sort_unstable();
        units.dedup();
        units
    }

    /// Returns the units with code in `range`, by the debug map: only object files with such code
    /// are opened. Their units have addresses from before the functions were placed, which do not
    /// tell where these are.
    fn units_of_objects(&self, objects: &Objects, range: AddrRange<FileAddr>) -> Vec<u32> {
        let mut found = Vec::new();
        for file in objects.files_in(range) {
            let mut units: Vec<u32> = file.info_units().collect();
            // The only unit has all functions.
            if units.len() > 1 {
                units.retain(|unit| {
                    let unit = self.unit(*unit);
                    unit.is_some_and(|unit| self.scan(unit).has_code_in(range))
                });
            }
            found.extend(units);
        }
        found.sort_unstable();
        found
    }

    /// Looks up `addr` without building the table. Consecutive lookups often hit the same few
    /// units.
    fn unit_by_pass(&self, addr: u64) -> Option<u32> {
        let sets = self.arange_sets();
        let recent = self.ranges.recent.lock();
        let mut recent = recent.unwrap_or_else(PoisonError::into_inner);
        let covers = |set: &usize| sets.get(*set).is_some_and(|set| set.covers(addr));
        let found = match recent.iter().position(covers) {
            Some(at) => {
                self.ranges.passes.fetch_sub(1, Ordering::Relaxed);
                recent.remove(at)
            }
            None => sets.iter().position(|set| set.covers(addr))?,
        };
        recent.truncate(RECENT - 1);
        recent.insert(0, found);
        Some(sets.get(found)?.unit)
    }

    fn arange_sets(&self) -> &[ArangeSet] {
        self.ranges.sets.get_or_init(|| {
            let mut rest = self.main.dwarf.debug_aranges.reader().slice();
            let mut sets = Vec::new();
            while let Some((set, behind)) = self.arange_set(rest) {
                sets.extend(set);
                rest = behind;
            }
            sets
        })
    }

    /// Reads the first set of a section and returns it with the rest of the section. The set is
    /// `None` if its unit is not in this file.
    fn arange_set(&self, section: &'static [u8]) -> Option<(Option<ArangeSet>, &'static [u8])> {
        // A length of 0xffffffff marks the 64-bit format (DWARF 5 §7.4).
        let (long, start) = match u32_at(section, 0)? {
            u32::MAX => (true, 12),
            _ => (false, 4),
        };
        let length = match long {
            true => u64_at(section, 4)?,
            false => u64::from(u32_at(section, 0)?),
        };
        let end = usize::try_from(length).ok()?.checked_add(start)?;
        let (set, behind) = section.split_at_checked(end)?;
        let read = || {
            let (offset, sizes) = match long {
                true => (u64_at(set, start + 2)?, start + 10),
                false => (u64::from(u32_at(set, start + 2)?), start + 6),
            };
            // Units with segments or other address sizes are covered by their root entries.
            if set.get(sizes..sizes + 2)? != [8, 0] {
                return None;
            }
            let unit = self.main.unit_at_offset(usize::try_from(offset).ok()?)?;
            let tuples = set.get((sizes + 2).next_multiple_of(16)..)?;
            Some(ArangeSet { unit, tuples })
        };
        Some((read(), behind))
    }

    fn quick_ranges(&self) -> &RangeTable {
        self.ranges.quick.get_or_init(|| {
            let mut entries: Vec<(u64, u64, u32)> = Vec::new();
            for set in self.arange_sets() {
                for (begin, length) in set.ranges() {
                    // LLVM lists data here, too.
                    if length == 0 || !self.is_code(begin) {
                        continue;
                    }
                    let end = begin.saturating_add(length);
                    match entries.last_mut() {
                        // Adjacent ranges of a unit are merged. A gap is kept: the linker may have
                        // placed a small function of another unit there.
                        Some(last) if last.2 == set.unit && begin == last.1 => last.1 = end,
                        _ => entries.push((begin, end, set.unit)),
                    }
                }
            }
            RangeTable::new(entries)
        })
    }

    fn rest_ranges(&self) -> &RangeTable {
        self.ranges.rest.get_or_init(|| {
            // A unit whose code was all discarded is in `.debug_aranges`, without a range.
            let covered: FxHashSet<u32> = self.arange_sets().iter().map(|set| set.unit).collect();
            let units: Vec<u32> = self.main.info_units().collect();
            let entries = units
                .into_par_iter()
                .filter(|unit| !covered.contains(unit))
                .flat_map_iter(|unit| self.unit_ranges(unit))
                .collect();
            RangeTable::new(entries)
        })
    }

    /// Returns the ranges of a unit's root entry. Units do not share range lists.
    fn root_ranges(&self, unit: &Unit) -> Ranges {
        let lists = &self.main.dwarf.ranges;
        let size = lists.debug_ranges().reader().len() + lists.debug_rnglists().reader().len();
        if self.ranges.consumed.is_all(size) {
            tracing::debug!(unit = unit.index, "units share range lists");
            return Ranges::new();
        }
        let root = unit.raw.entry(unit.raw.header.root_offset());
        let ranges = root.map(|root| self.die_ranges(unit, &root));
        let ranges = ranges.unwrap_or_default();
        if ranges.len() > 1 {
            self.ranges.consumed.add(ranges.len());
        }
        ranges
    }

    fn unit_ranges(&self, index: u32) -> Vec<(u64, u64, u32)> {
        let Some(unit) = self.unit(index) else {
            return Vec::new();
        };
        let ranges = self.root_ranges(unit);
        if !ranges.is_empty() {
            return ranges
                .iter()
                .map(|range| (range.start.0, range.end.0, index))
                .collect();
        }
        // Root entries without ranges come from old compilers and hand-written units. Type units
        // and partial units (dwz) have no code.
        if unit.tag != gimli::DW_TAG_compile_unit || unit.stmt_list.is_none() {
            return Vec::new();
        }
        self.scan(unit)
            .functions
            .iter()
            .map(|function| (function.start, function.end, index))
            .collect()
    }
}
