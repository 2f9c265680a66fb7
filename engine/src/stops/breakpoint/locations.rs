//! Possible breakpoint locations and the list of sources, for editors.

use dwarf::{FileAddr, Function, LineLocation, Module, SourceFile};
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::hash::BuildHasher;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Returns all locations of these lines: several for a line, in every function instance, in order
/// of address. Some compilers recommend only the first location of a line, and give columns of the
/// others.
pub fn places_on(
    module: &Module,
    file: &SourceFile,
    lines: RangeInclusive<u32>,
    cancelled: impl Fn() -> bool,
) -> Vec<LineLocation> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let mut functions = FxHashSet::default();
    let with_code = module.lines_with_code(file);
    for line in with_code.into_iter().filter(|line| lines.contains(line)) {
        for place in module.line_locations(file, line) {
            if cancelled() {
                return found;
            }
            let function = module.function_at(place.addr);
            if let Some(function) = function
                && functions.insert(function.entry)
            {
                let all = places_in(module, &function, file, &lines);
                found.extend(all.filter(|place| seen.insert(key(place))));
            }
            // The code may also be under another line's row, or in no known function.
            if seen.insert(key(&place)) {
                found.push(place);
            }
        }
    }
    found.sort_by_key(|place| place.addr);
    found
}

fn key(place: &LineLocation) -> (FileAddr, u32) {
    (place.addr, place.location.line)
}

fn places_in<'a>(
    module: &'a Module,
    function: &'a Arc<Function>,
    file: &'a SourceFile,
    lines: &'a RangeInclusive<u32>,
) -> impl Iterator<Item = LineLocation> + 'a {
    let rows = function
        .ranges
        .iter()
        .flat_map(|range| module.rows_in(*range));
    rows.filter_map(|row| {
        let location = row.location?;
        let fits = (row.is_stmt || location.column > 0)
            && lines.contains(&location.line)
            && location.file.path == file.path;
        fits.then(|| LineLocation {
            addr: row.range.start,
            location,
            instance: instance(function, row.range.start, 0),
            is_stmt: row.is_stmt,
        })
    })
}

/// Returns a key that distinguishes the function's own code and each inlined copy: the frame at an
/// address, with `depth` inlined calls hidden.
pub fn instance(function: &Function, addr: FileAddr, depth: usize) -> u64 {
    let frames = function.frames_at(addr);
    let scope = frames.get(depth).and_then(|frame| frame.scopes.first());
    let id = scope.map_or(function.id, |scope| scope.id);
    FxBuildHasher.hash_one(id)
}
