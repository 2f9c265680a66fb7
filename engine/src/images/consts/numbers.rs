//! Arithmetic of Rust's primitive types, as a constant computes it.

use super::Constant;

/// Returns the width in bits of an integer type, and whether it has a sign.
pub(super) fn integer(ty: &str) -> Option<(u32, bool)> {
    Some(match ty {
        "i8" => (8, true),
        "i16" => (16, true),
        "i32" => (32, true),
        "i64" | "isize" => (64, true),
        "i128" => (128, true),
        "u8" => (8, false),
        "u16" => (16, false),
        "u32" => (32, false),
        "u64" | "usize" => (64, false),
        "u128" => (128, false),
        _ => return None,
    })
}

/// Returns the name of a primitive type.
pub(super) fn primitive(name: &str) -> Option<&'static str> {
    const ALL: [&str; 16] = [
        "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
        "bool", "char", "f32", "f64",
    ];
    ALL.into_iter().find(|it| *it == name)
}

fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

/// Returns bits as a number with its sign.
fn signed(bits: u128, width: u32) -> i128 {
    ((bits << (128 - width)) as i128) >> (128 - width)
}

fn overflow(ty: &str) -> String {
    format!("its value does not fit into `{ty}`")
}

/// Returns a number of a type; `negative`: its opposite.
pub(super) fn number(
    ty: &'static str,
    magnitude: u128,
    negative: bool,
) -> Result<Constant, String> {
    let (width, has_sign) = integer(ty).ok_or_else(|| format!("a number is no `{ty}`"))?;
    let top = mask(width) >> 1;
    let fits = match (has_sign, negative) {
        (true, false) => magnitude <= top,
        (true, true) => magnitude <= top + 1,
        (false, false) => magnitude <= mask(width),
        (false, true) => false,
    };
    let bits = match negative {
        true => magnitude.wrapping_neg() & mask(width),
        false => magnitude,
    };
    match fits {
        true => Ok(Constant { ty, bits }),
        false => Err(overflow(ty)),
    }
}

/// Returns `MAX`, `MIN` or `BITS` of an integer type.
pub(super) fn bound(ty: &'static str, name: &str) -> Option<Constant> {
    let (width, has_sign) = integer(ty)?;
    let top = mask(width) >> u32::from(has_sign);
    Some(match name {
        "MAX" => Constant { ty, bits: top },
        "MIN" if has_sign => Constant { ty, bits: top + 1 },
        "MIN" => Constant { ty, bits: 0 },
        "BITS" => Constant {
            ty: "u32",
            bits: u128::from(width),
        },
        _ => return None,
    })
}

/// Converts by `as`.
pub(super) fn cast(of: Constant, to: &'static str) -> Result<Constant, String> {
    let no = || format!("`as` from `{}` to `{to}` is not computed", of.ty);
    let value = match integer(of.ty) {
        Some((width, true)) => signed(of.bits, width) as u128,
        Some(_) => of.bits,
        None if matches!(of.ty, "bool" | "char") => of.bits,
        None => return Err(no()),
    };
    match integer(to) {
        Some((width, _)) => Ok(Constant {
            ty: to,
            bits: value & mask(width),
        }),
        None if to == "char" && of.ty == "u8" || to == of.ty => Ok(Constant { ty: to, ..of }),
        None => Err(no()),
    }
}

/// Computes `-x`.
pub(super) fn negated(of: Constant) -> Result<Constant, String> {
    match (integer(of.ty), of.ty) {
        (Some((width, true)), ty) => {
            let value = signed(of.bits, width);
            number(ty, value.unsigned_abs(), value > 0)
        }
        (_, "f32") => Ok(Constant {
            bits: of.bits ^ (1 << 31),
            ..of
        }),
        (_, "f64") => Ok(Constant {
            bits: of.bits ^ (1 << 63),
            ..of
        }),
        (_, ty) => Err(format!("`-` of a `{ty}`")),
    }
}

/// Computes `!x`.
pub(super) fn inverted(of: Constant) -> Result<Constant, String> {
    match (integer(of.ty), of.ty) {
        (Some((width, _)), _) => Ok(Constant {
            bits: !of.bits & mask(width),
            ..of
        }),
        (_, "bool") => Ok(Constant {
            bits: of.bits ^ 1,
            ..of
        }),
        (_, ty) => Err(format!("`!` of a `{ty}`")),
    }
}

/// Computes `x << y` and `x >> y`.
pub(super) fn shifted(sign: u8, of: Constant, by: Constant) -> Result<Constant, String> {
    let wrong = || format!("a shift of a `{}`", of.ty);
    let (width, has_sign) = integer(of.ty).ok_or_else(wrong)?;
    let (by_width, by_sign) = integer(by.ty).ok_or_else(wrong)?;
    let is_negative = by_sign && signed(by.bits, by_width) < 0;
    let by = u32::try_from(by.bits)
        .ok()
        .filter(|by| !is_negative && *by < width);
    let by = by.ok_or_else(|| overflow(of.ty))?;
    let bits = match (sign, has_sign) {
        (b'<', _) => of.bits << by,
        (_, true) => (signed(of.bits, width) >> by) as u128,
        (_, false) => of.bits >> by,
    };
    Ok(Constant {
        bits: bits & mask(width),
        ..of
    })
}

/// Computes an operation of two values of one type.
pub(super) fn combined(sign: u8, a: Constant, b: Constant) -> Result<Constant, String> {
    if a.ty != b.ty {
        return Err(format!("it combines a `{}` with a `{}`", a.ty, b.ty));
    }
    let Some((width, has_sign)) = integer(a.ty) else {
        return combined_others(sign, a, b);
    };
    let bits = match sign {
        b'&' => a.bits & b.bits,
        b'|' => a.bits | b.bits,
        b'^' => a.bits ^ b.bits,
        _ if has_sign => {
            let (x, y) = (signed(a.bits, width), signed(b.bits, width));
            let value = match sign {
                b'+' => x.checked_add(y),
                b'-' => x.checked_sub(y),
                b'*' => x.checked_mul(y),
                b'/' => x.checked_div(y),
                b'%' => x.checked_rem(y),
                _ => None,
            };
            let value = value.ok_or_else(|| overflow(a.ty))?;
            // The rest of the smallest number divided by -1 overflows, too.
            if sign == b'%' && y == -1 && a.bits == mask(width) / 2 + 1 {
                return Err(overflow(a.ty));
            }
            return number(a.ty, value.unsigned_abs(), value < 0);
        }
        _ => {
            let (x, y) = (a.bits, b.bits);
            let value = match sign {
                b'+' => x.checked_add(y),
                b'-' => x.checked_sub(y),
                b'*' => x.checked_mul(y),
                b'/' => x.checked_div(y),
                b'%' => x.checked_rem(y),
                _ => None,
            };
            return number(a.ty, value.ok_or_else(|| overflow(a.ty))?, false);
        }
    };
    Ok(Constant { bits, ..a })
}

fn combined_others(sign: u8, a: Constant, b: Constant) -> Result<Constant, String> {
    macro_rules! float {
        ($float:ident, $bits:ident) => {{
            let (x, y) = (
                $float::from_bits(a.bits as $bits),
                $float::from_bits(b.bits as $bits),
            );
            let value = match sign {
                b'+' => Some(x + y),
                b'-' => Some(x - y),
                b'*' => Some(x * y),
                b'/' => Some(x / y),
                _ => None,
            };
            // The sign and the payload of a NaN are not specified.
            let value = value.filter(|it| !it.is_nan());
            value.map(|it| u128::from(it.to_bits()))
        }};
    }
    let bits = match (a.ty, sign) {
        ("bool", b'&') => Some(a.bits & b.bits),
        ("bool", b'|') => Some(a.bits | b.bits),
        ("bool", b'^') => Some(a.bits ^ b.bits),
        ("f32", _) => float!(f32, u32),
        ("f64", _) => float!(f64, u64),
        _ => None,
    };
    let bits = bits.ok_or_else(|| format!("`{}` of `{}`", char::from(sign), a.ty))?;
    Ok(Constant { bits, ..a })
}
