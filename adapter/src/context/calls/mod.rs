//! Recorded calls as a history that can be queried: which calls of which functions, with which
//! arguments and results, as a list by nesting or as groups.

mod filter;

pub use filter::Filter;

use super::traces::{self, grouped};
use crate::protocol::{AddTraceArguments, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What is recorded of each call.
const FIELDS: [&str; 5] = ["function", "arguments", "returned", "elapsed", "call_depth"];
/// How many calls are kept: the last ones.
const KEEP: usize = 20_000;
/// The result of a function that has none.
const NO_RESULT: &str = "nothing";
/// Maximum length of a value in bytes.
const MAX_VALUE: usize = 120;

/// A call that has returned.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Its place in the order of returns, from 1 on.
    pub number: u64,
    /// The thread's id.
    pub thread: Option<i64>,
    /// How many recorded calls were in progress when it began.
    pub depth: usize,
    /// The function.
    pub function: String,
    /// The arguments, by name.
    pub arguments: Vec<(String, String)>,
    /// The result; `nothing` of a function without one.
    pub returned: String,
    /// How long it took, in nanoseconds.
    pub elapsed: f64,
    /// Whether there was no stop in it that adds to that time.
    pub is_timed: bool,
    /// When it began, in seconds since recording began.
    began: f64,
}

/// Returns the regular expression of a pattern with `*` and `?`, unless it is one.
pub fn pattern(pattern: &str) -> String {
    if pattern.len() > 1 && pattern.starts_with('/') && pattern.ends_with('/') {
        return pattern.to_owned();
    }
    let mut expression = String::from("/^");
    for char in pattern.chars() {
        match char {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            _ if char.is_alphanumeric() || matches!(char, '_' | ':' | ' ' | ',') => {
                expression.push(char);
            }
            _ => expression.extend(['\\', char]),
        }
    }
    expression.push_str("$/");
    expression
}

/// Returns the tracepoint that records the calls of functions, by a name or a pattern.
pub fn tracepoint(functions: &str, condition: Option<&str>) -> AddTraceArguments {
    let location = match functions.contains(['*', '?']) {
        true => pattern(functions),
        false => functions.to_owned(),
    };
    let filter = condition.map_or_else(String::new, |condition| format!(" where {condition}"));
    let query = format!("{}{filter} keep {KEEP}", FIELDS.join(", "));
    AddTraceArguments { location, query }
}

/// Returns whether a tracepoint records calls in this form.
pub fn is_history(trace: &Trace) -> bool {
    trace.recorded == FIELDS
}

/// Returns the recorded calls of such a tracepoint, in the order of their returns.
pub fn calls(trace: &Trace) -> Vec<Call> {
    let first = trace.all_records - (trace.records.len() as u64).min(trace.all_records) + 1;
    let numbered = trace.records.iter().zip(first..);
    let call = |(record, number): (&crate::protocol::TraceRecord, u64)| {
        let [function, arguments, returned, elapsed, depth] = &record.values[..] else {
            return None;
        };
        let (elapsed, is_timed) = traces::duration(elapsed)?;
        Some(Call {
            number,
            thread: record.thread_id,
            depth: depth.parse().unwrap_or(0),
            function: function.clone(),
            arguments: split_arguments(arguments),
            returned: returned.clone(),
            elapsed,
            is_timed,
            began: record.time - elapsed / 1e9,
        })
    };
    numbered.filter_map(call).collect()
}

/// Splits `a = 1, b = {x = 2, y = 3}` where a comma is outside of brackets and quotes.
fn split_arguments(text: &str) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let (mut depth, mut quoted, mut escaped, mut begin) = (0_i32, None, false, 0);
    for (at, char) in text.char_indices() {
        match (quoted, char) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(quote), _) if char == quote => quoted = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quoted = Some(char),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth <= 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    let named = parts.iter().filter_map(|part| part.split_once(" = "));
    named
        .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
        .collect()
}

/// The fields of each call, besides its arguments.
const NAMED: [&str; 5] = ["function", "returned", "elapsed", "depth", "thread"];
/// Maximum number of names of arguments in a message.
const LISTED: usize = 20;

/// Returns an error about the first field that no call has, with the fields that there are; `None` if there is no such
/// field, or no call.
pub fn unknown_field<'a>(
    calls: &[Call],
    mut fields: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let arguments = calls.iter().flat_map(|call| &call.arguments);
    let arguments: BTreeSet<&str> = arguments.map(|(name, _)| &**name).collect();
    let is_known = |field: &str| NAMED.contains(&field) || arguments.contains(field);
    let unknown = fields.find(|field| !is_known(field));
    let field = unknown.filter(|_| !calls.is_empty())?;
    let mut known: Vec<&str> = NAMED.to_vec();
    known.extend(arguments.iter().take(LISTED));
    Some(format!(
        "no recorded call has a field `{field}`; there are {}",
        known.join(", ")
    ))
}

impl Call {
    /// Returns what a name stands for: `function`, `returned`, `elapsed`, `depth`, `thread`, or an
    /// argument.
    pub fn field(&self, name: &str) -> Option<String> {
        let argument = self.arguments.iter().find(|(known, _)| known == name);
        Some(match (argument, name) {
            (Some((_, value)), _) => value.clone(),
            (None, "function") => self.function.clone(),
            // A function without a result has none to compare.
            (None, "returned") if self.returned == NO_RESULT => return None,
            (None, "returned") => self.returned.clone(),
            (None, "elapsed") if !self.is_timed => return None,
            (None, "elapsed") => format!("{:.0}", self.elapsed),
            (None, "depth") => self.depth.to_string(),
            (None, "thread") => self.thread?.to_string(),
            _ => return None,
        })
    }

    fn text(&self) -> String {
        let arguments = self.arguments.iter();
        let arguments = arguments.map(|(name, value)| format!("{name} = {}", cut(value)));
        let arguments: Vec<String> = arguments.collect();
        let result = match &self.returned[..] {
            NO_RESULT => String::new(),
            value => format!(" → {}", cut(value)),
        };
        format!("{}({}){result}", self.function, arguments.join(", "))
    }
}

fn cut(value: &str) -> String {
    match value.len() > MAX_VALUE {
        true => format!("{}…", &value[..value.floor_char_boundary(MAX_VALUE)]),
        false => value.to_owned(),
    }
}

/// Returns calls as lines, in the order in which they began, indented by nesting. `thread`: the number to
/// show for a thread.
pub fn list(calls: &[Call], thread: impl Fn(i64) -> Option<usize>) -> String {
    let mut sorted: Vec<&Call> = calls.iter().collect();
    sorted.sort_by(|a, b| {
        let by_time = a.began.total_cmp(&b.began);
        by_time.then(a.depth.cmp(&b.depth))
    });
    let least = sorted.iter().map(|call| call.depth).min().unwrap_or(0);
    let has_threads = sorted.windows(2).any(|it| it[0].thread != it[1].thread);
    let mut text = String::new();
    for call in sorted {
        let _ = write!(text, "  #{} ", call.number);
        if let Some(thread) = call.thread.and_then(&thread).filter(|_| has_threads) {
            let _ = write!(text, "thread {thread} ");
        }
        let indent = "  ".repeat((call.depth - least).min(20));
        let _ = writeln!(text, "{indent}{}", call.text());
    }
    text
}

/// Returns the number of calls for each combination of these fields, the most frequent first, at most
/// `limit`. Calls that do not have a field are in the row `–`.
pub fn groups(calls: &[Call], fields: &[String], limit: usize) -> String {
    let mut counts: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for call in calls {
        let key = fields.iter().map(|field| match call.field(field) {
            Some(value) => cut(&value),
            None => "–".to_owned(),
        });
        *counts.entry(key.collect()).or_default() += 1;
    }
    let mut rows: Vec<(Vec<String>, u64)> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut text = String::new();
    for (key, count) in rows.iter().take(limit) {
        let named = fields.iter().zip(key);
        let named: Vec<String> = named
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        let _ = writeln!(text, "  {:>9}  {}", grouped(*count), named.join(", "));
    }
    let left = rows.len().saturating_sub(limit);
    if left > 0 {
        let _ = writeln!(text, "  ({} more groups)", grouped(left as u64));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::TraceRecord;

    fn trace() -> Trace {
        let record = |time: f64, values: [&str; 5]| TraceRecord {
            time,
            thread_id: Some(100),
            values: values.map(str::to_owned).to_vec(),
        };
        Trace {
            all_records: 12,
            records: vec![
                record(
                    3e-6,
                    [
                        "price",
                        "n = 2, of = {a = 1, b = \"x, y\"}",
                        "20",
                        "500",
                        "1",
                    ],
                ),
                record(
                    5e-6,
                    ["price", "n = 3, of = {a = 2, b = \"\"}", "-1", "900", "1"],
                ),
                record(9e-6, ["total", "", "nothing", "8000", "0"]),
            ],
            ..Trace::default()
        }
    }

    #[test]
    fn calls_are_listed_by_their_beginnings() {
        let calls = calls(&trace());
        assert_eq!(
            list(&calls, |_| Some(1)),
            "  #12 total()\n\
             \x20 #10   price(n = 2, of = {a = 1, b = \"x, y\"}) → 20\n\
             \x20 #11   price(n = 3, of = {a = 2, b = \"\"}) → -1\n"
        );
        let wanted = Filter::parse("returned < 0").expect("a filter");
        let found: Vec<u64> = (calls.iter().filter(|call| wanted.holds(call)))
            .map(|call| call.number)
            .collect();
        assert_eq!(found, [11]);
        // `total` returns nothing.
        for wanted in [
            "returned > 0",
            "returned = nothing",
            "function = total and returned < 1",
        ] {
            let wanted = Filter::parse(wanted).expect("a filter");
            assert!(
                !calls
                    .iter()
                    .any(|call| call.number == 12 && wanted.holds(call))
            );
        }
    }

    #[test]
    fn groups_are_counted() {
        let calls = calls(&trace());
        let fields = ["function".to_owned(), "n".to_owned()];
        assert_eq!(
            groups(&calls, &fields[..1], 1),
            "          2  function = price\n  (1 more groups)\n"
        );
        let shown = groups(&calls, &fields, 9);
        assert!(shown.contains("  1  function = total, n = –\n"), "{shown}");
    }

    #[test]
    fn patterns_become_regular_expressions() {
        assert_eq!(pattern("shop::*"), "/^shop::.*$/");
        assert_eq!(pattern("f?(int)"), "/^f.\\(int\\)$/");
        assert_eq!(pattern("/a|b/"), "/a|b/");
    }

    #[test]
    fn arguments_are_split_outside_of_brackets_and_quotes() {
        let split = split_arguments("a = 'x', b = \"\\\", \", c = f(1, 2), d = {");
        let names: Vec<&str> = split.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!(split[1].1, "\"\\\", \"");
        assert!(split_arguments("").is_empty());
    }
}
