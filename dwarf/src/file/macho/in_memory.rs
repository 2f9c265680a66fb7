//! Images in memory whose file cannot be opened: those of the system, which the loader keeps in one
//! cache. A file is made of one that has what is read most: headers, symbols and unwind info. Code and
//! data, which are large, stay in memory.

use super::commands::{self, LC_DYLD_EXPORTS_TRIE, LC_DYLD_INFO, LC_DYLD_INFO_ONLY};
use super::commands::{LC_DYSYMTAB, LC_FUNCTION_STARTS, LC_SEGMENT_64, LC_SYMTAB};
use super::commands::{SECTION, SEGMENT};
use super::symbols::SYMBOL_SIZE;
use super::{HEADER, MAGIC, MAX_COMMANDS};
use crate::file::object::{u32_at, u64_at};
use crate::ids::addr::LoadAddr;
use crate::ids::error::Error;
use crate::ids::memory::Memory;

/// Sections that are read.
const SECTIONS: [&[u8]; 2] = [b"__unwind_info", b"__eh_frame"];
/// Maximum size in bytes of a section or table.
const MAX_PART: u64 = 1 << 25;
/// Maximum size in bytes of all of an image.
const MAX_ALL: u64 = 1 << 27;
/// An offset at which a file has nothing.
const NOWHERE: u32 = u32::MAX;

/// Returns whether there is the header of an image.
pub(crate) fn is_at(start: LoadAddr, memory: &dyn Memory) -> bool {
    let mut magic = [0; 4];
    memory.read(start, &mut magic).is_ok() && u32::from_le_bytes(magic) == MAGIC
}

/// Makes a file of the image whose header is at `start`.
///
/// # Errors
/// The header cannot be read, or is not one. Other parts that cannot be read are left out.
pub(crate) fn read(start: LoadAddr, memory: &dyn Memory) -> Result<Vec<u8>, Error> {
    let mut file = vec![0; HEADER];
    memory.read(start, &mut file)?;
    let size = u32_at(&file, 20).unwrap_or(u32::MAX);
    if size > MAX_COMMANDS {
        return Err(Error::Limit(format!("too many load commands at {start}")));
    }
    file.resize(HEADER + size as usize, 0);
    memory.read(start + HEADER as u64, &mut file[HEADER..])?;
    let places = places(&file[HEADER..]);
    let text = places.iter().find(|it| it.is_named(b"__TEXT"));
    let tables = places.iter().find(|it| it.is_named(b"__LINKEDIT"));
    let (Some(text), Some(tables)) = (text, tables) else {
        return Err(Error::Limit(format!("no segments of an image at {start}")));
    };
    let slide = start.0.wrapping_sub(text.addr);
    let mut copy = Copy {
        file,
        slide,
        // Offsets of tables are those of the file, of which this segment is a part.
        tables: tables.addr.wrapping_sub(tables.offset),
        memory,
    };
    copy.segments();
    copy.tables();
    Ok(copy.file)
}

/// A segment, as its command says.
struct Place {
    name: [u8; 16],
    addr: u64,
    offset: u64,
}

impl Place {
    fn is_named(&self, name: &[u8]) -> bool {
        self.name.starts_with(name) && self.name.get(name.len()).is_none_or(|byte| *byte == 0)
    }
}

fn places(all: &[u8]) -> Vec<Place> {
    let segments = commands::all(all).filter(|(kind, _)| *kind == LC_SEGMENT_64);
    let read = |(_, command): commands::Command<'_>| {
        Some(Place {
            name: *command.get(8..)?.first_chunk()?,
            addr: u64_at(command, 24)?,
            offset: u64_at(command, 40)?,
        })
    };
    segments.filter_map(read).collect()
}

/// A file that is made of an image.
struct Copy<'a> {
    file: Vec<u8>,
    slide: u64,
    /// What offsets of tables are added to.
    tables: u64,
    memory: &'a dyn Memory,
}

impl Copy<'_> {
    /// Returns the offsets of the load commands of some kinds.
    fn commands(&self, kinds: &[u32]) -> Vec<(u32, usize)> {
        let commands = self.file.get(HEADER..).unwrap_or_default();
        let mut at = HEADER;
        let mut found = Vec::new();
        for (kind, command) in commands::all(commands) {
            if kinds.contains(&kind) {
                found.push((kind, at));
            }
            at += command.len();
        }
        found
    }

    fn number(&self, at: usize) -> u32 {
        u32_at(&self.file, at).unwrap_or(0)
    }

    fn set(&mut self, at: usize, value: u32) {
        if let Some(place) = self.file.get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn set_long(&mut self, at: usize, value: u64) {
        if let Some(place) = self.file.get_mut(at..at + 8) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Reads memory at an address of the image.
    fn read(&self, addr: u64, size: u64) -> Option<Vec<u8>> {
        if size > MAX_PART || self.file.len() as u64 + size > MAX_ALL {
            return None;
        }
        let mut bytes = vec![0; size as usize];
        let addr = LoadAddr(addr.wrapping_add(self.slide));
        self.memory.read(addr, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Appends bytes, and writes where they are.
    fn append(&mut self, bytes: Option<Vec<u8>>, at: usize) {
        let offset = match bytes {
            Some(bytes) => {
                self.file.resize(self.file.len().next_multiple_of(8), 0);
                let offset = self.file.len() as u32;
                self.file.extend(bytes);
                offset
            }
            None => NOWHERE,
        };
        self.set(at, offset);
    }

    /// Appends the sections that are read. The rest of each segment is not in the file.
    fn segments(&mut self) {
        for (_, at) in self.commands(&[LC_SEGMENT_64]) {
            let name = self.file.get(at + 8..at + 24);
            let has_headers = name.is_some_and(|name| name.starts_with(b"__TEXT\0"));
            let headers = if has_headers { self.headers() } else { 0 };
            self.set_long(at + 40, 0);
            self.set_long(at + 48, headers);
            let size = self.number(at + 4) as usize;
            let sections = size.saturating_sub(SEGMENT) / SECTION;
            for nth in 0..sections.min(self.number(at + 64) as usize) {
                let at = at + SEGMENT + nth * SECTION;
                let name = self.file.get(at..at + 16).unwrap_or_default();
                let end = name.iter().position(|byte| *byte == 0);
                let is_read = SECTIONS.contains(&&name[..end.unwrap_or(name.len())]);
                let place = u64_at(&self.file, at + 32).zip(u64_at(&self.file, at + 40));
                let bytes = place.filter(|_| is_read);
                let bytes = bytes.and_then(|(addr, size)| self.read(addr, size));
                self.append(bytes, at + 48);
            }
        }
    }

    /// Returns the size of the header and the load commands.
    fn headers(&self) -> u64 {
        HEADER as u64 + u64::from(self.number(20))
    }

    /// Appends the tables of symbols.
    fn tables(&mut self) {
        const KINDS: [u32; 6] = [
            LC_SYMTAB,
            LC_DYSYMTAB,
            LC_FUNCTION_STARTS,
            LC_DYLD_EXPORTS_TRIE,
            LC_DYLD_INFO,
            LC_DYLD_INFO_ONLY,
        ];
        for (kind, at) in self.commands(&KINDS) {
            match kind {
                LC_SYMTAB => self.symbols(at),
                LC_DYSYMTAB => self.table(at + 56, 4),
                LC_DYLD_INFO | LC_DYLD_INFO_ONLY => self.table(at + 40, 1),
                _ => self.table(at + 8, 1),
            }
        }
    }

    /// Appends the table whose offset is at `at`, and whose number of elements follows.
    fn table(&mut self, at: usize, unit: u64) {
        let (offset, count) = (self.number(at), self.number(at + 4));
        let bytes = self.read_table(offset, u64::from(count) * unit);
        self.append(bytes, at);
    }

    fn read_table(&self, offset: u32, size: u64) -> Option<Vec<u8>> {
        self.read(self.tables.wrapping_add(offset.into()), size)
    }

    /// Appends the symbols, with the part of the strings that they refer to: in the cache all images
    /// share one table. If their names are too far apart, only exports remain.
    fn symbols(&mut self, at: usize) {
        /// Longer than most names.
        const LAST_NAME: u64 = 4096;
        let [offset, count, strings, size] = [8, 12, 16, 20].map(|field| self.number(at + field));
        let symbols = self.read_table(offset, u64::from(count) * SYMBOL_SIZE as u64);
        let mut symbols = symbols.unwrap_or_default();
        let names = symbols.chunks_exact(SYMBOL_SIZE);
        let names = names.filter_map(|raw| u32_at(raw, 0)).filter(|it| *it != 0);
        let (first, last) = names.fold((u32::MAX, 0), |(first, last), it| {
            (first.min(it), last.max(it))
        });
        let used = u64::from(last.saturating_sub(first)) + LAST_NAME;
        let used = used.min(size.saturating_sub(first).into());
        let text = strings.checked_add(first).filter(|_| first <= last);
        let Some(text) = text.and_then(|text| self.read_table(text, used)) else {
            self.append(None, at + 8);
            return self.append(None, at + 16);
        };
        for raw in symbols.chunks_exact_mut(SYMBOL_SIZE) {
            let name = u32_at(raw, 0).filter(|it| *it != 0);
            // Behind an empty name.
            let moved = name.map_or(0, |name| name - first + 1);
            raw[..4].copy_from_slice(&moved.to_le_bytes());
        }
        let text = [vec![0], text].concat();
        self.set(at + 20, text.len() as u32);
        self.append(Some(symbols), at + 8);
        self.append(Some(text), at + 16);
    }
}
