//! Breakpoints on functions by their names: by symbols at once, by debug info once its names
//! are read.

use super::Bound;
use super::resolve::{Resolved, at_symbol, bind, bind_body};
use crate::debugger::ModuleId;
use crate::modules::{Loaded, Modules};
use crate::stack::calls_beginning_at;
use dwarf::SymbolKind;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A name, and where it was found so far: of an image only the names come later.
pub struct Named {
    name: String,
    found: FxHashMap<ModuleId, Found>,
}

struct Found {
    /// Whether the names of the debug info were there to be asked.
    with_names: bool,
    places: Vec<Bound>,
}

impl Named {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            found: FxHashMap::default(),
        }
    }

    /// An image is to be asked again.
    pub fn forget(&mut self, module: ModuleId) {
        self.found.remove(&module);
    }

    /// The bodies of all functions of the name, and their inlined copies.
    pub fn resolve(&mut self, modules: &Modules) -> Resolved {
        let mut resolved = Resolved::default();
        let mut unread = Vec::new();
        for loaded in &modules.loaded {
            let with_names = loaded.module.has_names();
            if !with_names {
                unread.push(loaded);
            }
            let known = self.found.get(&loaded.id);
            if known.is_none_or(|found| found.with_names != with_names) {
                let places = find(&self.name, loaded, with_names);
                self.found.insert(loaded.id, Found { with_names, places });
            }
            let found = self.found.get(&loaded.id);
            let places = found.into_iter().flat_map(|found| &found.places);
            resolved.bound.extend(places.cloned());
        }
        let bound = &mut resolved.bound;
        bound.sort_by_key(|bound| bound.addr);
        bound.dedup_by_key(|bound| bound.addr);
        // Names know of more than symbols do: inlined copies, and functions whose symbols were
        // stripped. A library of the system's is read for them only if nobody else has any.
        let found = !bound.is_empty();
        unread.retain(|loaded| !found || !loaded.is_of_the_system());
        let name = &self.name;
        resolved.why = match (found, unread.is_empty()) {
            (true, _) => None,
            (false, true) => Some(format!(
                "no loaded image has a function `{name}`; the breakpoint binds when one is loaded that does"
            )),
            (false, false) => Some(format!("looking for `{name}` in the debug info")),
        };
        let unread = unread.into_iter().map(|loaded| Arc::clone(&loaded.module));
        resolved.unread = unread.collect();
        resolved
    }
}

fn find(name: &str, loaded: &Loaded, with_names: bool) -> Vec<Bound> {
    let places = match with_names {
        true => by_names(name, loaded),
        false => Vec::new(),
    };
    match places.is_empty() {
        true => by_symbols(name, loaded),
        false => places,
    }
}

fn by_names(name: &str, loaded: &Loaded) -> Vec<Bound> {
    let module = &loaded.module;
    let functions = module.functions_named(name);
    let mut bound: Vec<Bound> = functions
        .iter()
        .map(|function| bind_body(loaded, function))
        .collect();
    for entry in module.inlined_named(name) {
        let mut place = bind(loaded, entry);
        place.hidden = calls_beginning_at(module, entry).saturating_sub(1);
        bound.push(place);
    }
    bound
}

/// Functions by their symbols; those with debug info, if there are any.
fn by_symbols(name: &str, loaded: &Loaded) -> Vec<Bound> {
    let module = &loaded.module;
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for symbol in module.function_symbols(name) {
        if symbol.kind != SymbolKind::Function || symbol.addr.0 == 0 {
            continue;
        }
        match at_symbol(loaded, symbol.addr) {
            (place, true) => known.push(place),
            (place, false) => unknown.push(place),
        }
    }
    if known.is_empty() { unknown } else { known }
}
