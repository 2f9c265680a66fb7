//! Listings: the disassembly of a whole function as a stable text, shown for frames without source,
//! in which breakpoints can be set.

use super::decode::Row;
use super::{Disassembled, Flavor};
use crate::debugger::Debugger;
pub(crate) use crate::ids::CodeName;
use crate::ids::error::Error;
use crate::images::modules::{Loaded, Modules};
use dwarf::{AddrRange, FileAddr, LoadAddr};
use std::path::Path;

/// Maximum size in bytes of a listed function; larger ones are cut to the part around an address.
const MAX_LISTED_BYTES: u64 = 1 << 20;
/// Instructions before and after an address of unknown code.
const AROUND: usize = 32;

/// A listing of a piece of code.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Name of its function and image, for display.
    pub title: String,
    /// Its instructions. The first one is on line 2: the title is line 1.
    pub rows: Vec<Disassembled>,
}

/// The line of the first instruction.
const FIRST_LINE: u32 = 2;

impl Debugger {
    /// Returns the piece of code that contains an address; `None` if the memory is unreadable.
    pub fn code_at(&self, addr: LoadAddr) -> Option<CodeName> {
        let loaded = self.images.modules.at(addr);
        let image = loaded.map(|loaded| loaded.module.path().to_path_buf());
        let known = loaded.and_then(|loaded| {
            let (range, symbol) = loaded.module.code_at(loaded.bias.file(addr))?;
            (range.end - range.start <= MAX_LISTED_BYTES).then_some((range, symbol))
        });
        if let Some((range, symbol)) = known {
            return Some(CodeName {
                image,
                symbol: symbol.map(|symbol| symbol.name.to_owned()),
                start: range.start.0,
                end: range.end.0,
            });
        }
        let before = self.rows_before(addr, AROUND);
        let behind = self.rows_from(addr, AROUND);
        let mut rows = before.iter().chain(&behind);
        let there = |row: &&Row| !row.bytes.is_empty();
        let start = rows.clone().find(there)?.addr;
        let end = rows.rfind(there)?.end();
        (start..end).contains(&addr).then(|| {
            let place = |addr: LoadAddr| loaded.map_or(addr.0, |it| it.bias.file(addr).0);
            CodeName {
                image,
                symbol: None,
                start: place(start),
                end: place(end),
            }
        })
    }

    /// Returns the listing of a piece of code.
    ///
    /// # Errors
    /// Its image is not loaded or no longer has it; there is no process.
    pub fn listing(&self, code: &CodeName, flavor: Flavor) -> Result<Listing, Error> {
        Ok(Listing {
            title: code.title(),
            rows: self.written(self.rows_of(code)?, flavor, true),
        })
    }

    /// Returns the line of the instruction that contains an address.
    pub fn line_in(&self, code: &CodeName, addr: LoadAddr) -> Option<u32> {
        let rows = self.rows_of(code).ok()?;
        let index = rows
            .iter()
            .position(|row| (row.addr..row.end()).contains(&addr))?;
        Some(FIRST_LINE + u32::try_from(index).ok()?)
    }

    /// Returns the address of a line; for the title that of the first instruction.
    ///
    /// # Errors
    /// Those of [`Debugger::listing`]; the listing has fewer lines.
    pub fn address_of_line(&self, code: &CodeName, line: u32) -> Result<LoadAddr, Error> {
        let rows = self.rows_of(code)?;
        let index = line.saturating_sub(FIRST_LINE) as usize;
        let row = rows.get(index).ok_or_else(|| {
            let lines = rows.len() + 1;
            Error::Unsupported(format!("{} has {lines} lines", code.title()))
        })?;
        Ok(row.addr)
    }

    fn rows_of(&self, code: &CodeName) -> Result<Vec<Row>, Error> {
        self.process_with_memory()?;
        let gone = || Error::Unsupported(format!("{} is not loaded", code.title()));
        let range = place_of(code, &self.images.modules).ok_or_else(gone)?;
        let rows = self.rows_in(range);
        match rows.is_empty() {
            true => Err(gone()),
            false => Ok(rows),
        }
    }
}

/// Returns the present address range of a piece of code: its image may be loaded elsewhere, or be a
/// newer build.
fn place_of(code: &CodeName, modules: &Modules) -> Option<AddrRange<LoadAddr>> {
    let range = AddrRange::new(code.start, code.end);
    if code.end.saturating_sub(code.start) > MAX_LISTED_BYTES {
        return None;
    }
    let Some(image) = &code.image else {
        return Some(AddrRange::new(LoadAddr(range.start), LoadAddr(range.end)));
    };
    let loaded = modules.loaded.iter().find(|it| is_of(it, image))?;
    let range = match &code.symbol {
        None => AddrRange::new(FileAddr(range.start), FileAddr(range.end)),
        Some(symbol) => {
            let here = loaded.module.code_at(FileAddr(code.start));
            let same = here.filter(|(range, found)| {
                range.start.0 == code.start && found.is_some_and(|it| it.name == symbol)
            });
            let range = match same {
                Some((range, _)) => range,
                None => {
                    let symbols = loaded.module.symbols_named(symbol);
                    let function = symbols.into_iter().find(|symbol| symbol.is_code())?;
                    loaded.module.code_at(function.addr)?.0
                }
            };
            let longest = range.start + MAX_LISTED_BYTES;
            AddrRange::new(range.start, range.end.min(longest))
        }
    };
    let bias = loaded.bias;
    Some(AddrRange::new(bias.load(range.start), bias.load(range.end)))
}

fn is_of(loaded: &Loaded, image: &Path) -> bool {
    loaded.module.path() == image
}
