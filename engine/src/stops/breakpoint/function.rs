//! Breakpoints on functions by name: resolved by symbols at once, and by debug info once it has
//! been searched.

use super::BoundLocation;
use super::indirect::{Chooser, choosers};
use super::problem::{Problem, ProblemKind};
use super::resolve::{
    Resolved, at_symbol, bind, bind_body, first_of_each_instance, with_entries_inside,
};
use crate::ids::ModuleId;
use crate::images::indexer::Indexer;
use crate::images::modules::{Loaded, Modules};
use crate::inspect::inlined::calls_beginning_at;
use dwarf::{
    AddrRange, FileAddr, Function, FunctionPlaces, LineLocation, LoadAddr, Module, SourceLocation,
    SymbolKind,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A function name and the locations found so far; those from debug info are added later.
pub struct Named {
    name: Arc<str>,
    found: FxHashMap<ModuleId, ModuleLocations>,
    /// Images ([`Module::identity`]) that are searched for the name.
    searched: Vec<u64>,
    /// Whether the program no longer waits for pending searches.
    passed_by: bool,
}

struct ModuleLocations {
    /// Whether the debug info has been searched.
    complete: bool,
    places: Vec<BoundLocation>,
    /// Ifunc resolvers of the name, which select further functions.
    choosers: Vec<Chooser>,
}

impl ModuleLocations {
    fn in_image(name: &str, loaded: &Loaded) -> Self {
        let known = loaded.module.function_places(name);
        let choosers = choosers(name, loaded);
        let is_chooser = |addr: FileAddr| {
            let addr = loaded.bias.load(addr);
            choosers.iter().any(|chooser| chooser.addr == addr)
        };
        Self {
            complete: known.is_some(),
            places: find(name, loaded, known.as_deref(), is_chooser),
            choosers,
        }
    }

    /// Returns whether the image has nothing of that name.
    fn is_nothing(&self) -> bool {
        self.complete && self.places.is_empty() && self.choosers.is_empty()
    }
}

impl Named {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            found: FxHashMap::default(),
            searched: Vec::new(),
            passed_by: false,
        }
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Drops the result for an image, so that it is searched again.
    pub fn forget(&mut self, module: ModuleId) {
        self.found.remove(&module);
    }

    /// Returns whether the program has to wait for a pending search.
    pub fn is_awaited(&self, indexer: &Indexer) -> bool {
        let mut images = self.searched.iter();
        !self.passed_by && images.any(|image| indexer.is_searching(*image, &self.name))
    }

    /// Ends the wait for pending searches.
    pub fn pass_by(&mut self) {
        self.passed_by = true;
    }

    /// Returns whether the resolver at an address selects a function of the name.
    pub fn is_chosen_by(&self, chooser: LoadAddr) -> bool {
        let mut found = self.found.values();
        found.any(|found| found.choosers.iter().any(|it| it.addr == chooser))
    }

    /// Returns whether a new image may have something of the name.
    pub fn concerns(&mut self, loaded: &Loaded) -> bool {
        let found = ModuleLocations::in_image(&self.name, loaded);
        let concerns = !found.is_nothing();
        self.found.insert(loaded.id, found);
        concerns
    }

    /// Adds the locations in a new image; also the image, if it is still to be searched.
    pub fn add_places(&mut self, loaded: &Loaded, resolved: &mut Resolved) {
        let found = ModuleLocations::in_image(&self.name, loaded);
        let complete = found.complete;
        resolved.bound.extend(found.places.iter().cloned());
        resolved.choosers.extend(found.choosers.iter().cloned());
        self.found.insert(loaded.id, found);
        if !complete && !loaded.is_of_the_system() {
            self.searched.push(loaded.module.identity());
            resolved.unread.push(Arc::clone(&loaded.module));
        }
    }

    /// Returns the bodies of all functions of the name, and their inlined copies.
    pub fn resolve(&mut self, modules: &Modules) -> Resolved {
        let mut resolved = Resolved::default();
        let mut unread = Vec::new();
        for loaded in &modules.loaded {
            let known = self.found.get(&loaded.id);
            if known.is_none_or(|found| !found.complete) {
                let complete = loaded.module.function_places(&self.name).is_some();
                if !complete {
                    unread.push(loaded);
                }
                if complete || known.is_none() {
                    let found = ModuleLocations::in_image(&self.name, loaded);
                    self.found.insert(loaded.id, found);
                }
            }
            if let Some(found) = self.found.get(&loaded.id) {
                resolved.bound.extend(found.places.iter().cloned());
                resolved.choosers.extend(found.choosers.iter().cloned());
            }
        }
        let bound = &mut resolved.bound;
        bound.sort_by_key(|bound| bound.addr);
        bound.dedup_by_key(|bound| bound.addr);
        // Debug info has more than the symbols: inlined copies, and functions whose symbols were
        // stripped. A system library is searched only if no other image has the name.
        let found = !bound.is_empty() || !resolved.choosers.is_empty();
        unread.retain(|loaded| !found || !loaded.is_of_the_system());
        self.searched = unread.iter().map(|it| it.module.identity()).collect();
        if self.searched.is_empty() {
            self.passed_by = false;
        }
        let name = &self.name;
        let late = self.passed_by.then(|| {
            format!("still searching debug info for `{name}`; calls before it is found are missed")
        });
        resolved.why = match (found, unread.is_empty()) {
            (true, _) => resolved.choosers.first().map(|_| {
                let state = "is an indirect function (IFUNC) that was not resolved yet";
                format!("pending: `{name}` {state}").into()
            }),
            (false, true) => {
                let text = format!("pending: no function `{name}` in a loaded module");
                Some(Problem::new(ProblemKind::NotFound, text))
            }
            (false, false) => Some(match &late {
                Some(late) => late.clone().into(),
                None => {
                    let text = format!("searching debug info for `{name}`");
                    Problem::new(ProblemKind::Searching, text)
                }
            }),
        };
        resolved.note = late.filter(|_| found);
        let unread = unread.into_iter().map(|loaded| Arc::clone(&loaded.module));
        resolved.unread = unread.collect();
        resolved
    }
}

pub(crate) fn find(
    name: &str,
    loaded: &Loaded,
    places: Option<&FunctionPlaces>,
    is_chooser: impl Fn(FileAddr) -> bool,
) -> Vec<BoundLocation> {
    let places = places.map_or(Vec::new(), |places| {
        in_debug_info(places, loaded, is_chooser)
    });
    match places.is_empty() {
        true => by_symbols(name, loaded),
        false => places,
    }
}

fn in_debug_info(
    places: &FunctionPlaces,
    loaded: &Loaded,
    is_chooser: impl Fn(FileAddr) -> bool,
) -> Vec<BoundLocation> {
    let module = &loaded.module;
    let functions = places.functions.iter();
    let functions = functions.filter(|function| !is_chooser(function.entry));
    let mut bound: Vec<BoundLocation> = functions
        .map(|function| bind_body(loaded, function))
        .collect();
    for entry in &places.inlined {
        let mut place = bind(loaded, *entry);
        place.hidden = calls_beginning_at(module, *entry).saturating_sub(1);
        bound.push(place);
    }
    let bodies = places.async_bodies.iter();
    let mut begun: Vec<Begun> = bodies
        .flat_map(|body| first_of_async_body(module, body))
        .collect();
    let copies = places.inlined_async_bodies.iter();
    begun.extend(copies.flat_map(|entry| first_of_inlined_body(module, *entry)));
    bound.extend(begun.into_iter().map(|(addr, shown)| {
        let mut place = bind(loaded, addr);
        if let Some(shown) = shown {
            place.source = Some((shown.file.path.clone(), shown.line, shown.column));
            place.shown = Some(shown);
        }
        place
    }));
    bound
}

/// A location, and the line to show at a stop there if the line table assigns another one.
pub(crate) type Begun = (FileAddr, Option<SourceLocation>);

/// Returns where the source of an async function begins in its future's poll function: after the
/// dispatch code that each poll executes.
fn first_of_async_body(module: &Module, body: &Function) -> Vec<Begun> {
    let row = module.row_at(module.body_start(body));
    let Some(head) = row.and_then(|row| row.location) else {
        return Vec::new();
    };
    let is_own = |addr| {
        let frames = body.frames_at(addr);
        frames.first().is_some_and(|frame| frame.inlined.is_none())
    };
    first_behind(module, &body.ranges, &head, is_own)
}

/// Like [`first_of_async_body`], for the inlined copy entered at an address.
fn first_of_inlined_body(module: &Module, entry: FileAddr) -> Vec<Begun> {
    let Some(function) = module.function_at(entry) else {
        return Vec::new();
    };
    let frames = function.frames_at(entry);
    let body = frames.iter().find_map(|frame| {
        let call = frame.inlined.filter(|call| call.entry == entry)?;
        let is_body = call.name.ends_with('}');
        Some((call, *frame.scopes.first()?)).filter(|_| is_body)
    });
    let Some((call, scope)) = body else {
        return Vec::new();
    };
    let Some(declaration) = call.declaration.clone() else {
        return Vec::new();
    };
    let head = SourceLocation {
        // The column of the name; the body is after every column on its line.
        column: u32::MAX,
        ..declaration
    };
    let is_own = |addr| {
        let frames = function.frames_at(addr);
        let innermost = frames.first().and_then(|frame| frame.inlined);
        innermost.is_some_and(|innermost| innermost.origin == call.origin)
    };
    first_behind(module, &scope.ranges, &head, is_own)
}

/// Returns the entries of the first line after `head`, within the code that is `is_own`.
fn first_behind(
    module: &Module,
    ranges: &[AddrRange<FileAddr>],
    head: &SourceLocation,
    is_own: impl Fn(FileAddr) -> bool,
) -> Vec<Begun> {
    let rows = ranges.iter().flat_map(|range| module.rows_in(*range));
    let own = rows.filter(|row| row.is_stmt).filter_map(|row| {
        let location = row.location?;
        let addr = row.range.start;
        let behind = (location.line, location.column) > (head.line, head.column);
        let fits = behind && location.file.path == head.file.path && is_own(addr);
        fits.then_some((location, addr))
    });
    let own: Vec<(SourceLocation, FileAddr)> = own.collect();
    let lines = own.iter().map(|(location, _)| location.line);
    // If the body is on the line of its function, only columns mark where it begins.
    let line = lines.clone().filter(|line| *line > head.line).min();
    let Some(line) = line else {
        let first = own
            .iter()
            .min_by_key(|(it, addr)| (it.line, it.column, *addr));
        return first.map(|(_, addr)| (*addr, None)).into_iter().collect();
    };
    let mut on_line = own.into_iter().filter(|(it, _)| it.line == line);
    let Some((location, first)) = on_line.next() else {
        return Vec::new();
    };
    let lowest = on_line.map(|(_, addr)| addr).fold(first, FileAddr::min);
    let places = module.line_locations(&location.file, line);
    let within = |place: &LineLocation| within_any(ranges, place.addr);
    let places = places
        .into_iter()
        .filter(|it| within(it) && is_own(it.addr));
    let entered = first_of_each_instance(module, places.collect()).into_iter();
    let Some(first) = entered.min_by_key(|place| place.addr) else {
        return vec![(lowest, None)];
    };
    let begun = with_entries_inside(module, vec![first], |addr| {
        (within_any(ranges, addr) && is_own(addr)).then_some(0)
    });
    let shown = |place: &LineLocation| {
        let row = module.row_at(place.addr).and_then(|row| row.location);
        let is_there = row.is_some_and(|it| it.line == line && it.file.path == head.file.path);
        (!is_there).then(|| place.location.clone())
    };
    begun
        .iter()
        .map(|place| (place.addr, shown(place)))
        .collect()
}

fn within_any(ranges: &[AddrRange<FileAddr>], addr: FileAddr) -> bool {
    ranges.iter().any(|range| range.contains(addr))
}

/// Returns functions by their symbols; only those with debug info, if there are any.
fn by_symbols(name: &str, loaded: &Loaded) -> Vec<BoundLocation> {
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
