//! What `stillpoint trace` prints.

use super::Options;
use crate::context::traces::{self, Style};
use crate::frontends::run::{print, print_json};
use crate::protocol::{Trace, TraceRecords};
use serde_json::json;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};
use terminal_size::{Height, Width, terminal_size};
use unicode_width::UnicodeWidthChar;

/// Maximum size of what is printed of a tracepoint's tables, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Maximum number of lines that are drawn again and again.
const MAX_LINES: usize = 40;
/// Size of a terminal that does not tell its own: columns and rows.
const TERMINAL: (usize, usize) = (80, 24);

/// Returns the lines that a terminal shows of a text without wrapping one, which is cut, and without scrolling.
fn fitting(text: &str, (columns, rows): (usize, usize)) -> Vec<String> {
    // The cursor is in the last row.
    let lines = text
        .lines()
        .take(MAX_LINES.min(rows.saturating_sub(1)).max(1));
    lines.map(|line| cut(line, columns.max(1))).collect()
}

/// Returns the begin of a line that is too wide.
fn cut(line: &str, columns: usize) -> String {
    let width = |it: char| it.width().unwrap_or_default();
    if line.chars().map(width).sum::<usize>() <= columns {
        return line.to_owned();
    }
    let mut left = columns - 1;
    let begin = line.chars().take_while(|it| {
        let fits = width(*it) <= left;
        left = left.saturating_sub(width(*it));
        fits
    });
    begin.chain(['…']).collect()
}

/// What is printed when. On a terminal the tables are drawn over the former ones.
pub(super) struct Printer {
    every: Option<Duration>,
    shown_at: Instant,
    /// Whether former tables can be erased.
    redraws: bool,
    /// The number of lines of the former tables.
    drawn: usize,
    /// Records that were printed.
    records: u64,
    /// The tracepoint, for the names of its values.
    named: Trace,
    /// The number of hits when they were printed last, for the rate.
    before: Option<(Instant, u64)>,
}

impl Printer {
    pub(super) fn new(options: &Options) -> Printer {
        let redraws = io::stdout().is_terminal() && !options.json;
        let every = options
            .every
            .and_then(|it| Duration::try_from_secs_f64(it).ok());
        Printer {
            every: every.or(redraws.then_some(Duration::from_secs(1))),
            shown_at: Instant::now(),
            redraws,
            drawn: 0,
            records: 0,
            named: Trace::default(),
            before: None,
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.every
            .is_some_and(|every| self.shown_at.elapsed() >= every)
    }

    /// Erases what can be drawn again.
    pub(super) fn erase(&mut self) {
        if self.drawn > 0 {
            // To the begin of its first line, and clears from there on. Ctrl-C has written `^C` into the last one.
            print(&format!("\r\x1b[{}A\x1b[J", self.drawn));
            self.drawn = 0;
        }
    }

    pub(super) fn show(&mut self, traces: &[Trace], options: &Options, is_last: bool) {
        self.shown_at = Instant::now();
        if options.json {
            let event = if is_last { "summary" } else { "traces" };
            print_json(&json!({"event": event, "traces": traces}));
            return;
        }
        self.erase();
        for trace in traces {
            if options.perfetto.is_none() && !trace.keeps_all {
                self.show_records(trace);
            }
            let tables = Trace {
                records: Vec::new(),
                ..trace.clone()
            };
            let mut text = traces::text(&tables, MAX_BYTES, Style::Timed);
            if let Some(rate) = self.rate(trace.hits).filter(|_| !is_last) {
                text.push_str(&format!("\n  now {} hits per s", traces::grouped(rate)));
            }
            if self.redraws && !is_last {
                let size = terminal_size().map_or(TERMINAL, |(Width(columns), Height(rows))| {
                    (columns.into(), rows.into())
                });
                let lines = fitting(&text, size);
                self.drawn += lines.len();
                text = lines.join("\n");
            }
            print(&format!("{text}\n"));
        }
    }

    /// Takes the names of a record's values from the tracepoint.
    pub(super) fn name_values(&mut self, trace: &Trace) {
        self.named.clone_from(trace);
    }

    /// Prints records of a tracepoint that keeps all.
    pub(super) fn show_all(&mut self, records: &TraceRecords, options: &Options) {
        if options.json {
            print_json(&json!({
                "event": "records",
                "id": records.id,
                "records": records.records,
            }));
            return;
        }
        if options.perfetto.is_some() {
            return;
        }
        self.erase();
        let mut text = String::new();
        for record in &records.records {
            text.push_str(&traces::record_text(&self.named, record, Style::Timed));
            text.push('\n');
        }
        print(&text);
    }

    /// Prints the records since the last time, as far as they are still there.
    fn show_records(&mut self, trace: &Trace) {
        let new = trace.all_records.saturating_sub(self.records);
        let there = (trace.records.len() as u64).min(new);
        if new > there {
            print(&match new - there {
                1 => "(1 record is lost: more came than are kept)\n".to_owned(),
                lost => format!(
                    "({} records are lost: more came than are kept)\n",
                    traces::grouped(lost)
                ),
            });
        }
        let skipped = trace.records.len() - there as usize;
        for record in trace.records.iter().skip(skipped) {
            print(&format!(
                "{}\n",
                traces::record_text(trace, record, Style::Timed)
            ));
        }
        self.records = trace.all_records;
    }

    fn rate(&mut self, hits: u64) -> Option<u64> {
        let before = self.before.replace((Instant::now(), hits));
        let (at, former) = before?;
        let seconds = at.elapsed().as_secs_f64();
        Some((hits.saturating_sub(former) as f64 / seconds.max(1e-3)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn text_fits_into_the_terminal() {
        assert_eq!(fitting("12345\n123456", (5, 9)), ["12345", "1234…"]);
        assert_eq!(fitting("größer", (6, 9)), ["größer"]);
        // These characters have two columns each.
        assert_eq!(fitting("日本語", (5, 9)), ["日本…"]);
        assert_eq!(fitting("日本語", (4, 9)), ["日…"]);
        assert_eq!(fitting("a\nb\nc\nd", (9, 3)), ["a", "b"]);
        assert_eq!(fitting("ab", (1, 1)), ["…"]);
        assert_eq!(fitting("ab", (0, 0)), ["…"]);
    }
}
