//! Line tables (DWARF 5 §6.2): address → row; [`by_line`]: (file, line) → addresses.

mod by_line;

use crate::entries::units::Unit;
use crate::file::R;
use crate::file::macho::placement::Placement;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::source::{LineRow, SourceFile, SourceLocation};
use crate::lines::DebugInfo;
use crate::lines::sources::join;
use by_line::ByLine;
use gimli::{ColumnType, DebugLineOffset};
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// Maximum length of a path in bytes (the kernel's `PATH_MAX`).
const MAX_PATH: usize = 4096;

/// A line number program: its file table, and its rows once needed.
pub(crate) struct Program {
    /// Number of the file with its unit.
    file: u32,
    program: gimli::IncompleteLineProgram<R>,
    comp_dir: Option<&'static [u8]>,
    files: Vec<OnceLock<Option<Arc<SourceFile>>>>,
    table: OnceLock<LineTable>,
}

/// The rows of a program, in sequences sorted by address.
#[derive(Default)]
pub(crate) struct LineTable {
    rows: Vec<Row>,
    /// Sequences by start.
    sequences: Vec<Sequence>,
    /// Number of line lookups so far.
    lookups: AtomicU32,
    by_line: OnceLock<ByLine>,
}

#[derive(Clone, Copy)]
struct Row {
    addr: u64,
    file: u32,
    line: u32,
    column: u16,
    is_stmt: bool,
    prologue_end: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sequence {
    start: u64,
    end: u64,
    /// Index of the first row in `rows`.
    first: u32,
    last: u32,
}

/// The rows of one address. The last one has the code's position; the earlier ones cover no
/// instruction (gcc emits such rows for location views).
#[derive(Clone, Copy)]
pub(crate) struct RowGroup<'a> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    rows: &'a [Row],
}

impl RowGroup<'_> {
    /// Returns the row with the code's position: the last one, but a recommended breakpoint
    /// location wins over the last row if that is none. With gcc's view numbers several rows have
    /// one address, and breakpoints are set on the recommended one.
    fn last(&self) -> Option<&Row> {
        let last = self.rows.last()?;
        if last.is_stmt || last.line == 0 {
            return Some(last);
        }
        let recommended = self.rows.iter().rev().find(|row| row.is_stmt);
        Some(recommended.unwrap_or(last))
    }

    /// Returns the line of the code; 0 if the compiler generated it.
    pub(crate) fn line(&self) -> u32 {
        self.last().map_or(0, |row| row.line)
    }

    /// Returns the number of the code's file.
    pub(crate) fn file(&self) -> u32 {
        self.last().map_or(0, |row| row.file)
    }

    /// Returns the column of the code.
    fn column(&self) -> u16 {
        self.last().map_or(0, |row| row.column)
    }

    /// Returns whether any row of the code's own line is a recommended breakpoint location.
    pub(crate) fn is_stmt(&self) -> bool {
        self.last()
            .is_some_and(|last| self.stmt_for(last.file, last.line).is_some())
    }

    /// Returns whether rows of another line are at this address, too.
    pub(crate) fn has_several_lines(&self) -> bool {
        let line = self.line();
        self.rows.iter().any(|row| ![0, line].contains(&row.line))
    }

    /// Returns whether the prologue ends here.
    pub(crate) fn prologue_end(&self) -> bool {
        self.rows.iter().any(|row| row.prologue_end)
    }

    /// Returns the column of the last row of this line in one of these files.
    fn column_for(&self, files: &[u32], line: u32) -> Option<u16> {
        let mut rows = self.rows.iter().rev();
        rows.find(|row| row.line == line && files.contains(&row.file))
            .map(|row| row.column)
    }

    /// Returns the column of the last is_stmt row of this file and line, shadowed or not.
    fn stmt_for(&self, file: u32, line: u32) -> Option<u16> {
        self.rows
            .iter()
            .rev()
            .find(|row| row.is_stmt && row.file == file && row.line == line)
            .map(|row| row.column)
    }
}

impl Program {
    /// Parses a program's header.
    pub(crate) fn parse(
        info: &DebugInfo,
        file: u32,
        offset: usize,
        unit: Option<&Unit>,
    ) -> Option<Program> {
        let comp_dir = unit.and_then(|unit| unit.raw.comp_dir);
        let name = unit.and_then(|unit| unit.raw.name);
        let dwarf = match unit {
            Some(unit) => info.line_sections(unit),
            None => &info.file(file)?.dwarf,
        };
        let program = dwarf
            .debug_line
            .program(DebugLineOffset(offset), 8, comp_dir, name)
            .inspect_err(|error| tracing::debug!(offset, %error, "corrupt line program header"))
            .ok()?;
        let files = program.header().file_names().len() + 1;
        Some(Program {
            file,
            program,
            comp_dir: comp_dir.map(|dir| dir.slice()),
            files: std::iter::repeat_with(OnceLock::new).take(files).collect(),
            table: OnceLock::new(),
        })
    }

    /// Returns the program's size in its section, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.program.header().unit_length()
    }

    /// Returns the numbers of the files whose path ends in the component `base`.
    pub(crate) fn files_named<'a>(
        &'a self,
        info: &'a DebugInfo,
        base: &'a [u8],
    ) -> impl Iterator<Item = u64> + 'a {
        let units = info.file(self.file);
        (0..self.files.len() as u64).filter(move |index| {
            self.program
                .header()
                .file(*index)
                .and_then(|file| units?.dwarf.attr_line_string(file.path_name()).ok())
                .is_some_and(|name| {
                    let name = name.slice();
                    name.strip_suffix(base)
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
                })
        })
    }

    /// Returns the numbers of all files.
    pub(crate) fn file_numbers(&self) -> impl Iterator<Item = u64> + use<> {
        0..self.files.len() as u64
    }

    /// Returns a file by its number in the program's table.
    pub(crate) fn file(&self, info: &DebugInfo, index: u64) -> Option<Arc<SourceFile>> {
        let slot = self.files.get(usize::try_from(index).ok()?)?;
        slot.get_or_init(|| {
            let header = self.program.header();
            let file = header.file(index)?;
            let dwarf = &info.file(self.file)?.dwarf;
            let string = |value| dwarf.attr_line_string(value).ok().map(|s| s.slice());
            let name = string(file.path_name())?;
            let directory = file.directory(header).and_then(string).unwrap_or(b"");
            // Directory 0 is the compilation directory; version 5 tables list it.
            let zero = if header.version() >= 5 {
                header.directory(0).and_then(string).unwrap_or(b"")
            } else {
                b""
            };
            let comp_dir = self.comp_dir.unwrap_or(b"");
            let parts = [comp_dir, zero, directory, name];
            if parts.iter().map(|part| part.len()).sum::<usize>() > MAX_PATH {
                return None;
            }
            let path = join(&parts);
            let md5 = header.file_has_md5().then(|| *file.md5());
            Some(info.sources.intern(path, md5))
        })
        .clone()
    }

    /// Returns the rows, read on first use.
    pub(crate) fn table(&self, info: &DebugInfo) -> &LineTable {
        self.table.get_or_init(|| {
            let mut table = LineTable::default();
            let file = info.file(self.file);
            let placement = file.and_then(|file| file.placement.as_ref());
            if let Err(error) = table.run(info, placement, self.program.clone()) {
                tracing::debug!(%error, "corrupt line program; its remaining rows are lost");
            }
            table.sequences.sort_unstable_by_key(|s| (s.start, s.end));
            table
        })
    }

    fn location(&self, info: &DebugInfo, row: &Row) -> Option<SourceLocation> {
        if row.line == 0 {
            return None;
        }
        Some(SourceLocation {
            file: self.file(info, u64::from(row.file))?,
            line: row.line,
            column: u32::from(row.column),
        })
    }

    /// Returns the position of the code at an address of a group of rows. Behind the first instruction, the location for
    /// breakpoints does not count if it is in another file: it is that of an inlined call without code.
    pub(crate) fn position(
        &self,
        info: &DebugInfo,
        group: RowGroup<'_>,
        addr: u64,
    ) -> Option<SourceLocation> {
        let (shown, last) = (group.last()?, group.rows.last()?);
        let is_inlined = addr != group.start && last.file != shown.file && last.line != 0;
        self.location(info, if is_inlined { last } else { shown })
    }

    /// Converts a group of rows to a [`LineRow`], clipped to `clip`.
    pub(crate) fn row(
        &self,
        info: &DebugInfo,
        group: RowGroup<'_>,
        clip: Option<AddrRange<FileAddr>>,
    ) -> LineRow {
        let (mut start, mut end) = (group.start, group.end);
        if let Some(clip) = clip {
            start = start.max(clip.start.0);
            end = end.min(clip.end.0);
        }
        LineRow {
            range: AddrRange::new(FileAddr(start), FileAddr(end)),
            location: group.last().and_then(|row| self.location(info, row)),
            is_stmt: group.is_stmt(),
            prologue_end: group.prologue_end(),
        }
    }
}

impl LineTable {
    fn run(
        &mut self,
        info: &DebugInfo,
        placement: Option<&Placement>,
        program: gimli::IncompleteLineProgram<R>,
    ) -> Result<(), gimli::Error> {
        let mut rows = program.rows();
        let (mut first, mut read) = (0, 0);
        while let Some((_, row)) = rows.next_row()? {
            if row.end_sequence() {
                let end = row.address();
                match placement {
                    None => self.end_sequence(info, first, end),
                    // Sequences do not overlap, so they have each function once.
                    Some(placement) if self.sequences.len() <= read + placement.len() => {
                        self.place(info, placement, first, end);
                    }
                    Some(_) => self.rows.truncate(first),
                }
                first = self.rows.len();
                continue;
            }
            read += 1;
            self.rows.push(Row {
                addr: row.address(),
                file: row.file_index() as u32,
                line: row.line().map_or(0, |line| line.get() as u32),
                column: match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => u16::try_from(column.get()).unwrap_or(0),
                },
                is_stmt: row.is_stmt(),
                prologue_end: row.prologue_end(),
            });
        }
        // Rows of a sequence without an end have no known last address.
        self.rows.truncate(first);
        self.rows.shrink_to_fit();
        Ok(())
    }

    fn end_sequence(&mut self, info: &DebugInfo, first: usize, end: u64) {
        let Some(rows) = self.rows.get_mut(first..) else {
            return;
        };
        // The standard requires ascending addresses; the sort is for producers that violate it.
        if !rows.is_sorted_by_key(|row| row.addr) {
            rows.sort_by_key(|row| row.addr);
        }
        let range = rows.first().map(|row| row.addr).zip(rows.last());
        match range {
            Some((start, last)) if start < end && last.addr <= end && info.is_code(start) => {
                self.sequences.push(Sequence {
                    start,
                    end,
                    first: first as u32,
                    last: self.rows.len() as u32,
                });
            }
            _ => self.rows.truncate(first),
        }
    }

    /// Replaces the last rows, which are a sequence of an object file up to `end`, by those of the
    /// functions that the linker placed: a sequence each.
    fn place(&mut self, info: &DebugInfo, placement: &Placement, first: usize, end: u64) {
        let mut rows = self.rows.split_off(first);
        if !rows.is_sorted_by_key(|row| row.addr) {
            rows.sort_by_key(|row| row.addr);
        }
        let Some(start) = rows.first().map(|row| row.addr) else {
            return;
        };
        for part in placement.parts(start, end) {
            let distance = part.linked.wrapping_sub(part.start);
            let linked_end = part.end.wrapping_add(distance);
            if !info.is_code(part.linked) {
                continue;
            }
            // A row of the function before, which need not be before it in the image, says nothing
            // about a function that begins without one.
            let from = rows.partition_point(|row| row.addr < part.start);
            let to = rows.partition_point(|row| row.addr < part.end);
            let placed = rows.get(from..to).unwrap_or_default();
            let Some(start) = placed.first().map(|row| row.addr) else {
                continue;
            };
            let first = self.rows.len() as u32;
            self.rows.extend(placed.iter().map(|row| Row {
                addr: row.addr.wrapping_add(distance),
                ..*row
            }));
            self.sequences.push(Sequence {
                start: start.wrapping_add(distance),
                end: linked_end,
                first,
                last: self.rows.len() as u32,
            });
        }
    }

    fn rows_of(&self, sequence: &Sequence) -> &[Row] {
        self.rows
            .get(sequence.first as usize..sequence.last as usize)
            .unwrap_or(&[])
    }

    /// Returns the rows that cover `addr`.
    pub(crate) fn group_at(&self, addr: u64) -> Option<RowGroup<'_>> {
        let sequence = self.sequence_at(addr)?;
        let rows = self.rows_of(sequence);
        let end = rows.partition_point(|row| row.addr <= addr);
        let start_addr = rows.get(end.checked_sub(1)?)?.addr;
        let start = rows.partition_point(|row| row.addr < start_addr);
        Some(RowGroup {
            start: start_addr,
            end: rows.get(end).map_or(sequence.end, |row| row.addr),
            rows: rows.get(start..end)?,
        })
    }

    fn sequence_at(&self, addr: u64) -> Option<&Sequence> {
        let end = self.sequences.partition_point(|s| s.start <= addr);
        self.sequences
            .get(..end)?
            .iter()
            .rev()
            // Sequences of a table hardly ever overlap; a few steps back find the overlapping ones.
            .take(8)
            .find(|sequence| sequence.end > addr)
    }

    /// Returns the groups of rows that intersect `range`, by address.
    pub(crate) fn groups_in(
        &self,
        range: AddrRange<FileAddr>,
    ) -> impl Iterator<Item = RowGroup<'_>> {
        let end = self
            .sequences
            .partition_point(|sequence| sequence.start < range.end.0);
        self.sequences
            .get(..end)
            .unwrap_or(&[])
            .iter()
            .filter(move |sequence| sequence.end > range.start.0)
            .flat_map(move |sequence| {
                let rows = self.rows_of(sequence);
                let skip = rows
                    .partition_point(|row| row.addr <= range.start.0)
                    .checked_sub(1)
                    .and_then(|index| rows.get(index))
                    .map_or(0, |row| rows.partition_point(|r| r.addr < row.addr));
                groups(rows.get(skip..).unwrap_or(&[]), sequence.end)
                    .take_while(move |group| group.start < range.end.0)
            })
            .filter(move |group| group.end > range.start.0)
    }
}

/// Groups the rows of one sequence by address.
fn groups(rows: &[Row], end: u64) -> impl Iterator<Item = RowGroup<'_>> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let start = rest.first()?.addr;
        let count = rest.iter().take_while(|row| row.addr == start).count();
        let (rows, behind) = rest.split_at_checked(count)?;
        rest = behind;
        Some(RowGroup {
            start,
            end: behind.first().map_or(end, |row| row.addr),
            rows,
        })
    })
    .filter(|group| group.start < group.end)
}

/// Returns the last component of a path, as bytes.
pub(crate) fn base_name(path: &Path) -> Option<&[u8]> {
    use std::os::unix::ffi::OsStrExt;
    path.file_name().map(OsStrExt::as_bytes)
}
