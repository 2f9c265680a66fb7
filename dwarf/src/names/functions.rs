//! Functions by name: in the debug info, or by their symbols.

use crate::entries::units::{Entry, Unit};
use crate::file::demangle::{cpp_function_name, demangle, rust_path, swift_name};
use crate::file::elf::versions::Versioned;
use crate::file::swift::{self, Shown};
use crate::functions::Function;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::symbol::{Symbol, SymbolKind};
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::names::inlined::inlined_entries;
use crate::naming::parameters::Parameters;
use crate::naming::{Key, MethodQuery, NameQuery, SwiftQuery, components};
use rayon::prelude::*;
use std::sync::Arc;

/// Returns function symbols by demangled name.
pub(super) fn function_symbols(module: &Module, name: &str) -> Vec<Symbol> {
    if let Some(versioned) = Versioned::typed(name) {
        return module.versioned_functions(versioned);
    }
    let query = NameQuery::new(name);
    let base = query.base();
    let of_swift = SwiftQuery::new(name);
    let is_path_of_swift = base.contains('.') && of_swift.is_some();
    let mut symbols = if is_spelled(base) {
        module.functions_spelled_with(base)
    } else if is_path_of_swift {
        // The name of a symbol, or nothing of C++ and Rust.
        let named = module.symbol_table().named(name);
        named
            .filter(|symbol| symbol.kind == SymbolKind::Function)
            .collect()
    } else {
        module.functions_by_symbol()
    };
    let spelled: Vec<Symbol> = symbols.iter().filter(is_of_swift).copied().collect();
    symbols.retain(|symbol| {
        symbol.name == name
            || symbol.name.starts_with('_')
                && cpp_or_rust_name(symbol.name).is_some_and(|readable| query.matches(&readable))
    });
    // A selector alone may be the name of a C function, too.
    if let Some(method) = MethodQuery::new(name)
        && !method.is_plain()
    {
        symbols.extend(methods_of_objc(module, &method));
    }
    if let Some(typed) = query.parameters() {
        let fit = |symbol: &Symbol| symbol_has_parameters(symbol.name, typed);
        // `main()` matches any `main`, as it does in the debug info.
        if !typed.is_empty() || symbols.iter().any(fit) {
            symbols.retain(fit);
        }
    }
    if let Some(query) = of_swift {
        // A search for a name of C or C++ need not look at the symbols twice.
        let is_other = spelled.is_empty() && !symbols.is_empty();
        if !is_other {
            symbols.extend(functions_of_swift(module, &query, base, spelled));
        }
    }
    symbols
}

/// Returns whether the symbols of functions contain the last component of their names literally:
/// mangled names contain identifiers, but encode operators.
fn is_spelled(base: &str) -> bool {
    let mut bytes = base.bytes();
    bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !base.is_empty()
}

fn is_of_swift(symbol: &&Symbol) -> bool {
    swift::is_mangled(symbol.name)
}

fn cpp_or_rust_name(symbol: &str) -> Option<String> {
    if swift::is_mangled(symbol) {
        return None;
    }
    let readable = demangle(symbol);
    if readable == symbol {
        return None;
    }
    // Demangled Rust names have no parameters. C++ names are cut to the name without parameters and
    // return type.
    match rust_path(symbol) {
        Some(path) => Some(path),
        None => cpp_function_name(symbol).or_else(|| Some(readable.into_owned())),
    }
}

/// Returns concrete functions by name.
pub(super) fn functions_named(module: &Module, name: &str) -> Vec<Arc<Function>> {
    let mut found: Vec<Arc<Function>> = Vec::new();
    let query = NameQuery::new(name);
    if let Some(key) = query.key() {
        let look = |info: &DebugInfo, dies| -> Vec<Arc<Function>> {
            let selected = selected(info, &query, dies);
            let functions = selected.into_par_iter();
            functions
                .filter_map(|die| module.function_of(info, die))
                .collect()
        };
        if is_spelled(query.base()) {
            found = module.find_functions_by_symbol(query.base(), key, look);
        }
        if found.is_empty() {
            found = module.find_names(|index| &index.functions, key, None, look);
        }
    }
    if found.is_empty() {
        // The raw symbol, or a name that only the symbol table has (aliases).
        found = module
            .symbol_table()
            .named(name)
            .filter(|symbol| symbol.kind == SymbolKind::Function)
            .filter_map(|symbol| module.function_at(symbol.addr))
            .collect();
    }
    found.sort_by_key(|function| (function.entry, function.id));
    found.dedup_by_key(|function| function.entry);
    found
}

/// Returns the symbols of functions of Swift; `spelled` are those that contain `base`. A symbol may contain a
/// name in parts, so others are searched, too.
fn functions_of_swift(
    module: &Module,
    query: &SwiftQuery,
    base: &str,
    spelled: Vec<Symbol>,
) -> Vec<Symbol> {
    let mut symbols = match query.word() {
        Some(word) if word == base => spelled,
        Some(word) => module.functions_spelled_with(word),
        None => module.functions_by_symbol(),
    };
    symbols.retain(|symbol| is_of_swift(&symbol));
    let matching = symbols.into_par_iter().filter(|symbol| {
        let readable = swift_name(symbol.name, Shown::Path);
        readable.is_some_and(|readable| query.matches(&readable))
    });
    matching.collect()
}

/// Adds the functions of Swift with debug info that a path or a name with labels means. The index of the debug
/// info has them by their names alone.
pub(super) fn add_functions_of_swift(module: &Module, name: &str, found: &mut Vec<Arc<Function>>) {
    let Some(query) = SwiftQuery::new(name).filter(|query| !query.is_plain()) else {
        return;
    };
    for symbol in functions_of_swift(module, &query, "", Vec::new()) {
        if let Some(function) = module.function_at(symbol.addr)
            && !found.iter().any(|known| known.entry == function.entry)
        {
            found.push(function);
        }
    }
}

/// Returns the symbols of methods of Objective-C. Their names in the debug info are those of the symbols.
fn methods_of_objc(module: &Module, method: &MethodQuery) -> Vec<Symbol> {
    // Other systems' symbols encode such names.
    if !module.is_of_apple() {
        return Vec::new();
    }
    let mut symbols = module.functions_spelled_with(method.selector());
    symbols.retain(|symbol| method.matches(symbol.name));
    symbols
}

/// Adds the methods of Objective-C with debug info that a name means.
pub(super) fn add_methods_of_objc(module: &Module, name: &str, found: &mut Vec<Arc<Function>>) {
    let Some(method) = MethodQuery::new(name) else {
        return;
    };
    for symbol in methods_of_objc(module, &method) {
        if let Some(function) = module.function_at(symbol.addr)
            && !found.iter().any(|known| known.entry == function.entry)
        {
            found.push(function);
        }
    }
}

/// Returns whether a query means an entry. The scopes around an entry are known only by a scan of its
/// unit, so they are read only if its own name matches, and the query has a path.
pub(super) fn is_meant(info: &DebugInfo, query: &NameQuery, unit: &Unit, entry: &Entry) -> bool {
    // Names of Rust may be those of their symbols.
    if unit.language != Language::Rust
        && let Some(name) = info.inherited_string(unit, entry, gimli::DW_AT_name)
        && !name.is_empty()
    {
        let name = String::from_utf8_lossy(name);
        if query.is_bare() {
            return query.matches(&name);
        }
        if !query.may_end(&name) {
            return false;
        }
    }
    query.matches(&info.qualified_name_of(unit, entry))
}

/// Returns the entries that match a name, and its parameter list if it has one.
fn selected(info: &DebugInfo, query: &NameQuery, dies: Vec<DieRef>) -> Vec<DieRef> {
    let named = dies.into_par_iter().filter(|die| {
        let entry = info.entry(*die);
        entry.is_ok_and(|(unit, entry)| is_meant(info, query, unit, &entry))
    });
    let Some(typed) = query.parameters() else {
        return named.collect();
    };
    // Rust has no overloads, and its functions are named without parameters.
    let fit = |die: &DieRef| {
        let Ok((unit, entry)) = info.entry(*die) else {
            return false;
        };
        unit.language == Language::Rust
            || info.has_parameters(unit, &entry, typed)
            || info
                .linkage_name(unit, &entry)
                .is_some_and(|symbol| symbol_has_parameters(symbol, typed))
    };
    let named: Vec<DieRef> = named.collect();
    let fitting: Vec<DieRef> = named.par_iter().copied().filter(fit).collect();
    // `main()` matches any `main`.
    match fitting.is_empty() && typed.is_empty() {
        true => named,
        false => fitting,
    }
}

/// Returns whether a symbol is of a function with these parameters; true if the symbol has none.
fn symbol_has_parameters(symbol: &str, typed: &Parameters) -> bool {
    if !symbol.starts_with("_Z") || rust_path(symbol).is_some() {
        return true;
    }
    let found = Parameters::typed(&demangle(symbol));
    found.is_none_or(|found| typed.select(&found))
}

/// rustc's name of the body of an async function, which its future runs.
const ASYNC_BODY: &str = "{async_fn#0}";
/// rustc's name of an async block.
const ASYNC_BLOCK: &str = "{async_block#0}";

/// Returns the bodies of the async functions with that name.
pub(super) fn async_bodies(module: &Module, name: &str) -> Vec<Arc<Function>> {
    let query = NameQuery::new(name);
    let find = |body: &str| {
        let look = |info: &DebugInfo, dies: Vec<DieRef>| {
            let bodies = bodies_of(info, &query, dies).into_par_iter();
            bodies
                .filter_map(|die| module.function_of(info, die))
                .collect()
        };
        module.find_names(|index| &index.functions, Key::of(body), None, look)
    };
    let mut found: Vec<Arc<Function>> = find(ASYNC_BODY);
    // `#[async_trait]` turns an async method into a block at the method's start.
    let blocks = find(ASYNC_BLOCK);
    if !blocks.is_empty() {
        let declared = functions_named(module, name);
        let place = |function: &Function| {
            let declaration = function.declaration.as_ref()?;
            Some((declaration.file.path.clone(), declaration.line))
        };
        found.extend(blocks.into_iter().filter(|block| {
            let here = place(block);
            here.is_some() && declared.iter().any(|function| place(function) == here)
        }));
    }
    found.sort_by_key(|function| (function.entry, function.id));
    found.dedup_by_key(|function| function.entry);
    found
}

/// Returns the entry addresses of inlined copies of the bodies of async functions with that name.
pub(super) fn inlined_async_bodies(module: &Module, name: &str) -> Vec<FileAddr> {
    let query = NameQuery::new(name);
    let look = |info: &DebugInfo, dies| bodies_of(info, &query, dies);
    inlined_entries(module, Key::of(ASYNC_BODY), look)
}

/// Returns the bodies whose function matches the query.
fn bodies_of(info: &DebugInfo, query: &NameQuery, dies: Vec<DieRef>) -> Vec<DieRef> {
    let is_meant = |die: &DieRef| {
        let qualified = info.qualified_name(*die);
        parent_path(&qualified).is_some_and(|path| query.matches(path))
    };
    dies.into_par_iter().filter(is_meant).collect()
}

/// Returns a qualified name without its last component.
fn parent_path(qualified: &str) -> Option<&str> {
    let last = components(qualified).pop()?;
    qualified.strip_suffix(last)?.strip_suffix("::")
}

/// Returns the entries of inlined copies by the function's name.
pub(super) fn inlined_named(module: &Module, name: &str) -> Vec<FileAddr> {
    let query = NameQuery::new(name);
    let look = |info: &DebugInfo, dies| selected(info, &query, dies);
    let key = query.key();
    key.map_or(Vec::new(), |key| inlined_entries(module, key, look))
}

/// Returns the start of a function's body.
pub(super) fn body_start(info: &DebugInfo, function: &Function) -> FileAddr {
    let entry = function.entry;
    let Some(range) = function.ranges.iter().find(|range| range.contains(entry)) else {
        return entry;
    };
    let Some(program) = info
        .unit(function.id.unit)
        .and_then(|unit| info.unit_program(unit))
    else {
        return entry;
    };
    let table = program.table(info);
    let from = AddrRange::new(entry, range.end);
    if let Some(group) = table.groups_in(from).find(|group| group.prologue_end()) {
        return FileAddr(group.start.max(entry.0));
    }
    // gcc does not mark the end of the prologue. Unoptimized code has a second row there. In
    // optimized code the second row may be after a branch and never be reached, and location lists
    // are valid from the entry on.
    if function.optimized {
        return entry;
    }
    // Without a prologue the row of its first line is at the entry, too.
    let mut at_entry = table.groups_in(from).take_while(|it| it.start <= entry.0);
    if at_entry.any(|it| it.has_several_lines()) {
        return entry;
    }
    table
        .groups_in(from)
        .find(|group| group.start > entry.0 && group.line() != 0)
        .map_or(entry, |group| FileAddr(group.start))
}
