//! Where breakpoints could be set, and which sources there are: what editors ask to show it.

use super::sources::files_of;
use crate::debugger::Debugger;
use crate::ids::error::Error;
use dwarf::{FileAddr, Function, LineLocation, Module, SourceFile};
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Debugger {
    /// The source files of all images as the debug info names them, sorted, without doubles.
    /// This reads every file table there is.
    ///
    /// # Errors
    /// It was cancelled.
    pub fn source_files(&self) -> Result<Vec<Arc<SourceFile>>, Error> {
        let mut sources: BTreeMap<PathBuf, Arc<SourceFile>> = BTreeMap::new();
        for loaded in &self.modules.loaded {
            if self.cancelled() {
                return Err(Error::Cancelled);
            }
            for file in loaded.module.source_files() {
                match sources.get_mut(&file.path) {
                    // Not every unit that names it has read it.
                    Some(known) if known.md5.is_none() => *known = file,
                    Some(_) => {}
                    None => drop(sources.insert(file.path.clone(), file)),
                }
            }
        }
        Ok(sources.into_values().collect())
    }

    /// Those of [`Debugger::source_files`] that only images of the system have.
    pub fn system_source_files(&self) -> BTreeSet<PathBuf> {
        let (mut of_system, mut others) = (BTreeSet::new(), BTreeSet::new());
        for loaded in &self.modules.loaded {
            let files = match loaded.is_of_the_system() {
                true => &mut of_system,
                false => &mut others,
            };
            let paths = loaded.module.source_files().into_iter();
            files.extend(paths.map(|file| file.path.clone()));
        }
        of_system.retain(|path| !others.contains(path));
        of_system
    }

    /// Lines and columns (0: unknown) of a source from line `first` to line `last` where
    /// code begins that a breakpoint can be set on, sorted, without doubles. Cut short when
    /// cancelled.
    pub fn breakpoint_locations(
        &mut self,
        source: &Path,
        first: u32,
        last: u32,
    ) -> Vec<(u32, u32)> {
        let mut places = BTreeSet::new();
        for (loaded, file) in files_of(source, &self.modules).files {
            let found = places_on(&loaded.module, &file, first..=last, || self.cancelled());
            places.extend(
                found
                    .into_iter()
                    .map(|place| (place.location.line, place.location.column)),
            );
        }
        places.into_iter().collect()
    }
}

/// All places of these lines; several on a line, in every function instance, in order of address.
/// Some compilers recommend the first place of a line only, and give columns of the others.
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
            // Where another line's row takes the code, and where no function is known of.
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

/// Tells the function's own code and each inlined copy in it apart: the frame at an address,
/// `depth` inlined calls left out.
pub fn instance(function: &Function, addr: FileAddr, depth: usize) -> u64 {
    let frames = function.frames_at(addr);
    let scope = frames.get(depth).and_then(|frame| frame.scopes.first());
    let id = scope.map_or(function.id, |scope| scope.id);
    FxBuildHasher.hash_one(id)
}
