//! What a tracepoint records: `count(), max(n) by kind where n > 3`, parsed once.
//!
//! A query is a list of items, separated by commas: values to record, and aggregates. Behind them
//! may follow `by KEY, ...` (a row for each combination of keys), `where CONDITION`, and
//! `keep N` (records that are kept). Each aggregate that needs rows of its own, as `distinct` does,
//! is a table of its own.

mod at_site;
mod parse;
mod split;
pub(crate) mod words;

pub use at_site::{NOTHING, Returning, SiteQuery};

use super::Expression;
use super::check::Use;

/// A parsed query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The tables, in the order of their first items.
    pub tables: Vec<Table>,
    /// The values that a record has.
    pub record: Vec<Subject>,
    /// The number of records that are kept: the last ones.
    pub keep: usize,
    /// Whether clients get all records: the program waits rather than overwrite one that was not read.
    pub keeps_all: bool,
    /// The text of the condition under which a hit is recorded.
    pub filter: Option<String>,
    /// The places since whose passes a time is measured.
    pub sinces: Vec<Since>,
    /// Whether functions are recorded that only the debugger can evaluate, of however many.
    pub with_traps: bool,
    /// Nothing is recorded, but the time of a hit is kept for another tracepoint's `since`, under this
    /// key.
    pub mark: Option<Subject>,
}

/// The place of a `since`: each pass of it is measured once, to the first hit with the same key.
#[derive(Clone, Debug)]
pub struct Since {
    /// `FILE:LINE` or a function.
    pub place: String,
    /// What a pass and a hit have in common: the thread, unless the query says otherwise.
    pub key: Subject,
}

/// A table: a row for each combination of keys.
#[derive(Clone, Debug)]
pub struct Table {
    /// The keys.
    pub keys: Vec<Subject>,
    /// The columns. Each row counts its hits besides.
    pub columns: Vec<Column>,
    /// The number of rows to show, those with the most hits first; `None`: all.
    pub shown: Option<usize>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// What is computed.
    pub aggregate: Aggregate,
    /// Of which value; `count()` and `rate()` have none.
    pub value: Option<Subject>,
}

/// What a column computes of its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// The number of hits.
    Count,
    /// The sum.
    Sum,
    /// The smallest value.
    Least,
    /// The largest value.
    Greatest,
    /// The sum divided by the number of values.
    Mean,
    /// How often values are in each bucket.
    Histogram(Scale),
    /// How many hits there are in each interval of the time since the start.
    Rate,
}

/// The buckets of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Powers of two.
    Log2,
    /// From a value up to another, by steps; two more for what is below and above.
    Linear {
        /// The lower bound of the first bucket.
        from: i64,
        /// The upper bound of the last bucket.
        to: i64,
        /// The width of a bucket, more than 0.
        step: u64,
    },
}

/// A value of a hit, and its text in the query.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The text.
    pub text: String,
    /// The value.
    pub value: Source,
}

/// Where a value is from.
#[derive(Clone, Debug)]
pub enum Source {
    /// An expression.
    Expression(Expression),
    /// The functions on the stack, innermost first, at most this number.
    Stack(usize),
    /// The name of the function.
    Function,
    /// The names and values of the function's parameters.
    Arguments,
    /// How long a call took, from the entry of the function to its return, in nanoseconds.
    Elapsed,
    /// The value that a call returned.
    Returned,
    /// Stands for it at the site of a function that returns nothing.
    Nothing,
    /// The calls in progress that are traced, outermost first, to the call itself.
    CallPath,
    /// Their number, without the call itself.
    CallDepth,
    /// The time since the latest pass of another place, in nanoseconds: the index of that place in
    /// [`Query::sinces`]. There may be none.
    Since(usize),
}

impl Since {
    /// Returns whether the latest pass in the same thread is meant.
    pub fn is_of_threads(&self) -> bool {
        self.key.text == parse::THREAD
    }
}

impl Aggregate {
    /// Returns the use of a column's value.
    fn of_value(self) -> Use {
        match self {
            Aggregate::Sum | Aggregate::Mean => Use::Summand,
            Aggregate::Least | Aggregate::Greatest | Aggregate::Histogram(_) => Use::Number,
            // These have no value.
            Aggregate::Count | Aggregate::Rate => Use::Value,
        }
    }
}

impl Scale {
    /// Returns the number of buckets of a linear scale, without the two outside.
    pub fn buckets(from: i64, to: i64, step: u64) -> u64 {
        to.abs_diff(from).div_ceil(step.max(1))
    }
}

impl Subject {
    /// Returns the expression, if it is one.
    pub fn expression(&self) -> Option<&Expression> {
        match &self.value {
            Source::Expression(expression) => Some(expression),
            _ => None,
        }
    }

    /// Returns whether the value is known only when the call returns.
    pub fn is_late(&self) -> bool {
        matches!(self.value, Source::Elapsed | Source::Returned)
    }

    /// Returns whether these are several values, which differ by function.
    pub fn is_list(&self) -> bool {
        matches!(self.value, Source::Arguments)
    }
    /// Returns whether the value is one of the calls in progress.
    pub fn is_path(&self) -> bool {
        matches!(self.value, Source::CallPath | Source::CallDepth)
    }
}

impl Query {
    /// Returns all values that the query mentions outside of its condition.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        let tables = self.tables.iter().flat_map(|table| {
            let columns = table
                .columns
                .iter()
                .filter_map(|column| column.value.as_ref());
            table.keys.iter().chain(columns)
        });
        tables.chain(&self.record)
    }

    /// Returns the expressions of all values, and of the keys of `since`, with the use of their values.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = (&Expression, Use)> {
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        let numbers = columns.filter_map(|column| {
            let expression = column.value.as_ref()?.expression()?;
            Some((expression, column.aggregate.of_value()))
        });
        let keys = self.tables.iter().flat_map(|table| &table.keys);
        let keys = keys.chain(self.sinces.iter().map(|since| &since.key));
        let shown = keys.chain(&self.record).chain(&self.mark);
        let shown = shown.filter_map(|it| Some((it.expression()?, Use::Value)));
        numbers.chain(shown)
    }

    /// Returns whether nothing is recorded that the frame of a hit has: no variable, parameter or register.
    pub fn needs_no_frame(&self) -> bool {
        let needs = |it: &Subject| matches!(it.value, Source::Expression(_) | Source::Arguments);
        self.filter.is_none()
            && self.mark.is_none()
            && self.sinces.is_empty()
            && !self.subjects().any(needs)
    }

    /// Returns whether calls are recorded, when they return, rather than hits.
    pub fn records_calls(&self) -> bool {
        let is_of_call =
            |it: &Subject| it.is_late() || it.is_path() || matches!(it.value, Source::Nothing);
        self.subjects().any(is_of_call)
    }

    /// Returns whether the durations of calls are recorded.
    pub fn times_calls(&self) -> bool {
        self.subjects()
            .any(|it| matches!(it.value, Source::Elapsed))
    }

    /// Returns whether the time of a hit or a call is recorded.
    pub fn needs_clock(&self) -> bool {
        let mut columns = self.tables.iter().flat_map(|table| &table.columns);
        !self.record.is_empty()
            || self.mark.is_some()
            || self.records_calls()
            || columns.any(|column| column.aggregate == Aggregate::Rate)
    }

    /// Returns whether the calls in progress are recorded.
    pub fn records_paths(&self) -> bool {
        self.subjects().any(Subject::is_path)
    }
}

#[cfg(test)]
mod tests;
