//! What tracepoints have recorded, in the client's form.

use crate::protocol::{
    PATH_KEY, Trace, TraceBucket, TraceCell, TraceColumn, TraceFailures, TraceRecord, TraceRow,
    TraceTable,
};
use crate::session::Session;
use crate::session::describe::breakpoints;
use engine::{
    BreakpointId, BreakpointInfo, Cell, ColumnKind, Histogram, KeyKind, Number, ProblemKind, Rate,
    Record, Row, TableReport,
};

/// Returns a tracepoint with at most `rows` rows of each table and the last `records` records; `None`:
/// there is no such tracepoint.
pub fn trace(
    session: &mut Session,
    id: BreakpointId,
    rows: usize,
    records: usize,
) -> Option<Trace> {
    let report = session.debugger.trace_report(id, rows, records)?;
    let info = session.debugger.breakpoint(id);
    let place = info.as_ref().and_then(|info| info.place.as_ref());
    let source = place.and_then(|place| place.source.as_ref());
    let path = source.and_then(|(path, ..)| session.sources.of(path, &session.client).path);
    let line = source.map(|(_, line, _)| *line);
    let location = match (source, place) {
        (Some((path, line, _)), _) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            Some(format!("{}:{line}", name.to_string_lossy()))
        }
        (None, Some(place)) => Some(place.address.to_string()),
        (None, None) => None,
    };
    Some(Trace {
        id: i64::from(id.0),
        query: report.query,
        function: report.function,
        location,
        path,
        line: line.map(|line| session.client.line_out(line)),
        verified: info.as_ref().is_some_and(|info| info.verified),
        reason: info.as_ref().and_then(breakpoints::reason),
        is_searching: info.as_ref().is_some_and(is_searching),
        lacks_names: info.as_ref().is_some_and(|info| info.lacks_names),
        // This is what to expect of a tracepoint.
        message: info
            .filter(|info| !info.is_in_program)
            .and_then(|info| info.message),
        hits: report.hits,
        seconds: report.age.as_secs_f64(),
        tables: report.tables.iter().map(table).collect(),
        recorded: report.recorded,
        records: report.records.into_iter().map(record).collect(),
        all_records: report.all_records,
        keeps_all: report.keeps_all,
        waited: report.waited,
        unreturned: report.unreturned,
        untimed: report.untimed,
        failed: report
            .failed
            .map(|(hits, message)| TraceFailures { hits, message }),
    })
}

fn is_searching(info: &BreakpointInfo) -> bool {
    info.problem == Some(ProblemKind::Searching)
}

fn table(table: &TableReport) -> TraceTable {
    TraceTable {
        keys: table.keys.clone(),
        key_kinds: table.key_kinds.iter().map(key_kind).collect(),
        columns: table.columns.clone(),
        column_kinds: table.column_kinds.iter().map(column).collect(),
        rows: table.rows.iter().map(row).collect(),
        others: table.others.as_ref().map(row),
        all_rows: table.all_rows as u64,
    }
}

fn key_kind(kind: &KeyKind) -> String {
    let name = match kind {
        KeyKind::Value => "value",
        KeyKind::Function => "function",
        KeyKind::Stack => "stack",
        KeyKind::Path => PATH_KEY,
    };
    name.to_owned()
}

fn column(kind: &ColumnKind) -> TraceColumn {
    TraceColumn {
        aggregate: kind.aggregate.to_owned(),
        value: kind.value.clone(),
        unit: kind.is_duration.then(|| "ns".to_owned()),
    }
}

fn row(row: &Row) -> TraceRow {
    TraceRow {
        keys: row.keys.clone(),
        hits: row.hits,
        cells: row.cells.iter().map(cell).collect(),
    }
}

fn cell(cell: &Cell) -> TraceCell {
    match cell {
        Cell::Count(count) => number(count.to_string(), *count as f64),
        Cell::Number(None) | Cell::Mean(_, 0) => TraceCell::default(),
        Cell::Number(Some(Number::Float(float))) => number(exact(*float), *float),
        Cell::Number(Some(value)) => number(value.to_string(), value.to_f64()),
        Cell::Mean(sum, count) => {
            let mean = sum.to_f64() / *count as f64;
            number(short(mean), mean)
        }
        Cell::Histogram(histogram) => TraceCell {
            histogram: buckets(histogram),
            ..TraceCell::default()
        },
        Cell::Rate(rate) => TraceCell {
            histogram: intervals(rate),
            ..TraceCell::default()
        },
    }
}

fn number(text: String, number: f64) -> TraceCell {
    TraceCell {
        text,
        // JSON has no other numbers.
        number: number.is_finite().then_some(number),
        histogram: Vec::new(),
    }
}

/// Returns whether a float is written in scientific notation: it has too many places otherwise.
fn is_scientific(float: f64) -> bool {
    let size = float.abs();
    size != 0.0 && !(1e-4..1e15).contains(&size)
}

/// Returns the text of a float that is no number or no finite one.
fn not_finite(float: f64) -> Option<&'static str> {
    match float {
        _ if float.is_nan() => Some("nan"),
        f64::INFINITY => Some("infinity"),
        f64::NEG_INFINITY => Some("-infinity"),
        _ => None,
    }
}

/// Returns a float with all digits that distinguish it from others.
fn exact(float: f64) -> String {
    match not_finite(float) {
        Some(text) => text.to_owned(),
        None if is_scientific(float) => format!("{float:e}"),
        None => float.to_string(),
    }
}

/// Returns a float with at most six digits, or in scientific notation.
fn short(float: f64) -> String {
    const DIGITS: i32 = 6;
    if let Some(text) = not_finite(float) {
        return text.to_owned();
    }
    if is_scientific(float) {
        return format!("{float:.5e}");
    }
    let size = float.abs();
    let before = if size < 1.0 {
        0
    } else {
        size.log10() as i32 + 1
    };
    let places = (DIGITS - before).max(0) as usize;
    let text = format!("{float:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn buckets(histogram: &Histogram) -> Vec<TraceBucket> {
    let buckets = histogram.buckets().into_iter();
    buckets
        .map(|(from, to, count)| TraceBucket { from, to, count })
        .collect()
}

fn intervals(rate: &Rate) -> Vec<TraceBucket> {
    let bucket = |(from, to, count)| TraceBucket {
        from: Some(from),
        to: Some(to),
        count,
    };
    rate.intervals().into_iter().map(bucket).collect()
}

/// Returns a record.
pub fn record(record: Record) -> TraceRecord {
    TraceRecord {
        time: record.time.as_secs_f64(),
        thread_id: record.thread.map(|thread| i64::from(thread.0)),
        values: record.values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_floats_are_exact() {
        for (float, text) in [
            (0.0, "0"),
            (250_249.5, "250249.5"),
            (524_742.5, "524742.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e300, "1e300"),
            (-1.25e-9, "-1.25e-9"),
            (f64::NEG_INFINITY, "-infinity"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(exact(float), text);
        }
    }

    #[test]
    fn floats_are_short() {
        for (float, text) in [
            (0.0, "0"),
            (41.0, "41"),
            (1.0 / 3.0, "0.333333"),
            (123_456_789.0, "123456789"),
            (1234.5678, "1234.57"),
            (-2.5, "-2.5"),
            (1e-9, "1.00000e-9"),
            (f64::INFINITY, "infinity"),
        ] {
            assert_eq!(short(float), text);
        }
    }
}
