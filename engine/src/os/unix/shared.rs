//! Memory shared with the debuggee: it outlives the process, and reading it needs no system call.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared memory, accessed as 8-byte words.
pub struct Shared {
    map: MmapRaw,
}

impl Shared {
    /// Maps a file of at least this length.
    ///
    /// # Errors
    /// The file is shorter, or not a regular one.
    pub fn of(file: &File, len: usize) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() < len as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let map = MmapOptions::new().len(len).map_raw(file)?;
        Ok(Self { map })
    }

    /// Maps zeroed memory of this process alone.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn private(len: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(len).map_anon()?;
        Ok(Self { map: map.into() })
    }

    fn at(&self, offset: usize) -> Option<&AtomicU64> {
        let fits = offset.is_multiple_of(8) && offset.checked_add(8)? <= self.map.len();
        // SAFETY: inside the mapping, which lives as long as self, and aligned as mappings are; all
        // other writers write whole words.
        fits.then(|| unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(offset).cast()) })
    }

    /// Loads the word at an offset (acquire); 0 outside.
    pub fn word(&self, offset: usize) -> u64 {
        let word = self.at(offset);
        word.map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Replaces a word if it has the value `from`. Returns whether it had.
    pub fn exchange(&self, offset: usize, from: u64, to: u64) -> bool {
        let word = self.at(offset);
        word.is_some_and(|word| {
            let order = (Ordering::AcqRel, Ordering::Acquire);
            word.compare_exchange(from, to, order.0, order.1).is_ok()
        })
    }

    /// Stores a word (release).
    pub fn set_word(&self, offset: usize, value: u64) {
        if let Some(word) = self.at(offset) {
            word.store(value, Ordering::Release);
        }
    }
}
