//! Line tables: address to line, line to addresses, and source files by name.

pub(crate) mod program;
mod program_heads;
pub(crate) mod sources;

use crate::entries::units::{Entries, Unit};
use crate::file::macho::debug_map::DebugMap;
use crate::file::macho::moved_sources::MovedSources;
use crate::file::object::Image;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use crate::ids::source::{LineRow, SourceLocation};
use gimli::Section as _;
use program::Program;
use rustc_hash::FxHashMap;
use sources::Sources;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The debug info of an image: its entries and line programs.
pub(crate) struct DebugInfo {
    entries: Entries,
    pub(crate) sources: Sources,
    /// Line programs by unit number.
    unit_programs: Box<[OnceLock<Option<Arc<Program>>>]>,
    /// Line programs of units in split files that have their own, by unit number.
    part_programs: RwLock<FxHashMap<u32, Option<Arc<Program>>>>,
}

impl Deref for DebugInfo {
    type Target = Entries;

    fn deref(&self) -> &Entries {
        &self.entries
    }
}

impl DebugInfo {
    /// Reads the unit headers; `None` if there are none. Decompressed sections are cached in
    /// `folder`, if there is one.
    pub(crate) fn open(
        image: &Image,
        holder: &Image,
        supplementary: Option<&Image>,
        folder: Option<&Path>,
    ) -> Option<DebugInfo> {
        let entries = Entries::open(image, holder, supplementary, folder)?;
        Some(DebugInfo::new(entries, MovedSources::of(holder)))
    }

    /// The debug info in the object files that the debug map of an image lists.
    ///
    /// # Errors
    /// The image cannot be read.
    pub(crate) fn of_map(image: &Image, map: DebugMap) -> Result<DebugInfo, Error> {
        let entries = Entries::of_map(image, map)?;
        Ok(DebugInfo::new(entries, MovedSources::default()))
    }

    fn new(entries: Entries, moved: MovedSources) -> DebugInfo {
        let units = entries.unit_count() as usize;
        DebugInfo {
            sources: Sources::new(entries.file_count(), moved),
            entries,
            unit_programs: std::iter::repeat_with(OnceLock::new).take(units).collect(),
            part_programs: RwLock::default(),
        }
    }

    /// Returns the line program at an offset of the `.debug_line` of a file with units; `unit` is
    /// the unit that refers to it.
    pub(crate) fn program(
        &self,
        file: u32,
        offset: usize,
        unit: Option<&Unit>,
    ) -> Option<Arc<Program>> {
        let programs = self.sources.programs_of(file)?;
        let cache = &programs.parsed;
        if let Some(program) = cache
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&offset)
        {
            return program.clone();
        }
        // Programs do not overlap: otherwise any number of them could share one large file table.
        let section = self.file(file)?.dwarf.debug_line.reader();
        if programs.consumed.is_all(section.len()) {
            tracing::debug!(offset, "line programs overlap");
            return None;
        }
        let parsed = Program::parse(self, file, offset, unit).map(Arc::new);
        let mut cache = cache.write().unwrap_or_else(PoisonError::into_inner);
        let slot = cache.entry(offset).or_insert_with(|| {
            let size = parsed.as_ref().map_or(0, |parsed| parsed.size());
            programs.consumed.add(size);
            parsed
        });
        slot.clone()
    }

    /// Returns the line program of a unit, or the file table of a unit in a split file that has its
    /// own.
    pub(crate) fn unit_program(&self, unit: &Unit) -> Option<Arc<Program>> {
        // A supplementary file has no code. Its file tables are for declarations that the main file
        // repeats.
        if unit.supplementary {
            return None;
        }
        if let Some(offset) = unit.own_lines() {
            return self.part_program(unit, offset);
        }
        let offset = unit.stmt_list?;
        let file = self.file_number(unit.index);
        match self.unit_programs.get(unit.index as usize) {
            Some(slot) => slot
                .get_or_init(|| self.program(file, offset, Some(unit)))
                .clone(),
            None => self.program(file, offset, Some(unit)),
        }
    }

    /// Returns the file table at an offset of the `.debug_line.dwo` of a unit's split file.
    fn part_program(&self, unit: &Unit, offset: usize) -> Option<Arc<Program>> {
        let known = self
            .part_programs
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = known.get(&unit.index) {
            return program.clone();
        }
        drop(known);
        let file = self.file_number(unit.index);
        let program = Program::parse(self, file, offset, Some(unit)).map(Arc::new);
        let mut programs = self
            .part_programs
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        programs.entry(unit.index).or_insert(program).clone()
    }

    /// Returns the row that covers `addr`.
    pub(crate) fn row_at(&self, addr: u64) -> Option<LineRow> {
        let unit = self.unit(self.unit_at(addr)?)?;
        let program = self.unit_program(unit)?;
        let group = program.table(self).group_at(addr)?;
        Some(program.row(self, group, None))
    }

    /// Returns the position of the code at `addr`: `Some(None)` for code of line 0.
    pub(crate) fn position_at(&self, addr: u64) -> Option<Option<SourceLocation>> {
        let unit = self.unit(self.unit_at(addr)?)?;
        let program = self.unit_program(unit)?;
        let group = program.table(self).group_at(addr)?;
        Some(program.position(self, group, addr))
    }

    /// Returns all rows in `range`.
    pub(crate) fn rows_in(&self, range: AddrRange<FileAddr>) -> Vec<LineRow> {
        let mut rows = Vec::new();
        for unit in self.units_in(range) {
            if let Some(unit) = self.unit(unit)
                && let Some(program) = self.unit_program(unit)
            {
                rows.extend(
                    program
                        .table(self)
                        .groups_in(range)
                        .map(|group| program.row(self, group, Some(range))),
                );
            }
        }
        rows.sort_by_key(|row| row.range.start);
        rows.dedup();
        rows
    }

    /// Returns the file and line of a declaration, from `DW_AT_decl_file` and related attributes.
    pub(crate) fn source_location(
        &self,
        unit: &Unit,
        file: u64,
        line: u64,
        column: u64,
    ) -> Option<SourceLocation> {
        // Before version 5, file 0 means no file.
        if file == 0 && unit.raw.header.version() < 5 {
            return None;
        }
        Some(SourceLocation {
            file: self.unit_program(unit)?.file(self, file)?,
            line: u32::try_from(line).ok().filter(|line| *line > 0)?,
            column: u32::try_from(column).unwrap_or(0),
        })
    }
}
