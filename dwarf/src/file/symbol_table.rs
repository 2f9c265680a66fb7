//! The symbol tables of an image, sorted for lookup when first needed.

use crate::file::object::{Image, Section, string_at, u16_at, u32_at, u64_at};
use crate::ids::addr::FileAddr;
use crate::ids::machine::{LinkageStubs, Relocations};
use crate::ids::symbol::{Symbol, SymbolKind};
use rustc_hash::FxHashMap;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::Range;
use std::sync::OnceLock;

const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;
const SHT_RELA: u32 = 4;
const SYMBOL_SIZE: usize = 24;

/// A symbol and its rank among symbols of the same address.
#[derive(Clone, Copy)]
struct Entry {
    symbol: Symbol,
    /// Lower is better: global before weak before local, typed before untyped.
    rank: u8,
}

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
    /// Reads `.symtab` (of the debug file, if the image has none) and `.dynsym`.
    pub(crate) fn read(image: &Image, debug: Option<&Image>) -> SymbolTable {
        let mut entries = Vec::new();
        let mut tls = Vec::new();
        for (holder, kind) in tables(image, debug) {
            read_table(holder, image, kind, &mut entries, &mut tls);
        }
        let facts = image.machine.facts();
        if let (Some(relocations), Some(code)) = (&facts.relocations, &facts.code) {
            read_plt(image, relocations, &code.linkage, &mut entries);
        }
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

/// Returns the records of an image's tables of one kind, with their string tables.
fn records(image: &Image, kind: u32) -> impl Iterator<Item = (&'static [u8], &'static [u8])> + '_ {
    image
        .sections
        .iter()
        .filter(move |section| section.kind == kind)
        .filter_map(|section| {
            let strings = image.sections.get(section.link as usize)?;
            Some((image.contents(section), image.contents(strings)))
        })
}

/// Returns whether an image has symbols (the first record of a table is a placeholder).
pub(crate) fn has_symbols(image: &Image) -> bool {
    image.sections.iter().any(|section| {
        matches!(section.kind, SHT_SYMTAB | SHT_DYNSYM) && section.size > SYMBOL_SIZE as u64
    })
}

/// Returns the address of a symbol that the image exports, without sorting the table.
pub(crate) fn exported(image: &Image, name: &str) -> Option<FileAddr> {
    records(image, SHT_DYNSYM).find_map(|(records, strings)| {
        records.chunks_exact(SYMBOL_SIZE).find_map(|raw| {
            let (offset, _, shndx, value, _) = raw_symbol(raw)?;
            let behind = strings
                .get(offset as usize..)?
                .strip_prefix(name.as_bytes())?;
            (shndx != 0 && behind.first() == Some(&0)).then_some(FileAddr(value))
        })
    })
}

/// Returns the symbols that an image exports, each with its number in the table.
pub(crate) fn exported_symbols(image: &Image) -> impl Iterator<Item = (usize, Symbol)> + '_ {
    records(image, SHT_DYNSYM).flat_map(move |(data, strings)| {
        let raw = data.chunks_exact(SYMBOL_SIZE).enumerate();
        raw.filter_map(move |(index, raw)| Some((index, entry(raw, strings, image)?.symbol)))
    })
}

/// Returns the addresses of the functions with these raw names, each with the index of its name.
/// For Rust's v0 mangling the last path component is compared. Sorts nothing: searches `.dynsym`,
/// and `.symtab` if its strings contain one of `marks`.
pub(crate) fn functions_called(
    images: [Option<&Image>; 2],
    names: &[&str],
    marks: &[&str],
) -> Vec<(usize, FileAddr)> {
    let mut found = Vec::new();
    for image in images.into_iter().flatten() {
        for kind in [SHT_DYNSYM, SHT_SYMTAB] {
            for (records, strings) in records(image, kind) {
                let has = |mark: &&str| memchr::memmem::find(strings, mark.as_bytes()).is_some();
                if kind == SHT_SYMTAB && !marks.iter().any(has) {
                    continue;
                }
                for raw in records.chunks_exact(SYMBOL_SIZE) {
                    let Some((offset, info, shndx, value, _)) = raw_symbol(raw) else {
                        continue;
                    };
                    // SHN_UNDEF, SHN_ABS
                    if info & 0xf != 2 || shndx == 0 || shndx == 0xfff1 {
                        continue;
                    }
                    let rest = strings.get(offset as usize..).unwrap_or_default();
                    let index = names.iter().position(|name| is_called(rest, name));
                    found.extend(index.map(|index| (index, FileAddr(value))));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Length of `17h`, the hash and `E` in a legacy Rust symbol.
const HASH: usize = 20;

/// Returns whether the string at the start of `bytes` is `name`, or a v0 path that ends in it.
fn is_called(bytes: &[u8], name: &str) -> bool {
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

/// Returns the sized function that covers `addr`, by one scan of the unsorted tables: cheaper than
/// sorting them for the few symbols that a stop needs.
pub(crate) fn function_covering(image: &Image, debug: Option<&Image>, addr: u64) -> Option<Symbol> {
    let mut best: Option<(u64, u8, &'static [u8], u32, u64)> = None;
    let images = [Some(image), debug];
    for image in images.into_iter().flatten() {
        for kind in [SHT_SYMTAB, SHT_DYNSYM] {
            for (records, strings) in records(image, kind) {
                for raw in records.chunks_exact(SYMBOL_SIZE) {
                    let Some((name, info, shndx, value, size)) = raw_symbol(raw) else {
                        continue;
                    };
                    let covers = value <= addr && addr - value < size;
                    if !covers || info & 0xf != 2 || shndx == 0 || shndx == 0xfff1 {
                        continue;
                    }
                    let rank = binding_rank(info);
                    let better = best.is_none_or(|(start, other, ..)| {
                        (value, std::cmp::Reverse(rank)) > (start, std::cmp::Reverse(other))
                    });
                    if better {
                        best = Some((value, rank, strings, name, size));
                    }
                }
            }
        }
    }
    let (value, _, strings, name, size) = best?;
    Some(Symbol {
        name: name_at(strings, name)?,
        addr: FileAddr(value),
        size,
        kind: SymbolKind::Function,
    })
}

/// Returns a symbol's name without the version that linkers append (`stderr@GLIBC_2.2.5`).
fn name_at(strings: &'static [u8], at: u32) -> Option<&'static str> {
    let name = string_at(strings, at as usize)?;
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    (!name.is_empty()).then_some(name)
}

/// The rank of a local symbol.
const LOCAL_RANK: u8 = 2;

fn binding_rank(info: u8) -> u8 {
    match info >> 4 {
        1 | 10 => 0,
        2 => 1,
        _ => LOCAL_RANK,
    }
}

fn hash(name: &str) -> u32 {
    BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(name) as u32
}

fn read_table(
    holder: &Image,
    image: &Image,
    kind: u32,
    entries: &mut Vec<Entry>,
    tls: &mut Vec<Symbol>,
) {
    for (data, strings) in records(holder, kind) {
        entries.reserve(data.len() / SYMBOL_SIZE);
        let found = data.chunks_exact(SYMBOL_SIZE);
        for entry in found.filter_map(|raw| entry(raw, strings, image)) {
            match entry.symbol.kind {
                SymbolKind::ThreadLocal => tls.push(entry.symbol),
                _ => entries.push(entry),
            }
        }
    }
}

/// Decodes a record; `None` for symbols that no lookup returns (undefined, absolute, files).
fn entry(raw: &[u8], strings: &'static [u8], image: &Image) -> Option<Entry> {
    let (name, info, shndx, value, size) = raw_symbol(raw)?;
    // SHN_UNDEF, SHN_ABS
    if shndx == 0 || shndx == 0xfff1 {
        return None;
    }
    let kind = match info & 0xf {
        // Labels in assembly: code if they point at code.
        0 if image.is_code(value) => SymbolKind::Function,
        0 | 1 => SymbolKind::Object,
        2 => SymbolKind::Function,
        6 => SymbolKind::ThreadLocal,
        10 => SymbolKind::IndirectFunction,
        _ => return None,
    };
    let untyped = info & 0xf == 0;
    let name = name_at(strings, name)?;
    // Skip mapping symbols of AArch64 ($x, $d) and local labels.
    if untyped && (name.starts_with('$') || name.starts_with(".L")) {
        return None;
    }
    Some(Entry {
        symbol: Symbol {
            name,
            addr: FileAddr(value),
            size,
            kind,
        },
        rank: binding_rank(info) + if untyped { 4 } else { 0 },
    })
}

/// Returns the tables that hold an image's symbols. The debug file's replaces a stripped `.symtab`.
fn tables<'a>(image: &'a Image, debug: Option<&'a Image>) -> [(&'a Image, u32); 2] {
    let has_own = image
        .sections
        .iter()
        .any(|section| section.kind == SHT_SYMTAB && section.size > 0);
    let holder = debug.filter(|_| !has_own).unwrap_or(image);
    [(holder, SHT_SYMTAB), (image, SHT_DYNSYM)]
}

/// Returns the symbols of code whose raw names contain `text`, by one search of the strings:
/// cheaper than sorting the tables for the few symbols that match a name.
pub(crate) fn functions_spelled_with(
    image: &Image,
    debug: Option<&Image>,
    text: &str,
) -> Vec<Symbol> {
    let mut found = Vec::new();
    for (holder, kind) in tables(image, debug) {
        for (data, strings) in records(holder, kind) {
            let starts = starts_of_strings_with(strings, text.as_bytes());
            if starts.is_empty() {
                continue;
            }
            let spelled = |raw: &&[u8]| {
                let name = u32_at(raw, 0).unwrap_or(0) as usize;
                let next = starts.partition_point(|range| range.end <= name);
                starts.get(next).is_some_and(|range| range.contains(&name))
            };
            let fitting = data.chunks_exact(SYMBOL_SIZE).filter(spelled);
            let symbols = fitting
                .filter_map(|raw| entry(raw, strings, image))
                .map(|entry| entry.symbol)
                .filter(|symbol| {
                    matches!(
                        symbol.kind,
                        SymbolKind::Function | SymbolKind::IndirectFunction
                    )
                });
            found.extend(symbols);
        }
    }
    // `.symtab` repeats what `.dynsym` has.
    found.sort_unstable_by_key(|symbol| (symbol.addr, symbol.name));
    found.dedup();
    found
}

/// Returns the offsets at which strings that contain `text` may start. Strings may share tails, so
/// a string starts anywhere between the end of the previous one and the last occurrence.
fn starts_of_strings_with(strings: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    let mut starts: Vec<Range<usize>> = Vec::new();
    for at in memchr::memmem::find_iter(strings, text) {
        let head = strings.get(..at).unwrap_or_default();
        let start = memchr::memrchr(0, head).map_or(0, |nul| nul + 1);
        match starts.last_mut() {
            Some(last) if last.start == start => last.end = at + 1,
            _ => starts.push(start..at + 1),
        }
    }
    starts
}

fn raw_symbol(raw: &[u8]) -> Option<(u32, u8, u16, u64, u64)> {
    Some((
        u32_at(raw, 0)?,
        *raw.get(4)?,
        u16_at(raw, 6)?,
        u64_at(raw, 8)?,
        u64_at(raw, 16)?,
    ))
}

/// Names the stubs of the procedure linkage table `name@plt`. Each stub jumps through a slot of the
/// global offset table, and the slot's relocation has the name.
fn read_plt(
    image: &Image,
    relocations: &Relocations,
    stubs: &LinkageStubs,
    entries: &mut Vec<Entry>,
) {
    let is_plt = |section: &&Section| {
        matches!(section.name, ".plt" | ".plt.sec" | ".plt.got") && section.size < 1 << 24
    };
    if !image.sections.iter().any(|section| is_plt(&section)) {
        return;
    }
    let mut slots: FxHashMap<u64, &'static str> = FxHashMap::default();
    for section in image
        .sections
        .iter()
        .filter(|section| section.kind == SHT_RELA)
    {
        let Some(symbols) = image
            .sections
            .get(section.link as usize)
            .filter(|symbols| symbols.kind == SHT_DYNSYM)
        else {
            continue;
        };
        let Some(strings) = image.sections.get(symbols.link as usize) else {
            continue;
        };
        let (symbols, strings) = (image.contents(symbols), image.contents(strings));
        for raw in image.contents(section).chunks_exact(24) {
            let (Some(offset), Some(info)) = (u64_at(raw, 0), u64_at(raw, 8)) else {
                continue;
            };
            let kind = info & 0xffff_ffff;
            if ![relocations.global_data, relocations.jump_slot].contains(&kind) {
                continue;
            }
            let name = ((info >> 32) as usize)
                .checked_mul(SYMBOL_SIZE)
                .and_then(|at| u32_at(symbols, at))
                .and_then(|name| string_at(strings, name as usize));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                slots.insert(offset, name);
            }
        }
    }
    for section in image.sections.iter().filter(is_plt) {
        let code = image.contents(section);
        // Linkers mix stubs of different lengths: each ends where the next one begins.
        let mut found: Vec<(u64, Option<&'static str>)> = Vec::new();
        let mut last = None;
        for offset in (0..code.len()).step_by(stubs.alignment) {
            let start = section.addr.wrapping_add(offset as u64);
            let rest = code.get(offset..).unwrap_or_default();
            // Behind the landing pad of a stub the rest looks like one.
            let slot = (stubs.slot)(rest, start).filter(|slot| last != Some(*slot));
            if let Some(slot) = slot {
                last = Some(slot);
                found.push((start, slots.get(&slot).copied()));
            }
        }
        let end = section.addr.wrapping_add(code.len() as u64);
        let ends = found.iter().skip(1).map(|(start, _)| *start).chain([end]);
        for ((start, name), end) in found.iter().zip(ends) {
            let Some(name) = name else { continue };
            entries.push(Entry {
                symbol: Symbol {
                    name: Box::leak(format!("{name}@plt").into_boxed_str()),
                    addr: FileAddr(*start),
                    size: end.wrapping_sub(*start).min(stubs.longest),
                    kind: SymbolKind::Function,
                },
                rank: 3,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::starts_of_strings_with;

    #[test]
    fn strings_that_share_their_ends_are_found() {
        let strings = b"\0reprint\0print_all\0other\0";
        let found = starts_of_strings_with(strings, b"print");
        // "reprint" may start at 1, "eprint" at 2, "print" at 3; "rint" does not contain the text.
        assert_eq!(found, [1..4, 9..10]);
        let last = starts_of_strings_with(b"\0aXbXc\0", b"X");
        assert_eq!(last.first(), Some(&(1..5)), "up to the last occurrence");
        assert!(starts_of_strings_with(strings, b"absent").is_empty());
        assert_eq!(starts_of_strings_with(b"print", b"print").len(), 1);
    }
}
