//! The words that the loader relocates to the function chosen for an indirect function
//! (`STT_GNU_IFUNC`).

use super::{SHF_ALLOC, SHT_RELA, SYMBOL_SIZE};
use crate::file::object::{Image, string_at, u32_at, u64_at};
use crate::ids::addr::FileAddr;

const RELA_SIZE: usize = 24;

/// Returns the words of an image that are relocated to the function of a name, or to the result of
/// the resolver at `chooser`.
pub(crate) fn of(image: &Image, name: &str, chooser: Option<FileAddr>) -> Vec<FileAddr> {
    let mut found = Vec::new();
    let Some(relocations) = &image.machine.facts().relocations else {
        return found;
    };
    let sections = image.sections.iter();
    for section in sections.filter(|it| it.elf.kind == SHT_RELA && it.elf.flags & SHF_ALLOC != 0) {
        let symbols = image.sections.get(section.elf.link as usize);
        let strings = symbols.and_then(|it| image.sections.get(it.elf.link as usize));
        let symbols = symbols.map_or(&[][..], |it| image.contents(it));
        let strings = strings.map_or(&[][..], |it| image.contents(it));
        let is_named = |number: u64| {
            let at = usize::try_from(number).ok()?.checked_mul(SYMBOL_SIZE)?;
            let symbol = string_at(strings, u32_at(symbols, at)? as usize)?;
            Some(symbol == name)
        };
        for entry in image.contents(section).chunks_exact(RELA_SIZE) {
            let (Some(place), Some(info)) = (u64_at(entry, 0), u64_at(entry, 8)) else {
                continue;
            };
            let kind = info & 0xffff_ffff;
            let is_slot = if kind == relocations.indirect {
                chooser.is_some_and(|chooser| u64_at(entry, 16) == Some(chooser.0))
            } else {
                relocations.is_to_symbol(kind) && is_named(info >> 32) == Some(true)
            };
            if is_slot {
                found.push(FileAddr(place));
            }
        }
    }
    found
}
