//! ELF images: headers, segments, sections.

use crate::file::compressed::Compressed;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use crate::ids::{Machine, Segment, ThreadStorage};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
const PT_TLS: u32 = 7;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const SHT_NOBITS: u32 = 8;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;
pub(crate) const SHF_COMPRESSED: u64 = 0x800;
const NT_GNU_BUILD_ID: u32 = 3;

/// A mapped ELF file with its headers read.
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) data: &'static [u8],
    pub(crate) machine: Machine,
    pub(crate) position_independent: bool,
    pub(crate) entry: FileAddr,
    pub(crate) segments: Vec<Segment>,
    pub(crate) program_headers: Option<FileAddr>,
    pub(crate) dynamic: Option<FileAddr>,
    pub(crate) thread_storage: Option<ThreadStorage>,
    pub(crate) interpreter: Option<PathBuf>,
    pub(crate) build_id: Option<&'static [u8]>,
    /// `PT_GNU_EH_FRAME`: address and file range of `.eh_frame_hdr`.
    pub(crate) eh_frame_hdr: Option<(u64, &'static [u8])>,
    pub(crate) sections: Vec<Section>,
    /// Indexes of the entries of `.rela.dyn`, by the address that they relocate.
    relocations: OnceLock<Vec<u32>>,
}

/// A section header, and its decompressed contents once read.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) addr: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) decompressed: OnceLock<&'static [u8]>,
}

impl Image {
    /// Reads the headers of an ELF image.
    pub(crate) fn parse(path: &Path, data: &'static [u8]) -> Result<Image, Error> {
        let not_an_image = |message: &str| Error::NotAnImage {
            path: path.to_owned(),
            message: message.to_owned(),
        };
        match data.get(..20) {
            Some([0x7f, b'E', b'L', b'F', class, order, ..]) => {
                if *class != 2 {
                    return Err(not_an_image("32-bit ELF file"));
                }
                if *order != 1 {
                    return Err(not_an_image("big-endian ELF file"));
                }
            }
            Some(head) if head.starts_with(b"#!") => {
                return Err(not_an_image("a script, not an ELF file"));
            }
            Some(head) if head.starts_with(b"!<arch>") => {
                return Err(not_an_image("a static library"));
            }
            _ => return Err(not_an_image("not an ELF file")),
        }
        let header = || -> Option<_> {
            Some((
                u16_at(data, 16)?,
                u16_at(data, 18)?,
                u64_at(data, 24)?,
                u64_at(data, 32)?,
                u64_at(data, 40)?,
                u16_at(data, 54)?,
                u16_at(data, 56)?,
                u16_at(data, 58)?,
                u16_at(data, 60)?,
                u16_at(data, 62)?,
            ))
        };
        let (kind, machine, entry, phoff, shoff, phentsize, phnum, shentsize, shnum, shstrndx) =
            header().ok_or_else(|| not_an_image("truncated ELF header"))?;
        let mut image = Image {
            path: path.to_owned(),
            data,
            machine: Machine::of_elf(machine),
            position_independent: kind == 3,
            entry: FileAddr(entry),
            segments: Vec::new(),
            program_headers: None,
            dynamic: None,
            thread_storage: None,
            interpreter: None,
            build_id: None,
            eh_frame_hdr: None,
            sections: Vec::new(),
            relocations: OnceLock::new(),
        };
        image.read_sections(shoff, shentsize, shnum, shstrndx);
        image.read_segments(phoff, phentsize, phnum);
        if image.build_id.is_none() {
            image.build_id = image
                .section(".note.gnu.build-id")
                .and_then(|section| build_id(image.contents(section)));
        }
        Ok(image)
    }

    fn read_segments(&mut self, phoff: u64, phentsize: u16, phnum: u16) {
        for index in 0..u64::from(phnum) {
            let Some(at) = index
                .checked_mul(u64::from(phentsize.max(56)))
                .and_then(|offset| offset.checked_add(phoff))
                .and_then(|offset| usize::try_from(offset).ok())
            else {
                break;
            };
            let fields = || -> Option<_> {
                Some((
                    u32_at(self.data, at)?,
                    u32_at(self.data, at + 4)?,
                    u64_at(self.data, at + 8)?,
                    u64_at(self.data, at + 16)?,
                    u64_at(self.data, at + 32)?,
                    u64_at(self.data, at + 40)?,
                    u64_at(self.data, at + 48)?,
                ))
            };
            let Some((kind, flags, offset, vaddr, filesz, memsz, align)) = fields() else {
                break;
            };
            match kind {
                PT_LOAD => {
                    if phoff >= offset && phoff - offset < filesz {
                        self.program_headers = Some(FileAddr(vaddr.wrapping_add(phoff - offset)));
                    }
                    self.segments.push(Segment {
                        range: AddrRange::new(
                            FileAddr(vaddr),
                            FileAddr(vaddr.saturating_add(memsz)),
                        ),
                        file_offset: offset,
                        file_size: filesz.min(memsz),
                        executable: flags & 1 != 0,
                        writable: flags & 2 != 0,
                    });
                }
                PT_DYNAMIC => self.dynamic = Some(FileAddr(vaddr)),
                PT_TLS => {
                    self.thread_storage = Some(ThreadStorage {
                        addr: FileAddr(vaddr),
                        size: memsz,
                        align,
                    });
                }
                PT_INTERP => {
                    use std::os::unix::ffi::OsStrExt;
                    self.interpreter = slice(self.data, offset, filesz).map(|bytes| {
                        let end = bytes.iter().position(|byte| *byte == 0);
                        let name = &bytes[..end.unwrap_or(bytes.len())];
                        PathBuf::from(std::ffi::OsStr::from_bytes(name))
                    });
                }
                PT_NOTE if self.build_id.is_none() => {
                    self.build_id = slice(self.data, offset, filesz).and_then(build_id);
                }
                PT_GNU_EH_FRAME => {
                    self.eh_frame_hdr =
                        slice(self.data, offset, filesz).map(|bytes| (vaddr, bytes));
                }
                _ => {}
            }
        }
        self.segments.sort_by_key(|segment| segment.range.start);
    }

    fn read_sections(&mut self, shoff: u64, shentsize: u16, shnum: u16, shstrndx: u16) {
        let entry_size = u64::from(shentsize.max(64));
        let header = |index: u64| -> Option<Section> {
            let at = index.checked_mul(entry_size)?.checked_add(shoff)?;
            let at = usize::try_from(at).ok()?;
            at.checked_add(64)?;
            Some(Section {
                name: "",
                kind: u32_at(self.data, at + 4)?,
                flags: u64_at(self.data, at + 8)?,
                addr: u64_at(self.data, at + 16)?,
                offset: u64_at(self.data, at + 24)?,
                size: u64_at(self.data, at + 32)?,
                link: u32_at(self.data, at + 40)?,
                decompressed: OnceLock::new(),
            })
        };
        if shoff == 0 {
            return;
        }
        // With more than 0xff00 sections the counts are in section 0 (gABI, "ELF Header").
        let first = header(0);
        let count = match (&first, shnum) {
            (Some(first), 0) => first.size,
            _ => u64::from(shnum),
        };
        let strings = match (&first, shstrndx) {
            (Some(first), 0xffff) => u64::from(first.link),
            _ => u64::from(shstrndx),
        };
        let names = header(strings)
            .and_then(|section| slice(self.data, section.offset, section.size))
            .unwrap_or(&[]);
        let mut sections = Vec::new();
        for index in 0..count {
            let Some(mut section) = header(index) else {
                break;
            };
            let name_at = (index * entry_size + shoff) as usize;
            section.name = u32_at(self.data, name_at)
                .and_then(|offset| string_at(names, offset as usize))
                .unwrap_or("");
            sections.push(section);
        }
        self.sections = sections;
    }

    /// Returns the first section named `name`.
    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Returns the value that the loader writes at `addr`, relative to the image's start. `None`
    /// unless the word there is relocated to an address in the image.
    pub(crate) fn relocated(&self, addr: u64) -> Option<u64> {
        let relocations = self.machine.facts().relocations.as_ref()?;
        let (entries, _) = self.section_data(".rela.dyn").as_chunks::<24>();
        let word = |entry: &[u8; 24], index: usize| {
            let bytes = entry.as_chunks::<8>().0.get(index)?;
            Some(u64::from_le_bytes(*bytes))
        };
        let place_of = |index: &u32| word(entries.get(*index as usize)?, 0);
        let sorted = self.relocations.get_or_init(|| {
            let mut all: Vec<u32> = (0..).take(entries.len()).collect();
            // Linkers emit them almost in this order. Of several for one address the first one
            // counts.
            all.sort_by_key(place_of);
            all
        });
        let first = sorted.partition_point(|index| place_of(index) < Some(addr));
        let entry = entries.get(*sorted.get(first)? as usize)?;
        // `r_info` without a symbol.
        let is_relative = word(entry, 1) == Some(relocations.relative);
        (is_relative && word(entry, 0) == Some(addr)).then(|| word(entry, 2))?
    }

    /// Returns the contents of a section, decompressed on first use; empty if the section has no
    /// bytes in the file or is corrupt.
    pub(crate) fn contents(&self, section: &Section) -> &'static [u8] {
        if section.kind == SHT_NOBITS {
            return &[];
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
        if section.kind == SHT_NOBITS {
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
                && section.kind != SHT_NOBITS
                && section.size > 0
        })
    }

    /// Returns the size of the debug sections in the file, in bytes.
    pub(crate) fn debug_size(&self) -> u64 {
        self.sections
            .iter()
            .filter(|section| {
                section.kind != SHT_NOBITS
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
                    .filter(|section| {
                        section.flags & (SHF_ALLOC | SHF_EXECINSTR) == SHF_ALLOC | SHF_EXECINSTR
                    })
                    .map(|section| FileAddr(section.addr))
                    .filter(|addr| segment.range.contains(*addr))
                    .min();
                AddrRange::new(start.unwrap_or(segment.range.start), segment.range.end)
            })
            .collect()
    }

    /// Returns whether `addr` is in an executable segment.
    pub(crate) fn is_code(&self, addr: u64) -> bool {
        self.segments
            .iter()
            .any(|segment| segment.executable && segment.range.contains(FileAddr(addr)))
    }

    /// Returns the loaded section that covers `addr`. Used to find a symbol's neighbours.
    pub(crate) fn section_at(&self, addr: u64) -> Option<&Section> {
        self.sections.iter().find(|section| {
            section.flags & SHF_ALLOC != 0
                && section.addr <= addr
                && addr - section.addr < section.size
        })
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

/// Returns the GNU build-id among notes (gABI "Note Section").
fn build_id(mut notes: &'static [u8]) -> Option<&'static [u8]> {
    loop {
        let name_size = u32_at(notes, 0)? as usize;
        let desc_size = u32_at(notes, 4)? as usize;
        let kind = u32_at(notes, 8)?;
        let desc_at = 12usize.checked_add(name_size.checked_next_multiple_of(4)?)?;
        let desc = notes.get(desc_at..desc_at.checked_add(desc_size)?)?;
        if kind == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return Some(desc);
        }
        notes = notes.get(desc_at.checked_add(desc_size.checked_next_multiple_of(4)?)?..)?;
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
    let rest = strings.get(offset..)?;
    let end = memchr::memchr(0, rest)?;
    std::str::from_utf8(rest.get(..end)?).ok()
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
