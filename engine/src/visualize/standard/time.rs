//! `std::chrono`: how long, and when.

use super::{Ask, argument, either, std_class};
use crate::error::Error;
use crate::value::scalar::{Int, Number};
use crate::value::{Shape, Target, Ty, Value};
use crate::visualize::View;

/// `1500ms`.
pub(in crate::visualize) fn duration(ask: &Ask<'_>) -> Result<View, Error> {
    let ticks = either(ask.target, ask.value, &["__r", "__rep_"])?;
    let (_, text) = ticks_of(ask.target, &ticks)?;
    Ok(View::Plain(text + &unit(period(&ask.value.ty)?)))
}

/// `2023-11-14 22:13:20` of the system's clock (UTC), else the time since the clock's start.
pub(in crate::visualize) fn time_point(ask: &Ask<'_>) -> Result<View, Error> {
    let since = either(ask.target, ask.value, &["__d", "__d_"])?;
    let clock = ask.argument(0)?.strip();
    let system = match &clock {
        Ty::Dwarf(clock) => std_class(&clock.ty.name).is_some_and(|(_, class)| {
            class == "chrono::system_clock" || class == "chrono::_V2::system_clock"
        }),
        _ => false,
    };
    let ticks = either(ask.target, &since, &["__r", "__rep_"])?;
    let (number, _) = ticks_of(ask.target, &ticks)?;
    let (numerator, denominator) = period(&since.ty)?;
    match number {
        Number::Int(ticks) if system => {
            Ok(date(ticks.value(), numerator, denominator)
                .map_or(View::Pointee(since), View::Plain))
        }
        _ => Ok(View::Pointee(since)),
    }
}

fn ticks_of(target: &dyn Target, ticks: &Value) -> Result<(Number, String), Error> {
    let Shape::Scalar(scalar) = ticks.ty.shape() else {
        return Err(Error::Unsupported("the ticks are no number".into()));
    };
    let number = scalar.number(ticks.raw(target)?);
    let text = match number {
        Number::Int(int @ Int { signed: true, .. }) => int.value().to_string(),
        Number::Int(int) => int.bits.to_string(),
        Number::Float(float) => float.to_string(),
    };
    Ok((number, text))
}

/// Seconds of a tick, as a fraction: of `std::ratio<1, 1000>`.
fn period(duration: &Ty) -> Result<(u64, u64), Error> {
    let unknown = || Error::Unsupported("a period that is no `std::ratio`".into());
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

/// The date and time of day of ticks since 1970; `None`: nobody writes such a year.
fn date(ticks: i128, numerator: u64, denominator: u64) -> Option<String> {
    let denominator = i128::from(denominator);
    let scaled = ticks.checked_mul(i128::from(numerator))?;
    let seconds = scaled.div_euclid(denominator);
    let rest = scaled.rem_euclid(denominator);
    let (mut day, second) = (seconds.div_euclid(86400), seconds.rem_euclid(86400));
    if !(-700_000..4_000_000).contains(&day) {
        return None;
    }
    let leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    // Whole cycles of the calendar first: 400 years have 146097 days.
    let mut year = 1970 + 400 * day.div_euclid(146_097);
    day = day.rem_euclid(146_097);
    while day >= 365 + i128::from(leap(year)) {
        day -= 365 + i128::from(leap(year));
        year += 1;
    }
    let february = 28 + i128::from(leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let mut text = format!(
        "{year:04}-{month:02}-{:02} {hour:02}:{minute:02}:{:02}",
        day + 1,
        second % 60
    );
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
    fn dates() {
        let at = |seconds| date(seconds, 1, 1).unwrap();
        assert_eq!(at(0), "1970-01-01 00:00:00");
        assert_eq!(at(-1), "1969-12-31 23:59:59");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(at(1_735_689_599), "2024-12-31 23:59:59");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00:00");
        assert_eq!(date(1_500, 1, 1000).unwrap(), "1970-01-01 00:00:01.500");
        assert_eq!(date(i128::MAX, 1, 1), None);
    }
}
