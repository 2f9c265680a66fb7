//! Source files by name: finds the line programs that mention a file, and reads units of
//! `.debug_info` only for matches.

use crate::entries::budget::SectionBytesRead;
use crate::entries::unit_file::UnitFile;
use crate::entries::units::Unit;
use crate::file::macho::moved_sources::MovedSources;
use crate::ids::addr::FileAddr;
use crate::ids::source::{LineLocation, SourceFile, SourceLocation};
use crate::lines::DebugInfo;
use crate::lines::program::{Program, base_name};
use crate::lines::program_heads::{LineStrings, ProgramHead, contains, program_head};
use gimli::Section as _;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// Caches for lookups of source files in an image.
pub(crate) struct Sources {
    /// By the number of the file with the units.
    programs: Box<[Programs]>,
    files: RwLock<FxHashMap<PathBuf, Arc<SourceFile>>>,
    canonical: RwLock<FxHashMap<PathBuf, Option<PathBuf>>>,
    moved: MovedSources,
    /// Programs that mention a file, by the file's path.
    mentions: RwLock<FxHashMap<PathBuf, Arc<Vec<Mention>>>>,
}

/// The line programs of one file.
#[derive(Default)]
pub(crate) struct Programs {
    heads: OnceLock<Vec<ProgramHead>>,
    /// Programs parsed so far, by offset in `.debug_line`.
    pub(crate) parsed: RwLock<FxHashMap<usize, Option<Arc<Program>>>>,
    /// Bytes of `.debug_line` read for them.
    pub(crate) consumed: SectionBytesRead,
    /// Units by line program, for programs whose unit cannot be guessed from their order.
    owners: OnceLock<FxHashMap<usize, u32>>,
}

/// A program that mentions a file, and the file's numbers in it.
struct Mention {
    program: Arc<Program>,
    files: SmallVec<[u32; 2]>,
}

impl Sources {
    /// Caches for units in a number of files.
    pub(crate) fn new(files: u32, moved: MovedSources) -> Sources {
        let programs = std::iter::repeat_with(Programs::default).take(files as usize);
        Sources {
            programs: programs.collect(),
            files: RwLock::default(),
            canonical: RwLock::default(),
            moved,
            mentions: RwLock::default(),
        }
    }

    /// Returns the line programs of a file with units.
    pub(crate) fn programs_of(&self, file: u32) -> Option<&Programs> {
        self.programs.get(file as usize)
    }

    /// Returns the one `SourceFile` for a path in the debug info; units that mention it share it.
    pub(crate) fn intern(&self, path: PathBuf, md5: Option<[u8; 16]>) -> Arc<SourceFile> {
        let path = self.moved.find(path);
        if let Some(file) = self
            .files
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&path)
        {
            return file.clone();
        }
        self.files
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(path)
            .or_insert_with_key(|path| {
                Arc::new(SourceFile {
                    path: path.clone(),
                    md5,
                })
            })
            .clone()
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self
            .canonical
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
        {
            return known.clone();
        }
        let canonical = std::fs::canonicalize(path).ok();
        self.canonical
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), canonical.clone());
        canonical
    }
}

impl DebugInfo {
    /// Returns the source files that `path` may refer to.
    pub(crate) fn find_sources(&self, path: &Path) -> Vec<Arc<SourceFile>> {
        let wanted = normalize(path);
        let Some(base) = base_name(&wanted) else {
            return Vec::new();
        };
        let canonical = wanted
            .is_absolute()
            .then(|| std::fs::canonicalize(path).ok())
            .flatten();
        let mut candidates = self.files_named(base);
        // A symbolic link and its target may have different names.
        if let Some(other) = canonical.as_deref().and_then(base_name)
            && other != base
        {
            candidates.extend(self.files_named(other));
        }
        candidates.retain(|file| {
            if file.path == wanted {
                return true;
            }
            if !wanted.is_absolute() {
                let tail: PathBuf = wanted
                    .components()
                    .skip_while(|component| matches!(component, Component::ParentDir))
                    .collect();
                return file.path.ends_with(tail);
            }
            if file.path.is_relative() {
                return wanted.ends_with(&file.path);
            }
            canonical.is_some() && self.sources.canonical(&file.path) == canonical
        });
        candidates
    }

    /// Returns all files with that base name.
    pub(crate) fn files_named(&self, base: &[u8]) -> Vec<Arc<SourceFile>> {
        let mut seen = FxHashSet::default();
        let mut files = Vec::new();
        for program in self.programs_mentioning(base) {
            for index in program.files_named(self, base) {
                if let Some(file) = program.file(self, index)
                    && seen.insert(Arc::as_ptr(&file))
                {
                    files.push(file);
                }
            }
        }
        files
    }

    /// Returns all source files of the image.
    pub(crate) fn source_files(&self) -> Vec<Arc<SourceFile>> {
        let files_of = |program: Arc<Program>| -> Vec<Arc<SourceFile>> {
            let numbers = program.file_numbers();
            let files = numbers.filter_map(|index| program.file(self, index));
            files.collect()
        };
        let files = (0..self.file_count()).into_par_iter().flat_map(|file| {
            let heads = self.program_heads(file).par_iter();
            let programs = heads.filter_map(move |head| self.owned_program(file, head.offset));
            programs.flat_map_iter(files_of)
        });
        let mut files: Vec<Arc<SourceFile>> = files.collect();
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| Arc::ptr_eq(a, b));
        files
    }

    /// Finds the locations of a line, without their function instances.
    pub(crate) fn line_hits(&self, file: &SourceFile, line: u32) -> LineLocations {
        let mut places = LineLocations::default();
        if line == 0 {
            return places;
        }
        let mentions = self.mentions(file);
        let hits: Vec<_> = mentions
            .par_iter()
            .map(|mention| mention.program.table(self).hits(&mention.files, line))
            .collect();
        for (number, (mention, hits)) in (0u32..).zip(mentions.iter().zip(hits)) {
            let Some(source) = mention
                .files
                .first()
                .and_then(|index| mention.program.file(self, u64::from(*index)))
            else {
                continue;
            };
            let location = |addr: u64, column: u16, is_stmt: bool| LineLocation {
                addr: FileAddr(addr),
                location: SourceLocation {
                    file: source.clone(),
                    line,
                    column: u32::from(column),
                },
                instance: 0,
                is_stmt,
            };
            places.effective.extend(
                hits.effective
                    .into_iter()
                    .map(|(addr, column, run)| (location(addr, column, true), (number, run))),
            );
            places.continued.extend(
                hits.continued
                    .into_iter()
                    .map(|(addr, column, run)| (location(addr, column, false), (number, run))),
            );
            let shadowed = hits.shadowed.into_iter();
            places
                .shadowed
                .extend(shadowed.map(|(addr, column)| location(addr, column, true)));
            let mentioned = hits.mentioned.into_iter();
            places
                .mentioned
                .extend(mentioned.map(|(addr, column)| location(addr, column, false)));
        }
        for ranked in [&mut places.effective, &mut places.continued] {
            ranked.sort_by_key(|(place, _)| place.addr);
            ranked.dedup_by_key(|(place, _)| place.addr);
        }
        for rest in [&mut places.shadowed, &mut places.mentioned] {
            rest.sort_by_key(|place| place.addr);
            rest.dedup_by_key(|place| place.addr);
        }
        places
    }

    /// Returns the lines of `file` that have code.
    pub(crate) fn lines_with_code(&self, file: &SourceFile) -> Vec<u32> {
        let mentions = self.mentions(file);
        let mut lines: Vec<u32> = mentions
            .par_iter()
            .map(|mention| {
                let mut lines = Vec::new();
                mention
                    .program
                    .table(self)
                    .lines(&mention.files, &mut lines);
                lines.sort_unstable();
                lines.dedup();
                lines
            })
            .flatten_iter()
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    fn mentions(&self, file: &SourceFile) -> Arc<Vec<Mention>> {
        if let Some(known) = self
            .sources
            .mentions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&file.path)
        {
            return known.clone();
        }
        let mut mentions = Vec::new();
        if let Some(base) = base_name(&file.path) {
            for program in self.programs_mentioning(base) {
                let files: SmallVec<[u32; 2]> = program
                    .files_named(self, base)
                    .filter(|index| {
                        program
                            .file(self, *index)
                            .is_some_and(|found| found.path == file.path)
                    })
                    .map(|index| index as u32)
                    .collect();
                if !files.is_empty() {
                    mentions.push(Mention { program, files });
                }
            }
        }
        let mentions = Arc::new(mentions);
        self.sources
            .mentions
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(file.path.clone(), mentions.clone());
        mentions
    }

    /// Returns the programs whose file table mentions a base name.
    fn programs_mentioning(&self, base: &[u8]) -> Vec<Arc<Program>> {
        let files = match &self.objects {
            None => vec![0],
            Some(objects) => objects.numbers_for_source(base),
        };
        let files = files.into_par_iter();
        files
            .flat_map(|file| self.programs_of_file_mentioning(file, base))
            .collect()
    }

    fn programs_of_file_mentioning(&self, file: u32, base: &[u8]) -> Vec<Arc<Program>> {
        let Some(units) = self.file(file) else {
            return Vec::new();
        };
        let strings = LineStrings::find(units.dwarf.debug_line_str.reader().slice(), base);
        self.program_heads(file)
            .par_iter()
            .filter(|head| {
                contains(head.tables, base) || (head.version >= 5 && strings.may_be_in(head.tables))
            })
            .filter_map(|head| {
                // Before version 5, names are relative to the unit's directory. Version 5 tables
                // list that directory, so the unit is looked up only for a match.
                if head.version >= 5 {
                    let cached = self.cached_program(file, head.offset);
                    let program = match cached {
                        Some(program) => program,
                        None => Program::parse(self, file, head.offset, None).map(Arc::new),
                    };
                    program?.files_named(self, base).next()?;
                }
                let program = self.owned_program(file, head.offset)?;
                program.files_named(self, base).next()?;
                Some(program)
            })
            .collect()
    }

    fn cached_program(&self, file: u32, offset: usize) -> Option<Option<Arc<Program>>> {
        let programs = self.sources.programs_of(file)?;
        programs
            .parsed
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&offset)
            .cloned()
    }

    /// Returns a program, parsed with the attributes of its unit.
    fn owned_program(&self, file: u32, offset: usize) -> Option<Arc<Program>> {
        if let Some(program) = self.cached_program(file, offset) {
            return program;
        }
        self.program(file, offset, self.owner(file, offset))
    }

    /// Returns the unit that a line program belongs to. Producers emit both in the same order and
    /// mostly one to one, so few units are read to find it; otherwise all are.
    fn owner(&self, file: u32, offset: usize) -> Option<&Unit> {
        let heads = self.program_heads(file);
        let same = heads.partition_point(|head| head.offset < offset);
        let units = self.file(file)?;
        let count = units.info_unit_count();
        if heads.len() == count
            && let Some(unit) = units.info_unit(same).and_then(|unit| self.unit(unit))
            && unit.stmt_list == Some(offset)
        {
            return Some(unit);
        }
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            // Skip units without a line program (partial units of dwz).
            let found = (middle..high).find_map(|index| {
                let unit = self.unit(units.info_unit(index)?)?;
                Some((index, unit, unit.stmt_list?))
            });
            match found {
                Some((_, unit, found)) if found == offset => return Some(unit),
                Some((index, _, found)) if found < offset => low = index + 1,
                _ => high = middle,
            }
        }
        let owners = self.sources.programs_of(file)?.owners.get_or_init(|| {
            // Not in parallel: this runs inside parallel walks. A waiting rayon thread would steal
            // their work and enter this cell again.
            let units = units.info_units();
            units
                .filter_map(|index| Some((self.unit(index)?.stmt_list?, index)))
                .collect()
        });
        self.unit(*owners.get(&offset)?)
    }

    fn program_heads(&self, number: u32) -> &[ProgramHead] {
        let programs = self.sources.programs_of(number);
        let Some((programs, file)) = programs.zip(self.file(number)) else {
            return &[];
        };
        programs.heads.get_or_init(|| {
            let section = file.dwarf.debug_line.reader().slice();
            let mut heads = Vec::new();
            let mut offset = 0;
            while offset < section.len() {
                let Some((head, next)) = program_head(section, offset) else {
                    tracing::debug!(
                        offset,
                        "corrupt line program; reading the other file names from units"
                    );
                    self.heads_by_units(file, section, offset, &mut heads);
                    break;
                };
                heads.extend(head);
                offset = next;
            }
            heads
        })
    }

    fn heads_by_units(
        &self,
        file: &UnitFile,
        section: &'static [u8],
        behind: usize,
        heads: &mut Vec<ProgramHead>,
    ) {
        let mut offsets: Vec<usize> = file
            .info_units()
            .filter_map(|index| self.unit(index)?.stmt_list)
            .filter(|offset| *offset > behind)
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        let mut end = 0;
        for offset in offsets {
            // A program inside another one is corrupt.
            if offset >= end
                && let Some((head, next)) = program_head(section, offset)
            {
                heads.extend(head);
                end = next;
            }
        }
    }
}

/// The locations that `DebugInfo::line_hits` finds.
#[derive(Default)]
pub(crate) struct LineLocations {
    /// Addresses of `is_stmt` rows that have code, each with its run of rows.
    pub(crate) effective: Vec<(LineLocation, (u32, u32))>,
    /// Addresses of `is_stmt` rows that have no code, as a row of another line follows at the same
    /// address.
    pub(crate) shadowed: Vec<LineLocation>,
    /// Starts of runs without an `is_stmt` row.
    pub(crate) continued: Vec<(LineLocation, (u32, u32))>,
    /// Addresses of rows that have no code and are not `is_stmt`.
    pub(crate) mentioned: Vec<LineLocation>,
}

/// Joins path parts (an absolute part restarts the path) and removes `.` and `..` lexically.
pub(crate) fn join(parts: &[&[u8]]) -> PathBuf {
    let mut path = PathBuf::new();
    let mut last: &[u8] = b"";
    for part in parts.iter().filter(|part| !part.is_empty()) {
        // gcc's directory 1 repeats directory 0, and version 5's directory 0 that of the unit.
        if *part == last && part.first() != Some(&b'/') && !path.as_os_str().is_empty() {
            continue;
        }
        path.push(OsStr::from_bytes(part));
        last = part;
    }
    normalize(&path)
}

/// Removes `.` and `..` lexically.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if matches!(out.components().next_back(), Some(Component::Normal(_))) {
                    out.pop();
                } else if !out.has_root() {
                    out.push("..");
                }
            }
            component => out.push(component),
        }
    }
    out
}
