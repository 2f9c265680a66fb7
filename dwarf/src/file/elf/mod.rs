//! ELF files: what their headers say, and the tables that only ELF has.

pub(crate) mod function_slots;
mod linkage_stubs;
mod shared_symbols;
pub(crate) mod symbols;
pub(crate) mod versions;

use crate::file::object::{Format, Image, Section, slice, string_at, u16_at, u32_at, u64_at};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::{Machine, Segment, ThreadStorage};
use shared_symbols::{Linking, SharedSymbols};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
const PT_TLS: u32 = 7;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const SHT_SYMTAB: u32 = 2;
const SHT_RELA: u32 = 4;
const SHT_NOBITS: u32 = 8;
const SHT_DYNSYM: u32 = 11;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;
pub(crate) const SHF_COMPRESSED: u64 = 0x800;
const NT_GNU_BUILD_ID: u32 = 3;
/// Size of an entry of a symbol table.
const SYMBOL_SIZE: usize = 24;

/// What only ELF files have.
#[derive(Default)]
pub(crate) struct Elf {
    /// The address of the program headers, if they are loaded.
    pub(crate) program_headers: Option<FileAddr>,
    /// The address of `PT_DYNAMIC`.
    pub(crate) dynamic: Option<FileAddr>,
    /// `PT_GNU_EH_FRAME`: address and file range of `.eh_frame_hdr`.
    pub(crate) eh_frame_hdr: Option<(u64, &'static [u8])>,
    /// Indexes of the entries of `.rela.dyn`, by the address that they relocate.
    relocations: OnceLock<Vec<u32>>,
    shared: OnceLock<SharedSymbols>,
    linking: OnceLock<Linking>,
}

/// The fields of a section's header that only readers of ELF use.
#[derive(Clone, Copy, Default)]
pub(crate) struct SectionHeader {
    /// `sh_type`
    pub(crate) kind: u32,
    /// `sh_flags`
    pub(crate) flags: u64,
    /// `sh_link`
    pub(crate) link: u32,
}

/// Reads the headers of an ELF file.
///
/// # Errors
/// It is of a kind that this crate does not read.
pub(super) fn parse(path: &Path, data: &'static [u8]) -> Result<Image, String> {
    match data.get(4..6) {
        Some([2, 1]) => {}
        Some([2, _]) => return Err("big-endian ELF file".to_owned()),
        Some(_) => return Err("32-bit ELF file".to_owned()),
        None => return Err("truncated ELF header".to_owned()),
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
        header().ok_or_else(|| "truncated ELF header".to_owned())?;
    let mut image = Image {
        path: path.to_owned(),
        data,
        machine: Machine::of_elf(machine),
        position_independent: kind == 3,
        entry: FileAddr(entry),
        segments: Vec::new(),
        thread_storage: None,
        interpreter: None,
        build_id: None,
        sections: Vec::new(),
        format: Format::Elf(Elf::default()),
    };
    image.sections = sections(data, shoff, shentsize, shnum, shstrndx);
    let elf = read_segments(&mut image, phoff, phentsize, phnum);
    image.format = Format::Elf(elf);
    if image.build_id.is_none() {
        image.build_id = image
            .section(".note.gnu.build-id")
            .and_then(|section| build_id(image.contents(section)));
    }
    Ok(image)
}

/// Reads the program headers into an image; returns what only ELF has of them.
fn read_segments(image: &mut Image, phoff: u64, phentsize: u16, phnum: u16) -> Elf {
    let mut elf = Elf::default();
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
                u32_at(image.data, at)?,
                u32_at(image.data, at + 4)?,
                u64_at(image.data, at + 8)?,
                u64_at(image.data, at + 16)?,
                u64_at(image.data, at + 32)?,
                u64_at(image.data, at + 40)?,
                u64_at(image.data, at + 48)?,
            ))
        };
        let Some((kind, flags, offset, vaddr, filesz, memsz, align)) = fields() else {
            break;
        };
        match kind {
            PT_LOAD => {
                if phoff >= offset && phoff - offset < filesz {
                    elf.program_headers = Some(FileAddr(vaddr.wrapping_add(phoff - offset)));
                }
                image.segments.push(Segment {
                    range: AddrRange::new(FileAddr(vaddr), FileAddr(vaddr.saturating_add(memsz))),
                    file_offset: offset,
                    file_size: filesz.min(memsz),
                    executable: flags & 1 != 0,
                    writable: flags & 2 != 0,
                });
            }
            PT_DYNAMIC => elf.dynamic = Some(FileAddr(vaddr)),
            PT_TLS => {
                image.thread_storage = Some(ThreadStorage {
                    addr: FileAddr(vaddr),
                    size: memsz,
                    align,
                });
            }
            PT_INTERP => {
                use std::os::unix::ffi::OsStrExt;
                image.interpreter = slice(image.data, offset, filesz).map(|bytes| {
                    let end = bytes.iter().position(|byte| *byte == 0);
                    let name = &bytes[..end.unwrap_or(bytes.len())];
                    PathBuf::from(std::ffi::OsStr::from_bytes(name))
                });
            }
            PT_NOTE if image.build_id.is_none() => {
                image.build_id = slice(image.data, offset, filesz).and_then(build_id);
            }
            PT_GNU_EH_FRAME => {
                elf.eh_frame_hdr = slice(image.data, offset, filesz).map(|bytes| (vaddr, bytes));
            }
            _ => {}
        }
    }
    image.segments.sort_by_key(|segment| segment.range.start);
    elf
}

/// Reads the section headers.
fn sections(
    data: &'static [u8],
    shoff: u64,
    shentsize: u16,
    shnum: u16,
    shstrndx: u16,
) -> Vec<Section> {
    let entry_size = u64::from(shentsize.max(64));
    let header = |index: u64| -> Option<Section> {
        let at = index.checked_mul(entry_size)?.checked_add(shoff)?;
        let at = usize::try_from(at).ok()?;
        at.checked_add(64)?;
        let elf = SectionHeader {
            kind: u32_at(data, at + 4)?,
            flags: u64_at(data, at + 8)?,
            link: u32_at(data, at + 40)?,
        };
        Some(Section {
            name: "",
            addr: u64_at(data, at + 16)?,
            offset: u64_at(data, at + 24)?,
            size: u64_at(data, at + 32)?,
            is_in_file: elf.kind != SHT_NOBITS,
            is_loaded: elf.flags & SHF_ALLOC != 0,
            is_code: elf.flags & SHF_EXECINSTR != 0,
            elf,
            decompressed: OnceLock::new(),
            relocated: OnceLock::new(),
        })
    };
    if shoff == 0 {
        return Vec::new();
    }
    // With more than 0xff00 sections the counts are in section 0 (gABI, "ELF Header").
    let first = header(0);
    let count = match (&first, shnum) {
        (Some(first), 0) => first.size,
        _ => u64::from(shnum),
    };
    let strings = match (&first, shstrndx) {
        (Some(first), 0xffff) => u64::from(first.elf.link),
        _ => u64::from(shstrndx),
    };
    let names = header(strings)
        .and_then(|section| slice(data, section.offset, section.size))
        .unwrap_or(&[]);
    let mut sections = Vec::new();
    for index in 0..count {
        let Some(mut section) = header(index) else {
            break;
        };
        let name_at = (index * entry_size + shoff) as usize;
        section.name = u32_at(data, name_at)
            .and_then(|offset| string_at(names, offset as usize))
            .unwrap_or("");
        sections.push(section);
    }
    sections
}

impl Elf {
    /// Returns the value that the loader writes at `addr`, relative to the image's start. `None`
    /// unless the word there is relocated to an address in the image.
    pub(crate) fn relocated(&self, image: &Image, addr: u64) -> Option<u64> {
        let relocations = image.machine.facts().relocations.as_ref()?;
        let (entries, _) = image.section_data(".rela.dyn").as_chunks::<24>();
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
