//! Types of literals, by suffix and prefix.

use super::lex::error;
use super::parse::Parser;
use super::soft;
use super::tree::Kind;
use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::{Shape, Ty};
use dwarf::{CTypes, Language};
use std::ops::Range;

impl Parser<'_> {
    pub(super) fn integer(
        &self,
        value: u128,
        suffix: &str,
        decimal: bool,
        span: &Range<usize>,
    ) -> Result<Kind, Error> {
        if suffix.is_empty() {
            return Ok(Kind::Number(value, decimal));
        }
        if let Some(ty) = rust::builtin(suffix) {
            let fits = match &ty {
                Ty::Builtin(scalar, _) => {
                    let bits = u32::from(scalar.size) * 8 - u32::from(scalar.is_signed());
                    // `-128i8` is parsed as minus and 128.
                    value <= if bits >= 128 { u128::MAX } else { 1 << bits }
                        && (scalar.is_signed() || bits >= 128 || value >> bits == 0)
                }
                _ => false,
            };
            if !fits {
                return Err(error(
                    format!("{value} is out of range for `{suffix}`"),
                    span.clone(),
                ));
            }
            return Ok(Kind::Literal(ty, value));
        }
        let unsigned = suffix.contains('u');
        let long = suffix.contains('l') || suffix.contains('z') || value > u128::from(u32::MAX);
        // Literals that are not decimal may have an unsigned type (ISO C §6.4.4.1).
        let unsigned = unsigned || !decimal && value > i64::MAX as u128;
        let name = match (unsigned, suffix.contains("ll"), long) {
            (true, true, _) => "unsigned long long",
            (true, false, true) => "unsigned long",
            (true, false, false) => "unsigned int",
            (false, true, _) => "long long",
            (false, false, true) => "long",
            (false, false, false) => "int",
        };
        let kind = match unsigned {
            true => ScalarKind::Unsigned,
            false => ScalarKind::Signed,
        };
        let ty = Ty::Builtin(Scalar::new(kind, if long { 8 } else { 4 }), name);
        if value >> 64 != 0 {
            return Err(error(
                format!("{value} is out of range for `{name}`"),
                span.clone(),
            ));
        }
        Ok(Kind::Literal(ty, value))
    }

    pub(super) fn float(&self, text: &str, suffix: &str) -> Kind {
        let rust = self.language == Language::Rust;
        let (format, size, name) = match (suffix, rust) {
            ("f", _) => (Float::Single, 4, "float"),
            ("l", false) => return Kind::LongDouble(text.to_owned()),
            ("f16", _) => (Float::Half, 2, "_Float16"),
            ("bf16", _) => (Float::Brain, 2, "__bf16"),
            ("f32", false) => (Float::Single, 4, "_Float32"),
            ("f64", false) => (Float::Double, 8, "_Float64"),
            ("f32x", _) => (Float::Double, 8, "_Float32x"),
            // Extended precision where the machine has it.
            ("f64x", _) => return Kind::LongDouble(text.to_owned()),
            ("f128" | "q", _) => (Float::Quad, 16, "_Float128"),
            ("f32", _) => (Float::Single, 4, "f32"),
            ("f64", _) | (_, true) => (Float::Double, 8, "f64"),
            _ => (Float::Double, 8, "double"),
        };
        let bits = soft::parsed(format, text).unwrap_or(0);
        if rust && suffix.is_empty() {
            return Kind::Float(f64::from_bits(bits as u64));
        }
        let ty = Ty::Builtin(Scalar::new(ScalarKind::Float(format), size), name);
        Kind::Literal(ty, bits)
    }
}

/// Returns the type of a character literal with a code; see [`character_type`].
pub(super) fn of_character(value: u32, prefix: &str, language: Language, types: CTypes) -> Ty {
    match prefix {
        "" if language != Language::Rust && value > 255 => {
            character_type("U", Language::Cpp, types)
        }
        _ => character_type(prefix, language, types),
    }
}

/// Returns the type of a character literal, or of a string literal's characters, by the prefix. That
/// of C's `'a'` is `int`, though.
pub(super) fn character_type(prefix: &str, language: Language, types: CTypes) -> Ty {
    let (kind, size, name) = match (prefix, language) {
        ("b", _) => (ScalarKind::Unsigned, 1, "u8"),
        (_, Language::Rust) => (ScalarKind::Utf, 4, "char"),
        // In C the names of these types are typedefs (ISO C §6.4.4.5).
        ("L", Language::C) if types.wchar_is_signed => (ScalarKind::Signed, 4, "int"),
        ("L", Language::C) => (ScalarKind::Unsigned, 4, "unsigned int"),
        ("u", Language::C) => (ScalarKind::Unsigned, 2, "unsigned short"),
        ("U", Language::C) => (ScalarKind::Unsigned, 4, "unsigned int"),
        ("L", _) => (ScalarKind::Utf, 4, "wchar_t"),
        ("u", _) => (ScalarKind::Utf, 2, "char16_t"),
        ("U", _) => (ScalarKind::Utf, 4, "char32_t"),
        ("u8", Language::Cpp) => (ScalarKind::UnsignedChar, 1, "char8_t"),
        _ => return Ty::Builtin(Scalar::char(types), "char"),
    };
    Ty::Builtin(Scalar::new(kind, size), name)
}

/// Returns the prefix of the string literal of C or C++ with which a source begins: `u8` of `u8"a"`.
pub(super) fn prefix(source: &str) -> &str {
    let before = source.split('"').next().unwrap_or_default();
    let prefix = before.strip_suffix('R').unwrap_or(before);
    match prefix {
        "L" | "u" | "U" | "u8" => prefix,
        _ => "",
    }
}

/// Returns whether an array of such elements may get the text of a string literal, by the prefix with which its
/// source begins (ISO C §6.7.9).
pub(super) fn fits(source: &str, element: &Ty) -> bool {
    let unit = match element.shape() {
        Shape::Scalar(scalar) if scalar.kind == ScalarKind::Utf => Unit::of(element),
        _ if element.size() == Some(1) => Some(Unit::Byte),
        _ => None,
    };
    matches!(
        (prefix(source), unit),
        ("" | "u8", Some(Unit::Byte))
            | ("u", Some(Unit::Utf16))
            | ("U", Some(Unit::Utf32))
            | ("L", Some(Unit::Wide { .. }))
    )
}

/// Returns the bytes of a string literal's units of such a size, without the last 0.
///
/// # Errors
/// A wide text is not valid UTF-8.
pub(super) fn encoded(bytes: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    if size == 1 {
        return Ok(bytes.to_vec());
    }
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| Error::eval("the text is not valid UTF-8"))?;
    let units = |char: char| u32::from(char).to_le_bytes();
    Ok(match size {
        2 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => text.chars().flat_map(units).collect(),
    })
}

/// Returns the characters of a string literal with a prefix, without the last 0.
pub(super) fn units(bytes: &[u8], prefix: &str) -> Vec<u32> {
    let text = || String::from_utf8_lossy(bytes);
    match prefix {
        "L" | "U" => text().chars().map(u32::from).collect(),
        "u" => text().encode_utf16().map(u32::from).collect(),
        _ => bytes.iter().copied().map(u32::from).collect(),
    }
}
