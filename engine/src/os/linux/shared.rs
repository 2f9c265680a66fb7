//! Memory shared with the debuggee: it outlives the process, and reading it needs no system call.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared memory, accessed as 8-byte words.
pub struct Shared {
    map: MmapRaw,
}

impl Shared {
    /// Maps the file that a process has open as `descriptor`.
    pub fn open(pid: i32, descriptor: i32, len: usize) -> io::Result<Self> {
        let path = format!("/proc/{pid}/fd/{descriptor}");
        // The program may have replaced the file: the open must not block.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() < len as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let map = MmapOptions::new().len(len).map_raw(&file)?;
        Ok(Self { map })
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

    /// Stores a word (release).
    pub fn set_word(&self, offset: usize, value: u64) {
        if let Some(word) = self.at(offset) {
            word.store(value, Ordering::Release);
        }
    }
}
