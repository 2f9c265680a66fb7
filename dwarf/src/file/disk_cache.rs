//! The on-disk cache of results: one file per build-id and kind, written atomically, at most
//! [`MAX_FOLDER_BYTES`] in all.

use crate::file::mapping::open_regular;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Maximum size of all files of the cache together; the least recently used are evicted first.
pub(crate) const MAX_FOLDER_BYTES: u64 = 1 << 30;
/// Age after which unfinished files are deleted.
const UNFINISHED: Duration = Duration::from_secs(3600);

/// Returns the path of an image's cache file; `None` without a usable build-id.
pub(crate) fn file(folder: &Path, build_id: &[u8], kind: &str) -> Option<PathBuf> {
    if build_id.len() < 8 || build_id.len() > 64 {
        return None;
    }
    let name: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(folder.join(format!("{name}.{kind}")))
}

/// Marks a file as just used, so that it is evicted last.
pub(crate) fn touch(path: &Path) {
    // The owner may set the times of a file whatever mode it is opened in.
    if let Ok(file) = open_regular(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Writes a cache file atomically (several processes may write it at once), then evicts old files.
///
/// # Errors
/// The folder cannot be written to.
pub(crate) fn write(
    path: &Path,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let (Some(folder), Some(kind)) = (path.parent(), path.extension()) else {
        return Ok(());
    };
    let _writing = Writing::new();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let unfinished = format!(".{}.{}.tmp", std::process::id(), kind.display());
    let temporary = folder.join(unfinished);
    let written = (|| {
        // A process with the same id may have left it.
        let _ = fs::remove_file(&temporary);
        let file = fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        let mut out = io::BufWriter::new(file);
        contents(&mut out)?;
        out.into_inner()?.sync_data()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    trim(folder, MAX_FOLDER_BYTES)
}

/// Number of files that background threads are writing, and the signal for its changes.
static PENDING_WRITES: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Counts a file as being written until dropped; [`finish_cache_writes`] waits for it.
struct Writing;

impl Writing {
    fn new() -> Writing {
        count(|unwritten| *unwritten += 1);
        Writing
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        count(|unwritten| *unwritten -= 1);
    }
}

fn count(change: impl FnOnce(&mut usize)) {
    change(
        &mut PENDING_WRITES
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner),
    );
    PENDING_WRITES.1.notify_all();
}

/// Calls [`write()`] on a thread of its own.
pub(crate) fn write_in_background(
    path: PathBuf,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) {
    let work = move || {
        if let Err(error) = write(&path, contents) {
            tracing::info!(file = %path.display(), %error, "cannot write a cache file");
        }
    };
    let writing = Writing::new();
    let thread = std::thread::Builder::new().name("cache".into());
    let spawned = thread.spawn(move || {
        work();
        drop(writing);
    });
    if let Err(error) = spawned {
        tracing::info!(%error, "cannot start the thread that writes cache files");
    }
}

/// Waits until the cache files being written are complete, at most `timeout`. Call it before the
/// process ends.
pub fn finish_cache_writes(timeout: Duration) {
    let unwritten = PENDING_WRITES
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let waited = PENDING_WRITES
        .1
        .wait_timeout_while(unwritten, timeout, |unwritten| *unwritten > 0);
    drop(waited);
}

/// Evicts the least recently used files until the rest has at most `max_bytes`.
fn trim(folder: &Path, max_bytes: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if !metadata.is_file() {
            continue;
        }
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "tmp") {
            // The process that wrote it was killed.
            if used.elapsed().is_ok_and(|age| age > UNFINISHED) {
                let _ = fs::remove_file(path);
            }
            continue;
        }
        files.push((used, metadata.len(), path));
    }
    files.sort_unstable();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in files {
        if total <= max_bytes {
            break;
        }
        fs::remove_file(path)?;
        total -= size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aged(path: &Path, age: Duration) {
        fs::write(path, [0; 100]).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn the_oldest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let day = Duration::from_secs(86_400);
        for (age, name) in [(3, "old"), (1, "new"), (2, "middle")] {
            aged(&folder.path().join(name), day * age);
        }
        trim(folder.path(), 250).unwrap();
        assert!(!folder.path().join("old").exists());
        assert!(folder.path().join("middle").exists() && folder.path().join("new").exists());
    }

    #[test]
    fn unfinished_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join(".1.tmp"), folder.path().join(".2.tmp"));
        aged(&old, UNFINISHED * 2);
        aged(&new, Duration::ZERO);
        trim(folder.path(), 1 << 20).unwrap();
        assert!(!old.exists() && new.exists());
    }
}
