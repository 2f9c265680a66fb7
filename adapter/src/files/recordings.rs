//! Where recordings are written unless a file is named.

use super::private;
use engine::os::recording::Saved;
use std::env;
use std::path::{Path, PathBuf};

/// The most megabytes of a file, unless another number is given.
pub const MOST_MEGABYTES: u64 = 1024;

/// Returns a path for a recording of a process, in a folder that only this user may use.
///
/// # Errors
/// There is no such folder; the text says what to do instead.
pub fn new_file(program: &Path, pid: i32) -> Result<PathBuf, String> {
    let variable = |name| env::var_os(name).map(PathBuf::from);
    let folder = folder(variable).ok_or("HOME is not set; name a file")?;
    private::folder(&folder).map_err(|error| format!("{error}; name a file"))?;
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    Ok(folder.join(format!("{name}-{pid}.rec")))
}

/// Returns a number of bytes in the unit that fits.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Returns the text that a recording was written to a file.
pub fn written(path: &Path, saved: &Saved) -> String {
    format!(
        "wrote {} ({}, {} images); `stillpoint replay` opens it",
        path.display(),
        size(saved.bytes),
        saved.images
    )
}

/// Returns the folder (XDG Base Directory Specification: relative paths do not count).
fn folder(variable: impl Fn(&'static str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let state = variable("XDG_STATE_HOME").filter(absolute).or_else(|| {
        let home = variable("HOME").filter(absolute)?;
        Some(home.join(".local/state"))
    });
    Some(state?.join("stillpoint/recordings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_that_for_states_of_programs() {
        let with = |set: &'static [(&str, &str)]| {
            let value = |name| set.iter().find(|it| it.0 == name);
            folder(|name| value(name).map(|it| PathBuf::from(it.1)))
        };
        let found = with(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]);
        assert_eq!(found, Some("/s/stillpoint/recordings".into()));
        let found = with(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")]);
        assert_eq!(found, Some("/h/.local/state/stillpoint/recordings".into()));
        assert_eq!(with(&[]), None);
    }
}
