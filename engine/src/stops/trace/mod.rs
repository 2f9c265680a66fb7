//! What tracepoints have recorded: tables and the last records, as values and texts. Hits that the
//! debugger evaluates are added one by one; those that the program has recorded itself are decoded
//! from its memory (`decode`) and merged when they are asked for.

mod decode;
mod number;
mod rate;

pub use decode::{PATH_SEPARATOR, STACK_SEPARATOR};
pub(crate) use decode::{columns, duration_text, number, path_text, record_values, time_text};
pub use number::{Histogram, Number};
pub use rate::Rate;

use crate::expr::query::{Aggregate, Column, Query, Scale, Source, Subject, Table};
use crate::ids::ThreadId;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Maximum number of rows of a table that the debugger keeps; hits of further keys are in one row.
const MAX_ROWS: usize = 1 << 14;
/// Maximum size in bytes of a key's text, and of one that names many functions.
const MAX_KEY: usize = 512;
const MAX_STACK_KEY: usize = 16 << 10;

/// What a tracepoint has recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TraceReport {
    /// The query.
    pub query: String,
    /// The function, or the pattern of functions, that it was set on.
    pub function: Option<String>,
    /// The number of hits that were recorded.
    pub hits: u64,
    /// The time since it was set.
    pub age: Duration,
    /// Its tables.
    pub tables: Vec<TableReport>,
    /// The values that each record has.
    pub recorded: Vec<String>,
    /// The last records, oldest first.
    pub records: Vec<Record>,
    /// The number of all records so far; only the last ones are kept.
    pub all_records: u64,
    /// Whether clients get all records.
    pub keeps_all: bool,
    /// The number of hits that waited until records were read.
    pub waited: u64,
    /// Calls that have begun and not returned: they are in progress, or have ended otherwise.
    pub unreturned: u64,
    /// Calls that are not timed: the debugger stopped the program in them, and they were not much longer than that takes.
    pub untimed: u64,
    /// Hits whose values could not be computed, and the last reason.
    pub failed: Option<(u64, String)>,
}

/// A table.
#[derive(Clone, PartialEq, Debug)]
pub struct TableReport {
    /// The names of its keys.
    pub keys: Vec<String>,
    /// What its keys are.
    pub key_kinds: Vec<KeyKind>,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// What its columns are.
    pub column_kinds: Vec<ColumnKind>,
    /// Its rows, those with the most hits first.
    pub rows: Vec<Row>,
    /// Hits of keys that have no row since there are too many.
    pub others: Option<Row>,
    /// The number of rows that exist; `rows` may have fewer.
    pub all_rows: usize,
}

/// What a key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// A value.
    Value,
    /// The name of a function.
    Function,
    /// Names of functions, innermost first, with [`STACK_SEPARATOR`] between.
    Stack,
    /// Names of functions, outermost first, with [`PATH_SEPARATOR`] between.
    Path,
}

/// What a column is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnKind {
    /// What is computed: `count`, `sum`, `min`, `max`, `mean`, `hist` or `rate`.
    pub aggregate: &'static str,
    /// Of which value; `count()` and `rate()` have none.
    pub value: Option<String>,
    /// Whether the value, or what hits are counted by, is a time in nanoseconds.
    pub is_duration: bool,
}

/// A row of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The text of each key.
    pub keys: Vec<String>,
    /// The number of its hits.
    pub hits: u64,
    /// The columns.
    pub cells: Vec<Cell>,
}

/// The value of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// The number of hits.
    Count(u64),
    /// A sum, or an extreme; `None`: of no value.
    Number(Option<Number>),
    /// A sum, and the number of values.
    Mean(Number, u64),
    /// The buckets that have values.
    Histogram(Histogram),
    /// The hits over time.
    Rate(Rate),
}

/// A record.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// When the hit was, since the tracepoint was set.
    pub time: Duration,
    /// The thread; `None`: unknown.
    pub thread: Option<ThreadId>,
    /// The text of each value.
    pub values: Vec<String>,
}

impl TraceReport {
    /// Sets the time up to which rates are shown, in ticks since the start: `now`, or that of the last
    /// hit.
    pub(crate) fn show_rates_until(&mut self, now: Option<u64>) {
        let cells = self.tables.iter_mut().flat_map(|table| {
            let rows = table.rows.iter_mut().chain(&mut table.others);
            rows.flat_map(|row| &mut row.cells)
        });
        let rates = cells.filter_map(|cell| match cell {
            Cell::Rate(rate) => Some(rate),
            _ => None,
        });
        let mut rates: Vec<&mut Rate> = rates.collect();
        let last = rates.iter().filter_map(|rate| rate.last()).max();
        let until = last.max(now).unwrap_or(0);
        rates.iter_mut().for_each(|rate| rate.show_until(until));
    }
}

/// What a hit adds to a table.
pub(crate) struct Addition {
    pub keys: Vec<String>,
    /// The number of each column, of `rate()` the ticks since the start; `None` for `count()`, and where
    /// there is none.
    pub numbers: Vec<Option<Number>>,
}

/// The hits of a tracepoint that the debugger has evaluated, or merged.
#[derive(Clone, Debug)]
pub(crate) struct Collected {
    tables: Vec<Rows>,
    records: VecDeque<Record>,
    all_records: u64,
    keep: usize,
    failed: Option<(u64, String)>,
}

#[derive(Clone, Debug, Default)]
struct Rows {
    by_keys: BTreeMap<Vec<String>, (u64, Vec<Cell>)>,
    others: Option<(u64, Vec<Cell>)>,
}

impl Cell {
    /// Returns the cell of a column with no value.
    fn empty(aggregate: Aggregate) -> Cell {
        match aggregate {
            Aggregate::Count => Cell::Count(0),
            Aggregate::Sum | Aggregate::Least | Aggregate::Greatest => Cell::Number(None),
            Aggregate::Mean => Cell::Mean(Number::Int(0), 0),
            Aggregate::Histogram(scale) => Cell::Histogram(Histogram::new(scale)),
            Aggregate::Rate => Cell::Rate(Rate::default()),
        }
    }

    /// Returns the cell of a single value.
    fn of(aggregate: Aggregate, number: Option<Number>) -> Cell {
        match (aggregate, number) {
            (Aggregate::Count, _) => Cell::Count(1),
            (Aggregate::Rate, Some(Number::Int(ticks))) => {
                let mut rate = Rate::default();
                rate.add(ticks.clamp(0, i128::from(u64::MAX)) as u64);
                Cell::Rate(rate)
            }
            (Aggregate::Rate, _) | (_, None) => Cell::empty(aggregate),
            (Aggregate::Least | Aggregate::Greatest, Some(number)) if number.is_nan() => {
                Cell::Number(None)
            }
            (Aggregate::Sum | Aggregate::Least | Aggregate::Greatest, number) => {
                Cell::Number(number)
            }
            (Aggregate::Mean, Some(number)) => Cell::Mean(number, 1),
            (Aggregate::Histogram(scale), Some(number)) => {
                let mut histogram = Histogram::new(scale);
                histogram.add(number);
                Cell::Histogram(histogram)
            }
        }
    }

    /// Adds what another cell of the same column has.
    fn merge(&mut self, aggregate: Aggregate, other: Cell) {
        match (self, other) {
            (Cell::Count(count), Cell::Count(more)) => *count = count.saturating_add(more),
            (Cell::Number(number), Cell::Number(more)) => {
                *number = match (*number, more) {
                    (Some(a), Some(b)) => Some(match aggregate {
                        Aggregate::Least => a.least(b),
                        Aggregate::Greatest => a.greatest(b),
                        _ => a.plus(b),
                    }),
                    (one, other) => one.or(other),
                };
            }
            (Cell::Mean(sum, count), Cell::Mean(more, values)) => {
                *sum = if *count == 0 { more } else { sum.plus(more) };
                *count = count.saturating_add(values);
            }
            (Cell::Histogram(histogram), Cell::Histogram(more)) => histogram.merge(&more),
            (Cell::Rate(rate), Cell::Rate(more)) => rate.merge(&more),
            _ => {}
        }
    }
}

impl Rows {
    fn merge(&mut self, table: &Table, keys: Option<Vec<String>>, hits: u64, cells: Vec<Cell>) {
        let none = || {
            let columns = table.columns.iter();
            (0, columns.map(|it| Cell::empty(it.aggregate)).collect())
        };
        let is_full = self.by_keys.len() >= MAX_ROWS;
        let row = match keys {
            Some(mut keys) if !is_full || self.by_keys.contains_key(&keys) => {
                for (key, subject) in keys.iter_mut().zip(&table.keys) {
                    shorten(key, subject);
                }
                self.by_keys.entry(keys).or_insert_with(none)
            }
            _ => self.others.get_or_insert_with(none),
        };
        // The program's memory may hold anything.
        row.0 = row.0.saturating_add(hits);
        for ((cell, more), column) in row.1.iter_mut().zip(cells).zip(&table.columns) {
            cell.merge(column.aggregate, more);
        }
    }
}

impl Collected {
    /// Returns the state before the first hit.
    pub fn new(query: &Query) -> Collected {
        Collected {
            tables: vec![Rows::default(); query.tables.len()],
            records: VecDeque::new(),
            all_records: 0,
            keep: query.keep,
            failed: None,
        }
    }

    /// Adds a hit to each table.
    pub fn add(&mut self, query: &Query, additions: Vec<Addition>) {
        for (number, addition) in additions.into_iter().enumerate() {
            let Some(table) = query.tables.get(number) else {
                continue;
            };
            let numbers = table.columns.iter().zip(addition.numbers);
            let cells = numbers.map(|(column, number)| Cell::of(column.aggregate, number));
            let cells = cells.collect();
            self.merge(query, number, Some(addition.keys), 1, cells);
        }
    }

    /// Adds rows of a table that have been counted elsewhere; without keys: hits that have no row.
    pub fn merge(
        &mut self,
        query: &Query,
        table: usize,
        keys: Option<Vec<String>>,
        hits: u64,
        cells: Vec<Cell>,
    ) {
        if let (Some(rows), Some(table)) = (self.tables.get_mut(table), query.tables.get(table)) {
            rows.merge(table, keys, hits, cells);
        }
    }

    /// Adds a record.
    pub fn record(&mut self, record: Record) {
        self.all_records += 1;
        self.records.push_back(record);
        if self.records.len() > self.keep {
            self.records.pop_front();
        }
    }

    /// Adds records that were kept elsewhere, of `all` that were written.
    pub fn merge_records(&mut self, records: Vec<Record>, all: u64) {
        self.all_records = self.all_records.saturating_add(all);
        self.records.extend(records);
        self.records
            .make_contiguous()
            .sort_by_key(|record| record.time);
        let excess = self.records.len().saturating_sub(self.keep);
        self.records.drain(..excess);
    }

    /// Adds all that was collected elsewhere.
    pub fn add_all(&mut self, query: &Query, other: Collected) {
        for (number, rows) in other.tables.into_iter().enumerate() {
            for (keys, (hits, cells)) in rows.by_keys {
                self.merge(query, number, Some(keys), hits, cells);
            }
            if let Some((hits, cells)) = rows.others {
                self.merge(query, number, None, hits, cells);
            }
        }
        let all = other.all_records;
        self.merge_records(other.records.into(), all);
        if let Some((count, why)) = other.failed {
            let before = self.failed.as_ref().map_or(0, |(count, _)| *count);
            self.failed = Some((before + count, why));
        }
    }

    /// Counts a hit whose values cannot be computed.
    pub fn fail(&mut self, why: String) {
        self.lose(1, &why);
    }

    /// Counts hits that were not recorded; the reason shown is the last one.
    pub fn lose(&mut self, hits: u64, why: &str) {
        if hits > 0 {
            let count = self.failed.as_ref().map_or(0, |(count, _)| *count);
            self.failed = Some((count.saturating_add(hits), why.to_owned()));
        }
    }

    /// Returns the report, with at most `rows` rows of each table and the last `records` records.
    pub fn report(&self, query: &Query, rows: usize, records: usize) -> TraceReport {
        let tables: Vec<TableReport> = (query.tables.iter().zip(&self.tables))
            .map(|(table, own)| own.report(table, rows))
            .collect();
        let hits = tables.first().map_or(self.all_records, |_| {
            let first = self.tables.first().into_iter();
            let rows = first.flat_map(|rows| rows.by_keys.values().chain(&rows.others));
            rows.fold(0_u64, |all, (hits, _)| all.saturating_add(*hits))
        });
        let skipped = self.records.len().saturating_sub(records);
        TraceReport {
            hits,
            tables,
            recorded: query.record.iter().map(|it| it.text.clone()).collect(),
            records: self.records.iter().skip(skipped).cloned().collect(),
            all_records: self.all_records,
            failed: self.failed.clone(),
            ..TraceReport::default()
        }
    }
}

impl Rows {
    fn report(&self, table: &Table, most: usize) -> TableReport {
        let row = |keys: &[String], (hits, cells): &(u64, Vec<Cell>)| Row {
            keys: keys.to_vec(),
            hits: *hits,
            cells: cells.clone(),
        };
        let rows = self.by_keys.iter();
        let mut rows: Vec<Row> = rows.map(|(keys, cells)| row(keys, cells)).collect();
        // Rows with as many hits stay in the order of their keys.
        rows.sort_by_key(|row| std::cmp::Reverse(row.hits));
        let all_rows = rows.len();
        rows.truncate(most.min(table.shown.unwrap_or(usize::MAX)));
        TableReport {
            keys: table.keys.iter().map(|it| it.text.clone()).collect(),
            key_kinds: table.keys.iter().map(key_kind).collect(),
            columns: table.columns.iter().map(title).collect(),
            column_kinds: table.columns.iter().map(column_kind).collect(),
            rows,
            others: self.others.as_ref().map(|cells| row(&[], cells)),
            all_rows,
        }
    }
}

fn key_kind(key: &Subject) -> KeyKind {
    match key.value {
        Source::Function => KeyKind::Function,
        Source::Stack(_) => KeyKind::Stack,
        Source::CallPath => KeyKind::Path,
        _ => KeyKind::Value,
    }
}

fn column_kind(column: &Column) -> ColumnKind {
    let value = column.value.as_ref();
    ColumnKind {
        aggregate: match column.aggregate {
            Aggregate::Count => "count",
            Aggregate::Sum => "sum",
            Aggregate::Least => "min",
            Aggregate::Greatest => "max",
            Aggregate::Mean => "mean",
            Aggregate::Histogram(Scale::Log2 | Scale::Linear { .. }) => "hist",
            Aggregate::Rate => "rate",
        },
        value: value.map(|value| value.text.clone()),
        is_duration: column.aggregate == Aggregate::Rate
            || value.is_some_and(|value| matches!(value.value, Source::Elapsed | Source::Since(_))),
    }
}

/// Returns the name of a column.
fn title(column: &Column) -> String {
    let kind = column_kind(column);
    match kind.value {
        Some(value) => format!("{}({value})", kind.aggregate),
        None => kind.aggregate.to_owned(),
    }
}

fn shorten(key: &mut String, subject: &Subject) {
    let most = match subject.value {
        Source::Stack(_) | Source::CallPath => MAX_STACK_KEY,
        _ => MAX_KEY,
    };
    if key.len() > most {
        key.truncate(key.floor_char_boundary(most));
        key.push('…');
    }
}

#[cfg(test)]
mod tests;
