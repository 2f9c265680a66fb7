//! Resolution of lines to addresses, in every instance of their code, and of functions to the
//! address after their prologue.

use super::depth::{Line, declaration, depth_of};
use super::indirect::Chooser;
use super::inlined;
use super::locations::{instance, places_on};
use super::other_paths::on_other_paths;
use super::problem::{Problem, ProblemKind};
use super::sources::{Files, files_of, no_such_source};
use super::{BoundLocation, async_wrapper};
use crate::arch::Arch;
use crate::arch::flow::{self, Callee, Candidate};
use crate::images::body::{self, Extent};
use crate::images::modules::{Loaded, Modules};
use crate::inspect::inlined::calls_at_body;
use dwarf::{FileAddr, Function, LineLocation, Module, SourceFile, SourceLocation};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// Maximum distance in lines that a line without code outside of all known functions moves down.
const SLIDE: u32 = 8;
/// Maximum number of lines with code that are searched for one in the same function.
const MAX_LINES_AHEAD: usize = 64;

/// The locations of a breakpoint.
#[derive(Default)]
pub struct Resolved {
    pub bound: Vec<BoundLocation>,
    /// Why there are none.
    pub why: Option<Problem>,
    /// A remark for the user.
    pub note: Option<String>,
    /// Images that may have more locations once they are indexed.
    pub unread: Vec<Arc<Module>>,
    /// Ifunc resolvers that select further locations.
    pub choosers: Vec<Chooser>,
}

/// Resolves a line.
pub fn resolve(source: &Path, line: u32, column: Option<u32>, modules: &Modules) -> Resolved {
    let files = files_of(source, modules);
    let (bound, why) = resolve_line(source, line, column, &files, modules);
    Resolved {
        note: files.by_end.map(|path| by_end(&path)),
        bound,
        why,
        ..Resolved::default()
    }
}

fn resolve_line(
    source: &Path,
    line: u32,
    column: Option<u32>,
    files: &Files<'_>,
    modules: &Modules,
) -> (Vec<BoundLocation>, Option<Problem>) {
    let files = &files.files;
    if files.is_empty() {
        return (Vec::new(), Some(no_such_source(source, modules).into()));
    }
    let places = |line: u32| -> Vec<Vec<LineLocation>> {
        let places = files.iter();
        places
            .map(|(loaded, file)| loaded.module.line_locations(file, line))
            .collect()
    };
    let mut found = places(line);
    let is_stmt = found.iter().flatten().any(|it| it.is_stmt);
    for ((loaded, file), found) in files.iter().zip(&mut found) {
        let line = Line { file, line };
        inlined::complete(&loaded.module, line, is_stmt, found);
    }
    let is_here = !found.iter().all(Vec::is_empty);
    let target = match is_here {
        true => Some(line),
        // The nearest line with code, the same one for all files and images.
        false => files
            .iter()
            .filter_map(|(loaded, file)| next_line(&loaded.module, file, line))
            .min(),
    };
    let Some(target) = target else {
        return (Vec::new(), Some(no_code(files, line)));
    };
    if !is_here {
        found = places(target);
    }
    let mut bound = Vec::new();
    for ((loaded, file), locations) in files.iter().zip(found) {
        let locations = match column.filter(|_| is_here) {
            Some(column) => at_column(&loaded.module, file, line, column, locations),
            None => locations,
        };
        bound.extend(bind_all(loaded, file, target, locations));
    }
    let bound = in_order(bound);
    if bound.is_empty() {
        return (bound, Some(no_code(files, line)));
    }
    (bound, None)
}

/// Returns the locations of exactly that line in these images.
pub fn resolve_line_in<'a>(
    images: impl Iterator<Item = &'a Loaded>,
    source: &Path,
    line: u32,
    column: Option<u32>,
) -> Vec<BoundLocation> {
    let mut bound = Vec::new();
    for loaded in images {
        let module = &loaded.module;
        for file in module.find_sources(source) {
            let mut locations = module.line_locations(&file, line);
            let is_stmt = locations.iter().any(|it| it.is_stmt);
            let at = Line { file: &file, line };
            inlined::complete(module, at, is_stmt, &mut locations);
            if let Some(column) = column {
                locations = at_column(module, &file, line, column, locations);
            }
            bound.extend(bind_all(loaded, &file, line, locations));
        }
    }
    in_order(bound)
}

fn in_order(mut bound: Vec<BoundLocation>) -> Vec<BoundLocation> {
    bound.sort_by_key(|bound| bound.addr);
    bound.dedup_by_key(|bound| bound.addr);
    bound
}

/// Returns those locations of a line in an image at which it is entered.
fn bind_all(
    loaded: &Loaded,
    file: &SourceFile,
    line: u32,
    mut locations: Vec<LineLocation>,
) -> Vec<BoundLocation> {
    let module = &loaded.module;
    let line = Line { file, line };
    for location in &mut locations {
        // The instance of the frame that the line belongs to, not of a call inlined there.
        let (_, instance) = depth_at(module, location.addr, line);
        location.instance = instance.unwrap_or(location.instance);
    }
    async_wrapper::remove_entries(module, line.line, &mut locations);
    let mut entered = first_of_each_instance(module, locations);
    let mut marked = module.marks_of_line(file, line.line);
    for mark in &mut marked {
        let (_, instance) = depth_at(module, mark.addr, line);
        mark.instance = instance.unwrap_or(mark.instance);
    }
    entered.extend(on_other_paths(module, &entered, marked));
    let mut bound = Vec::new();
    let entered = with_entries_inside(module, entered, |addr| depth_at(module, addr, line).1);
    for location in entered {
        let addr = behind_prologue(module, location.addr);
        let mut place = bind(loaded, addr);
        place.hidden = depth_at(module, addr, line).0;
        let shown = shown_at(module, addr, place.hidden);
        match shown {
            // The first statement of a function that begins on the line.
            Some(shown)
                if addr != location.addr
                    && shown.file.path == file.path
                    && begins_function(module, addr, place.hidden, line) =>
            {
                place.source = Some((shown.file.path.clone(), shown.line, shown.column));
            }
            shown => show_as_requested(&mut place, location.location, shown, line),
        }
        bound.push(place);
    }
    async_wrapper::remove(loaded, line, &mut bound);
    bound
}

/// Makes a stop show the requested line, also if the line table assigns another one to the code.
fn show_as_requested(
    place: &mut BoundLocation,
    requested: SourceLocation,
    natural: Option<SourceLocation>,
    line: Line<'_>,
) {
    place.source = Some((line.file.path.clone(), requested.line, requested.column));
    if !natural.is_some_and(|natural| line.is_at(&natural)) {
        place.shown = Some(requested);
    }
}

/// Returns which frame at `addr` the line belongs to, and the key of that frame's instance.
fn depth_at(module: &Module, addr: FileAddr, line: Line<'_>) -> (usize, Option<u64>) {
    let Some(function) = module.function_at(addr) else {
        return (0, None);
    };
    let row = module.row_at(addr).and_then(|row| row.location);
    let depth = depth_of(&function, addr, row.as_ref(), line);
    (depth, Some(instance(&function, addr, depth)))
}

/// Returns whether the function of the frame shown at `addr` is declared on the line or below.
fn begins_function(module: &Module, addr: FileAddr, hidden: usize, line: Line<'_>) -> bool {
    let Some(function) = module.function_at(addr) else {
        return true;
    };
    let frames = function.frames_at(addr);
    let declared = frames.get(hidden).and_then(|it| declaration(&function, it));
    declared.is_none_or(|it| it.line >= line.line)
}

/// Returns the line that a stop at `addr` shows with `hidden` inlined calls hidden.
fn shown_at(module: &Module, addr: FileAddr, hidden: usize) -> Option<SourceLocation> {
    let Some(left_out) = hidden.checked_sub(1) else {
        return module.place_at(addr);
    };
    let function = module.function_at(addr)?;
    let frames = function.frames_at(addr);
    frames.get(left_out)?.inlined?.call_site.clone()
}

fn by_end(path: &Path) -> String {
    format!(
        "matched to {}, the only source in debug info with the same path suffix",
        path.display()
    )
}

/// Returns those of the locations `all` of a line that are at the requested column, or at the next
/// column after it that has any. Locations recommended by the compiler are preferred.
fn at_column(
    module: &Module,
    file: &SourceFile,
    line: u32,
    column: u32,
    all: Vec<LineLocation>,
) -> Vec<LineLocation> {
    let mut places = places_on(module, file, line..=line, || false);
    let columns = places.iter().map(|place| place.location.column);
    let Some(nearest) = columns.filter(|have| *have >= column).min() else {
        return all;
    };
    places.retain(|place| place.location.column == nearest);
    if places.iter().any(|place| place.is_stmt) {
        places.retain(|place| place.is_stmt);
    }
    places
}

/// Returns the next line below that has code, in the function that contains the line. A line below
/// a function's last line with code may be its closing brace, and belongs to the function.
fn next_line(module: &Module, file: &SourceFile, line: u32) -> Option<u32> {
    let lines = module.lines_with_code(file);
    let behind = lines.partition_point(|have| *have <= line);
    let above = lines[..behind].iter().rev().find(|have| **have < line);
    let is_apart = above.is_none_or(|above| line - above > 1);
    let mut below = lines.get(behind..)?.iter().take(MAX_LINES_AHEAD);
    below.find_map(|next| {
        let addr = module.line_locations(file, *next).first()?.addr;
        let Some(function) = module.function_at(addr) else {
            return (next - line <= SLIDE).then_some(*next);
        };
        let requested = Line { file, line: *next };
        let (depth, _) = depth_at(module, addr, requested);
        let frames = function.frames_at(addr);
        let declared = declaration(&function, frames.get(depth)?)?;
        // An attribute or a return type is above the name.
        let first = declared.line - u32::from(is_apart && declared.line > 1);
        (declared.file.path == file.path && first <= line).then_some(*next)
    })
}

/// Returns one location for each function instance: the one that is entered first (see
/// [`flow::first_reached`]).
pub(super) fn first_of_each_instance(
    module: &Module,
    locations: Vec<LineLocation>,
) -> Vec<LineLocation> {
    let mut instances: FxHashMap<u64, Vec<LineLocation>> = FxHashMap::default();
    for location in locations {
        instances
            .entry(location.instance)
            .or_default()
            .push(location);
    }
    let mut kept = Vec::new();
    for mut group in instances.into_values() {
        if group.len() > 1
            && let Some(arch) = Arch::of(module.machine())
            && let Some(function) = group
                .first()
                .and_then(|location| Extent::at(module, location.addr))
        {
            let code = function.code(module);
            let candidates: Vec<Candidate> = group
                .iter()
                .map(|location| Candidate {
                    addr: location.addr,
                    end: end_of_line(module, location),
                })
                .collect();
            let returns = returns_in(module);
            let first = flow::first_reached(arch, &code, function.entry, &candidates, returns);
            group.retain(|location| first.contains(&location.addr));
        }
        kept.append(&mut group);
    }
    kept
}

/// Adds to these locations other entries into the line's code: compilers let jumps from other lines
/// lead into the middle of it. `instance` returns the function or copy that an address belongs to.
pub(super) fn with_entries_inside(
    module: &Module,
    entered: Vec<LineLocation>,
    instance: impl Fn(FileAddr) -> Option<u64>,
) -> Vec<LineLocation> {
    let addresses: Vec<FileAddr> = entered.iter().map(|it| it.addr).collect();
    let mut found = Vec::with_capacity(entered.len());
    for location in entered {
        let function = Extent::at(module, location.addr);
        let inner = function
            .as_ref()
            .map(|it| statements_inside(module, it, &location));
        let inner = inner.filter(|it| !it.is_empty());
        let arch = Arch::of(module.machine());
        let (Some(arch), Some(function), Some(inner)) = (arch, function, inner) else {
            found.push(location);
            continue;
        };
        let code = function.code(module);
        let here = (location.addr, &inner[..]);
        let own = instance(location.addr);
        let places = flow::entered_inside(
            (arch, &code),
            function.entry,
            here,
            &addresses,
            |addr| instance(addr) == own,
            returns_in(module),
        );
        found.extend(places.into_iter().map(|addr| LineLocation {
            addr,
            ..location.clone()
        }));
    }
    found
}

/// Returns where further statements of the line begin, in its code that starts at a location.
fn statements_inside(module: &Module, function: &Extent, location: &LineLocation) -> Vec<FileAddr> {
    let mut ranges = function.ranges.iter();
    let range = ranges.find(|range| range.contains(location.addr));
    let mut at = module.row_at(location.addr).map(|row| row.range.end);
    let mut found = Vec::new();

    while let Some(addr) = at
        && range.is_some_and(|range| range.contains(addr))
        && let Some(row) = module.row_at(addr)
        && row.range.end > addr
        && row.location.is_some_and(|it| {
            it.line == location.location.line && it.file.path == location.location.file.path
        })
    {
        if row.is_stmt {
            found.push(addr);
        }
        at = Some(row.range.end);
    }
    found
}

/// Returns the end of the line's code that starts at a location: the next row is another line's.
/// Returns the location itself if the end is unknown.
fn end_of_line(module: &Module, location: &LineLocation) -> FileAddr {
    let row_at = |addr| module.row_at(addr);
    let end = row_at(location.addr).map_or(location.addr, |row| row.range.end);
    let goes_on = row_at(end)
        .and_then(|row| row.location)
        .is_some_and(|next| {
            next.line == location.location.line && next.file.path == location.location.file.path
        });
    match goes_on {
        true => location.addr,
        false => end,
    }
}

/// Returns a predicate whether a callee ever returns, as far as is known; results are memoized.
pub(super) fn returns_in(module: &Module) -> impl FnMut(Callee) -> bool + '_ {
    let mut known = FxHashMap::default();
    move |callee| {
        let known = known.entry(callee);
        *known.or_insert_with(|| returns(module, callee).unwrap_or(true))
    }
}

/// Returns whether a callee ever returns; `None` if that is unknown.
fn returns(module: &Module, callee: Callee) -> Option<bool> {
    /// Maximum size of a function to decode, in bytes: one that never returns is short.
    const MAX_FUNCTION_BYTES: u64 = 1 << 12;
    let arch = Arch::of(module.machine())?;
    let start = match callee {
        Callee::At(addr) => addr,
        Callee::In(place) => module.relocated(place)?,
    };
    let symbol = module.symbol_at(start)?;
    if symbol.addr != start || symbol.size == 0 || symbol.size > MAX_FUNCTION_BYTES {
        return None;
    }
    let mut code = vec![0; symbol.size as usize];
    module.read_image(start, &mut code)?;
    Some(flow::returns(arch, start, &code))
}

/// Moves a location at a function's entry to the end of its prologue, where arguments can be read.
fn behind_prologue(module: &Module, addr: FileAddr) -> FileAddr {
    match module.function_at(addr) {
        Some(function) if function.entry == addr => body::passed_once(module, &function),
        _ => addr,
    }
}

pub fn bind(loaded: &Loaded, addr: FileAddr) -> BoundLocation {
    let source = loaded
        .module
        .row_at(addr)
        .and_then(|row| row.location)
        .map(|location| (location.file.path.clone(), location.line, location.column));
    BoundLocation {
        addr: loaded.bias.load(addr),
        module: loaded.id,
        source,
        language: loaded.module.language_at(addr).unwrap_or_default(),
        hidden: 0,
        shown: None,
    }
}

fn no_code(files: &[(&Loaded, Arc<SourceFile>)], line: u32) -> Problem {
    let mut lines: Vec<u32> = files
        .iter()
        .flat_map(|(loaded, file)| loaded.module.lines_with_code(file))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.retain(|have| *have != line);
    let below = lines.partition_point(|have| *have < line);
    let near: Vec<String> = lines
        .iter()
        .skip(below.saturating_sub(2))
        .take(4)
        .map(u32::to_string)
        .collect();
    let near = near.join(", ");
    let text = format!("no code at line {line}; nearest lines with code: {near}");
    Problem::new(ProblemKind::NoCode, text)
}

/// Returns the location of a function's body, shown as the function itself although its first line
/// may be that of an inlined call.
pub fn bind_body(loaded: &Loaded, function: &Function) -> BoundLocation {
    let addr = body::passed_once(&loaded.module, function);
    let mut place = bind(loaded, addr);
    place.hidden = calls_at_body(function, addr);
    if place.hidden > 0
        && let Some(outermost) = function.frames_at(addr).iter().rev().nth(1)
        && let Some(site) = outermost.inlined.and_then(|call| call.call_site.clone())
    {
        place.source = Some((site.file.path.clone(), site.line, site.column));
    }
    place
}

/// Moves the locations of functions to where each call passes once, although parameters may not be readable there.
pub fn move_to_counted(places: &mut [BoundLocation], modules: &Modules) {
    for place in places {
        let Some(loaded) = modules.get(place.module) else {
            continue;
        };
        let module = &loaded.module;
        let addr = loaded.bias.file(place.addr);
        // Inlined copies, which `function_at` does not tell from the function around them, stay.
        if let Some(function) = module.function_at(addr)
            && body::passed_by_each_call(module, &function) == addr
        {
            place.addr = loaded.bias.load(body::counted_once(module, &function));
        }
    }
}

/// Returns the location of a symbol's function, and whether it has debug info.
pub fn at_symbol(loaded: &Loaded, addr: FileAddr) -> (BoundLocation, bool) {
    match loaded.module.function_at(addr) {
        Some(function) if function.entry == addr => (bind_body(loaded, &function), true),
        _ => (bind(loaded, addr), false),
    }
}
