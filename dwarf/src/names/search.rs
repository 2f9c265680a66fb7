//! Lookups that combine several tables: names to functions, lines to locations.

use crate::entries::units::flag;
use crate::file::demangle::{cpp_function_name, demangle};
use crate::file::versions::Versioned;
use crate::functions::variable::{Variable, VariableKind};
use crate::functions::{Function, Scope, ScopeKind};
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::source::{LineLocation, SourceFile, SourceLocation};
use crate::ids::symbol::{Symbol, SymbolKind};
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::names::inlined::inlined_entries;
use crate::names::thread_local;
use crate::naming::parameters::Parameters;
use crate::naming::{Key, NameQuery, components};
use crate::types::{Member, TypeId};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Returns the class that the function at an address is a member of.
pub(crate) fn class_of_function(module: &Module, addr: FileAddr) -> Option<TypeId> {
    let info = module.info()?;
    class_of_entry(info, info.function_die_at(addr.0)?)
}

/// Returns the class that contains a function's entry, or its declaration.
pub(crate) fn class_of_entry(info: &DebugInfo, function: DieRef) -> Option<TypeId> {
    let parent = info.parent(info.root_origin(function))?;
    let is_class = matches!(
        info.entry(parent).ok()?.1.tag(),
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
    );
    is_class.then_some(TypeId(parent))
}

/// Returns the position of a type's declaration.
pub(crate) fn declaration_of(module: &Module, id: TypeId) -> Option<SourceLocation> {
    let info = module.info()?;
    let (unit, entry) = info.entry(id.0).ok()?;
    info.declaration(unit, &entry)
}

/// Returns function symbols by demangled name.
pub(crate) fn function_symbols(module: &Module, name: &str) -> Vec<Symbol> {
    if let Some(versioned) = Versioned::typed(name) {
        return module.versioned_functions(versioned);
    }
    let query = NameQuery::new(name);
    let base = query.base();
    // Mangled names contain identifiers literally, so symbols without the last component are
    // skipped. Operators are encoded, so that does not hold for them.
    let spelled = base
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !base.is_empty();
    let mut symbols = if spelled {
        module.functions_spelled_with(base)
    } else {
        module.functions_by_symbol()
    };
    symbols.retain(|symbol| {
        symbol.name == name
            || symbol.name.starts_with('_')
                && cpp_or_rust_name(symbol.name).is_some_and(|readable| query.matches(&readable))
    });
    if let Some(typed) = query.parameters() {
        let fit = |symbol: &Symbol| symbol_has_parameters(symbol.name, typed);
        // `main()` matches any `main`, as it does in the debug info.
        if !typed.is_empty() || symbols.iter().any(fit) {
            symbols.retain(fit);
        }
    }
    symbols
}

fn cpp_or_rust_name(symbol: &str) -> Option<String> {
    let readable = demangle(symbol);
    if readable == symbol {
        return None;
    }
    // Demangled Rust names have no parameters. C++ names are cut to the name without parameters and
    // return type.
    match crate::file::demangle::rust_path(symbol) {
        Some(path) => Some(path),
        None => cpp_function_name(symbol).or_else(|| Some(readable.into_owned())),
    }
}

/// Returns the locations of a line with the function instances that they are in.
pub(crate) fn line_locations(
    module: &Module,
    info: &DebugInfo,
    file: &SourceFile,
    line: u32,
) -> Vec<LineLocation> {
    let places = info.line_hits(file, line);
    let mut found: Vec<LineLocation> = Vec::new();
    let mut functions = FxHashSet::default();
    // A run counts once per instance in it: inlined copies may be adjacent without a row of another
    // line between them.
    let mut seen = FxHashSet::default();
    for (mut place, run) in places.effective {
        let (function, instance) = instance_at(module, place.addr);
        functions.insert(function);
        if seen.insert((run, instance)) {
            place.instance = instance;
            found.push(place);
        }
    }
    // A function in which the line has only shadowed rows starts the line there.
    let mut shadowing = FxHashSet::default();
    for mut place in places.shadowed {
        let (function, instance) = instance_at(module, place.addr);
        if functions.contains(&function) {
            continue;
        }
        shadowing.insert(function);
        place.instance = instance;
        found.push(place);
    }
    functions.extend(shadowing);
    // clang recommends only the first of several adjacent inlined copies. In the others the line
    // begins at the start of their code.
    let mut begun: FxHashSet<u64> = found.iter().map(|place| place.instance).collect();
    let mut rest = Vec::new();
    for (mut place, run) in places.continued {
        let (function, instance) = instance_at(module, place.addr);
        place.instance = instance;
        if instance == function {
            rest.push((place, run, function));
        } else if begun.insert(instance) {
            functions.insert(function);
            found.push(place);
        }
    }
    // In optimized code a line may have no recommended row at all. Then use the start of its code
    // in the function, and without code the rows that mention the line.
    for (place, run, function) in rest {
        if !functions.contains(&function) && seen.insert((run, place.instance)) {
            found.push(place);
        }
    }
    if found.is_empty() {
        let mut mentioned = FxHashSet::default();
        for mut place in places.mentioned {
            let (_, instance) = instance_at(module, place.addr);
            if mentioned.insert(instance) {
                place.instance = instance;
                found.push(place);
            }
        }
    }
    found.sort_by_key(|place| place.addr);
    found
}

impl Module {
    /// Returns the source position to show for `addr`. For code of line 0 (for example, several
    /// branches merged into one call) it is that of the nearest row before it in the same function
    /// or inlined copy.
    pub fn place_at(&self, addr: FileAddr) -> Option<SourceLocation> {
        let row = self.row_at(addr)?;
        if row.location.is_some() {
            return row.location;
        }
        let function = self.function_at(addr)?;
        let range = function.ranges.iter().find(|range| range.contains(addr))?;
        let instance = instance_at(self, addr);
        self.rows_in(AddrRange::new(range.start, addr))
            .into_iter()
            .rev()
            .filter(|row| row.location.is_some())
            .find(|row| instance_at(self, row.range.start) == instance)?
            .location
    }
}

/// Returns the function that covers `addr` and the innermost instance: the function or an inlined
/// copy.
fn instance_at(module: &Module, addr: FileAddr) -> (u64, u64) {
    let Some(function) = module.function_at(addr) else {
        let symbol = module.symbol_at(addr).map_or(0, |symbol| symbol.addr.0);
        // Numbers of entries never use the top bit.
        return (symbol | 1 << 63, symbol | 1 << 63);
    };
    let mut instance = function.id;
    let mut scope: &Scope = &function.scope;
    while let Some(child) = scope.child_at(addr) {
        if matches!(child.kind, ScopeKind::Inlined(_)) {
            instance = child.id;
        }
        scope = child;
    }
    (number(function.id), number(instance))
}

fn number(die: DieRef) -> u64 {
    (u64::from(die.unit) << 36) ^ die.offset
}

/// Returns concrete functions by name.
pub(crate) fn functions_named(module: &Module, name: &str) -> Vec<Arc<Function>> {
    let mut found: Vec<Arc<Function>> = Vec::new();
    let query = NameQuery::new(name);
    if let Some(key) = query.key() {
        found = module.find_names(
            |index| &index.functions,
            key,
            None,
            |info, dies| {
                let selected = selected(info, &query, dies);
                let functions = selected.into_par_iter();
                functions
                    .filter_map(|die| module.function_of(info, die))
                    .collect()
            },
        );
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

/// Returns whether a function is the one that a query means. The scopes around an entry are known only
/// by a scan of its unit, so they are read only if the query has a path.
fn is_meant(info: &DebugInfo, query: &NameQuery, die: DieRef) -> bool {
    if query.is_bare()
        && let Ok((unit, entry)) = info.entry(die)
        // Names of Rust may be those of their symbols.
        && unit.language != Language::Rust
        && let Some(name) = info.inherited_string(unit, &entry, gimli::DW_AT_name)
        && !name.is_empty()
    {
        return query.matches(&String::from_utf8_lossy(name));
    }
    query.matches(&info.qualified_name(die))
}

/// Returns the entries that match a name, and its parameter list if it has one.
fn selected(info: &DebugInfo, query: &NameQuery, dies: Vec<DieRef>) -> Vec<DieRef> {
    let named = dies
        .into_par_iter()
        .filter(|die| is_meant(info, query, *die));
    let Some(typed) = query.parameters() else {
        return named.collect();
    };
    // Of the supported languages only C++ has overloads.
    let fit = |die: &DieRef| {
        let Ok((unit, entry)) = info.entry(*die) else {
            return false;
        };
        unit.language != Language::Cpp
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
    if !symbol.starts_with("_Z") || crate::file::demangle::rust_path(symbol).is_some() {
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
pub(crate) fn async_bodies(module: &Module, name: &str) -> Vec<Arc<Function>> {
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
pub(crate) fn inlined_async_bodies(module: &Module, name: &str) -> Vec<FileAddr> {
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
pub(crate) fn inlined_named(module: &Module, name: &str) -> Vec<FileAddr> {
    let query = NameQuery::new(name);
    let look = |info: &DebugInfo, dies| selected(info, &query, dies);
    let key = query.key();
    key.map_or(Vec::new(), |key| inlined_entries(module, key, look))
}

/// Returns the start of a function's body.
pub(crate) fn body_start(info: &DebugInfo, function: &Function) -> FileAddr {
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
    table
        .groups_in(from)
        .find(|group| group.start > entry.0 && group.line() != 0)
        .map_or(entry, |group| FileAddr(group.start))
}

/// Returns the variables with static storage of the unit that covers `addr`.
pub(crate) fn unit_statics(module: &Module, addr: FileAddr) -> Vec<Variable> {
    let Some(info) = module.info() else {
        return Vec::new();
    };
    let Some(unit) = info.unit_at(addr.0).and_then(|unit| info.whole(unit)) else {
        return Vec::new();
    };
    info.scan(unit)
        .statics
        .iter()
        .filter_map(|offset| {
            let entry = info.entry_in(unit, u64::from(*offset)).ok()?;
            let defined = info
                .inherited(unit, &entry, gimli::DW_AT_location)
                .is_some()
                || info
                    .inherited(unit, &entry, gimli::DW_AT_const_value)
                    .is_some();
            if flag(&entry, gimli::DW_AT_declaration) || !defined {
                return None;
            }
            let variable = info.read_variable(unit, &entry, VariableKind::Static)?;
            thread_local::as_declared(module, info, unit, &entry, variable)
        })
        .collect()
}

/// Returns whether the unit that covers `addr` has variables with static storage.
pub(crate) fn has_unit_statics(module: &Module, addr: FileAddr) -> bool {
    let unit = |info: &'_ DebugInfo| -> Option<bool> {
        let unit = info.whole(info.unit_at(addr.0)?)?;
        Some(!info.scan(unit).statics.is_empty())
    };
    module.info().and_then(unit).unwrap_or(false)
}

/// Returns the enumeration with an enumerator of this name that needs no qualification, in the unit
/// that covers `near`.
pub(crate) fn enumeration_with(module: &Module, name: &str, near: FileAddr) -> Option<TypeId> {
    let info = module.info()?;
    let unit = info.whole(info.unit_at(near.0)?)?;
    let mut entries = unit.raw.entries_raw(None).ok()?;
    let mut enumeration = None;
    while !entries.is_empty() {
        let offset = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation().ok()? else {
            continue;
        };
        let (mut found, mut scoped) = (false, false);
        match abbreviation.tag() {
            gimli::DW_TAG_enumeration_type => {
                for spec in abbreviation.attributes() {
                    let attr = entries.read_attribute(*spec).ok()?;
                    scoped |= attr.name() == gimli::DW_AT_enum_class
                        && matches!(attr.value(), gimli::AttributeValue::Flag(true));
                }
                enumeration = (!scoped).then_some(offset);
            }
            gimli::DW_TAG_enumerator if enumeration.is_some() => {
                for spec in abbreviation.attributes() {
                    let attr = entries.read_attribute(*spec).ok()?;
                    found |= attr.name() == gimli::DW_AT_name
                        && info.string(unit, attr.value()) == Some(name.as_bytes());
                }
            }
            _ => entries.skip_attributes(abbreviation.attributes()).ok()?,
        }
        if found {
            return Some(TypeId(unit.die(enumeration?)));
        }
    }
    None
}

/// Returns static variables by name.
pub(crate) fn statics_named(module: &Module, name: &str, near: Option<FileAddr>) -> Vec<Variable> {
    let query = NameQuery::new(name);
    let Some(key) = query.key() else {
        return Vec::new();
    };
    let near = unit_near(module, near);
    let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
        dies.retain(|die| query.matches(&info.qualified_name(*die)) && !in_function(info, *die));
        dies.sort_by_key(|die| Some(die.unit) != near);
        dies.into_iter()
            .filter_map(|die| {
                let (unit, entry) = info.entry(die).ok()?;
                info.read_variable(unit, &entry, VariableKind::Static)
            })
            .collect()
    };
    let found = module.find_names(|index| &index.statics, key, near, look);
    match found.is_empty() {
        true => thread_local::named(module, &query, near),
        false => found,
    }
}

fn unit_near(module: &Module, addr: Option<FileAddr>) -> Option<u32> {
    module.info()?.unit_at(addr?.0)
}

/// Returns whether an entry is inside a function.
pub(crate) fn in_function(info: &DebugInfo, die: DieRef) -> bool {
    let is_function = |die: DieRef| {
        let entry = info.entry(die);
        entry.is_ok_and(|(_, entry)| entry.tag() == gimli::DW_TAG_subprogram)
    };
    // Parents come before their children, so this ends.
    std::iter::successors(info.parent(die), |die| info.parent(*die)).any(is_function)
}

/// Returns the definition of a static data member.
pub(crate) fn static_member(module: &Module, member: &Member) -> Option<Variable> {
    let info = module.info()?;
    let (unit, entry) = info.entry(member.id).ok()?;
    // A constant may be complete in its declaration.
    if entry.has_attr(gimli::DW_AT_const_value) || entry.has_attr(gimli::DW_AT_location) {
        return info.read_variable(unit, &entry, VariableKind::Static);
    }
    let qualified = info.qualified_name_of(unit, &entry);
    let query = NameQuery::new(&qualified);
    let key = query.key()?;
    let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
        dies.retain(|die| {
            info.root_origin(*die) == member.id || info.qualified_name(*die) == qualified
        });
        dies
    };
    let near = Some(member.id.unit);
    let mut found = module.find_names(|index| &index.statics, key, near, look);
    found.sort_by_key(|die| info.root_origin(*die) != member.id);
    let (unit, entry) = info.entry(*found.first()?).ok()?;
    info.read_variable(unit, &entry, VariableKind::Static)
}

/// Returns the definition of a declared type.
pub(crate) fn complete_type(module: &Module, id: TypeId) -> TypeId {
    let Some(info) = module.info() else {
        return id;
    };
    let Ok((unit, entry)) = info.entry(id.0) else {
        return id;
    };
    if !flag(&entry, gimli::DW_AT_declaration) {
        return id;
    }
    if let Some(definition) = entry
        .attr_value(gimli::DW_AT_signature)
        .and_then(|value| info.reference(unit, value))
    {
        return TypeId(definition);
    }
    let qualified = info.qualified_name_of(unit, &entry);
    if qualified.is_empty() {
        return id;
    }
    let query = NameQuery::new(&qualified);
    let Some(key) = query.key() else {
        return id;
    };
    // `struct` and `class` are interchangeable in declarations.
    let class = |tag| matches!(tag, gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type);
    let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
        dies.retain(|die| {
            info.entry(*die).is_ok_and(|(unit, candidate)| {
                let (wanted, tag) = (entry.tag(), candidate.tag());
                (tag == wanted || (class(tag) && class(wanted)))
                    && !flag(&candidate, gimli::DW_AT_declaration)
                    && info.qualified_name_of(unit, &candidate) == qualified
            })
        });
        dies
    };
    module
        .find_names(|index| &index.types, key, Some(id.0.unit), look)
        .into_iter()
        .min_by_key(|die| (die.unit != id.0.unit, *die))
        .map_or(id, TypeId)
}

/// Returns types by name.
pub(crate) fn types_named(module: &Module, name: &str, near: Option<FileAddr>) -> Vec<TypeId> {
    let query = NameQuery::new(name);
    let Some(key) = query.key() else {
        return Vec::new();
    };
    let near = unit_near(module, near);
    // `struct node` does not match the typedef `node`.
    let tags: &[gimli::DwTag] = match name.trim_start().split(' ').next() {
        Some("struct" | "class") => &[gimli::DW_TAG_structure_type, gimli::DW_TAG_class_type],
        Some("union") => &[gimli::DW_TAG_union_type],
        Some("enum") => &[gimli::DW_TAG_enumeration_type],
        _ => &[],
    };
    let look = |info: &DebugInfo, dies: Vec<DieRef>| -> Vec<(bool, bool, bool, DieRef)> {
        dies.into_iter()
            .filter_map(|die| {
                let (unit, entry) = info.entry(die).ok()?;
                if !tags.is_empty() && !tags.contains(&entry.tag()) {
                    return None;
                }
                let qualified = info.qualified_name_of(unit, &entry);
                query.matches(&qualified).then(|| {
                    (
                        flag(&entry, gimli::DW_AT_declaration),
                        Some(die.unit) != near,
                        // For `node`, the global type comes before `ns::node`.
                        qualified.len() != name.len(),
                        die,
                    )
                })
            })
            .collect()
    };
    let mut found = module.find_names(|index| &index.types, key, near, look);
    found.sort_unstable();
    found.into_iter().map(|(.., die)| TypeId(die)).collect()
}
