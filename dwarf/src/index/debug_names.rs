//! Names from `.debug_names` (DWARF 5 §6.1.1), which avoids reading the units that it covers.
//!
//! Only the tables of LLVM (clang, and lld's merged ones) are used, recognised by their
//! augmentation: others lack inlined copies, or have other errors. LLVM's lack declarations, and
//! variables without a location (see [`NameIndex::sparse`]). gimli's reader of these tables
//! allocates for every entry and searches their abbreviations linearly, which is slower than
//! reading the units.

use super::{IndexEntries, NameIndex};
use crate::file::R;
use crate::file::object::Image;
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use crate::naming::key;
use gimli::{DwForm, DwIdx, DwTag, Format, LittleEndian, Reader, UnitType};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

const SECTION: &str = ".debug_names";
/// Number of names that one thread takes at a time.
const CHUNK: usize = 1 << 12;

/// Builds the index from the tables of `holder`, completed by reading the units that no table
/// covers; `None` without such tables.
///
/// # Errors
/// A table contradicts itself or the units: none of them can be trusted.
pub(super) fn read(info: &DebugInfo, holder: &Image) -> Result<Option<NameIndex>, Error> {
    let section = holder.section_data(SECTION);
    let mut rest = R::new(section, LittleEndian);
    let mut tables = Vec::new();
    while !rest.is_empty() {
        let offset = section.len() - rest.len();
        let table = Table::read(info, &mut rest).map_err(|error| at(offset, &error))?;
        tables.extend(table.map(|table| (offset, table)));
    }
    if tables.is_empty() {
        return Ok(None);
    }
    let mut covered = vec![false; info.unit_count() as usize];
    for unit in tables.iter().flat_map(|(_, table)| table.units()) {
        if let Some(covered) = covered.get_mut(unit as usize) {
            *covered = true;
        }
    }
    let chunks: Vec<(usize, &Table, Range<usize>)> = tables
        .iter()
        .flat_map(|(offset, table)| {
            let firsts = (0..table.names).step_by(CHUNK);
            firsts.map(move |first| (*offset, table, first..table.names.min(first + CHUNK)))
        })
        .collect();
    // Every entry takes at least one byte, and the names of a valid table share none.
    let left = AtomicI64::new(i64::try_from(section.len()).unwrap_or(i64::MAX));
    let mut found = chunks
        .into_par_iter()
        .try_fold(
            IndexEntries::default,
            |mut found, (offset, table, names)| {
                let read = table.read_names(info, names, &left, &mut found);
                read.map(|()| found).map_err(|error| at(offset, &error))
            },
        )
        .try_reduce(IndexEntries::default, |mut all, found| {
            all.append(found);
            Ok(all)
        })?;
    let others: Vec<u32> = (0u32..)
        .zip(covered)
        .filter_map(|(unit, covered)| (!covered).then_some(unit))
        .collect();
    found.append(info.index_some(others));
    Ok(Some(found.into_index(true)))
}

fn at(offset: usize, error: &Error) -> Error {
    let message = match error {
        Error::Corrupt(message) => message.clone(),
        error => error.to_string(),
    };
    Error::Corrupt(format!(
        "{SECTION}: the name index at offset {offset:#x}: {message}"
    ))
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::Corrupt(message.into())
}

/// One name index.
struct Table {
    format: Format,
    compile_units: Vec<u32>,
    type_units: Vec<u32>,
    names: usize,
    /// Offsets of the names in `.debug_str`.
    strings: R,
    /// Offsets of the names' first entries in `pool`.
    entries: R,
    abbreviations: FxHashMap<u64, Abbreviation>,
    pool: R,
}

struct Abbreviation {
    tag: DwTag,
    attributes: Vec<(DwIdx, DwForm)>,
}

impl Table {
    /// Reads the next table of the section; `None` if it may be incomplete.
    fn read(info: &DebugInfo, section: &mut R) -> Result<Option<Table>, Error> {
        let (length, format) = section.read_initial_length()?;
        let mut rest = section.split(length)?;
        let version = rest.read_u16()?;
        if version != 5 {
            return Err(corrupt(format!("unknown version {version}")));
        }
        rest.skip(2)?;
        let mut count = || rest.read_u32().map(|count| count as usize);
        let (compile_units, type_units, foreign) = (count()?, count()?, count()?);
        let (buckets, names) = (count()?, count()?);
        let (abbreviations, augmentation) = (count()?, count()?);
        let augmentation = rest.split(augmentation)?;
        rest.skip(augmentation.len().next_multiple_of(4) - augmentation.len())?;
        // Type units of split files are not available until their file is opened.
        if !augmentation.slice().starts_with(b"LLVM") || foreign != 0 {
            return Ok(None);
        }
        let word = usize::from(format.word_size());
        // Saturated sizes are larger than any section.
        let mut list = |count: usize, size: usize| rest.split(count.saturating_mul(size));
        let compile_units = read_units(info, format, list(compile_units, word)?)?;
        let type_units = read_units(info, format, list(type_units, word)?)?;
        list(buckets, 4)?;
        list(if buckets == 0 { 0 } else { names }, 4)?;
        Ok(Some(Table {
            format,
            compile_units,
            type_units,
            names,
            strings: list(names, word)?,
            entries: list(names, word)?,
            abbreviations: read_abbreviations(list(abbreviations, 1)?)?,
            pool: rest,
        }))
    }

    /// Returns the units it covers.
    fn units(&self) -> impl Iterator<Item = u32> + '_ {
        self.compile_units.iter().chain(&self.type_units).copied()
    }

    fn read_names(
        &self,
        info: &DebugInfo,
        names: Range<usize>,
        left: &AtomicI64,
        found: &mut IndexEntries,
    ) -> Result<(), Error> {
        let word = usize::from(self.format.word_size());
        let (mut strings, mut entries) = (self.strings, self.entries);
        strings.skip(names.start.saturating_mul(word))?;
        entries.skip(names.start.saturating_mul(word))?;
        for _ in names {
            let string = gimli::DebugStrOffset(strings.read_offset(self.format)?);
            let key = key(info.main.dwarf.debug_str.get_str(string)?.slice());
            let mut pool = self.pool;
            pool.skip(entries.read_offset(self.format)?)?;
            while let Some((tag, unit, offset)) = self.read_entry(info, &mut pool)? {
                // Relaxed: the counter orders no other memory.
                if left.fetch_sub(1, Ordering::Relaxed) <= 0 {
                    return Err(corrupt("names share their entries"));
                }
                let names = match tag {
                    gimli::DW_TAG_subprogram => &mut found.functions,
                    gimli::DW_TAG_inlined_subroutine => &mut found.inlined,
                    gimli::DW_TAG_variable => &mut found.statics,
                    tag if super::is_type(tag) => &mut found.types,
                    _ => continue,
                };
                names.push(key, unit, offset);
            }
        }
        Ok(())
    }

    /// Returns the next entry of a name: its tag, its unit and its offset there.
    fn read_entry(
        &self,
        info: &DebugInfo,
        pool: &mut R,
    ) -> Result<Option<(DwTag, u32, u32)>, Error> {
        let code = pool.read_uleb128()?;
        if code == 0 {
            return Ok(None);
        }
        let abbreviation = self.abbreviations.get(&code);
        let abbreviation =
            abbreviation.ok_or_else(|| corrupt(format!("no abbreviation {code:#x}")))?;
        // With a single unit, the entry omits its index.
        let mut unit = match self.compile_units.as_slice() {
            [unit] => Some(*unit),
            _ => None,
        };
        let mut offset = None;
        let mut of_type_unit = false;
        for (name, form) in &abbreviation.attributes {
            let value = read_value(pool, *form)?;
            let of = |units: &[u32]| {
                let unit = usize::try_from(value).ok().and_then(|at| units.get(at));
                unit.copied()
                    .ok_or_else(|| corrupt(format!("no unit {value} in its list")))
            };
            match *name {
                gimli::DW_IDX_compile_unit if !of_type_unit => {
                    unit = Some(of(&self.compile_units)?)
                }
                gimli::DW_IDX_type_unit => {
                    of_type_unit = true;
                    unit = Some(of(&self.type_units)?);
                }
                gimli::DW_IDX_die_offset => offset = Some(value),
                _ => {}
            }
        }
        let (Some(unit), Some(offset)) = (unit, offset) else {
            return Err(corrupt("an entry without unit or offset"));
        };
        // The entries of a split unit are in another file.
        let inside = info.header(unit).is_some_and(|header| {
            matches!(header.type_(), UnitType::Skeleton(_))
                || offset < header.length_including_self() as u64
        });
        let wrong = || corrupt(format!("an entry at {offset:#x}, outside its unit"));
        let offset = u32::try_from(offset).ok().filter(|_| inside);
        Ok(Some((abbreviation.tag, unit, offset.ok_or_else(wrong)?)))
    }
}

fn read_units(info: &DebugInfo, format: Format, mut list: R) -> Result<Vec<u32>, Error> {
    let mut units = Vec::new();
    while !list.is_empty() {
        let offset = list.read_offset(format)?;
        let unit = info.main.unit_at_offset(offset);
        units.push(unit.ok_or_else(|| corrupt(format!("no unit is at .debug_info+{offset:#x}")))?);
    }
    Ok(units)
}

fn read_abbreviations(mut table: R) -> Result<FxHashMap<u64, Abbreviation>, Error> {
    let mut abbreviations = FxHashMap::default();
    while !table.is_empty() {
        let code = table.read_uleb128()?;
        if code == 0 {
            break;
        }
        let tag = DwTag(table.read_uleb128_u16()?);
        let mut attributes = Vec::new();
        loop {
            let (name, form) = (table.read_uleb128_u16()?, table.read_uleb128_u16()?);
            if (name, form) == (0, 0) {
                break;
            }
            attributes.push((DwIdx(name), DwForm(form)));
        }
        abbreviations.insert(code, Abbreviation { tag, attributes });
    }
    Ok(abbreviations)
}

fn read_value(pool: &mut R, form: DwForm) -> Result<u64, Error> {
    Ok(match form {
        gimli::DW_FORM_flag_present => 1,
        gimli::DW_FORM_data1 | gimli::DW_FORM_ref1 | gimli::DW_FORM_flag => pool.read_u8()?.into(),
        gimli::DW_FORM_data2 | gimli::DW_FORM_ref2 => pool.read_u16()?.into(),
        gimli::DW_FORM_data4 | gimli::DW_FORM_ref4 => pool.read_u32()?.into(),
        gimli::DW_FORM_data8 | gimli::DW_FORM_ref8 => pool.read_u64()?,
        gimli::DW_FORM_udata | gimli::DW_FORM_ref_udata => pool.read_uleb128()?,
        form => return Err(corrupt(format!("unexpected form {form}"))),
    })
}
