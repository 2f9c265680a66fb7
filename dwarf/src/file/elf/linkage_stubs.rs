//! The procedure linkage table, whose stubs have no symbols of their own.

use super::{SHT_DYNSYM, SHT_RELA, SYMBOL_SIZE};
use crate::file::object::{Image, Section, string_at, u32_at, u64_at};
use crate::file::symbol_table::Entry;
use crate::ids::addr::FileAddr;
use crate::ids::symbol::{Symbol, SymbolKind};
use rustc_hash::FxHashMap;

/// Returns the sections of stubs.
pub(super) fn sections(image: &Image) -> impl Iterator<Item = &Section> {
    image.sections.iter().filter(|section| {
        matches!(section.name, ".plt" | ".plt.sec" | ".plt.got") && section.size < 1 << 24
    })
}

/// Names the stubs of the procedure linkage table `name@plt`. Each stub jumps through a slot of the
/// global offset table, and the slot's relocation has the name.
pub(super) fn read(image: &Image, entries: &mut Vec<Entry>) {
    let facts = image.machine.facts();
    let (Some(relocations), Some(code)) = (&facts.relocations, &facts.code) else {
        return;
    };
    let stubs = &code.linkage;
    if sections(image).next().is_none() {
        return;
    }
    let mut slots: FxHashMap<u64, &'static str> = FxHashMap::default();
    for section in image
        .sections
        .iter()
        .filter(|section| section.elf.kind == SHT_RELA)
    {
        let Some(symbols) = image
            .sections
            .get(section.elf.link as usize)
            .filter(|symbols| symbols.elf.kind == SHT_DYNSYM)
        else {
            continue;
        };
        let Some(strings) = image.sections.get(symbols.elf.link as usize) else {
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
    for section in sections(image) {
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
