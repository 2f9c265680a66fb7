//! Image files: segments, sections, and what they contain, whatever the format of the file.

use crate::file::compressed::Compressed;
use crate::file::elf::{self, Elf};
use crate::file::macho::{self, MachO, Wanted};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use crate::ids::{Machine, Segment, ThreadStorage};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A mapped image file with its headers read.
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    /// The image: the whole file, or one of the images in it (a slice of a universal Mach-O file).
    /// File offsets are relative to its start.
    pub(crate) data: &'static [u8],
    pub(crate) machine: Machine,
    pub(crate) position_independent: bool,
    pub(crate) entry: FileAddr,
    /// By address.
    pub(crate) segments: Vec<Segment>,
    pub(crate) thread_storage: Option<ThreadStorage>,
    /// The dynamic loader that the kernel starts.
    pub(crate) interpreter: Option<PathBuf>,
    /// What identifies the build: the GNU build-id, or the UUID of a Mach-O image.
    pub(crate) build_id: Option<&'static [u8]>,
    pub(crate) sections: Vec<Section>,
    pub(crate) format: Format,
}

/// What only readers of a file's format use.
pub(crate) enum Format {
    /// ELF
    Elf(Elf),
    /// Mach-O
    MachO(MachO),
}

/// A section's header, and its contents once read, if they differ from those in the file.
pub(crate) struct Section {
    /// The name in an ELF file. Sections of Mach-O with the same contents have that name, too:
    /// `.debug_info` for `__debug_info`.
    pub(crate) name: &'static str,
    pub(crate) addr: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// Whether its contents are in the file; otherwise they are zero.
    pub(crate) is_in_file: bool,
    /// Whether it is loaded into memory.
    pub(crate) is_loaded: bool,
    /// Whether it contains instructions.
    pub(crate) is_code: bool,
    /// What only readers of ELF use; zero in other files.
    pub(crate) elf: elf::SectionHeader,
    pub(crate) decompressed: OnceLock<&'static [u8]>,
    /// Contents with the addresses of an object file's symbols (Mach-O).
    pub(crate) relocated: OnceLock<&'static [u8]>,
}

impl Image {
    /// Reads the headers of an image. Of the images in a universal file it is the one for this
    /// machine, or the first.
    pub(crate) fn parse(path: &Path, data: &'static [u8]) -> Result<Image, Error> {
        Image::parse_for(path, data, Wanted::default())
    }

    /// Reads the headers of an image; `wanted` chooses among the images in a universal file.
    ///
    /// # Errors
    /// The file is no image that this crate reads, or a universal file without the wanted one.
    pub(crate) fn parse_for(
        path: &Path,
        data: &'static [u8],
        wanted: Wanted,
    ) -> Result<Image, Error> {
        let parsed = match data {
            [0x7f, b'E', b'L', b'F', ..] => elf::parse(path, data),
            [b'#', b'!', ..] => Err("a script, not an executable file".to_owned()),
            _ if data.starts_with(b"!<arch>") => Err("a static library".to_owned()),
            _ if macho::is_macho(data) => macho::parse(path, data, wanted),
            _ => Err("neither an ELF nor a Mach-O file".to_owned()),
        };
        parsed.map_err(|message| Error::NotAnImage {
            path: path.to_owned(),
            message,
        })
    }

    /// Returns what only readers of ELF use, if it is an ELF file.
    pub(crate) fn elf(&self) -> Option<&Elf> {
        match &self.format {
            Format::Elf(elf) => Some(elf),
            Format::MachO(_) => None,
        }
    }

    /// Returns what only readers of Mach-O use, if it is a Mach-O file.
    pub(crate) fn macho(&self) -> Option<&MachO> {
        match &self.format {
            Format::Elf(_) => None,
            Format::MachO(macho) => Some(macho),
        }
    }

    /// Returns the first section named `name`.
    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Returns the value that the loader writes at `addr`, relative to the image's start. `None`
    /// unless the word there is relocated to an address in the image.
    pub(crate) fn relocated(&self, addr: u64) -> Option<u64> {
        self.elf()?.relocated(self, addr)
    }

    /// Returns the contents of a section, decompressed on first use; empty if the section has no
    /// bytes in the file or is corrupt.
    pub(crate) fn contents(&self, section: &Section) -> &'static [u8] {
        if !section.is_in_file {
            return &[];
        }
        if let Some(relocated) = section.relocated.get() {
            return relocated;
        }
        let Some(raw) = slice(self.data, section.offset, section.size) else {
            tracing::debug!(path = %self.path.display(), section = section.name, "section outside the file");
            return &[];
        };
        let Some(compressed) = Compressed::of(section, raw) else {
            return raw;
        };
        section
            .decompressed
            .get_or_init(|| match compressed.inflate() {
                Ok(bytes) => Box::leak(bytes.into_boxed_slice()),
                Err(error) => {
                    tracing::debug!(path = %self.path.display(), section = section.name, %error, "cannot decompress");
                    &[]
                }
            })
    }

    /// Returns the compressed contents of a section, if it is compressed.
    pub(crate) fn compressed(&self, section: &Section) -> Option<Compressed> {
        if !section.is_in_file {
            return None;
        }
        Compressed::of(section, slice(self.data, section.offset, section.size)?)
    }

    /// Returns the contents of the section named `name` (or its `.zdebug_*` form); empty if
    /// missing.
    pub(crate) fn section_data(&self, name: &str) -> &'static [u8] {
        if let Some(section) = self.section(name) {
            return self.contents(section);
        }
        if let Some(rest) = name.strip_prefix(".debug_")
            && let Some(section) = self
                .sections
                .iter()
                .find(|section| section.name.strip_prefix(".zdebug_") == Some(rest))
        {
            return self.contents(section);
        }
        &[]
    }

    /// Returns whether a section of that name has contents in this file.
    pub(crate) fn has_section(&self, name: &str) -> bool {
        let compressed = name
            .strip_prefix(".debug_")
            .map(|rest| format!(".zdebug_{rest}"));
        self.sections.iter().any(|section| {
            (section.name == name || Some(section.name) == compressed.as_deref())
                && section.is_in_file
                && section.size > 0
        })
    }

    /// Returns the size of the debug sections in the file, in bytes.
    pub(crate) fn debug_size(&self) -> u64 {
        self.sections
            .iter()
            .filter(|section| {
                section.is_in_file
                    && (section.name.starts_with(".debug_") || section.name.starts_with(".zdebug_"))
            })
            .map(|section| section.size)
            .fold(0, u64::saturating_add)
    }

    /// Returns the executable segments, each from its first executable section on: some linkers map
    /// the headers with the code, and discarded code would then seem to be at address 0.
    pub(crate) fn code_ranges(&self) -> Vec<AddrRange<FileAddr>> {
        self.segments
            .iter()
            .filter(|segment| segment.executable)
            .map(|segment| {
                let start = self
                    .sections
                    .iter()
                    .filter(|section| section.is_loaded && section.is_code)
                    .map(|section| FileAddr(section.addr))
                    .filter(|addr| segment.range.contains(*addr))
                    .min();
                AddrRange::new(start.unwrap_or(segment.range.start), segment.range.end)
            })
            .collect()
    }

    /// Returns the address of the first section that is loaded; 0 if the image has none.
    pub(crate) fn first_section(&self) -> u64 {
        let loaded = self
            .sections
            .iter()
            .filter(|it| it.is_loaded && it.size > 0);
        loaded.map(|it| it.addr).min().unwrap_or(0)
    }

    /// Returns whether `addr` is in an executable segment.
    pub(crate) fn is_code(&self, addr: u64) -> bool {
        self.segments
            .iter()
            .any(|segment| segment.executable && segment.range.contains(FileAddr(addr)))
    }

    /// Returns the loaded section that covers `addr`. Used to find a symbol's neighbours.
    pub(crate) fn section_at(&self, addr: u64) -> Option<&Section> {
        self.sections.iter().find(|section| section.covers(addr))
    }

    /// Returns the index of the loaded section that covers `addr`.
    pub(crate) fn section_index_at(&self, addr: u64) -> Option<usize> {
        self.sections
            .iter()
            .position(|section| section.covers(addr))
    }

    /// Returns the image's bytes from `addr` to the end of its segment in the file.
    pub(crate) fn bytes_at(&self, addr: u64) -> Option<&'static [u8]> {
        let segment = self.segments.iter().find(|segment| {
            segment.range.start.0 <= addr && addr - segment.range.start.0 < segment.file_size
        })?;
        let bytes = slice(self.data, segment.file_offset, segment.file_size)?;
        bytes.get(usize::try_from(addr - segment.range.start.0).ok()?..)
    }
}

impl Section {
    /// Returns whether it is loaded and contains an address.
    pub(crate) fn covers(&self, addr: u64) -> bool {
        self.is_loaded && self.addr <= addr && addr - self.addr < self.size
    }
}

/// Returns `size` bytes at `offset`; `None` if they are not all there.
pub(crate) fn slice(data: &'static [u8], offset: u64, size: u64) -> Option<&'static [u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    data.get(start..end)
}

/// Returns the NUL-terminated string at `offset` of a string table.
pub(crate) fn string_at(strings: &'static [u8], offset: usize) -> Option<&'static str> {
    std::str::from_utf8(string_bytes(strings, offset)?).ok()
}

/// Returns the bytes of the NUL-terminated string at `offset` of a string table.
pub(crate) fn string_bytes(strings: &'static [u8], offset: usize) -> Option<&'static [u8]> {
    let rest = strings.get(offset..)?;
    rest.get(..memchr::memchr(0, rest)?)
}

pub(crate) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

pub(crate) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

pub(crate) fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}
