//! The kind of a file on a command line, by the file's first bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The first bytes of a recording.
const RECORDING: &[u8] = b"stillpoint-rec";
/// The first bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";
/// The offset of `e_type`, a number of two bytes (elf(5)).
const ELF_TYPE: usize = 16;
/// The type of core files, ET_CORE.
const ELF_CORE: u16 = 4;

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// A core file.
    Core,
    /// A recording.
    Recording,
}

/// Returns the kind of a file; `None`: the file is of another kind, or cannot be read.
pub fn kind_of(path: &Path) -> Option<FileKind> {
    // A pipe would wait for its writer.
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(32)
        .read_to_end(&mut bytes)
        .ok()?;
    kind_of_bytes(&bytes)
}

fn kind_of_bytes(bytes: &[u8]) -> Option<FileKind> {
    if bytes.starts_with(RECORDING) {
        return Some(FileKind::Recording);
    }
    let is_core = |kind: &[u8]| {
        kind.try_into()
            .is_ok_and(|kind| u16::from_ne_bytes(kind) == ELF_CORE)
    };
    let kind = bytes.get(ELF_TYPE..ELF_TYPE + 2);
    (bytes.starts_with(ELF) && kind.is_some_and(is_core)).then_some(FileKind::Core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        let mut core = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        core.extend(ELF_CORE.to_ne_bytes());
        assert_eq!(kind_of_bytes(&core), Some(FileKind::Core));
        core[ELF_TYPE..].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(kind_of_bytes(&core), None);
        assert_eq!(
            kind_of_bytes(b"stillpoint-rec\r\n"),
            Some(FileKind::Recording)
        );
        assert_eq!(kind_of_bytes(b"#!/bin/sh\n"), None);
        assert_eq!(kind_of_bytes(b""), None);
    }
}
