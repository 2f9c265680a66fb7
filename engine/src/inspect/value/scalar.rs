//! Numbers, characters and booleans: decoding and formatting.

use super::decimal;
use dwarf::{CTypes, Language, LongDouble};
use std::fmt::Write;

/// The encoding of a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scalar {
    /// The kind of number.
    pub kind: ScalarKind,
    /// Size in bytes.
    pub size: u8,
}

/// The kind of a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalarKind {
    /// Boolean.
    Bool,
    /// Signed integer (two's complement).
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// C's `signed char`, and `char` where it is signed.
    SignedChar,
    /// C's `unsigned char`.
    UnsignedChar,
    /// C's `char` where it is unsigned.
    PlainChar,
    /// A code unit of UTF-8, -16, -32; Rust's `char`.
    Utf,
    /// Floating point.
    Float(Float),
    /// Complex number: real and imaginary part.
    Complex(Float),
    /// An address.
    Address,
}

/// The format of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NumberFormat {
    /// Decimal; characters with their code.
    #[default]
    Natural,
    /// `0x1f`
    Hex,
    /// Decimal, also for characters.
    Decimal,
    /// `0o17`
    Octal,
    /// `0b1010`
    Binary,
    /// As the character with that code.
    Character,
}

/// Floating-point formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Float {
    /// IEEE 754 binary16.
    Half,
    /// bfloat16: the upper half of a binary32.
    Brain,
    /// IEEE 754 binary32.
    Single,
    /// IEEE 754 binary64.
    Double,
    /// x87 extended precision, 80 bits.
    Extended,
    /// IEEE 754 binary128.
    Quad,
}

/// A decoded scalar.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// Integer, boolean, character or address.
    Int(Int),
    /// Any float.
    Float(f64),
}

/// An integer of a given width; the bits above it are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Int {
    /// The bits of its representation.
    pub bits: u128,
    /// Size in bytes, 1 to 16.
    pub size: u8,
    /// Whether it is signed (two's complement).
    pub signed: bool,
}

impl Int {
    /// Takes the low `size` bytes of `bits`.
    pub fn new(bits: u128, size: u8, signed: bool) -> Int {
        Int {
            bits: bits & mask(size),
            size,
            signed,
        }
    }

    /// Returns the value; unsigned values above `i128::MAX` wrap around.
    pub fn value(self) -> i128 {
        if self.signed {
            sign_extend(self.bits, u32::from(self.size) * 8)
        } else {
            self.bits as i128
        }
    }

    /// Returns whether the value is negative.
    pub fn is_negative(self) -> bool {
        self.signed && self.value() < 0
    }

    /// Returns the value as a float.
    pub fn to_f64(self) -> f64 {
        if self.signed {
            self.value() as f64
        } else {
            self.bits as f64
        }
    }
}

/// Returns a mask of `size` bytes.
pub fn mask(size: u8) -> u128 {
    match size {
        0 => 0,
        1..=15 => (1 << (u32::from(size) * 8)) - 1,
        _ => u128::MAX,
    }
}

/// Sign-extends the low `width` bits.
pub fn sign_extend(bits: u128, width: u32) -> i128 {
    if width == 0 || width >= 128 {
        return bits as i128;
    }
    let shift = 128 - width;
    ((bits << shift) as i128) >> shift
}

impl Float {
    /// Returns the format of a float type by its name and size in bytes.
    pub fn of(name: &str, size: u64, types: CTypes) -> Float {
        match size {
            0..=2 if name.contains("bf16") => Float::Brain,
            0..=2 => Float::Half,
            3..=4 => Float::Single,
            5..=8 => Float::Double,
            _ if name.contains("128") => Float::Quad,
            _ => match types.long_double {
                LongDouble::Extended => Float::Extended,
                LongDouble::Quad | LongDouble::Double => Float::Quad,
            },
        }
    }

    /// Returns the nearest `f64`.
    pub fn decode(self, bits: u128) -> f64 {
        match self {
            Float::Half => half(bits as u16),
            Float::Brain => f64::from(f32::from_bits((bits as u32) << 16)),
            Float::Single => f64::from(f32::from_bits(bits as u32)),
            Float::Double => f64::from_bits(bits as u64),
            Float::Extended => {
                let negative = bits >> 79 & 1 == 1;
                let exponent = (bits >> 64 & 0x7fff) as i32;
                let mantissa = bits as u64;
                compose(
                    negative,
                    exponent,
                    0x7fff,
                    16383 + 63,
                    mantissa,
                    mantissa << 1 != 0,
                )
            }
            Float::Quad => {
                let negative = bits >> 127 == 1;
                let exponent = (bits >> 112 & 0x7fff) as i32;
                let fraction = bits & ((1 << 112) - 1);
                let mut mantissa = (fraction >> 49) as u64;
                if exponent != 0 {
                    mantissa |= 1 << 63;
                }
                compose(
                    negative,
                    exponent.max(1),
                    0x7fff,
                    16383 + 63,
                    mantissa,
                    fraction != 0,
                )
            }
        }
    }

    /// Returns the bits of the nearest number of this format; `None` if encoding it is not
    /// supported.
    pub fn encode(self, value: f64) -> Option<u128> {
        match self {
            Float::Single => Some(u128::from((value as f32).to_bits())),
            Float::Double => Some(u128::from(value.to_bits())),
            Float::Brain => Some(u128::from((value as f32).to_bits() >> 16)),
            Float::Half | Float::Quad => None,
            Float::Extended => {
                let bits = value.to_bits();
                let sign = u128::from(bits >> 63) << 79;
                let exponent = (bits >> 52 & 0x7ff) as i32;
                let fraction = bits & ((1 << 52) - 1);
                let (exponent, mantissa) = match exponent {
                    0x7ff => (0x7fff, 1 << 63 | fraction << 11),
                    0 if fraction == 0 => (0, 0),
                    0 => {
                        let shift = fraction.leading_zeros();
                        (16383 - 1022 + 11 - shift as i32, fraction << shift)
                    }
                    _ => (exponent - 1023 + 16383, 1 << 63 | fraction << 11),
                };
                Some(sign | (exponent as u128) << 64 | u128::from(mantissa))
            }
        }
    }
}

fn half(bits: u16) -> f64 {
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

fn compose(negative: bool, exponent: i32, top: i32, bias: i32, mantissa: u64, nan: bool) -> f64 {
    let magnitude = if exponent == top {
        if nan { f64::NAN } else { f64::INFINITY }
    } else if mantissa == 0 {
        0.0
    } else {
        // In two steps, as 2^-1074 and below are reached only through a normal number.
        let power = exponent - bias;
        let half = power / 2;
        mantissa as f64
            * 2f64.powi(half.clamp(-1000, 1000))
            * 2f64.powi((power - half).clamp(-1000, 1000))
    };
    if negative { -magnitude } else { magnitude }
}

impl Scalar {
    /// Returns a scalar of a size in bytes.
    pub const fn new(kind: ScalarKind, size: u8) -> Scalar {
        Scalar { kind, size }
    }

    /// Returns the type of a bit-field of so many bits in arithmetic: `int` if that has all of its
    /// values (ISO C §6.3.1.1).
    pub fn of_bit_field(self, size: u8) -> Scalar {
        let is_integer = matches!(self.kind, ScalarKind::Signed | ScalarKind::Unsigned);
        match is_integer && size < 32 + u8::from(self.is_signed()) {
            true => Scalar::new(ScalarKind::Signed, 4),
            false => self,
        }
    }

    /// Returns the format of C's `long double`.
    pub fn long_double(types: CTypes) -> Scalar {
        let (format, size) = match types.long_double {
            LongDouble::Double => (Float::Double, 8),
            LongDouble::Extended => (Float::Extended, 16),
            LongDouble::Quad => (Float::Quad, 16),
        };
        Scalar::new(ScalarKind::Float(format), size)
    }

    /// Returns the format of C's `char`.
    pub fn char(types: CTypes) -> Scalar {
        let kind = match types.char_is_signed {
            true => ScalarKind::SignedChar,
            false => ScalarKind::PlainChar,
        };
        Scalar::new(kind, 1)
    }

    /// Returns whether it is a character of a byte, whose encoding is not fixed.
    pub fn is_narrow_character(self) -> bool {
        use ScalarKind::{PlainChar, SignedChar, UnsignedChar};
        matches!(self.kind, SignedChar | UnsignedChar | PlainChar)
    }

    /// Returns whether integers of this kind are signed.
    pub fn is_signed(self) -> bool {
        matches!(self.kind, ScalarKind::Signed | ScalarKind::SignedChar)
    }

    /// Returns whether it is not a float.
    pub fn is_integral(self) -> bool {
        !matches!(self.kind, ScalarKind::Float(_) | ScalarKind::Complex(_))
    }

    /// Decodes the bits.
    pub fn number(self, bits: u128) -> Number {
        match self.kind {
            ScalarKind::Float(format) | ScalarKind::Complex(format) => {
                Number::Float(format.decode(bits))
            }
            _ => Number::Int(Int::new(bits, self.size, self.is_signed())),
        }
    }
}

/// Returns the little-endian number of at most 16 bytes.
pub fn bits_of(bytes: &[u8]) -> u128 {
    let mut all = [0; 16];
    let len = bytes.len().min(16);
    all[..len].copy_from_slice(&bytes[..len]);
    u128::from_le_bytes(all)
}

/// Writes a scalar's text.
pub fn write_scalar(
    out: &mut String,
    scalar: Scalar,
    bytes: &[u8],
    language: Language,
    numbers: NumberFormat,
) {
    let bits = bits_of(bytes);
    let int = Int::new(bits, scalar.size, scalar.is_signed());
    match scalar.kind {
        ScalarKind::Float(format) => write_float(out, format, bits, language),
        ScalarKind::Complex(format) => {
            let (real, imaginary) = bytes.split_at(bytes.len() / 2);
            write_float(out, format, bits_of(real), language);
            let at = out.len();
            write_float(out, format, bits_of(imaginary), language);
            let sign = if out[at..].starts_with('-') {
                out.remove(at);
                " - "
            } else {
                " + "
            };
            out.insert_str(at, sign);
            out.push('i');
        }
        ScalarKind::Bool => match int.bits {
            0 => out.push_str("false"),
            1 => out.push_str("true"),
            other if language == Language::Rust => {
                let _ = write!(out, "<invalid bool {other}>");
            }
            other => {
                let _ = write!(out, "true ({other})");
            }
        },
        ScalarKind::Address => {
            let _ = write!(out, "{:#x}", int.bits);
        }
        ScalarKind::Signed | ScalarKind::Unsigned => write_int(out, int, numbers),
        ScalarKind::SignedChar | ScalarKind::UnsignedChar | ScalarKind::PlainChar => {
            write_int(out, int, numbers);
            if !matches!(numbers, NumberFormat::Natural | NumberFormat::Hex) {
                return;
            }
            out.push_str(" '");
            super::text::escape_byte(out, bits as u8, '\'');
            out.push('\'');
        }
        ScalarKind::Utf => write_utf(out, int, scalar.size, language, numbers),
    }
}

fn write_utf(out: &mut String, int: Int, size: u8, language: Language, format: NumberFormat) {
    let rust = language == Language::Rust;
    let as_number = !matches!(format, NumberFormat::Natural | NumberFormat::Character);
    if !rust || as_number {
        write_int(
            out,
            Int {
                signed: false,
                ..int
            },
            format,
        );
        if !matches!(format, NumberFormat::Natural | NumberFormat::Hex) {
            return;
        }
        out.push_str(match size {
            _ if rust => " ",
            1 => " u8",
            2 => " u",
            _ => " U",
        });
    }
    match u32::try_from(int.bits).ok().and_then(char::from_u32) {
        Some(char) if size != 1 || char.is_ascii() => {
            out.push('\'');
            super::text::escape_char(out, char, '\'');
            out.push('\'');
        }
        _ if rust => {
            let _ = write!(out, "<invalid char {:#x}>", int.bits);
        }
        _ => {
            let _ = write!(out, "'\\x{:x}'", int.bits);
        }
    }
}

/// Writes an integer.
pub fn write_int(out: &mut String, int: Int, format: NumberFormat) {
    let _ = match format {
        NumberFormat::Hex => write!(out, "{:#x}", int.bits),
        NumberFormat::Octal => write!(out, "{:#o}", int.bits),
        NumberFormat::Binary => write!(out, "{:#b}", int.bits),
        NumberFormat::Character => {
            out.push('\'');
            match u32::try_from(int.bits).ok().and_then(char::from_u32) {
                Some(char) if int.size > 1 || char.is_ascii() => {
                    super::text::escape_char(out, char, '\'');
                }
                _ => drop(write!(out, "\\x{:x}", int.bits)),
            }
            out.push('\'');
            Ok(())
        }
        NumberFormat::Natural | NumberFormat::Decimal if int.signed => {
            write!(out, "{}", int.value())
        }
        NumberFormat::Natural | NumberFormat::Decimal => write!(out, "{}", int.bits),
    };
}

/// Writes the shortest text that parses as the same number.
fn write_float(out: &mut String, format: Float, bits: u128, language: Language) {
    let value = format.decode(bits);
    let known = matches!(format, Float::Single | Float::Double);
    let parts = decimal::parts(format, bits);
    if parts.is_none() {
        let _ = match (value.is_nan(), language) {
            (true, Language::Rust) => write!(out, "NaN"),
            (true, _) => write!(out, "nan"),
            (false, _) => write!(out, "{value}"),
        };
        return;
    }
    if let (Some(parts), false) = (parts, known) {
        let text = parts.text();
        out.push_str(&text);
        if language == Language::Rust && !text.contains(['.', 'e']) {
            out.push_str(".0");
        }
        return;
    }
    let magnitude = value.abs();
    let plain = magnitude == 0.0 || (1e-5..1e16).contains(&magnitude);
    let start = out.len();
    let _ = match (format, plain) {
        (Float::Single, true) => write!(out, "{}", value as f32),
        (Float::Single, false) => write!(out, "{:e}", value as f32),
        (_, true) => write!(out, "{value}"),
        (_, false) => write!(out, "{value:e}"),
    };
    if language == Language::Rust && plain && !out[start..].contains('.') {
        out.push_str(".0");
    }
}
