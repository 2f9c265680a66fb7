//! Check whether a source file is still the one that the program was compiled from.

use crate::ids::ModuleId;
use dwarf::SourceFile;
use md5::{Digest, Md5};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum size in bytes of a file to hash; larger files are compared by their time alone.
const MAX_HASHED_BYTES: u64 = 16 << 20;

/// Results of earlier checks, with the modification time of the file.
pub type Checked = FxHashMap<(PathBuf, ModuleId), (SystemTime, Option<String>)>;

/// Returns the MD5 that the compiler recorded for a source file.
pub fn recorded_checksum(file: &SourceFile) -> Option<&[u8; 16]> {
    // Some compilers write zeros for files that they did not read.
    file.md5.as_ref().filter(|sum| **sum != [0; 16])
}

pub(crate) fn checksum(path: &Path) -> Option<[u8; 16]> {
    let text = dwarf::read_regular(path, MAX_HASHED_BYTES).ok()?;
    Some(Md5::digest(&text).into())
}
