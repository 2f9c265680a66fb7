//! Numbers, times, addresses: one word says it all.

use super::{composite, innermost, missing, number_in, only};
use crate::error::Error;
use crate::value::scalar::{Scalar, ScalarKind};
use crate::value::{Limits, Target, Ty, Value, members, present};
use crate::visualize::{View, word};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

/// `NonZero<T>`, `AtomicU32` and their kin: the number.
pub(super) fn number(target: &dyn Target, value: &Value) -> Result<View, Error> {
    // `AtomicBool`, where it is an alias.
    if value.ty.name().ends_with("Atomic<bool>") {
        return atomic_bool(target, value);
    }
    Ok(View::Pointee(innermost(target, value.clone())?))
}

/// `AtomicBool`: a byte.
pub(super) fn atomic_bool(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let byte = innermost(target, value.clone())?;
    let ty = Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool");
    Ok(View::Pointee(Value::new(ty, byte.place)))
}

/// Ranges as they are written.
pub(super) fn range(target: &dyn Target, value: &Value) -> Result<View, Error> {
    const BOUND: Limits = Limits {
        text: 80,
        elements: 4,
        string: 64,
        depth: 1,
        numbers: crate::value::scalar::NumberFormat::Natural,
    };
    let name = value.ty.name();
    let inclusive = matches!(
        members::last_component(&name),
        "RangeInclusive" | "RangeToInclusive"
    );
    let mut text = String::new();
    if let Some(start) = members::find(target, value, "start")? {
        text.push_str(&present(target, &start, &BOUND).text);
    }
    text.push_str(if inclusive { "..=" } else { ".." });
    for name in ["end", "last"] {
        if let Some(end) = members::find(target, value, name)? {
            text.push_str(&present(target, &end, &BOUND).text);
        }
    }
    if let Some(exhausted) = members::find(target, value, "exhausted")?
        && word(target, &exhausted)? != 0
    {
        text.push_str(" (exhausted)");
    }
    Ok(View::Plain(text))
}

const NANOS: u64 = 1_000_000_000;

/// `Duration`, in the unit that suits it.
pub(super) fn duration(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let secs = number_in(target, value, "secs")?;
    let nanos = number_in(target, value, "nanos")?;
    if nanos >= NANOS {
        return Ok(View::Invalid(format!("<invalid: {nanos} nanoseconds>")));
    }
    let duration = std::time::Duration::new(secs, nanos as u32);
    Ok(View::Plain(format!("{duration:?}")))
}

/// `SystemTime` as a date in UTC, `Instant` in seconds of its clock.
pub(super) fn time(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let secs = number_in(target, value, "tv_sec")? as i64;
    let nanos = number_in(target, value, "tv_nsec")?;
    if nanos >= NANOS {
        return Ok(View::Invalid(format!("<invalid: {nanos} nanoseconds>")));
    }
    let name = value.ty.name();
    if members::last_component(&name) == "Instant" {
        return Ok(View::Plain(format!(
            "{secs}.{nanos:09}s on the monotonic clock"
        )));
    }
    let (days, second) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let (year, month, day) = date(days);
    Ok(View::Plain(format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{nanos:09} UTC",
        second / 3600,
        second / 60 % 60,
        second % 60
    )))
}

/// The date some days after 1970-01-01, in the Gregorian calendar.
fn date(days: i64) -> (i64, i64, i64) {
    const IN_400_YEARS: i64 = 146_097;
    /// Days of a year that begins in March before each of its months.
    const BEFORE: [i64; 12] = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337];
    // From 0000-03-01 on, so that leap days come last.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(IN_400_YEARS), days.rem_euclid(IN_400_YEARS));
    let centuries = (day / 36_524).min(3);
    let day = day - centuries * 36_524;
    let fours = day / 1461;
    let day = day - fours * 1461;
    let years = (day / 365).min(3);
    let day = day - years * 365;
    let month = BEFORE.partition_point(|before| *before <= day) as i64 - 1;
    let year = era * 400 + centuries * 100 + fours * 4 + years;
    let in_month = day - BEFORE[month as usize] + 1;
    match month {
        0..=9 => (year, month + 3, in_month),
        _ => (year + 1, month - 9, in_month),
    }
}

/// `IpAddr` and `SocketAddr`: what they hold.
pub(super) fn address_kind(target: &dyn Target, value: &Value) -> Result<View, Error> {
    match members::active_variant(target, value, &composite(value)?)? {
        Some((_, payload)) => Ok(View::Pointee(only(target, &payload)?)),
        None => Err(missing("variants")),
    }
}

/// Addresses in their dotted spelling.
pub(super) fn address(target: &dyn Target, value: &Value) -> Result<View, Error> {
    let name = value.ty.name();
    let v4 = members::last_component(&name).contains("V4")
        || members::last_component(&name) == "Ipv4Addr";
    let (ip, port) = match members::find(target, value, "ip")? {
        Some(ip) => (ip, Some(number_in(target, value, "port")? as u16)),
        None => (value.clone(), None),
    };
    let octets = innermost(target, ip)?.bytes(target)?;
    let text = match (
        v4,
        <[u8; 4]>::try_from(&*octets),
        <[u8; 16]>::try_from(&*octets),
    ) {
        (true, Ok(octets), _) => {
            let ip = Ipv4Addr::from(octets);
            port.map_or_else(
                || ip.to_string(),
                |port| SocketAddrV4::new(ip, port).to_string(),
            )
        }
        (false, _, Ok(octets)) => {
            let ip = Ipv6Addr::from(octets);
            match port {
                Some(port) => {
                    let scope = number_in(target, value, "scope_id")? as u32;
                    SocketAddrV6::new(ip, port, 0, scope).to_string()
                }
                None => ip.to_string(),
            }
        }
        _ => return Err(missing("octets")),
    };
    Ok(View::Plain(text))
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_778, (2026, 11, 21)),
            (-25_509, (1900, 2, 28)),
            (-25_508, (1900, 3, 1)),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }
}
