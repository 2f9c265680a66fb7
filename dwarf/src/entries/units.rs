//! The units of an image and their entries.
//!
//! Unit headers are read once. The rest of a unit is read when first needed; a corrupt unit affects
//! only itself.

use crate::entries::abbreviations::AbbreviationTables;
use crate::entries::objects::Objects;
use crate::entries::ranges::RangeTables;
use crate::entries::scan::UnitScan;
use crate::entries::split::{SplitFiles, UnitStorage};
use crate::entries::unit_file::{Numbering, UnitFile};
use crate::file::R;
use crate::file::macho::debug_map::DebugMap;
use crate::file::macho::placement::Placement;
use crate::file::object::Image;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use crate::ids::{DieRef, Language};
use gimli::{Operation, UnitHeader, UnitOffset, UnitType};
use rustc_hash::{FxHashMap, FxHashSet};
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
    /// The file with the debug info; without units if it is in object files.
    pub(crate) main: UnitFile,
    /// The object files that have the debug info instead.
    pub(crate) objects: Option<Objects>,
    pub(super) abbreviations: AbbreviationTables,
    pub(crate) ranges: RangeTables,
    pub(crate) split: SplitFiles,
    /// The languages of units that do not tell them; filled on first use.
    pub(super) importers: OnceLock<FxHashMap<u32, Language>>,
    /// Number of units whose names were read for the index.
    pub(crate) indexed: AtomicU32,
    /// Set to cancel the indexing of the remaining units.
    pub(crate) is_indexing_cancelled: AtomicBool,
    code: Vec<AddrRange<FileAddr>>,
    /// The address of the first section; nothing of the program is before it.
    first: u64,
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
    /// The types of variables and members whose alignment is 1, by their offsets.
    pub(crate) held_unaligned: OnceLock<FxHashSet<usize>>,
}

impl Entries {
    /// Reads the unit headers; `None` if there are none. Decompressed sections are cached in
    /// `folder`, if there is one.
    pub(crate) fn open(
        image: &Image,
        holder: &Image,
        supplementary: Option<&Image>,
        folder: Option<&Path>,
    ) -> Option<Entries> {
        let main = UnitFile::read(holder, supplementary, folder, Numbering::SINGLE);
        if main.slots.is_empty() {
            return None;
        }
        Some(Entries::new(image, holder, main, None))
    }

    /// The units of the object files that the debug map of an image lists.
    ///
    /// # Errors
    /// The image cannot be read.
    pub(crate) fn of_map(image: &Image, map: DebugMap) -> Result<Entries, Error> {
        let objects = Objects::new(map, Image::parse(&image.path, image.data)?);
        let main = UnitFile::empty(gimli::Dwarf::default(), Numbering::SINGLE);
        Ok(Entries::new(image, image, main, Some(objects)))
    }

    fn new(image: &Image, holder: &Image, main: UnitFile, objects: Option<Objects>) -> Entries {
        Entries {
            main,
            objects,
            abbreviations: AbbreviationTables::default(),
            ranges: RangeTables::default(),
            split: SplitFiles::new(image, holder),
            importers: OnceLock::new(),
            indexed: AtomicU32::new(0),
            is_indexing_cancelled: AtomicBool::new(false),
            code: image.code_ranges(),
            first: image.first_section(),
        }
    }

    /// Returns the number of units; of object files that are not open yet, one each.
    pub(crate) fn unit_count(&self) -> u32 {
        let main = self.main.slots.len() as u32;
        let Some(objects) = &self.objects else {
            return main;
        };
        let more = objects.opened().map(|file| file.slots.len() as u32);
        let more = more.map(|units| units.saturating_sub(1));
        more.fold(objects.count(), u32::saturating_add)
    }

    /// Returns all files with units: opens all object files.
    pub(crate) fn files(&self) -> Vec<&UnitFile> {
        match &self.objects {
            None => vec![&self.main],
            Some(objects) => objects.all(),
        }
    }

    /// Returns the number of files with units.
    pub(crate) fn file_count(&self) -> u32 {
        self.objects.as_ref().map_or(1, Objects::count)
    }

    /// Returns a file with units by its number; an object file is opened.
    pub(crate) fn file(&self, number: u32) -> Option<&UnitFile> {
        match &self.objects {
            None => Some(&self.main),
            Some(objects) => objects.file(number),
        }
    }

    /// Returns the number of the file that a unit is in.
    pub(crate) fn file_number(&self, unit: u32) -> u32 {
        match &self.objects {
            None => 0,
            Some(objects) => unit % objects.count().max(1),
        }
    }

    /// Returns the file that a unit is in.
    pub(crate) fn file_of(&self, unit: u32) -> Option<&UnitFile> {
        self.file(self.file_number(unit))
    }

    /// Returns the numbers of all units, without those of split files.
    pub(crate) fn units(&self) -> Vec<u32> {
        let files = self.files().into_iter();
        files.flat_map(UnitFile::units).collect()
    }

    /// Returns the numbers of the units that may have code.
    pub(crate) fn code_units(&self) -> Vec<u32> {
        let files = self.files().into_iter();
        files.flat_map(UnitFile::info_units).collect()
    }

    /// Returns the header of a unit of this file or its supplementary file.
    pub(crate) fn header(&self, index: u32) -> Option<&UnitHeader<R>> {
        Some(&self.file_of(index)?.slot(index)?.header)
    }

    /// Returns the size of `.debug_info` in bytes; of object files, of those that are open.
    pub(crate) fn debug_info_size(&self) -> usize {
        let objects = self.objects.iter().flat_map(Objects::opened);
        let sizes = objects.map(UnitFile::debug_info_size);
        sizes.fold(self.main.debug_info_size(), usize::saturating_add)
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
        let slot = self.file_of(index)?.slot(index)?;
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
        let unread = self.file_of(index).and_then(|file| file.slot(index));
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
            _ => self.sections(unit.index, unit.supplementary),
        }
    }

    pub(super) fn sections(&self, unit: u32, supplementary: bool) -> &gimli::Dwarf<R> {
        let dwarf = self.file_of(unit).map_or(&self.main.dwarf, |it| &it.dwarf);
        match dwarf.sup() {
            Some(sup) if supplementary => sup,
            _ => dwarf,
        }
    }

    fn read_unit(&self, index: u32, header: UnitHeader<R>) -> Result<Unit, gimli::Error> {
        let file = self.file_of(index);
        let supplementary = file.is_some_and(|file| file.is_supplementary(index));
        self.read_root(index, header, supplementary, None, None)
    }

    /// Returns where the linker placed what the object file of a unit has.
    fn placement(&self, unit: &Unit) -> Option<&Placement> {
        // Without object files this takes no lookup.
        self.objects.as_ref()?;
        self.file_of(unit.index)?.placement.as_ref()
    }

    /// Returns the address of the image that an address in a unit's debug info has; `None` if the
    /// linker left out what is there.
    pub(crate) fn linked(&self, unit: &Unit, addr: u64) -> Option<u64> {
        match self.placement(unit) {
            None => Some(addr),
            Some(placement) => placement.address(addr),
        }
    }

    /// Like [`Self::linked`], for an address behind an instruction, which may be the end of its
    /// function.
    pub(crate) fn linked_behind(&self, unit: &Unit, addr: u64) -> Option<u64> {
        match self.placement(unit) {
            None => Some(addr),
            Some(placement) => placement.address_behind(addr),
        }
    }

    /// Returns whether a range in a unit's debug info contains an address of the image.
    pub(crate) fn is_in(&self, unit: &Unit, range: gimli::Range, addr: u64) -> bool {
        let contains = |(start, end): (u64, u64)| start <= addr && addr < end;
        match self.placement(unit) {
            None => contains((range.begin, range.end)),
            // A range of a location list is in one function.
            Some(placement) => {
                let mut parts = placement.parts(range.begin, range.end);
                parts
                    .next()
                    .is_some_and(|part| contains(part.linked_range()))
            }
        }
    }

    /// Returns the address of the image in an expression of a unit.
    ///
    /// # Errors
    /// The linker left out what is there.
    pub(crate) fn linked_operand(&self, unit: &Unit, addr: u64) -> Result<u64, Error> {
        let nowhere = || Error::Unsupported("an address that the linker left out".into());
        self.linked(unit, addr).ok_or_else(nowhere)
    }

    /// Returns the address of the image that an operand of an expression of a unit is.
    ///
    /// # Errors
    /// The linker left the variable or function out, or removed it.
    pub(crate) fn placed_operand(&self, unit: &Unit, addr: u64) -> Result<u64, Error> {
        let addr = self.linked_operand(unit, addr)?;
        match self.is_nowhere(addr) {
            true => Err(Error::Removed),
            false => Ok(addr),
        }
    }

    /// Returns whether linkers write this address for a removed section: 0, any other address before the first
    /// section, or one of the last two (DWARF 6 issue 200609.1).
    fn is_nowhere(&self, addr: u64) -> bool {
        addr < self.first || addr >= u64::MAX - 1
    }

    /// Returns whether an entry's location is an address that the linker left out. Without a debug
    /// map such addresses are in the image, or are 0: see [`Self::is_removed`].
    pub(crate) fn is_left_out(&self, unit: &Unit, entry: &Entry) -> bool {
        let Some(placement) = self.placement(unit) else {
            return false;
        };
        self.storage(unit, entry)
            .is_some_and(|(addr, _)| placement.address(addr).is_none())
    }

    /// Returns whether an entry's location is an address of what the linker removed from the image.
    pub(crate) fn is_removed(&self, unit: &Unit, entry: &Entry) -> bool {
        let storage = self.storage(unit, entry);
        storage.is_some_and(|(addr, is_thread_local)| !is_thread_local && self.is_nowhere(addr))
    }

    /// Returns the address in an entry's location, and whether it is an offset in thread-local storage;
    /// `None` if the location is of another kind.
    fn storage(&self, unit: &Unit, entry: &Entry) -> Option<(u64, bool)> {
        let location = entry.attr_value(gimli::DW_AT_location)?;
        let expression = location.exprloc_value()?;
        let mut operations = expression.operations(unit.raw.encoding());
        let (addr, is_number) = match operations.next() {
            Ok(Some(Operation::Address { address })) => (address, false),
            Ok(Some(Operation::AddressIndex { index })) => (self.indexed(unit, index), false),
            Ok(Some(Operation::ConstantIndex { index })) => (self.indexed(unit, index), true),
            Ok(Some(Operation::UnsignedConstant { value })) => (value, true),
            _ => return None,
        };
        match operations.next() {
            Ok(None | Some(Operation::PlusConstant { .. })) => Some((addr, is_number)),
            Ok(Some(Operation::TLS)) => Some((addr, true)),
            _ => None,
        }
    }

    fn indexed(&self, unit: &Unit, index: gimli::DebugAddrIndex<usize>) -> u64 {
        let addr = self.dwarf_of(unit).address(&unit.raw, index);
        addr.unwrap_or(u64::MAX)
    }

    /// Returns the address of the image in an attribute; `None` if it is none, or if the linker left
    /// out what is there.
    pub(crate) fn address(&self, unit: &Unit, value: Value) -> Option<u64> {
        let addr = self.dwarf_of(unit).attr_address(&unit.raw, value).ok()??;
        self.linked(unit, addr)
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
        let mut push_linked = |start: u64, end: u64| {
            if start < end && self.is_code(start) && self.is_code(end - 1) {
                found.push(AddrRange::new(FileAddr(start), FileAddr(end)));
            }
        };
        let placement = self.placement(unit);
        let (mut read, mut placed) = (0, 0);
        let mut push = |start: u64, end: u64| match placement {
            None => push_linked(start, end),
            Some(placement) => {
                // Ranges of an entry do not overlap, so they have each function once.
                read += 1;
                let ranges = placement.ranges(start, end);
                placed += ranges.len();
                if placed <= placement.len() + read {
                    for (start, end) in ranges {
                        push_linked(start, end);
                    }
                }
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
