//! The whole of a function as a text that stays the same: what frames without a source show, and
//! where breakpoints are set in it.

use super::decode::Row;
use super::{Disassembled, Flavor};
use crate::debugger::Debugger;
use crate::error::Error;
use crate::modules::{Loaded, Modules};
use dwarf::{AddrRange, FileAddr, LoadAddr};
use std::path::{Path, PathBuf};

/// The longest function that is listed, in bytes; of longer ones the part around an address.
const LONGEST: u64 = 1 << 20;
/// Instructions before and behind an address that nothing is known of.
const AROUND: usize = 32;

/// A piece of code by what stays the same when the program is started again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CodeName {
    /// The image's file; none for code that no image has, which is gone with its process.
    pub image: Option<PathBuf>,
    /// The symbol as the image has it, where there is one.
    pub symbol: Option<String>,
    /// Where it begins: in the image, or in the process if there is no image.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
}

/// A piece of code as text.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Its function and image, for people.
    pub title: String,
    /// Its instructions. The first one is in line 2: the title is line 1.
    pub rows: Vec<Disassembled>,
}

/// The line of a listing in which the first instruction is.
const FIRST_LINE: u32 = 2;

impl CodeName {
    /// A name for people: the symbol's, or the address.
    pub fn label(&self) -> String {
        match &self.symbol {
            Some(symbol) => dwarf::demangle(symbol).into_owned(),
            None => format!("{:#x}", self.start),
        }
    }

    fn title(&self) -> String {
        match &self.image {
            Some(image) => format!("{} in {}", self.label(), image.display()),
            None => format!("code at {}", self.label()),
        }
    }
}

impl Debugger {
    /// The piece of code that an address is in; `None` if there is no memory.
    pub fn code_at(&self, addr: LoadAddr) -> Option<CodeName> {
        let loaded = self.modules.at(addr);
        let image = loaded.map(|loaded| loaded.module.path().to_path_buf());
        let known = loaded.and_then(|loaded| {
            let (range, symbol) = loaded.module.code_at(loaded.bias.file(addr))?;
            (range.end - range.start <= LONGEST).then_some((range, symbol))
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

    /// Its text.
    ///
    /// # Errors
    /// Its image is not loaded, or has it no more; there is no process.
    pub fn listing(&self, code: &CodeName, flavor: Flavor) -> Result<Listing, Error> {
        Ok(Listing {
            title: code.title(),
            rows: self.written(self.rows_of(code)?, flavor, true),
        })
    }

    /// The line of a listing that has the instruction at an address, or that holds it.
    pub fn line_in(&self, code: &CodeName, addr: LoadAddr) -> Option<u32> {
        let rows = self.rows_of(code).ok()?;
        let index = rows
            .iter()
            .position(|row| (row.addr..row.end()).contains(&addr))?;
        Some(FIRST_LINE + u32::try_from(index).ok()?)
    }

    /// The address of a listing's line; that of the first instruction for the title.
    ///
    /// # Errors
    /// As [`Debugger::listing`]; there are not as many lines.
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
        let range = place_of(code, &self.modules).ok_or_else(gone)?;
        let rows = self.rows_in(range);
        match rows.is_empty() {
            true => Err(gone()),
            false => Ok(rows),
        }
    }
}

/// Where a piece of code is by now: its image may be loaded elsewhere, or be a newer one.
fn place_of(code: &CodeName, modules: &Modules) -> Option<AddrRange<LoadAddr>> {
    let range = AddrRange::new(code.start, code.end);
    if code.end.saturating_sub(code.start) > LONGEST {
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
            let longest = range.start + LONGEST;
            AddrRange::new(range.start, range.end.min(longest))
        }
    };
    let bias = loaded.bias;
    Some(AddrRange::new(bias.load(range.start), bias.load(range.end)))
}

fn is_of(loaded: &Loaded, image: &Path) -> bool {
    loaded.module.path() == image
}
