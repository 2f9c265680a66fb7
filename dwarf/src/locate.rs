//! Where the debug info of an image is: in itself, or in a separate file.

use crate::object::{self, Image};
use std::path::{Path, PathBuf};

/// Where distributions keep separate debug info.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// The separate debug file of an image that has none itself: by build-id, then by
/// `.gnu_debuglink` (GDB manual, "Debugging Information in Separate Files").
pub(crate) fn debug_file(image: &Image) -> Option<Image> {
    if image.has_section(".debug_info") {
        return None;
    }
    if let Some(id) = image.build_id
        && let Some(path) = build_id_path(id)
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
        Path::new(DEBUG_ROOT)
            .join(folder.strip_prefix("/").unwrap_or(folder))
            .join(name),
    ];
    candidates
        .into_iter()
        .filter(|candidate| *candidate != real)
        .find_map(|candidate| {
            let found = open(&candidate, None)?;
            // A build-id on both sides is as good as the checksum and costs nothing.
            let same = match (image.build_id, found.build_id) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => crc32(found.data) == crc,
            };
            same.then_some(found)
        })
}

/// The supplementary file (dwz) that a debug file refers to, DWARF 5 §7.3.6 or GNU's form of it.
pub(crate) fn supplementary_file(image: &Image) -> Option<Image> {
    let link = image.section_data(".gnu_debugaltlink");
    let end = link.iter().position(|byte| *byte == 0)?;
    let name = Path::new(std::str::from_utf8(link.get(..end)?).ok()?);
    let id = link.get(end + 1..)?;
    let real = std::fs::canonicalize(&image.path).unwrap_or_else(|_| image.path.clone());
    let beside = real.parent().map(|folder| folder.join(name));
    let debug_root = Path::new(DEBUG_ROOT).join(".dwz").join(name.file_name()?);
    [beside, build_id_path(id), Some(debug_root)]
        .into_iter()
        .flatten()
        .find_map(|path| open(&path, Some(id)))
}

fn build_id_path(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(PathBuf::from(format!(
        "{DEBUG_ROOT}/.build-id/{first:02x}/{rest}.debug"
    )))
}

fn open(path: &Path, build_id: Option<&[u8]>) -> Option<Image> {
    if !path.is_file() {
        return None;
    }
    let image = object::map(path)
        .and_then(|(data, _)| Image::parse(path, data))
        .inspect_err(|error| tracing::debug!(path = %path.display(), %error, "debug file"))
        .ok()?;
    match (build_id, image.build_id) {
        (Some(wanted), Some(found)) if wanted != found => None,
        _ => Some(image),
    }
}

/// The checksum of `.gnu_debuglink`: CRC-32 as in zlib.
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
