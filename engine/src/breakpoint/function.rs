//! Breakpoints on functions by their names: by symbols at once, by debug info once that has been
//! searched.

use super::Bound;
use super::resolve::{Resolved, at_symbol, bind, bind_body, first_of_each_instance};
use crate::debugger::ModuleId;
use crate::indexer::Indexer;
use crate::modules::{Loaded, Modules};
use crate::stack::calls_beginning_at;
use dwarf::{
    AddrRange, FileAddr, Function, FunctionPlaces, LineLocation, Module, SourceLocation, SymbolKind,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A name, and where it was found so far: what the debug info of an image has comes later.
pub struct Named {
    name: Arc<str>,
    found: FxHashMap<ModuleId, Found>,
    /// Images ([`Module::identity`]) that are searched for it.
    searched: Vec<u64>,
    /// The program does not wait for the searches that are under way.
    passed_by: bool,
}

struct Found {
    /// Whether the debug info has been searched.
    complete: bool,
    places: Vec<Bound>,
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

    /// An image is to be asked again.
    pub fn forget(&mut self, module: ModuleId) {
        self.found.remove(&module);
    }

    /// Whether the program is to wait for a search that is under way.
    pub fn is_awaited(&self, indexer: &Indexer) -> bool {
        let mut images = self.searched.iter();
        !self.passed_by && images.any(|image| indexer.is_searching(*image, &self.name))
    }

    /// The program does not wait for the searches that are under way.
    pub fn pass_by(&mut self) {
        self.passed_by = true;
    }

    /// Adds the places in an image that is new, where others have some; the image, if it is to be
    /// searched for more.
    pub fn add_places(&mut self, loaded: &Loaded, resolved: &mut Resolved) {
        let places = loaded.module.function_places(&self.name);
        let complete = places.is_some();
        let places = find(&self.name, loaded, places.as_deref());
        resolved.bound.extend(places.iter().cloned());
        self.found.insert(loaded.id, Found { complete, places });
        if !complete && !loaded.is_of_the_system() {
            self.searched.push(loaded.module.identity());
            resolved.unread.push(Arc::clone(&loaded.module));
        }
    }

    /// The bodies of all functions of the name, and their inlined copies.
    pub fn resolve(&mut self, modules: &Modules) -> Resolved {
        let mut resolved = Resolved::default();
        let mut unread = Vec::new();
        for loaded in &modules.loaded {
            let known = self.found.get(&loaded.id);
            if known.is_none_or(|found| !found.complete) {
                let places = loaded.module.function_places(&self.name);
                let complete = places.is_some();
                if !complete {
                    unread.push(loaded);
                }
                if complete || known.is_none() {
                    let places = find(&self.name, loaded, places.as_deref());
                    self.found.insert(loaded.id, Found { complete, places });
                }
            }
            let found = self.found.get(&loaded.id);
            let places = found.into_iter().flat_map(|found| &found.places);
            resolved.bound.extend(places.cloned());
        }
        let bound = &mut resolved.bound;
        bound.sort_by_key(|bound| bound.addr);
        bound.dedup_by_key(|bound| bound.addr);
        // Debug info knows of more than symbols do: inlined copies, and functions whose symbols
        // were stripped. A library of the system's is searched only if nothing else has any.
        let found = !bound.is_empty();
        unread.retain(|loaded| !found || !loaded.is_of_the_system());
        self.searched = unread.iter().map(|it| it.module.identity()).collect();
        if self.searched.is_empty() {
            self.passed_by = false;
        }
        let name = &self.name;
        let late = self.passed_by.then(|| {
            format!(
                "`{name}` is still looked for in the debug info; calls until it is found are passed"
            )
        });
        resolved.why = match (found, unread.is_empty()) {
            (true, _) => None,
            (false, true) => Some(format!(
                "no loaded image has a function `{name}`; the breakpoint binds when one is loaded that does"
            )),
            (false, false) => late
                .clone()
                .or_else(|| Some(format!("looking for `{name}` in the debug info"))),
        };
        resolved.note = late.filter(|_| found);
        let unread = unread.into_iter().map(|loaded| Arc::clone(&loaded.module));
        resolved.unread = unread.collect();
        resolved
    }
}

fn find(name: &str, loaded: &Loaded, places: Option<&FunctionPlaces>) -> Vec<Bound> {
    let places = places.map_or(Vec::new(), |places| in_debug_info(places, loaded));
    match places.is_empty() {
        true => by_symbols(name, loaded),
        false => places,
    }
}

fn in_debug_info(places: &FunctionPlaces, loaded: &Loaded) -> Vec<Bound> {
    let module = &loaded.module;
    let functions = places.functions.iter();
    let mut bound: Vec<Bound> = functions
        .map(|function| bind_body(loaded, function))
        .collect();
    for entry in &places.inlined {
        let mut place = bind(loaded, *entry);
        place.hidden = calls_beginning_at(module, *entry).saturating_sub(1);
        bound.push(place);
    }
    let bodies = places.async_bodies.iter();
    let mut begun: Vec<FileAddr> = bodies
        .filter_map(|body| first_of_async_body(module, body))
        .collect();
    let copies = places.inlined_async_bodies.iter();
    begun.extend(copies.filter_map(|entry| first_of_inlined_body(module, *entry)));
    bound.extend(begun.into_iter().map(|addr| bind(loaded, addr)));
    bound
}

/// Where the source of an async function begins in what its future runs: behind the code that
/// every poll comes by, which finds where to resume.
fn first_of_async_body(module: &Module, body: &Function) -> Option<FileAddr> {
    let head = module.row_at(module.body_start(body))?.location?;
    let is_own = |addr| {
        let frames = body.frames_at(addr);
        frames.first().is_some_and(|frame| frame.inlined.is_none())
    };
    first_behind(module, &body.ranges, &head, is_own)
}

/// The same in the copy of such a body that is entered at an address.
fn first_of_inlined_body(module: &Module, entry: FileAddr) -> Option<FileAddr> {
    let function = module.function_at(entry)?;
    let frames = function.frames_at(entry);
    let (call, scope) = frames.iter().find_map(|frame| {
        let call = frame.inlined.filter(|call| call.entry == entry)?;
        let is_body = call.name.ends_with('}');
        Some((call, *frame.scopes.first()?)).filter(|_| is_body)
    })?;
    let head = SourceLocation {
        // The column of the name: the body is behind all of them that are on the line.
        column: u32::MAX,
        ..call.declaration.clone()?
    };
    let is_own = |addr| {
        let frames = function.frames_at(addr);
        let innermost = frames.first().and_then(|frame| frame.inlined);
        innermost.is_some_and(|innermost| innermost.origin == call.origin)
    };
    first_behind(module, &scope.ranges, &head, is_own)
}

/// Where the first line behind `head` is entered, as far as that code is `is_own`.
fn first_behind(
    module: &Module,
    ranges: &[AddrRange<FileAddr>],
    head: &SourceLocation,
    is_own: impl Fn(FileAddr) -> bool,
) -> Option<FileAddr> {
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
    // What a body on the line of its function begins with is told by columns only.
    let line = lines.clone().filter(|line| *line > head.line).min();
    let Some(line) = line else {
        let first = own
            .iter()
            .min_by_key(|(it, addr)| (it.line, it.column, *addr));
        return first.map(|(_, addr)| *addr);
    };
    let mut on_line = own.into_iter().filter(|(it, _)| it.line == line);
    let (location, first) = on_line.next()?;
    let lowest = on_line.map(|(_, addr)| addr).fold(first, FileAddr::min);
    let places = module.line_locations(&location.file, line);
    let within = |place: &LineLocation| ranges.iter().any(|it| it.contains(place.addr));
    let places = places
        .into_iter()
        .filter(|it| within(it) && is_own(it.addr));
    let entered = first_of_each_instance(module, places.collect()).into_iter();
    Some(entered.map(|place| place.addr).min().unwrap_or(lowest))
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
