//! Line programs before their headers are parsed: which of them may mention a file name.

use crate::file::merged_strings::{Text, start_of_string};
use crate::file::object::{u16_at, u32_at, u64_at};
use gimli::Reader;

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

/// The ranges of `.debug_line_str` in which paths with a base name begin. File tables of version 5
/// refer to strings by offset, so four bytes within such a range show which tables to parse.
pub(super) struct LineStrings {
    /// The first and the last offset of each range; sorted.
    ranges: Vec<(u32, u32)>,
    /// The section is missing: names are elsewhere.
    unknown: bool,
}

impl LineStrings {
    pub(super) fn find(section: &[u8], base: &[u8]) -> LineStrings {
        let mut ended = base.to_vec();
        ended.push(0);
        let text = Text::new(&ended);
        let places = text.occurrences(section).filter_map(|at| {
            // Behind a `/`, the base name ends a path that begins anywhere before it. Behind
            // another letter, it is the end of another base name, and only a path of its own if
            // the linker has merged both.
            let start = start_of_string(section, at);
            let is_component = at > start && section.get(at - 1) == Some(&b'/');
            let first = if is_component { start } else { at };
            Some((u32::try_from(first).ok()?, u32::try_from(at).ok()?))
        });
        LineStrings {
            ranges: places.collect(),
            unknown: section.is_empty(),
        }
    }

    /// Returns whether the tables of a program of version 5 may refer to such a path.
    pub(super) fn may_be_in(&self, tables: &[u8]) -> bool {
        if self.unknown || !has_line_strings(tables) {
            return true;
        }
        tables.windows(4).any(|bytes| {
            let bytes = <[u8; 4]>::try_from(bytes);
            bytes.is_ok_and(|bytes| self.may_begin_at(u32::from_le_bytes(bytes)))
        })
    }

    fn may_begin_at(&self, offset: u32) -> bool {
        let (Some((min, _)), Some((_, max))) = (self.ranges.first(), self.ranges.last()) else {
            return false;
        };
        *min <= offset && offset <= *max && {
            let behind = self.ranges.partition_point(|range| range.0 <= offset);
            let range = behind
                .checked_sub(1)
                .and_then(|index| self.ranges.get(index));
            range.is_some_and(|range| offset <= range.1)
        }
    }
}

/// Returns whether the directory and file tables of a program of version 5 have their names in
/// `.debug_line_str` or in themselves. DWARF allows `.debug_str`, too.
fn has_line_strings(tables: &[u8]) -> bool {
    let paths_in_file_table = || {
        let mut rest = gimli::EndianSlice::new(tables, gimli::LittleEndian);
        // minimum_instruction_length to line_range
        rest.skip(5).ok()?;
        let opcode_base = rest.read_u8().ok()?;
        rest.skip(usize::from(opcode_base.saturating_sub(1))).ok()?;
        // The directories' entries have the same form as the files': one producer writes both.
        let count = rest.read_u8().ok()?;
        let mut form = None;
        for _ in 0..count {
            let content = rest.read_uleb128_u16().ok()?;
            let value = rest.read_uleb128_u16().ok()?;
            if content == gimli::DW_LNCT_path.0 {
                form = Some(gimli::DwForm(value));
            }
        }
        form
    };
    matches!(
        paths_in_file_table(),
        Some(gimli::DW_FORM_line_strp | gimli::DW_FORM_string)
    )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::merged_strings::tests::{all_strings, random_section};

    /// Tables of a program whose file names are in a section, with a reference to one.
    fn tables(form: gimli::DwForm, offset: u32) -> Vec<u8> {
        let mut bytes = vec![1, 1, 1, 0xfb, 14, 2, 0];
        bytes.extend([1, gimli::DW_LNCT_path.0 as u8, form.0 as u8, 1]);
        bytes.extend(offset.to_le_bytes());
        bytes
    }

    #[test]
    fn each_path_with_a_base_name_is_found_in_random_sections() {
        for seed in 1..200 {
            let section = random_section(seed, b"ab/");
            for base in ["a", "b", "ab", "aa", "aba"] {
                let strings = LineStrings::find(&section, base.as_bytes());
                let (mut found, mut expected) = (Vec::new(), Vec::new());
                for (at, string) in all_strings(&section) {
                    found.extend(strings.may_begin_at(at as u32).then_some(at));
                    let head = string.strip_suffix(base.as_bytes());
                    let has = head.is_some_and(|head| head.is_empty() || head.ends_with(b"/"));
                    expected.extend(has.then_some(at));
                }
                assert_eq!(found, expected, "seed {seed}: {base}");
            }
        }
    }

    #[test]
    fn names_in_another_section_have_to_be_read() {
        let strings = LineStrings::find(b"\0other.c\0", b"list.c");
        assert!(strings.may_be_in(&tables(gimli::DW_FORM_strp, 0)));
        assert!(!strings.may_be_in(&tables(gimli::DW_FORM_line_strp, 0)));
    }
}
