//! Tracepoints: `stillpoint/addTrace`, `stillpoint/checkTrace`, `stillpoint/traces`,
//! `stillpoint/removeTrace` and `stillpoint/functionSource`, and the event `stillpoint/traces`. They are
//! not in the specification.

use super::BreakpointReason;
use serde::{Deserialize, Serialize};

/// The field `trace` of a breakpoint in `setBreakpoints`: it records, and does not stop.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TraceQuery {
    /// What to record: values and aggregates, as in `count(), max(n) by kind where n > 3`.
    pub query: String,
}

/// Arguments of `stillpoint/addTrace`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct AddTraceArguments {
    /// Where: `FILE:LINE`, or a function.
    pub location: String,
    /// What to record.
    pub query: String,
}

/// Arguments of `stillpoint/removeTrace`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct RemoveTraceArguments {
    /// The tracepoint.
    pub id: i64,
}

/// Arguments of `stillpoint/traces`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TracesArguments {
    /// The tracepoint; missing: all.
    pub id: Option<i64>,
    /// Maximum number of rows of each table, 20 if missing.
    pub rows: Option<i64>,
    /// Maximum number of records, the last ones; 20 if missing.
    pub records: Option<i64>,
    /// Whether the event `stillpoint/traces` is sent, once, when the program or the session ends:
    /// what all tracepoints have recorded then, with as many rows and records.
    pub at_end: Option<bool>,
}

/// Arguments of `stillpoint/checkTrace`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct CheckTraceArguments {
    /// The path of the source.
    pub path: String,
    /// The line in it.
    pub line: i64,
    /// What to record.
    pub query: String,
}

/// The response to `stillpoint/checkTrace`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckedTrace {
    /// What is wrong with the query, or that the line has no code yet; missing: nothing is known to
    /// be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Arguments of `stillpoint/functionSource`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct FunctionSourceArguments {
    /// The name of the function, as in a key that is a stack.
    pub name: String,
}

/// The response to `stillpoint/functionSource`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FunctionSource {
    /// The path of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line at which its body begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
}

/// The response to `stillpoint/traces`, and the body of the event to `stillpoint/traces`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Traces {
    /// The tracepoints, in the order in which they were set.
    pub traces: Vec<Trace>,
}

/// The event `stillpoint/records`: records of a tracepoint that keeps all, each of them once, in order of
/// time within an event.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceRecords {
    /// The tracepoint.
    pub id: i64,
    /// The records.
    pub records: Vec<TraceRecord>,
}

/// A tracepoint, and what it has recorded.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Trace {
    /// The id of its breakpoint.
    pub id: i64,
    /// What it records.
    pub query: String,
    /// The function, or the pattern `/REGULAR EXPRESSION/`, that it was set on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where it is, as `FILE:LINE` or an address, if it is anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The path of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// Whether it can be hit.
    pub verified: bool,
    /// Why the tracepoint is not verified: [`BreakpointReason::Failed`] for a query that cannot be recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<BreakpointReason>,
    /// Whether debug info is still being searched for its location, or for the names in its query.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_searching: bool,
    /// Whether no loaded module has the names and places in its query: only a library that is loaded later may have
    /// them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_names: bool,
    /// Why not, or a remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The number of recorded hits.
    pub hits: u64,
    /// How long ago it was set.
    pub seconds: f64,
    /// Its tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TraceTable>,
    /// The expressions whose values each record has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<String>,
    /// The last records, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<TraceRecord>,
    /// The number of all records so far.
    pub all_records: u64,
    /// Whether the event `stillpoint/records` brings all records (`keep all`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_all: bool,
    /// The number of hits that waited until records were read.
    #[serde(skip_serializing_if = "is_zero")]
    pub waited: u64,
    /// Calls that have begun and not returned: they are in progress, or have ended otherwise.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreturned: u64,
    /// The number of calls that are not timed: the program was stopped in them.
    #[serde(skip_serializing_if = "is_zero")]
    pub untimed: u64,
    /// Hits whose values could not be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<TraceFailures>,
}

/// The kind of a key that is a path of calls: names of functions, outermost first, with ` → ` between.
pub const PATH_KEY: &str = "path";

/// The aggregate that counts hits over time.
pub const RATE: &str = "rate";

/// A table of a tracepoint.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceTable {
    /// The names of its keys.
    pub keys: Vec<String>,
    /// What each key is: `value`, `function`, `stack` (names of functions, innermost first, with
    /// ` ← ` between), or [`PATH_KEY`].
    pub key_kinds: Vec<String>,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// What each column is.
    pub column_kinds: Vec<TraceColumn>,
    /// Its rows, those with the most hits first.
    pub rows: Vec<TraceRow>,
    /// Hits of keys without a row, since there are too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<TraceRow>,
    /// The number of rows that exist.
    pub all_rows: u64,
}

/// What a column of a table is.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceColumn {
    /// What is computed: `count`, `sum`, `min`, `max`, `mean`, `hist`, or [`RATE`].
    pub aggregate: String,
    /// Of which expression; missing for `count` and `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The unit of the numbers, `ns`, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// A row of a table.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceRow {
    /// The text of each key.
    pub keys: Vec<String>,
    /// The number of its hits.
    pub hits: u64,
    /// The columns.
    pub cells: Vec<TraceCell>,
}

/// The value of a column.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceCell {
    /// Its text; empty if there is no value, a histogram or a rate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The number, rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// The buckets from the first to the last that has values. Of a rate: intervals of one length from the
    /// start to now, or to the last hit if the program has ended, with the numbers of hits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<TraceBucket>,
}

/// A bucket of a histogram. Below 0, the bound that is nearer to 0 is `from`.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceBucket {
    /// The bound that is in it; missing: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// The bound that is not in it; missing: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// The number of values in it.
    pub count: u64,
}

/// A record.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceRecord {
    /// When the hit was, in seconds since the tracepoint was set.
    pub time: f64,
    /// The id of the thread; missing: unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<i64>,
    /// The text of each value.
    pub values: Vec<String>,
}

/// Hits whose values could not be computed.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceFailures {
    /// Their number.
    pub hits: u64,
    /// The last reason.
    pub message: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
