//! The outer form of a recording in a file: a magic number, a version, and sections. Each section is
//! compressed on its own and has a checksum; the last one says that the file is whole.

use super::unnamed::Unnamed;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use twox_hash::XxHash3_64;

const MAGIC: [u8; 16] = *b"stillpoint-rec\r\n";
/// Changes with what the sections contain.
const VERSION: u32 = 4;
/// Magic and version.
const PROLOGUE: usize = MAGIC.len() + 4;
/// Kind, length, compressed length, checksum of the compressed bytes.
const SECTION_HEADER: usize = 20;
/// The largest section, in bytes.
const MOST_RAW: usize = 64 << 20;
/// lz4 makes no more than this of a byte.
const MOST_RATIO: usize = 255;

/// What a section contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// [`super::Header`].
    Header = 1,
    /// A part of the log.
    Log = 2,
    /// Pages of memory.
    Pages = 3,
    /// An image of the process.
    Image = 4,
    /// A part of the table of mapped files.
    Files = 5,
    /// Nothing: the file ends here.
    End = 6,
}

impl Kind {
    fn of(number: u32) -> Option<Kind> {
        let all = [
            Kind::Header,
            Kind::Log,
            Kind::Pages,
            Kind::Image,
            Kind::Files,
            Kind::End,
        ];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// Why a recording is not written.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// It would be larger than this.
    #[error("it would be larger than {} MB; allow more", .0 >> 20)]
    Limit(u64),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Other(String),
}

/// A file that is being written. It has its name only when it is complete; only this user may read it.
pub struct Writer {
    file: BufWriter<Unnamed>,
    at: u64,
    limit: u64,
}

impl Writer {
    /// Begins a file of at most `limit` bytes.
    ///
    /// # Errors
    /// Its folder does not exist or cannot be written to, or there is something else than a file.
    pub fn create(path: &Path, limit: u64) -> Result<Writer, SaveError> {
        let mut writer = Writer {
            file: BufWriter::with_capacity(1 << 18, Unnamed::create(path)?),
            at: 0,
            limit,
        };
        writer.put(&MAGIC)?;
        writer.put(&VERSION.to_le_bytes())?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), SaveError> {
        let end = self.at + bytes.len() as u64;
        if end > self.limit {
            return Err(SaveError::Limit(self.limit));
        }
        self.file.write_all(bytes)?;
        self.at = end;
        Ok(())
    }

    /// Adds a section.
    ///
    /// # Errors
    /// The file would become too large, or cannot be written.
    pub fn section(&mut self, kind: Kind, raw: &[u8]) -> Result<(), SaveError> {
        if raw.len() > MOST_RAW {
            let what = format!("a section {kind:?} has {} bytes", raw.len());
            return Err(SaveError::Other(what));
        }
        let packed = lz4_flex::block::compress(raw);
        let mut header = Vec::with_capacity(SECTION_HEADER);
        for number in [kind as u32, raw.len() as u32, packed.len() as u32] {
            header.extend(number.to_le_bytes());
        }
        header.extend(XxHash3_64::oneshot(&packed).to_le_bytes());
        self.put(&header)?;
        self.put(&packed)
    }

    /// Returns the size of the file so far in bytes.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Returns whether so many more bytes have room.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.at.saturating_add(bytes) <= self.limit
    }

    /// Removes what was written since a position.
    ///
    /// # Errors
    /// The system refuses.
    pub fn return_to(&mut self, position: u64) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_mut().file();
        file.set_len(position)?;
        file.seek(SeekFrom::Start(position))?;
        self.at = position;
        Ok(())
    }

    /// Completes the file, which takes the place of another one of its name. Returns its size in bytes.
    ///
    /// # Errors
    /// It cannot be written or renamed.
    pub fn finish(mut self) -> Result<u64, SaveError> {
        // It was reserved: a file without its end is of no use.
        self.limit = u64::MAX;
        self.section(Kind::End, &[])?;
        let file = self.file.into_inner().map_err(|error| error.into_error())?;
        file.give_name()?;
        Ok(self.at)
    }
}

/// Why a file is not opened. The text completes a sentence that begins with its name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpenError {
    #[error("is not a recording; name a file that `stillpoint record -o` has written")]
    NoRecording,
    #[error(
        "has version {0}, and this Stillpoint reads {VERSION}; use the one that has written it"
    )]
    Version(u32),
    #[error("ends too early: it was truncated; copy or record it again")]
    Truncated,
    #[error("is damaged: {0}; copy or record it again")]
    Damaged(&'static str),
    #[error("cannot be read: {0}")]
    Io(String),
    #[error("cannot be replayed here: {0}")]
    Machine(String),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => OpenError::Truncated,
            _ => OpenError::Io(error.to_string()),
        }
    }
}

/// Where a section is in a file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub kind: Kind,
    /// Its length in bytes when it is unpacked.
    pub raw: usize,
    packed: usize,
    check: u64,
    at: u64,
}

/// A file that is read. It may be hostile.
pub struct Reader(File);

impl Reader {
    /// Begins to read a file. Returns its sections without the last one.
    ///
    /// # Errors
    /// It is none, of another version, or damaged.
    pub fn open(file: File) -> Result<(Reader, Vec<Section>), OpenError> {
        let mut prologue = [0; PROLOGUE];
        file.read_exact_at(&mut prologue, 0)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => OpenError::NoRecording,
                _ => error.into(),
            })?;
        if prologue[..MAGIC.len()] != MAGIC {
            return Err(OpenError::NoRecording);
        }
        match number(&prologue, MAGIC.len()) {
            VERSION => {}
            other => return Err(OpenError::Version(other)),
        }
        let end = file.metadata()?.len();
        let mut at = PROLOGUE as u64;
        let mut sections = Vec::new();
        loop {
            let mut header = [0; SECTION_HEADER];
            file.read_exact_at(&mut header, at)?;
            at += SECTION_HEADER as u64;
            let kind = Kind::of(number(&header, 0)).ok_or(OpenError::Damaged("a section"))?;
            let [raw, packed] = [4, 8].map(|at| number(&header, at) as usize);
            let check = u64::from(number(&header, 12)) | u64::from(number(&header, 16)) << 32;
            if raw > MOST_RAW || raw / MOST_RATIO > packed {
                return Err(OpenError::Damaged("the length of a section"));
            }
            let section = Section {
                kind,
                raw,
                packed,
                check,
                at,
            };
            at += packed as u64;
            if at > end {
                return Err(OpenError::Truncated);
            }
            if kind == Kind::End {
                let reader = Reader(file);
                return match reader.read(&section)?.is_empty() {
                    true => Ok((reader, sections)),
                    false => Err(OpenError::Damaged("its end")),
                };
            }
            sections.push(section);
        }
    }

    /// Reads a section.
    ///
    /// # Errors
    /// It is damaged, or the file was changed meanwhile.
    pub fn read(&self, section: &Section) -> Result<Vec<u8>, OpenError> {
        let mut packed = vec![0; section.packed];
        self.0.read_exact_at(&mut packed, section.at)?;
        if XxHash3_64::oneshot(&packed) != section.check {
            return Err(OpenError::Damaged("a checksum is wrong"));
        }
        let raw = lz4_flex::block::decompress(&packed, section.raw);
        let raw = raw.map_err(|_| OpenError::Damaged("a section cannot be unpacked"))?;
        match raw.len() == section.raw {
            true => Ok(raw),
            false => Err(OpenError::Damaged("the length of a section")),
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|it| it.try_into().ok());
    bytes.map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn written(sections: &[(Kind, &[u8])]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let mut writer = Writer::create(&path, 1 << 20).expect("a file");
        for (kind, raw) in sections {
            writer.section(*kind, raw).expect("room");
        }
        writer.finish().expect("a file");
        (folder, path)
    }

    #[test]
    fn sections_are_read_as_they_were_written() {
        let (_folder, path) = written(&[(Kind::Log, &[7; 5000]), (Kind::Pages, b"")]);
        let (reader, sections) = Reader::open(File::open(path).expect("it")).expect("sections");
        let kinds = sections.iter().map(|it| it.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [Kind::Log, Kind::Pages]);
        assert_eq!(reader.read(&sections[0]), Ok(vec![7; 5000]));
        assert_eq!(reader.read(&sections[1]), Ok(Vec::new()));
    }

    #[test]
    fn other_users_may_not_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = written(&[]);
        let mode = path.metadata().expect("it").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn file_that_would_be_too_large_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let mut writer = Writer::create(&path, 1 << 20).expect("a file");
        let noise: Vec<u8> = std::iter::repeat_with(noise)
            .flatten()
            .take(2 << 20)
            .collect();
        let error = writer.section(Kind::Log, &noise).expect_err("no room");
        assert!(error.to_string().contains("larger than 1 MB"), "{error}");
        drop(writer);
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0);
    }

    /// Bytes that cannot be compressed.
    fn noise() -> [u8; 8] {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(0).to_le_bytes()
    }

    #[test]
    fn what_is_removed_was_never_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let mut writer = Writer::create(&path, 1 << 20).expect("a file");
        writer.section(Kind::Log, b"stays").expect("room");
        let position = writer.position();
        writer.section(Kind::Pages, &[1; 9000]).expect("room");
        writer.return_to(position).expect("a file");
        writer.section(Kind::Files, b"follows").expect("room");
        let size = writer.finish().expect("a file");
        assert_eq!(size, path.metadata().expect("it").len());
        let (reader, sections) = Reader::open(File::open(path).expect("it")).expect("sections");
        assert_eq!(sections.len(), 2);
        assert_eq!(reader.read(&sections[1]), Ok(b"follows".to_vec()));
    }

    #[test]
    fn each_truncated_file_is_refused() {
        let (_folder, path) = written(&[(Kind::Log, &[7; 5000])]);
        let whole = std::fs::read(&path).expect("it");
        for len in 0..whole.len() {
            std::fs::write(&path, &whole[..len]).expect("it");
            let opened = Reader::open(File::open(&path).expect("it"));
            let expected = match len < PROLOGUE {
                true => OpenError::NoRecording,
                false => OpenError::Truncated,
            };
            assert_eq!(opened.err(), Some(expected), "{len} bytes");
        }
    }

    #[test]
    fn other_version_is_named() {
        let (_folder, path) = written(&[]);
        let mut bytes = std::fs::read(&path).expect("it");
        bytes[MAGIC.len()] = 9;
        std::fs::write(&path, bytes).expect("it");
        let error = Reader::open(File::open(&path).expect("it")).err();
        assert_eq!(error, Some(OpenError::Version(9)));
    }
}
