//! Load commands.

use super::section_names::elf_name;
use super::{MachO, SectionKind};
use crate::file::object::{Image, Section, slice, u32_at, u64_at};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::{Machine, Segment, ThreadStorage};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Commands without which an image cannot be used have this bit.
const REQUIRED: u32 = 0x8000_0000;
pub(super) const LC_SYMTAB: u32 = 2;
const LC_UNIXTHREAD: u32 = 5;
pub(super) const LC_DYSYMTAB: u32 = 0xb;
const LC_LOAD_DYLIB: u32 = 0xc;
const LC_ID_DYLIB: u32 = 0xd;
const LC_LOAD_DYLINKER: u32 = 0xe;
const LC_ID_DYLINKER: u32 = 0xf;
const LC_LOAD_WEAK_DYLIB: u32 = 0x18 | REQUIRED;
pub(super) const LC_SEGMENT_64: u32 = 0x19;
const LC_UUID: u32 = 0x1b;
const LC_RPATH: u32 = 0x1c | REQUIRED;
const LC_REEXPORT_DYLIB: u32 = 0x1f | REQUIRED;
const LC_LAZY_LOAD_DYLIB: u32 = 0x20;
pub(super) const LC_DYLD_INFO: u32 = 0x22;
pub(super) const LC_DYLD_INFO_ONLY: u32 = 0x22 | REQUIRED;
const LC_LOAD_UPWARD_DYLIB: u32 = 0x23 | REQUIRED;
pub(super) const LC_FUNCTION_STARTS: u32 = 0x26;
const LC_MAIN: u32 = 0x28 | REQUIRED;
pub(super) const LC_DYLD_EXPORTS_TRIE: u32 = 0x33 | REQUIRED;

const VM_PROT_WRITE: u32 = 2;
const VM_PROT_EXECUTE: u32 = 4;

/// Size of `segment_command_64` and of `section_64`.
pub(super) const SEGMENT: usize = 72;
pub(super) const SECTION: usize = 80;
/// Section types (`S_…`).
const ZEROFILL: u8 = 1;
const GIGABYTE_ZEROFILL: u8 = 0xc;
const THREAD_LOCAL_REGULAR: u8 = 0x11;
const THREAD_LOCAL_ZEROFILL: u8 = 0x12;
/// `S_ATTR_PURE_INSTRUCTIONS`, `S_ATTR_SOME_INSTRUCTIONS`
const INSTRUCTIONS: u32 = 0x8000_0400;
/// The linker numbers the sections of symbols in a byte, from 1.
const MAX_SECTIONS: usize = 255;

/// Size of a record of `LC_SYMTAB`.
const SYMBOL: u64 = 16;

/// A load command: its type and its bytes, from the type on.
pub(super) type Command<'a> = (u32, &'a [u8]);

/// Returns all load commands up to the first that is corrupt.
pub(super) fn all(mut rest: &[u8]) -> impl Iterator<Item = Command<'_>> {
    std::iter::from_fn(move || {
        let size = u32_at(rest, 4)? as usize;
        if size < 8 {
            return None;
        }
        let (command, behind) = rest.split_at_checked(size)?;
        rest = behind;
        Some((u32_at(command, 0)?, command))
    })
}

/// Returns the UUID that a load command has.
pub(super) fn uuid((kind, command): Command<'_>) -> Option<&[u8]> {
    (kind == LC_UUID).then(|| command.get(8..24))?
}

/// Reads the load commands into an image; returns what only Mach-O has of them.
pub(super) fn read(image: &mut Image, commands: &'static [u8], is_companion: bool) -> MachO {
    let data = image.data;
    let mut macho = MachO {
        is_companion,
        ..MachO::default()
    };
    let mut main = None;
    for (kind, command) in all(commands) {
        let number = |at| u32_at(command, at).map(u64::from);
        // A table in the file: its offset and size are at these places.
        let table = |at, unit: u64| {
            let size = number(at + 4)?.checked_mul(unit)?;
            slice(data, number(at)?, size)
        };
        match kind {
            LC_SEGMENT_64 => segment(image, &mut macho, command),
            LC_UUID => image.build_id = uuid((kind, command)),
            LC_SYMTAB => {
                macho.symbols = table(8, SYMBOL).unwrap_or_default();
                macho.strings = table(16, 1).unwrap_or_default();
            }
            LC_DYSYMTAB => macho.indirect_symbols = table(56, 4).unwrap_or_default(),
            LC_FUNCTION_STARTS => macho.function_starts = table(8, 1).unwrap_or_default(),
            LC_DYLD_EXPORTS_TRIE => macho.exports = table(8, 1).unwrap_or_default(),
            LC_DYLD_INFO | LC_DYLD_INFO_ONLY => {
                macho.exports = table(40, 1).unwrap_or_default();
            }
            LC_MAIN => main = u64_at(command, 8),
            LC_UNIXTHREAD => {
                image.entry = FileAddr(entry_of_thread(image.machine, command).unwrap_or(0));
            }
            LC_LOAD_DYLIB | LC_LOAD_WEAK_DYLIB | LC_REEXPORT_DYLIB | LC_LAZY_LOAD_DYLIB
            | LC_LOAD_UPWARD_DYLIB => macho.libraries.extend(string(command)),
            LC_ID_DYLIB => macho.install_name = string(command),
            LC_RPATH => macho.rpaths.extend(string(command)),
            LC_LOAD_DYLINKER => image.interpreter = string(command).map(PathBuf::from),
            LC_ID_DYLINKER => macho.install_name = string(command),
            _ => {}
        }
    }
    image.segments.sort_by_key(|segment| segment.range.start);
    if let Some(offset) = main {
        image.entry = FileAddr(macho.start.wrapping_add(offset));
    }
    image.thread_storage = thread_storage(image, &macho);
    macho
}

/// Returns the string that the word behind the command's size refers to.
fn string(command: &'static [u8]) -> Option<&'static str> {
    let bytes = command.get(u32_at(command, 8)? as usize..)?;
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    std::str::from_utf8(bytes.get(..end)?).ok()
}

/// Returns the initial pc in the registers of `LC_UNIXTHREAD`.
fn entry_of_thread(machine: Machine, command: &[u8]) -> Option<u64> {
    // Flavor and count, then the registers.
    match (machine, u32_at(command, 8)?) {
        // x86_THREAD_STATE64: rax to r15, rip
        (Machine::X86_64, 4) => u64_at(command, 16 + 16 * 8),
        // ARM_THREAD_STATE64: x0 to x30, sp, pc
        (Machine::Aarch64, 6) => u64_at(command, 16 + 32 * 8),
        _ => None,
    }
}

fn segment(image: &mut Image, macho: &mut MachO, command: &'static [u8]) {
    let fields = || {
        let words = [24, 32, 40, 48].map(|at| u64_at(command, at));
        let [Some(addr), Some(size), Some(offset), Some(file_size)] = words else {
            return None;
        };
        let (protection, count) = (u32_at(command, 60)?, u32_at(command, 64)?);
        Some((addr, size, offset, file_size, protection, count))
    };
    let Some((addr, size, offset, file_size, protection, count)) = fields() else {
        return;
    };
    let name = name_at(command, 8);
    if name == "__TEXT" {
        macho.start = addr;
    }
    // `__PAGEZERO` keeps addresses free, and a companion's debug info is nowhere in memory.
    let is_loaded = protection != 0 && !(macho.is_companion && name == "__DWARF") && size > 0;
    if is_loaded {
        image.segments.push(Segment {
            range: AddrRange::new(FileAddr(addr), FileAddr(addr.saturating_add(size))),
            file_offset: offset,
            file_size: file_size.min(size),
            executable: protection & VM_PROT_EXECUTE != 0,
            writable: protection & VM_PROT_WRITE != 0,
        });
    }
    let headers = command.get(SEGMENT..).unwrap_or_default();
    for header in headers.chunks_exact(SECTION).take(count as usize) {
        if macho.sections.len() < MAX_SECTIONS {
            image.sections.extend(section(macho, header, is_loaded));
        }
    }
}

fn section(macho: &mut MachO, header: &'static [u8], is_loaded: bool) -> Option<Section> {
    let (name, segment) = (name_at(header, 0), name_at(header, 16));
    let flags = u32_at(header, 64)?;
    let kind = flags as u8;
    let is_zero = [ZEROFILL, GIGABYTE_ZEROFILL, THREAD_LOCAL_ZEROFILL].contains(&kind);
    let found = Section {
        name: elf_name(segment, name),
        addr: u64_at(header, 32)?,
        size: u64_at(header, 40)?,
        offset: u32_at(header, 48)?.into(),
        // The sections of the program that a companion describes have an offset of 0.
        is_in_file: !is_zero && (!macho.is_companion || segment == "__DWARF"),
        is_loaded,
        is_code: flags & INSTRUCTIONS != 0,
        elf: Default::default(),
        decompressed: OnceLock::new(),
        relocated: OnceLock::new(),
    };
    macho.sections.push(SectionKind {
        kind,
        first: u32_at(header, 68)?,
        stub: u32_at(header, 72)?,
        relocations: (u32_at(header, 56)?, u32_at(header, 60)?),
    });
    Some(found)
}

/// Returns the initial values of thread-local variables: sections of two types, one behind the
/// other.
fn thread_storage(image: &Image, macho: &MachO) -> Option<ThreadStorage> {
    let of_threads = |(_, kind): &(&Section, &SectionKind)| {
        [THREAD_LOCAL_REGULAR, THREAD_LOCAL_ZEROFILL].contains(&kind.kind)
    };
    let sections = image.sections.iter().zip(&macho.sections);
    let sections = sections.filter(of_threads).map(|(section, _)| section);
    let (mut start, mut end) = (u64::MAX, 0);
    for section in sections {
        start = start.min(section.addr);
        end = end.max(section.addr.saturating_add(section.size));
    }
    (start < end).then(|| ThreadStorage {
        addr: FileAddr(start),
        size: end - start,
        align: 0,
    })
}

/// Returns a name of at most 16 bytes.
fn name_at(command: &'static [u8], at: usize) -> &'static str {
    let bytes = command.get(at..at + 16).unwrap_or_default();
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    std::str::from_utf8(bytes.get(..end).unwrap_or_default()).unwrap_or_default()
}
