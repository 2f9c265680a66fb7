//! Numbers, times, addresses: types shown as one word.

use super::{composite, innermost, missing, number_in, only};
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Limits, Pointees, Target, Ty, Value, members, present};
use crate::inspect::visualize::{View, calendar, word};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::time::Duration;

/// `NonZero<T>`, `AtomicU32` and similar types: the number.
pub(super) fn number(target: &dyn Target, value: &Value) -> Result<View, Error> {
    // `AtomicBool`, if it is an alias.
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

/// Ranges in source syntax.
pub(super) fn range(target: &dyn Target, value: &Value) -> Result<View, Error> {
    const BOUND: Limits = Limits {
        text: 80,
        elements: 4,
        string: 64,
        depth: 1,
        numbers: crate::inspect::value::scalar::NumberFormat::Natural,
        addresses: true,
        pointees: Pointees::Hidden,
    };
    let name = value.ty.name();
    let inclusive = matches!(
        members::last_component(&name),
        "RangeInclusive" | "RangeToInclusive"
    );
    // Other types of the library have the name, too: `BTreeMap::range` returns one.
    let path = name.split('<').next().unwrap_or_default();
    if !path.contains("::range::") {
        return Err(missing("bounds"));
    }
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

/// Returns the value of a `Duration`.
///
/// # Errors
/// The value is none, or is invalid.
pub(crate) fn duration_of(target: &dyn Target, value: &Value) -> Result<Duration, Error> {
    let secs = number_in(target, value, "secs")?;
    let nanos = number_in(target, value, "nanos")?;
    match u32::try_from(nanos).ok().filter(|_| nanos < NANOS) {
        Some(nanos) => Ok(Duration::new(secs, nanos)),
        None => Err(Error::eval(format!("<invalid: {nanos} nanoseconds>"))),
    }
}

/// `Duration`, in a suitable unit.
pub(super) fn duration(target: &dyn Target, value: &Value) -> Result<View, Error> {
    match duration_of(target, value) {
        Ok(duration) => Ok(View::Plain(format!("{duration:?}"))),
        Err(Error::Eval { message, .. }) => Ok(View::Invalid(message)),
        Err(error) => Err(error),
    }
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
    let date = calendar::date_and_time(secs);
    Ok(View::Plain(format!("{date}.{nanos:09} UTC")))
}

/// `IpAddr` and `SocketAddr`: the address of the variant.
pub(super) fn address_kind(target: &dyn Target, value: &Value) -> Result<View, Error> {
    match members::active_variant(target, value, &composite(value)?)? {
        Some((_, payload)) => Ok(View::Pointee(only(target, &payload)?)),
        None => Err(missing("variants")),
    }
}

/// IP addresses in text form.
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
