//! `std::chrono`: durations and time points.

use super::{Instance, argument, either, std_class};
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Int, Number};
use crate::inspect::value::{Shape, Target, Ty, Value};
use crate::inspect::visualize::{View, calendar};
use std::cmp::Ordering;
use std::ops::Range;

/// A duration, as `1500ms`.
pub(in crate::inspect::visualize) fn duration(instance: &Instance<'_>) -> Result<View, Error> {
    let ticks = either(instance.target, instance.value, &["__r", "__rep_"])?;
    let (_, text) = ticks_of(instance.target, &ticks)?;
    Ok(View::Plain(text + &unit(period(&instance.value.ty)?)))
}

/// A time point: `2023-11-14 22:13:20` (UTC) for the system clock, else the time since the clock's
/// epoch.
pub(in crate::inspect::visualize) fn time_point(instance: &Instance<'_>) -> Result<View, Error> {
    let since = either(instance.target, instance.value, &["__d", "__d_"])?;
    let clock = instance.argument(0)?.strip();
    let system = match &clock {
        Ty::Dwarf(clock) => std_class(&clock.ty.name).is_some_and(|(_, class)| {
            class == "chrono::system_clock" || class == "chrono::_V2::system_clock"
        }),
        _ => false,
    };
    let ticks = either(instance.target, &since, &["__r", "__rep_"])?;
    let (number, _) = ticks_of(instance.target, &ticks)?;
    let (numerator, denominator) = period(&since.ty)?;
    match number {
        Number::Int(ticks) if system => {
            Ok(date(ticks.value(), numerator, denominator)
                .map_or(View::Pointee(since), View::Plain))
        }
        _ => Ok(View::Pointee(since)),
    }
}

/// Returns the tick count of a duration.
///
/// # Errors
/// The value is no duration, or cannot be read.
pub fn ticks(target: &dyn Target, duration: &Value) -> Result<Value, Error> {
    either(target, duration, &["__r", "__rep_"])
}

/// Compares two durations, whose periods may differ.
///
/// # Errors
/// They cannot be read, or their difference exceeds 128 bits.
pub fn compare(target: &dyn Target, a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    let read = |value: &Value| -> Result<(Number, (u64, u64)), Error> {
        let (number, _) = ticks_of(target, &ticks(target, value)?)?;
        Ok((number, period(&value.ty)?))
    };
    let ((x, (n, d)), (y, (m, e))) = (read(a)?, read(b)?);
    let exact = |number: Number, by: u64, other: u64| match number {
        Number::Int(int) => int
            .value()
            .checked_mul(i128::from(by))?
            .checked_mul(i128::from(other)),
        Number::Float(_) => None,
    };
    if let (Number::Int(_), Number::Int(_)) = (x, y) {
        let (x, y) = (exact(x, n, e), exact(y, m, d));
        let range = || Error::Unsupported("the durations are too long to compare".into());
        return Ok(Some(x.ok_or_else(range)?.cmp(&y.ok_or_else(range)?)));
    }
    let float = |number: Number, n: u64, d: u64| {
        let ticks = match number {
            Number::Int(int) => int.to_f64(),
            Number::Float(float) => float,
        };
        ticks * n as f64 / d as f64
    };
    Ok(float(x, n, d).partial_cmp(&float(y, m, e)))
}

fn ticks_of(target: &dyn Target, ticks: &Value) -> Result<(Number, String), Error> {
    let Shape::Scalar(scalar) = ticks.ty.shape() else {
        return Err(Error::Unsupported("the tick count is not a number".into()));
    };
    let number = scalar.number(ticks.raw(target)?);
    let text = match number {
        Number::Int(int @ Int { signed: true, .. }) => int.value().to_string(),
        Number::Int(int) => int.bits.to_string(),
        Number::Float(float) => float.to_string(),
    };
    Ok((number, text))
}

/// Returns the seconds per tick as a fraction, from `std::ratio<1, 1000>`.
fn period(duration: &Ty) -> Result<(u64, u64), Error> {
    let unknown = || Error::Unsupported("the period is not a `std::ratio`".into());
    let Ty::Dwarf(ratio) = argument(duration, 1)?.strip() else {
        return Err(unknown());
    };
    let (_, arguments) = ratio.ty.name.split_once('<').ok_or_else(unknown)?;
    let mut numbers = arguments
        .trim_end_matches('>')
        .split(',')
        .map(|text| text.trim().trim_end_matches(['l', 'L']).parse().ok());
    let mut next = || numbers.next().flatten().filter(|number| *number > 0);
    Ok((next().ok_or_else(unknown)?, next().unwrap_or(1)))
}

fn unit(period: (u64, u64)) -> String {
    match period {
        (1, 1_000_000_000) => "ns".into(),
        (1, 1_000_000) => "us".into(),
        (1, 1_000) => "ms".into(),
        (1, 1) => "s".into(),
        (60, 1) => "min".into(),
        (3600, 1) => "h".into(),
        (86400, 1) => "d".into(),
        (numerator, 1) => format!("[{numerator}]s"),
        (numerator, denominator) => format!("[{numerator}/{denominator}]s"),
    }
}

/// Range of seconds since 1970 that are formatted as dates: somewhat more than the years 1 to 9999.
const YEARS: Range<i128> = -700_000 * 86_400..4_000_000 * 86_400;

/// Formats ticks since 1970 as date and time of day; `None` if the year is out of range.
fn date(ticks: i128, numerator: u64, denominator: u64) -> Option<String> {
    let denominator = i128::from(denominator);
    let scaled = ticks.checked_mul(i128::from(numerator))?;
    let seconds = scaled.div_euclid(denominator);
    let rest = scaled.rem_euclid(denominator);
    if !YEARS.contains(&seconds) {
        return None;
    }
    let mut text = calendar::date_and_time(seconds as i64);
    let power = denominator.to_string();
    if rest != 0 && power.trim_end_matches('0') == "1" {
        let digits = power.len() - 1;
        text += &format!(".{rest:0digits$}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_of_ticks() {
        assert_eq!(date(951_782_400, 1, 1).unwrap(), "2000-02-29 00:00:00");
        assert_eq!(date(-1, 60, 1).unwrap(), "1969-12-31 23:59:00");
        assert_eq!(date(1_500, 1, 1000).unwrap(), "1970-01-01 00:00:01.500");
        assert_eq!(date(i128::MAX, 1, 1), None);
        assert_eq!(date(i128::from(i64::MAX), 1, 1), None);
    }
}
