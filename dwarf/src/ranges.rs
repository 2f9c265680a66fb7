//! Which unit holds an address: `.debug_aranges` where it speaks, root entries elsewhere.

use crate::addr::{AddrRange, FileAddr};
use crate::unit::DebugInfo;
use rayon::prelude::*;
use std::sync::OnceLock;

/// The two tables, each built when first needed.
#[derive(Default)]
pub(crate) struct RangeTables {
    /// From `.debug_aranges` alone: no unit is touched.
    quick: OnceLock<RangeTable>,
    /// With the units that `.debug_aranges` leaves out (clang writes none).
    full: OnceLock<RangeTable>,
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

    /// Units whose ranges meet `[start, end)`, the ones that start last first.
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

impl DebugInfo {
    /// The unit that holds `addr`.
    pub(crate) fn unit_at(&self, addr: u64) -> Option<u32> {
        if !self.is_code(addr) {
            return None;
        }
        let end = addr.checked_add(1)?;
        let quick = self.ranges.quick.get_or_init(|| self.quick_ranges());
        if let Some(unit) = quick.meeting(addr, end).next() {
            return Some(unit);
        }
        self.full_ranges().meeting(addr, end).next()
    }

    /// All units with code in `range`.
    pub(crate) fn units_in(&self, range: AddrRange<FileAddr>) -> Vec<u32> {
        // Ranges of a function are all of one unit: the common case needs one table.
        if let Some(last) = range.end.0.checked_sub(1)
            && let Some(unit) = self.unit_at(range.start.0)
            && self.unit_at(last) == Some(unit)
            && range.end - range.start < 1 << 16
        {
            return vec![unit];
        }
        let mut units: Vec<u32> = self
            .full_ranges()
            .meeting(range.start.0, range.end.0)
            .collect();
        units.sort_unstable();
        units.dedup();
        units
    }

    fn quick_ranges(&self) -> RangeTable {
        let mut entries: Vec<(u64, u64, u32)> = Vec::new();
        let mut headers = self.dwarf.debug_aranges.headers();
        while let Ok(Some(header)) = headers.next() {
            let Some(unit) = self.unit_at_offset(header.debug_info_offset().0) else {
                continue;
            };
            let mut ranges = header.entries();
            while let Ok(Some(entry)) = ranges.next() {
                let range = entry.range();
                // LLVM lists data here too.
                if !self.is_code(range.begin) || range.begin >= range.end {
                    continue;
                }
                match entries.last_mut() {
                    // Neighbours with alignment between them make one range of their unit.
                    Some(last)
                        if last.2 == unit && range.begin >= last.1 && range.begin - last.1 < 16 =>
                    {
                        last.1 = range.end;
                    }
                    _ => entries.push((range.begin, range.end, unit)),
                }
            }
        }
        RangeTable::new(entries)
    }

    fn full_ranges(&self) -> &RangeTable {
        self.ranges.full.get_or_init(|| {
            let quick = self.ranges.quick.get_or_init(|| self.quick_ranges());
            let mut known = vec![false; self.info_units() as usize];
            for (_, _, unit) in &quick.entries {
                if let Some(known) = known.get_mut(*unit as usize) {
                    *known = true;
                }
            }
            let mut entries: Vec<(u64, u64, u32)> = known
                .par_iter()
                .enumerate()
                .filter(|(_, known)| !**known)
                .flat_map_iter(|(index, _)| self.unit_ranges(index as u32))
                .collect();
            entries.extend(&quick.entries);
            RangeTable::new(entries)
        })
    }

    fn unit_ranges(&self, index: u32) -> Vec<(u64, u64, u32)> {
        let Some(unit) = self.unit(index) else {
            return Vec::new();
        };
        if !unit.ranges.is_empty() {
            return unit
                .ranges
                .iter()
                .map(|range| (range.start.0, range.end.0, index))
                .collect();
        }
        // A root entry without ranges: old compilers, hand-written units. Types and parts of
        // units (dwz) have no code.
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
