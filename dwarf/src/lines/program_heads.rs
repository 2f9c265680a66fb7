//! Line programs before their headers are parsed: which of them may mention a file name.

use crate::file::object::{u16_at, u32_at, u64_at};

/// A line program before its header is parsed.
pub(super) struct ProgramHead {
    pub(super) offset: usize,
    pub(super) version: u16,
    /// The bytes of the directory and file tables.
    pub(super) tables: &'static [u8],
}

/// Returns the program at `offset` (`None` for an unknown version), and the offset of the next one.
pub(super) fn program_head(
    section: &'static [u8],
    offset: usize,
) -> Option<(Option<ProgramHead>, usize)> {
    let (length, mut at, wide) = match u32_at(section, offset)? {
        0xffff_ffff => (u64_at(section, offset + 4)?, offset + 12, true),
        length if length < 0xffff_fff0 => (u64::from(length), offset + 4, false),
        _ => return None,
    };
    let next = at.checked_add(usize::try_from(length).ok()?)?;
    let unit = section.get(..next)?;
    let version = u16_at(unit, at)?;
    at += 2;
    if !(2..=5).contains(&version) {
        return Some((None, next));
    }
    if version >= 5 {
        at += 2;
    }
    let header_length = if wide {
        let length = u64_at(unit, at)?;
        at += 8;
        length
    } else {
        let length = u32_at(unit, at)?;
        at += 4;
        u64::from(length)
    };
    let end = at.checked_add(usize::try_from(header_length).ok()?)?;
    let head = unit.get(at..end).map(|tables| ProgramHead {
        offset,
        version,
        tables,
    });
    Some((head, next))
}

/// The ranges of `.debug_line_str` that hold strings ending in a base name. File tables of version
/// 5 refer to strings by offset, so four bytes within such a range show which tables to parse.
pub(super) struct LineStrings {
    /// From a string's start to the start of the base name in it; sorted. Linkers merge tails, so a
    /// reference may point anywhere between.
    ranges: Vec<(u32, u32)>,
    /// The section is missing: names are elsewhere.
    unknown: bool,
}

impl LineStrings {
    pub(super) fn find(section: &[u8], base: &[u8]) -> LineStrings {
        let mut ranges = Vec::new();
        let mut start = 0;
        while let Some(rest) = section.get(start..) {
            let Some(length) = rest.iter().position(|byte| *byte == 0) else {
                break;
            };
            let string = rest.get(..length).unwrap_or(b"");
            if let Some(head) = string.strip_suffix(base)
                && (head.is_empty() || head.ends_with(b"/"))
                && let (Ok(from), Ok(to)) =
                    (u32::try_from(start), u32::try_from(start + head.len()))
            {
                ranges.push((from, to));
            }
            start += length + 1;
        }
        LineStrings {
            ranges,
            unknown: section.is_empty(),
        }
    }

    pub(super) fn may_be_in(&self, tables: &[u8]) -> bool {
        if self.unknown {
            return true;
        }
        let (Some((min, _)), Some((_, max))) = (self.ranges.first(), self.ranges.last()) else {
            return false;
        };
        tables.windows(4).any(|bytes| {
            let Ok(bytes) = <[u8; 4]>::try_from(bytes) else {
                return false;
            };
            let offset = u32::from_le_bytes(bytes);
            *min <= offset && offset <= *max && {
                let behind = self.ranges.partition_point(|range| range.0 <= offset);
                behind
                    .checked_sub(1)
                    .and_then(|index| self.ranges.get(index))
                    .is_some_and(|range| offset <= range.1)
            }
        })
    }
}

/// Returns whether `haystack` contains `needle` followed by a NUL.
pub(super) fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    // Search for the last letter and the NUL: that pair is rarer than either. Names that end in the
    // same letters differ at their front, so the comparison goes backwards.
    let Some(last) = needle.last() else {
        return false;
    };
    haystack.windows(2).enumerate().any(|(index, pair)| {
        pair == [*last, 0]
            && haystack
                .get(..=index)
                .is_some_and(|head| head.ends_with(needle))
    })
}
