//! Rows and records in the program's memory, as values and texts.

use super::{Cell, Histogram, Number, Rate};
use crate::compile::{Captured, NEVER, NumberKind, TracedColumn};
use crate::expr::query::{Aggregate, Scale, Source, Subject};
use crate::inferior::jump_patch::call_paths::CallPaths;
pub(super) use crate::inferior::jump_patch::trace_area::EXPONENTS;
use crate::inferior::jump_patch::trace_area::{FLOAT_BUCKETS, INT_BUCKETS, RawRow, VALUES_ADDED};
use crate::inspect::value::{Limits, Target};

/// What stands between the functions of a stack that is a key.
pub const STACK_SEPARATOR: &str = " ← ";
/// What stands between the functions of a path.
pub const PATH_SEPARATOR: &str = " → ";

/// Returns the cells of a row.
pub(crate) fn columns<'a>(
    row: &RawRow,
    columns: impl Iterator<Item = &'a TracedColumn>,
) -> Vec<Cell> {
    let words = row.columns.iter();
    columns
        .zip(words)
        .map(|(column, words)| cell(*column, row.hits, words))
        .collect()
}

fn cell(column: TracedColumn, hits: u64, words: &[u64]) -> Cell {
    let sum = || match (column.kind, words) {
        (NumberKind::Float, [bits, ..]) => Number::Float(f64::from_bits(*bits)),
        (_, [low, high, ..]) => Number::Int((u128::from(*low) | u128::from(*high) << 64) as i128),
        _ => Number::Int(0),
    };
    let values = || match column.is_optional() {
        true => words.get(VALUES_ADDED as usize / 8).copied().unwrap_or(0),
        false => hits,
    };
    match column.aggregate {
        Aggregate::Count => Cell::Count(hits),
        Aggregate::Rate => {
            let mut rate = Rate::default();
            for (span, count) in (0..).zip(words).filter(|(_, count)| **count > 0) {
                rate.add_span(span, *count);
            }
            Cell::Rate(rate)
        }
        Aggregate::Sum => Cell::Number((values() > 0).then(sum)),
        Aggregate::Mean => Cell::Mean(sum(), values()),
        Aggregate::Least | Aggregate::Greatest => {
            let empty = match column.aggregate {
                Aggregate::Least => i64::MAX,
                _ => i64::MIN,
            };
            let ordered = words.first().copied().unwrap_or(0) as i64;
            // A float that is this number is not a number. An integer may be it, but there is a hit; a
            // time is not.
            let may_be_empty = column.kind == NumberKind::Float || column.is_optional();
            let is_empty = ordered == empty && may_be_empty;
            Cell::Number((!is_empty).then(|| number_in_order(column.kind, ordered)))
        }
        Aggregate::Histogram(scale) => {
            let mut histogram = Histogram::new(scale);
            let is_float = column.kind == NumberKind::Float;
            let buckets = if is_float { FLOAT_BUCKETS } else { INT_BUCKETS };
            for (bucket, count) in (0..).zip(words).filter(|(_, count)| **count > 0) {
                if scale == Scale::Log2 && is_float && bucket == FLOAT_BUCKETS {
                    histogram.add_not_numbers(*count);
                    continue;
                }
                let bucket = match scale {
                    // Those of negative numbers are behind the others.
                    Scale::Log2 if bucket > buckets / 2 => buckets / 2 - bucket,
                    _ => bucket,
                };
                histogram.add_bucket(bucket, *count, is_float);
            }
            Cell::Histogram(histogram)
        }
    }
}

/// Returns the number of these bits.
pub(crate) fn number(kind: NumberKind, bits: u64) -> Number {
    match kind {
        NumberKind::Signed => Number::Int(i128::from(bits as i64)),
        NumberKind::Unsigned => Number::Int(i128::from(bits)),
        NumberKind::Float => Number::Float(f64::from_bits(bits)),
    }
}

/// Returns the number that is at this place in the order of all numbers of its kind.
fn number_in_order(kind: NumberKind, ordered: i64) -> Number {
    match kind {
        NumberKind::Signed => Number::Int(i128::from(ordered)),
        NumberKind::Unsigned => Number::Int(i128::from(ordered as u64 ^ 1 << 63)),
        NumberKind::Float => {
            let bits = ordered ^ (ordered >> 63) & i64::MAX;
            Number::Float(f64::from_bits(bits as u64))
        }
    }
}

/// Returns the text of a path, or its depth. `names`: its functions, outermost first; none if there is
/// no room for the path.
pub(crate) fn path_text(subject: &Subject, names: &[String]) -> String {
    match subject.value {
        Source::CallDepth => names.len().saturating_sub(1).to_string(),
        _ if names.is_empty() => "(others)".to_owned(),
        _ => names.join(PATH_SEPARATOR),
    }
}

/// Returns the text of a time since a pass, in nanoseconds; [`NEVER`]: there was none.
pub(crate) fn time_text(nanoseconds: i64) -> String {
    match nanoseconds {
        NEVER => "none".to_owned(),
        nanoseconds => nanoseconds.to_string(),
    }
}

/// Returns the text of the duration of a call, in nanoseconds. One that is not timed is marked: a stop adds to it.
pub(crate) fn duration_text(nanoseconds: u64, is_timed: bool) -> String {
    let mark = if is_timed { "" } else { "~" };
    format!("{mark}{nanoseconds}")
}

/// Returns the texts of values: captured ones, and the name of the function.
pub(crate) fn record_values<'a>(
    values: &[u8],
    captured: impl Iterator<Item = &'a Captured>,
    (subjects, function): (&[Subject], &str),
    paths: Option<&CallPaths>,
    target: &dyn Target,
) -> Vec<String> {
    let mut rest = Some(values);
    let mut texts = Vec::new();
    let mut captured = captured;
    for subject in subjects {
        if matches!(subject.value, Source::Function) {
            texts.push(function.to_owned());
            continue;
        }
        let Some(captured) = captured.next() else {
            break;
        };
        if subject.is_path() {
            let word = rest.and_then(<[u8]>::split_first_chunk);
            rest = word.map(|(_, rest)| rest);
            let path = word.map_or(0, |(word, _)| u64::from_le_bytes(*word));
            let names = paths.map(|paths| paths.names(path)).unwrap_or_default();
            texts.push(path_text(subject, &names));
            continue;
        }
        if matches!(subject.value, Source::Since(_) | Source::Elapsed) {
            let word = rest.and_then(<[u8]>::split_first_chunk);
            rest = word.map(|(_, rest)| rest);
            let time = word.map_or(NEVER, |(word, _)| i64::from_le_bytes(*word));
            texts.push(match subject.value {
                Source::Elapsed => duration_text((time & i64::MAX) as u64, time >= 0),
                _ => time_text(time),
            });
            continue;
        }
        let numbers = subject.expression().and_then(|it| it.numbers());
        let limits = Limits {
            numbers: numbers.unwrap_or_default(),
            ..Limits::default()
        };
        let mut text = String::new();
        rest = rest.and_then(|rest| captured.format_values(rest, target, &limits, &mut text));
        if rest.is_none() {
            text = "<overwritten by the program>".to_owned();
        }
        texts.push(text);
    }
    texts
}
