//! The symbol tables of an image, sorted for lookup when first needed.

use crate::file::object::{Format, Image};
use crate::file::{elf, macho, merged_strings};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::symbol::{Symbol, SymbolKind};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::Range;
use std::sync::OnceLock;

/// A symbol and its rank among symbols of the same address.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) symbol: Symbol,
    /// Lower is better: global before weak before local, typed before untyped.
    pub(crate) rank: u8,
}

/// The rank of a local symbol.
pub(crate) const LOCAL_RANK: u8 = 2;
/// What the rank of an untyped symbol has more.
pub(crate) const UNTYPED: u8 = 4;

/// All symbols of an image.
pub(crate) struct SymbolTable {
    /// Symbols with an address, by address; of those with the same one, the best ranked is last.
    by_addr: Vec<Entry>,
    /// Running maximum of the ends of `by_addr`, so that enclosing symbols are found.
    max_end: Vec<u64>,
    /// Thread-local symbols: their `addr` is an offset, not an address.
    tls: Vec<Symbol>,
    /// Hash of the raw name → index into `by_addr`, sorted; built when first needed.
    by_name: OnceLock<Vec<(u32, u32)>>,
}

impl SymbolTable {
    /// Reads all symbols of an image; those that it lacks, of the file with its debug info.
    pub(crate) fn read(image: &Image, debug: Option<&Image>) -> SymbolTable {
        let mut entries = match &image.format {
            Format::Elf(_) => elf::symbols::entries(image, debug),
            Format::MachO(_) => macho::symbols::entries(image, debug),
        };
        let is_thread_local = |entry: &mut Entry| entry.symbol.kind == SymbolKind::ThreadLocal;
        let mut tls: Vec<Symbol> = entries
            .extract_if(.., is_thread_local)
            .map(|entry| entry.symbol)
            .collect();
        entries.sort_unstable_by(|a, b| {
            (a.symbol.addr, std::cmp::Reverse(a.rank), a.symbol.name).cmp(&(
                b.symbol.addr,
                std::cmp::Reverse(b.rank),
                b.symbol.name,
            ))
        });
        // `.symtab` repeats what `.dynsym` has.
        entries.dedup_by(|a, b| a.symbol.addr == b.symbol.addr && a.symbol.name == b.symbol.name);
        tls.sort_unstable_by_key(|symbol| (symbol.name, symbol.addr));
        tls.dedup();
        let mut end = 0;
        let max_end = entries
            .iter()
            .map(|entry| {
                end = end.max(entry.symbol.addr.0.saturating_add(entry.symbol.size));
                end
            })
            .collect();
        SymbolTable {
            by_addr: entries,
            max_end,
            tls,
            by_name: OnceLock::new(),
        }
    }

    /// Returns the symbol that covers `addr`. A symbol without a size reaches to the next symbol of
    /// its section.
    pub(crate) fn at(&self, image: &Image, addr: u64) -> Option<Symbol> {
        let end = self
            .by_addr
            .partition_point(|entry| entry.symbol.addr.0 <= addr);
        let mut sizeless: Option<&Entry> = None;
        let mut best: Option<&Entry> = None;
        for index in (0..end).rev() {
            let entry = self.by_addr.get(index)?;
            let symbol = &entry.symbol;
            if symbol.size > 0 && addr - symbol.addr.0 < symbol.size {
                match best {
                    // Backwards, symbols with the same start come best ranked first.
                    Some(found) if found.symbol.addr != symbol.addr => break,
                    Some(found) if found.rank <= entry.rank => {}
                    _ => best = Some(entry),
                }
            } else if best.is_some() {
                break;
            } else if symbol.size == 0 && sizeless.is_none() {
                sizeless = Some(entry);
            }
            if self.max_end.get(index).is_none_or(|end| *end <= addr) {
                break;
            }
        }
        // A label inside a sized function does not replace the function.
        if let Some(best) = best {
            return Some(best.symbol);
        }
        let nearest = self.by_addr.get(end.checked_sub(1)?)?;
        let entry = sizeless.filter(|entry| entry.symbol.addr == nearest.symbol.addr)?;
        let section = image.section_at(entry.symbol.addr.0)?;
        (addr - section.addr < section.size).then_some(entry.symbol)
    }

    /// Returns all symbols with a raw name.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Symbol> + 'a {
        let thread_local = self.tls.iter().copied();
        self.entries_named(name)
            .map(|entry| entry.symbol)
            .chain(thread_local.filter(move |symbol| symbol.name == name))
    }

    /// Returns the offset of the only thread-local variable whose symbol's raw name fits.
    pub(crate) fn thread_local(&self, fits: impl Fn(&str) -> bool) -> Option<u64> {
        let mut found = self.tls.iter().filter(|symbol| fits(symbol.name));
        match (found.next(), found.next()) {
            (Some(symbol), None) => Some(symbol.addr.0),
            _ => None,
        }
    }

    /// Returns the address of the data that other files of the program can refer to by a name.
    pub(crate) fn global_object(&self, name: &str) -> Option<FileAddr> {
        let is_global =
            |entry: &&Entry| entry.rank & 3 < LOCAL_RANK && entry.symbol.kind == SymbolKind::Object;
        let found = self.entries_named(name).find(is_global)?;
        Some(found.symbol.addr)
    }

    fn entries_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Entry> + 'a {
        let by_name = self.by_name.get_or_init(|| {
            let mut names: Vec<(u32, u32)> = (0u32..)
                .zip(&self.by_addr)
                .map(|(index, entry)| (hash(entry.symbol.name), index))
                .collect();
            names.sort_unstable();
            names
        });
        let wanted = hash(name);
        let start = by_name.partition_point(|(hash, _)| *hash < wanted);
        by_name
            .iter()
            .skip(start)
            .take_while(move |(hash, _)| *hash == wanted)
            .filter_map(|(_, index)| self.by_addr.get(*index as usize))
            .filter(move |entry| entry.symbol.name == name)
    }

    /// Returns the symbols of code from `addr` on, by address.
    pub(crate) fn functions_from(&self, addr: FileAddr) -> impl Iterator<Item = Symbol> + '_ {
        let first = self
            .by_addr
            .partition_point(|entry| entry.symbol.addr < addr);
        let behind = self.by_addr.get(first..).unwrap_or_default();
        behind
            .iter()
            .map(|entry| entry.symbol)
            .filter(Symbol::is_code)
    }

    /// Returns all symbols of code.
    pub(crate) fn functions(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.by_addr
            .iter()
            .map(|entry| entry.symbol)
            .filter(|symbol| symbol.kind != SymbolKind::Object)
    }
}

/// Returns the offset of the only thread-local variable of a source file that no other file can name
/// and whose symbol's raw name fits; `file` is the file's name without folders.
pub(crate) fn thread_local_of_file(
    image: &Image,
    debug: Option<&Image>,
    file: &[u8],
    fits: impl Fn(&str) -> bool,
) -> Option<u64> {
    match &image.format {
        Format::Elf(_) => match *elf::symbols::thread_locals_of_file(image, debug, file, fits) {
            [offset] => Some(offset),
            _ => None,
        },
        Format::MachO(_) => None,
    }
}

/// Returns whether an image has symbols.
pub(crate) fn has_symbols(image: &Image) -> bool {
    match &image.format {
        Format::Elf(_) => elf::symbols::has_symbols(image),
        Format::MachO(macho) => macho.has_symbols(),
    }
}

/// Returns the address of a symbol that the image exports, without sorting the table.
pub(crate) fn exported(image: &Image, name: &str) -> Option<FileAddr> {
    match &image.format {
        Format::Elf(_) => elf::symbols::exported(image, name),
        Format::MachO(_) => macho::symbols::exported(image, name),
    }
}

/// Returns the addresses of the functions with these raw names, each with the index of its name.
/// For Rust's v0 mangling the last path component is compared. Sorts nothing. Local symbols are
/// searched if their strings contain one of `marks`.
pub(crate) fn functions_called(
    images: [Option<&Image>; 2],
    names: &[&str],
    marks: &[&str],
) -> Vec<(usize, FileAddr)> {
    let mut found = Vec::new();
    for image in images.into_iter().flatten() {
        match &image.format {
            Format::Elf(_) => elf::symbols::functions_called(image, names, marks, &mut found),
            Format::MachO(_) => macho::symbols::functions_called(image, names, marks, &mut found),
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the function that covers `addr`, by one scan of the unsorted tables: cheaper than
/// sorting them for the few symbols that a stop needs.
pub(crate) fn function_covering(image: &Image, debug: Option<&Image>, addr: u64) -> Option<Symbol> {
    match &image.format {
        Format::Elf(_) => elf::symbols::function_covering(image, debug, addr),
        Format::MachO(_) => macho::symbols::function_covering(image, debug, addr),
    }
}

/// Returns the symbols of code in a range, in no order, by one scan of the unsorted tables: cheaper than
/// sorting them for a listing of one function. `None` where only the sorted table has all.
pub(crate) fn code_in(
    image: &Image,
    debug: Option<&Image>,
    range: AddrRange<FileAddr>,
) -> Option<Vec<Symbol>> {
    match &image.format {
        Format::Elf(_) => elf::symbols::code_in(image, debug, range),
        Format::MachO(_) => None,
    }
}

/// Returns the symbols of code whose raw names contain `text`, by one search of the strings:
/// cheaper than sorting the tables for the few symbols that match a name.
pub(crate) fn functions_spelled_with(
    image: &Image,
    debug: Option<&Image>,
    text: &str,
) -> Vec<Symbol> {
    let mut found = match &image.format {
        Format::Elf(_) => elf::symbols::functions_spelled_with(image, debug, text),
        Format::MachO(_) => macho::symbols::functions_spelled_with(image, debug, text),
    };
    // One table repeats what another has.
    found.sort_unstable_by_key(|symbol| (symbol.addr, symbol.name));
    found.dedup();
    found
}

/// Length of `17h`, the hash and `E` in a legacy Rust symbol.
const HASH: usize = 20;

/// Returns whether the string at the start of `bytes` is `name`, or a v0 path that ends in it.
pub(crate) fn is_called(bytes: &[u8], name: &str) -> bool {
    if let Some(behind) = bytes.strip_prefix(name.as_bytes()) {
        return behind.first() == Some(&0);
    }
    // Older releases of Rust's library use the legacy mangling, with a hash at the end.
    let of_std = bytes.starts_with(b"_ZN3std9panicking");
    if !bytes.starts_with(b"_RNv") && !of_std {
        return false;
    }
    let mut raw = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    if of_std {
        raw = raw
            .len()
            .checked_sub(HASH)
            .and_then(|end| raw.get(..end))
            .unwrap_or_default();
    }
    let path = raw.strip_suffix(name.as_bytes());
    path.is_some_and(|path| path.ends_with(name.len().to_string().as_bytes()))
}

fn hash(name: &str) -> u32 {
    BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(name) as u32
}

/// The strings of a string table that contain a text.
pub(crate) struct Strings(Vec<Range<usize>>);

impl Strings {
    /// Searches a string table, where strings end with a zero.
    pub(crate) fn with(table: &[u8], text: &str) -> Strings {
        Strings(merged_strings::starts_of_strings_with(
            table,
            text.as_bytes(),
        ))
    }

    /// Returns whether no string contains the text.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the string that starts at an offset contains the text.
    pub(crate) fn contain(&self, start: usize) -> bool {
        let next = self.0.partition_point(|range| range.end <= start);
        self.0.get(next).is_some_and(|range| range.contains(&start))
    }
}
