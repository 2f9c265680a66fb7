//! Compressed debug sections (gABI "Section Compression", and the older `.zdebug_*`). Large ones
//! are cached on disk: the next session maps the cache file and reads only the pages that it needs.
//! One file per build-id:
//!
//! | bytes | what |
//! |---|---|
//! | 16 | [`MAGIC`]: kind of file and version of the format |
//! | 8 | number of sections |
//! | 3 × 8 each | offset and size in the compressed file, decompressed size |
//! | 8 | hash of all of the above |
//! | | the contents, back to back |

use crate::file::disk_cache;
use crate::file::elf::SHF_COMPRESSED;
use crate::file::mapping::map;
use crate::file::object::{Image, Section, u32_at, u64_at};
use object::{CompressedData, CompressionFormat};
use rayon::prelude::*;
use std::hash::Hasher;
use std::path::Path;

/// Increment the number when the format changes.
const MAGIC: &[u8; 16] = b"stillpoint.sec.1";
/// Extension of the cache files.
const KIND: &str = "sections";
/// Minimum size of a section in the cache; smaller ones are decompressed in almost no time.
const WORTH_KEEPING: usize = 1 << 20;
/// Maximum size of the cache file of one image.
const MAX_KEPT_BYTES: usize = disk_cache::MAX_FOLDER_BYTES as usize / 4;
/// Maximum decompressed size of a section.
const MAX_DECOMPRESSED: u64 = 1 << 36;

/// Compressed contents of a section.
pub(crate) struct Compressed(CompressedData<'static>);

impl Compressed {
    /// Returns the compressed contents that a section's raw bytes hold; `None` if it is not
    /// compressed.
    pub(crate) fn of(section: &Section, raw: &'static [u8]) -> Option<Self> {
        let corrupt = (CompressionFormat::Unknown, 0, &[][..]);
        let (format, uncompressed_size, data) = if section.elf.flags & SHF_COMPRESSED != 0 {
            // "Elf64_Chdr": type, reserved, size, alignment.
            let format = match u32_at(raw, 0) {
                Some(1) => CompressionFormat::Zlib,
                Some(2) => CompressionFormat::Zstandard,
                _ => CompressionFormat::Unknown,
            };
            let header = || Some((format, u64_at(raw, 8)?, raw.get(24..)?));
            header().unwrap_or(corrupt)
        } else if section.name.starts_with(".zdebug_") && raw.starts_with(b"ZLIB") {
            let header = || {
                let size = raw.get(4..12)?.try_into().ok()?;
                Some((
                    CompressionFormat::Zlib,
                    u64::from_be_bytes(size),
                    raw.get(12..)?,
                ))
            };
            header().unwrap_or(corrupt)
        } else {
            return None;
        };
        Some(Self(CompressedData {
            format,
            data,
            uncompressed_size,
        }))
    }

    /// Decompresses the contents.
    ///
    /// # Errors
    /// They are corrupt, implausibly large, or of an unknown compression format.
    pub(crate) fn inflate(&self) -> Result<Vec<u8>, String> {
        let size = self.0.uncompressed_size;
        // Deflate expands a byte to at most 1032 bytes. zstd expands a run of equal bytes further,
        // but no debug section is one run.
        let bound = (self.0.data.len() as u64)
            .saturating_mul(1032)
            .min(MAX_DECOMPRESSED);
        if size > bound {
            return Err(format!("{size} bytes are implausible"));
        }
        match self.0.decompress() {
            Ok(bytes) => Ok(bytes.into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Decompresses an image's sections of these names in parallel; reads and writes the cache in
/// `folder`, if there is one.
pub(crate) fn inflate(image: &Image, wanted: &[&str], folder: Option<&Path>) {
    let is_wanted = |name: &str| {
        let name = name.strip_prefix(".z").or(name.strip_prefix("."));
        name.is_some_and(|name| {
            wanted
                .iter()
                .any(|wanted| wanted.strip_prefix('.') == Some(name))
        })
    };
    let sections: Vec<(&Section, Compressed)> = image
        .sections
        .iter()
        .filter(|section| is_wanted(section.name) && section.decompressed.get().is_none())
        .filter_map(|section| Some((section, image.compressed(section)?)))
        .collect();
    if sections.is_empty() {
        return;
    }
    let file = folder
        .zip(image.build_id)
        .and_then(|(folder, id)| disk_cache::file(folder, id, KIND));
    if let Some(file) = &file
        && load(file, &sections).is_some()
    {
        disk_cache::touch(file);
        return;
    }
    let contents: Vec<&'static [u8]> = sections
        .par_iter()
        .map(|(section, _)| image.contents(section))
        .collect();
    let total: usize = contents.iter().map(|contents| contents.len()).sum();
    let whole = sections
        .iter()
        .zip(&contents)
        .all(|((_, compressed), contents)| compressed.0.uncompressed_size == contents.len() as u64);
    if let Some(file) = file
        && whole
        && (WORTH_KEEPING..=MAX_KEPT_BYTES).contains(&total)
    {
        let header = header(&sections);
        disk_cache::write_in_background(file, move |out| {
            out.write_all(&header)?;
            contents
                .into_iter()
                .try_for_each(|contents| out.write_all(contents))
        });
    }
}

fn header(sections: &[(&Section, Compressed)]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend((sections.len() as u64).to_le_bytes());
    for (section, compressed) in sections {
        header.extend(section.offset.to_le_bytes());
        header.extend(section.size.to_le_bytes());
        header.extend(compressed.0.uncompressed_size.to_le_bytes());
    }
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(&header);
    header.extend(hasher.finish().to_le_bytes());
    header
}

/// Loads the decompressed sections from a cache file. Returns `None` unless it holds exactly these.
fn load(file: &Path, sections: &[(&Section, Compressed)]) -> Option<()> {
    let (data, _) = map(file).ok()?;
    let mut rest = data.strip_prefix(&*header(sections))?;
    let mut contents = Vec::new();
    for (_, compressed) in sections {
        let size = usize::try_from(compressed.0.uncompressed_size).ok()?;
        let (found, behind) = rest.split_at_checked(size)?;
        contents.push(found);
        rest = behind;
    }
    if !rest.is_empty() {
        return None;
    }
    for ((section, _), contents) in sections.iter().zip(contents) {
        // Another thread may have set the same contents first.
        let _ = section.decompressed.set(contents);
    }
    Some(())
}
