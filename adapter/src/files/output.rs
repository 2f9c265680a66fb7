//! Files that a command will write at its end.

use std::fs::OpenOptions;
use std::path::Path;

/// Returns why a file will not be written, before the work that it is for. A file that exists is left as it is.
///
/// # Errors
/// The file cannot be opened or made: its path and why, in words.
pub fn check(path: &Path) -> Result<(), String> {
    let known = std::fs::metadata(path);
    // A pipe would wait for its reader.
    if known.as_ref().is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Ok(());
    }
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| cannot_write(path, &error))?;
    if known.is_err() {
        std::fs::remove_file(path).map_err(|error| cannot_write(path, &error))?;
    }
    Ok(())
}

/// Returns the message for a file that cannot be written.
pub fn cannot_write(path: &Path, why: &dyn std::fmt::Display) -> String {
    format!("cannot write {}: {why}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn check_leaves_no_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        let new = folder.path().join("new");
        assert_eq!(check(&new), Ok(()));
        assert!(!new.exists());
        let kept = folder.path().join("kept");
        fs::write(&kept, "before").expect("a file");
        assert_eq!(check(&kept), Ok(()));
        assert_eq!(fs::read(&kept).expect("the file"), b"before");
        let why = check(&folder.path().join("none/new")).expect_err("no folder");
        assert!(why.contains("none/new: No such file"), "{why}");
        check(folder.path()).expect_err("a folder is no file");
    }
}
