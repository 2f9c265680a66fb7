//! Memory that the debuggee shares with us: it outlives the program, and to look at it is no system
//! call.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared memory, as words of 8 bytes.
pub struct Shared {
    map: MmapRaw,
}

impl Shared {
    /// The file that a process has open as `descriptor`.
    pub fn open(pid: i32, descriptor: i32, len: usize) -> io::Result<Self> {
        let path = format!("/proc/{pid}/fd/{descriptor}");
        // The program may have put another file there: no open of that waits.
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
        // SAFETY: inside of the mapping, which lives as long as we do, and aligned as mappings
        // are; whoever else writes there does so by whole words.
        fits.then(|| unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(offset).cast()) })
    }

    /// The word at an offset, with all that was written before it; 0 outside.
    pub fn word(&self, offset: usize) -> u64 {
        let word = self.at(offset);
        word.map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Changes a word, after all that was read before.
    pub fn set_word(&self, offset: usize, value: u64) {
        if let Some(word) = self.at(offset) {
            word.store(value, Ordering::Release);
        }
    }
}
