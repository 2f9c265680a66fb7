//! The units of one file: of the file with all debug info of an image, or of one of the object files
//! that its debug map lists.

use crate::entries::units::{Unit, type_signature};
use crate::file::macho::placement::Placement;
use crate::file::object::Image;
use crate::file::sections::load_sections;
use crate::file::{R, mapping};
use crate::ids::DieRef;
use gimli::{Section, UnitHeader, UnitOffset};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::OnceLock;

/// Bytes of `.debug_info` whose unit headers are walked before their pages are given back.
const WALK_PORTION: usize = 1 << 20;

/// How the units of several files are numbered: the first units of all files, then their second
/// ones, and so on. Numbers are the same each time, and small if each file has one unit.
#[derive(Clone, Copy)]
pub(crate) struct Numbering {
    /// Number of the file.
    pub(crate) file: u32,
    /// Number of files.
    pub(crate) files: u32,
}

impl Numbering {
    /// The numbers of the units of an only file.
    pub(crate) const SINGLE: Numbering = Numbering { file: 0, files: 1 };

    fn number(self, index: usize) -> u32 {
        (index as u32).wrapping_mul(self.files) + self.file
    }

    fn index(self, unit: u32) -> usize {
        (unit / self.files.max(1)) as usize
    }

    /// Returns how many units can have a number.
    fn most(self) -> usize {
        (u32::MAX / self.files.max(1)) as usize
    }
}

/// The units of one file. Their headers are read once.
pub(crate) struct UnitFile {
    pub(super) numbering: Numbering,
    pub(crate) dwarf: gimli::Dwarf<R>,
    pub(super) slots: Vec<Slot>,
    /// `slots[..info_end]` are the units of `.debug_info`, then those of `.debug_types`, then those
    /// of the supplementary file.
    pub(super) info_end: usize,
    pub(super) types_end: usize,
    signatures: OnceLock<FxHashMap<u64, DieRef>>,
    /// Of an object file, where the linker placed what it has; its units have addresses of its own.
    pub(crate) placement: Option<Placement>,
    /// The object file, for sections that few lookups need.
    pub(crate) object: Option<Image>,
}

pub(super) struct Slot {
    pub(super) header: UnitHeader<R>,
    pub(super) unit: OnceLock<Option<Box<Unit>>>,
}

impl UnitFile {
    /// Reads the unit headers of a file. Decompressed sections are cached in `folder`, if there is
    /// one.
    pub(super) fn read(
        holder: &Image,
        supplementary: Option<&Image>,
        folder: Option<&Path>,
        numbering: Numbering,
    ) -> UnitFile {
        let mut dwarf = load_sections(holder, folder);
        if let Some(supplementary) = supplementary {
            dwarf.set_sup(load_sections(supplementary, folder));
        }
        let mut file = UnitFile::empty(dwarf, numbering);
        let slots = &mut file.slots;
        let mut push = |header| {
            if slots.len() < numbering.most() {
                slots.push(Slot {
                    header,
                    unit: OnceLock::new(),
                });
            }
            slots.len()
        };
        let info = file.dwarf.debug_info.reader().slice();
        let mut given_back = 0;
        let mut headers = file.dwarf.units();
        while let Some(header) = next_header(headers.next()) {
            // Reading a header maps the pages around it; few of them are needed again.
            let start = header.offset().0;
            if let Some(walked) = info.get(given_back..start)
                && walked.len() >= WALK_PORTION
            {
                mapping::give_back(walked);
                given_back = start;
            }
            file.info_end = push(header);
        }
        if given_back > 0 {
            mapping::give_back(info.get(given_back..).unwrap_or_default());
        }
        file.types_end = file.info_end;
        let mut headers = file.dwarf.type_units();
        while let Some(header) = next_header(headers.next()) {
            file.types_end = push(header);
        }
        if let Some(sup) = file.dwarf.sup() {
            let mut headers = sup.units();
            while let Some(header) = next_header(headers.next()) {
                push(header);
            }
        }
        file
    }

    /// Makes it the object file that an image was linked from.
    pub(super) fn placed(self, object: Image, placement: Placement) -> UnitFile {
        UnitFile {
            placement: Some(placement),
            object: Some(object),
            ..self
        }
    }

    /// A file without units.
    pub(super) fn empty(dwarf: gimli::Dwarf<R>, numbering: Numbering) -> UnitFile {
        UnitFile {
            numbering,
            dwarf,
            slots: Vec::new(),
            info_end: 0,
            types_end: 0,
            signatures: OnceLock::new(),
            placement: None,
            object: None,
        }
    }

    pub(super) fn slot(&self, unit: u32) -> Option<&Slot> {
        self.slots.get(self.numbering.index(unit))
    }

    /// Returns whether a unit is in the supplementary file.
    pub(super) fn is_supplementary(&self, unit: u32) -> bool {
        self.numbering.index(unit) >= self.types_end
    }

    /// Returns the numbers of the units of `.debug_info`: only those may have code.
    pub(crate) fn info_units(&self) -> impl Iterator<Item = u32> + use<> {
        let numbering = self.numbering;
        (0..self.info_end).map(move |index| numbering.number(index))
    }

    /// Returns how many units `.debug_info` has.
    pub(crate) fn info_unit_count(&self) -> usize {
        self.info_end
    }

    /// Returns the number of a unit of `.debug_info` by its index there.
    pub(crate) fn info_unit(&self, index: usize) -> Option<u32> {
        (index < self.info_end).then(|| self.numbering.number(index))
    }

    /// Returns the numbers of all units.
    pub(crate) fn units(&self) -> impl Iterator<Item = u32> + use<> {
        let numbering = self.numbering;
        (0..self.slots.len()).map(move |index| numbering.number(index))
    }

    /// Returns the size of `.debug_info` in bytes.
    pub(crate) fn debug_info_size(&self) -> usize {
        self.dwarf.debug_info.reader().len()
    }

    /// Returns the unit whose header is at this offset of `.debug_info`, as in `.debug_aranges`.
    pub(crate) fn unit_at_offset(&self, offset: usize) -> Option<u32> {
        let slots = self.slots.get(..self.info_end)?;
        let found = slots.binary_search_by_key(&offset, |slot| slot.header.offset().0);
        found.ok().map(|index| self.numbering.number(index))
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
            unit: self.numbering.number(base + index),
            offset: inside as u64,
        })
    }

    /// Returns the type with a signature.
    pub(super) fn type_of_signature(&self, signature: u64) -> Option<DieRef> {
        let signatures = self.signatures.get_or_init(|| {
            let types = self.units().zip(&self.slots).filter_map(|(unit, slot)| {
                let (signature, offset) = type_signature(&slot.header)?;
                let offset = offset as u64;
                Some((signature, DieRef { unit, offset }))
            });
            types.collect()
        });
        signatures.get(&signature).copied()
    }
}

fn next_header(header: Result<Option<UnitHeader<R>>, gimli::Error>) -> Option<UnitHeader<R>> {
    header.unwrap_or_else(|error| {
        tracing::debug!(%error, "corrupt unit header; skipping the rest of the section");
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_several_files_have_different_numbers() {
        let mut all = Vec::new();
        for file in 0..3 {
            let numbering = Numbering { file, files: 3 };
            for index in 0..4 {
                let number = numbering.number(index);
                assert_eq!(numbering.index(number), index);
                assert_eq!(number % 3, file);
                all.push(number);
            }
        }
        all.sort_unstable();
        assert_eq!(all, (0..12).collect::<Vec<u32>>());
        let last = Numbering { file: 2, files: 3 };
        let number = last.number(last.most() - 1);
        assert_eq!(last.index(number), last.most() - 1);
    }
}
