//! The binary search table of `.eh_frame_hdr`, and such searches.

use crate::file::object::u32_at;

/// The binary search table of `.eh_frame_hdr` in the form all linkers write: pairs of
/// 4-byte offsets from the section's start.
pub(super) struct SearchTable {
    addr: u64,
    entries: &'static [u8],
}

impl SearchTable {
    /// Parses `.eh_frame_hdr`. Returns the table and the address of `.eh_frame`.
    pub(super) fn parse(addr: u64, data: &'static [u8]) -> Option<(SearchTable, u64)> {
        // Version 1; eh_frame_ptr pcrel|sdata4, fde_count udata4, table datarel|sdata4.
        if data.get(..4)? != [1, 0x1b, 0x03, 0x3b] {
            return None;
        }
        let eh_frame = relative(addr.wrapping_add(4), u32_at(data, 4)?);
        let count = u32_at(data, 8)? as usize;
        let entries = data.get(12..)?;
        let entries = entries.get(..count.checked_mul(8)?).unwrap_or(entries);
        Some((SearchTable { addr, entries }, eh_frame))
    }

    /// Returns the start of the code that entry `index` covers.
    pub(super) fn start(&self, index: usize) -> Option<u64> {
        let offset = u32_at(self.entries, index.checked_mul(8)?)?;
        Some(relative(self.addr, offset))
    }

    /// Returns the address of the FDE of entry `index`.
    pub(super) fn fde(&self, index: usize) -> Option<u64> {
        let at = index.checked_mul(8)?.checked_add(4)?;
        Some(relative(self.addr, u32_at(self.entries, at)?))
    }

    /// Returns the index of the first entry whose code begins after `addr`.
    pub(super) fn behind(&self, addr: u64) -> Option<usize> {
        behind(self.entries.len() / 8, |index| {
            Some(self.start(index)? <= addr)
        })
    }

    /// Returns the address of the FDE that may cover `addr`.
    pub(super) fn find(&self, addr: u64) -> Option<u64> {
        self.fde(self.behind(addr)?.checked_sub(1)?)
    }
}

/// Returns the index of the first of `count` sorted items that is not before a place; `None` if one
/// cannot be read.
pub(super) fn behind(count: usize, is_before: impl Fn(usize) -> Option<bool>) -> Option<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}

fn relative(base: u64, offset: u32) -> u64 {
    base.wrapping_add(i64::from(offset as i32) as u64)
}
