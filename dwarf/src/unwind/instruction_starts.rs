//! Known starts of instructions: what an image reveals of its code without decoding it.

use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::symbol::Symbol;
use crate::module::Module;

impl Module {
    /// Returns the addresses in `range` at which an instruction is known to begin, in order: starts
    /// and ends of functions and sections, from symbols and call frame information, and rows of
    /// line tables.
    pub fn instruction_starts(&self, range: AddrRange<FileAddr>) -> Vec<FileAddr> {
        let mut starts: Vec<FileAddr> = Vec::new();
        for symbol in self.code_symbols_in(range) {
            starts.push(symbol.addr);
            if symbol.size > 0 {
                starts.push(symbol.addr + symbol.size);
            }
        }
        for entry in self.cfi().entries_in(range.start.0, range.end.0) {
            starts.extend([FileAddr(entry.start), FileAddr(entry.end)]);
        }
        let compact = self.cfi().compact_starts(range.start.0, range.end.0);
        starts.extend(compact.into_iter().map(FileAddr));
        for section in self.image.sections.iter().filter(|it| it.size > 0) {
            let end = section.addr.wrapping_add(section.size);
            starts.extend([FileAddr(section.addr), FileAddr(end)]);
        }
        // The first row may begin before the range.
        let rows = self.rows_in(range).into_iter();
        starts.extend(
            rows.map(|row| row.range.start)
                .filter(|it| *it > range.start),
        );
        starts.retain(|start| range.contains(*start));
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Returns the range of the function at an address, with its symbol. Without a symbol it is the
    /// range of the entry of the call frame information.
    pub fn code_at(&self, addr: FileAddr) -> Option<(AddrRange<FileAddr>, Option<Symbol>)> {
        let symbol = self.symbol_at(addr).filter(|symbol| symbol.is_code());
        let entry = self.cfi().entry_at(addr.0);
        let entry = entry.map(|it| AddrRange::new(FileAddr(it.start), FileAddr(it.end)));
        let range = match symbol {
            Some(symbol) if symbol.size > 0 => {
                AddrRange::new(symbol.addr, symbol.addr + symbol.size)
            }
            // A symbol without a size reaches to the next one.
            Some(symbol) => match entry.filter(|entry| entry.start == symbol.addr) {
                Some(entry) => entry,
                None => {
                    let mut above = self.symbol_table().functions_from(addr + 1);
                    AddrRange::new(symbol.addr, above.next()?.addr)
                }
            },
            None => entry?,
        };
        range.contains(addr).then_some((range, symbol))
    }

    /// Like [`Module::symbol_at`], for lookups of many addresses: sorts the symbols first.
    pub fn symbol_near(&self, addr: FileAddr) -> Option<Symbol> {
        self.symbol_table().at(&self.image, addr.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    /// Opens an image that shares nothing with others of the same file.
    fn opened(path: &Path) -> Arc<Module> {
        Module::from_bytes(path, std::fs::read(path).unwrap()).unwrap()
    }

    /// Returns the files of this process: its program and the C library.
    fn images() -> Vec<PathBuf> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let paths = maps
            .lines()
            .filter_map(|line| line.split_whitespace().nth(5));
        let library = paths.clone().find(|path| path.contains("libc.so"));
        let program = std::env::current_exe().unwrap();
        [program]
            .into_iter()
            .chain(library.map(PathBuf::from))
            .collect()
    }

    #[test]
    fn scanned_symbols_are_those_of_the_sorted_table() {
        for path in images() {
            let sorted = opened(&path);
            let table = sorted.symbol_table();
            let mut scanned = opened(&path);
            for symbol in table.functions().step_by(97) {
                if scanned.symbols_are_sorted() {
                    scanned = opened(&path);
                }
                let addr = symbol.addr + symbol.size / 2;
                let code = scanned.code_at(addr);
                let found = |code: &Option<(AddrRange<FileAddr>, Option<Symbol>)>| {
                    code.map(|(range, symbol)| (range, symbol.map(|it| it.name)))
                };
                assert_eq!(found(&code), found(&sorted.code_at(addr)), "{symbol:?}");
                let Some((range, _)) = code else { continue };
                let starts = scanned.instruction_starts(range);
                assert_eq!(starts, sorted.instruction_starts(range), "{symbol:?}");
            }
        }
    }

    #[test]
    fn many_lookups_sort_the_symbols() {
        let path = std::env::current_exe().unwrap();
        let (module, known) = (opened(&path), opened(&path));
        let mut functions = known.symbol_table().functions();
        let symbol = functions.find(|it| it.size > 0 && it.name.contains("code_at"));
        let symbol = symbol.expect("a function");
        assert!(module.symbol_at(symbol.addr).is_some() && !module.symbols_are_sorted());
        for _ in 0..100 {
            assert!(module.symbol_at(symbol.addr).is_some());
        }
        assert!(module.symbols_are_sorted());
    }
}
