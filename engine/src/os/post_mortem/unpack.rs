//! The core file itself: mapped, and decompressed into an unnamed file if needed (systemd
//! compresses core files).

use crate::ids::error::Error;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes to decompress between checks of the free space and of the client.
const PORTION: usize = 1 << 20;
/// Bytes to leave free on the disk.
const LEFT_FREE: u64 = 256 << 20;
/// A run of this many zero bytes is written as a hole.
const HOLE: usize = 1 << 16;

/// A core file, mapped but not read.
#[derive(Debug)]
pub struct CoreFile {
    pub(super) path: PathBuf,
    pub(super) data: &'static [u8],
    /// Remarks on the file for the user.
    pub(super) notes: Vec<String>,
    pub(super) written: Option<SystemTime>,
}

/// The compression of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Frames of Zstandard (RFC 8878).
    Zstd,
    /// LZ4 frames.
    Lz4,
}

/// Compression formats that the user has to unpack: magic number, name, command.
const FOREIGN: [(&[u8], &str, &str); 3] = [
    (b"\xfd7zXZ\0", "xz", "unxz --keep"),
    (b"\x1f\x8b", "gzip", "gunzip --keep"),
    (b"BZh", "bzip2", "bunzip2 --keep"),
];

impl CoreFile {
    /// Opens a file that may be a core file.
    ///
    /// # Errors
    /// The file does not exist, or is not a regular file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |message: String| Error::Core {
            path: path.to_owned(),
            message,
        };
        let file = dwarf::open_regular(path).map_err(|error| wrong(error.to_string()))?;
        let metadata = file.metadata().map_err(|error| wrong(error.to_string()))?;
        let data = dwarf::map_file(path, &file)?;
        for (magic, name, command) in FOREIGN {
            if data.starts_with(magic) {
                return Err(wrong(format!(
                    "compressed with {name}; unpack it first (`{command} {}`)",
                    path.display()
                )));
            }
        }
        Ok(Self {
            path: path.to_owned(),
            data,
            notes: Vec::new(),
            written: metadata.modified().ok(),
        })
    }

    /// Returns the file's compression; `None` if it is not compressed.
    pub fn compression(&self) -> Option<Compression> {
        match self.data.get(..4)? {
            // A skippable frame may come first.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Compression::Zstd),
            [0x04, 0x22, 0x4d, 0x18] => Some(Compression::Lz4),
            _ => None,
        }
    }

    /// Decompresses the file into an unnamed file in `TMPDIR` or `/var/tmp`; returns an
    /// uncompressed file unchanged. This may take long: call it on a background thread. `progress`
    /// receives the bytes done and the total, and cancels by returning false. For a damaged or
    /// truncated file the result has what precedes the damage.
    ///
    /// # Errors
    /// The disk has no room; nothing can be decompressed; [`Error::Cancelled`].
    pub fn unpack(self, progress: &dyn Fn(u64, u64) -> bool) -> Result<Self, Error> {
        let Some(compression) = self.compression() else {
            return Ok(self);
        };
        let wrong = |message: String| Error::Core {
            path: self.path.clone(),
            message,
        };
        let folder = match std::env::var_os("TMPDIR") {
            Some(folder) => PathBuf::from(folder),
            None => Some(PathBuf::from("/var/tmp"))
                .filter(|folder| folder.is_dir())
                .unwrap_or_else(std::env::temp_dir),
        };
        let no_room = |error: io::Error| {
            wrong(format!(
                "not enough space to unpack it in {}: {error}; set TMPDIR to another folder",
                folder.display()
            ))
        };
        let mut target = Target {
            file: tempfile::tempfile_in(&folder).map_err(no_room)?,
            len: 0,
            checked: 0,
        };
        let left = Cell::new(self.data.len());
        let unpacked = catch_unwind(AssertUnwindSafe(|| {
            let mut source = Source {
                rest: self.data,
                left: &left,
            };
            let go_on = || {
                let done = self.data.len() - left.get();
                progress(done as u64, self.data.len() as u64)
            };
            match compression {
                Compression::Zstd => unpack_zstd(&mut source, &mut target, &go_on),
                Compression::Lz4 => unpack_lz4(&mut source, &mut target, &go_on),
            }
        }));
        let mut notes = Vec::new();
        match unpacked.unwrap_or_else(|_| Err(Failure::Damaged("the decoder failed".into()))) {
            Ok(()) if target.len == 0 => {
                return Err(wrong("cannot unpack it: no content".into()));
            }
            Ok(()) => {}
            Err(Failure::Cancelled) => return Err(Error::Cancelled),
            Err(Failure::NoRoom(error)) => return Err(no_room(error)),
            Err(Failure::Damaged(why)) if target.len == 0 => {
                return Err(wrong(format!("cannot unpack it: {why}")));
            }
            Err(Failure::Damaged(why)) => notes.push(format!(
                "{} is damaged or truncated and was unpacked in part: {why}\n",
                self.path.display()
            )),
        }
        target.file.set_len(target.len).map_err(no_room)?;
        let data = dwarf::map_file(&self.path, &target.file)?;
        Ok(Self {
            path: self.path,
            data,
            notes,
            written: self.written,
        })
    }
}

enum Failure {
    Cancelled,
    NoRoom(io::Error),
    Damaged(String),
}

/// The compressed bytes, and the count of those that are left.
struct Source<'a> {
    rest: &'static [u8],
    left: &'a Cell<usize>,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.rest.read(buffer)?;
        self.left.set(self.rest.len());
        Ok(count)
    }
}

/// The output file.
struct Target {
    file: File,
    len: u64,
    /// Its length at the last check of the free space.
    checked: u64,
}

impl Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(HOLE) {
            if part.iter().all(|byte| *byte == 0) {
                self.file.seek(SeekFrom::Current(part.len() as i64))?;
            } else {
                self.file.write_all(part)?;
            }
            self.len += part.len() as u64;
        }
        if self.len >= self.checked {
            self.checked = self.len + LEFT_FREE / 4;
            let disk = nix::sys::statvfs::fstatvfs(&self.file)?;
            let free = size_of_fragments(disk.blocks_available(), disk.fragment_size());
            if free < LEFT_FREE {
                return Err(io::Error::other("the disk is almost full"));
            }
        }
        Ok(())
    }
}

/// Copies all that a decoder produces.
fn copy(
    decoder: &mut dyn Read,
    target: &mut Target,
    go_on: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let mut buffer = vec![0; PORTION];
    loop {
        if !go_on() {
            return Err(Failure::Cancelled);
        }
        let mut filled = 0;
        let mut end = None;
        while filled < PORTION && end.is_none() {
            match decoder.read(&mut buffer[filled..]) {
                Ok(0) => end = Some(Ok(())),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => end = Some(Err(Failure::Damaged(error.to_string()))),
            }
        }
        target.write(&buffer[..filled]).map_err(Failure::NoRoom)?;
        if let Some(end) = end {
            return end;
        }
    }
}

fn unpack_zstd(
    source: &mut Source<'_>,
    target: &mut Target,
    go_on: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    while !source.rest.is_empty() {
        match StreamingDecoder::new(&mut *source) {
            Ok(mut decoder) => copy(&mut decoder, target, go_on)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let rest = source.rest.get(length as usize..);
                source.rest = rest.unwrap_or_default();
            }
            Err(error) => return Err(Failure::Damaged(error.to_string())),
        }
    }
    Ok(())
}

fn unpack_lz4(
    source: &mut Source<'_>,
    target: &mut Target,
    go_on: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let mut left = usize::MAX;
    // One decoder serves all frames: it reports end of file after each.
    let mut decoder = lz4_flex::frame::FrameDecoder::new(source);
    while decoder.get_ref().rest.len() < left && !decoder.get_ref().rest.is_empty() {
        left = decoder.get_ref().rest.len();
        copy(&mut decoder, target, go_on)?;
    }
    Ok(())
}

/// Returns the size of that many fragments. Systems count them in different types.
fn size_of_fragments(fragments: impl Into<u64>, size: impl Into<u64>) -> u64 {
    fragments.into().saturating_mul(size.into())
}
