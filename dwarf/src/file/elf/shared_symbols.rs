//! The symbols that an ELF image shares with other images: its exported definitions, and its slots, the words
//! into which the dynamic linker writes the address of a definition for the image's code.

use super::{Elf, SHF_ALLOC, SHT_DYNSYM, SHT_RELA, SYMBOL_SIZE};
use crate::file::object::{Image, Section, string_at, string_bytes, u16_at, u32_at, u64_at};
use crate::ids::addr::FileAddr;
use crate::ids::symbol::SharedSymbol;
use rustc_hash::FxHashMap;

const RELA_SIZE: usize = 24;
/// Maximum length of all names together, for each byte of the string table.
const NAMES_PER_BYTE: usize = 8;
/// Maximum number of entries of a dynamic section. Most entries name a needed library.
const MAX_ENTRIES: usize = 1 << 12;
/// Maximum length of a library's name, in bytes (`PATH_MAX`).
const MAX_PATH: usize = 4096;
/// `SHN_UNDEF`
const UNDEFINED: u16 = 0;
/// `DT_NEEDED`
const NEEDED: u64 = 1;
/// `DT_SONAME`
const SONAME: u64 = 14;
/// `DT_SYMBOLIC`
const SYMBOLIC: u64 = 16;
/// `DT_FLAGS`
const FLAGS: u64 = 30;
/// `DF_SYMBOLIC`
const SYMBOLIC_FLAG: u64 = 2;
/// `STV_DEFAULT`: of the others, only protected symbols are defined for other images.
const DEFAULT: u8 = 0;
/// `STB_LOCAL`
const LOCAL: u8 = 0;
/// `STB_WEAK`
const WEAK: u8 = 2;
/// `STT_OBJECT`
const OBJECT: u8 = 1;
/// `STT_TLS`
const THREAD_LOCAL: u8 = 6;

/// The shared symbols of an image.
#[derive(Default)]
pub(crate) struct SharedSymbols {
    symbols: Vec<SharedSymbol>,
    by_name: FxHashMap<&'static str, usize>,
    /// Data that it defines for others, by address.
    data: Vec<(u64, &'static str)>,
}

/// The names in an image's dynamic section.
#[derive(Default)]
pub(crate) struct Linking {
    /// The libraries that it was linked with, in this order.
    pub(crate) needed: Vec<&'static str>,
    /// The name by which others were linked with it.
    pub(crate) name: Option<&'static str>,
    /// Whether it prefers its own definitions (`-Bsymbolic`).
    pub(crate) is_symbolic: bool,
}

impl SharedSymbols {
    fn read(image: &Image) -> SharedSymbols {
        let mut shared = SharedSymbols::default();
        for (table, section) in image.sections.iter().enumerate() {
            if section.elf.kind == SHT_DYNSYM {
                let strings = image.sections.get(section.elf.link as usize);
                let strings = strings.map_or(&[][..], |it| image.contents(it));
                let records = image.contents(section);
                let numbers = shared.add_all(records, strings);
                shared.read_slots(image, table, &numbers);
            }
        }
        shared.data.sort_unstable();
        shared
    }

    /// Adds the symbols of a dynamic table. Returns the index of each.
    fn add_all(&mut self, records: &[u8], strings: &'static [u8]) -> Vec<Option<usize>> {
        // Names do not overlap, but for those that end alike and the versions of one.
        let mut left = strings.len().saturating_mul(NAMES_PER_BYTE);
        let mut numbers = Vec::with_capacity(records.len() / SYMBOL_SIZE);
        for record in records.chunks_exact(SYMBOL_SIZE) {
            let name = u32_at(record, 0).and_then(|at| string_bytes(strings, at as usize));
            let Some(name) = name.filter(|name| name.len() <= left) else {
                tracing::debug!("the names of dynamic symbols are corrupt");
                break;
            };
            left -= name.len();
            let name = std::str::from_utf8(name).ok();
            numbers.push(name.and_then(|name| self.add(record, name)));
        }
        numbers
    }

    /// Adds a symbol of the dynamic table. Of several versions of a name the first one counts. Returns its
    /// index; `None`: it is not shared.
    fn add(&mut self, record: &[u8], name: &'static str) -> Option<usize> {
        let (info, other) = (*record.get(4)?, *record.get(5)?);
        let (section, value) = (u16_at(record, 6)?, u64_at(record, 8)?);
        if name.is_empty() || info >> 4 == LOCAL {
            return None;
        }
        let index = *self.by_name.entry(name).or_insert(self.symbols.len());
        if index == self.symbols.len() {
            self.symbols.push(SharedSymbol::default());
        }
        let symbol = self.symbols.get_mut(index)?;
        symbol.is_thread_local |= info & 0xf == THREAD_LOCAL;
        symbol.is_weak |= info >> 4 == WEAK;
        if section != UNDEFINED && symbol.definition.is_none() {
            symbol.definition = Some(FileAddr(value));
            symbol.is_protected = other & 3 != DEFAULT;
            if info & 0xf == OBJECT {
                self.data.push((value, name));
            }
        }
        Some(index)
    }

    /// Adds the words that the loader relocates to the symbols of a table, which have these indexes.
    fn read_slots(&mut self, image: &Image, table: usize, numbers: &[Option<usize>]) {
        let Some(kinds) = &image.machine.facts().relocations else {
            return;
        };
        let is_of_table = |section: &&Section| {
            let header = &section.elf;
            header.kind == SHT_RELA
                && header.flags & SHF_ALLOC != 0
                && header.link as usize == table
        };
        for section in image.sections.iter().filter(is_of_table) {
            for entry in image.contents(section).chunks_exact(RELA_SIZE) {
                let (Some(place), Some(info)) = (u64_at(entry, 0), u64_at(entry, 8)) else {
                    continue;
                };
                let index = numbers.get((info >> 32) as usize).copied().flatten();
                let symbol = index.and_then(|index| self.symbols.get_mut(index));
                let Some(symbol) = symbol else {
                    continue;
                };
                let slot = match info & 0xffff_ffff {
                    kind if kind == kinds.global_data => &mut symbol.slot,
                    kind if kind == kinds.jump_slot => &mut symbol.call_slot,
                    kind if kind == kinds.thread_module => &mut symbol.thread_slot,
                    kind => {
                        symbol.is_referred_to |= kind == kinds.absolute;
                        continue;
                    }
                };
                slot.get_or_insert(FileAddr(place));
            }
        }
    }
}

impl Linking {
    fn read(image: &Image) -> Linking {
        let mut linking = Linking::default();
        let Some(section) = image.section(".dynamic") else {
            return linking;
        };
        let strings = image.sections.get(section.elf.link as usize);
        let strings = strings.map_or(&[][..], |it| image.contents(it));
        let entries = image.contents(section).chunks_exact(16);
        for entry in entries.take(MAX_ENTRIES) {
            let (Some(tag), Some(value)) = (u64_at(entry, 0), u64_at(entry, 8)) else {
                continue;
            };
            let name = || {
                let rest = strings.get(usize::try_from(value).ok()?..)?;
                string_at(rest.get(..MAX_PATH).unwrap_or(rest), 0)
            };
            match tag {
                0 => break,
                NEEDED => linking.needed.extend(name()),
                SONAME => linking.name = name(),
                SYMBOLIC => linking.is_symbolic = true,
                FLAGS => linking.is_symbolic |= value & SYMBOLIC_FLAG != 0,
                _ => {}
            }
        }
        linking
    }
}

impl Elf {
    fn shared(&self, image: &Image) -> &SharedSymbols {
        self.shared.get_or_init(|| SharedSymbols::read(image))
    }

    /// Returns how the image shares a symbol; `None`: it neither defines it for others nor refers to it.
    pub(crate) fn shared_symbol(&self, image: &Image, name: &str) -> Option<SharedSymbol> {
        let shared = self.shared(image);
        shared.symbols.get(*shared.by_name.get(name)?).copied()
    }

    /// Returns a name under which others refer to the data at an address: `preferred` if it is one.
    pub(crate) fn shared_data(
        &self,
        image: &Image,
        addr: FileAddr,
        preferred: &str,
    ) -> Option<&'static str> {
        let data = &self.shared(image).data;
        let first = data.partition_point(|(at, _)| *at < addr.0);
        let names = data.get(first..).unwrap_or_default().iter();
        let mut names = names.take_while(|(at, _)| *at == addr.0);
        let preferred = names.clone().find(|(_, name)| *name == preferred);
        preferred.or_else(|| names.next()).map(|(_, name)| *name)
    }

    /// Returns what the dynamic section says of the image and the libraries that it needs.
    pub(crate) fn linking(&self, image: &Image) -> &Linking {
        self.linking.get_or_init(|| Linking::read(image))
    }
}
