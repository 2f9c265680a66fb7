//! Units and their entries: lookup by address, and references between entries.
//!
//! Unit headers are read once. The rest of a unit is read when first needed; a corrupt unit affects
//! only itself.

use crate::entries::abbreviations::AbbreviationTables;
use crate::entries::ranges::RangeTables;
use crate::entries::scan::UnitScan;
use crate::entries::split::{SplitFiles, SplitUnit, UnitStorage};
use crate::file::object::Image;
use crate::file::sections::load_sections;
use crate::file::{R, mapping};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use crate::ids::{DieRef, Language};
use gimli::{
    DebugAddrBase, DebugLocListsBase, DebugRngListsBase, DebugStrOffsetsBase, Section, UnitHeader,
    UnitOffset, UnitType,
};
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
    slots: Vec<Slot>,
    /// `slots[..info_end]` are the units of `.debug_info`, then those of `.debug_types`, then those
    /// of the supplementary file.
    info_end: usize,
    types_end: usize,
    abbreviations: AbbreviationTables,
    signatures: OnceLock<FxHashMap<u64, DieRef>>,
    pub(crate) ranges: RangeTables,
    pub(crate) split: SplitFiles,
    /// Number of units whose names were read for the index.
    pub(crate) indexed: AtomicU32,
    /// Set to cancel the indexing of the remaining units.
    pub(crate) given_up: AtomicBool,
    code: Vec<AddrRange<FileAddr>>,
}

struct Slot {
    header: UnitHeader<R>,
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
            given_up: AtomicBool::new(false),
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

    /// Calls `work` with the unit that has the entries, as [`DebugInfo::whole`] returns it, and
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

    fn sections(&self, supplementary: bool) -> &gimli::Dwarf<R> {
        match self.dwarf.sup() {
            Some(sup) if supplementary => sup,
            _ => &self.dwarf,
        }
    }

    fn read_unit(&self, index: u32, header: UnitHeader<R>) -> Result<Unit, gimli::Error> {
        let supplementary = index as usize >= self.types_end;
        self.read_root(index, header, supplementary, None, None)
    }

    /// Reads a unit as `gimli::Unit::new` does, without the header of the line program, which is
    /// not needed here and could be corrupt. A unit of a split file may have a skeleton.
    pub(crate) fn read_root(
        &self,
        index: u32,
        header: UnitHeader<R>,
        supplementary: bool,
        part: Option<SplitUnit>,
        skeleton: Option<&Unit>,
    ) -> Result<Unit, gimli::Error> {
        let dwarf = match &part {
            Some(part) => part.dwarf(),
            None => self.sections(supplementary),
        };
        let offset = header.debug_abbrev_offset();
        let abbreviations = self.abbreviations.get(&dwarf.debug_abbrev, offset)?;
        let mut raw = gimli::Unit {
            abbreviations,
            name: None,
            comp_dir: None,
            low_pc: 0,
            str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(
                header.encoding(),
                dwarf.file_type,
            ),
            addr_base: DebugAddrBase(0),
            loclists_base: DebugLocListsBase::default_for_encoding_and_file(
                header.encoding(),
                dwarf.file_type,
            ),
            rnglists_base: DebugRngListsBase::default_for_encoding_and_file(
                header.encoding(),
                dwarf.file_type,
            ),
            line_program: None,
            dwo_id: match header.type_() {
                UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
                _ => None,
            },
            header,
        };
        if let Some(skeleton) = skeleton {
            raw.copy_relocated_attributes(&skeleton.raw);
            raw.comp_dir = skeleton.raw.comp_dir;
        }
        let root = raw.entry(header.root_offset())?;
        let mut stmt_list = None;
        for attr in root.attrs() {
            match (attr.name(), attr.value()) {
                (gimli::DW_AT_stmt_list, Value::DebugLineRef(offset)) => stmt_list = Some(offset.0),
                (gimli::DW_AT_str_offsets_base, Value::DebugStrOffsetsBase(base)) => {
                    raw.str_offsets_base = base;
                }
                (
                    gimli::DW_AT_addr_base | gimli::DW_AT_GNU_addr_base,
                    Value::DebugAddrBase(base),
                ) => raw.addr_base = base,
                (gimli::DW_AT_loclists_base, Value::DebugLocListsBase(base)) => {
                    raw.loclists_base = base;
                }
                (
                    gimli::DW_AT_rnglists_base | gimli::DW_AT_GNU_ranges_base,
                    Value::DebugRngListsBase(base),
                ) => raw.rnglists_base = base,
                _ => {}
            }
        }
        let string = |raw: &gimli::Unit<R>, at| {
            root.attr_value(at)
                .and_then(|value| dwarf.attr_string(raw, value).ok())
        };
        raw.name = string(&raw, gimli::DW_AT_name);
        raw.comp_dir = string(&raw, gimli::DW_AT_comp_dir).or(raw.comp_dir);
        let producer = string(&raw, gimli::DW_AT_producer);
        if let Some(value) = root.attr_value(gimli::DW_AT_low_pc)
            && let Ok(Some(addr)) = dwarf.attr_address(&raw, value)
        {
            raw.low_pc = addr;
        }
        let language = match root.attr_value(gimli::DW_AT_language) {
            Some(Value::Language(language)) => language_of(language.0),
            _ => Language::C,
        };
        let optimized = root.attr_value(gimli::DW_AT_APPLE_optimized).is_some()
            || producer.is_some_and(|producer| is_optimized(producer.slice()));
        let split = match part {
            Some(part) => UnitStorage::SplitUnit(part),
            None => UnitStorage::of_root(&root, &raw, dwarf),
        };
        Ok(Unit {
            index,
            raw,
            supplementary,
            split,
            tag: match root.tag() {
                gimli::DW_TAG_skeleton_unit => gimli::DW_TAG_compile_unit,
                tag => tag,
            },
            language,
            optimized,
            stmt_list,
            scan: OnceLock::new(),
            bare_templates: OnceLock::new(),
        })
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
                _ => self.info_entry(offset.0, unit.supplementary),
            },
            Value::DebugInfoRefSup(offset) => self.info_entry(offset.0, true),
            Value::DebugTypesRef(signature) => {
                if let Some(found) = unit.split_type(signature.0) {
                    return Some(found);
                }
                let signatures = self.signatures.get_or_init(|| self.read_signatures());
                signatures.get(&signature.0).copied()
            }
            _ => None,
        }
    }

    /// Returns the entry at an offset of `.debug_info`.
    pub(crate) fn info_entry(&self, offset: usize, supplementary: bool) -> Option<DieRef> {
        let (base, slots) = if supplementary {
            (self.types_end, self.slots.get(self.types_end..)?)
        } else {
            (0, self.slots.get(..self.info_end)?)
        };
        let index = slots
            .partition_point(|slot| slot.header.offset().0 <= offset)
            .checked_sub(1)?;
        let header = &slots.get(index)?.header;
        let inside = offset.checked_sub(header.offset().0)?;
        UnitOffset(inside).is_in_bounds(header).then_some(DieRef {
            unit: (base + index) as u32,
            offset: inside as u64,
        })
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

    fn read_signatures(&self) -> FxHashMap<u64, DieRef> {
        (0u32..)
            .zip(&self.slots)
            .filter_map(|(unit, slot)| match slot.header.type_() {
                UnitType::Type {
                    type_signature,
                    type_offset,
                }
                | UnitType::SplitType {
                    type_signature,
                    type_offset,
                } => Some((
                    type_signature.0,
                    DieRef {
                        unit,
                        offset: type_offset.0 as u64,
                    },
                )),
                _ => None,
            })
            .collect()
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

fn next_header(header: Result<Option<UnitHeader<R>>, gimli::Error>) -> Option<UnitHeader<R>> {
    header.unwrap_or_else(|error| {
        tracing::debug!(%error, "corrupt unit header; skipping the rest of the section");
        None
    })
}

/// Maps `DW_LANG_*` (DWARF 5 table 7.17 and its later registry).
fn language_of(language: u16) -> Language {
    match language {
        0x04 | 0x19 | 0x1a | 0x21 | 0x2a | 0x2b | 0x3a => Language::Cpp,
        0x1c => Language::Rust,
        _ => Language::C,
    }
}

/// Returns whether the last `-O` in the producer string enables optimization. gcc (and clang with
/// `-grecord-command-line`) put the flags there.
fn is_optimized(producer: &[u8]) -> bool {
    producer
        .split(|byte| *byte == b' ')
        .rfind(|word| word.starts_with(b"-O"))
        .is_some_and(|word| word != b"-O0")
}
