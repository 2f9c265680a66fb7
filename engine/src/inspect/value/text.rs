//! Strings of the debuggee: bounded and escaped.

use crate::ids::error::Error;
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use dwarf::{Language, LoadAddr, Memory};
use std::fmt::Write;

const PAGE: u64 = 4096;

/// Writes a byte with C's escapes.
pub fn escape_byte(out: &mut String, byte: u8, quote: char) {
    if byte.is_ascii() && byte != 0 {
        escape_char(out, char::from(byte), quote);
    } else {
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Writes a character with the escapes of C and Rust.
pub fn escape_char(out: &mut String, char: char, quote: char) {
    match char {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '\\' => out.push_str("\\\\"),
        '\0' => out.push_str("\\0"),
        _ if char == quote => {
            out.push('\\');
            out.push(char);
        }
        _ if char.is_ascii_control() => {
            let _ = write!(out, "\\x{:02x}", u32::from(char));
        }
        // Control characters, and marks that would change the display of the rest of the line.
        _ if char.is_control()
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}') =>
        {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(char));
        }
        _ => out.push(char),
    }
}

/// Writes bytes as a quoted string: UTF-8 as characters, the rest as `\xNN`.
pub fn write_quoted(out: &mut String, bytes: &[u8], cut: bool) {
    out.push('"');
    let chunks = bytes.utf8_chunks();
    let mut rest = bytes.len();
    for chunk in chunks {
        for char in chunk.valid().chars() {
            escape_char(out, char, '"');
        }
        rest -= chunk.valid().len() + chunk.invalid().len();
        // A character truncated by the limit is not invalid.
        if !(cut && rest == 0 && is_torn(chunk.invalid())) {
            for byte in chunk.invalid() {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    if cut {
        out.push_str("...");
    }
}

fn is_torn(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

/// The encoding of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// UTF-8, or bytes treated as such.
    Byte,
    /// UTF-16: `char16_t`.
    Utf16,
    /// UTF-32: `char32_t`.
    Utf32,
    /// `wchar_t`: UTF-16 (`-fshort-wchar`) or UTF-32.
    Wide {
        /// Whether it is UTF-16.
        short: bool,
    },
}

impl Unit {
    /// Returns the encoding of a text with such elements; `None` if their size is not that of
    /// characters.
    pub fn of(element: &Ty) -> Option<Self> {
        match (element.size()?, element.is_wide_character()) {
            (1, _) => Some(Self::Byte),
            (size @ (2 | 4), true) => Some(Self::Wide { short: size == 2 }),
            (2, false) => Some(Self::Utf16),
            (4, false) => Some(Self::Utf32),
            _ => None,
        }
    }

    /// Returns the size of a unit in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Utf16 | Self::Wide { short: true } => 2,
            Self::Utf32 | Self::Wide { short: false } => 4,
        }
    }

    /// Returns the type of a unit in a language.
    pub fn element(self, language: Language) -> Ty {
        let (kind, name) = match self {
            Self::Byte if language == Language::Rust => (ScalarKind::Unsigned, "u8"),
            Self::Byte => (ScalarKind::SignedChar, "char"),
            Self::Utf16 => (ScalarKind::Utf, "char16_t"),
            Self::Utf32 => (ScalarKind::Utf, "char32_t"),
            Self::Wide { .. } => (ScalarKind::Utf, "wchar_t"),
        };
        Ty::Builtin(Scalar::new(kind, self.size() as u8), name)
    }
}

/// Writes a text as a string literal of its encoding.
pub fn write(out: &mut String, bytes: &[u8], unit: Unit, cut: bool) {
    match unit {
        Unit::Byte => return write_quoted(out, bytes, cut),
        Unit::Utf16 => out.push('u'),
        Unit::Utf32 => out.push('U'),
        Unit::Wide { .. } => out.push('L'),
    }
    out.push('"');
    if unit.size() == 2 {
        let units = bytes
            .chunks_exact(2)
            .map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        for char in char::decode_utf16(units) {
            match char {
                Ok(char) => escape_char(out, char, '"'),
                Err(error) => {
                    let _ = write!(out, "\\x{:x}", error.unpaired_surrogate());
                }
            }
        }
    } else {
        for unit in bytes.chunks_exact(4) {
            let unit = u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]);
            match char::from_u32(unit) {
                Some(char) => escape_char(out, char, '"'),
                None => {
                    let _ = write!(out, "\\x{unit:x}");
                }
            }
        }
    }
    out.push('"');
    if cut {
        out.push_str("...");
    }
}

/// Reads a string of units of `unit` bytes up to its terminator, or at most `limit` bytes. The
/// second part of the result is true if there is more.
///
/// # Errors
/// Not even the first page can be read.
pub fn read_terminated(
    memory: &dyn Memory,
    addr: LoadAddr,
    unit: usize,
    limit: usize,
) -> Result<(Vec<u8>, bool), Error> {
    let unit = unit.clamp(1, 4);
    let mut bytes: Vec<u8> = Vec::new();
    let mut checked = 0;
    while bytes.len() < limit {
        let at = addr + bytes.len() as u64;
        let to_page_end = (PAGE - at.0 % PAGE) as usize;
        let wanted = to_page_end.min(limit - bytes.len()).min(256);
        let start = bytes.len();
        bytes.resize(start + wanted, 0);
        if let Err(error) = memory.read(at, &mut bytes[start..]) {
            bytes.truncate(start);
            if start == 0 {
                return Err(error.into());
            }
            return Ok((bytes, true));
        }
        while checked + unit <= bytes.len() {
            if bytes[checked..checked + unit].iter().all(|byte| *byte == 0) {
                bytes.truncate(checked);
                return Ok((bytes, false));
            }
            checked += unit;
        }
    }
    // At exactly the limit the terminator may follow.
    let mut next = [0; 4];
    let ended = memory
        .read(addr + bytes.len() as u64, &mut next[..unit])
        .is_ok_and(|()| next[..unit].iter().all(|byte| *byte == 0));
    bytes.truncate(bytes.len() / unit * unit);
    Ok((bytes, !ended))
}
