//! The files that a program has mapped, in a recording: the pages that were mapped of each.

use super::format::{OpenError, SaveError, Writer};
use super::image::KeptFile;
use super::pages::{PAGE, PageReader, PageWriter, add_to, is_zero};
use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};

/// The most bytes of a file in memory, and of all of them: 4 GiB.
const MOST_BYTES: u64 = 1 << 32;
/// Mapped files take no more than this, and so often the memory of their different pages.
const LEAST_BYTES: u64 = 64 << 20;
const MOST_REPEATED: u64 = 16;
/// More files than a process can map.
pub const MOST_FILES: usize = 1 << 16;
/// How the names of the files in memory begin.
const NAME: &str = "recorded-";

/// The files of a recording that is being written.
#[derive(Clone, Default)]
pub struct Files {
    all: Vec<Kept>,
    /// Indices by path and number of the inode.
    by_name: BTreeMap<(OsString, u64), usize>,
    /// The number of pages, also of those that contain zeros.
    count: u64,
}

#[derive(Clone, Default)]
struct Kept {
    path: OsString,
    len: u64,
    /// The numbers of pages by their offsets; `None`: they contain zeros.
    pages: BTreeMap<u64, Option<u32>>,
}

impl Files {
    /// Returns the index of a file.
    pub fn index(&mut self, path: OsString, inode: u64) -> usize {
        let next = self.all.len();
        *self.by_name.entry((path, inode)).or_insert_with_key(|key| {
            self.all.push(Kept {
                path: key.0.clone(),
                ..Kept::default()
            });
            next
        })
    }

    /// Returns whether a page of a file is there, by the file's index and the offset.
    pub fn has(&self, file: usize, offset: u64) -> bool {
        let file = self.all.get(file);
        file.is_some_and(|file| file.pages.contains_key(&offset))
    }

    /// Adds a page of a file, which is shorter at the end of the file.
    ///
    /// # Errors
    /// The recording would become too large, or cannot be written.
    pub fn add(
        &mut self,
        file: usize,
        offset: u64,
        page: &[u8],
        (pages, to): (&mut PageWriter, &mut Writer),
    ) -> Result<(), SaveError> {
        self.count += 1;
        if self.count * PAGE as u64 > MOST_BYTES {
            return Err(SaveError::Other("it has mapped 4 GiB of files".to_owned()));
        }
        if let Some(file) = self.all.get_mut(file) {
            let number = match is_zero(page) {
                true => None,
                false => Some(pages.add(page, to)?),
            };
            file.pages.insert(offset, number);
            file.len = file.len.max(offset + page.len() as u64);
        }
        Ok(())
    }

    /// Notes that a file is at least this long.
    pub fn reach(&mut self, file: usize, len: u64) {
        if let Some(file) = self.all.get_mut(file) {
            file.len = file.len.max(len);
        }
    }

    /// Adds a range of an open file, as far as it exists. Returns the index of the file.
    ///
    /// # Errors
    /// As [`Files::add`]; or it cannot be read.
    pub fn add_range(
        &mut self,
        file: &File,
        path: OsString,
        range: std::ops::Range<u64>,
        (pages, to): (&mut PageWriter, &mut Writer),
    ) -> Result<usize, SaveError> {
        let facts = file.metadata()?;
        let index = self.index(path, facts.ino());
        let mut offset = range.start - range.start % PAGE as u64;
        let mut page = [0; PAGE];
        while offset < range.end.min(facts.len()) {
            if !self.has(index, offset) {
                let mut filled = 0;
                while filled < PAGE {
                    match file.read_at(&mut page[filled..], offset + filled as u64)? {
                        0 => break,
                        count => filled += count,
                    }
                }
                self.add(index, offset, &page[..filled], (pages, to))?;
            }
            offset += PAGE as u64;
        }
        Ok(index)
    }

    /// Returns about the most bytes that the table takes in a file.
    pub fn bytes(&self) -> u64 {
        /// Of a page that follows no other.
        const OF_PAGE: usize = 16;
        let sizes = self.all.iter();
        let sizes = sizes.map(|file| 64 + file.path.len() + OF_PAGE * file.pages.len());
        sizes.sum::<usize>() as u64
    }

    /// Returns the table.
    pub fn table(&self) -> Vec<KeptFile> {
        let table = self.all.iter().map(|file| {
            let mut runs = Vec::new();
            for (offset, number) in &file.pages {
                if let Some(number) = number {
                    add_to(&mut runs, *offset, *number);
                }
            }
            KeptFile {
                path: file.path.clone(),
                len: file.len,
                pages: runs,
            }
        });
        table.collect()
    }
}

/// Makes files in memory of a table, which may be hostile.
///
/// # Errors
/// They are too large, or the system has no descriptors left.
pub fn open(table: &[KeptFile], pages: &PageReader) -> Result<Vec<File>, OpenError> {
    // Files have pages with the same contents, but few: a small recording takes no large memory.
    let different = pages.count() * PAGE as u64;
    let mut left = MOST_BYTES.min(LEAST_BYTES + MOST_REPEATED * different);
    let mut files = Vec::with_capacity(table.len());
    for (index, kept) in table.iter().enumerate() {
        let file = in_memory(&format!("{NAME}{index}"))?;
        file.set_len(kept.len.min(MOST_BYTES))?;
        for run in &kept.pages {
            let rest = left.checked_sub(run.len());
            left = rest.ok_or(OpenError::Damaged("the size of the mapped files"))?;
            pages.read::<OpenError>(run, |offset, bytes| {
                let inside = kept.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
                Ok(file.write_all_at(&bytes[..inside], offset)?)
            })?;
        }
        files.push(file);
    }
    Ok(files)
}

fn in_memory(name: &str) -> io::Result<File> {
    let name = CString::new(name)?;
    // SAFETY: the name is live and ends with a zero; the descriptor is new and has no other owner.
    unsafe {
        match libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(File::from(OwnedFd::from_raw_fd(descriptor))),
        }
    }
}

/// Returns the index of a file in memory by the name that its mappings have.
pub fn index_of(name: &str) -> Option<usize> {
    let name = name.strip_prefix("/memfd:")?.strip_prefix(NAME)?;
    let digits = name.strip_suffix(" (deleted)").unwrap_or(name);
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::format::Reader;
    use super::*;

    #[test]
    fn files_have_what_was_mapped_of_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let content: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
        let source = folder.path().join("source");
        std::fs::write(&source, &content).expect("a file");
        let source = File::open(source).expect("it");

        let path = folder.path().join("recording");
        let mut writer = Writer::create(&path, 1 << 26).expect("a file");
        let (mut pages, mut files) = (PageWriter::default(), Files::default());
        for range in [0..8192, 32_768..u64::MAX] {
            let to = (&mut pages, &mut writer);
            let index = files.add_range(&source, "name".into(), range, to);
            assert_eq!(index.expect("room"), 0);
        }
        pages.flush(&mut writer).expect("room");
        writer.finish().expect("a file");
        let table = files.table();

        let (reader, sections) = Reader::open(File::open(path).expect("it")).expect("sections");
        let pages = PageReader::new(reader, &sections).expect("pages");
        let opened = open(&table, &pages).expect("files");
        let mut seen = vec![0; content.len() + 1];
        let len = opened[0].read_at(&mut seen, 0).expect("its content");
        assert_eq!(len, content.len());
        assert!(seen[..8192] == content[..8192] && seen[32_768..len] == content[32_768..]);
        assert!(seen[8192..32_768].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn mappings_lead_back_to_files() {
        assert_eq!(index_of("/memfd:recorded-12 (deleted)"), Some(12));
        assert_eq!(index_of("/memfd:other-12 (deleted)"), None);
        assert_eq!(index_of("/usr/lib/libc.so"), None);
    }
}
