//! Location of an image's debug info: the image itself, or a separate file.

use crate::file::R;
use crate::file::macho::companion;
use crate::file::mapping;
use crate::file::object::{self, Format, Image};
use crate::ids::error::Error;
use gimli::Reader;
use std::path::{Path, PathBuf};

/// Directory where distributions install separate debug info.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// The separate file with the debug info of an image.
#[derive(Default)]
pub(crate) struct DebugFile {
    /// `None`: there is none, or the image has debug info itself.
    pub(crate) image: Option<Image>,
    /// Why other files, whose places say that they are it, are not.
    pub(crate) rejected: Vec<Error>,
}

impl DebugFile {
    /// Looks for the debug file of an image. That of ELF is found by build-id, then by
    /// `.gnu_debuglink` (GDB manual, "Debugging Information in Separate Files"); that of Mach-O in
    /// bundles (`.dSYM`).
    pub(crate) fn find(image: &Image) -> DebugFile {
        let mut found = DebugFile::default();
        if image.has_section(".debug_info") {
            return found;
        }
        found.image = match &image.format {
            Format::Elf(_) => debug_file_in(image, Path::new(DEBUG_ROOT)),
            Format::MachO(_) => {
                let home = std::env::var_os("HOME").map(PathBuf::from);
                companion::find(image, home.as_deref(), &mut found.rejected)
            }
        };
        found
    }
}

fn debug_file_in(image: &Image, root: &Path) -> Option<Image> {
    if let Some(id) = image.build_id
        && let Some(path) = build_id_path(id, root)
        && let Some(found) = open(&path, Some(id))
    {
        return Some(found);
    }
    let link = image.section_data(".gnu_debuglink");
    let end = link.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(link.get(..end)?).ok()?;
    if name.is_empty() {
        return None;
    }
    let crc = object::u32_at(link, (end + 1).checked_next_multiple_of(4)?)?;
    let real = std::fs::canonicalize(&image.path).unwrap_or_else(|_| image.path.clone());
    let folder = real.parent()?;
    let candidates = [
        folder.join(name),
        folder.join(".debug").join(name),
        root.join(folder.strip_prefix("/").unwrap_or(folder))
            .join(name),
    ];
    candidates
        .into_iter()
        .filter(|candidate| *candidate != real)
        .find_map(|candidate| {
            let found = open(&candidate, None)?;
            // Equal build-ids are as reliable as the checksum and need no read of the file.
            let same = match (image.build_id, found.build_id) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => crc32(found.data) == crc,
            };
            same.then_some(found)
        })
}

/// Opens a given debug file of an image, for example one that debuginfod returned for its build-id.
///
/// # Errors
/// The file cannot be read, is of another build, or has no debug info.
pub(crate) fn debug_file_at(path: &Path, image: &Image) -> Result<Image, Error> {
    if image.macho().is_some() {
        return companion::open(path, image);
    }
    let wrong = |message: &str| Error::WrongDebugFile {
        path: path.to_owned(),
        image: image.path.clone(),
        message: message.to_owned(),
    };
    // Opening a FIFO would block until it has a writer.
    if !path.is_file() {
        return Err(wrong("not a regular file"));
    }
    let (data, _) = mapping::map(path)?;
    let found = Image::parse(path, data)?;
    if found.build_id.is_none() || found.build_id != image.build_id {
        return Err(wrong("its build-id differs"));
    }
    if !found.has_section(".debug_info") {
        return Err(wrong("no section .debug_info"));
    }
    Ok(found)
}

/// Returns the supplementary file (dwz) of a debug file: DWARF 5 §7.3.6 or the GNU form.
pub(crate) fn supplementary_file(image: &Image) -> Option<Image> {
    let root = Path::new(DEBUG_ROOT);
    let (name, id) = supplementary_link(image)?;
    let real = std::fs::canonicalize(&image.path).unwrap_or_else(|_| image.path.clone());
    let beside = real.parent().map(|folder| folder.join(name));
    let dwz = root.join(".dwz").join(name.file_name()?);
    [beside, build_id_path(id, root), Some(dwz)]
        .into_iter()
        .flatten()
        .find_map(|path| {
            let found = open(&path, None)?;
            let theirs = found.build_id.or(checksum(&found));
            (theirs == Some(id)).then_some(found)
        })
}

/// Returns the name and id of the supplementary file.
fn supplementary_link(image: &Image) -> Option<(&'static Path, &'static [u8])> {
    let gnu = image.section_data(".gnu_debugaltlink");
    let (link, is_gnu) = match gnu {
        // "Contents of the .debug_sup Section": version, whether this is a supplementary file.
        [] => match image.section_data(".debug_sup") {
            [5, 0, 0, link @ ..] => (link, false),
            _ => return None,
        },
        gnu => (gnu, true),
    };
    let end = link.iter().position(|byte| *byte == 0)?;
    let name = Path::new(std::str::from_utf8(link.get(..end)?).ok()?);
    let id = link.get(end + 1..)?;
    Some((name, if is_gnu { id } else { sized(id)? }))
}

/// Returns the id by which other files refer to a supplementary file.
fn checksum(image: &Image) -> Option<&'static [u8]> {
    match image.section_data(".debug_sup") {
        // A supplementary file refers to no other file, so the name is empty.
        [5, 0, 1, 0, id @ ..] => sized(id),
        _ => None,
    }
}

/// Returns the bytes that follow their count.
fn sized(bytes: &'static [u8]) -> Option<&'static [u8]> {
    let mut reader = R::new(bytes, gimli::LittleEndian);
    let count = reader.read_uleb128().ok()?;
    object::slice(reader.slice(), 0, count)
}

fn build_id_path(id: &[u8], root: &Path) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(root.join(format!(".build-id/{first:02x}/{rest}.debug")))
}

fn open(path: &Path, build_id: Option<&[u8]>) -> Option<Image> {
    if !path.is_file() {
        return None;
    }
    let image = mapping::map(path)
        .and_then(|(data, _)| Image::parse(path, data))
        .inspect_err(|error| tracing::debug!(path = %path.display(), %error, "debug file"))
        .ok()?;
    match (build_id, image.build_id) {
        (Some(wanted), Some(found)) if wanted != found => None,
        _ => Some(image),
    }
}

/// Computes the checksum of `.gnu_debuglink`: CRC-32 as in zlib.
fn crc32(data: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (index, entry) in (0u32..).zip(table.iter_mut()) {
        *entry = (0..8).fold(index, |crc, _| {
            if crc & 1 != 0 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        });
    }
    !data.iter().fold(!0u32, |crc, byte| {
        let index = usize::from((crc as u8) ^ byte);
        (crc >> 8) ^ table.get(index).copied().unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn by_build_id() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let run = |command: &str, arguments: &[&str]| {
            let mut command = Command::new(command);
            let status = command.args(arguments).current_dir(&folder).status();
            assert!(status.unwrap().success(), "{command:?}");
        };
        std::fs::write(folder.join("a.c"), "int main(void) { return 0; }").unwrap();
        let id = ["-Wl,--build-id=0xabcdef0123", "-Wl,--build-id=0xabcdef0124"];
        run("gcc", &["-g", id[0], "a.c", "-o", "ours"]);
        run("gcc", &["-g", id[1], "a.c", "-o", "theirs"]);
        run("objcopy", &["--strip-debug", "ours", "stripped"]);
        let place = folder.join("root/.build-id/ab");
        std::fs::create_dir_all(&place).unwrap();
        let debug = place.join("cdef0123.debug");
        let stripped = open(&folder.join("stripped"), None).unwrap();
        let find = || debug_file_in(&stripped, &folder.join("root"));

        assert!(find().is_none());
        std::fs::copy(folder.join("theirs"), &debug).unwrap();
        assert!(find().is_none(), "another build's");
        std::fs::remove_file(&debug).unwrap();
        std::fs::copy(folder.join("ours"), &debug).unwrap();
        assert_eq!(find().unwrap().path, debug);
    }
}
