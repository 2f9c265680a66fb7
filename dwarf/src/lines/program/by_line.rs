//! (file, line) → addresses.

use super::{LineTable, RowGroup, Sequence, groups};
use std::sync::atomic::Ordering;

/// An index of a table's rows by line.
pub(super) struct ByLine {
    /// Row numbers, sorted by line, then by number.
    rows: Box<[u32]>,
    /// Numbers of the sequences, by their first rows.
    sequences: Box<[u32]>,
}

/// Up to this many line lookups, a scan over all rows is cheaper than an index by line.
const LINEAR_SCAN_LINES: u32 = 4;

/// The addresses of a line in one program.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct LineAddresses {
    /// Recommended addresses: address, column, number of their run of rows.
    pub(crate) effective: Vec<(u64, u16, u32)>,
    runs: u32,
    /// Addresses where the line has a row, but the code belongs to another line's row.
    pub(crate) shadowed: Vec<(u64, u16)>,
    /// Addresses of the line's code without a recommended row, with their runs.
    pub(crate) continued: Vec<(u64, u16, u32)>,
    /// Addresses where the line has a row that is not recommended, and the code belongs to another
    /// line's row.
    pub(crate) mentioned: Vec<(u64, u16)>,
}

impl LineTable {
    /// Finds the addresses of a line. A run of consecutive groups of the line counts once; code of
    /// line 0 does not end a run.
    pub(crate) fn hits(&self, files: &[u32], line: u32) -> LineAddresses {
        let mut hits = LineAddresses::default();
        match self.known_rows_of(line) {
            None => {
                for sequence in &self.sequences {
                    let rows = (0..).zip(self.rows_of(sequence));
                    let of_line = rows.filter(|(_, row)| row.line == line).map(|(at, _)| at);
                    self.hits_in(sequence, of_line, files, line, &mut hits);
                }
            }
            Some((known, index)) => {
                for sequence in self.sequences_with(known, index) {
                    let first = index.partition_point(|row| *row < sequence.first);
                    let of_line = index.get(first..).unwrap_or(&[]).iter();
                    let of_line = of_line.take_while(|row| **row < sequence.last);
                    let of_line = of_line.map(|row| (row - sequence.first) as usize);
                    self.hits_in(sequence, of_line, files, line, &mut hits);
                }
            }
        }
        hits
    }

    /// Finds the addresses in one sequence, given the rows of the line in order.
    fn hits_in(
        &self,
        sequence: &Sequence,
        of_line: impl Iterator<Item = usize>,
        files: &[u32],
        line: u32,
        hits: &mut LineAddresses,
    ) {
        let rows = self.rows_of(sequence);
        let mut in_run = false;
        let mut shadowed_before = false;
        // Rows before this one have been examined.
        let mut behind = 0;
        for at in of_line {
            let Some(row) = rows.get(at).filter(|_| at >= behind) else {
                continue;
            };
            let first = at
                - (rows[behind..at].iter().rev())
                    .take_while(|other| other.addr == row.addr)
                    .count();
            let between = &rows[behind..first];
            let count = (rows[first..].iter())
                .take_while(|other| other.addr == row.addr)
                .count();
            behind = first + count;
            let group = RowGroup {
                start: row.addr,
                end: rows.get(behind).map_or(sequence.end, |row| row.addr),
                rows: &rows[first..behind],
            };
            if !between.is_empty() {
                shadowed_before = false;
                in_run &= groups(between, group.start).all(|group| group.line() == 0);
            }
            if group.start >= group.end {
                continue;
            }
            if group.line() == line && files.contains(&group.file()) {
                if !in_run {
                    in_run = true;
                    hits.runs += 1;
                }
                match group.stmt_for(group.file(), line) {
                    Some(column) => hits.effective.push((group.start, column, hits.runs)),
                    None => hits
                        .continued
                        .push((group.start, group.column(), hits.runs)),
                }
                shadowed_before = true;
                continue;
            }
            if group.line() != 0 {
                in_run = false;
            }
            let shadowed = files.iter().find_map(|file| group.stmt_for(*file, line));
            if let Some(column) = shadowed
                && !shadowed_before
            {
                hits.shadowed.push((group.start, column));
            }
            if shadowed.is_none()
                && let Some(column) = group.column_for(files, line)
            {
                hits.mentioned.push((group.start, column));
            }
            shadowed_before = shadowed.is_some();
        }
    }

    /// Returns the index and the rows of a line, in order. Returns `None` for the first lookups, as
    /// building the index is not yet worth it.
    fn known_rows_of(&self, line: u32) -> Option<(&ByLine, &[u32])> {
        let known = match self.by_line.get() {
            Some(known) => known,
            None if self.lookups.fetch_add(1, Ordering::Relaxed) < LINEAR_SCAN_LINES => {
                return None;
            }
            None => self.by_line.get_or_init(|| self.sorted_by_line()),
        };
        let line_of = |row: &u32| self.rows.get(*row as usize).map_or(0, |row| row.line);
        let first = known.rows.partition_point(|row| line_of(row) < line);
        let rows = known.rows.get(first..)?;
        let count = rows.partition_point(|row| line_of(row) == line);
        Some((known, rows.get(..count)?))
    }

    fn sorted_by_line(&self) -> ByLine {
        let mut rows: Vec<u32> = (0..self.rows.len() as u32).collect();
        rows.sort_by_key(|row| self.rows[*row as usize].line);
        let mut sequences: Vec<u32> = (0..self.sequences.len() as u32).collect();
        sequences.sort_by_key(|sequence| self.sequences[*sequence as usize].first);
        ByLine {
            rows: rows.into(),
            sequences: sequences.into(),
        }
    }

    /// Returns the sequences that have any of these rows, by start.
    fn sequences_with(&self, known: &ByLine, rows: &[u32]) -> impl Iterator<Item = &Sequence> {
        let mut found = Vec::new();
        let mut next = 0;
        for row in rows {
            if *row < next {
                continue;
            }
            let first = |sequence: &u32| self.sequences[*sequence as usize].first;
            let behind = known.sequences.partition_point(|it| first(it) <= *row);
            if let Some(sequence) = behind.checked_sub(1).map(|at| known.sequences[at])
                && self.sequences[sequence as usize].last > *row
            {
                found.push(sequence);
                next = self.sequences[sequence as usize].last;
            }
        }
        found.sort_unstable();
        found
            .into_iter()
            .map(|sequence| &self.sequences[sequence as usize])
    }

    /// Collects the lines of these files that have rows.
    pub(crate) fn lines(&self, files: &[u32], lines: &mut Vec<u32>) {
        let mut last = 0;
        for row in &self.rows {
            if row.line != 0 && row.line != last && files.contains(&row.file) {
                lines.push(row.line);
                last = row.line;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    /// Finds the same by a scan over all groups.
    fn plainly(table: &LineTable, files: &[u32], line: u32) -> LineAddresses {
        let mut hits = LineAddresses::default();
        for sequence in &table.sequences {
            let (mut in_run, mut shadowed_before) = (false, false);
            for group in groups(table.rows_of(sequence), sequence.end) {
                let is_line = group.line() == line && files.contains(&group.file());
                let begins = files.iter().find_map(|file| group.stmt_for(*file, line));
                if is_line {
                    hits.runs += u32::from(!in_run);
                    in_run = true;
                    match group.stmt_for(group.file(), line) {
                        Some(column) => hits.effective.push((group.start, column, hits.runs)),
                        None => {
                            let run = hits.runs;
                            hits.continued.push((group.start, group.column(), run));
                        }
                    }
                } else {
                    in_run &= group.line() == 0;
                    let first = begins.filter(|_| !shadowed_before);
                    hits.shadowed
                        .extend(first.map(|column| (group.start, column)));
                    let any = group.column_for(files, line).filter(|_| begins.is_none());
                    hits.mentioned
                        .extend(any.map(|column| (group.start, column)));
                }
                shadowed_before = is_line || begins.is_some();
            }
        }
        hits
    }

    fn any_table(seed: &mut u64) -> LineTable {
        let mut any = |below: u64| {
            // Knuth's MMIX generator; its high bits are good.
            *seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) % below
        };
        let mut table = LineTable::default();
        for number in 0..any(6) {
            // Line programs may emit sequences in any order.
            let start = (number * 37 % 6) * 1000;
            let first = table.rows.len() as u32;
            let mut addr = start;
            for _ in 0..1 + any(30) {
                table.rows.push(Row {
                    addr,
                    file: any(3) as u32,
                    line: any(5) as u32,
                    column: any(3) as u16,
                    is_stmt: any(3) > 0,
                    prologue_end: false,
                });
                addr += any(3);
            }
            table.sequences.push(Sequence {
                start,
                end: addr + any(2),
                first,
                last: table.rows.len() as u32,
            });
        }
        table.sequences.sort_by_key(|sequence| sequence.start);
        table
    }

    #[test]
    fn lines_are_found_with_and_without_an_index() {
        let mut seed = 1;
        for _ in 0..3000 {
            let table = any_table(&mut seed);
            // More lookups than scans are worth, so that the index is used.
            for line in [1, 2, 3, 4, 1, 2, 3, 4, 7] {
                for files in [&[0][..], &[1, 2], &[9]] {
                    let expected = plainly(&table, files, line);
                    assert_eq!(table.hits(files, line), expected, "line {line}, {files:?}");
                }
            }
        }
    }
}
