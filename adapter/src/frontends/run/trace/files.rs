//! What `stillpoint trace` writes to files: a flame graph, and a timeline in the Trace Event Format, which
//! Perfetto and Chrome read.

use super::Options;
use crate::context::traces;
use crate::context::traces::tree::{self, CallTree};
use crate::files::output;
use crate::protocol::{Trace, TraceRecord, TraceTable};
use engine::STACK_SEPARATOR;
use inferno::flamegraph;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Returns why the files that the options ask for cannot be written, before anything runs. Files that exist are
/// left as they are.
///
/// # Errors
/// A file cannot be opened or made.
pub fn check(options: &Options) -> Result<(), String> {
    let mut paths = options.flame.iter().chain(&options.perfetto);
    paths.try_for_each(|path| output::check(path))
}

/// Writes the files that the options ask for.
///
/// # Errors
/// What cannot be written, and why, in words.
pub fn write(traces: &[Trace], options: &Options) -> Result<(), String> {
    let Some(trace) = traces.first() else {
        return Ok(());
    };
    if let Some(path) = &options.flame {
        to_file(path, |file| flame(trace, file))?;
    }
    if let Some(path) = &options.perfetto {
        to_file(path, |file| timeline(trace, file))?;
    }
    Ok(())
}

fn to_file(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), String>,
) -> Result<(), String> {
    let file = File::create(path).map_err(|error| output::cannot_write(path, &error))?;
    let mut file = BufWriter::new(file);
    content(&mut file).map_err(|why| output::cannot_write(path, &why))?;
    file.flush()
        .map_err(|error| output::cannot_write(path, &error))
}

/// Writes the flame graph of a table by stacks or by paths of calls.
fn flame(trace: &Trace, file: &mut dyn Write) -> Result<(), String> {
    let table = trace.tables.first();
    let lines = match table {
        Some(table) if tree::is_tree(table) => CallTree::of(table).folded(),
        Some(table) => stacks(table),
        None => Vec::new(),
    };
    if lines.is_empty() {
        return Err("nothing was recorded".to_owned());
    }
    let mut options = flamegraph::Options::default();
    options.title = traces::place(trace)
        .unwrap_or("stillpoint trace")
        .to_owned();
    let has_times = table.is_some_and(|it| it.columns.iter().any(|name| name == tree::TOTAL));
    options.count_name = if has_times { "ns" } else { "hits" }.to_owned();
    let lines = lines.iter().map(String::as_str);
    flamegraph::from_lines(&mut options, lines, file).map_err(|error| error.to_string())
}

/// Returns the rows of a table by stacks: `outer;inner number`.
fn stacks(table: &TraceTable) -> Vec<String> {
    let line = |row: &crate::protocol::TraceRow| {
        let mut names: Vec<&str> = row.keys.first()?.split(STACK_SEPARATOR).collect();
        names.reverse();
        Some(format!("{} {}", names.join(";"), row.hits))
    };
    table.rows.iter().filter_map(line).collect()
}

/// Writes the records as a timeline: calls with their durations, other hits as instants.
fn timeline(trace: &Trace, file: &mut dyn Write) -> Result<(), String> {
    let written = |result: std::io::Result<()>| result.map_err(|error| error.to_string());
    written(file.write_all(b"{\"traceEvents\":[\n"))?;
    for (index, record) in trace.records.iter().enumerate() {
        let separator = if index > 0 { ",\n" } else { "" };
        written(write!(file, "{separator}{}", event(trace, record)))?;
    }
    written(file.write_all(b"\n],\"displayTimeUnit\":\"ns\"}\n"))
}

/// Returns a record as an event; times are in microseconds.
fn event(trace: &Trace, record: &TraceRecord) -> Value {
    let values = || trace.recorded.iter().zip(&record.values);
    let value = |wanted: &str| {
        let found = values().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let name = value("function").or_else(|| traces::place(trace));
    let end = record.time * 1e6;
    let shown = values().filter(|(name, _)| !matches!(&name[..], "function" | "elapsed"));
    let arguments: Map<String, Value> = shown
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    let mut event = json!({
        "name": name,
        "pid": 1,
        "tid": record.thread_id.unwrap_or(0),
        "args": arguments,
    });
    match value("elapsed").and_then(traces::duration) {
        Some((elapsed, is_timed)) => {
            if !is_timed {
                event["args"]["not timed"] = "the debugger stopped the program in this call".into();
            }
            event["ph"] = "X".into();
            event["ts"] = (end - elapsed / 1e3).into();
            event["dur"] = (elapsed / 1e3).into();
        }
        None => {
            event["ph"] = "i".into();
            event["s"] = "t".into();
            event["ts"] = end.into();
        }
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_beginnings() {
        let trace = Trace {
            recorded: ["function", "elapsed", "n"].map(str::to_owned).to_vec(),
            ..Trace::default()
        };
        let record = TraceRecord {
            time: 0.5,
            thread_id: Some(7),
            values: ["f", "2000", "3"].map(str::to_owned).to_vec(),
        };
        let wanted = json!({
            "name": "f", "ph": "X", "ts": 499_998.0, "dur": 2.0, "pid": 1, "tid": 7,
            "args": {"n": "3"},
        });
        assert_eq!(event(&trace, &record), wanted);
    }
}
