//! The bundle with an image's debug info (`NAME.dSYM`), which `dsymutil` makes.

use super::Wanted;
use super::property_list::Value;
use crate::file::mapping;
use crate::file::object::Image;
use crate::ids::error::Error;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where a bundle has its files with debug info.
const INSIDE: &str = "Contents/Resources/DWARF";
/// Folders around an image in which to look for its bundle: that of an application is beside it.
const MAX_FOLDERS: usize = 5;
/// Files of a bundle to look at. One has as many as the program has images with the same bundle.
const MAX_FILES: usize = 64;
/// In the home directory, the files with debug info by the UUIDs of their images: where Apple's
/// DebugSymbols framework keeps those that it has found.
const BY_UUID: &str = "Library/SymbolCache/dsyms/uuids";
/// In the home directory, the preferences of that framework.
const PREFERENCES: &str = "Library/Preferences/com.apple.DebugSymbols.plist";
/// Their key with more folders that have files by UUIDs, as that of `BY_UUID` has: a path or several.
const FOLDERS_BY_UUID: &str = "DBGFileMappedPaths";
/// Maximum size of the preferences in bytes.
const MAX_PREFERENCES: u64 = 1 << 20;
/// Maximum number of these folders.
const MAX_FOLDERS_BY_UUID: usize = 64;

/// Looks for the debug info of an image: in bundles beside the image and the folders that it is in,
/// then by its UUID below `home` and in the folders that the preferences there name. A file of another build is an error in `rejected`.
pub(crate) fn find(image: &Image, home: Option<&Path>, rejected: &mut Vec<Error>) -> Option<Image> {
    let uuid = image.build_id?;
    let name = image.path.file_name();
    let beside = bundles(&image.path).into_iter();
    let beside = beside.flat_map(|bundle| files(&bundle, name));
    let kept = home.into_iter().flat_map(|home| {
        let folders = [home.join(BY_UUID)].into_iter();
        folders.chain(preferred_folders(home))
    });
    let kept = kept.flat_map(|folder| entry(&folder.join(uuid_path(uuid)), name));
    for file in beside.chain(kept) {
        match open(&file, image) {
            Ok(found) => return Some(found),
            Err(error) => rejected.push(error),
        }
    }
    None
}

/// Opens a file with the debug info of an image.
///
/// # Errors
/// The file cannot be read, is of another build, or has no debug info.
pub(crate) fn open(path: &Path, image: &Image) -> Result<Image, Error> {
    let wrong = |message: String| Error::WrongDebugFile {
        path: path.to_owned(),
        image: image.path.clone(),
        message,
    };
    // Opening a FIFO would block until it has a writer.
    if !path.is_file() {
        return Err(wrong("not a regular file".to_owned()));
    }
    let (data, _) = mapping::map(path)?;
    let wanted = Wanted {
        machine: Some(image.machine),
        uuid: image.build_id.and_then(|uuid| uuid.try_into().ok()),
    };
    let found = Image::parse_for(path, data, wanted)?;
    let name = |id: Option<&[u8]>| id.map_or("none".to_owned(), uuid_text);
    if found.build_id.is_none() || found.build_id != image.build_id {
        return Err(wrong(format!(
            "its UUID is {}, that of the image {}; run dsymutil again",
            name(found.build_id),
            name(image.build_id)
        )));
    }
    if !found.has_section(".debug_info") {
        return Err(wrong("no section __debug_info".to_owned()));
    }
    Ok(found)
}

/// Returns the bundles that may be the image's: `NAME.dSYM` beside the image, and beside each folder
/// around it that is a bundle itself (`NAME.app`, `NAME.framework`), also where links lead to.
fn bundles(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in [Some(path.to_owned()), std::fs::canonicalize(path).ok()] {
        let Some(path) = path else { continue };
        for (depth, around) in path.ancestors().take(MAX_FOLDERS).enumerate() {
            let Some(name) = around.file_name() else {
                break;
            };
            if depth > 0 && around.extension().is_none() {
                continue;
            }
            let mut bundle = name.to_owned();
            bundle.push(".dSYM");
            let bundle = around.with_file_name(bundle);
            if !found.contains(&bundle) && bundle.is_dir() {
                found.push(bundle);
            }
        }
    }
    found
}

/// Returns the files of a bundle with debug info, the one of a name first.
fn files(bundle: &Path, name: Option<&OsStr>) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(bundle.join(INSIDE)) else {
        return Vec::new();
    };
    let entries = entries.take(MAX_FILES).flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort_by_key(|path| (path.file_name() != name, path.clone()));
    files
}

/// Returns the files that an entry of a folder by UUIDs stands for: the file itself, or those of a
/// bundle. Most entries are links to them.
fn entry(path: &Path, name: Option<&OsStr>) -> Vec<PathBuf> {
    match path.is_file() {
        true => vec![path.to_owned()],
        false => files(path, name),
    }
}

/// Returns the folders with files by UUIDs that the preferences name.
fn preferred_folders(home: &Path) -> Vec<PathBuf> {
    let path = home.join(PREFERENCES);
    if !path.is_file() {
        return Vec::new();
    }
    let read = mapping::read_regular(&path, MAX_PREFERENCES).map_err(|error| error.to_string());
    let folders = match read.and_then(|bytes| Value::parse(&bytes)) {
        Ok(mut preferences) => preferences.remove(FOLDERS_BY_UUID),
        Err(error) => {
            let preferences = path.display();
            tracing::info!(%preferences, error, "no folders with debug info by UUID");
            None
        }
    };
    let folders = match folders {
        Some(Value::Array(folders)) => folders,
        Some(folder) => vec![folder],
        None => Vec::new(),
    };
    let folders = folders.iter().filter_map(Value::text);
    let folders = folders.map(|folder| from_home(Path::new(folder), Some(home)));
    folders.take(MAX_FOLDERS_BY_UUID).collect()
}

pub(super) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

/// Returns a path, which may begin with `~`.
pub(super) fn from_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Returns a UUID as text: hexadecimal digits in groups of 8, 4, 4, 4 and 12.
pub(super) fn uuid_text(uuid: &[u8]) -> String {
    let mut text = String::new();
    for (at, byte) in uuid.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// Returns the path of a UUID in a tree of them: five folders of four digits each, then the rest.
fn uuid_path(uuid: &[u8]) -> PathBuf {
    let digits: String = uuid.iter().map(|byte| format!("{byte:02X}")).collect();
    let (folders, name) = digits.split_at_checked(20).unwrap_or((&digits, ""));
    let folders = folders.as_bytes().chunks(4);
    let folders = folders.filter_map(|digits| std::str::from_utf8(digits).ok());
    folders.chain([name]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_text_and_a_path() {
        let uuid: Vec<u8> = (0xa0..0xb0).collect();
        assert_eq!(uuid_text(&uuid), "A0A1A2A3-A4A5-A6A7-A8A9-AAABACADAEAF");
        let path = Path::new("A0A1/A2A3/A4A5/A6A7/A8A9/AAABACADAEAF");
        assert_eq!(uuid_path(&uuid), path);
    }

    #[test]
    fn bundles_are_beside_the_image_and_the_bundles_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let program = root.join("Shop.app/Contents/MacOS/Shop");
        for bundle in ["Shop.app/Contents/MacOS/Shop.dSYM", "Shop.app.dSYM"] {
            std::fs::create_dir_all(root.join(bundle)).unwrap();
        }
        std::fs::write(&program, "").unwrap();
        std::fs::create_dir_all(root.join("Contents.dSYM")).unwrap();
        std::os::unix::fs::symlink(&program, root.join("shop")).unwrap();
        let wanted = [
            root.join("Shop.app/Contents/MacOS/Shop.dSYM"),
            root.join("Shop.app.dSYM"),
        ];
        assert_eq!(bundles(&program), wanted);
        assert_eq!(bundles(&root.join("shop")), wanted);
    }
}
