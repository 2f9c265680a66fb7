//! Lookups for users: mappings, symbols, code of lines, addresses.

use super::Debugger;
use crate::ids::ModuleId;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::images::modules::Loaded;
use crate::inspect::value::{PointerKind, Shape, Value};
use crate::os::Mapping;
use crate::stops::breakpoint::sources::files_of;
use dwarf::{AddrRange, LoadAddr, SourceLocation, Symbol, SymbolKind};
use rustc_hash::FxHashSet;
use std::path::Path;

/// A symbol of an image of the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolInfo {
    /// Its demangled name.
    pub name: String,
    /// Its address; for a thread-local variable, the offset in its image's block.
    pub address: LoadAddr,
    /// Its size in bytes; 0 if unknown.
    pub size: u64,
    /// The kind of symbol.
    pub kind: SymbolKind,
    /// The image's base name.
    pub module: String,
}

/// Code of a source line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineCode {
    /// Its addresses.
    pub range: AddrRange<LoadAddr>,
    /// The line.
    pub location: SourceLocation,
    /// The function that contains it.
    pub function: Option<String>,
}

/// The state of an image's name index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamesStatus {
    /// The image has no debug info.
    None,
    /// Not read: no request has needed it yet.
    Unread,
    /// Being read: the number of units read, and their total.
    Reading(u32, u32),
    /// Complete.
    Ready,
    /// Cancelled: the number of units read, and their total.
    Partial(u32, u32),
}

impl Debugger {
    /// Returns the mappings of the process in order of address; also while it runs.
    pub fn mappings(&self) -> Vec<Mapping> {
        let pid = self.inferior.process.as_ref().map(|process| process.pid);
        pid.map_or_else(Vec::new, |pid| self.inferior.os().mappings(pid))
    }

    /// Returns whether a thread is stopped for the client.
    pub fn is_stopped(&self, thread: ThreadId) -> bool {
        self.inferior.is_visible_stop(thread)
    }

    /// Returns the symbols with a name: mangled, demangled, or the end of the latter after `::`.
    /// Reads every symbol table.
    ///
    /// # Errors
    /// The request was cancelled.
    pub fn symbols_named(&self, name: &str) -> Result<Vec<SymbolInfo>, Error> {
        let mut found: Vec<SymbolInfo> = Vec::new();
        let mut seen = FxHashSet::default();
        for loaded in &self.images.modules.loaded {
            if self.cancelled() {
                return Err(Error::Cancelled);
            }
            let functions = loaded.module.function_symbols(name);
            for symbol in functions
                .into_iter()
                .chain(loaded.module.symbols_named(name))
            {
                if seen.insert((loaded.id, symbol.addr, symbol.name)) {
                    found.push(info_of(loaded, symbol));
                }
            }
        }
        Ok(found)
    }

    /// Returns the symbol that covers an address.
    pub fn symbol_at(&self, addr: LoadAddr) -> Option<SymbolInfo> {
        let loaded = self.images.modules.at(addr)?;
        let symbol = loaded.module.symbol_at(loaded.bias.file(addr))?;
        Some(info_of(loaded, symbol))
    }

    /// Returns the image that contains an address.
    pub fn module_at(&self, addr: LoadAddr) -> Option<ModuleId> {
        Some(self.images.modules.at(addr)?.id)
    }

    /// Returns the line whose code contains an address.
    pub fn line_at(&self, addr: LoadAddr) -> Option<LineCode> {
        let loaded = self.images.modules.at(addr)?;
        let file_addr = loaded.bias.file(addr);
        let row = loaded.module.row_at(file_addr)?;
        Some(LineCode {
            range: AddrRange::new(
                loaded.bias.load(row.range.start),
                loaded.bias.load(row.range.end),
            ),
            location: row.location?,
            function: function_at(loaded, addr),
        })
    }

    /// Returns where the code of a source line begins, in each function and each inlined copy.
    pub fn addresses_of_line(&self, source: &Path, line: u32) -> Vec<LineCode> {
        let mut found = Vec::new();
        for (loaded, file) in files_of(source, &self.images.modules).files {
            for place in loaded.module.line_locations(&file, line) {
                let start = loaded.bias.load(place.addr);
                let row = loaded.module.row_at(place.addr);
                let end = row.map_or(start, |row| loaded.bias.load(row.range.end));
                found.push(LineCode {
                    range: AddrRange::new(start, end),
                    location: place.location,
                    function: function_at(loaded, start),
                });
            }
        }
        found.sort_by_key(|code| code.range.start);
        found
    }

    /// Returns the state of an image's name index.
    pub fn names_status(&self, id: ModuleId) -> NamesStatus {
        let Some(loaded) = self.images.modules.get(id) else {
            return NamesStatus::None;
        };
        let module = &loaded.module;
        if module.debug_size() == 0 {
            return NamesStatus::None;
        }
        if module.has_partial_names() {
            let (read, units) = module.names_read();
            return NamesStatus::Partial(read, units);
        }
        match (
            module.knows_names(),
            self.images.indexer.is_waiting_for(module),
        ) {
            (true, _) => NamesStatus::Ready,
            (false, true) => {
                let (read, units) = module.names_read();
                NamesStatus::Reading(read, units)
            }
            (false, false) => NamesStatus::Unread,
        }
    }

    /// Returns the address that a value stands for: numbers and pointers are used as such, any
    /// other value by its location.
    ///
    /// # Errors
    /// The value cannot be read, or is not in memory.
    pub fn value_address(&mut self, value: &Value) -> Result<LoadAddr, Error> {
        self.in_process(|scope| {
            let value = value.referent(scope)?;
            let is_number = match value.ty.shape() {
                Shape::Scalar(_) | Shape::Enumeration(_) => true,
                Shape::Pointer(_, kind) => kind != PointerKind::Reference,
                _ => false,
            };
            if is_number {
                return Ok(LoadAddr(value.raw(scope)? as u64));
            }
            value.address().ok_or_else(|| {
                Error::Unsupported(format!(
                    "cannot take the address of a `{}` that is not in memory",
                    value.ty.name()
                ))
            })
        })
    }
}

fn info_of(loaded: &Loaded, symbol: Symbol) -> SymbolInfo {
    let address = match symbol.kind {
        SymbolKind::ThreadLocal => LoadAddr(symbol.addr.0),
        _ => loaded.bias.load(symbol.addr),
    };
    let path = loaded.module.path();
    SymbolInfo {
        name: dwarf::demangle(symbol.name).into_owned(),
        address,
        size: symbol.size,
        kind: symbol.kind,
        module: path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    }
}

fn function_at(loaded: &Loaded, addr: LoadAddr) -> Option<String> {
    let addr = loaded.bias.file(addr);
    match loaded.module.function_at(addr) {
        Some(function) => Some(function.name.to_string()),
        None => {
            let symbol = loaded.module.symbol_at(addr)?;
            Some(dwarf::demangle(symbol.name).into_owned())
        }
    }
}
