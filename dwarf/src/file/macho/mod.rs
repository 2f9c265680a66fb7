//! Mach-O files: what their load commands say ("OS X ABI Mach-O File Format Reference",
//! `mach-o/loader.h`), and the tables that only Mach-O has.

mod commands;
pub(crate) mod companion;
pub(crate) mod debug_map;
mod exports;
pub(crate) mod in_memory;
pub(crate) mod moved_sources;
pub(crate) mod object_file;
pub(crate) mod placement;
mod property_list;
mod section_names;
pub(crate) mod symbols;
mod universal;

use crate::file::R;
use crate::file::object::{Format, Image, slice, u32_at};
use crate::ids::Machine;
use crate::ids::addr::{FileAddr, LoadAddr};
use crate::ids::memory::Memory;
use gimli::{LittleEndian, Reader};
use std::path::Path;

pub(crate) use exports::Export;
pub(crate) use universal::Wanted;

/// `MH_MAGIC_64`, `MH_MAGIC` and their other byte orders.
const MAGIC: u32 = 0xfeed_facf;
const MAGIC_32: u32 = 0xfeed_face;
/// Size of `mach_header_64`.
const HEADER: usize = 32;

/// Maximum size of the load commands to read from memory; the largest known have 20 kB.
const MAX_COMMANDS: u32 = 1 << 20;

const MH_DYLIB: u32 = 6;
const MH_DYLINKER: u32 = 7;
const MH_BUNDLE: u32 = 8;
const MH_DSYM: u32 = 10;
const MH_PIE: u32 = 0x20_0000;

/// What only Mach-O files have.
#[derive(Default)]
pub(crate) struct MachO {
    /// `MH_DSYM`: debug info of another file, with its segments but not their contents.
    pub(crate) is_companion: bool,
    /// The paths of the libraries that it is linked with, in the order of their ordinals.
    pub(crate) libraries: Vec<&'static str>,
    /// The path that programs refer to it by (`LC_ID_DYLIB`).
    pub(crate) install_name: Option<&'static str>,
    /// Folders that `@rpath` stands for.
    pub(crate) rpaths: Vec<&'static str>,
    /// Address of the header.
    pub(crate) start: u64,
    /// Records of `LC_SYMTAB`.
    symbols: &'static [u8],
    strings: &'static [u8],
    /// The symbols of stubs and pointers (`LC_DYSYMTAB`), as indexes of symbols.
    indirect_symbols: &'static [u8],
    /// The exports trie.
    exports: &'static [u8],
    /// `LC_FUNCTION_STARTS`
    function_starts: &'static [u8],
    /// Types of sections and two more words of their headers, in the order of sections.
    sections: Vec<SectionKind>,
}

/// What only Mach-O has in a section's header.
#[derive(Clone, Copy, Default)]
struct SectionKind {
    /// `S_…` without attributes.
    kind: u8,
    /// Of stubs and pointers, the first one's index in the indirect symbols.
    first: u32,
    /// Length of a stub.
    stub: u32,
    /// Offset in the file and number of its relocations.
    relocations: (u32, u32),
}

/// Returns whether a file seems to be of Mach-O, universal or not.
pub(crate) fn is_macho(data: &[u8]) -> bool {
    let magic = u32_at(data, 0).unwrap_or(0);
    let known = [MAGIC, MAGIC_32];
    known.contains(&magic) || known.contains(&magic.swap_bytes()) || universal::is_universal(data)
}

/// Reads the headers of a Mach-O file, or of the wanted image in a universal one.
///
/// # Errors
/// It is of a kind that this crate does not read, or there is no such image.
pub(crate) fn parse(path: &Path, data: &'static [u8], wanted: Wanted) -> Result<Image, String> {
    let data = match universal::is_universal(data) {
        true => universal::choose(data, wanted)?,
        false => data,
    };
    let magic = u32_at(data, 0).unwrap_or(0);
    match magic {
        MAGIC => {}
        MAGIC_32 => return Err("32-bit Mach-O file".to_owned()),
        _ if [MAGIC, MAGIC_32].contains(&magic.swap_bytes()) => {
            return Err("big-endian Mach-O file".to_owned());
        }
        _ => return Err("not a Mach-O file".to_owned()),
    }
    let header = || {
        let [cpu, kind, size, flags] = [4, 12, 20, 24].map(|at| u32_at(data, at));
        Some((cpu?, kind?, size?, flags?))
    };
    let (cpu, kind, size, flags) = header().ok_or("truncated Mach-O header")?;
    let mut image = Image {
        path: path.to_owned(),
        data,
        machine: Machine::of_macho(cpu),
        position_independent: flags & MH_PIE != 0
            || [MH_DYLIB, MH_DYLINKER, MH_BUNDLE].contains(&kind),
        entry: FileAddr(0),
        segments: Vec::new(),
        thread_storage: None,
        interpreter: None,
        build_id: None,
        sections: Vec::new(),
        format: Format::MachO(MachO::default()),
    };
    let commands = slice(data, HEADER as u64, size.into()).ok_or("truncated load commands")?;
    let is_companion = kind == MH_DSYM;
    let macho = commands::read(&mut image, commands, is_companion);
    image.format = Format::MachO(macho);
    Ok(image)
}

impl MachO {
    /// Returns whether there are symbols.
    pub(crate) fn has_symbols(&self) -> bool {
        !self.symbols.is_empty() || !self.exports.is_empty()
    }

    /// Returns the addresses of functions (`LC_FUNCTION_STARTS`), which increase.
    pub(crate) fn function_starts(&self) -> impl Iterator<Item = u64> + '_ {
        let mut rest = self.function_starts;
        let mut addr = self.start;
        std::iter::from_fn(move || {
            // A distance of 0 is padding behind the last one.
            let distance = uleb128(&mut rest).filter(|distance| *distance != 0)?;
            addr = addr.checked_add(distance)?;
            Some(addr)
        })
    }

    /// Returns what the image exports, by name; at most what its trie can hold without sharing.
    pub(crate) fn exports(&self) -> Vec<Export> {
        exports::all(self.exports, self.start)
    }
}

impl SectionKind {
    /// Returns the size of each stub of an imported function, or of each pointer to an imported
    /// symbol, that the section consists of.
    fn indirect_size(&self) -> Option<u64> {
        const NON_LAZY_POINTERS: u8 = 6;
        const LAZY_POINTERS: u8 = 7;
        const STUBS: u8 = 8;
        match self.kind {
            NON_LAZY_POINTERS | LAZY_POINTERS => Some(8),
            STUBS if self.stub != 0 => Some(self.stub.into()),
            _ => None,
        }
    }
}

/// Returns the UUID of the image whose header is at `start`; `None` if it has none or cannot be
/// read.
pub(crate) fn uuid_in_memory(start: LoadAddr, memory: &dyn Memory) -> Option<[u8; 16]> {
    let mut header = [0; HEADER];
    memory.read(start, &mut header).ok()?;
    let size = u32_at(&header, 20)?;
    if u32_at(&header, 0)? != MAGIC || size > MAX_COMMANDS {
        return None;
    }
    let mut commands = vec![0; size as usize];
    memory.read(start + HEADER as u64, &mut commands).ok()?;
    let uuid = commands::all(&commands).find_map(commands::uuid)?;
    uuid.try_into().ok()
}

/// Reads a number in ULEB128.
fn uleb128(data: &mut &'static [u8]) -> Option<u64> {
    let mut reader = R::new(data, LittleEndian);
    let value = reader.read_uleb128().ok()?;
    *data = reader.slice();
    Some(value)
}
