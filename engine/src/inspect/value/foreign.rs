//! Numbers that the processor does not compute with: they are shown, and expressions refuse them.

use super::scalar::{self, Int, NumberFormat, Scalar, bits_of};
use dwarf::Language;
use std::fmt::Write;

/// The kind of such a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foreign {
    /// `_Decimal32`, `_Decimal64`, `_Decimal128`, with binary integer significands (IEEE 754 §3.5).
    Decimal,
    /// `_Complex int`: two integers.
    ComplexInteger {
        /// Whether they are signed, if the type's name says that: gcc has no name for some.
        signed: Option<bool>,
    },
    /// A number of the other byte order (`DW_AT_endianity`).
    Reversed(Scalar),
    /// `_BitInt` of more than 128 bits.
    Wide {
        /// Whether it is signed.
        signed: bool,
    },
}

/// Maximum size in bytes of integers that are shown: the time that digits take grows with its square.
pub(super) const WIDEST: u64 = 1024;

impl Foreign {
    /// Writes the text of such a number.
    pub(super) fn write(
        self,
        out: &mut String,
        bytes: &[u8],
        (language, numbers): (Language, NumberFormat),
    ) {
        match self {
            Foreign::Decimal => write_decimal(out, bytes),
            Foreign::ComplexInteger { signed } => {
                let (real, imaginary) = bytes.split_at(bytes.len() / 2);
                let is_signed = signed.unwrap_or(true);
                let part = |bytes: &[u8]| Int::new(bits_of(bytes), bytes.len() as u8, is_signed);
                let (a, b) = (part(real), part(imaginary));
                if signed.is_none() && (a.is_negative() || b.is_negative()) {
                    // Negative or large.
                    let _ = write!(out, "{:#x} + {:#x}i", a.bits, b.bits);
                    return;
                }
                let (real, imaginary) = (a.value(), b.value());
                let sign = if imaginary < 0 { '-' } else { '+' };
                let _ = write!(out, "{real} {sign} {}i", imaginary.unsigned_abs());
            }
            Foreign::Wide { signed } => write_wide(out, bytes, signed, numbers),
            Foreign::Reversed(of) => {
                let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
                scalar::write_scalar(out, of, &reversed, language, numbers);
            }
        }
    }
}

/// Writes an integer of any size: in decimal, or in the digits that the format demands.
fn write_wide(out: &mut String, bytes: &[u8], signed: bool, numbers: NumberFormat) {
    let mut bytes = bytes.to_vec();
    let bits = match numbers {
        NumberFormat::Hex => Some((4, "0x")),
        NumberFormat::Octal => Some((3, "0o")),
        NumberFormat::Binary => Some((1, "0b")),
        NumberFormat::Natural | NumberFormat::Decimal | NumberFormat::Character => None,
    };
    let is_negative = signed && bytes.last().is_some_and(|top| top >> 7 == 1);
    if is_negative && bits.is_none() {
        out.push('-');
        let mut carry = true;
        for byte in &mut bytes {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    let (radix, prefix) = bits.map_or((10, ""), |(bits, prefix)| (1 << bits, prefix));
    out.push_str(prefix);
    let start = out.len();
    // The digits, lowest first.
    loop {
        let digit = divide(&mut bytes, radix);
        out.insert(start, char::from_digit(digit, radix).unwrap_or('?'));
        if bytes.iter().all(|byte| *byte == 0) {
            return;
        }
    }
}

/// Divides a number, lowest byte first, and returns the remainder.
fn divide(bytes: &mut [u8], by: u32) -> u32 {
    let mut rest = 0;
    for byte in bytes.iter_mut().rev() {
        let part = rest << 8 | u32::from(*byte);
        (*byte, rest) = ((part / by) as u8, part % by);
    }
    rest
}

/// Writes a decimal float of 4, 8 or 16 bytes, with the digits and the exponent that it has.
fn write_decimal(out: &mut String, bytes: &[u8]) {
    // Bits of the exponent and of the significand if its highest digit is below 8, the largest significand, and the
    // exponent of 1.
    let (exponent_bits, low_bits, most, bias) = match bytes.len() {
        4 => (8, 23, 9_999_999, 101),
        8 => (10, 53, 9_999_999_999_999_999, 398),
        _ => (14, 113, 10_u128.pow(34) - 1, 6176),
    };
    let bits = bits_of(bytes);
    let width = 8 * bytes.len() as u32;
    if bits >> (width - 1) & 1 == 1 {
        out.push('-');
    }
    let mark = bits >> (width - 6) & 0x1f;
    if mark >= 0x1e {
        out.push_str(if mark == 0x1e { "inf" } else { "NaN" });
        return;
    }
    let (shift, leading) = match mark >> 3 == 3 {
        true => (low_bits - 2, 4 << (low_bits - 2)),
        false => (low_bits, 0),
    };
    let exponent = (bits >> shift) as i32 & ((1 << exponent_bits) - 1);
    let significand = bits & ((1 << shift) - 1) | leading;
    // Larger ones count as 0.
    let significand = if significand > most { 0 } else { significand };
    let digits = significand.to_string();
    let exponent = exponent - bias;
    let adjusted = exponent + digits.len() as i32 - 1;
    if exponent <= 0 && adjusted >= -6 {
        let places = exponent.unsigned_abs() as usize;
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        out.push_str(whole);
        if !fraction.is_empty() {
            let _ = write!(out, ".{fraction}");
        }
        return;
    }
    let (first, rest) = digits.split_at(1);
    out.push_str(first);
    if !rest.is_empty() {
        let _ = write!(out, ".{rest}");
    }
    let _ = write!(out, "E{adjusted:+}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_floats_are_those_of_gcc() {
        // The bytes are gcc's of these constants.
        for (bytes, text) in [
            (&0x32ff_ffff_u32.to_le_bytes()[..], "8388607"),
            (&0x31ff_ffff_u32.to_le_bytes(), "83886.07"),
            (&0xb280_0001_u32.to_le_bytes(), "-1"),
            (&0x7800_0000_u32.to_le_bytes(), "inf"),
            (&0x7c00_0000_u32.to_le_bytes(), "NaN"),
            (&0x6cb8_967f_u32.to_le_bytes(), "9999999"),
            (&0x3280_0000_u32.to_le_bytes(), "0"),
            (&0x3780_0001_u32.to_le_bytes(), "1E+10"),
            (&0x2d00_000f_u32.to_le_bytes(), "1.5E-10"),
            (&0xec58_967f_u32.to_le_bytes(), "-9999.999"),
            (&0x31c0_0000_0000_0000_u64.to_le_bytes(), "0"),
            (&0xb160_0000_075b_cd15_u64.to_le_bytes(), "-123456.789"),
            (&0x6c73_86f2_6fc0_ffff_u64.to_le_bytes(), "9999999999999999"),
            (&0x0100_0000_0000_0001_u64.to_le_bytes(), "1E-390"),
        ] {
            let mut out = String::new();
            write_decimal(&mut out, bytes);
            assert_eq!(out, text, "{bytes:x?}");
        }
    }

    #[test]
    fn wide_integers_are_written_in_every_format() {
        let text = |bytes: &[u8], signed, format| {
            let mut out = String::new();
            write_wide(&mut out, bytes, signed, format);
            out
        };
        let natural = NumberFormat::Natural;
        let mut minus_42 = [0xff; 24];
        minus_42[0] = 0xd6;
        assert_eq!(text(&minus_42, true, natural), "-42");
        assert_eq!(
            text(&minus_42, true, NumberFormat::Hex),
            format!("0x{}d6", "ff".repeat(23))
        );
        let mut least = [0; 24];
        assert_eq!(text(&least, true, natural), "0");
        least[23] = 0x80;
        // -(2 to the power of 191), and 2 to the power of 191, by bc.
        let digits = "3138550867693340381917894711603833208051177722232017256448";
        assert_eq!(text(&least, true, natural), format!("-{digits}"));
        assert_eq!(text(&least, false, NumberFormat::Decimal), digits);
        let mut eight = [0; 32];
        eight[0] = 8;
        assert_eq!(text(&eight, false, NumberFormat::Octal), "0o10");
        assert_eq!(text(&eight, true, NumberFormat::Binary), "0b1000");
    }
}
