//! What tracepoints have recorded, as text: tables, histograms and records.

use crate::protocol::{Trace, TraceBucket, TraceRecord, TraceRow, TraceTable};
use std::fmt::Write;

/// Width of the longest bar of a histogram.
const BAR: usize = 40;
/// Rows whose histograms are shown.
const HISTOGRAMS: usize = 5;
/// The remark on a tracepoint that needs none.
const IN_PROGRAM: &str = "evaluated in the program";
/// Maximum width of a key.
const KEY: usize = 60;

/// Whether times and rates are shown: without, the text is the same for the same records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// With times, rates and threads.
    Timed,
    /// Without.
    Untimed,
}

/// Returns a tracepoint as text, of at most `budget` bytes.
pub fn text(trace: &Trace, budget: usize, style: Style) -> String {
    let mut text = head(trace, style);
    for table in trace
        .tables
        .iter()
        .filter(|it| !it.rows.is_empty() || it.others.is_some())
    {
        text.push('\n');
        text.push_str(&table_text(table));
    }
    if !trace.records.is_empty() {
        let shown = trace.records.len() as u64;
        let which = match trace.all_records > shown {
            true => format!("the last {shown} of {} records", grouped(trace.all_records)),
            false if shown == 1 => "1 record".to_owned(),
            false => format!("{shown} records"),
        };
        let _ = write!(text, "\n{which}:");
        for record in &trace.records {
            let _ = write!(text, "\n  {}", record_text(trace, record, style));
        }
    }
    limited(text, budget)
}

/// Returns the first line of a tracepoint's text: where, what, how many hits.
pub fn head(trace: &Trace, style: Style) -> String {
    let place = trace.location.as_deref().unwrap_or("nowhere yet");
    let mut text = format!("tracepoint {} at {place}: {}", trace.id, trace.query.trim());
    match trace.hits {
        0 => text.push_str("; no hits yet"),
        1 => text.push_str("; 1 hit"),
        hits if style == Style::Untimed => {
            let _ = write!(text, "; {} hits", grouped(hits));
        }
        hits => {
            let rate = hits as f64 / trace.seconds.max(1e-9);
            let _ = write!(
                text,
                "; {} hits in {} s ({} per s)",
                grouped(hits),
                rounded(trace.seconds),
                grouped(rate as u64)
            );
        }
    }
    if let Some(message) = &trace.message
        && message != IN_PROGRAM
    {
        let _ = write!(text, "\n  {message}");
    }
    if trace.unreturned > 0 {
        let calls = grouped(trace.unreturned);
        let _ = write!(
            text,
            "\n  {calls} calls have not returned, or ended otherwise"
        );
    }
    if let Some(failed) = &trace.failed {
        let _ = write!(
            text,
            "\n  {} hits are missing: {}",
            grouped(failed.hits),
            failed.message
        );
    }
    text
}

/// Returns a record on one line.
pub fn record_text(trace: &Trace, record: &TraceRecord, style: Style) -> String {
    let mut parts = Vec::new();
    if style == Style::Timed {
        parts.push(format!("{:.6} s", record.time));
        parts.extend(record.thread_id.map(|thread| format!("thread {thread}")));
    }
    let values = trace.recorded.iter().zip(&record.values);
    parts.extend(values.map(|(name, value)| format!("{name} = {value}")));
    parts.join("  ")
}

fn table_text(table: &TraceTable) -> String {
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
                cell.map_or_else(String::new, |cell| grouped_text(&cell.text))
            });
            lines.push(keys.chain(cells).collect());
        }
    }
    let mut text = aligned(&lines, table.keys.len());
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
            histogram_text(buckets, &mut text);
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
fn histogram_text(buckets: &[TraceBucket], text: &mut String) {
    let most = buckets.iter().map(|it| it.count).max().unwrap_or(0).max(1);
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
        names.push((bounds(bucket), bucket.count));
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

fn bounds(bucket: &TraceBucket) -> String {
    match (bucket.from, bucket.to) {
        (None, Some(to)) => format!("below {}", rounded(to)),
        (Some(from), None) => format!("{} and more", rounded(from)),
        (Some(from), Some(to)) if (from, to) == (0.0, 1.0) || from == to => rounded(from),
        (Some(from), Some(to)) if from < 0.0 => format!("({}, {}]", rounded(to), rounded(from)),
        (Some(from), Some(to)) => format!("[{}, {})", rounded(from), rounded(to)),
        (None, None) => String::new(),
    }
}

/// Returns a number with few digits.
fn rounded(number: f64) -> String {
    let size = number.abs();
    if number.fract() == 0.0 && size < 1e15 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(size as u64));
    }
    match size {
        ..1e-3 | 1e6.. => format!("{number:.2e}"),
        _ => format!("{number:.3}"),
    }
}

/// Returns a whole number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Groups the digits of a text that is a whole number.
fn grouped_text(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    match digits.parse() {
        Ok(number) => format!("{sign}{}", grouped(number)),
        Err(_) => text.to_owned(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(KEY) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Aligns lines of cells: the first `left` columns to the left, the others to the right.
fn aligned(lines: &[Vec<String>], left: usize) -> String {
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
            let cells = if column < left {
                [cell.as_str(), space.as_str()]
            } else {
                [space.as_str(), cell.as_str()]
            };
            cells.iter().for_each(|cell| text.push_str(cell));
        }
        text.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Cuts a text off at a line so that it has at most `budget` bytes.
fn limited(mut text: String, budget: usize) -> String {
    if text.len() > budget {
        let end = text.floor_char_boundary(budget.saturating_sub(16));
        let end = text[..end].rfind('\n').unwrap_or(end);
        text.truncate(end);
        text.push_str("\n… (cut off)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::TraceCell;

    fn row(key: &str, count: u64, histogram: Vec<TraceBucket>) -> TraceRow {
        TraceRow {
            keys: vec![key.to_owned()],
            hits: count,
            cells: vec![
                TraceCell {
                    text: count.to_string(),
                    ..TraceCell::default()
                },
                TraceCell {
                    histogram,
                    ..TraceCell::default()
                },
            ],
        }
    }

    #[test]
    fn tables_and_histograms_are_readable() {
        let bucket = |from, to, count| TraceBucket {
            from: Some(from),
            to: Some(to),
            count,
        };
        let trace = Trace {
            id: 3,
            query: "count(), hist(n) by kind".to_owned(),
            location: Some("shop.c:41".to_owned()),
            verified: true,
            hits: 1_234_567,
            seconds: 2.0,
            tables: vec![TraceTable {
                keys: vec!["kind".to_owned()],
                columns: vec!["count".to_owned(), "hist(n)".to_owned()],
                rows: vec![
                    row(
                        "APPLE",
                        1_234_560,
                        vec![bucket(0.0, 1.0, 4), bucket(1.0, 2.0, 8)],
                    ),
                    row("PEAR", 7, Vec::new()),
                ],
                others: None,
                all_rows: 5,
            }],
            ..Trace::default()
        };
        let shown = text(&trace, 4000, Style::Timed);
        let lines: Vec<&str> = shown.lines().collect();
        let bars = ["█".repeat(20), "█".repeat(40)];
        assert_eq!(
            lines,
            [
                "tracepoint 3 at shop.c:41: count(), hist(n) by kind; 1,234,567 hits in 2 s \
                 (617,283 per s)",
                "  kind       count",
                "  APPLE  1,234,560",
                "  PEAR           7",
                "  (3 more rows)",
                "  hist(n) kind = APPLE:",
                &format!("         0              4 {}", bars[0]),
                &format!("    [1, 2)              8 {}", bars[1]),
                "  hist(n) kind = PEAR:",
            ]
        );
        assert!(text(&trace, 120, Style::Timed).len() <= 120);
        let untimed = head(&trace, Style::Untimed);
        assert!(untimed.ends_with("by kind; 1,234,567 hits"), "{untimed}");
    }
}
