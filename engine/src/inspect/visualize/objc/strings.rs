//! Strings of Foundation: those of CoreFoundation (`struct __CFString` of CFString.c), which constants
//! are, too, and those in the pointer itself.

use crate::inspect::value::Target;
use crate::inspect::value::text::{self, Unit};
use dwarf::LoadAddr;

/// Number of bytes to show.
const SHOWN: u64 = 256;

// Flags in the byte behind the class.
const MUTABLE: u64 = 0x01;
const LENGTH_BYTE: u64 = 0x04;
const UTF16: u64 = 0x10;
/// Zero: the characters follow the head.
const NOT_INLINE: u64 = 0x60;

/// Returns the contents of a string at an address as a literal; `None` if it cannot be read.
pub(super) fn core_foundation(target: &dyn Target, at: LoadAddr) -> Option<String> {
    let memory = target.memory();
    let word = |offset: u64| {
        memory
            .read_uint(LoadAddr(at.0.checked_add(offset)?), 8)
            .ok()
    };
    let flags = memory.read_uint(at + 8, 1).ok()?;
    let has_length = flags & (MUTABLE | LENGTH_BYTE) != LENGTH_BYTE;
    let is_inline = flags & NOT_INLINE == 0;
    let (mut start, length) = match (is_inline, has_length) {
        (true, true) => (at.0.checked_add(24)?, Some(word(16)?)),
        (true, false) => (at.0.checked_add(16)?, None),
        (false, true) => (word(16)?, Some(word(24)?)),
        (false, false) => (word(16)?, None),
    };
    if flags & UTF16 != 0 {
        let bytes = length?.checked_mul(2).filter(|it| *it < 1 << 62)?;
        return literal(target, LoadAddr(start), bytes, Unit::Utf16);
    }
    // Characters of one byte may have their number in front, also if it is elsewhere.
    let in_front = match flags & LENGTH_BYTE {
        0 => None,
        _ => Some(memory.read_uint(LoadAddr(start), 1).ok()?),
    };
    start = start.checked_add(u64::from(in_front.is_some()))?;
    let length = length.or(in_front)?;
    literal(target, LoadAddr(start), length, Unit::Byte)
}

fn literal(target: &dyn Target, at: LoadAddr, bytes: u64, unit: Unit) -> Option<String> {
    if bytes > i64::MAX as u64 {
        return None;
    }
    let mut read = vec![0; bytes.min(SHOWN) as usize];
    if !read.is_empty() {
        target.memory().read(at, &mut read).ok()?;
    }
    let mut out = String::from("@");
    let is_cut = bytes > SHOWN;
    match unit {
        // Bytes beyond ASCII are in an encoding that only the program knows.
        Unit::Byte => {
            out.push('"');
            for byte in &read {
                text::escape_byte(&mut out, *byte, '"');
            }
            out.push_str(if is_cut { "\"..." } else { "\"" });
        }
        _ => {
            let mut quoted = String::new();
            text::write(&mut quoted, &read, unit, is_cut);
            // Without C's prefix.
            out.push_str(quoted.trim_start_matches('u'));
        }
    }
    Some(out)
}

/// Returns the contents of a string that the pointer holds: its number of characters, and these, which
/// are the fewer bits the more they are.
pub(super) fn in_pointer(payload: u64) -> Option<String> {
    /// The characters that have six bits, and first those that have five.
    const FREQUENT: &[u8; 64] = b"eilotrm.apdnsIc ufkMShjTRxgC4013bDNvwyUL2O856P-B79AFKEWV_zGJ/HYX";
    let (length, packed) = (payload & 15, payload >> 4);
    let bits: u64 = match length {
        0..=7 => 8,
        8..=9 => 6,
        10..=11 => 5,
        _ => return None,
    };
    let mut out = String::from("@\"");
    for index in 0..length {
        let byte = match bits {
            8 => (packed >> (index * 8)) as u8,
            // The first character is the highest.
            _ => {
                let code = packed >> ((length - 1 - index) * bits) & ((1 << bits) - 1);
                *FREQUENT.get(code as usize)?
            }
        };
        text::escape_byte(&mut out, byte, '"');
    }
    out.push('"');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs characters by their places in the table.
    fn packed(codes: &[u64], bits: u64) -> u64 {
        let all = codes.iter().fold(0, |sum, code| sum << bits | code);
        all << 4 | codes.len() as u64
    }

    #[test]
    fn pointers_hold_up_to_eleven_characters() {
        assert_eq!(in_pointer(0).as_deref(), Some("@\"\""));
        let seven = u64::from_le_bytes(*b"seven\"x\0");
        assert_eq!(
            in_pointer(seven << 4 | 7).as_deref(),
            Some("@\"seven\\\"x\"")
        );
        let eight = packed(&[12, 0, 35, 0, 11, 15, 63, 62], 6);
        assert_eq!(in_pointer(eight).as_deref(), Some("@\"seven XY\""));
        let eleven = packed(&[2, 1, 5, 5, 2, 0, 15, 27, 28, 29, 30], 5);
        assert_eq!(in_pointer(eleven).as_deref(), Some("@\"lirrle C401\""));
        assert_eq!(in_pointer(12), None);
    }
}
