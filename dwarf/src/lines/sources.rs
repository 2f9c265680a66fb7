//! Source files by name: finds the line programs that mention a file, and reads units of
//! `.debug_info` only for matches.

use crate::entries::budget::SectionBytesRead;
use crate::entries::units::Unit;
use crate::file::object::{u16_at, u32_at, u64_at};
use crate::ids::addr::FileAddr;
use crate::ids::source::{LineLocation, SourceFile, SourceLocation};
use crate::lines::DebugInfo;
use crate::lines::program::{Program, base_name};
use gimli::Section as _;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// Caches for lookups of source files in an image.
#[derive(Default)]
pub(crate) struct Sources {
    heads: OnceLock<Vec<ProgramHead>>,
    /// Line programs parsed so far, by offset in `.debug_line`.
    pub(crate) programs: RwLock<FxHashMap<usize, Option<Arc<Program>>>>,
    /// Bytes of `.debug_line` read for them.
    pub(crate) consumed: SectionBytesRead,
    files: RwLock<FxHashMap<PathBuf, Arc<SourceFile>>>,
    canonical: RwLock<FxHashMap<PathBuf, Option<PathBuf>>>,
    /// Programs that mention a file, by the file's path.
    mentions: RwLock<FxHashMap<PathBuf, Arc<Vec<Mention>>>>,
    /// Units by line program, for programs whose unit cannot be guessed from their order.
    owners: OnceLock<FxHashMap<usize, u32>>,
}

/// A line program before its header is parsed.
struct ProgramHead {
    offset: usize,
    version: u16,
    /// The bytes of the directory and file tables.
    tables: &'static [u8],
}

/// A program that mentions a file, and the file's numbers in it.
struct Mention {
    program: Arc<Program>,
    files: SmallVec<[u32; 2]>,
}

impl Sources {
    /// Returns the one `SourceFile` for a path; units that mention it share it.
    pub(crate) fn intern(&self, path: PathBuf, md5: Option<[u8; 16]>) -> Arc<SourceFile> {
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
        let files: Vec<Vec<Arc<SourceFile>>> = self
            .program_heads()
            .par_iter()
            .filter_map(|head| self.owned_program(head.offset))
            .map(|program| {
                program
                    .file_numbers()
                    .filter_map(|index| program.file(self, index))
                    .collect()
            })
            .collect();
        let mut files: Vec<Arc<SourceFile>> = files.into_iter().flatten().collect();
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
        let strings = LineStrings::find(self.dwarf.debug_line_str.reader().slice(), base);
        self.program_heads()
            .par_iter()
            .filter(|head| {
                contains(head.tables, base) || (head.version >= 5 && strings.may_be_in(head.tables))
            })
            .filter_map(|head| {
                // Before version 5, names are relative to the unit's directory. Version 5 tables
                // list that directory, so the unit is looked up only for a match.
                if head.version >= 5 {
                    let cached = self.cached_program(head.offset);
                    let program = match cached {
                        Some(program) => program,
                        None => Program::parse(self, head.offset, None).map(Arc::new),
                    };
                    program?.files_named(self, base).next()?;
                }
                let program = self.owned_program(head.offset)?;
                program.files_named(self, base).next()?;
                Some(program)
            })
            .collect()
    }

    fn cached_program(&self, offset: usize) -> Option<Option<Arc<Program>>> {
        self.sources
            .programs
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&offset)
            .cloned()
    }

    /// Returns a program, parsed with the attributes of its unit.
    fn owned_program(&self, offset: usize) -> Option<Arc<Program>> {
        if let Some(program) = self.cached_program(offset) {
            return program;
        }
        self.program(offset, self.owner(offset))
    }

    /// Returns the unit that a line program belongs to. Producers emit both in the same order and
    /// mostly one to one, so few units are read to find it; otherwise all are.
    fn owner(&self, offset: usize) -> Option<&Unit> {
        let heads = self.program_heads();
        let same = heads.partition_point(|head| head.offset < offset);
        if heads.len() == self.info_units() as usize
            && let Some(unit) = self.unit(same as u32)
            && unit.stmt_list == Some(offset)
        {
            return Some(unit);
        }
        let (mut low, mut high) = (0, self.info_units());
        while low < high {
            let middle = low + (high - low) / 2;
            // Skip units without a line program (partial units of dwz).
            let found = (middle..high).find_map(|index| {
                let unit = self.unit(index)?;
                Some((index, unit, unit.stmt_list?))
            });
            match found {
                Some((_, unit, found)) if found == offset => return Some(unit),
                Some((index, _, found)) if found < offset => low = index + 1,
                _ => high = middle,
            }
        }
        let owners = self.sources.owners.get_or_init(|| {
            // Not in parallel: this runs inside parallel walks. A waiting rayon thread would steal
            // their work and enter this cell again.
            (0..self.info_units())
                .filter_map(|index| Some((self.unit(index)?.stmt_list?, index)))
                .collect()
        });
        self.unit(*owners.get(&offset)?)
    }

    fn program_heads(&self) -> &[ProgramHead] {
        self.sources.heads.get_or_init(|| {
            let section = self.dwarf.debug_line.reader().slice();
            let mut heads = Vec::new();
            let mut offset = 0;
            while offset < section.len() {
                let Some((head, next)) = program_head(section, offset) else {
                    tracing::debug!(
                        offset,
                        "corrupt line program; reading the other file names from units"
                    );
                    self.heads_by_units(section, offset, &mut heads);
                    break;
                };
                heads.extend(head);
                offset = next;
            }
            heads
        })
    }

    fn heads_by_units(&self, section: &'static [u8], behind: usize, heads: &mut Vec<ProgramHead>) {
        let mut offsets: Vec<usize> = (0..self.info_units())
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

/// Returns the program at `offset` (`None` for an unknown version), and the offset of the next one.
fn program_head(section: &'static [u8], offset: usize) -> Option<(Option<ProgramHead>, usize)> {
    let (length, mut at, wide) = match u32_at(section, offset)? {
        0xffff_ffff => (u64_at(section, offset + 4)?, offset + 12, true),
        length if length < 0xffff_fff0 => (u64::from(length), offset + 4, false),
        _ => return None,
    };
    let next = at.checked_add(usize::try_from(length).ok()?)?;
    let unit = section.get(..next)?;
    let version = u16_at(unit, at)?;
    at += 2;
    if !(2..=5).contains(&version) {
        return Some((None, next));
    }
    if version >= 5 {
        at += 2;
    }
    let header_length = if wide {
        let length = u64_at(unit, at)?;
        at += 8;
        length
    } else {
        let length = u32_at(unit, at)?;
        at += 4;
        u64::from(length)
    };
    let end = at.checked_add(usize::try_from(header_length).ok()?)?;
    let head = unit.get(at..end).map(|tables| ProgramHead {
        offset,
        version,
        tables,
    });
    Some((head, next))
}

/// The ranges of `.debug_line_str` that hold strings ending in a base name. File tables of version
/// 5 refer to strings by offset, so four bytes within such a range show which tables to parse.
struct LineStrings {
    /// From a string's start to the start of the base name in it; sorted. Linkers merge tails, so a
    /// reference may point anywhere between.
    ranges: Vec<(u32, u32)>,
    /// The section is missing: names are elsewhere.
    unknown: bool,
}

impl LineStrings {
    fn find(section: &[u8], base: &[u8]) -> LineStrings {
        let mut ranges = Vec::new();
        let mut start = 0;
        while let Some(rest) = section.get(start..) {
            let Some(length) = rest.iter().position(|byte| *byte == 0) else {
                break;
            };
            let string = rest.get(..length).unwrap_or(b"");
            if let Some(head) = string.strip_suffix(base)
                && (head.is_empty() || head.ends_with(b"/"))
                && let (Ok(from), Ok(to)) =
                    (u32::try_from(start), u32::try_from(start + head.len()))
            {
                ranges.push((from, to));
            }
            start += length + 1;
        }
        LineStrings {
            ranges,
            unknown: section.is_empty(),
        }
    }

    fn may_be_in(&self, tables: &[u8]) -> bool {
        if self.unknown {
            return true;
        }
        let (Some((min, _)), Some((_, max))) = (self.ranges.first(), self.ranges.last()) else {
            return false;
        };
        tables.windows(4).any(|bytes| {
            let Ok(bytes) = <[u8; 4]>::try_from(bytes) else {
                return false;
            };
            let offset = u32::from_le_bytes(bytes);
            *min <= offset && offset <= *max && {
                let behind = self.ranges.partition_point(|range| range.0 <= offset);
                behind
                    .checked_sub(1)
                    .and_then(|index| self.ranges.get(index))
                    .is_some_and(|range| offset <= range.1)
            }
        })
    }
}

/// Returns whether `haystack` contains `needle` followed by a NUL.
fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    // Search for the last letter and the NUL: that pair is rarer than either. Names that end in the
    // same letters differ at their front, so the comparison goes backwards.
    let Some(last) = needle.last() else {
        return false;
    };
    haystack.windows(2).enumerate().any(|(index, pair)| {
        pair == [*last, 0]
            && haystack
                .get(..=index)
                .is_some_and(|head| head.ends_with(needle))
    })
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
