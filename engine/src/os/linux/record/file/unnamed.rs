//! A file that is written before it has its name: whoever looks there finds a whole file, or the one of before. Until
//! then it has no name at all where the file system allows that, so that nothing stays if the writer is killed.

use crate::os::recording::may_replace;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// A file for a path.
pub struct Unnamed {
    written: Written,
    path: PathBuf,
}

enum Written {
    WithoutName(File),
    /// It has another name in the same folder.
    Hidden(NamedTempFile),
}

impl Unnamed {
    /// Begins a file that only this user may read.
    ///
    /// # Errors
    /// Its folder does not exist or cannot be written to, or [`may_replace`] refuses.
    pub fn create(path: &Path) -> io::Result<Unnamed> {
        may_replace(path)?;
        let folder = folder(path);
        let mut options = OpenOptions::new();
        options
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_TMPFILE);
        let written = match options.open(folder) {
            Ok(file) => Written::WithoutName(file),
            // The file system has none such.
            Err(_) => Written::Hidden(NamedTempFile::new_in(folder)?),
        };
        Ok(Unnamed {
            written,
            path: path.to_owned(),
        })
    }

    /// Returns the file.
    pub fn file(&mut self) -> &mut File {
        match &mut self.written {
            Written::WithoutName(file) => file,
            Written::Hidden(file) => file.as_file_mut(),
        }
    }

    /// Gives it its name, in place of a file that has it.
    ///
    /// # Errors
    /// The system or [`may_replace`] refuses.
    pub fn give_name(self) -> io::Result<()> {
        may_replace(&self.path)?;
        let hidden = match self.written {
            Written::Hidden(file) => file.into_temp_path(),
            // A link replaces no file, but a file can be renamed to the name of another one.
            Written::WithoutName(file) => Builder::new()
                .make_in(folder(&self.path), |name| link(&file, name))?
                .into_temp_path(),
        };
        hidden.persist(&self.path).map_err(|error| error.error)
    }
}

impl Write for Unnamed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Returns the folder of a path.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Gives a file without a name one.
fn link(file: &File, name: &Path) -> io::Result<()> {
    let own = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let name = CString::new(name.as_os_str().as_bytes())?;
    let here = libc::AT_FDCWD;
    // SAFETY: both names are live and end with a zero.
    let linked = unsafe {
        let flags = libc::AT_SYMLINK_FOLLOW;
        libc::linkat(here, own.as_ptr(), here, name.as_ptr(), flags)
    };
    match linked {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("one");
        std::fs::write(&path, "before").expect("a file");
        let mut file = Unnamed::create(&path).expect("a file");
        file.write_all(b"now").expect("room");
        assert_eq!(std::fs::read(&path).expect("a file"), b"before");
        file.give_name().expect("a name");
        assert_eq!(std::fs::read(&path).expect("a file"), b"now");
        let access = path.metadata().expect("a file").permissions();
        assert_eq!(access.mode() & 0o777, 0o600);
        let mut all = std::fs::read_dir(&folder).expect("the folder");
        assert!(all.next().is_some() && all.next().is_none());
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(Unnamed::create(&folder.path().join("one")).expect("a file"));
        let mut all = std::fs::read_dir(&folder).expect("the folder");
        assert!(all.next().is_none());
    }

    #[test]
    fn only_files_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("link");
        symlink("nowhere", &link).expect("a link");
        for (path, what) in [
            (link.as_path(), "a symbolic link"),
            (Path::new("/dev/null"), "a device"),
            (folder.path(), "a folder"),
        ] {
            let why = Unnamed::create(path).err().expect("an error").to_string();
            assert!(why.starts_with(&format!("it is {what}, ")), "{why}");
        }
    }
}
