//! Files mapped into memory, for ever: the one `unsafe` of the crate.
//!
//! One debugging session is one process, a module is used until it ends, and readers without
//! a lifetime keep everything else simple.
//!
//! A file may be cut short while it is mapped (`cp new old`). What lies behind its new end is
//! then answered by SIGBUS; a process that wants to live through that asks [`mapped_at`] in its
//! handler, puts zeros in the file's place, and says so ([`MappedFile::set_truncated`]). Zeros
//! read as corrupt debug info: errors, not crashes.

use crate::ids::error::Error;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What makes a file the same file: device, inode, size, modification time.
pub(crate) type FileIdentity = (u64, u64, u64, i128);

/// A file that this process has mapped.
#[derive(Debug)]
pub struct MappedFile {
    path: PathBuf,
    mapping: &'static memmap2::Mmap,
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
        let start = self.mapping.as_ptr() as usize;
        start..start + self.mapping.len()
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

/// Gives the memory back that bytes of a mapped file take. They are read anew when they are
/// touched again. Nothing happens to bytes that are not of a file.
pub(crate) fn give_back(bytes: &'static [u8]) {
    let start = bytes.as_ptr() as usize;
    let Some(file) = mapped_at(start) else {
        return;
    };
    let offset = start - file.addresses().start;
    let len = bytes.len().min(file.mapping.len() - offset);
    // SAFETY: the mapping is private, read-only, and never written to, so that its pages have
    // what the file has: without them the same bytes are read again.
    #[allow(unsafe_code)]
    let given = unsafe {
        file.mapping
            .unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, len)
    };
    if let Err(error) = given {
        tracing::debug!(%error, "cannot give memory back");
    }
}

fn remember(path: &Path, mapping: &'static memmap2::Mmap) {
    let file = Box::leak(Box::new(MappedFile {
        path: path.to_owned(),
        mapping,
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

/// Opens a file for reading whose path comes from a client, a file or a debuggee: a regular file,
/// and without waiting. Another kind of file may block the open for ever (a FIFO), act on it (a
/// device), or have no end (`/dev/zero`).
///
/// # Errors
/// It cannot be opened, or is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Asked before the open: a device is not to notice.
    only_regular(&std::fs::metadata(path)?)?;
    let file = File::options()
        .read(true)
        // Without effect on regular files but for those of the kernel that would wait.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    // Asked again: the path may lead elsewhere by now.
    only_regular(&file.metadata()?)?;
    Ok(file)
}

fn only_regular(metadata: &Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Reads a file as [`open_regular`] opens it, to its end.
///
/// # Errors
/// As [`open_regular`]; it is longer than `most` bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open_regular(path)?.take(most.saturating_add(1));
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it is longer than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Maps a file for ever.
pub(crate) fn map(path: &Path) -> Result<(&'static [u8], FileIdentity), Error> {
    let file = open_regular(path).map_err(|error| io_error(path, &error))?;
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
    let mapping: &'static memmap2::Mmap = Box::leak(Box::new(mapping));
    remember(path, mapping);
    Ok((mapping, identity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What no open may wait for: in a folder of its own.
    fn fifo(folder: &Path) -> PathBuf {
        let path = folder.join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        path
    }

    #[test]
    fn other_than_regular_files_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let fifo = fifo(folder.path());
        for path in [fifo.as_path(), folder.path(), &link, Path::new("/dev/null")] {
            let error = open_regular(path).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{path:?}");
            assert!(read_regular(path, 10).is_err());
            assert!(map(path).is_err());
        }
        assert_eq!(
            open_regular(&folder.path().join("none"))
                .unwrap_err()
                .kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn what_is_read_whole_has_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"0123456789").unwrap();
        assert_eq!(read_regular(&path, 10).unwrap(), b"0123456789");
        let error = read_regular(&path, 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        // No more of a large file is read than the bound.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_regular(&path, 9).is_err());
        // Files of the kernel tell no length.
        let status = read_regular(Path::new("/proc/self/status"), 1 << 20).unwrap();
        assert!(status.starts_with(b"Name:"));
    }
}
