//! Symbols of ELF files: `.symtab` and `.dynsym`.

use super::{SHT_DYNSYM, SHT_SYMTAB, SYMBOL_SIZE, linkage_stubs};
use crate::file::object::{Image, Section, string_at, u16_at, u32_at, u64_at};
use crate::file::symbol_table::{Entry, LOCAL_RANK, Strings, UNTYPED, is_called};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::symbol::{Symbol, SymbolKind};
use std::cmp::Reverse;

/// Returns all symbols: of `.symtab` (of the debug file, if the image has none), of `.dynsym`, and
/// the stubs of the procedure linkage table.
pub(crate) fn entries(image: &Image, debug: Option<&Image>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (holder, kind) in tables(image, debug) {
        for (data, strings) in records(holder, kind) {
            entries.reserve(data.len() / SYMBOL_SIZE);
            let found = data.chunks_exact(SYMBOL_SIZE);
            entries.extend(found.filter_map(|raw| entry(raw, strings, image)));
        }
    }
    linkage_stubs::read(image, &mut entries);
    entries
}

/// Returns the records of an image's tables of one kind, with their string tables.
fn records(image: &Image, kind: u32) -> impl Iterator<Item = (&'static [u8], &'static [u8])> + '_ {
    image
        .sections
        .iter()
        .filter(move |section| section.elf.kind == kind)
        .filter_map(|section| {
            let strings = image.sections.get(section.elf.link as usize)?;
            Some((image.contents(section), image.contents(strings)))
        })
}

/// Returns whether an image has symbols (the first record of a table is a placeholder).
pub(crate) fn has_symbols(image: &Image) -> bool {
    image.sections.iter().any(|section| {
        matches!(section.elf.kind, SHT_SYMTAB | SHT_DYNSYM) && section.size > SYMBOL_SIZE as u64
    })
}

/// Returns the address of a symbol that the image exports.
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

/// Adds the functions with these raw names, each with the index of its name: searches `.dynsym`, and
/// `.symtab` if its strings contain one of `marks`.
pub(crate) fn functions_called(
    image: &Image,
    names: &[&str],
    marks: &[&str],
    found: &mut Vec<(usize, FileAddr)>,
) {
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

/// Returns the sized function that covers `addr`.
pub(crate) fn function_covering(image: &Image, debug: Option<&Image>, addr: u64) -> Option<Symbol> {
    // A function with several names has the name that sorts last, as in the sorted table.
    let order = |it: &Entry| (it.symbol.addr, Reverse(it.rank), it.symbol.name);
    let mut best: Option<Entry> = None;
    for holder in [Some(image), debug].into_iter().flatten() {
        for kind in [SHT_SYMTAB, SHT_DYNSYM] {
            for (records, strings) in records(holder, kind) {
                for raw in records.chunks_exact(SYMBOL_SIZE) {
                    let Some((_, info, _, value, size)) = raw_symbol(raw) else {
                        continue;
                    };
                    // STT_FUNC, STT_GNU_IFUNC
                    let covers = value <= addr && addr - value < size;
                    if !covers || !matches!(info & 0xf, 2 | 10) {
                        continue;
                    }
                    let found = entry(raw, strings, image);
                    best = best.into_iter().chain(found).max_by_key(order);
                }
            }
        }
    }
    best.map(|it| it.symbol)
}

/// Returns the symbols of code in a range, in no order; `None` if linkage stubs are in it: the file has no symbols
/// for these.
pub(crate) fn code_in(
    image: &Image,
    debug: Option<&Image>,
    range: AddrRange<FileAddr>,
) -> Option<Vec<Symbol>> {
    let is_in_range = |section: &Section| {
        section.addr < range.end.0 && range.start.0 < section.addr.saturating_add(section.size)
    };
    if linkage_stubs::sections(image).any(is_in_range) {
        return None;
    }
    let mut found = Vec::new();
    for (holder, kind) in tables(image, debug) {
        for (data, strings) in records(holder, kind) {
            let here = data.chunks_exact(SYMBOL_SIZE).filter(|raw| {
                let value = u64_at(raw, 8);
                value.is_some_and(|value| range.contains(FileAddr(value)))
            });
            let symbols = here
                .filter_map(|raw| entry(raw, strings, image))
                .map(|entry| entry.symbol);
            found.extend(symbols.filter(Symbol::is_code));
        }
    }
    Some(found)
}

/// Returns a symbol's name without the version that linkers append (`stderr@GLIBC_2.2.5`).
fn name_at(strings: &'static [u8], at: u32) -> Option<&'static str> {
    let name = string_at(strings, at as usize)?;
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    (!name.is_empty()).then_some(name)
}

fn binding_rank(info: u8) -> u8 {
    match info >> 4 {
        1 | 10 => 0,
        2 => 1,
        _ => LOCAL_RANK,
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
        rank: binding_rank(info) + if untyped { UNTYPED } else { 0 },
    })
}

/// Returns the tables that hold an image's symbols. The debug file's replaces a stripped `.symtab`.
fn tables<'a>(image: &'a Image, debug: Option<&'a Image>) -> [(&'a Image, u32); 2] {
    let has_own = image
        .sections
        .iter()
        .any(|section| section.elf.kind == SHT_SYMTAB && section.size > 0);
    let holder = debug.filter(|_| !has_own).unwrap_or(image);
    [(holder, SHT_SYMTAB), (image, SHT_DYNSYM)]
}

/// Returns the symbols of code whose raw names contain `text`.
pub(crate) fn functions_spelled_with(
    image: &Image,
    debug: Option<&Image>,
    text: &str,
) -> Vec<Symbol> {
    let mut found = Vec::new();
    for (holder, kind) in tables(image, debug) {
        for (data, strings) in records(holder, kind) {
            let wanted = Strings::with(strings, text);
            if wanted.is_empty() {
                continue;
            }
            let spelled = |raw: &&[u8]| wanted.contain(u32_at(raw, 0).unwrap_or(0) as usize);
            let fitting = data.chunks_exact(SYMBOL_SIZE).filter(spelled);
            let symbols = fitting
                .filter_map(|raw| entry(raw, strings, image))
                .map(|entry| entry.symbol)
                .filter(Symbol::is_code);
            found.extend(symbols);
        }
    }
    found
}

/// Returns the offsets of the thread-local variables of one source file that no other file can name.
/// Their symbols follow the symbol of the file, which has its name without folders; `fits` is asked
/// for their raw names. Costs a scan of the table.
pub(crate) fn thread_locals_of_file(
    image: &Image,
    debug: Option<&Image>,
    file: &[u8],
    fits: impl Fn(&str) -> bool,
) -> Vec<u64> {
    /// `STT_FILE`, `STT_TLS`; `STB_LOCAL` is zero.
    const FILE: u8 = 4;
    const LOCAL_TLS: u8 = 6;
    let mut found = Vec::new();
    let [(holder, kind), _] = tables(image, debug);
    for (data, strings) in records(holder, kind) {
        let mut is_of_file = false;
        for raw in data.chunks_exact(SYMBOL_SIZE) {
            let Some((name, info, _, value, _)) = raw_symbol(raw) else {
                continue;
            };
            let name = || name_at(strings, name).unwrap_or_default();
            match info {
                FILE => is_of_file = name().as_bytes() == file,
                LOCAL_TLS if is_of_file && fits(name()) => found.push(value),
                _ => {}
            }
        }
    }
    found
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
