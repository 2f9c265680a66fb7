//! Files and folders that only this user may use: the log, the cache, the listener's socket. A file
//! or folder of another user in their place is refused.

use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use std::fmt;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Why a folder cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// Another user could read or change its contents: the folder or parent, and the reason.
    Unsafe(PathBuf, String),
    /// It cannot be created or read.
    Io(io::Error),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Unsafe(path, why) => write!(f, "{} {why}", path.display()),
            Unusable::Io(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Unusable::Io(error)
    }
}

/// The attributes that decide whether a folder is safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Facts {
    uid: u32,
    mode: u32,
    is_link: bool,
}

impl Facts {
    fn of(metadata: &Metadata) -> Self {
        Self {
            uid: metadata.uid(),
            mode: metadata.mode(),
            is_link: metadata.file_type().is_symlink(),
        }
    }
}

/// Write permission for others, and the sticky bit, which prevents them from replacing files of
/// this user.
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Returns why a parent folder is not safe for the user `us`; `None` if it is.
fn wrong_parent(facts: Facts, us: u32) -> Option<String> {
    if facts.uid != us && facts.uid != 0 {
        return Some(format!("is owned by another user (uid {})", facts.uid));
    }
    let open = facts.mode & OTHERS_WRITE != 0 && facts.mode & STICKY == 0;
    (open && !facts.is_link).then(|| "is writable by other users".to_owned())
}

/// Returns why the folder itself is not safe for the user `us`; `None` if it is.
fn wrong_folder(facts: Facts, us: u32) -> Option<String> {
    if facts.is_link {
        return Some("is a symbolic link".to_owned());
    }
    if facts.uid != us {
        return Some(format!("is owned by another user (uid {})", facts.uid));
    }
    // Other users may have created files in it.
    let open = facts.mode & OTHERS_WRITE != 0;
    open.then(|| "is writable by other users".to_owned())
}

/// Checks the existing parents of a path, from the root down.
fn check_parents(path: &Path, us: u32) -> Result<(), Unusable> {
    let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
    parents.reverse();
    for parent in parents {
        let metadata = match fs::symlink_metadata(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        if let Some(why) = wrong_parent(Facts::of(&metadata), us) {
            return Err(Unusable::Unsafe(parent.to_owned(), why));
        }
    }
    Ok(())
}

/// Creates a private folder (0700) with its parents. An existing folder of this user is made
/// private.
///
/// # Errors
/// The folder or a parent belongs to another user, it is a link, or a system call fails.
pub fn folder(path: &Path) -> Result<(), Unusable> {
    let us = geteuid().as_raw();
    let path = std::path::absolute(path)?;
    check_parents(&path, us)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&path)?;
    let metadata = fs::symlink_metadata(&path)?;
    if let Some(why) = wrong_folder(Facts::of(&metadata), us) {
        return Err(Unusable::Unsafe(path, why));
    }
    // Parents may be links of this user or root; their targets are checked, too.
    let real = path.canonicalize()?;
    check_parents(&real, us)?;
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(&path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Creates a temporary folder of mode 0700; the umask does not matter. The folder is removed when the value is dropped.
///
/// # Errors
/// It cannot be created.
pub fn temporary_folder() -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("stillpoint-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
}

/// Checks that no other user can replace `path` in its folder.
///
/// # Errors
/// Another user can, or the folder cannot be read.
pub fn in_safe_folder(path: &Path) -> Result<(), Unusable> {
    let us = geteuid().as_raw();
    let path = std::path::absolute(path)?;
    check_parents(&path, us)?;
    let real = path.parent().unwrap_or(&path).canonicalize()?;
    check_parents(&real.join("socket"), us)
}

/// Opens a log file to append to: a private (0600) regular file of this user.
///
/// # Errors
/// The file belongs to another user, is a link of another user, is not a regular file, or a system
/// call fails.
pub fn log_file(path: &Path) -> io::Result<File> {
    // Another process of this user may create it between the two calls.
    match append_to(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match create_log(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => append_to(path),
            other => other,
        },
        other => other,
    }
}

fn create_log(path: &Path) -> io::Result<File> {
    // O_EXCL follows no link.
    File::options()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn append_to(path: &Path) -> io::Result<File> {
    let us = geteuid().as_raw();
    let named = fs::symlink_metadata(path)?;
    let real = match named.file_type().is_symlink() {
        false => path.to_owned(),
        true if [0, us].contains(&named.uid()) => path.canonicalize()?,
        true => return Err(io::Error::other("a link of another user")),
    };
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = File::options()
        .append(true)
        .custom_flags(flags.bits())
        .open(real)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.uid() != us {
        return Err(io::Error::other("owned by another user"));
    }
    if metadata.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    const OUR_UID: u32 = 1000;

    fn facts(uid: u32, mode: u32) -> Facts {
        Facts {
            uid,
            mode,
            is_link: false,
        }
    }

    #[test]
    fn parents_are_roots_or_ours() {
        for (uid, mode, fine) in [
            (0, 0o755, true),
            (OUR_UID, 0o755, true),
            (0, 0o1777, true),
            (OUR_UID, 0o777, false),
            (1001, 0o755, false),
            (1001, 0o1777, false),
        ] {
            let wrong = wrong_parent(facts(uid, mode), OUR_UID);
            assert_eq!(wrong.is_none(), fine, "{uid} {mode:o}");
        }
        let link = |uid| Facts {
            is_link: true,
            ..facts(uid, 0o777)
        };
        assert_eq!(wrong_parent(link(0), OUR_UID), None);
        assert!(wrong_parent(link(1001), OUR_UID).is_some());
    }

    #[test]
    fn the_folder_is_ours_and_no_link() {
        assert_eq!(wrong_folder(facts(OUR_UID, 0o755), OUR_UID), None);
        assert!(wrong_folder(facts(0, 0o755), OUR_UID).is_some());
        assert!(wrong_folder(facts(1001, 0o700), OUR_UID).is_some());
        assert!(wrong_folder(facts(OUR_UID, 0o777), OUR_UID).is_some());
        let link = Facts {
            is_link: true,
            ..facts(OUR_UID, 0o777)
        };
        assert!(wrong_folder(link, OUR_UID).is_some());
    }

    #[test]
    fn folders_are_made_private() {
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let new = place.path().join("parent/new");
        folder(&new).unwrap();
        assert_eq!(mode(&new), 0o700);
        let old = place.path().join("old");
        DirBuilder::new().mode(0o755).create(&old).unwrap();
        folder(&old).unwrap();
        assert_eq!(mode(&old), 0o700);
        let link = place.path().join("link");
        symlink(&old, &link).unwrap();
        let refused = folder(&link).unwrap_err();
        assert!(matches!(&refused, Unusable::Unsafe(path, _) if *path == link));
        // A link of this user on the way is allowed.
        folder(&link.join("below")).unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(folder(&file), Err(Unusable::Io(_))));
    }

    #[test]
    fn logs_are_private_and_appended_to() {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        for _ in 0..2 {
            log_file(&log).unwrap().write_all(b"x").unwrap();
            // Before it is opened a second time, which would make it private.
            assert_eq!(fs::metadata(&log).unwrap().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read(&log).unwrap(), b"xx");
        fs::set_permissions(&log, Permissions::from_mode(0o644)).unwrap();
        let link = place.path().join("link");
        symlink(&log, &link).unwrap();
        log_file(&link).unwrap();
        assert_eq!(fs::metadata(&log).unwrap().mode() & 0o777, 0o600);
        symlink("/dev/null", place.path().join("device")).unwrap();
        for wrong in ["device", "none/log", "."] {
            assert!(log_file(&place.path().join(wrong)).is_err(), "{wrong}");
        }
    }
}
