//! Tables and histograms as text.

use super::numbers::{duration, grouped, grouped_text, rounded};
use crate::protocol::{RATE, TraceBucket, TraceCell, TraceRow, TraceTable};
use std::fmt::Write;
use std::ops::Range;

/// Width of the longest bar of a histogram.
const BAR: usize = 40;
/// Rows whose histograms are shown.
const HISTOGRAMS: usize = 5;
/// Maximum width of a key.
const KEY: usize = 60;

/// Returns a table as text: its rows aligned, then the histograms of the first ones.
pub(super) fn text(table: &TraceTable) -> String {
    let is_histogram = |column: usize| {
        let rows = table.rows.iter().chain(&table.others);
        let mut cells = rows.filter_map(|row| row.cells.get(column));
        cells.any(|cell| !cell.histogram.is_empty())
    };
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|it| !is_histogram(*it))
        .collect();
    let mut lines = Vec::new();
    if !columns.is_empty() {
        let names = columns.iter().map(|column| table.columns[*column].clone());
        lines.push(
            table
                .keys
                .iter()
                .map(|key| cut(key))
                .chain(names)
                .collect::<Vec<_>>(),
        );
        let own = table.rows.iter().map(|row| (row, None));
        let others = table.others.iter().map(|row| (row, Some("others")));
        for (row, name) in own.chain(others) {
            let keys = (0..table.keys.len()).map(|index| match (row.keys.get(index), name) {
                (Some(key), _) => cut(key),
                (None, Some(name)) if index == 0 => format!("({name})"),
                (None, _) => String::new(),
            });
            let cells = columns.iter().map(|column| {
                let cell = row.cells.get(*column);
                cell.map_or_else(String::new, |cell| cell_text(table, *column, cell))
            });
            lines.push(keys.chain(cells).collect());
        }
    }
    let mut text = aligned(&lines, table.keys.len()..usize::MAX);
    let left = table.all_rows.saturating_sub(table.rows.len() as u64);
    if left > 0 {
        let _ = write!(text, "\n  ({} more rows)", grouped(left));
    }
    for row in table.rows.iter().take(HISTOGRAMS) {
        for (column, name) in table
            .columns
            .iter()
            .enumerate()
            .filter(|it| is_histogram(it.0))
        {
            let buckets = row
                .cells
                .get(column)
                .map_or(&[][..], |cell| &cell.histogram);
            if !text.is_empty() {
                text.push('\n');
            }
            let _ = write!(text, "  {name}{}:", of_row(table, row));
            match table.column_kinds.get(column) {
                Some(kind) if kind.aggregate == RATE => rate_text(buckets, &mut text),
                _ => histogram_text(buckets, is_duration(table, column), &mut text),
            }
        }
    }
    text
}

fn of_row(table: &TraceTable, row: &TraceRow) -> String {
    let keys = table.keys.iter().zip(&row.keys);
    let keys: Vec<String> = keys
        .map(|(name, key)| format!(" {name} = {}", cut(key)))
        .collect();
    keys.join(",")
}

/// Appends the buckets, with a bar each. Runs of empty ones are left out.
fn histogram_text(buckets: &[TraceBucket], is_duration: bool, text: &mut String) {
    let most = buckets.iter().map(|it| it.count).max().unwrap_or(0).max(1);
    let number = if is_duration { duration } else { rounded };
    let mut names: Vec<(String, u64)> = Vec::new();
    let mut empty = 0;
    for bucket in buckets {
        if bucket.count == 0 {
            empty += 1;
            if empty > 2 {
                continue;
            }
        } else {
            empty = 0;
        }
        names.push((bounds(bucket, number), bucket.count));
    }
    let width = names
        .iter()
        .map(|it| it.0.chars().count())
        .max()
        .unwrap_or(0);
    for (name, count) in names {
        let bar = (count as f64 / most as f64 * BAR as f64).ceil() as usize;
        let _ = write!(
            text,
            "\n    {name:>width$} {:>14} {}",
            grouped(count),
            "█".repeat(bar)
        );
    }
}

/// Appends intervals of time as blocks, the highest for the most hits, with the scale.
fn rate_text(intervals: &[TraceBucket], text: &mut String) {
    let counts: Vec<u64> = intervals.iter().map(|it| it.count).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let end = intervals.last().and_then(|it| it.to).unwrap_or(0.0);
    let _ = write!(
        text,
        " {} up to {} hits in {}; {} in all",
        sparkline(&counts),
        grouped(most),
        duration(end / intervals.len().max(1) as f64),
        duration(end)
    );
}

/// Draws numbers as blocks: none is lowest, the largest is a full block.
fn sparkline(counts: &[u64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let highest = BLOCKS.len() - 1;
    let block = |count: &u64| {
        let level = (*count as f64 / most as f64 * highest as f64).ceil() as usize;
        BLOCKS[level.min(highest)]
    };
    counts.iter().map(block).collect()
}

fn bounds(bucket: &TraceBucket, number: fn(f64) -> String) -> String {
    match (bucket.from, bucket.to) {
        (None, Some(to)) => format!("below {}", number(to)),
        (Some(from), None) if from < 0.0 => format!("{} and less", number(from)),
        (Some(from), None) => format!("{} and more", number(from)),
        (Some(from), Some(to)) if (from, to) == (0.0, 1.0) || from == to => number(from),
        (Some(from), Some(to)) if from < 0.0 => format!("({}, {}]", number(to), number(from)),
        (Some(from), Some(to)) => format!("[{}, {})", number(from), number(to)),
        (None, None) => "not a number".to_owned(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(KEY) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns whether the numbers of a column are durations.
fn is_duration(table: &TraceTable, column: usize) -> bool {
    let kind = table.column_kinds.get(column);
    kind.is_some_and(|kind| kind.unit.as_deref() == Some("ns"))
}

/// Returns the text of a cell of a column: times with a unit, other numbers with their digits in
/// groups.
pub(super) fn cell_text(table: &TraceTable, column: usize, cell: &TraceCell) -> String {
    match cell.number {
        Some(number) if is_duration(table, column) => duration(number),
        _ => grouped_text(&cell.text),
    }
}

/// Aligns lines of cells: these columns to the right, the others to the left.
pub(super) fn aligned(lines: &[Vec<String>], right: Range<usize>) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let lines = lines.iter().map(|line| {
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            text.push_str("  ");
            let space = " ".repeat(width - cell.chars().count());
            let cells = if right.contains(&column) {
                [space.as_str(), cell.as_str()]
            } else {
                [cell.as_str(), space.as_str()]
            };
            cells.iter().for_each(|cell| text.push_str(cell));
        }
        text.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
