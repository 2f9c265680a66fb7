//! `.gdb_index` (GDB manual, "Index Section Format"), made by lld, gold and mold: the units that
//! have a name. The output of `gdb-add-index` is not used: for variables and types of one name it
//! lists one unit only. The section cannot replace a [`super::NameIndex`]: it has no offsets in
//! units, and lacks functions that are only inlined. It serves lookups while that index is built: a
//! lookup reads the few units that the section lists for the name.

use crate::file::object::{Image, string_at, u32_at, u64_at};
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use crate::naming::table_key;
use rayon::prelude::*;
use std::sync::atomic::{AtomicI64, Ordering};

const SECTION: &str = ".gdb_index";
/// Words of the header: the version, and the offset of each table.
const WORDS: usize = 6;
/// Maximum number of units to read for a name; if it has more, the index is used instead.
const MAX_UNITS: usize = 32;

/// Keys of names and the units that have them, sorted.
pub(crate) struct GdbIndexUnits(Vec<(u32, u32)>);

impl GdbIndexUnits {
    /// Returns the units that have names of this key; `None` if there are more than
    /// [`MAX_UNITS`].
    pub(crate) fn get(&self, key: u32) -> Option<Vec<u32>> {
        let start = self.0.partition_point(|entry| entry.0 < key);
        let rest = self.0.get(start..).unwrap_or(&[]);
        let mut units = rest.iter().take_while(|entry| entry.0 == key);
        let few: Vec<u32> = units
            .by_ref()
            .take(MAX_UNITS)
            .map(|entry| entry.1)
            .collect();
        units.next().is_none().then_some(few)
    }

    /// Reads the table of `holder`; `None` if there is none, or if it lacks some units.
    ///
    /// # Errors
    /// The table is inconsistent with itself or with the units, so that none of it can be used.
    pub(crate) fn read(info: &DebugInfo, holder: &Image) -> Result<Option<GdbIndexUnits>, Error> {
        let data = holder.section_data(SECTION);
        if data.is_empty() {
            return Ok(None);
        }
        let version = u32_at(data, 0).ok_or_else(|| at(0, "truncated header"))?;
        // Linkers write version 7. gdb writes later versions, which lack units.
        if version != 7 {
            tracing::info!(version, "unsupported version of {SECTION}");
            return Ok(None);
        }
        let mut offsets = Vec::new();
        for index in 1..WORDS {
            let offset = u32_at(data, index * 4)
                .map(|offset| offset as usize)
                .filter(|offset| *offset <= data.len())
                .filter(|offset| offsets.last().is_none_or(|last| offset >= last))
                .ok_or_else(|| at(index * 4, "an offset outside the section"))?;
            offsets.push(offset);
        }
        let part = |index: usize| {
            let start = offsets.get(index).copied().unwrap_or(data.len());
            let end = offsets.get(index + 1).copied().unwrap_or(data.len());
            (start, data.get(start..end).unwrap_or(&[]))
        };
        let (units_at, list) = part(0);
        let mut units: Vec<Option<u32>> = Vec::with_capacity(list.len() / 16);
        for index in 0..list.len() / 16 {
            let wrong = || at(units_at + index * 16, "no such unit in .debug_info");
            let offset = u64_at(list, index * 16).ok_or_else(wrong)?;
            let length = u64_at(list, index * 16 + 8).ok_or_else(wrong)?;
            let unit = usize::try_from(offset)
                .ok()
                .and_then(|offset| info.main.unit_at_offset(offset))
                .filter(|unit| {
                    let header = info.header(*unit);
                    header.is_some_and(|header| header.length_including_self() as u64 == length)
                })
                .ok_or_else(wrong)?;
            units.push(Some(unit));
        }
        let mut covered: Vec<u32> = units.iter().flatten().copied().collect();
        covered.sort_unstable();
        covered.dedup();
        if covered.len() < info.main.info_unit_count() {
            tracing::info!("{SECTION} lacks some units and is not used");
            return Ok(None);
        }
        // Type units follow in the numbering, each with an offset, a type and a signature.
        let (_, types) = part(1);
        units.extend(types.chunks_exact(24).map(|unit| {
            let offset = usize::try_from(u64_at(unit, 0)?).ok()?;
            info.main.unit_at_offset(offset)
        }));
        let (slots_at, slots) = part(3);
        let (_, pool) = part(WORDS - 2);
        // Names share lists of units, so a small table may expand to many entries; but the debug
        // info bounds their number.
        let most = data
            .len()
            .saturating_mul(4)
            .saturating_add(info.debug_info_size());
        let left = AtomicI64::new(i64::try_from(most).unwrap_or(i64::MAX));
        let mut entries = slots
            .par_chunks_exact(8)
            .enumerate()
            .map(|(index, slot)| {
                let entries = read_slot(slot, pool, &units);
                entries.ok_or_else(|| at(slots_at + index * 8, "a name outside the string pool"))
            })
            .try_fold(Vec::new, |mut all, entries| {
                let entries = entries?;
                // Relaxed: the counter orders no other memory.
                if left.fetch_sub(entries.len() as i64, Ordering::Relaxed) < 0 {
                    return Err(at(slots_at, "more names than its units can define"));
                }
                all.extend(entries);
                Ok(all)
            })
            .try_reduce(Vec::new, |mut all, mut entries| {
                all.append(&mut entries);
                Ok::<_, Error>(all)
            })?;
        entries.par_sort_unstable();
        entries.dedup();
        Ok(Some(GdbIndexUnits(entries)))
    }
}

/// Returns the key of a slot's name with each of its units; empty for an empty slot, `None` for an
/// invalid one.
fn read_slot(slot: &[u8], pool: &'static [u8], units: &[Option<u32>]) -> Option<Vec<(u32, u32)>> {
    let (name, vector) = (u32_at(slot, 0)?, u32_at(slot, 4)?);
    if name == 0 && vector == 0 {
        return Some(Vec::new());
    }
    let key = table_key(string_at(pool, name as usize)?);
    let vector = pool.get(vector as usize..)?;
    let count = u32_at(vector, 0)? as usize;
    let values = vector.get(4..4usize.checked_add(count.checked_mul(4)?)?)?;
    let mut found = Vec::new();
    for value in values.chunks_exact(4) {
        // Bits 0 to 23 are the unit; the others are the kind of name.
        let index = u32_at(value, 0)? & 0x00ff_ffff;
        // Units of `.debug_types` are skipped.
        found.extend(units.get(index as usize)?.map(|unit| (key, unit)));
    }
    found.dedup();
    Some(found)
}

fn at(offset: usize, message: &str) -> Error {
    Error::Corrupt(format!("{SECTION} at offset {offset:#x}: {message}"))
}
