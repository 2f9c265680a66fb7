//! Durations and ranges.

use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library::call::Call;
use crate::inspect::library::compare;
use crate::inspect::library::method::Parameter::Element;
use crate::inspect::library::method::{Class, Row, boolean, size};
use crate::inspect::library::number;
use crate::inspect::value::{Synthetic, Ty, Value, members, synthetic};
use crate::inspect::visualize::rust_std;
use std::cmp::Ordering;
use std::time::Duration;

/// Methods of `Duration`.
pub const DURATION: &[Row] = &[
    Row::new("as_secs", &[], u64_ty, |it| {
        Ok(it.number(u128::from(duration(it)?.as_secs())))
    }),
    Row::new("as_millis", &[], u128_ty, |it| {
        Ok(it.number(duration(it)?.as_millis()))
    }),
    Row::new("as_micros", &[], u128_ty, |it| {
        Ok(it.number(duration(it)?.as_micros()))
    }),
    Row::new("as_nanos", &[], u128_ty, |it| {
        Ok(it.number(duration(it)?.as_nanos()))
    }),
    Row::new("subsec_millis", &[], u32_ty, |it| {
        Ok(it.number(u128::from(duration(it)?.subsec_millis())))
    }),
    Row::new("subsec_micros", &[], u32_ty, |it| {
        Ok(it.number(u128::from(duration(it)?.subsec_micros())))
    }),
    Row::new("subsec_nanos", &[], u32_ty, |it| {
        Ok(it.number(u128::from(duration(it)?.subsec_nanos())))
    }),
    Row::new("as_secs_f64", &[], f64_ty, |it| {
        let bits = duration(it)?.as_secs_f64().to_bits();
        Ok(it.number(u128::from(bits)))
    }),
    Row::new("as_secs_f32", &[], f32_ty, |it| {
        let bits = duration(it)?.as_secs_f32().to_bits();
        Ok(it.number(u128::from(bits)))
    }),
    Row::new("is_zero", &[], boolean, |it| {
        Ok(it.truth(duration(it)?.is_zero()))
    }),
];

/// Methods of ranges.
pub const RANGE: &[Row] = &[
    Row::new("contains", &[Element], boolean, |it| {
        let wanted = it.argument(0)?;
        let order = |bound: Option<Value>| -> Result<Option<Ordering>, Error> {
            bound.map_or(Ok(None), |bound| compare(it.target, &bound, wanted))
        };
        let (start, end) = (bound(it, &["start"])?, bound(it, &["end", "last"])?);
        let from =
            start.is_none() || matches!(order(start)?, Some(Ordering::Less | Ordering::Equal));
        let to = match (end, it.class.name.ends_with("Inclusive")) {
            (None, _) => true,
            (end, true) => matches!(order(end)?, Some(Ordering::Greater | Ordering::Equal)),
            (end, false) => order(end)? == Some(Ordering::Greater),
        };
        Ok(it.truth(from && to))
    }),
    Row::new("is_empty", &[], bounded, |it| {
        let (start, end) = (bound(it, &["start"])?, bound(it, &["end"])?);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(it.unreadable());
        };
        let order = compare(it.target, &start, &end)?;
        let exhausted = match bound(it, &["exhausted"])? {
            Some(exhausted) => exhausted.raw(it.target)? != 0,
            None => false,
        };
        let some = match it.class.name.ends_with("Inclusive") {
            true => matches!(order, Some(Ordering::Less | Ordering::Equal)) && !exhausted,
            false => order == Some(Ordering::Less),
        };
        Ok(it.truth(!some))
    }),
    Row::new("len", &[], half_open, |it| {
        let (start, end) = (bound(it, &["start"])?, bound(it, &["end"])?);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(it.unreadable());
        };
        let start = number::integer(it.target, &start)?.value();
        let end = number::integer(it.target, &end)?.value();
        Ok(it.number(end.saturating_sub(start).max(0) as u128))
    }),
    Row::new("count", &[], counted, |it| {
        let (start, end) = (bound(it, &["start"])?, bound(it, &["end"])?);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(it.unreadable());
        };
        let start = number::integer(it.target, &start)?.value();
        let end = number::integer(it.target, &end)?.value();
        let exhausted = match bound(it, &["exhausted"])? {
            Some(exhausted) => exhausted.raw(it.target)? != 0,
            None => false,
        };
        let last = i128::from(it.class.name.ends_with("Inclusive") && !exhausted);
        let count = end.saturating_sub(start).saturating_add(last).max(0);
        Ok(it.number(count as u128))
    }),
    Row::new("start", &[], inclusive, |it| end(it, &["start"])),
    Row::new("end", &[], inclusive, |it| end(it, &["end"])),
];

fn u64_ty(_: &Class) -> Option<Ty> {
    rust::builtin("u64")
}

fn u128_ty(_: &Class) -> Option<Ty> {
    rust::builtin("u128")
}

fn u32_ty(_: &Class) -> Option<Ty> {
    rust::builtin("u32")
}

fn f64_ty(_: &Class) -> Option<Ty> {
    rust::builtin("f64")
}

fn f32_ty(_: &Class) -> Option<Ty> {
    rust::builtin("f32")
}

fn duration(it: &Call<'_>) -> Result<Duration, Error> {
    rust_std::duration(it.target, it.object)
}

/// Returns `bool` for a range with both ends.
fn bounded(class: &Class) -> Option<Ty> {
    matches!(&*class.name, "Range" | "RangeInclusive")
        .then(|| boolean(class))
        .flatten()
}

/// Returns `usize` for a range of integers that excludes its end.
fn half_open(class: &Class) -> Option<Ty> {
    let of = class.template_argument(0)?;
    (class.name == "Range" && compare::is_integer(&of)).then(|| size(class))?
}

/// Returns `usize` for a range of integers with both ends.
fn counted(class: &Class) -> Option<Ty> {
    let of = class.template_argument(0)?;
    (bounded(class).is_some() && compare::is_integer(&of)).then(|| size(class))?
}

/// Returns `&T` for a range whose ends are read by methods.
fn inclusive(class: &Class) -> Option<Ty> {
    let of = class.template_argument(0)?;
    (class.name == "RangeInclusive").then(|| of.reference())
}

fn bound(it: &Call<'_>, names: &[&str]) -> Result<Option<Value>, Error> {
    if let Ty::Synthetic(range) = &it.object.ty
        && let Synthetic::Range(_, known) = &**range
    {
        let parts = synthetic::parts(it.object).unwrap_or_default();
        let mut named = known.iter().zip(parts);
        let found = named.find(|((name, _), _)| names.contains(name));
        return Ok(found.map(|it| it.1));
    }
    for name in names {
        if let Some(found) = members::find(it.target, it.object, name)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn end(it: &Call<'_>, names: &[&str]) -> Result<Value, Error> {
    let bound = bound(it, names)?.ok_or_else(|| it.unreadable())?;
    it.reference(&bound)
}
