//! Files mapped into memory, for ever: the one `unsafe` of the crate.
//!
//! One debugging session is one process, a module is used until it ends, and readers without
//! a lifetime keep everything else simple.
//!
//! A file may be cut short while it is mapped (`cp new old`). What lies behind its new end is
//! then answered by SIGBUS; a process that wants to live through that asks [`mapped_at`] in its
//! handler, puts zeros in the file's place, and says so ([`MappedFile::set_truncated`]). Zeros
//! read as corrupt debug info: errors, not crashes.

use crate::error::Error;
use std::fs::{File, Metadata};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What makes a file the same file: device, inode, size, modification time.
pub(crate) type FileIdentity = (u64, u64, u64, i128);

/// A file that this process has mapped.
#[derive(Debug)]
pub struct MappedFile {
    path: PathBuf,
    bytes: &'static [u8],
    truncated: AtomicBool,
    told: AtomicBool,
    next: OnceLock<&'static MappedFile>,
}

/// All of them: each knows the next, so that a signal handler can walk them without a lock.
static FIRST: OnceLock<&'static MappedFile> = OnceLock::new();
static LAST: Mutex<Option<&'static MappedFile>> = Mutex::new(None);
static ANY_TRUNCATED: AtomicBool = AtomicBool::new(false);

impl MappedFile {
    /// The addresses, in this process, of what the file had when it was mapped.
    pub fn addresses(&self) -> Range<usize> {
        let start = self.bytes.as_ptr() as usize;
        start..start + self.bytes.len()
    }

    /// Says that it was cut short. Does nothing that a signal handler may not do.
    pub fn set_truncated(&self) {
        self.truncated.store(true, Ordering::Relaxed);
        ANY_TRUNCATED.store(true, Ordering::Release);
    }
}

/// The mapped file that an address of this process belongs to. Does nothing that a signal
/// handler may not do.
pub fn mapped_at(address: usize) -> Option<&'static MappedFile> {
    files().find(|file| file.addresses().contains(&address))
}

/// The files that were found cut short since this was asked before.
pub fn truncated_files() -> Vec<&'static Path> {
    // Asked at every turn: a load is cheaper than a swap.
    if !ANY_TRUNCATED.load(Ordering::Relaxed) || !ANY_TRUNCATED.swap(false, Ordering::Acquire) {
        return Vec::new();
    }
    files()
        .filter(|file| file.truncated.load(Ordering::Relaxed))
        .filter(|file| !file.told.swap(true, Ordering::Relaxed))
        .map(|file| file.path.as_path())
        .collect()
}

fn files() -> impl Iterator<Item = &'static MappedFile> {
    let first = FIRST.get().copied();
    std::iter::successors(first, |file| file.next.get().copied())
}

fn remember(path: &Path, bytes: &'static [u8]) {
    let file = Box::leak(Box::new(MappedFile {
        path: path.to_owned(),
        bytes,
        truncated: AtomicBool::new(false),
        told: AtomicBool::new(false),
        next: OnceLock::new(),
    }));
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let place = last.replace(file).map_or(&FIRST, |last| &last.next);
    // Nobody else is here: the lock is held.
    let _ = place.set(file);
}

/// What tells the file at `path` from others.
pub(crate) fn identity(path: &Path) -> std::io::Result<FileIdentity> {
    std::fs::metadata(path).map(|metadata| identity_of(&metadata))
}

fn identity_of(metadata: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    (
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
    )
}

/// Maps a file for ever.
pub(crate) fn map(path: &Path) -> Result<(&'static [u8], FileIdentity), Error> {
    let file = File::open(path).map_err(|error| io_error(path, &error))?;
    map_open(path, &file)
}

/// Maps an open file, which is known as `path` to people, for ever.
///
/// # Errors
/// It is no regular file, or the system does not map it.
pub fn map_file(path: &Path, file: &File) -> Result<&'static [u8], Error> {
    map_open(path, file).map(|(bytes, _)| bytes)
}

fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

fn map_open(path: &Path, file: &File) -> Result<(&'static [u8], FileIdentity), Error> {
    let io = |error| io_error(path, &error);
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(Error::NotAnImage {
            path: path.to_owned(),
            message: "it is not a regular file".into(),
        });
    }
    let identity = identity_of(&metadata);
    if metadata.len() == 0 {
        return Ok((&[], identity));
    }
    // SAFETY: the mapping is private and read-only, so nothing in this process changes it.
    // Another process may write to or truncate the file under us; debuggers and profilers
    // live with that (compilers and linkers write a new file), and a truncated file costs a
    // SIGBUS, not memory safety of other data.
    #[allow(unsafe_code)]
    let mapping = unsafe { memmap2::Mmap::map(file) }.map_err(io)?;
    let bytes: &'static [u8] = Box::leak(Box::new(mapping));
    remember(path, bytes);
    Ok((bytes, identity))
}
