//! Pages of memory in a file. Each content is there once, whatever images and files have it.

use super::format::{Kind, OpenError, Reader, SaveError, Section, Writer};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use twox_hash::XxHash3_128;

/// Size of a page in bytes.
pub const PAGE: usize = 4096;
/// Pages in a section: what is read at once.
const IN_SECTION: usize = 256;
/// Sections that stay unpacked.
const MOST_UNPACKED: usize = 16;

/// Consecutive pages of the file at consecutive addresses, of memory or of another file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    pub addr: u64,
    /// The number of the first page.
    pub first: u32,
    /// Their number.
    pub count: u32,
}

impl Run {
    /// Returns their length in bytes.
    pub fn len(&self) -> u64 {
        u64::from(self.count) * PAGE as u64
    }
}

/// Returns whether a page contains only zeros, as pages do that have not been used.
pub fn is_zero(page: &[u8]) -> bool {
    static ZEROS: [u8; PAGE] = [0; PAGE];
    // By `memcmp`: in a debug build a loop over the bytes takes a fifth of the time of `record --check`.
    page.chunks(PAGE).all(|part| part == &ZEROS[..part.len()])
}

/// Adds a page to runs.
pub fn add_to(runs: &mut Vec<Run>, addr: u64, page: u32) {
    if let Some(last) = runs.last_mut()
        && last.addr + last.len() == addr
        && last.first + last.count == page
    {
        last.count += 1;
        return;
    }
    runs.push(Run {
        addr,
        first: page,
        count: 1,
    });
}

/// The pages of a file that is being written.
#[derive(Default)]
pub struct PageWriter {
    known: FxHashMap<u128, u32>,
    /// The hashes of all pages, in order.
    all: Vec<u128>,
    /// Those that are not written yet.
    pending: Vec<u8>,
}

impl PageWriter {
    /// Adds a page, shorter ones filled up with zeros. Returns its number.
    ///
    /// # Errors
    /// The file would become too large, or cannot be written.
    pub fn add(&mut self, page: &[u8], to: &mut Writer) -> Result<u32, SaveError> {
        let mut padded = [0; PAGE];
        let page = match page.len() {
            PAGE => page,
            len => {
                padded[..len.min(PAGE)].copy_from_slice(&page[..len.min(PAGE)]);
                &padded
            }
        };
        let hash = XxHash3_128::oneshot(page);
        if let Some(number) = self.known.get(&hash) {
            return Ok(*number);
        }
        let number = u32::try_from(self.all.len());
        let number = number.map_err(|_| SaveError::Other("it has too many pages".to_owned()))?;
        self.known.insert(hash, number);
        self.all.push(hash);
        self.pending.extend_from_slice(page);
        if self.pending.len() == PAGE * IN_SECTION {
            self.flush(to)?;
        }
        Ok(number)
    }

    /// Writes the pages that are not written yet.
    ///
    /// # Errors
    /// The file would become too large, or cannot be written.
    pub fn flush(&mut self, to: &mut Writer) -> Result<(), SaveError> {
        let pending = std::mem::take(&mut self.pending);
        match pending.is_empty() {
            true => Ok(()),
            false => to.section(Kind::Pages, &pending),
        }
    }

    /// Returns the number of pages.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Forgets the pages from a number on. Those before must be written.
    pub fn forget_from(&mut self, count: usize) {
        for hash in self.all.drain(count.min(self.all.len())..) {
            self.known.remove(&hash);
        }
        self.pending.clear();
    }
}

/// The pages of a file that is read.
pub struct PageReader {
    file: Reader,
    /// Sections with the number of their first pages.
    sections: Vec<(u32, Section)>,
    /// The last sections that were read, by their indices, the newest at the end.
    unpacked: RefCell<Vec<(usize, Vec<u8>)>>,
}

impl PageReader {
    /// Finds the pages of a file.
    ///
    /// # Errors
    /// It is damaged.
    pub fn new(file: Reader, sections: &[Section]) -> Result<PageReader, OpenError> {
        let mut found = Vec::new();
        let mut first = 0_u32;
        for section in sections.iter().filter(|it| it.kind == Kind::Pages) {
            let count = section.raw / PAGE;
            if section.raw % PAGE != 0 || count == 0 || count > IN_SECTION {
                return Err(OpenError::Damaged("the length of a section"));
            }
            found.push((first, *section));
            let next = first.checked_add(count as u32);
            first = next.ok_or(OpenError::Damaged("the number of pages"))?;
        }
        Ok(PageReader {
            file,
            sections: found,
            unpacked: RefCell::default(),
        })
    }

    /// Returns the number of pages, all of which are different in a file that is written here.
    pub fn count(&self) -> u64 {
        let last = self.sections.last();
        last.map_or(0, |(first, section)| {
            u64::from(*first) + (section.raw / PAGE) as u64
        })
    }

    /// Reads pages in portions, with the address of each.
    ///
    /// # Errors
    /// There are no such pages, they are damaged, or `each` fails.
    pub fn read<E: From<OpenError>>(
        &self,
        run: &Run,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut page = run.first;
        let mut addr = run.addr;
        let mut left = run.len() as usize;
        while left > 0 {
            let missing = || OpenError::Damaged("a page is missing");
            let index = self.sections.partition_point(|(first, _)| *first <= page);
            let index = index.checked_sub(1).ok_or_else(missing)?;
            let first = self.sections.get(index).ok_or_else(missing)?.0;
            self.with_section(index, |bytes| {
                let start = (page - first) as usize * PAGE;
                let rest = bytes.get(start..).filter(|rest| !rest.is_empty());
                let rest = rest.ok_or_else(missing)?;
                let portion = &rest[..rest.len().min(left)];
                each(addr, portion)?;
                page = page.saturating_add((portion.len() / PAGE) as u32);
                addr = addr.wrapping_add(portion.len() as u64);
                left -= portion.len();
                Ok::<(), E>(())
            })?;
        }
        Ok(())
    }

    fn with_section<E: From<OpenError>>(
        &self,
        index: usize,
        with: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut unpacked = self.unpacked.borrow_mut();
        match unpacked.iter().position(|(known, _)| *known == index) {
            Some(at) => {
                let section = unpacked.remove(at);
                unpacked.push(section);
            }
            None => {
                let missing = OpenError::Damaged("a page is missing");
                let (_, section) = self.sections.get(index).ok_or(missing)?;
                let bytes = self.file.read(section)?;
                if unpacked.len() >= MOST_UNPACKED {
                    unpacked.remove(0);
                }
                unpacked.push((index, bytes));
            }
        }
        let (_, bytes) = unpacked.last().ok_or(OpenError::Damaged("a page"))?;
        with(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn page(number: usize) -> Vec<u8> {
        let words = (0..PAGE / 8).map(|word| number * 10_000 + word);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn each_content_is_stored_once_and_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let mut writer = Writer::create(&path, 1 << 26).expect("a file");
        let mut pages = PageWriter::default();
        let mut runs = Vec::new();
        for round in 0..2 {
            for nth in 1..=600 {
                let number = pages.add(&page(nth), &mut writer).expect("room");
                let addr = ((round * 10_000 + nth) * PAGE) as u64;
                add_to(&mut runs, addr, number);
            }
        }
        assert_eq!((pages.count(), runs.len()), (600, 2), "{runs:?}");
        pages.flush(&mut writer).expect("room");
        writer.finish().expect("a file");

        let (reader, sections) = Reader::open(File::open(path).expect("it")).expect("sections");
        let reader = PageReader::new(reader, &sections).expect("pages");
        for run in &runs {
            let mut seen = Vec::new();
            let collected = reader.read(run, |addr, bytes| {
                assert_eq!(addr, run.addr + seen.len() as u64);
                seen.extend_from_slice(bytes);
                Ok::<(), OpenError>(())
            });
            assert_eq!(collected, Ok(()));
            let expected: Vec<u8> = (1..=600).flat_map(page).collect();
            assert!(seen == expected);
        }
        let behind = Run {
            addr: 0,
            first: 599,
            count: 2,
        };
        let read = reader.read(&behind, |_, _| Ok::<(), OpenError>(()));
        assert_eq!(read, Err(OpenError::Damaged("a page is missing")));
    }

    #[test]
    fn forgotten_pages_are_stored_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let mut writer = Writer::create(&path, 1 << 26).expect("a file");
        let mut pages = PageWriter::default();
        pages.add(&page(1), &mut writer).expect("room");
        pages.flush(&mut writer).expect("room");
        pages.add(&page(2), &mut writer).expect("room");
        pages.forget_from(1);
        let number = pages.add(&page(3), &mut writer).expect("room");
        assert_eq!(number, 1);
        assert_eq!(pages.add(&page(2), &mut writer).expect("room"), 2);
        assert_eq!(pages.add(&page(1), &mut writer).expect("room"), 0);
    }
}
