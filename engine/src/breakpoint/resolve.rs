//! From lines to addresses: every instance of their code; functions to the place behind their
//! prologue.

use super::Bound;
use super::inlined::calls_on_line;
use super::locations::statements;
use super::sources::{Files, files_of, no_such_source};
use crate::arch::x86_64_flow::{self, Callee, Candidate};
use crate::modules::{Loaded, Modules};
use crate::stack::{calls_at_body, calls_beginning_at};
use dwarf::{FileAddr, Function, InlinedSubroutine, LineLocation, Machine, Module, SourceFile};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A line without code moves down to the next one that has some, at most so far outside the
/// function that follows.
const SLIDE: u32 = 8;

/// Where a breakpoint is to be planted.
#[derive(Default)]
pub struct Resolved {
    pub bound: Vec<Bound>,
    /// Why nowhere.
    pub why: Option<String>,
    /// What else there is to know.
    pub note: Option<String>,
    /// Images that may have more once they have been searched.
    pub unread: Vec<Arc<Module>>,
}

/// The places of a line.
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
) -> (Vec<Bound>, Option<String>) {
    let files = &files.files;
    if files.is_empty() {
        return (Vec::new(), Some(no_such_source(source, modules)));
    }
    let calls: Vec<_> = match files.iter().any(|it| has_code(it, line)) {
        true => Vec::new(),
        false => files
            .iter()
            .map(|(loaded, file)| calls_on_line(&loaded.module, file, line))
            .collect(),
    };
    if calls.iter().any(|calls| !calls.is_empty()) {
        let bound = files.iter().zip(calls);
        let bound = bound.flat_map(|((loaded, file), calls)| bind_all(loaded, file, line, calls));
        return (in_order(bound.collect()), None);
    }
    // The nearest line with code, the same one for all files and images.
    let target = files
        .iter()
        .filter_map(|(loaded, file)| nearest_line(&loaded.module, file, line))
        .min();
    let Some(target) = target else {
        return (Vec::new(), Some(no_code(files, line)));
    };
    let mut bound = Vec::new();
    for (loaded, file) in files {
        let locations = match column.filter(|_| target == line) {
            Some(column) => at_column(&loaded.module, file, line, column),
            None => loaded.module.line_locations(file, target),
        };
        bound.extend(bind_all(loaded, file, target, locations));
    }
    let bound = in_order(bound);
    if bound.is_empty() {
        return (bound, Some(no_code(files, line)));
    }
    (bound, None)
}

fn has_code((loaded, file): &(&Loaded, Arc<SourceFile>), line: u32) -> bool {
    let lines = loaded.module.lines_with_code(file);
    lines.binary_search(&line).is_ok()
}

fn in_order(mut bound: Vec<Bound>) -> Vec<Bound> {
    bound.sort_by_key(|bound| bound.addr);
    bound.dedup_by_key(|bound| bound.addr);
    bound
}

/// The places where a line is entered, of those that it has in an image.
fn bind_all(
    loaded: &Loaded,
    file: &SourceFile,
    line: u32,
    locations: Vec<LineLocation>,
) -> Vec<Bound> {
    let mut bound = Vec::new();
    for location in first_of_each_instance(&loaded.module, locations) {
        let mut place = bind(loaded, behind_prologue(&loaded.module, location.addr));
        // An inlined call may begin here, with rows of its own: the stop is on the line that
        // was asked for, the call not entered.
        let asked = |(path, have, _): &(PathBuf, u32, u32)| *path == file.path && *have == line;
        if !place.source.as_ref().is_some_and(asked) {
            let addr = loaded.bias.file(place.addr);
            if let Some(hidden) = calls_made_on(&loaded.module, addr, file, line) {
                place.hidden = hidden;
                place.source = Some((file.path.clone(), line, location.location.column));
            } else if place
                .source
                .as_ref()
                .is_some_and(|(path, ..)| *path != file.path)
            {
                place.source = Some((file.path.clone(), line, location.location.column));
            }
        }
        bound.push(place);
    }
    bound
}

/// How many inlined calls that begin at `addr` (or in the prologue before it) to leave out so
/// that what is seen is `line`: the one on which the outermost of them is made.
fn calls_made_on(module: &Module, addr: FileAddr, file: &SourceFile, line: u32) -> Option<usize> {
    let function = module.function_at(addr)?;
    let begun = calls_beginning_at(module, addr).max(if module.body_start(&function) == addr {
        calls_at_body(&function, addr)
    } else {
        0
    });
    let frames = function.frames_at(addr);
    let made_here = |call: &InlinedSubroutine| {
        let site = call.call_site.as_ref();
        site.is_some_and(|site| site.line == line && site.file.path == file.path)
    };
    let calls = frames.iter().map_while(|frame| frame.inlined).take(begun);
    calls
        .enumerate()
        .find(|(_, call)| made_here(call))
        .map(|(index, _)| index + 1)
}

fn by_end(path: &Path) -> String {
    format!(
        "taken for {}, the only source in the debug info whose path ends alike",
        path.display()
    )
}

/// Of several places on a line, those of the column asked for, or of where the line is entered
/// behind it.
fn at_column(module: &Module, file: &SourceFile, line: u32, column: u32) -> Vec<LineLocation> {
    let mut exact = statements(module, file, line..=line, || false);
    exact.retain(|place| place.location.column == column);
    if !exact.is_empty() {
        return exact;
    }
    let mut locations = module.line_locations(file, line);
    let best = locations
        .iter()
        .map(|location| location.location.column)
        .filter(|have| *have >= column)
        .min();
    if let Some(best) = best {
        locations.retain(|location| location.location.column == best);
    }
    locations
}

/// The line itself, or the next one below that has code: inside the same function, or near.
fn nearest_line(module: &Module, file: &SourceFile, line: u32) -> Option<u32> {
    let lines = module.lines_with_code(file);
    let next = lines
        .get(lines.partition_point(|have| *have < line))
        .copied()?;
    if next == line || next - line <= SLIDE {
        return Some(next);
    }
    let addr = module.line_locations(file, next).first()?.addr;
    let declared = module.function_at(addr)?.declaration.clone()?;
    (declared.line <= line && declared.file.path == file.path).then_some(next)
}

/// One place for each function instance: the ones that are entered first (see
/// [`x86_64_flow::first_reached`]).
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
            && module.machine() == Machine::X86_64
            && let Some(function) = group
                .first()
                .and_then(|location| module.function_at(location.addr))
        {
            let code: Vec<(FileAddr, Vec<u8>)> = function
                .ranges
                .iter()
                .filter_map(|range| {
                    let len = usize::try_from(range.end - range.start).ok()?;
                    let mut bytes = vec![0; len.min(1 << 24)];
                    module.read_image(range.start, &mut bytes)?;
                    Some((range.start, bytes))
                })
                .collect();
            let candidates: Vec<Candidate> = group
                .iter()
                .map(|location| Candidate {
                    addr: location.addr,
                    end: end_of_line(module, location),
                })
                .collect();
            let mut known = FxHashMap::default();
            let first = x86_64_flow::first_reached(&code, function.entry, &candidates, |callee| {
                *known
                    .entry(callee)
                    .or_insert_with(|| returns(module, callee).unwrap_or(true))
            });
            group.retain(|location| first.contains(&location.addr));
        }
        kept.append(&mut group);
    }
    kept
}

/// Where the line's code that begins at a place ends: the next row is another line's. The place
/// itself where that is not known.
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

/// Whether what is called ever returns; `None`: that is not known here.
fn returns(module: &Module, callee: Callee) -> Option<bool> {
    /// What never returns is short: it makes a message and calls others.
    const LONGEST: u64 = 1 << 12;
    let start = match callee {
        Callee::At(addr) => addr,
        Callee::In(place) => module.relocated(place)?,
    };
    let symbol = module.symbol_at(start)?;
    if symbol.addr != start || symbol.size == 0 || symbol.size > LONGEST {
        return None;
    }
    let mut code = vec![0; symbol.size as usize];
    module.read_image(start, &mut code)?;
    Some(x86_64_flow::returns(start, &code))
}

/// A place at a function's very entry moves behind its prologue, where arguments can be read.
fn behind_prologue(module: &Module, addr: FileAddr) -> FileAddr {
    match module.function_at(addr) {
        Some(function) if function.entry == addr => module.body_start(&function),
        _ => addr,
    }
}

pub fn bind(loaded: &Loaded, addr: FileAddr) -> Bound {
    let source = loaded
        .module
        .row_at(addr)
        .and_then(|row| row.location)
        .map(|location| (location.file.path.clone(), location.line, location.column));
    Bound {
        addr: loaded.bias.load(addr),
        module: loaded.id,
        source,
        language: loaded.module.language_at(addr).unwrap_or_default(),
        hidden: 0,
    }
}

fn no_code(files: &[(&Loaded, Arc<SourceFile>)], line: u32) -> String {
    let mut lines: Vec<u32> = files
        .iter()
        .flat_map(|(loaded, file)| loaded.module.lines_with_code(file))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let below = lines.partition_point(|have| *have < line);
    let near: Vec<String> = lines
        .iter()
        .skip(below.saturating_sub(2))
        .take(4)
        .map(u32::to_string)
        .collect();
    format!(
        "no code at line {line}; the nearest lines with code are {}",
        near.join(", ")
    )
}

/// The body of a function, seen as the function itself although its first line may be that of
/// an inlined call.
pub fn bind_body(loaded: &Loaded, function: &Function) -> Bound {
    let addr = loaded.module.body_start(function);
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

/// The place of the function that a symbol is for, and whether it has debug info.
pub fn at_symbol(loaded: &Loaded, addr: FileAddr) -> (Bound, bool) {
    match loaded.module.function_at(addr) {
        Some(function) if function.entry == addr => (bind_body(loaded, &function), true),
        _ => (bind(loaded, addr), false),
    }
}
