//! The units of an image and their entries.
//!
//! Unit headers are read once. The rest of a unit is read when first needed; a corrupt unit affects
//! only itself.

use crate::entries::abbreviations::AbbreviationTables;
use crate::entries::ranges::RangeTables;
use crate::entries::scan::UnitScan;
use crate::entries::split::{SplitFiles, UnitStorage};
use crate::file::object::Image;
use crate::file::sections::load_sections;
use crate::file::{R, mapping};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::{DieRef, Language};
use gimli::{Section, UnitHeader, UnitOffset, UnitType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32};

pub(crate) type Entry = gimli::DebuggingInformationEntry<R>;
pub(crate) type Value = gimli::AttributeValue<R>;
pub(crate) type Ranges = SmallVec<[AddrRange<FileAddr>; 1]>;

/// Maximum number of references followed from one entry. Compilers' longest chain is concrete
/// instance → abstract instance → declaration, plus a type unit's signature.
pub(crate) const MAX_HOPS: usize = 8;

/// Maximum length of a name in bytes; longer ones are cut. Names of templates come near it.
pub(crate) const MAX_NAME: usize = 8192;

/// The units of an image, including those of split files, and the references between their entries.
pub(crate) struct Entries {
    pub(crate) dwarf: gimli::Dwarf<R>,
    pub(super) slots: Vec<Slot>,
    /// `slots[..info_end]` are the units of `.debug_info`, then those of `.debug_types`, then those
    /// of the supplementary file.
    pub(super) info_end: usize,
    pub(super) types_end: usize,
    pub(super) abbreviations: AbbreviationTables,
    pub(super) signatures: OnceLock<FxHashMap<u64, DieRef>>,
    pub(crate) ranges: RangeTables,
    pub(crate) split: SplitFiles,
    /// Number of units whose names were read for the index.
    pub(crate) indexed: AtomicU32,
    /// Set to cancel the indexing of the remaining units.
    pub(crate) is_indexing_cancelled: AtomicBool,
    code: Vec<AddrRange<FileAddr>>,
}

pub(super) struct Slot {
    pub(super) header: UnitHeader<R>,
    unit: OnceLock<Option<Box<Unit>>>,
}

/// One unit with its root entry read.
pub(crate) struct Unit {
    pub(crate) index: u32,
    /// The unit as gimli represents it, without the line program, which is read separately.
    pub(crate) raw: gimli::Unit<R>,
    /// Whether the unit is in the supplementary file.
    pub(crate) supplementary: bool,
    /// Whether the entries are in another file, or were read from one.
    pub(crate) split: UnitStorage,
    pub(crate) tag: gimli::DwTag,
    pub(crate) language: Language,
    pub(crate) optimized: bool,
    pub(crate) stmt_list: Option<usize>,
    /// Whether the compiler recorded its macros.
    pub(crate) has_macros: bool,
    pub(crate) scan: OnceLock<UnitScan>,
    /// Whether the unit writes names of templates without their arguments
    /// (`-gsimple-template-names`).
    pub(crate) bare_templates: OnceLock<bool>,
}

/// Bytes of `.debug_info` whose unit headers are walked before their pages are given back.
const WALK_PORTION: usize = 1 << 20;

impl Entries {
    /// Reads the unit headers; `None` if there are none. Decompressed sections are cached in
    /// `folder`, if there is one.
    pub(crate) fn open(
        image: &Image,
        holder: &Image,
        supplementary: Option<&Image>,
        folder: Option<&Path>,
    ) -> Option<Entries> {
        let mut dwarf = load_sections(holder, folder);
        if let Some(supplementary) = supplementary {
            dwarf.set_sup(load_sections(supplementary, folder));
        }
        let mut slots = Vec::new();
        let mut push = |header| {
            slots.push(Slot {
                header,
                unit: OnceLock::new(),
            });
            slots.len()
        };
        let mut info_end = 0;
        let info = dwarf.debug_info.reader().slice();
        let mut given_back = 0;
        let mut headers = dwarf.units();
        while let Some(header) = next_header(headers.next()) {
            // Reading a header maps the pages around it; few of them are needed again.
            let start = header.offset().0;
            if let Some(walked) = info.get(given_back..start)
                && walked.len() >= WALK_PORTION
            {
                mapping::give_back(walked);
                given_back = start;
            }
            info_end = push(header);
        }
        if given_back > 0 {
            mapping::give_back(info.get(given_back..).unwrap_or_default());
        }
        let mut types_end = info_end;
        let mut headers = dwarf.type_units();
        while let Some(header) = next_header(headers.next()) {
            types_end = push(header);
        }
        if let Some(sup) = dwarf.sup() {
            let mut headers = sup.units();
            while let Some(header) = next_header(headers.next()) {
                push(header);
            }
        }
        if slots.is_empty() || u32::try_from(slots.len()).is_err() {
            return None;
        }
        Some(Entries {
            dwarf,
            slots,
            info_end,
            types_end,
            abbreviations: AbbreviationTables::default(),
            signatures: OnceLock::new(),
            ranges: RangeTables::default(),
            split: SplitFiles::new(image, holder),
            indexed: AtomicU32::new(0),
            is_indexing_cancelled: AtomicBool::new(false),
            code: image.code_ranges(),
        })
    }

    /// Returns the number of units.
    pub(crate) fn unit_count(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Returns the header of a unit of this file or its supplementary file.
    pub(crate) fn header(&self, index: u32) -> Option<&UnitHeader<R>> {
        Some(&self.slots.get(index as usize)?.header)
    }

    /// Returns the size of `.debug_info` in bytes.
    pub(crate) fn debug_info_size(&self) -> usize {
        self.dwarf.debug_info.reader().len()
    }

    /// Returns whether `addr` is in an executable segment. Debug info of code that the linker
    /// discarded has address 0 or another tombstone (DWARF 6 issue 200609.1), so ranges outside
    /// code are dropped everywhere.
    pub(crate) fn is_code(&self, addr: u64) -> bool {
        self.code.iter().any(|range| range.contains(FileAddr(addr)))
    }

    /// Returns a unit, read on first use. For a split unit this is the skeleton, which has ranges
    /// and a line program but no entries: see `whole`.
    pub(crate) fn unit(&self, index: u32) -> Option<&Unit> {
        let slot = self.slots.get(index as usize)?;
        slot.unit
            .get_or_init(|| match self.read_unit(index, slot.header) {
                Ok(unit) => Some(Box::new(unit)),
                Err(error) => {
                    let offset = slot.header.offset().0;
                    tracing::debug!(unit = index, offset, %error, "skipping a corrupt unit");
                    None
                }
            })
            .as_deref()
    }

    /// Calls `work` with the unit that has the entries, as [`Self::unit`] returns it, and
    /// drops whatever was read only for this call.
    pub(crate) fn with_unit_once(&self, index: u32, work: impl FnOnce(&Unit)) {
        let unread = self.slots.get(index as usize);
        let unread = unread.filter(|slot| slot.unit.get().is_none());
        let once = unread.and_then(|slot| self.read_unit(index, slot.header).ok());
        match once.filter(|unit| matches!(unit.split, UnitStorage::No)) {
            Some(unit) => {
                work(&unit);
                let (section, header) = (&self.dwarf_of(&unit).debug_abbrev, &unit.raw.header);
                self.abbreviations
                    .forget(section, header.debug_abbrev_offset());
            }
            None => drop(self.whole(index).map(work)),
        }
    }

    /// Returns the DWARF sections that a unit is read from.
    pub(crate) fn dwarf_of<'a>(&'a self, unit: &'a Unit) -> &'a gimli::Dwarf<R> {
        match &unit.split {
            UnitStorage::SplitUnit(part) => part.dwarf(),
            _ => self.sections(unit.supplementary),
        }
    }

    pub(super) fn sections(&self, supplementary: bool) -> &gimli::Dwarf<R> {
        match self.dwarf.sup() {
            Some(sup) if supplementary => sup,
            _ => &self.dwarf,
        }
    }

    fn read_unit(&self, index: u32, header: UnitHeader<R>) -> Result<Unit, gimli::Error> {
        let supplementary = index as usize >= self.types_end;
        self.read_root(index, header, supplementary, None, None)
    }

    /// Returns the address ranges of an entry, without those of discarded code.
    pub(crate) fn die_ranges(&self, unit: &Unit, entry: &Entry) -> Ranges {
        let value = |at| entry.attr_value(at);
        self.ranges_of(
            unit,
            value(gimli::DW_AT_low_pc),
            value(gimli::DW_AT_high_pc),
            value(gimli::DW_AT_ranges),
        )
    }

    /// Like `die_ranges`, from the values of `DW_AT_low_pc`, `DW_AT_high_pc`, `DW_AT_ranges`.
    pub(crate) fn ranges_of(
        &self,
        unit: &Unit,
        low: Option<Value>,
        high: Option<Value>,
        ranges: Option<Value>,
    ) -> Ranges {
        let dwarf = self.dwarf_of(unit);
        let address = |value: Value| dwarf.attr_address(&unit.raw, value).ok().flatten();
        let mut found = Ranges::new();
        let mut push = |start: u64, end: u64| {
            if start < end && self.is_code(start) && self.is_code(end - 1) {
                found.push(AddrRange::new(FileAddr(start), FileAddr(end)));
            }
        };
        if let Some(value) = ranges {
            if let Ok(Some(mut list)) = dwarf.attr_ranges(&unit.raw, value) {
                while let Ok(Some(range)) = list.next() {
                    push(range.begin, range.end);
                }
            }
        } else if let (Some(low), Some(high)) = (low.and_then(address), high) {
            match high {
                Value::Udata(size) => push(low, low.wrapping_add(size)),
                high => push(low, address(high).unwrap_or(low)),
            }
        }
        found
    }

    /// Returns the unit whose header is at this offset of `.debug_info`, as in `.debug_aranges`.
    pub(crate) fn unit_at_offset(&self, offset: usize) -> Option<u32> {
        let slots = self.slots.get(..self.info_end)?;
        slots
            .binary_search_by_key(&offset, |slot| slot.header.offset().0)
            .ok()
            .map(|index| index as u32)
    }

    /// Returns the number of units in `.debug_info`: only those may have code.
    pub(crate) fn info_units(&self) -> u32 {
        self.info_end as u32
    }
}

impl Unit {
    /// Returns the reference to an entry of this unit.
    pub(crate) fn die(&self, offset: UnitOffset<usize>) -> DieRef {
        DieRef {
            unit: self.index,
            offset: offset.0 as u64,
        }
    }
}

/// Returns whether a flag attribute is present and true.
pub(crate) fn flag(entry: &Entry, at: gimli::DwAt) -> bool {
    matches!(entry.attr_value(at), Some(Value::Flag(true)))
}

/// Returns the signature of the type that a type unit describes, and the offset of its entry in the
/// unit (DWARF 5 §7.5.1.3); `None` for other units.
pub(super) fn type_signature(header: &UnitHeader<R>) -> Option<(u64, usize)> {
    match header.type_() {
        UnitType::Type {
            type_signature,
            type_offset,
        }
        | UnitType::SplitType {
            type_signature,
            type_offset,
        } => Some((type_signature.0, type_offset.0)),
        _ => None,
    }
}

fn next_header(header: Result<Option<UnitHeader<R>>, gimli::Error>) -> Option<UnitHeader<R>> {
    header.unwrap_or_else(|error| {
        tracing::debug!(%error, "corrupt unit header; skipping the rest of the section");
        None
    })
}
