//! The table in `__unwind_info`: pages of functions with their encodings, by address
//! (`mach-o/compact_unwind_encoding.h`).

use crate::cfi::search_table::behind;
use crate::file::object::{u16_at, u32_at};
use std::ops::Range;

/// Version of the table.
const VERSION: u32 = 1;
/// Size of a row of the index: the first function, the page, the exception tables.
const ROW: usize = 12;
/// Kinds of pages.
const REGULAR: u32 = 2;
const COMPRESSED: u32 = 3;

/// The table of an image.
pub(super) struct Table {
    data: &'static [u8],
    /// Address of the image's header, which all functions are relative to.
    base: u64,
    /// The encodings that all pages share.
    common: Words,
    /// Where the index of pages begins, and the number of its rows. The last row has no page and
    /// says where the code ends.
    index: usize,
    rows: usize,
}

/// The functions that share an encoding: one, or adjacent ones.
pub(super) struct Entry {
    /// The address of the first function.
    pub(super) start: u64,
    /// What describes how their frames are unwound.
    pub(super) encoding: u32,
    /// The row of the index that it was found by.
    row: usize,
}

/// An array of words in the table.
#[derive(Clone, Copy)]
struct Words {
    start: usize,
    count: usize,
}

impl Words {
    fn at(self, data: &[u8], index: usize) -> Option<u32> {
        let at = self.start.checked_add(index.checked_mul(4)?)?;
        u32_at(data, at).filter(|_| index < self.count)
    }
}

/// A page of entries.
enum Page {
    /// Pairs of a function and its encoding, from an offset in the table on.
    Regular(usize),
    /// Words with the distance of a function from the page's first one, and an encoding's index.
    Compressed {
        entries: usize,
        first: u32,
        /// The encodings behind those that all pages share.
        encodings: Words,
    },
}

impl Table {
    /// Reads the header of the table of an image whose own header is at `base`.
    pub(super) fn read(data: &'static [u8], base: u64) -> Option<Table> {
        let word = |index: usize| u32_at(data, 4 * index);
        if word(0)? != VERSION {
            return None;
        }
        // The third and fourth word tell the personality functions, which only the program needs.
        Some(Table {
            data,
            base,
            common: Words {
                start: word(1)? as usize,
                count: word(2)? as usize,
            },
            index: word(5)? as usize,
            rows: word(6)? as usize,
        })
    }

    /// Returns the entry that covers an address.
    pub(super) fn find(&self, addr: u64) -> Option<Entry> {
        let function = u32::try_from(addr.checked_sub(self.base)?).ok()?;
        let row = behind(self.rows, |row| Some(self.first(row)? <= function))?.checked_sub(1)?;
        let (page, count) = self.page(row)?;
        let starts_before = |index| Some(page.function(self.data, index)? <= function);
        let index = behind(count, starts_before)?.checked_sub(1)?;
        let start = page.function(self.data, index)?;
        let mut end = self.first(row + 1)?;
        if index + 1 < count {
            end = end.min(page.function(self.data, index + 1)?);
        }
        // In a corrupt table they may not be in order.
        (start..end).contains(&function).then_some(())?;
        Some(Entry {
            start: self.base.wrapping_add(start.into()),
            encoding: page.encoding(self, index)?,
            row,
        })
    }

    /// Returns where the entries in a range begin. Of a corrupt table, whose pages overlap, it reads
    /// as many entries as there are without that.
    pub(super) fn starts_in(&self, range: Range<u64>) -> Vec<u64> {
        let mut found = Vec::new();
        let start = range.start.saturating_sub(self.base);
        let before = |row| Some(u64::from(self.first(row)?) <= start);
        let first = behind(self.rows, before).unwrap_or(0).saturating_sub(1);
        let mut left = self.data.len() / 4;
        for row in first..self.rows {
            let begins = self.first(row);
            if begins.is_none_or(|it| self.base.wrapping_add(it.into()) >= range.end) {
                break;
            }
            let Some((page, count)) = self.page(row) else {
                break;
            };
            let count = count.min(left);
            left -= count;
            let functions = (0..count).map_while(|index| page.function(self.data, index));
            let addresses = functions.map(|it| self.base.wrapping_add(it.into()));
            found.extend(addresses.filter(|addr| range.contains(addr)));
        }
        found
    }

    /// Returns the address of the exception table of an entry's function.
    pub(super) fn exception_table(&self, entry: &Entry) -> Option<u64> {
        // Pairs of a function and its exception table.
        const PAIR: usize = 8;
        let start = self.word_of(entry.row, 8)? as usize;
        let end = self.word_of(entry.row.checked_add(1)?, 8)? as usize;
        let count = end.checked_sub(start)? / PAIR;
        let word = |index: usize, at: usize| {
            let pair = start.checked_add(index.checked_mul(PAIR)?)?;
            u32_at(self.data, pair.checked_add(at)?)
        };
        let function = entry.start.wrapping_sub(self.base);
        let at_most = |index| Some(u64::from(word(index, 0)?) <= function);
        let index = behind(count, at_most)?.checked_sub(1)?;
        if u64::from(word(index, 0)?) != function {
            return None;
        }
        Some(self.base.wrapping_add(word(index, 4)?.into()))
    }

    /// Returns a word in a row of the index.
    fn word_of(&self, row: usize, at: usize) -> Option<u32> {
        let offset = self.index.checked_add(row.checked_mul(ROW)?)?;
        u32_at(self.data, offset.checked_add(at)?).filter(|_| row < self.rows)
    }

    /// Returns the first function of a row's page.
    fn first(&self, row: usize) -> Option<u32> {
        self.word_of(row, 0)
    }

    /// Returns the page of a row, and the number of its entries.
    fn page(&self, row: usize) -> Option<(Page, usize)> {
        let page = self.word_of(row, 4)? as usize;
        if page == 0 {
            return None;
        }
        let half = |at: usize| Some(usize::from(u16_at(self.data, page.checked_add(at)?)?));
        let entries = page.checked_add(half(4)?)?;
        let count = half(6)?;
        let page = match u32_at(self.data, page)? {
            REGULAR => Page::Regular(entries),
            COMPRESSED => Page::Compressed {
                entries,
                first: self.first(row)?,
                encodings: Words {
                    start: page.checked_add(half(8)?)?,
                    count: half(10)?,
                },
            },
            _ => return None,
        };
        Some((page, count))
    }
}

impl Page {
    /// Returns where the functions of an entry begin, relative to the image.
    fn function(&self, data: &[u8], index: usize) -> Option<u32> {
        match self {
            Page::Regular(entries) => u32_at(data, entries.checked_add(index.checked_mul(8)?)?),
            Page::Compressed { entries, first, .. } => {
                let word = u32_at(data, entries.checked_add(index.checked_mul(4)?)?)?;
                first.checked_add(word & 0xff_ffff)
            }
        }
    }

    /// Returns the encoding of an entry.
    fn encoding(&self, table: &Table, index: usize) -> Option<u32> {
        match self {
            Page::Regular(entries) => {
                let at = entries.checked_add(index.checked_mul(8)?)?;
                u32_at(table.data, at.checked_add(4)?)
            }
            Page::Compressed {
                entries, encodings, ..
            } => {
                let word = u32_at(table.data, entries.checked_add(index.checked_mul(4)?)?)?;
                let index = (word >> 24) as usize;
                match index.checked_sub(table.common.count) {
                    None => table.common.at(table.data, index),
                    Some(index) => encodings.at(table.data, index),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of these rows with a page of all words behind them.
    fn table(rows: &[u32], entries: &[u32]) -> Table {
        let page = 28 + 12 * rows.len() as u32;
        let mut words = vec![VERSION, 28, 0, 28, 0, 28, rows.len() as u32];
        for row in rows {
            words.extend([*row, page, 0]);
        }
        words.extend([COMPRESSED, (entries.len() as u32) << 16 | 12, 0]);
        words.extend(entries);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Table::read(bytes.leak(), 0x1000).unwrap()
    }

    #[test]
    fn overlapping_pages_are_read_once() {
        let entries: Vec<u32> = (0..1000).collect();
        let plain = table(&[0, 2000], &entries);
        let starts: Vec<u64> = entries.iter().map(|it| 0x1000 + u64::from(*it)).collect();
        assert_eq!(plain.starts_in(0x1000..0x1400), starts);
        assert_eq!(plain.starts_in(0x1010..0x1012), [0x1010, 0x1011]);
        let rows: Vec<u32> = (0..1000).collect();
        let overlapping = table(&rows, &entries);
        let found = overlapping.starts_in(0x1000..u64::MAX).len();
        assert!(found <= overlapping.data.len() / 4, "{found}");
    }
}
