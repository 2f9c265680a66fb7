//! Files mapped into memory for the lifetime of the process: the only `unsafe` code of the crate.
//!
//! A debugging session is one process and uses its modules until the end, so files are never
//! unmapped. This allows `'static` slices instead of a lifetime in all readers.
//!
//! A file may be truncated while it is mapped (`cp new old`). An access behind the new end then
//! raises SIGBUS. To survive that, the process's signal handler calls [`mapped_at`], maps zeros
//! over the rest of the file's pages, and calls [`MappedFile::set_truncated`]. Readers of the zeros
//! report corrupt debug info instead of crashing.

use crate::ids::error::Error;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Identity of a file's contents: device, inode, size, modification time.
pub(crate) type FileIdentity = (u64, u64, u64, i128);

/// A file that this process has mapped.
#[derive(Debug)]
pub struct MappedFile {
    path: PathBuf,
    mapping: &'static memmap2::Mmap,
    truncated: AtomicBool,
    reported: AtomicBool,
    next: OnceLock<&'static MappedFile>,
}

/// Head of the list of all mapped files. The list is linked so that a signal handler can walk it
/// without a lock.
static FIRST: OnceLock<&'static MappedFile> = OnceLock::new();
static LAST: Mutex<Option<&'static MappedFile>> = Mutex::new(None);
static ANY_TRUNCATED: AtomicBool = AtomicBool::new(false);

impl MappedFile {
    /// Returns the address range of the mapping in this process.
    pub fn addresses(&self) -> Range<usize> {
        let start = self.mapping.as_ptr() as usize;
        start..start + self.mapping.len()
    }

    /// Marks the file as truncated. Async-signal-safe.
    pub fn set_truncated(&self) {
        self.truncated.store(true, Ordering::Relaxed);
        ANY_TRUNCATED.store(true, Ordering::Release);
    }
}

/// Returns the file that is mapped at an address of this process. Async-signal-safe.
pub fn mapped_at(address: usize) -> Option<&'static MappedFile> {
    files().find(|file| file.addresses().contains(&address))
}

/// Returns the files found truncated since the last call.
pub fn truncated_files() -> Vec<&'static Path> {
    // Called in every round of the debugger's loop: a load is cheaper than a swap.
    if !ANY_TRUNCATED.load(Ordering::Relaxed) || !ANY_TRUNCATED.swap(false, Ordering::Acquire) {
        return Vec::new();
    }
    files()
        .filter(|file| file.truncated.load(Ordering::Relaxed))
        .filter(|file| !file.reported.swap(true, Ordering::Relaxed))
        .map(|file| file.path.as_path())
        .collect()
}

fn files() -> impl Iterator<Item = &'static MappedFile> {
    let first = FIRST.get().copied();
    std::iter::successors(first, |file| file.next.get().copied())
}

/// Releases the memory of the pages of a mapped file; they are read again at the next access. Does
/// nothing for bytes outside a mapped file.
pub(crate) fn give_back(bytes: &'static [u8]) {
    let start = bytes.as_ptr() as usize;
    let Some(file) = mapped_at(start) else {
        return;
    };
    let offset = start - file.addresses().start;
    let len = bytes.len().min(file.mapping.len() - offset);
    // SAFETY: the mapping is private, read-only, and never written to, so that its pages equal the
    // file: after the release the same bytes are read again.
    #[allow(unsafe_code)]
    let mapped = unsafe {
        file.mapping
            .unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, len)
    };
    if let Err(error) = mapped {
        tracing::debug!(%error, "cannot release memory");
    }
}

fn remember(path: &Path, mapping: &'static memmap2::Mmap) {
    let file = Box::leak(Box::new(MappedFile {
        path: path.to_owned(),
        mapping,
        truncated: AtomicBool::new(false),
        reported: AtomicBool::new(false),
        next: OnceLock::new(),
    }));
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let place = last.replace(file).map_or(&FIRST, |last| &last.next);
    // Succeeds: the cell is only written here, under the lock, when its file is the last one.
    let _ = place.set(file);
}

/// Returns the identity of the file with this metadata.
pub(crate) fn identity_of(metadata: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    (
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
    )
}

/// Opens a regular file for reading, without blocking, by a path that comes from a client, a file
/// or a debuggee. Other kinds of files may block the open (a FIFO), have side effects (a device),
/// or have no end (`/dev/zero`).
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_known(path, &std::fs::metadata(path)?).map(|(file, _)| file)
}

/// Like [`open_regular`], with the metadata of the path. Also returns that of the opened file.
fn open_known(path: &Path, known: &Metadata) -> io::Result<(File, Metadata)> {
    // Checked before the open, as opening a device may have side effects.
    only_regular(known)?;
    let file = File::options()
        .read(true)
        // In case the path refers to a FIFO by now. Of regular files, O_NONBLOCK affects only those
        // whose reads block, such as /proc/kmsg.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    // Checked again: the path may refer to another file by now.
    let opened = file.metadata()?;
    only_regular(&opened)?;
    Ok((file, opened))
}

fn only_regular(metadata: &Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// Opens a file with [`open_regular`] and reads all of it.
///
/// # Errors
/// Those of [`open_regular`]; the file is longer than `most` bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open_regular(path)?.take(most.saturating_add(1));
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("larger than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Maps a file for the lifetime of the process.
pub(crate) fn map(path: &Path) -> Result<(&'static [u8], FileIdentity), Error> {
    let known = std::fs::metadata(path).map_err(|error| io_error(path, &error))?;
    map_known(path, &known)
}

/// Like [`map`], with the metadata of the path.
pub(crate) fn map_known(
    path: &Path,
    known: &Metadata,
) -> Result<(&'static [u8], FileIdentity), Error> {
    let opened = open_known(path, known);
    let (file, opened) = opened.map_err(|error| io_error(path, &error))?;
    map_open(path, &file, &opened)
}

/// Maps an open file for the lifetime of the process. `path` is its name in messages.
///
/// # Errors
/// The file is not regular, or the system cannot map it.
pub fn map_file(path: &Path, file: &File) -> Result<&'static [u8], Error> {
    let opened = file.metadata().map_err(|error| io_error(path, &error))?;
    map_open(path, file, &opened).map(|(bytes, _)| bytes)
}

fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

fn map_open(
    path: &Path,
    file: &File,
    metadata: &Metadata,
) -> Result<(&'static [u8], FileIdentity), Error> {
    let io = |error| io_error(path, &error);
    if !metadata.is_file() {
        return Err(Error::NotAnImage {
            path: path.to_owned(),
            message: "not a regular file".into(),
        });
    }
    let identity = identity_of(metadata);
    if metadata.len() == 0 {
        return Ok((&[], identity));
    }
    // SAFETY: the mapping is private and read-only, so nothing in this process changes it.
    // Another process may write to the file or truncate it, as with every debugger that maps
    // files; compilers and linkers write a new file instead. Truncation raises SIGBUS (see the
    // module documentation) and affects no other memory.
    #[allow(unsafe_code)]
    let mapping = unsafe {
        let len = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        memmap2::MmapOptions::new().len(len).map(file)
    }
    .map_err(io)?;
    let mapping: &'static memmap2::Mmap = Box::leak(Box::new(mapping));
    remember(path, mapping);
    Ok((mapping, identity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Creates a FIFO in `folder`.
    fn fifo(folder: &Path) -> PathBuf {
        let path = folder.join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        path
    }

    #[test]
    fn non_regular_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let fifo = fifo(folder.path());
        for path in [fifo.as_path(), folder.path(), &link, Path::new("/dev/null")] {
            let error = open_regular(path).unwrap_err();
            assert_eq!(error.to_string(), "not a regular file", "{path:?}");
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
    fn whole_file_reads_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"0123456789").unwrap();
        assert_eq!(read_regular(&path, 10).unwrap(), b"0123456789");
        let error = read_regular(&path, 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        // No more than the limit is read of a large file.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_regular(&path, 9).is_err());
        // Files in /proc report a size of 0.
        let status = read_regular(Path::new("/proc/self/status"), 1 << 20).unwrap();
        assert!(status.starts_with(b"Name:"));
    }
}
