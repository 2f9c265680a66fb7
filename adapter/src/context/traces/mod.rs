//! What tracepoints have recorded, as text: tables, histograms and records.

mod numbers;
mod table;
pub mod tree;

pub use numbers::grouped;

use crate::protocol::{Trace, TraceRecord};
use numbers::rounded;
use std::fmt::Write;

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
        text.push_str(&match tree::is_tree(table) {
            true => tree::text(table),
            false => table::text(table),
        });
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
    let place = place(trace).unwrap_or("nowhere yet");
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
    if let Some(message) = &trace.message {
        let _ = write!(text, "\n  {message}");
    }
    if trace.waited > 0 {
        let hits = match trace.waited {
            1 => "1 hit".to_owned(),
            hits => format!("{} hits", grouped(hits)),
        };
        let _ = write!(text, "\n  {hits} waited until records were read");
    }
    if trace.unreturned > 0 {
        let calls = match trace.unreturned {
            1 => "1 call has".to_owned(),
            calls => format!("{} calls have", grouped(calls)),
        };
        let _ = write!(text, "\n  {calls} not returned, or ended otherwise");
    }
    if trace.untimed > 0 {
        let calls = match trace.untimed {
            1 => "1 call is not timed: the debugger stopped the program in it".to_owned(),
            calls => format!(
                "{} calls are not timed: the debugger stopped the program in them",
                grouped(calls)
            ),
        };
        let _ = write!(text, "\n  {calls}");
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

/// Reads the duration of a call in a record, in nanoseconds, and whether the call is timed.
pub fn duration(text: &str) -> Option<(f64, bool)> {
    let unmarked = text.strip_prefix('~');
    let nanoseconds = unmarked.unwrap_or(text).parse().ok()?;
    Some((nanoseconds, unmarked.is_none()))
}

/// Returns where a tracepoint is: its location, or the pattern of its functions.
pub fn place(trace: &Trace) -> Option<&str> {
    let pattern = trace.function.as_deref();
    let pattern = pattern.filter(|it| it.starts_with('/') && trace.verified);
    pattern.or(trace.location.as_deref())
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
    use crate::protocol::{RATE, TraceBucket, TraceCell, TraceColumn, TraceRow, TraceTable};

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
                all_rows: 5,
                ..TraceTable::default()
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
    }

    #[test]
    fn rates_are_blocks_with_their_scale() {
        let interval = |at: u32, count| TraceBucket {
            from: Some(f64::from(at) * 5e7),
            to: Some(f64::from(at + 1) * 5e7),
            count,
        };
        let counts = [0, 1, 1000, 2000, 500];
        let table = TraceTable {
            keys: vec!["kind".to_owned()],
            columns: vec!["count".to_owned(), "rate".to_owned()],
            column_kinds: ["count", RATE]
                .map(|aggregate| TraceColumn {
                    aggregate: aggregate.to_owned(),
                    ..TraceColumn::default()
                })
                .to_vec(),
            rows: vec![row(
                "APPLE",
                3501,
                (0..)
                    .zip(counts)
                    .map(|(at, count)| interval(at, count))
                    .collect(),
            )],
            all_rows: 1,
            ..TraceTable::default()
        };
        assert_eq!(
            table::text(&table).lines().last(),
            Some("  rate kind = APPLE: ▁▂▅█▃ up to 2,000 hits in 50.0 ms; 250 ms in all")
        );
    }

    #[test]
    fn untimed_text_has_no_rate() {
        let trace = Trace {
            query: "count() by kind".to_owned(),
            hits: 1_234_567,
            ..Trace::default()
        };
        let untimed = head(&trace, Style::Untimed);
        assert!(untimed.ends_with("by kind; 1,234,567 hits"), "{untimed}");
    }
}
