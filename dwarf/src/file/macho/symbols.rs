//! Symbols of Mach-O files: `LC_SYMTAB`, the exports trie, and the stubs of imported functions.
//!
//! Names have an underscore in front that sources and debug info do not have: it is left out. The
//! table has no sizes: a function reaches to the next one (`LC_FUNCTION_STARTS`), data to the next
//! symbol.

use super::{MachO, exports};
use crate::file::object::{Image, string_bytes, u16_at, u32_at, u64_at};
use crate::file::symbol_table::{Entry, LOCAL_RANK, Strings, UNTYPED, is_called};
use crate::ids::addr::FileAddr;
use crate::ids::symbol::{Symbol, SymbolKind};
use rustc_hash::FxHashSet;

/// Size of `nlist_64`.
pub(super) const SYMBOL_SIZE: usize = 16;
/// Bits of `n_type`: an entry for debuggers, visible to other files, and what the value is.
const N_STAB: u8 = 0xe0;
const N_TYPE: u8 = 0x0e;
const N_EXT: u8 = 1;
/// The value is an address in a section.
const N_SECT: u8 = 0x0e;
/// Bits of `n_desc`.
const N_WEAK_DEF: u16 = 0x80;
const N_ALT_ENTRY: u16 = 0x200;
/// Bits of an indirect symbol that has no name (`INDIRECT_SYMBOL_LOCAL`, `INDIRECT_SYMBOL_ABS`).
const NO_NAME: u32 = 0xc000_0000;

/// A record of the symbol table with an address.
#[derive(Clone, Copy)]
struct Record {
    /// Offset in the strings.
    name: u32,
    is_external: bool,
    is_weak: bool,
    /// Index of its section.
    section: usize,
    addr: u64,
}

impl Record {
    /// Reads a record; `None` if it has no address or is for debuggers only.
    fn read(raw: &[u8]) -> Option<Record> {
        let kind = *raw.get(4)?;
        if kind & N_STAB != 0 || kind & N_TYPE != N_SECT {
            return None;
        }
        Some(Record {
            name: u32_at(raw, 0)?,
            is_external: kind & N_EXT != 0,
            is_weak: u16_at(raw, 6)? & N_WEAK_DEF != 0,
            section: usize::from(*raw.get(5)?).checked_sub(1)?,
            addr: u64_at(raw, 8)?,
        })
    }

    fn rank(&self) -> u8 {
        match (self.is_external, self.is_weak) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => LOCAL_RANK,
        }
    }
}

fn records(macho: &MachO) -> impl Iterator<Item = Record> {
    let raw = macho.symbols.chunks_exact(SYMBOL_SIZE);
    raw.filter_map(Record::read)
}

/// Returns the names, with an underscore, and addresses of data that other files can refer to.
pub(super) fn external_data(image: &Image) -> impl Iterator<Item = (&'static [u8], u64)> + '_ {
    let macho = image.macho();
    let all = macho.into_iter().flat_map(|macho| {
        let data = records(macho).filter(|it| it.is_external && !is_code(image, it.section));
        data.map(move |record| (macho.strings, record))
    });
    all.filter_map(|(strings, record)| {
        Some((string_bytes(strings, record.name as usize)?, record.addr))
    })
}

/// A symbol of an object file.
pub(super) struct Defined {
    /// With an underscore.
    pub(super) name: &'static [u8],
    /// In an object file the addresses of all sections differ.
    pub(super) addr: u64,
    /// Index of its section; `None` for a variable that the linker gives a place (`N_UNDF` with a
    /// size: C's `int a;` with `-fcommon`), whose address is then its size.
    pub(super) section: Option<usize>,
    /// Whether it is a label in what begins before it.
    pub(super) is_label: bool,
}

/// Returns the symbols of an object file by index; `None` for those that have no place.
pub(super) fn defined(macho: &MachO) -> impl Iterator<Item = Option<Defined>> + '_ {
    let raw = macho.symbols.chunks_exact(SYMBOL_SIZE);
    raw.map(|raw| {
        let (kind, value) = (*raw.get(4)?, u64_at(raw, 8)?);
        let is_common = kind & (N_STAB | N_TYPE) == 0 && kind & N_EXT != 0 && value != 0;
        let record = Record::read(raw);
        let name = u32_at(raw, 0)? as usize;
        if record.is_none() && !is_common {
            return None;
        }
        Some(Defined {
            name: string_bytes(macho.strings, name)?,
            addr: value,
            section: record.map(|record| record.section),
            is_label: u16_at(raw, 6)? & N_ALT_ENTRY != 0 && !is_common,
        })
    })
}

/// Returns whether the section with an index has code.
fn is_code(image: &Image, section: usize) -> bool {
    let section = image.sections.get(section);
    section.is_some_and(|it| it.is_code)
}

/// Returns a name without its underscore.
fn plain(name: &'static str) -> &'static str {
    name.strip_prefix('_').unwrap_or(name)
}

fn name_of(macho: &MachO, at: u32) -> Option<&'static str> {
    let name = std::str::from_utf8(string_bytes(macho.strings, at as usize)?).ok()?;
    let name = plain(name);
    (!name.is_empty()).then_some(name)
}

/// Where functions begin, sorted.
struct Starts(Vec<u64>);

impl Starts {
    /// Those of an image, which its debug file does not have; else those of all symbols of code.
    fn of(image: &Image, macho: &MachO) -> Starts {
        let mut starts: Vec<u64> = macho.function_starts().collect();
        if starts.is_empty() {
            let is_code = |record: &Record| is_code(image, record.section);
            starts = records(macho).filter(is_code).map(|it| it.addr).collect();
            starts.sort_unstable();
        }
        Starts(starts)
    }

    /// Returns the first one behind an address.
    fn behind(&self, addr: u64) -> Option<u64> {
        let next = self.0.partition_point(|start| *start <= addr);
        self.0.get(next).copied()
    }

    fn contain(&self, addr: u64) -> bool {
        self.0.binary_search(&addr).is_ok()
    }
}

/// Makes an entry of a record. The size of data is not known yet.
fn entry(holder: &Image, macho: &MachO, starts: &Starts, record: Record) -> Option<Entry> {
    entry_named(holder, starts, record, name_of(macho, record.name)?)
}

fn entry_named(
    holder: &Image,
    starts: &Starts,
    record: Record,
    name: &'static str,
) -> Option<Entry> {
    let section = holder.sections.get(record.section)?;
    let mut rank = record.rank();
    let mut size = 0;
    // The symbol of the image's header is of the first section, but not in it.
    let is_code = section.is_code && section.covers(record.addr);
    if is_code {
        if starts.contain(record.addr) {
            let end = section.addr.saturating_add(section.size);
            let next = starts.behind(record.addr).unwrap_or(end).min(end);
            size = next.saturating_sub(record.addr);
        } else {
            // A label in a function.
            rank += UNTYPED;
        }
    }
    Some(Entry {
        symbol: Symbol {
            name,
            addr: FileAddr(record.addr),
            size,
            kind: match is_code {
                true => SymbolKind::Function,
                false => SymbolKind::Object,
            },
        },
        rank,
    })
}

/// The image and its debug file, each with what only Mach-O has. A stripped image still has the
/// symbols that it exports, so both are read.
fn holders<'a>(
    image: &'a Image,
    debug: Option<&'a Image>,
) -> impl Iterator<Item = (&'a Image, &'a MachO)> {
    let holders = [Some(image), debug].into_iter().flatten();
    holders.filter_map(|holder| Some((holder, holder.macho()?)))
}

/// Returns all symbols of an image and its debug file, and the stubs of imported functions.
pub(crate) fn entries(image: &Image, debug: Option<&Image>) -> Vec<Entry> {
    let mut found = Vec::new();
    let Some(macho) = image.macho() else {
        return found;
    };
    let starts = Starts::of(image, macho);
    for (holder, macho) in holders(image, debug) {
        found.extend(records(macho).filter_map(|it| entry(holder, macho, &starts, it)));
    }
    if !records(macho).any(|record| record.is_external) {
        exported_entries(image, macho, &starts, &mut found);
    }
    size_data(image, &mut found);
    stubs(image, macho, &mut found);
    found
}

/// Adds what is exported and has no symbol, because the table is gone.
fn exported_entries(image: &Image, macho: &MachO, starts: &Starts, found: &mut Vec<Entry>) {
    let known: FxHashSet<u64> = found.iter().map(|entry| entry.symbol.addr.0).collect();
    let exports = macho.exports();
    let mut of_exports = Starts(exports.iter().map(|export| export.addr).collect());
    of_exports.0.sort_unstable();
    let starts = match starts.0.is_empty() {
        true => &of_exports,
        false => starts,
    };
    for export in exports {
        let Some(section) = image.section_index_at(export.addr) else {
            continue;
        };
        if known.contains(&export.addr) {
            continue;
        }
        let Ok(name) = String::from_utf8(export.name) else {
            continue;
        };
        let record = Record {
            name: 0,
            is_external: true,
            is_weak: false,
            section,
            addr: export.addr,
        };
        let name = plain(Box::leak(name.into_boxed_str()));
        found.extend(entry_named(image, starts, record, name));
    }
}

/// Gives data the distance to the next symbol, or to the end of its section, as size.
fn size_data(image: &Image, found: &mut [Entry]) {
    let mut addrs: Vec<u64> = found.iter().map(|entry| entry.symbol.addr.0).collect();
    addrs.sort_unstable();
    for Entry { symbol, .. } in found {
        if symbol.is_code() {
            continue;
        }
        let addr = symbol.addr.0;
        let Some(section) = image.section_at(addr) else {
            continue;
        };
        let end = section.addr.saturating_add(section.size);
        let next = addrs.partition_point(|it| *it <= addr);
        let next = addrs.get(next).copied().unwrap_or(end).min(end);
        symbol.size = next.saturating_sub(addr);
    }
}

/// Names the stubs of imported functions `name@plt`, as those of ELF.
fn stubs(image: &Image, macho: &MachO, found: &mut Vec<Entry>) {
    // The names of imported functions are different ones.
    let mut bytes_left = macho.strings.len();
    for (section, name, addr, size) in indirect_symbols(image, macho) {
        if !is_code(image, section) {
            continue;
        }
        let Some(left) = bytes_left.checked_sub(name.len()) else {
            return;
        };
        bytes_left = left;
        found.push(Entry {
            symbol: Symbol {
                name: Box::leak(format!("{name}@plt").into_boxed_str()),
                addr: FileAddr(addr),
                size,
                kind: SymbolKind::Function,
            },
            rank: LOCAL_RANK + 1,
        });
    }
}

/// Returns the stubs of imported functions and the pointers to imported symbols: index of the
/// section, name, address, size.
fn indirect_symbols<'a>(
    image: &'a Image,
    macho: &'a MachO,
) -> impl Iterator<Item = (usize, &'static str, u64, u64)> + 'a {
    let sections = image.sections.iter().zip(&macho.sections).enumerate();
    sections.flat_map(move |(index, (section, kind))| {
        let size = kind.indirect_size().unwrap_or(0);
        let count = section.size.checked_div(size).unwrap_or(0);
        let indirect = macho.indirect_symbols.chunks_exact(4);
        let numbers = indirect.skip(kind.first as usize);
        let places = (0..count).map(move |nth| section.addr.wrapping_add(nth * size));
        places.zip(numbers).filter_map(move |(addr, number)| {
            let number = u32_at(number, 0).filter(|it| it & NO_NAME == 0)?;
            let at = (number as usize).checked_mul(SYMBOL_SIZE)?;
            let name = name_of(macho, u32_at(macho.symbols, at)?)?;
            Some((index, name, addr, size))
        })
    })
}

/// Returns the words that the loader sets to the address of an imported symbol.
pub(crate) fn pointers(image: &Image, name: &str) -> Vec<FileAddr> {
    let Some(macho) = image.macho() else {
        return Vec::new();
    };
    indirect_symbols(image, macho)
        .filter(|(section, symbol, ..)| *symbol == name && !is_code(image, *section))
        .map(|(_, _, addr, _)| FileAddr(addr))
        .collect()
}

/// Returns the address of a symbol that the image exports.
pub(crate) fn exported(image: &Image, name: &str) -> Option<FileAddr> {
    let macho = image.macho()?;
    if !macho.exports.is_empty() {
        let find = |name: &str| exports::find(macho.exports, macho.start, name.as_bytes());
        return find(&format!("_{name}"))
            .or_else(|| find(name))
            .map(FileAddr);
    }
    let mut found = records(macho).filter(|record| record.is_external);
    let found = found.find(|record| name_of(macho, record.name) == Some(name))?;
    Some(FileAddr(found.addr))
}

/// Adds the functions with these raw names, each with the index of its name: exported ones, and
/// local ones if the strings contain one of `marks`.
pub(crate) fn functions_called(
    image: &Image,
    names: &[&str],
    marks: &[&str],
    found: &mut Vec<(usize, FileAddr)>,
) {
    let Some(macho) = image.macho() else {
        return;
    };
    let has = |mark: &&str| memchr::memmem::find(macho.strings, mark.as_bytes()).is_some();
    let with_local = marks.iter().any(has);
    for record in records(macho).filter(|it| it.is_external || with_local) {
        if !is_code(image, record.section) {
            continue;
        }
        let rest = macho
            .strings
            .get(record.name as usize..)
            .unwrap_or_default();
        let rest = rest.strip_prefix(b"_").unwrap_or(rest);
        let index = names.iter().position(|name| is_called(rest, name));
        found.extend(index.map(|index| (index, FileAddr(record.addr))));
    }
}

/// Returns the function that covers `addr`, if the image lists where functions begin.
pub(crate) fn function_covering(image: &Image, debug: Option<&Image>, addr: u64) -> Option<Symbol> {
    let macho = image.macho()?;
    let (mut start, mut next) = (None, None);
    for it in macho.function_starts() {
        if it > addr {
            next = Some(it);
            break;
        }
        start = Some(it);
    }
    let start = start?;
    let section = image.section_at(start)?;
    let end = section.addr.saturating_add(section.size);
    let end = next.unwrap_or(end).min(end);
    if !section.is_code || addr >= end {
        return None;
    }
    let named = holders(image, debug).flat_map(|(_, macho)| {
        let at_start = records(macho).filter(|record| record.addr == start);
        at_start.filter_map(|record| Some((record.rank(), name_of(macho, record.name)?)))
    });
    let (_, name) = named.min()?;
    Some(Symbol {
        name,
        addr: FileAddr(start),
        size: end.saturating_sub(start),
        kind: SymbolKind::Function,
    })
}

/// Returns the symbols of code whose raw names contain `text`.
pub(crate) fn functions_spelled_with(
    image: &Image,
    debug: Option<&Image>,
    text: &str,
) -> Vec<Symbol> {
    let mut found = Vec::new();
    let mut starts = None;
    for (holder, macho) in holders(image, debug) {
        let wanted = Strings::with(macho.strings, text);
        if wanted.is_empty() {
            continue;
        }
        let starts =
            starts.get_or_insert_with(|| Starts::of(image, image.macho().unwrap_or(macho)));
        let fitting = records(macho).filter(|record| wanted.contain(record.name as usize));
        let entries = fitting.filter_map(|record| entry(holder, macho, starts, record));
        found.extend(entries.map(|it| it.symbol).filter(Symbol::is_code));
    }
    found
}
